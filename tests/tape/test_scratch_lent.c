/* What PyTorch takes for itself while it reduces is there for our operation too: its workspace, from before it runs
 * until behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/tape/tape_for.h"

static struct value *matrix(struct tape *tape, int64_t rows, int64_t columns)
{
    return tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 2, (int64_t[]){rows, columns}, true, "leaf");
}

/* The last operation of that opcode that the tape runs. */
static int op_find(const struct tape_view *view, enum opcode opcode)
{
    int found = -1;
    for (int i = 0; i < view->op_count; i++) {
        found = view->ops[i].opcode == opcode ? i : found;
    }
    assert_true(found >= 0);
    return found;
}

/* The event of that kind and index. */
static int event_find(const struct tape_view *view, enum event_kind kind, int index)
{
    for (int i = 0; i < view->event_count; i++) {
        if (view->events[i].kind == kind && view->events[i].index == index) {
            return i;
        }
    }
    fail_msg("there is no event of kind %d and index %d", (int)kind, index);
    return -1;
}

/* bytes: of the workspace; 0: there is none. */
static void workspace_is(const struct tape *tape, enum opcode opcode, int64_t bytes)
{
    struct tape_view view = tape_view(tape);
    int index = op_find(&view, opcode);
    const struct op *op = &view.ops[index];
    const struct operand *last = &view.operands[op->first_operand + op->input_count - 1];
    assert_int_equal(op->input_count, bytes > 0 ? 2 : 1);
    if (bytes > 0) {
        assert_int_equal(last->dtype, DTYPE_BOOL);
        assert_int_equal(last->size[0], bytes);
        assert_int_equal(view.storages[last->storage].bytes, bytes);
        assert_true(view.storages[last->storage].is_scratch);
        int run = event_find(&view, EVENT_RUN, index);
        assert_true(event_find(&view, EVENT_ALLOC, last->storage) < run);
        assert_true(event_find(&view, EVENT_FREE, last->storage) > run);
    }
}

static void sum_is_lent(const char *target, int64_t rows, int64_t columns, int64_t bytes)
{
    struct tape *tape = tape_for(target);
    tape_sum(tape, matrix(tape, rows, columns), 0, false);
    workspace_is(tape, OPCODE_SUM, bytes);
    tape_release(tape);
}

/* 25,165,824 bytes: measured (reduction_scratch.h). */
static void test_a_sum_has_the_partial_sums(void **state)
{
    (void)state;
    sum_is_lent("sm_90", 4096, 768, 25165824);
    sum_is_lent("sm_90", 128, 768, 0);
    sum_is_lent("cpu", 4096, 768, 0);
}

/* single: as a sum of all; foreach: 4 bytes for each 65,536 elements. */
static void test_norms_of_gradients_have_theirs(void **state)
{
    (void)state;
    for (int foreach = 0; foreach < 2; foreach++) {
        struct tape *tape = tape_for("sm_90");
        struct value *parameter = matrix(tape, 4096, 1024);
        tape_gradients(tape, true);
        tape_backward(tape, tape_sum(tape, tape_sum(tape, parameter, 1, false), 0, false));
        tape_clip_gradients(tape, 1, &parameter, 1.0, foreach != 0);
        struct tape_view view = tape_view(tape);
        int norms = 0;
        for (int i = 0; i < view.op_count; i++) {
            const struct op *op = &view.ops[i];
            bool is_norm = op->opcode == OPCODE_SUM && op->attributes.i[0] == 1;
            const struct operand *from = &view.operands[op->first_operand];
            if (is_norm && from->rank == 2) {
                assert_int_equal(op->input_count, 2);
                assert_int_equal(from[1].size[0], foreach != 0 ? 4 * 64 : 4 * 512);
                norms++;
            }
        }
        assert_int_equal(norms, 1);
        tape_release(tape);
    }
}

/* 9,216 and 425,984 bytes: measured (op_select.c, top_k_scratch.h). */
static void test_the_best_of_a_row_have_theirs(void **state)
{
    (void)state;
    for (int64_t rows = 63; rows <= 64; rows++) {
        struct tape *tape = tape_for("sm_90");
        struct value *indices = NULL, *logits = matrix(tape, rows, rows == 64 ? 151936 : 64);
        tape_argmax(tape, logits);
        tape_top_k(tape, logits, 50, &indices);
        workspace_is(tape, OPCODE_ARGMAX, rows == 64 ? 9216 : 0);
        workspace_is(tape, OPCODE_TOP_K, rows == 64 ? 425984 : 0);
        tape_release(tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sum_has_the_partial_sums),
        cmocka_unit_test(test_norms_of_gradients_have_theirs),
        cmocka_unit_test(test_the_best_of_a_row_have_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
