/* Nothing is taken behind the ledger's back: once every operation has run, what a GPU holds beyond the allocator's
 * segments comes to rest. A driver that loads a kernel later than with its first call is no leak. It needs a GPU;
 * tests/cuda_emulation runs it on the emulated one, whose memory is counted too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/device/passing_device.h"
#include "harness/replay/replay.h"
#include "harness/tape/build.h"
#include "tests/support/device_use.h"

/* tests/cuda_emulation runs the same where the GPU is emulated. */
#ifndef TEST_GPU
#define TEST_GPU test_gpu()
#endif

enum { PASSES = 6, WARM_PASSES = 4, SECRET_BYTES = 2 << 20 };

static const enum dtype floating[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};

enum { LEAF_IMAGE, LEAF_FILTERS, LEAF_POINT_FILTERS, LEAF_WEIGHT, LEAF_BIAS, LEAF_LAST_WEIGHT, LEAF_COUNT };

static void leaves_make(struct tape *tape, enum dtype dtype, struct value *leaves[LEAF_COUNT])
{
    static const struct {
        int rank;
        int64_t size[4];
    } forms[LEAF_COUNT] = {{4, {2, 8, 16, 16}}, {4, {16, 8, 3, 3}}, {4, {16, 16, 1, 1}},
                           {2, {192, 64}},      {1, {192}},         {2, {32, 64}}};
    for (int i = 0; i < LEAF_COUNT; i++) {
        leaves[i] = tape_leaf(tape, i == LEAF_IMAGE ? CATEGORY_INPUTS : CATEGORY_WEIGHTS, dtype, forms[i].rank,
                              forms[i].size, i != LEAF_IMAGE, "leaf");
        tape_init_normal(tape, leaves[i], 0.0, 0.1);
    }
}

/* Convolutions, with columns and without; linear layers, with bias and without; attention as one kernel and as
 * products. */
static void forward_and_backward(struct tape *tape, struct value *const leaves[LEAF_COUNT])
{
    int frame = tape_frame_open(tape);
    struct value *parts[3];
    const struct attention_settings settings = {.scale = 0.125, .causal = true};
    tape_stage_again(tape, STAGE_FORWARD);
    struct value *x = tape_convolution(tape, leaves[LEAF_IMAGE], leaves[LEAF_FILTERS], NULL, 1, 1);
    x = tape_relu(tape, tape_convolution(tape, x, leaves[LEAF_POINT_FILTERS], NULL, 1, 0));
    x = tape_reshape(tape, x, 3, (int64_t[]){2, 64, 64});
    x = tape_linear(tape, x, leaves[LEAF_WEIGHT], leaves[LEAF_BIAS]);
    tape_split(tape, x, 2, 3, parts);
    for (int i = 0; i < 3; i++) {
        parts[i] = tape_transpose(tape, tape_reshape(tape, parts[i], 4, (int64_t[]){2, 64, 2, 32}), 1, 2);
    }
    struct value *fused = tape_attention(tape, parts[0], parts[1], parts[2], &settings);
    struct value *scores = tape_softmax(tape, tape_matmul(tape, parts[0], tape_transpose(tape, parts[1], 2, 3)), false);
    x = tape_add(tape, fused, tape_matmul(tape, scores, parts[2]));
    x = tape_reshape(tape, tape_transpose(tape, x, 1, 2), 3, (int64_t[]){2, 64, 64});
    x = tape_linear(tape, x, leaves[LEAF_LAST_WEIGHT], NULL);
    struct value *loss = tape_mean_last(tape, tape_reshape(tape, x, 1, (int64_t[]){2 * 64 * 32}));
    tape_stage_again(tape, STAGE_BACKWARD);
    tape_backward(tape, loss);
    for (int i = 0; i < LEAF_COUNT; i++) {
        tape_gradient_drop(tape, leaves[i]);
    }
    tape_frame_close(tape, frame, NULL);
}

static struct tape *passes_tape(const char *target_name)
{
    struct status error = {0};
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct value *leaves[3][LEAF_COUNT];
    assert_int_equal(target_find(target_name, &target, &error), STATUS_OK);
    assert_int_equal(tape_new(target, &tape, &error), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        leaves_make(tape, floating[i], leaves[i]);
    }
    tape_gradients(tape, true);
    tape_training(tape, true);
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < 3; i++) {
            forward_and_backward(tape, leaves[i]);
        }
    }
    if (tape_finish(tape, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return tape;
}

/* What is held beyond the segments, stage by stage. Of a GPU that does not tell who holds what, only while nobody else
 * has memory there. */
struct watch {
    int stage_count, warm_stage_count;
    int64_t beyond_bytes; /* when it was warm */
    int drift_count;
    int64_t drift_bytes; /* the first */
    int foreign_count;   /* stages in which others may have taken or given back what is seen */
};

/* Where nobody is listed, not even we, anybody may be there. */
static bool others_may_be_seen(const struct device_reading *reading)
{
    return !reading->process_valid && (!reading->disturbance.foreign_valid || reading->disturbance.foreign_count > 0);
}

static void stage_watch(void *context, enum stage stage, const struct replay_stage *figures)
{
    struct watch *watch = context;
    const struct device_reading *reading = &figures->reading;
    if (stage != STAGE_FORWARD && stage != STAGE_BACKWARD) {
        return;
    }
    assert_true(reading->process_valid || reading->device_valid);
    watch->foreign_count += others_may_be_seen(reading) ? 1 : 0;
    int64_t held = reading->process_valid ? reading->process_bytes : reading->device_bytes;
    int64_t beyond = held - figures->reserved_bytes;
    watch->stage_count++;
    if (watch->stage_count <= watch->warm_stage_count) {
        watch->beyond_bytes = beyond;
    } else if (beyond != watch->beyond_bytes) {
        watch->drift_bytes = watch->drift_count++ == 0 ? beyond - watch->beyond_bytes : watch->drift_bytes;
    }
}

static struct watch passes_watch(struct device *device)
{
    struct watch watch = {.warm_stage_count = WARM_PASSES * 3 * 2};
    const struct replay_observer observer = {.stage_ended = stage_watch, .context = &watch};
    struct device_properties properties;
    struct replay_result result;
    struct status error = {0};
    assert_int_equal(device->table->properties(device, &properties, &error), STATUS_OK);
    struct tape *tape = passes_tape(properties.target);
    struct tape_view view = tape_view(tape);
    if (replay_run(&view, device, &observer, &result, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    tape_release(tape);
    assert_int_equal(watch.stage_count, PASSES * 3 * 2);
    return watch;
}

static void after_warm_up_nothing_is_taken_beyond_the_segments(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip(TEST_GPU);
    struct watch watch = passes_watch(device);
    device_close(device);
    if (watch.drift_count != 0 && watch.foreign_count > 0) {
        print_message("skipped: others use the GPU, and it does not say how much of its memory is ours\n");
        skip();
    }
    if (watch.drift_count != 0) {
        fail_msg("%d stages hold %" PRId64 " bytes more beyond the segments than the warm device", watch.drift_count,
                 watch.drift_bytes);
    }
}

/* A device that takes memory for itself in the middle of a product, as a library without a workspace would. */
struct greedy_device {
    struct passing_device passing;
    int product_count, greedy_product;
    void *secret;
};

static enum status_code greedy_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct greedy_device *greedy = (struct greedy_device *)device;
    struct device *inner = greedy->passing.inner;
    if (call->opcode == OPCODE_MATMUL && ++greedy->product_count == greedy->greedy_product) {
        enum status_code code = inner->table->segment_alloc(inner, SECRET_BYTES, &greedy->secret, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    return inner->table->run(inner, call, error);
}

/* What is seen of a device that takes memory once, in a product of that pass. */
static struct watch greed_watch(int pass)
{
    struct device *inner = device_open_or_skip(TEST_GPU);
    struct greedy_device greedy = {0};
    passing_device_open(&greedy.passing, inner, "greedy");
    greedy.passing.table.run = greedy_run;
    passes_watch(&greedy.passing.base); /* counts the products */
    greedy.greedy_product = greedy.product_count + greedy.product_count / PASSES * (pass - 1) + 1;
    struct watch watch = passes_watch(&greedy.passing.base);
    assert_int_equal(inner->table->segment_free(inner, greedy.secret, SECRET_BYTES, NULL), STATUS_OK);
    device_close(inner);
    return watch;
}

static void a_device_that_takes_memory_is_seen(void **state)
{
    (void)state;
    struct watch watch = greed_watch(PASSES);
    assert_true(watch.drift_bytes == SECRET_BYTES || watch.foreign_count > 0);
    assert_true(watch.drift_count > 0 && watch.drift_count <= 6);
}

/* As a driver does that loads a kernel long after its first call. */
static void what_comes_late_and_once_is_no_leak(void **state)
{
    (void)state;
    struct watch watch = greed_watch(WARM_PASSES - 1);
    assert_true(watch.drift_count == 0 || watch.foreign_count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_warm_up_nothing_is_taken_beyond_the_segments),
        cmocka_unit_test(a_device_that_takes_memory_is_seen),
        cmocka_unit_test(what_comes_late_and_once_is_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
