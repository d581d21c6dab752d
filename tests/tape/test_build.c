/* Building a tape: names and frames, what operations keep, how gradients meet, what workspaces and optimizers take.
 * Whole models are held against real PyTorch in tests/models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tape/tape_for.h"

static void finish(struct tape *tape)
{
    struct status error = {0};
    if (tape_finish(tape, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static struct value *leaf(struct tape *tape, int64_t rows, int64_t columns, bool requires_grad)
{
    int64_t size[] = {rows, columns};
    return tape_leaf(tape, requires_grad ? CATEGORY_WEIGHTS : CATEGORY_INPUTS, DTYPE_FLOAT32, 2, size, requires_grad,
                     "leaf");
}

/* Requested bytes that live after event number `until` (the end: -1), and the peak up to there. */
static int64_t live_bytes(const struct tape *tape, int64_t *peak)
{
    struct tape_view view = tape_view(tape);
    int64_t live = 0;
    *peak = 0;
    for (int i = 0; i < view.event_count; i++) {
        if (view.events[i].kind == EVENT_ALLOC) {
            live += view.storages[view.events[i].index].bytes;
        } else if (view.events[i].kind == EVENT_FREE) {
            live -= view.storages[view.events[i].index].bytes;
        }
        *peak = live > *peak ? live : *peak;
    }
    return live;
}

static int count_of(const struct tape *tape, enum opcode opcode)
{
    struct tape_view view = tape_view(tape);
    int count = 0;
    for (int i = 0; i < view.op_count; i++) {
        count += view.ops[i].opcode == opcode;
    }
    return count;
}

static void a_frame_drops_all_but_its_result(void **state)
{
    (void)state;
    struct tape *tape = tape_for("host");
    int64_t peak = 0;
    struct value *a = leaf(tape, 4, 8, false);
    int frame = tape_frame_open(tape);
    struct value *inner = tape_gelu(tape, a, false);
    struct value *result = tape_frame_close(tape, frame, tape_tanh(tape, inner));
    assert_non_null(result);
    assert_int_equal(live_bytes(tape, &peak), 2 * 4 * 8 * 4);
    assert_int_equal(peak, 3 * 4 * 8 * 4);
    tape_drop(tape, result);
    assert_int_equal(live_bytes(tape, &peak), 4 * 8 * 4);
    finish(tape);
    tape_release(tape);
}

static void a_view_takes_no_memory_and_holds_its_storage(void **state)
{
    (void)state;
    struct tape *tape = tape_for("host");
    int64_t peak = 0, flat[] = {32};
    struct value *a = leaf(tape, 4, 8, false);
    struct value *view = tape_reshape(tape, a, 1, flat);
    tape_drop(tape, a);
    assert_int_equal(live_bytes(tape, &peak), 128);
    tape_drop(tape, view);
    assert_int_equal(live_bytes(tape, &peak), 0);
    tape_release(tape);
}

static void a_permuted_view_is_copied_where_it_must_be(void **state)
{
    (void)state;
    struct tape *tape = tape_for("host");
    int64_t flat[] = {32};
    struct value *turned = tape_transpose(tape, leaf(tape, 4, 8, false), 0, 1);
    tape_reshape(tape, turned, 1, flat);
    assert_int_equal(count_of(tape, OPCODE_COPY), 1);
    tape_contiguous(tape, turned);
    assert_int_equal(count_of(tape, OPCODE_COPY), 2);
    finish(tape);
    tape_release(tape);
}

static void a_linear_layer_keeps_its_input_alone(void **state)
{
    (void)state;
    struct tape *tape = tape_for("host");
    struct value *weight = leaf(tape, 16, 8, true);
    tape_gradients(tape, true);
    struct value *a = tape_gelu(tape, tape_linear(tape, leaf(tape, 4, 8, false), weight, NULL), false);
    struct value *loss = tape_mean_last(tape, tape_reshape(tape, a, 1, (int64_t[]){64}));
    tape_backward(tape, loss);
    finish(tape);
    /* input 4 x 8 of the linear layer, input 4 x 16 of GELU; neither the weight nor the mean */
    assert_int_equal(tape_view(tape).saved_for_backward_bytes, 4 * (4 * 8 + 4 * 16));
    assert_non_null(tape_gradient(weight));
    tape_release(tape);
}

/* y = tanh(x) + x: the second gradient of x is added into the first, which nobody else holds. */
static void gradients_meet_in_place_where_nobody_looks(void **state)
{
    (void)state;
    struct tape *tape = tape_for("host");
    struct value *weight = leaf(tape, 4, 8, true);
    tape_gradients(tape, true);
    struct value *x = tape_scale(tape, weight, 2.0);
    struct value *sum = tape_add(tape, tape_tanh(tape, x), tape_silu(tape, x));
    struct value *loss = tape_mean_last(tape, tape_reshape(tape, sum, 1, (int64_t[]){32}));
    int additions = count_of(tape, OPCODE_ADD);
    tape_backward(tape, loss);
    finish(tape);
    assert_int_equal(count_of(tape, OPCODE_ADD), additions + 1);
    struct tape_view view = tape_view(tape);
    for (int i = view.op_count - 1; i >= 0; i--) {
        if (view.ops[i].opcode == OPCODE_ADD) {
            const struct operand *operands = &view.operands[view.ops[i].first_operand];
            assert_int_equal(operands[0].storage, operands[2].storage);
            break;
        }
    }
    tape_release(tape);
}

static struct value *attention_of(struct tape *tape, int64_t rows)
{
    int64_t size[] = {2, rows, 4, 8};
    struct value *heads[3];
    for (int i = 0; i < 3; i++) {
        heads[i] = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 4, size, true, "heads");
        heads[i] = tape_transpose(tape, heads[i], 1, 2);
    }
    struct attention_settings settings = {.scale = 0.35, .causal = true};
    return tape_attention(tape, heads[0], heads[1], heads[2], &settings);
}

static void attention_never_stores_its_scores(void **state)
{
    (void)state;
    int64_t saved[2];
    for (int i = 0; i < 2; i++) {
        struct tape *tape = tape_for("host");
        int64_t rows = i == 0 ? 64 : 128;
        tape_gradients(tape, true);
        struct value *out = attention_of(tape, rows);
        int64_t flat[] = {2 * 4 * rows * 8};
        tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, out, 1, flat)));
        finish(tape);
        struct tape_view view = tape_view(tape);
        for (int k = 0; k < view.storage_count; k++) {
            assert_true(view.storages[k].bytes < 2 * 4 * rows * rows * 4);
        }
        saved[i] = view.saved_for_backward_bytes;
        tape_release(tape);
    }
    /* output and log-sum-exp: linear in the rows */
    assert_int_equal(saved[0], 4 * (2 * 4 * 64 * 8) + 4 * (2 * 4 * 64));
    assert_int_equal(saved[1], 2 * saved[0]);
}

static int64_t workspace_bytes(const char *target, bool biased)
{
    struct tape *tape = tape_for(target);
    struct value *weight = leaf(tape, 16, 8, true);
    struct value *bias = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 1, (int64_t[]){16}, true, "bias");
    tape_gradients(tape, true);
    struct value *y = tape_linear(tape, leaf(tape, 4, 8, false), weight, biased ? bias : NULL);
    tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, y, 1, (int64_t[]){64})));
    finish(tape);
    struct tape_view view = tape_view(tape);
    int64_t bytes = 0;
    for (int i = 0; i < view.storage_count; i++) {
        bytes += view.storages[i].category == CATEGORY_WORKSPACE ? view.storages[i].bytes : 0;
    }
    tape_release(tape);
    return bytes;
}

/* Every product is handed the workspace that its thread holds: forward and backward their own, a biased layer that of
 * cublasLt. For the host there is none. */
static void products_carry_the_workspace_of_their_thread(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        int64_t forward_biased, forward, backward; /* bytes; -1: none */
    } rows[] = {{"sm_90", 1048576, 33554432, 33554432}, {"host", -1, -1, -1}};
    for (int row = 0; row < 2; row++) {
        struct tape *tape = tape_for(rows[row].target);
        struct value *bias = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 1, (int64_t[]){16}, true, "bias");
        tape_gradients(tape, true);
        struct value *y = tape_linear(tape, leaf(tape, 4, 8, false), leaf(tape, 16, 8, true), bias);
        struct value *z = tape_linear(tape, y, leaf(tape, 5, 16, true), NULL);
        tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, z, 1, (int64_t[]){20})));
        finish(tape);
        struct tape_view view = tape_view(tape);
        int64_t expected[] = {rows[row].forward_biased, rows[row].forward, rows[row].backward, rows[row].backward,
                              rows[row].backward};
        int storages[5], products = 0;
        for (int i = 0; i < view.op_count; i++) {
            const struct op *op = &view.ops[i];
            if (op->opcode == OPCODE_MATMUL) {
                const struct operand *last = &view.operands[op->first_operand + op->input_count - 1];
                bool given = view.storages[last->storage].category == CATEGORY_WORKSPACE;
                assert_true(products < 5);
                assert_int_equal(given ? view.storages[last->storage].bytes : -1, expected[products]);
                assert_true(!given || (last->rank == 1 && last->size[0] == expected[products]));
                storages[products++] = last->storage;
            }
        }
        assert_int_equal(products, 5);
        assert_true(expected[0] < 0 || (storages[2] == storages[3] && storages[1] != storages[2]));
        tape_release(tape);
    }
}

/* The workspace of one convolution lives from just before it runs to just after; its bytes are in `bytes` for the
 * forward pass, the gradient of the image, that of the weight. -1: it has none. */
static void convolution_workspaces(const char *target, enum dtype dtype, int64_t kernel, int64_t bytes[3])
{
    struct tape *tape = tape_for(target);
    struct value *image = tape_leaf(tape, CATEGORY_INPUTS, dtype, 4, (int64_t[]){8, 64, 56, 56}, true, "image");
    struct value *weight =
        tape_leaf(tape, CATEGORY_WEIGHTS, dtype, 4, (int64_t[]){64, 64, kernel, kernel}, true, "weight");
    tape_gradients(tape, true);
    struct value *y = tape_convolution(tape, image, weight, NULL, 1, kernel / 2);
    tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, y, 1, (int64_t[]){8 * 64 * 56 * 56})));
    finish(tape);
    struct tape_view view = tape_view(tape);
    for (int i = 0; i < view.event_count; i++) {
        const struct op *op = &view.ops[view.events[i].index];
        if (view.events[i].kind == EVENT_RUN && op->opcode >= OPCODE_CONVOLUTION &&
            op->opcode <= OPCODE_CONVOLUTION_BACKWARD_WEIGHT) {
            int last = view.operands[op->first_operand + op->input_count - 1].storage;
            bool given = view.storages[last].category == CATEGORY_WORKSPACE;
            bytes[op->opcode - OPCODE_CONVOLUTION] = given ? view.storages[last].bytes : -1;
            assert_true(!given || (view.events[i - 1].kind == EVENT_ALLOC && view.events[i - 1].index == last));
            assert_true(!given || (view.events[i + 1].kind == EVENT_FREE && view.events[i + 1].index == last));
        }
    }
    tape_release(tape);
}

/* The figures are worked in convolution_workspace.h and cudnn_workspace.h. */
static void convolutions_have_a_workspace_while_they_run(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        enum dtype dtype;
        int64_t kernel;
        int64_t bytes[3];
    } rows[] = {{"sm_90", DTYPE_BFLOAT16, 3, {6496272, 6496272, 8413828}},
                {"sm_80", DTYPE_BFLOAT16, 3, {6496272, 6496272, 6496272}},
                {"sm_75", DTYPE_BFLOAT16, 3, {29949952, 58851328, 30097408}},
                {"sm_80", DTYPE_FLOAT32, 3, {58851328, 58851328, 58851328}},
                {"sm_90", DTYPE_FLOAT32, 5, {67108864, 67108864, 67108864}}, /* the most */
                {"sm_90", DTYPE_FLOAT16, 1, {-1, -1, 8 * 64 * 64 * 4}},
                {"sm_80", DTYPE_FLOAT16, 1, {-1, -1, 8 * 64 * 64 * 4}},
                {"sm_75", DTYPE_FLOAT16, 1, {1048576, 1048576, 1048576 + 64 * 64 * 4}},
                {"host", DTYPE_FLOAT32, 3, {-1, -1, -1}}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        int64_t bytes[3] = {0};
        convolution_workspaces(rows[row].target, rows[row].dtype, rows[row].kernel, bytes);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(bytes[i], rows[row].bytes[i]);
        }
    }
}

/* What is allowed is said by every call, forward and backward. */
static void tf32_is_said_by_each_call(void **state)
{
    (void)state;
    for (int choice = 0; choice < 4; choice++) {
        bool products = choice & 1, convolutions = choice & 2;
        struct tape *tape = tape_for("host");
        struct value *image =
            tape_leaf(tape, CATEGORY_INPUTS, DTYPE_FLOAT32, 4, (int64_t[]){1, 2, 4, 4}, true, "image");
        struct value *filters =
            tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 4, (int64_t[]){2, 2, 3, 3}, true, "filters");
        tape_tf32(tape, products, convolutions);
        tape_gradients(tape, true);
        struct value *y = tape_convolution(tape, image, filters, NULL, 1, 1);
        y = tape_linear(tape, tape_reshape(tape, y, 2, (int64_t[]){4, 8}), leaf(tape, 8, 8, true), NULL);
        tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, y, 1, (int64_t[]){32})));
        finish(tape);
        struct tape_view view = tape_view(tape);
        int calls = 0;
        for (int i = 0; i < view.op_count; i++) {
            const struct op *op = &view.ops[i];
            bool convolves = op->opcode >= OPCODE_CONVOLUTION && op->opcode <= OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
            if (convolves || op->opcode == OPCODE_MATMUL) {
                assert_int_equal(op->attributes.i[convolves ? 2 : 0], convolves ? convolutions : products);
                calls++;
            }
        }
        assert_int_equal(calls, 6);
        tape_release(tape);
    }
}

static void workspaces_come_with_the_first_products(void **state)
{
    (void)state;
    assert_int_equal(workspace_bytes("sm_90", true), 2 * 33554432 + 1048576);
    assert_int_equal(workspace_bytes("sm_90", false), 2 * 33554432);
    assert_int_equal(workspace_bytes("sm_80", true), 2 * 8519680 + 1048576);
    assert_int_equal(workspace_bytes("host", true), 0);
}

static int64_t step_peak(enum optimizer_form form, bool sgd)
{
    struct tape *tape = tape_for("host");
    struct value *weights[] = {leaf(tape, 64, 64, true), leaf(tape, 32, 64, true)};
    struct optimizer_state states[2] = {{0}};
    struct optimizer_settings settings = {
        .form = form, .sgd = sgd, .learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    tape_gradients(tape, true);
    struct value *sum = tape_add(tape, tape_reshape(tape, weights[0], 2, (int64_t[]){32, 128}),
                                 tape_slice(tape, tape_concatenate(tape, weights[1], weights[1], 1), 1, 0, 128));
    tape_backward(tape, tape_mean_last(tape, tape_reshape(tape, sum, 1, (int64_t[]){4096})));
    tape_gradients(tape, false);
    int frame = tape_frame_open(tape);
    int64_t before = 0, after = 0;
    tape_optimizer_step(tape, &settings, 1, 2, weights, states, NULL);
    int64_t held = live_bytes(tape, &before);
    tape_optimizer_step(tape, &settings, 2, 2, weights, states, NULL);
    tape_frame_close(tape, frame, NULL);
    assert_int_equal(live_bytes(tape, &after), held); /* a second step leaves nothing behind */
    finish(tape);
    tape_release(tape);
    return after - held;
}

static void optimizers_take_what_their_form_takes(void **state)
{
    (void)state;
    const int64_t parameters = 4 * (64 * 64 + 32 * 64);
    assert_int_equal(step_peak(OPTIMIZER_FORM_FOREACH, false), parameters);       /* all roots at once */
    assert_int_equal(step_peak(OPTIMIZER_FORM_SINGLE, false), 2 * 4 * (64 * 64)); /* twice the largest */
}

static void targets_are_found_by_name(void **state)
{
    (void)state;
    const struct target *target = NULL;
    struct status error = {0};
    assert_int_equal(target_find("sm_91", &target, &error), STATUS_INVALID);
    assert_null(target);
    assert_non_null(strstr(error.text, "'sm_91' is not a device class; it is one of sm_90, "));
    static const char *const codes[] = {
        "sm_70",  "sm_75",  "sm_80",  "sm_86",  "sm_87", "sm_89", "sm_90",
        "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"}; /* what toolkits compile for; 13 no longer for sm_70 */
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        assert_int_equal(target_find(codes[i], &target, &error), STATUS_OK);
        assert_string_equal(target->name, codes[i]);
    }
    assert_string_equal(target_at(0)->name, "sm_90");
    assert_null(target_at(1000));
}

static void the_first_error_sticks(void **state)
{
    (void)state;
    struct tape *tape = tape_for("host");
    struct status error = {0};
    int64_t huge[] = {INT64_MAX / 2, 4};
    assert_null(tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 2, huge, true, "huge"));
    assert_true(tape_failed(tape));
    assert_null(tape_gelu(tape, NULL, false));
    assert_null(leaf(tape, 2, 2, false));
    assert_int_equal(tape_finish(tape, &error), STATUS_OVERFLOW);
    assert_string_equal(error.text, "the size of huge does not fit 63 bits");
    tape_release(tape);
}

static void shapes_that_do_not_fit_are_errors(void **state)
{
    (void)state;
    struct status error = {0};
    struct tape *tape = tape_for("host");
    tape_add(tape, leaf(tape, 4, 8, false), leaf(tape, 4, 6, false));
    assert_int_equal(tape_finish(tape, &error), STATUS_INTERNAL);
    tape_release(tape);
    tape = tape_for("host");
    tape_slice(tape, leaf(tape, 4, 8, false), 1, 6, 3);
    assert_int_equal(tape_finish(tape, &error), STATUS_INTERNAL);
    tape_release(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_drops_all_but_its_result),
        cmocka_unit_test(a_view_takes_no_memory_and_holds_its_storage),
        cmocka_unit_test(a_permuted_view_is_copied_where_it_must_be),
        cmocka_unit_test(a_linear_layer_keeps_its_input_alone),
        cmocka_unit_test(gradients_meet_in_place_where_nobody_looks),
        cmocka_unit_test(attention_never_stores_its_scores),
        cmocka_unit_test(workspaces_come_with_the_first_products),
        cmocka_unit_test(products_carry_the_workspace_of_their_thread),
        cmocka_unit_test(convolutions_have_a_workspace_while_they_run),
        cmocka_unit_test(tf32_is_said_by_each_call),
        cmocka_unit_test(optimizers_take_what_their_form_takes),
        cmocka_unit_test(targets_are_found_by_name),
        cmocka_unit_test(the_first_error_sticks),
        cmocka_unit_test(shapes_that_do_not_fit_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
