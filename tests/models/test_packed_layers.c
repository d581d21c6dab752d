/* Weights of GPTQ and AWQ against the real layers of AutoGPTQ and AutoAWQ: the bytes of each weight and of a model
 * when it is loaded, what is kept beside them, and what a layer takes on its way. The other side is
 * peers/pytorch/packed_layers.jsonl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/tape/packed.h"
#include "models/find/catalogue.h"
#include "models/find/model.h"
#include "models/skeleton/quantization.h"
#include "models/workload/workload_fit.h"
#include "models/workload/workload_tape.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

static const char lines_path[] = "peers/pytorch/packed_layers.jsonl";

static int64_t number(const struct json *line, const char *key)
{
    return json_integer_or(json_get(line, key), -1);
}

static void workload_of(const struct json *line, struct workload *workload)
{
    char group[24];
    *workload = workload_default(MODE_LOAD);
    snprintf(group, sizeof group, "%lld", (long long)number(line, "group_size"));
    assert_int_equal(workload_set(workload, "precision", shadow_text(line, "precision"), NULL), STATUS_OK);
    assert_int_equal(workload_set(workload, "quantize", shadow_text(line, "quantize"), NULL), STATUS_OK);
    assert_int_equal(workload_set(workload, "quantized_kernel", shadow_text(line, "kernel"), NULL), STATUS_OK);
    assert_int_equal(workload_set(workload, "group_size", group, NULL), STATUS_OK);
    assert_int_equal(workload_set(workload, "head", "lm", NULL), STATUS_OK);
    assert_int_equal(workload_check(workload, NULL), STATUS_OK);
}

static bool is_scratch(const char *label)
{
    return strncmp(label, "exllama", strlen("exllama")) == 0;
}

/* Held when the tape ends, of storages that label names; NULL: of weights, and scratch: of what is kept beside. */
static int64_t held_bytes(const struct tape_view *view, const char *label, bool scratch)
{
    int64_t bytes = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind != EVENT_ALLOC && event.kind != EVENT_FREE) {
            continue;
        }
        const struct storage *storage = &view->storages[event.index];
        bool counts = label != NULL ? strcmp(storage->label, label) == 0
                      : scratch     ? is_scratch(storage->label)
                                    : storage->category == CATEGORY_WEIGHTS;
        bytes += !counts ? 0 : event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
    }
    return bytes;
}

static void loaded_check(const struct json *line, const struct tape_view *view)
{
    const struct json *stored = json_get(line, "stored");
    const char *kernel = shadow_text(line, "kernel"), *model = shadow_text(line, "model");
    assert_true(json_count(stored) > 0);
    for (const char *path = json_key_after(stored, NULL); path != NULL; path = json_key_after(stored, path)) {
        int64_t wanted = number(stored, path), got = held_bytes(view, path, false);
        if (got != wanted) {
            fail_msg("%s %s %s: %lld bytes, the layer %lld", model, kernel, path, (long long)got, (long long)wanted);
        }
    }
    int64_t weights = held_bytes(view, NULL, false), scratch = held_bytes(view, NULL, true);
    if (weights != number(line, "weights_bytes") || scratch != number(line, "scratch_bytes")) {
        fail_msg("%s %s: weights %lld and scratch %lld bytes, the library %lld and %lld", model, kernel,
                 (long long)weights, (long long)scratch, (long long)number(line, "weights_bytes"),
                 (long long)number(line, "scratch_bytes"));
    }
}

static bool model_check(const struct json *line)
{
    struct status error = {0};
    struct model model;
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct workload workload;
    const struct model_places places = {.catalogue_dir = "models/catalogue"};
    if (json_get(line, "model") == NULL) {
        return false;
    }
    workload_of(line, &workload);
    assert_int_equal(model_find(&places, shadow_text(line, "model"), &model, &error), STATUS_OK);
    assert_int_equal(skeleton_build(&model.config, workload.head, &skeleton, &error), STATUS_OK);
    assert_int_equal(target_find("sm_80", &target, &error), STATUS_OK);
    if (workload_tape(&model.config, &skeleton, &workload, target, &tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", shadow_text(line, "model"), error.text);
    }
    struct tape_view view = tape_view(tape);
    loaded_check(line, &view);
    assert_non_null(view.not_run);
    tape_release(tape);
    skeleton_release(&skeleton);
    model_release(&model);
    return true;
}

static void a_model_takes_the_bytes_of_the_real_layers(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(lines_path, model_check), 6 * 6);
}

/* Bytes of the forward stage: at most, and at its end; workspaces of cuBLAS are no tensors of PyTorch's. */
static void call_bytes(const struct tape_view *view, int64_t *peak, int64_t *end)
{
    bool forward = false;
    *peak = *end = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        forward = forward || (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD);
        bool memory = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
        if (forward && memory && view->storages[event.index].category != CATEGORY_WORKSPACE) {
            int64_t bytes = view->storages[event.index].bytes;
            *end += event.kind == EVENT_ALLOC ? bytes : -bytes;
            *peak = *end > *peak ? *end : *peak;
        }
    }
}

static bool layer_check(const struct json *line)
{
    struct status error = {0};
    struct workload workload;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    int64_t outputs = number(line, "outputs"), size[] = {1, number(line, "rows"), number(line, "inputs")};
    if (json_get(line, "rows") == NULL) {
        return false;
    }
    workload_of(line, &workload);
    struct packing packing = packing_of(&workload, "llama");
    assert_int_equal(target_find("sm_80", &target, &error), STATUS_OK);
    assert_int_equal(tape_new(target, &tape, &error), STATUS_OK);
    struct quantized weight = tape_packed_make(tape, &packing, outputs, size[2], "weight");
    struct value *a = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_FLOAT16, 3, size, false, "input");
    struct value *bias = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT16, 1, &outputs, false, "bias");
    tape_stage(tape, STAGE_FORWARD);
    bool has_bias = json_boolean_or(json_get(line, "bias"), false);
    struct value *out = tape_hold(tape, tape_linear_packed(tape, a, &weight, has_bias ? bias : NULL));
    assert_int_equal(value_size(out, 1), size[1]);
    assert_int_equal(value_size(out, 2), outputs);
    int64_t peak, end;
    struct tape_view view = tape_view(tape);
    call_bytes(&view, &peak, &end);
    if (peak != number(line, "peak_bytes") || end != number(line, "end_bytes")) {
        fail_msg("%s %s, %lld rows, bias %d: %lld bytes at most and %lld at the end, the layer %lld and %lld",
                 shadow_text(line, "kernel"), shadow_text(line, "precision"), (long long)size[1], has_bias,
                 (long long)peak, (long long)end, (long long)number(line, "peak_bytes"),
                 (long long)number(line, "end_bytes"));
    }
    tape_release(tape);
    return true;
}

static void a_layer_takes_what_the_real_one_takes(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(lines_path, layer_check), 68);
}

/* Llama-2-7b of the time of transformers 4.35: every layer has a bias, 2 bytes for each of its outputs. */
static void older_releases_give_every_layer_a_bias(void **state)
{
    (void)state;
    struct workload workload = workload_default(MODE_LOAD);
    assert_int_equal(workload_set(&workload, "precision", "int4", NULL), STATUS_OK);
    assert_int_equal(workload_set(&workload, "quantize", "gptq", NULL), STATUS_OK);
    assert_false(packing_of(&workload, "llama").always_biased);
    workload.release = "transformers=4.40";
    assert_true(packing_of(&workload, "llama").always_biased);
    workload.release = "transformers=4.41";
    assert_false(packing_of(&workload, "llama").always_biased);
    assert_int_equal(workload_set(&workload, "quantize", "awq", NULL), STATUS_OK);
    assert_true(packing_of(&workload, "llama").multiplies_all);
    workload.release = "transformers=4.36";
    assert_false(packing_of(&workload, "llama").multiplies_all);
}

static void refused(const char *precision, const char *quantize, const char *key, const char *value, const char *why)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_INFER);
    assert_int_equal(workload_set(&workload, "precision", precision, NULL), STATUS_OK);
    assert_int_equal(workload_set(&workload, "quantize", quantize, NULL), STATUS_OK);
    assert_int_equal(workload_set(&workload, key, value, NULL), STATUS_OK);
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, why));
}

static void what_no_layer_reads_is_refused(void **state)
{
    (void)state;
    refused("int8", "awq", "batch", "1", "quantize awq: its weights have 4 bits");
    refused("fp8", "gptq", "batch", "1", "quantize gptq: its weights have 4 or 8 bits");
    refused("int4", "gptq", "quantized_kernel", "gemm", "it does not read the 4 bits of gptq; write exllama");
    refused("int8", "gptq", "quantized_kernel", "exllama", "it does not read the 8 bits of gptq; write cuda-old");
    refused("int8", "gptq", "act_order", "true", "act_order");
    refused("int4", "gptq", "mode", "train", "training beside packed weights is not modelled");
}

/* AutoAWQ stores the head of a model although it is the embedding: 151,936 rows of 896 numbers in float16. */
static void a_stored_head_goes_when_it_is_tied(void **state)
{
    (void)state;
    struct stage_figures figures[2];
    for (int stored = 0; stored < 2; stored++) {
        struct modelled modelled = {0};
        struct workload workload = workload_default(MODE_LOAD);
        workload.precision = PRECISION_INT4;
        workload.quantize = QUANTIZE_AWQ;
        workload.head = HEAD_LM;
        workload.stored_head = stored == 1;
        modelled_require(&modelled, "Qwen/Qwen2.5-0.5B", &workload, "sm_80");
        struct tape_view view = tape_view(modelled.tape);
        stage_figures_take(&view, &figures[stored]);
        modelled_close(&modelled);
    }
    assert_true(figures[1].end[STAGE_LOAD] == figures[0].end[STAGE_LOAD]);
    assert_true(figures[1].peak[STAGE_LOAD] == figures[0].peak[STAGE_LOAD] + INT64_C(2) * 151936 * 896);
}

static void a_head_that_is_not_tied_is_stored_by_every_checkpoint(void **state)
{
    (void)state;
    struct status error = {0};
    struct config config;
    struct workload workload = workload_default(MODE_INFER);
    workload.stored_head = true;
    assert_int_equal(config_find("models/catalogue", "meta-llama/Llama-2-7b-hf", &config, &error), STATUS_OK);
    assert_int_equal(workload_fit_check(&config, &workload, false, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "is not its embedding, and every checkpoint has one; leave it out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_takes_the_bytes_of_the_real_layers),
        cmocka_unit_test(a_layer_takes_what_the_real_one_takes),
        cmocka_unit_test(older_releases_give_every_layer_a_bias),
        cmocka_unit_test(what_no_layer_reads_is_refused),
        cmocka_unit_test(a_stored_head_goes_when_it_is_tied),
        cmocka_unit_test(a_head_that_is_not_tied_is_stored_by_every_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
