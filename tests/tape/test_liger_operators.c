/* What PyTorch's operators took on others' GPUs: the rows of Liger-Kernel's benchmark (peers/published), each as the
 * tape has the same operators, beside the bytes that were printed. A row that is not held has its reason here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/device_use.h"
#include "tests/tape/tape_for.h"

static const char rows_path[] = "peers/published/rows/liger-kernels.jsonl";

/* -- a benchmark: what lies there before, then the same function again and again, whose gradients add up */

struct bench {
    const struct json *settings;
    struct tape *tape;
    enum dtype dtype;
    bool with_backward; /* false: the pass "forward" */
};

static int64_t number(const struct bench *bench, const char *key)
{
    int64_t value = json_integer_or(json_get(bench->settings, key), -1);
    if (value < 0) {
        fail_msg("no '%s'", key);
    }
    return value;
}

static struct value *leaf(const struct bench *bench, enum dtype dtype, int rank, const int64_t *size)
{
    return tape_leaf(bench->tape, CATEGORY_WEIGHTS, dtype, rank, size, dtype_is_floating(dtype), "leaf");
}

static struct value *matrix(const struct bench *bench, enum dtype dtype, int64_t rows, int64_t columns)
{
    return leaf(bench, dtype, 2, (int64_t[]){rows, columns});
}

static struct value *line_of(const struct bench *bench, enum dtype dtype, int64_t count)
{
    return leaf(bench, dtype, 1, &count);
}

/* Until the end, as what the function has returned in Python is, and the gradient that it is given. */
static void constant(const struct bench *bench, enum dtype dtype, int rank, const int64_t *size)
{
    tape_leaf(bench->tape, CATEGORY_INPUTS, dtype, rank, size, false, "constant");
}

/* One product there and back, as the benchmark of the speed had them before: both threads have their workspaces. */
static void products_warm(const struct bench *bench)
{
    enum { SIDE = 8 };
    int frame = tape_frame_open(bench->tape);
    struct value *a = matrix(bench, bench->dtype, SIDE, SIDE), *b = matrix(bench, bench->dtype, SIDE, SIDE);
    tape_backward(bench->tape, tape_linear(bench->tape, a, b, NULL));
    tape_gradient_drop(bench->tape, a);
    tape_gradient_drop(bench->tape, b);
    tape_frame_close(bench->tape, frame, NULL);
}

static void product_forward(const struct bench *bench)
{
    int frame = tape_frame_open(bench->tape);
    tape_gradients(bench->tape, false);
    tape_linear(bench->tape, matrix(bench, DTYPE_FLOAT32, 8, 8), matrix(bench, DTYPE_FLOAT32, 8, 8), NULL);
    tape_gradients(bench->tape, true);
    tape_frame_close(bench->tape, frame, NULL);
}

enum { TIMES = 3 };

/* A pass forward alone leaves a graph that nothing ends: once. */
static int times_of(const struct bench *bench)
{
    return bench->with_backward ? TIMES : 1;
}

static void pass_end(const struct bench *bench, int frame, struct value *result)
{
    if (bench->with_backward) {
        tape_stage_again(bench->tape, STAGE_BACKWARD);
        tape_backward(bench->tape, result);
    }
    tape_frame_close(bench->tape, frame, NULL);
}

static int pass_begin(const struct bench *bench)
{
    tape_stage_again(bench->tape, STAGE_FORWARD);
    return tape_frame_open(bench->tape);
}

/* -- the functions */

static void cross_entropy(const struct bench *bench)
{
    int64_t rows = number(bench, "B") * number(bench, "T");
    struct value *logits = matrix(bench, DTYPE_FLOAT32, rows, number(bench, "V"));
    struct value *targets = line_of(bench, DTYPE_INT64, rows);
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        pass_end(bench, frame, tape_cross_entropy(bench->tape, logits, targets));
    }
}

/* The layer of the fused loss lies beside that of the composed one. */
static void linear_cross_entropy(const struct bench *bench)
{
    int64_t rows = number(bench, "BT"), hidden = number(bench, "H"), vocab = number(bench, "V");
    struct value *weight = matrix(bench, bench->dtype, vocab, hidden);
    constant(bench, bench->dtype, 2, (int64_t[]){vocab, hidden});
    struct value *input = matrix(bench, bench->dtype, rows, hidden), *targets = line_of(bench, DTYPE_INT64, rows);
    products_warm(bench);
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        struct value *logits = tape_linear(bench->tape, input, weight, NULL);
        struct value *loss = tape_cross_entropy(bench->tape, logits, targets);
        tape_drop(bench->tape, logits);
        pass_end(bench, frame, loss);
    }
}

/* LlamaMLP; retain_graph keeps what is saved until the function returns. */
static void gated(const struct bench *bench, const char *batch, bool gelu)
{
    int64_t rows = number(bench, batch) * number(bench, "T"), hidden = number(bench, "hidden_size");
    int64_t inner = number(bench, "intermediate_size");
    struct value *input = matrix(bench, bench->dtype, rows, hidden);
    struct value *gate = matrix(bench, bench->dtype, inner, hidden), *up = matrix(bench, bench->dtype, inner, hidden);
    struct value *down = matrix(bench, bench->dtype, hidden, inner);
    products_warm(bench);
    for (int i = 0; i < times_of(bench); i++) {
        int frame = pass_begin(bench);
        struct value *gated = tape_linear(bench->tape, input, gate, NULL);
        struct value *active = gelu ? tape_gelu(bench->tape, gated, true) : tape_silu(bench->tape, gated);
        struct value *product = tape_multiply(bench->tape, active, tape_linear(bench->tape, input, up, NULL));
        pass_end(bench, frame, tape_linear(bench->tape, product, down, NULL));
    }
}

static void swiglu(const struct bench *bench)
{
    gated(bench, "B", false);
}

static void geglu(const struct bench *bench)
{
    gated(bench, "bsz", true);
}

static void layer_norm(const struct bench *bench)
{
    int64_t rows = number(bench, "M"), columns = number(bench, "N");
    struct value *weight = line_of(bench, DTYPE_FLOAT32, columns), *bias = line_of(bench, DTYPE_FLOAT32, columns);
    constant(bench, DTYPE_FLOAT32, 1, &columns); /* Liger's layer */
    constant(bench, DTYPE_FLOAT32, 1, &columns);
    struct value *input = matrix(bench, bench->dtype, rows, columns);
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        pass_end(bench, frame, tape_layernorm(bench->tape, input, weight, bias, 1e-6));
    }
}

/* LlamaRMSNorm with a weight in float32, so that the result is in float32 and the gradient that it is given, in the
 * dtype of the input, is cast. */
static void rms_norm(const struct bench *bench)
{
    int64_t rows = number(bench, "M"), columns = number(bench, "H");
    struct value *weight = line_of(bench, DTYPE_FLOAT32, columns);
    constant(bench, DTYPE_FLOAT32, 1, &columns); /* Liger's layer */
    struct value *input = matrix(bench, bench->dtype, rows, columns);
    constant(bench, bench->dtype, 2, (int64_t[]){rows, columns}); /* the gradient before it is cast */
    struct tape *tape = bench->tape;
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        struct value *wide = tape_cast(tape, input, DTYPE_FLOAT32);
        struct value *square = tape_power(tape, wide, 2.0), *mean = tape_mean_last(tape, square);
        tape_drop(tape, square);
        struct value *sum = tape_add_number(tape, mean, 1e-6);
        tape_drop(tape, mean);
        struct value *root = tape_reciprocal_root(tape, sum);
        tape_drop(tape, sum);
        struct value *normal = tape_multiply(tape, wide, root), *narrow = tape_cast(tape, normal, bench->dtype);
        tape_drop(tape, normal);
        pass_end(bench, frame, tape_multiply(tape, weight, narrow));
    }
}

static struct value *turned(struct tape *tape, struct value *x, struct value *cosine, struct value *sine)
{
    int frame = tape_frame_open(tape);
    int64_t half = value_size(x, -1) / 2;
    struct value *straight = tape_multiply(tape, x, cosine);
    struct value *first = tape_slice(tape, x, -1, 0, half);
    struct value *negative = tape_scale(tape, tape_slice(tape, x, -1, half, half), -1.0);
    struct value *swapped = tape_concatenate(tape, negative, first, -1);
    tape_drop(tape, negative);
    struct value *crossed = tape_multiply(tape, swapped, sine);
    tape_drop(tape, swapped);
    return tape_frame_close(tape, frame, tape_add(tape, straight, crossed));
}

/* apply_rotary_pos_emb, after a product of frequencies and positions; the gradients of keys, which come first, lie
 * there while those of queries are computed. */
static void rope(const struct bench *bench)
{
    bool by_length = json_get(bench->settings, "T") != NULL;
    int64_t rows = number(bench, by_length ? "T" : "seq_len");
    int64_t heads = number(bench, "num_q_heads"), key_heads = number(bench, "num_kv_heads");
    int64_t width = number(bench, by_length ? "hidden_size" : "H") / heads;
    const int64_t queries[] = {1, rows, heads, width}, keys[] = {1, rows, key_heads, width};
    const int64_t angles[] = {1, 1, rows, width};
    constant(bench, DTYPE_FLOAT32, 1, (int64_t[]){width / 2});
    struct value *query = leaf(bench, bench->dtype, 4, queries);
    constant(bench, bench->dtype, 4, keys); /* the keys, the gradient that they are given, what is made of them */
    constant(bench, bench->dtype, 4, keys);
    constant(bench, DTYPE_INT64, 1, &rows);
    struct tape *tape = bench->tape;
    product_forward(bench);
    struct value *cosine = tape_leaf(tape, CATEGORY_INPUTS, bench->dtype, 4, angles, false, "cos");
    struct value *sine = tape_leaf(tape, CATEGORY_INPUTS, bench->dtype, 4, angles, false, "sin");
    constant(bench, bench->dtype, 4, keys);
    constant(bench, bench->dtype, 4, keys);
    int frame = pass_begin(bench);
    pass_end(bench, frame, turned(tape, tape_transpose(tape, query, 1, 2), cosine, sine));
}

static void softmax(const struct bench *bench)
{
    struct value *input = line_of(bench, bench->dtype, number(bench, "N"));
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        pass_end(bench, frame, tape_softmax(bench->tape, input, false));
    }
}

static void relu_squared(const struct bench *bench)
{
    struct value *input = line_of(bench, bench->dtype, number(bench, "N"));
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        pass_end(bench, frame, tape_power(bench->tape, tape_relu(bench->tape, input), 2.0));
    }
}

/* kl_div: xlogy(target, target) - target * input, summed and divided. */
static void kl_div(const struct bench *bench)
{
    int64_t rows = number(bench, "B") * number(bench, "T"), vocab = number(bench, "V");
    struct tape *tape = bench->tape;
    struct value *input = matrix(bench, DTYPE_FLOAT32, rows, vocab);
    struct value *target =
        tape_leaf(tape, CATEGORY_INPUTS, DTYPE_FLOAT32, 2, (int64_t[]){rows, vocab}, false, "target");
    for (int i = 0; i < TIMES; i++) {
        int outside = tape_frame_open(tape);
        struct value *logs = tape_tanh(tape, input); /* keeps its result and takes nothing else, as a log-softmax */
        int frame = pass_begin(bench);
        struct value *own = tape_multiply(tape, target, target), *crossed = tape_multiply(tape, target, logs);
        struct value *difference = tape_subtract(tape, own, crossed);
        tape_drop(tape, own);
        tape_drop(tape, crossed);
        struct value *sums = tape_sum(tape, difference, 1, false);
        tape_drop(tape, difference);
        struct value *sum = tape_sum(tape, sums, 0, false);
        tape_drop(tape, sums);
        pass_end(bench, frame, tape_scale(tape, sum, 1.0 / (double)rows));
        tape_frame_close(tape, outside, NULL);
    }
}

static void embedding(const struct bench *bench)
{
    int64_t rows = number(bench, "B") * number(bench, "T");
    struct value *weight = matrix(bench, bench->dtype, number(bench, "V"), number(bench, "D"));
    struct value *ids = line_of(bench, DTYPE_INT64, rows);
    for (int i = 0; i < TIMES; i++) {
        int frame = pass_begin(bench);
        pass_end(bench, frame, tape_embedding(bench->tape, weight, ids, -1));
    }
}

static const struct composed {
    const char *kernel, *provider;
    void (*run)(const struct bench *bench);
} operators[] = {
    {"cross_entropy", "huggingface", cross_entropy},
    {"fused_linear_cross_entropy", "huggingface", linear_cross_entropy},
    {"swiglu", "huggingface", swiglu},
    {"geglu", "huggingface", geglu},
    {"layer_norm", "huggingface", layer_norm},
    {"rms_norm", "huggingface", rms_norm},
    {"rope", "huggingface", rope},
    {"softmax", "torch", softmax},
    {"relu_squared", "torch", relu_squared},
    {"kl_div", "torch", kl_div},
};

/* -- the rows */

static int held_count, off_count, excepted_count;

static int64_t peak_on(const char *target, const struct composed *composed, const struct json *row)
{
    struct status error = {0};
    struct bench bench = {.settings = json_get(row, "settings"), .dtype = DTYPE_FLOAT32};
    dtype_from_name(json_string_or(json_get(bench.settings, "dtype"), "float32"), &bench.dtype);
    bench.with_backward = strcmp(json_string_or(json_get(bench.settings, "pass"), ""), "forward") != 0;
    bench.tape = tape_for(target);
    tape_gradients(bench.tape, true);
    tape_training(bench.tape, true);
    composed->run(&bench);
    if (tape_finish(bench.tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", json_string_or(json_get(row, "id"), ""), error.text);
    }
    struct tape_view view = tape_view(bench.tape);
    struct replay_result result = replay_on(&view, "meta");
    int64_t forward = result.stages[STAGE_FORWARD].allocated_bytes_peak;
    int64_t backward = result.stages[STAGE_BACKWARD].allocated_bytes_peak;
    tape_release(bench.tape);
    return forward > backward ? forward : backward;
}

static const struct composed *composed_find(const struct json *settings)
{
    const char *kernel = json_string_or(json_get(settings, "kernel"), "");
    const char *provider = json_string_or(json_get(settings, "provider"), "");
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (strcmp(operators[i].kernel, kernel) == 0 && strcmp(operators[i].provider, provider) == 0) {
            return &operators[i];
        }
    }
    return NULL;
}

static const char *printed_of(const struct json *row)
{
    return json_string_or(json_get(json_at(json_get(row, "measured"), 0), "published"), "");
}

/* NULL: all; the first that matches says why a row is not compared. */
static const struct exception {
    const char *kernel, *provider, *reason;
} exceptions[] = {
    {"embedding", "torch_compile", "torch.compile is outside of the tape"},
    {"embedding", NULL, "12 GiB of something else lay there: the difference is held below"},
    {NULL, "liger", "a kernel of Liger's, which the tape has for cross entropy alone, of a later release"},
    {NULL, "liger_rms_norm", "the same"},
    {NULL, "liger_fused_add_rms_norm", "the same"},
    {"fused_add_rms_norm", "huggingface", "its two results begin two backward passes at once"},
    {"group_norm", "huggingface", "no family of models here has it"},
    {"jsd", "torch", "no family of models here has it"},
};

static bool is_excepted(const struct json *settings)
{
    const char *kernel = json_string_or(json_get(settings, "kernel"), "");
    const char *provider = json_string_or(json_get(settings, "provider"), "");
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
        const struct exception *exception = &exceptions[i];
        if ((exception->kernel == NULL || strcmp(exception->kernel, kernel) == 0) &&
            (exception->provider == NULL || strcmp(exception->provider, provider) == 0)) {
            return true;
        }
    }
    return false;
}

static bool row_check(const struct json *row)
{
    const struct composed *composed = composed_find(json_get(row, "settings"));
    if (composed == NULL && is_excepted(json_get(row, "settings"))) {
        excepted_count++;
        return false;
    }
    if (composed == NULL) {
        if (json_get(row, "settings") != NULL) {
            fail_msg("%s: neither an operator here nor an exception", shadow_text(row, "id"));
        }
        return false; /* the line of the source */
    }
    const char *printed = printed_of(row);
    int64_t bytes = peak_on(json_string_or(json_get(row, "gpu"), ""), composed, row);
    bool held = (float)((double)bytes / 1048576.0) == strtof(printed, NULL);
    held_count += held;
    off_count += !held;
    if (!held) {
        print_message("%s: %.10f, printed %s: %+.0f bytes\n", shadow_text(row, "id"), (double)bytes / 1048576.0,
                      printed, (double)bytes - strtod(printed, NULL) * 1048576.0);
    }
    return true;
}

static void composed_operators_take_what_others_measured(void **state)
{
    (void)state;
    int rows = shadow_lines_each(rows_path, row_check);
    print_message("%d rows: %d held, %d off; %d others\n", rows, held_count, off_count, excepted_count);
    assert_int_equal(off_count, 0);
    assert_int_equal(held_count, 50);
}

/* -- embeddings: 12 GiB of something else lay there too, so that only what PyTorch's gradient takes beyond that of
 * Liger's kernel can be held: what the ids are sorted with and their sums */

enum { EMBEDDINGS_MAXIMUM = 16 };

static struct embedding_row {
    int64_t vocab, width;
    double liger_mib, scratch_mib, pytorch_mib; /* 0: not read yet */
} embeddings[EMBEDDINGS_MAXIMUM];
static int embedding_count;

static bool embedding_read(const struct json *row)
{
    static const struct composed sorted = {"embedding", "huggingface", embedding};
    const struct json *settings = json_get(row, "settings");
    const char *provider = json_string_or(json_get(settings, "provider"), "");
    bool is_liger = strcmp(provider, "liger") == 0, is_pytorch = strcmp(provider, "huggingface") == 0;
    if (strcmp(json_string_or(json_get(settings, "kernel"), ""), "embedding") != 0 || (!is_liger && !is_pytorch)) {
        return false;
    }
    int64_t vocab = json_integer_or(json_get(settings, "V"), 0), width = json_integer_or(json_get(settings, "D"), 0);
    int at = 0;
    while (at < embedding_count && (embeddings[at].vocab != vocab || embeddings[at].width != width)) {
        at++;
    }
    assert_true(at < EMBEDDINGS_MAXIMUM);
    embedding_count = at == embedding_count ? at + 1 : embedding_count;
    struct embedding_row *found = &embeddings[at];
    found->vocab = vocab;
    found->width = width;
    *(is_liger ? &found->liger_mib : &found->pytorch_mib) = strtod(printed_of(row), NULL);
    if (is_pytorch) {
        int64_t bytes = peak_on(json_string_or(json_get(row, "gpu"), ""), &sorted, row) - peak_on("host", &sorted, row);
        found->scratch_mib = (double)bytes / 1048576.0;
    }
    return true;
}

/* What is left of the segment that the sums of parts have for themselves, and handed out with it; where a larger one
 * was cached, as there, they are cut from that. 16,384 ids. */
static double sums_rest_mib(const struct embedding_row *row)
{
    const int64_t ids = 16384, segments = row->vocab < ids ? row->vocab : ids, step = 2 << 20;
    int64_t bytes = (ids / 10 + segments) * row->width * 4;
    return (double)((bytes + step - 1) / step * step - (bytes + 511) / 512 * 512) / 1048576.0;
}

static void gradients_of_embeddings_take_what_others_measured(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(rows_path, embedding_read), 8);
    for (int i = 0; i < embedding_count; i++) {
        const struct embedding_row *row = &embeddings[i];
        double printed_mib = row->pytorch_mib - row->liger_mib;
        assert_true(row->liger_mib > 0 && row->pytorch_mib > 0);
        if (row->scratch_mib != printed_mib && row->scratch_mib - sums_rest_mib(row) != printed_mib) {
            fail_msg("%d rows of %d: %.6f MiB, printed %.6f", (int)row->vocab, (int)row->width, row->scratch_mib,
                     printed_mib);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(composed_operators_take_what_others_measured),
                                       cmocka_unit_test(gradients_of_embeddings_take_what_others_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
