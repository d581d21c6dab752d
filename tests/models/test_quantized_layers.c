/* Quantised models under adapters beside peft and bitsandbytes: the bytes that stand for each parameter, how many are
 * trained, and what one adapted layer keeps for its backward pass. The other side is
 * peers/pytorch/quantized_layers.jsonl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "models/find/config_file.h"
#include "models/forward/forward.h"
#include "models/skeleton/quantization.h"
#include "models/workload/workload_tape.h"
#include "tests/models/shadow_lines.h"

static const char layers_path[] = "peers/pytorch/quantized_layers.jsonl";

struct opened {
    struct workload workload;
    struct config config;
    struct skeleton skeleton;
    const struct target *target;
};

static void line_open(const struct json *line, struct opened *opened)
{
    struct status error = {0};
    char path[128];
    const char *model = shadow_text(line, "model");
    opened->workload = workload_default(MODE_TRAIN);
    opened->workload.lora_rank = json_integer_or(json_get(line, "lora_rank"), 0);
    opened->workload.lora_targets = LORA_TARGETS_LINEAR;
    opened->workload.prepare_kbit = json_boolean_or(json_get(line, "prepare_kbit"), false);
    opened->workload.seq = 8;
    snprintf(path, sizeof path, "peers/pytorch/%s/config.json", model);
    bool tiny = strncmp(model, "tiny/", 5) == 0;
    const char *name = strcmp(model, "llama-2-7b") == 0 ? "meta-llama/Llama-2-7b-hf" : model;
    enum status_code code = tiny ? config_read(path, model, &opened->config, &error)
                                 : config_find("models/catalogue", name, &opened->config, &error);
    code =
        code == STATUS_OK ? workload_set(&opened->workload, "precision", shadow_text(line, "precision"), &error) : code;
    code = code == STATUS_OK ? target_find("sm_90", &opened->target, &error) : code;
    code = code == STATUS_OK ? workload_skeleton(&opened->config, &opened->workload, &opened->skeleton, &error) : code;
    if (code != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void bytes_check(const struct json *line, const char *what, int64_t ours, int64_t theirs)
{
    if (ours != theirs) {
        fail_msg("%s %s%s: %s: %lld bytes, the libraries %lld", shadow_text(line, "model"),
                 shadow_text(line, "precision"),
                 json_boolean_or(json_get(line, "prepare_kbit"), false) ? " prepared" : "", what, (long long)ours,
                 (long long)theirs);
    }
}

/* What is held as weights when loading has ended; of one parameter, or of all where path is NULL. */
static int64_t loaded_bytes(const struct tape_view *view, const char *path)
{
    int64_t bytes = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD) {
            break;
        }
        if (event.kind != EVENT_ALLOC && event.kind != EVENT_FREE) {
            continue;
        }
        const struct storage *storage = &view->storages[event.index];
        if (storage->category == CATEGORY_WEIGHTS && (path == NULL || strcmp(storage->label, path) == 0)) {
            bytes += event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
        }
    }
    return bytes;
}

/* -- models */

static void trained_check(const struct json *line, const struct skeleton *skeleton)
{
    int64_t count = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        count += skeleton->tensors[i].is_adapter ? skeleton->tensors[i].element_count : 0;
    }
    bytes_check(line, "trained elements", count, json_integer_or(json_get(line, "trained_count"), -1));
    bytes_check(line, "trained", 4 * count, json_integer_or(json_get(line, "trained_bytes"), -1));
}

static bool model_check(const struct json *line)
{
    const struct json *stored = json_get(line, "stored");
    if (stored == NULL) {
        return false;
    }
    struct opened opened;
    struct status error = {0};
    struct tape *tape = NULL;
    struct training_plan plan = {.step_count = 0, .learning_rate = 1e-4};
    line_open(line, &opened);
    if (workload_tape_planned(&opened.config, &opened.skeleton, &opened.workload, opened.target, &plan, &tape,
                              &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    struct tape_view view = tape_view(tape);
    assert_true(json_count(stored) > 10);
    for (const char *name = json_key_after(stored, NULL); name != NULL; name = json_key_after(stored, name)) {
        char path[256];
        snprintf(path, sizeof path, "%s%s", strstr(name, ".lora_") != NULL ? "base_model.model." : "", name);
        bytes_check(line, name, loaded_bytes(&view, path), json_integer_or(json_get(stored, name), -1));
    }
    bytes_check(line, "all parameters", loaded_bytes(&view, NULL), json_integer_or(json_get(line, "stored_bytes"), -1));
    trained_check(line, &opened.skeleton);
    tape_release(tape);
    skeleton_release(&opened.skeleton);
    return true;
}

static void parameters_take_the_bytes_of_the_libraries(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(layers_path, model_check), 6 * 2 * 2);
}

/* -- layers */

/* The tensors of one layer, as they are when a model has been loaded and prepared. */
static void layer_load(struct forward *forward, struct quantized *quantized, const char *layer)
{
    enum quantized_form form = QUANTIZED_INT8;
    assert_true(precision_is_quantized(forward->workload->precision, &form));
    for (int i = 0; i < forward->skeleton->tensor_count; i++) {
        const struct skeleton_tensor *own = &forward->skeleton->tensors[i];
        const char *path = strstr(own->path, layer);
        if (path == NULL || path[strlen(layer)] != '.') {
            continue;
        }
        bool wide = own->is_adapter || forward->workload->prepare_kbit;
        bool codes = tensor_is_quantized(forward->skeleton, i, QUANTIZE_LINEAR);
        struct value *value =
            tape_leaf(forward->tape, CATEGORY_WEIGHTS, wide && !codes ? DTYPE_FLOAT32 : DTYPE_BFLOAT16, own->rank,
                      own->size, own->is_adapter, own->path);
        if (codes) {
            bool turned = tensor_is_turned(forward->skeleton, i);
            quantized[i] = tape_quantize(forward->tape, form,
                                         turned ? tape_transpose(forward->tape, value, 0, 1) : value, own->path);
        } else {
            forward->values[i] = tape_hold(forward->tape, value);
        }
    }
}

static int64_t layer_kept_bytes(struct opened *opened, const char *layer, int64_t batch, int64_t seq)
{
    struct status error = {0};
    struct tape *tape = NULL;
    size_t count = (size_t)opened->skeleton.tensor_count;
    struct quantized *quantized = calloc(count, sizeof *quantized);
    int near_tensor = 0;
    struct forward forward = {.near_tensor = &near_tensor,
                              .config = &opened->config,
                              .skeleton = &opened->skeleton,
                              .workload = &opened->workload,
                              .values = calloc(count, sizeof *forward.values),
                              .quantized = quantized};
    assert_true(quantized != NULL && forward.values != NULL);
    assert_int_equal(tape_new(opened->target, &tape, &error), STATUS_OK);
    forward.tape = tape;
    layer_load(&forward, quantized, layer);
    char path[256];
    snprintf(path, sizeof path, LORA_PATH ".weight", layer, "A");
    int adapter = skeleton_find(&opened->skeleton, path);
    assert_true(adapter >= 0);
    int64_t size[] = {batch, seq, opened->skeleton.tensors[adapter].size[1]}, elements = 1;
    tape_gradients(tape, true);
    struct value *input = tape_leaf(
        tape, CATEGORY_INPUTS, opened->workload.prepare_kbit ? DTYPE_FLOAT32 : DTYPE_BFLOAT16, 3, size, true, "input");
    struct value *result = forward_linear(&forward, layer, input);
    for (int d = 0; result != NULL && d < 3; d++) {
        elements *= value_size(result, d);
    }
    tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, result, 1, &elements)));
    if (tape_finish(tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", layer, error.text);
    }
    int64_t bytes = tape_view(tape).saved_for_backward_bytes;
    tape_release(tape);
    free(forward.values);
    free(quantized);
    return bytes;
}

static bool layer_check(const struct json *line)
{
    const char *layer = json_string_or(json_get(line, "layer"), NULL);
    if (layer == NULL) {
        return false;
    }
    struct opened opened;
    line_open(line, &opened);
    int64_t kept_bytes = layer_kept_bytes(&opened, layer, json_integer_or(json_get(line, "batch"), 0),
                                          json_integer_or(json_get(line, "seq"), 0));
    bytes_check(line, layer, kept_bytes, json_integer_or(json_get(line, "kept_bytes"), -1));
    skeleton_release(&opened.skeleton);
    return true;
}

static void layers_keep_the_bytes_of_the_libraries(void **state)
{
    (void)state;
    assert_true(shadow_lines_each(layers_path, layer_check) >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_take_the_bytes_of_the_libraries),
        cmocka_unit_test(layers_keep_the_bytes_of_the_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
