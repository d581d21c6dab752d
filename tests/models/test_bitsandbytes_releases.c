/* One layer of 4-bit weights beside releases of bitsandbytes, event by event: as it is quantised, called, and in the
 * backward pass. The other side is peers/pytorch/bitsandbytes_releases.jsonl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/text.h"
#include "harness/tape/quantized.h"
#include "models/skeleton/quantization.h"
#include "tests/models/shadow_lines.h"

static const char lines_path[] = "peers/pytorch/bitsandbytes_releases.jsonl";

enum { INPUTS = 512, OUTPUTS = 384, IDS = 256, SMALL = 8 };

/* Allocations of a window of events, in the order in which they come. */
struct window {
    struct text text;
    int64_t numbers[IDS]; /* by the id of a storage: how manieth of the window it is; 0: none */
    int64_t bytes[IDS];
    int64_t count;
};

static void window_alloc(struct window *window, int64_t id, int64_t bytes)
{
    assert_true(id >= 0 && id < IDS);
    window->numbers[id] = ++window->count;
    window->bytes[id] = bytes;
    text_format(&window->text, "alloc %lld: %lld\n", (long long)window->count, (long long)bytes);
}

static void window_free(struct window *window, int64_t id)
{
    assert_true(id >= 0 && id < IDS);
    if (window->numbers[id] > 0) {
        text_format(&window->text, "free %lld\n", (long long)window->numbers[id]);
    } else {
        text_format(&window->text, "free of what was there: %lld\n", (long long)window->bytes[id]);
    }
}

/* What makes the table of levels passes in a kernel and is left out; so are the scalars of the loss. */
static bool is_left_out(const struct json *event, bool loads)
{
    const char *operator= json_string_or(json_at(event, 3), "");
    return loads ? strcmp(operator, "abs") == 0 || strcmp(operator, "max") == 0
                 : json_integer_or(json_at(event, 2), 0) <= SMALL;
}

static void theirs_read(const struct json *line, bool loads, struct window *window)
{
    const struct json *events = json_get(line, "events");
    bool inside = false, left_out[IDS] = {false};
    for (size_t i = 0; i < json_count(events); i++) {
        const struct json *event = json_at(events, i);
        const char *kind = json_string_or(json_at(event, 0), "");
        if (strcmp(kind, "stage") == 0) {
            inside = true;
            continue;
        }
        int64_t id = json_integer_or(json_at(event, 1), -1);
        assert_true(id >= 0 && id < IDS);
        if (strcmp(kind, "free") == 0) {
            if (inside && !left_out[id]) {
                window_free(window, id);
            }
        } else if (!inside) {
            window->bytes[id] = json_integer_or(json_at(event, 2), -1);
            inside = loads; /* the 16-bit weight is there */
        } else if (is_left_out(event, loads)) {
            left_out[id] = true;
        } else {
            window_alloc(window, id, json_integer_or(json_at(event, 2), -1));
        }
    }
}

static void ours_read(const struct tape *tape, bool loads, struct window *window)
{
    struct tape_view view = tape_view(tape);
    bool inside = false;
    for (int i = 0; i < view.event_count; i++) {
        struct event event = view.events[i];
        inside = inside || (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD);
        bool alloc = event.kind == EVENT_ALLOC;
        if (!alloc && event.kind != EVENT_FREE) {
            continue;
        }
        int64_t bytes = view.storages[event.index].bytes;
        if (!inside) {
            window->bytes[event.index] = bytes;
            inside = loads;
        } else if (loads || bytes > SMALL) {
            alloc ? window_alloc(window, event.index, bytes) : window_free(window, event.index);
        }
    }
}

static struct bitsandbytes_habits habits_of(const struct json *line)
{
    char release[64];
    struct workload workload = workload_default(MODE_TRAIN);
    snprintf(release, sizeof release, "bitsandbytes=%s", shadow_text(line, "bitsandbytes"));
    assert_int_equal(workload_set(&workload, "release", release, NULL), STATUS_OK);
    return bitsandbytes_habits_of(&workload, "llama");
}

static void layer_build(struct tape *tape, const struct json *line, bool loads)
{
    static const int64_t weight_size[] = {OUTPUTS, INPUTS};
    const int64_t outputs = OUTPUTS, input_size[] = {1, json_integer_or(json_get(line, "rows"), 1), INPUTS};
    bool trains = strcmp(shadow_text(line, "what"), "train") == 0;
    int frame = tape_frame_open(tape);
    struct value *whole = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BFLOAT16, 2, weight_size, false, "weight");
    struct quantized weight = json_boolean_or(json_get(line, "double_quant"), false)
                                  ? tape_quantize_twice(tape, whole, "weight")
                                  : tape_quantize(tape, QUANTIZED_NF4, whole, "weight");
    tape_quantized_hold(tape, &weight);
    tape_drop(tape, whole);
    if (loads) {
        return;
    }
    struct value *bias = json_boolean_or(json_get(line, "bias"), false)
                             ? tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_BFLOAT16, 1, &outputs, false, "bias")
                             : NULL;
    struct value *source = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_BFLOAT16, 3, input_size, trains, "source");
    tape_gradients(tape, trains);
    struct value *given = tape_scale(tape, source, 1.0);
    tape_stage(tape, STAGE_FORWARD);
    struct value *result = tape_linear_quantized(tape, given, &weight, bias);
    tape_drop(tape, given);
    if (trains) {
        const int64_t elements = input_size[1] * OUTPUTS;
        int inner = tape_frame_open(tape);
        struct value *loss = tape_mean_last(tape, tape_reshape(tape, result, 1, &elements));
        loss = tape_frame_close(tape, inner, loss);
        tape_drop(tape, result);
        tape_stage(tape, STAGE_BACKWARD);
        tape_backward(tape, loss);
        tape_drop(tape, loss);
        tape_graphs_end(tape);
    }
    (void)frame; /* what is named stays, as there */
}

static bool line_check(const struct json *line)
{
    if (json_get(line, "events") == NULL) {
        return false;
    }
    struct status error = {0};
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct window ours = {0}, theirs = {0};
    bool loads = strcmp(shadow_text(line, "what"), "load") == 0;
    assert_int_equal(target_find("host", &target, &error), STATUS_OK);
    assert_int_equal(tape_new(target, &tape, &error), STATUS_OK);
    tape_bitsandbytes(tape, habits_of(line));
    layer_build(tape, line, loads);
    if (tape_finish(tape, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    ours_read(tape, loads, &ours);
    theirs_read(line, loads, &theirs);
    if (strcmp(text_string(&ours.text), text_string(&theirs.text)) != 0) {
        fail_msg("bitsandbytes %s, %s, %lld rows%s%s: ours\n%stheirs\n%s", shadow_text(line, "bitsandbytes"),
                 shadow_text(line, "what"), (long long)json_integer_or(json_get(line, "rows"), 0),
                 json_boolean_or(json_get(line, "double_quant"), false) ? ", twice" : "",
                 json_boolean_or(json_get(line, "bias"), false) ? ", with a bias" : "", text_string(&ours.text),
                 text_string(&theirs.text));
    }
    text_release(&ours.text);
    text_release(&theirs.text);
    tape_release(tape);
    return true;
}

static void layers_are_those_of_the_releases(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(lines_path, line_check), 7 * 4 * 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_those_of_the_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
