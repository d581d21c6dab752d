/* Attention that stores its scores, against PyTorch: every allocation and release of the forward call and of the copy
 * that makes its result contiguous, in order. The lists are the events of PyTorch 2.11's CPU allocator (torch.profiler,
 * no mode active) for the same code, without the scalars that Python numbers become there.
 *
 * batch 2, 4 query heads over 2 or 4 groups, 8 rows, width 16: 4,096 bytes are one float32 tensor of all heads, 2,048
 * the scores, 512 a byte for each score. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tape/tape_for.h"

enum { BATCH = 2, HEADS = 4, ROWS = 8, WIDTH = 16, EVENTS_MAXIMUM = 48 };

struct call {
    const char *name, *target;
    enum dtype dtype;
    int64_t groups;
    bool causal, masked, gradients;
    int64_t bytes[EVENTS_MAXIMUM]; /* taken; given back where negative; 0: the end */
};

static const struct call calls[] = {
    {"float32, grouped, causal", "sm_90", DTYPE_FLOAT32, 2, true, false, true, {4096,  64,    64,   -64,  4,     4,
                                                                                256,   -4,    -4,   -64,  4096,  4096,
                                                                                4096,  4096,  2048, 2048, 512,   64,
                                                                                4,     -4,    -64,  -512, -2048, 4096,
                                                                                -4096, -4096, -256, 4096, -4096}},
    {"float32, grouped, causal, no gradients",
     "sm_90",
     DTYPE_FLOAT32,
     2,
     true,
     false,
     false,
     {4096, 64,  64, -64, 4,  4,   256,  -4,    -4,   -64,   4096,  4096,  4096, 4096,  2048, -4096, -4096,
      2048, 512, 64, 4,   -4, -64, -512, -2048, 4096, -4096, -4096, -4096, -256, -2048, 4096, -4096}},
    {"bfloat16 without tensor cores for it, grouped, causal",
     "sm_75",
     DTYPE_BFLOAT16,
     2,
     true,
     false,
     true,
     {4096, 2048, 2048, 4096,  64,    64,    -64,  4,     4,     256,   -4,    -4,   -64,
      4096, 4096, 4096, 4096,  2048,  2048,  512,  64,    4,     -4,    -64,   -512, -2048,
      1024, 4096, 2048, -4096, -4096, -4096, -256, -2048, -2048, -4096, -1024, 2048, -2048}},
    {"bfloat16 without tensor cores for it, masked",
     "sm_75",
     DTYPE_BFLOAT16,
     4,
     false,
     true,
     true,
     {2,  2,   256,  -2,    -2,   4096, 4096, 4096, 4096,  4096,  4096,  4096,  2048,  -4096, 2048, 512,  64,   4,
      -4, -64, -512, -2048, 1024, 4096, 4096, 2048, -4096, -4096, -4096, -4096, -4096, -1024, -256, 2048, -2048}},
};

static struct value *heads_leaf(struct tape *tape, const struct call *call, int64_t heads)
{
    int64_t size[] = {BATCH, ROWS, heads, WIDTH};
    struct value *stored = tape_leaf(tape, CATEGORY_INPUTS, call->dtype, 4, size, call->gradients, "heads");
    return tape_transpose(tape, stored, 1, 2);
}

static void call_check(const struct call *call)
{
    struct status error = {0};
    struct tape *tape = tape_for(call->target);
    tape_gradients(tape, call->gradients);
    struct value *q = heads_leaf(tape, call, HEADS);
    struct value *k = heads_leaf(tape, call, call->groups), *v = heads_leaf(tape, call, call->groups);
    int64_t square[] = {BATCH, 1, ROWS, ROWS}, joined[] = {BATCH, ROWS, HEADS * WIDTH};
    struct attention_settings settings = {.scale = 0.25, .causal = call->causal};
    if (call->masked) {
        settings.mask = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_BOOL, 4, square, false, "mask");
    }
    int first = tape_view(tape).event_count;
    struct value *out = tape_attention(tape, q, k, v, &settings);
    tape_reshape(tape, tape_transpose(tape, out, 1, 2), 3, joined);
    tape_drop(tape, out);
    if (tape_finish(tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", call->name, error.text);
    }
    struct tape_view view = tape_view(tape);
    assert_int_equal(view.attention_backend, ATTENTION_BACKEND_MATH);
    int place = 0;
    for (int i = first; i < view.event_count; i++) {
        const struct storage *storage = &view.storages[view.events[i].index];
        bool taken = view.events[i].kind == EVENT_ALLOC;
        if ((!taken && view.events[i].kind != EVENT_FREE) || storage->category == CATEGORY_WORKSPACE) {
            continue;
        }
        int64_t bytes = taken ? storage->bytes : -storage->bytes;
        if (place == EVENTS_MAXIMUM || bytes != call->bytes[place]) {
            fail_msg("%s: event %d is %lld bytes (%s), PyTorch's %lld", call->name, place, (long long)bytes,
                     storage->label, (long long)(place < EVENTS_MAXIMUM ? call->bytes[place] : 0));
        }
        place++;
    }
    /* The last release of PyTorch's list is of the call's own result, which here goes with its transposed view. */
    assert_int_equal(call->bytes[place + 1], 0);
    tape_release(tape);
}

static void every_event_is_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        call_check(&calls[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_event_is_pytorchs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
