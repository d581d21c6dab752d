/* What single operators take, allocation by allocation, against PyTorch on GPUs: the `operator`, `reduction` and
 * `attention` lines of peers/pytorch/probe.py under results/reference, rows [bytes, held at the end] of one call and of
 * its backward pass. */
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/tape/tape_for.h"

enum { ROWS_MAXIMUM = 64 };

/* What one pass took. */
struct rows {
    int count;
    int64_t bytes[ROWS_MAXIMUM];
    bool held[ROWS_MAXIMUM];
};

/* Of the events from first on, without as many allocations as skipped. Workspaces are the thread's, not the call's. */
static void rows_take(const struct tape *tape, int first, int skipped, struct rows *rows)
{
    struct tape_view view = tape_view(tape);
    int storages[ROWS_MAXIMUM];
    *rows = (struct rows){0};
    for (int i = first; i < view.event_count; i++) {
        int storage = view.events[i].index;
        if (view.events[i].kind == EVENT_ALLOC && skipped-- <= 0 &&
            view.storages[storage].category != CATEGORY_WORKSPACE && view.storages[storage].bytes > 0) {
            assert_true(rows->count < ROWS_MAXIMUM);
            storages[rows->count] = storage;
            rows->held[rows->count] = true;
            rows->bytes[rows->count++] = view.storages[storage].bytes;
        } else if (view.events[i].kind == EVENT_FREE) {
            for (int k = 0; k < rows->count; k++) {
                rows->held[k] = rows->held[k] && storages[k] != storage;
            }
        }
    }
}

static void rows_compare(const char *what, const char *pass, const struct json *theirs, const struct rows *ours)
{
    for (int i = 0; i < ours->count || i < (int)json_count(theirs); i++) {
        const struct json *row = json_at(theirs, (size_t)i);
        int64_t bytes = json_integer_or(json_at(row, 0), 0);
        bool held = json_boolean_or(json_at(row, 1), false);
        int64_t our_bytes = i < ours->count ? ours->bytes[i] : 0;
        if (bytes != our_bytes || held != (i < ours->count && ours->held[i])) {
            fail_msg("%s, %s: row %d is %" PRId64 "%s, PyTorch's %" PRId64 "%s", what, pass, i, our_bytes,
                     i < ours->count && ours->held[i] ? ", held" : "", bytes, held ? ", held" : "");
        }
    }
}

/* -- the operators; each makes its leaves, marks where the call begins and calls */

struct call {
    struct tape *tape;
    enum dtype dtype;
    int64_t rows, other, count; /* the numbers of its name */
    int first_event;
};

static struct value *leaf(struct call *call, enum dtype dtype, int rank, const int64_t *size)
{
    return tape_leaf(call->tape, CATEGORY_WEIGHTS, dtype, rank, size, dtype_is_floating(dtype), "leaf");
}

static struct value *matrix(struct call *call, int64_t rows, int64_t columns)
{
    return leaf(call, call->dtype, 2, (int64_t[]){rows, columns});
}

static struct value *line_of(struct call *call, int64_t count)
{
    return leaf(call, call->dtype, 1, &count);
}

static struct value *ids_of(struct call *call, int64_t count)
{
    return leaf(call, DTYPE_INT64, 1, &count);
}

static void begin(struct call *call)
{
    call->first_event = tape_view(call->tape).event_count;
}

static struct value *layer_norm(struct call *call)
{
    struct value *a = matrix(call, call->rows, call->other), *weight = line_of(call, call->other);
    struct value *bias = line_of(call, call->other);
    begin(call);
    return tape_layernorm(call->tape, a, weight, bias, 1e-5);
}

static struct value *linear(struct call *call)
{
    struct value *a = matrix(call, call->rows, 768), *weight = matrix(call, 3072, 768);
    begin(call);
    return tape_linear(call->tape, a, weight, NULL);
}

static struct value *linear_with_bias(struct call *call)
{
    struct value *a = matrix(call, call->rows, 768), *weight = matrix(call, 3072, 768), *bias = line_of(call, 3072);
    begin(call);
    return tape_linear(call->tape, a, weight, bias);
}

static struct value *addmm(struct call *call)
{
    struct value *a = matrix(call, call->rows, 768), *weight = matrix(call, 768, 2304), *bias = line_of(call, 2304);
    begin(call);
    return tape_linear_t(call->tape, a, weight, bias);
}

static struct value *gelu(struct call *call)
{
    struct value *a = matrix(call, call->rows, 3072);
    begin(call);
    return tape_gelu(call->tape, a, false);
}

static struct value *silu(struct call *call)
{
    struct value *a = matrix(call, call->rows, 3072);
    begin(call);
    return tape_silu(call->tape, a);
}

static struct value *dropout(struct call *call)
{
    struct value *a = matrix(call, call->rows, 768);
    begin(call);
    return tape_dropout(call->tape, a, 0.1);
}

static struct value *embedding(struct call *call)
{
    struct value *weight = matrix(call, call->other, 64), *ids = ids_of(call, call->rows);
    begin(call);
    return tape_embedding(call->tape, weight, ids, -1);
}

static struct value *cross_entropy(struct call *call)
{
    struct value *logits = matrix(call, call->rows, call->other), *targets = ids_of(call, call->rows);
    begin(call);
    return tape_cross_entropy(call->tape, logits, targets);
}

static struct value *cross_entropy_float(struct call *call)
{
    struct value *logits = matrix(call, call->rows, call->other), *targets = ids_of(call, call->rows);
    begin(call);
    int frame = tape_frame_open(call->tape);
    struct value *wide = tape_cast(call->tape, logits, DTYPE_FLOAT32);
    return tape_frame_close(call->tape, frame, tape_cross_entropy(call->tape, wide, targets));
}

static struct value *scores(struct call *call)
{
    return leaf(call, call->dtype, 4, (int64_t[]){2, 12, 512, 512});
}

static struct value *softmax(struct call *call)
{
    struct value *a = scores(call);
    begin(call);
    return tape_softmax(call->tape, a, false);
}

static struct value *softmax_float32(struct call *call)
{
    struct value *a = scores(call);
    begin(call);
    return tape_softmax(call->tape, a, true);
}

static struct value *batched_product(struct call *call)
{
    struct value *a = leaf(call, call->dtype, 4, (int64_t[]){2, 12, 512, 64});
    struct value *b = leaf(call, call->dtype, 4, (int64_t[]){2, 12, 64, 512});
    begin(call);
    return tape_matmul(call->tape, a, b);
}

static struct value *sum_of_rows(struct call *call)
{
    struct value *a = matrix(call, call->rows, 768);
    begin(call);
    return tape_sum(call->tape, a, 0, false);
}

/* Of a ResNet: the first, 112 x 112, or the last, 7 x 7. */
static struct value *images(struct call *call, int64_t channels)
{
    int64_t side = channels == 2048 || channels == 512 ? 7 : 112;
    return leaf(call, call->dtype, 4, (int64_t[]){8, channels, side, side});
}

static struct value *batch_norm(struct call *call, enum dtype statistics)
{
    struct value *a = images(call, call->rows), *channels[4];
    for (int i = 0; i < 4; i++) {
        channels[i] =
            tape_leaf(call->tape, CATEGORY_WEIGHTS, statistics, 1, (int64_t[]){call->rows}, i < 2, "per channel");
    }
    begin(call);
    return tape_batchnorm(call->tape, a, channels[0], channels[1], channels[2], channels[3], 1e-5, 0.1);
}

static struct value *batch_norm_training(struct call *call)
{
    return batch_norm(call, call->dtype);
}

static struct value *batch_norm_training_float32(struct call *call)
{
    return batch_norm(call, DTYPE_FLOAT32);
}

static struct value *max_pool(struct call *call)
{
    struct value *a = images(call, 64);
    begin(call);
    return tape_max_pool(call->tape, a, 3, 2, 1);
}

static struct value *average_pool(struct call *call)
{
    struct value *a = images(call, 512);
    begin(call);
    return tape_mean_spatial(call->tape, a);
}

static struct value *largest(struct call *call)
{
    struct value *a = matrix(call, call->rows, call->other);
    begin(call);
    return tape_argmax(call->tape, a);
}

/* numbers: how many the name has. The gradient of a sum is a view, which PyTorch copies for a leaf: forward alone. */
static struct value *best(struct call *call)
{
    struct value *a = matrix(call, call->rows, call->other), *indices = NULL;
    tape_gradients(call->tape, false);
    begin(call);
    int frame = tape_frame_open(call->tape);
    return tape_frame_close(call->tape, frame, tape_top_k(call->tape, a, call->count, &indices));
}

static const struct probed {
    const char *name;
    int numbers;
    struct value *(*make)(struct call *call);
    bool forward_alone;
} operators[] = {
    {"layer_norm %" SCNd64 "x%" SCNd64 "%n", 2, layer_norm, false},
    {"linear with bias %" SCNd64 "%n", 1, linear_with_bias, false},
    {"linear %" SCNd64 "%n", 1, linear, false},
    {"addmm %" SCNd64 "%n", 1, addmm, false},
    {"gelu %" SCNd64 "%n", 1, gelu, false},
    {"silu %" SCNd64 "%n", 1, silu, false},
    {"dropout %" SCNd64 "%n", 1, dropout, false},
    {"sum of rows %" SCNd64 "%n", 1, sum_of_rows, true},
    {"argmax %" SCNd64 "x%" SCNd64 "%n", 2, largest, true},
    {"topk %" SCNd64 " %" SCNd64 "x%" SCNd64 "%n", 3, best, true},
    {"embedding %" SCNd64 " of %" SCNd64 "%n", 2, embedding, false},
    {"cross_entropy float %" SCNd64 "x%" SCNd64 "%n", 2, cross_entropy_float, false},
    {"cross_entropy %" SCNd64 "x%" SCNd64 "%n", 2, cross_entropy, false},
    {"softmax float32%n", 0, softmax_float32, false},
    {"softmax%n", 0, softmax, false},
    {"batched product%n", 0, batched_product, false},
    {"batch_norm training %" SCNd64 ", statistics torch.float32%n", 1, batch_norm_training_float32, false},
    {"batch_norm training %" SCNd64 ", statistics torch.%*[a-z0-9]%n", 1, batch_norm_training, false},
    {"max_pool2d%n", 0, max_pool, false},
    {"adaptive_avg_pool2d%n", 0, average_pool, false},
};

static const struct probed *probed_find(const char *name, struct call *call)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        int end = -1;
        if (operators[i].numbers == 0) {
            sscanf(name, operators[i].name, &end);
        } else if (operators[i].numbers == 1) {
            sscanf(name, operators[i].name, &call->rows, &end);
        } else if (operators[i].numbers == 2) {
            sscanf(name, operators[i].name, &call->rows, &call->other, &end);
        } else {
            sscanf(name, operators[i].name, &call->count, &call->rows, &call->other, &end);
        }
        if (end >= 0 && name[end] == '\0') {
            return &operators[i];
        }
    }
    return NULL;
}

/* Both passes of what was called, held against the line. */
static void passes_check(const char *what, const struct json *line, struct call *call, struct value *result,
                         bool forward, bool backward)
{
    struct rows rows;
    struct status error = {0};
    if (forward) {
        rows_take(call->tape, call->first_event, 0, &rows);
        rows_compare(what, "forward", json_get(line, "forward"), &rows);
    }
    if (backward) {
        begin(call);
        tape_backward(call->tape, result);
        rows_take(call->tape, call->first_event, 1, &rows); /* the gradient that the probe gives */
        rows_compare(what, "backward", json_get(line, "backward"), &rows);
    }
    if (tape_finish(call->tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", what, error.text);
    }
    tape_release(call->tape);
}

static struct call call_open(const struct json *line)
{
    struct call call = {.tape = tape_for("sm_90")};
    assert_true(dtype_from_name(json_string_or(json_get(line, "dtype"), ""), &call.dtype));
    tape_stage(call.tape, STAGE_FORWARD);
    tape_gradients(call.tape, true);
    tape_training(call.tape, true);
    return call;
}

static bool operator_check(const struct json *line)
{
    const char *name = json_string_or(json_get(line, "name"), "");
    struct call call = call_open(line);
    const struct probed *probed = probed_find(name, &call);
    if (probed == NULL) {
        tape_release(call.tape);
        return false;
    }
    char what[128];
    snprintf(what, sizeof what, "%s, %s", name, json_string_or(json_get(line, "dtype"), ""));
    struct value *result = probed->make(&call);
    passes_check(what, line, &call, result, true, !probed->forward_alone);
    return true;
}

/* -- attention: q, k and v as transformers makes them, (B, S, a, D) in memory; packed: side by side in one tensor */

static int64_t number(const struct json *line, const char *key)
{
    return json_integer_or(json_get(line, key), 0);
}

static void heads_make(struct call *call, const struct json *line, struct value *parts[3])
{
    int64_t heads = number(line, "heads"), key_heads = number(line, "key_heads");
    int64_t size[] = {number(line, "batch"), number(line, "seq"), 3 * heads, number(line, "head_dimension")};
    const int64_t counts[] = {heads, key_heads, key_heads};
    struct value *whole = NULL;
    if (json_boolean_or(json_get(line, "packed"), false)) {
        whole = leaf(call, call->dtype, 4, size);
        tape_split(call->tape, whole, 2, 3, parts);
    }
    for (int i = 0; i < 3; i++) {
        size[2] = counts[i];
        parts[i] = tape_transpose(call->tape, whole != NULL ? parts[i] : leaf(call, call->dtype, 4, size), 1, 2);
    }
}

static struct value *mask_make(struct call *call, const struct json *line, const char *form)
{
    int64_t size[] = {number(line, "batch"), 1, number(line, "seq"), number(line, "seq")};
    enum dtype dtype = strstr(form, "boolean") != NULL ? DTYPE_BOOL : call->dtype;
    return strstr(form, "mask") != NULL
               ? tape_leaf(call->tape, CATEGORY_INPUTS, dtype, 4, size, false, "attention mask")
               : NULL;
}

/* The forward pass is compared where models call it so; a boolean mask's numbers are made once for all layers there. */
static bool attention_check(const struct json *line)
{
    char what[160];
    const char *form = json_string_or(json_get(line, "form"), "");
    if (strstr(form, "inference") != NULL) {
        return false;
    }
    snprintf(what, sizeof what, "attention, %s, %s, %s", json_string_or(json_get(line, "shape"), ""), form,
             json_string_or(json_get(line, "dtype"), ""));
    struct call call = call_open(line);
    struct value *parts[3];
    heads_make(&call, line, parts);
    struct attention_settings settings = {.scale = 0.125,
                                          .dropout = strstr(form, "dropout") != NULL ? 0.1 : 0.0,
                                          .causal = strstr(form, "causal") != NULL,
                                          .mask = mask_make(&call, line, form)};
    begin(&call);
    int frame = tape_frame_open(call.tape);
    struct value *made = tape_attention(call.tape, parts[0], parts[1], parts[2], &settings);
    /* The gradient that the probe gives lies as the result does: dense in the order in which that is. */
    bool is_math = strcmp(json_string_or(json_get(line, "backend"), ""), "MATH") == 0;
    struct value *result = tape_frame_close(call.tape, frame, is_math ? made : tape_transpose(call.tape, made, 1, 2));
    passes_check(what, line, &call, result, false, true);
    return true;
}

/* -- the lines */

static int checked_count;

static void probe_check(const char *path, const char *type, bool (*check)(const struct json *line))
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = NULL;
    size_t capacity = 0;
    while (getline(&text, &capacity, file) > 0) {
        struct json *line = NULL;
        assert_int_equal(json_parse_text(path, text, strlen(text), &line, NULL), STATUS_OK);
        if (strcmp(json_string_or(json_get(line, "type"), ""), type) == 0 && json_get(line, "error") == NULL) {
            checked_count += check(line) ? 1 : 0;
        }
        json_release(line);
    }
    free(text);
    fclose(file);
}

/* The one device that has been asked so far is of the class sm_90. */
static void lines_check(const char *type, bool (*check)(const struct json *line), int lines_minimum)
{
    glob_t probes = {0};
    assert_int_equal(glob("results/reference/nvidia-h100-*/pytorch-*/probe.jsonl", 0, NULL, &probes), 0);
    for (size_t i = 0; i < probes.gl_pathc; i++) {
        checked_count = 0;
        probe_check(probes.gl_pathv[i], type, check);
        print_message("%s: %d lines\n", type, checked_count);
        assert_true(checked_count >= lines_minimum);
    }
    globfree(&probes);
}

/* All but the fused RMSNorm, which our models do not call, and gradients through a batch normalisation in evaluation,
 * which no workload wants. */
static void operators_take_what_pytorch_takes(void **state)
{
    (void)state;
    lines_check("operator", operator_check, 97);
    lines_check("more operator", operator_check, 38); /* tall layer norms, argmax, topk */
}

static bool reduction_check(const struct json *line)
{
    struct call call = call_open(line);
    char what[80];
    snprintf(what, sizeof what, "sum of %" PRId64 " rows of %" PRId64 ", %s", number(line, "rows"),
             number(line, "columns"), json_string_or(json_get(line, "dtype"), ""));
    struct value *a = matrix(&call, number(line, "rows"), number(line, "columns"));
    begin(&call);
    passes_check(what, line, &call, tape_sum(call.tape, a, 0, true), true, false);
    return true;
}

static void sums_take_what_pytorch_takes(void **state)
{
    (void)state;
    lines_check("reduction", reduction_check, 168);
}

static void attention_takes_what_pytorch_takes(void **state)
{
    (void)state;
    lines_check("attention", attention_check, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_take_what_pytorch_takes),
                                       cmocka_unit_test(sums_take_what_pytorch_takes),
                                       cmocka_unit_test(attention_takes_what_pytorch_takes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
