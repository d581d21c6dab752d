/* A small tape made by hand, walked on a device that counts: figures, faults of tapes, faults of devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/replay/replay.h"
#include "tests/replay/counting_device.h"

#define MIB     ((int64_t)1 << 20)
#define KIB     ((int64_t)1 << 10)
#define SIZE(a) ((int)(sizeof(a) / sizeof((a)[0])))

enum { WEIGHT, INPUT, ACTIVATION, LOSS, GRADIENT, SCRATCH, EMPTY };

static const struct storage storages[] = {
    [WEIGHT] = {.bytes = 1536 * KIB, .category = CATEGORY_WEIGHTS, .label = "weight"},
    [INPUT] = {.bytes = 1000, .category = CATEGORY_INPUTS, .label = "input_ids"},
    [ACTIVATION] = {.bytes = 9 * MIB, .category = CATEGORY_ACTIVATIONS, .label = "MATMUL"},
    [LOSS] = {.bytes = 8, .category = CATEGORY_ACTIVATIONS, .label = "NLL_LOSS"},
    [GRADIENT] = {.bytes = 1536 * KIB, .category = CATEGORY_GRADIENTS, .label = "weight.grad"},
    [SCRATCH] = {.bytes = 30 * MIB, .category = CATEGORY_TEMPORARIES, .label = "scratch"},
    [EMPTY] = {.bytes = 0, .category = CATEGORY_BUFFERS, .label = "empty"},
};

/* The loss is the second element of its storage, so that an offset is at work. */
static const struct operand operands[] = {
    {.storage = LOSS, .dtype = DTYPE_FLOAT32, .rank = 1, .offset = 1, .size = {1}, .stride = {1}},
    {.storage = WEIGHT, .dtype = DTYPE_FLOAT32, .rank = 2, .size = {384, 1024}, .stride = {1024, 1}},
    {.storage = EMPTY, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {0}, .stride = {1}},
};

static const struct op ops[] = {
    {.opcode = OPCODE_FILL, .first_operand = 0, .operand_count = 1, .attributes = {.f = {2.5}}},
    {.opcode = OPCODE_FILL, .first_operand = 1, .operand_count = 1, .attributes = {.f = {0.5}}},
    {.opcode = OPCODE_COPY, .first_operand = 1, .input_count = 1, .operand_count = 2},
};

static const struct event events[] = {
    {EVENT_STAGE, STAGE_LOAD},
    {EVENT_ALLOC, WEIGHT},
    {EVENT_ALLOC, EMPTY},
    {EVENT_RUN, 1},
    {EVENT_STAGE, STAGE_FORWARD},
    {EVENT_ALLOC, INPUT},
    {EVENT_ALLOC, ACTIVATION},
    {EVENT_ALLOC, LOSS},
    {EVENT_RUN, 0},
    {EVENT_STAGE, STAGE_BACKWARD},
    {EVENT_ALLOC, SCRATCH},
    {EVENT_ALLOC, GRADIENT},
    {EVENT_RUN, 2},
    {EVENT_FREE, SCRATCH},
    {EVENT_FREE, ACTIVATION},
    {EVENT_STAGE, STAGE_STEP},
    {EVENT_FREE, GRADIENT},
};

static struct tape_view small_tape(void)
{
    return (struct tape_view){
        .storages = storages,
        .ops = ops,
        .operands = operands,
        .events = events,
        .storage_count = SIZE(storages),
        .op_count = SIZE(ops),
        .operand_count = SIZE(operands),
        .event_count = SIZE(events),
        .saved_for_backward_bytes = 9 * MIB,
        .loss_operand = 0,
    };
}

static struct replay_result replayed(const struct tape_view *tape, struct counting_device *device)
{
    struct replay_result result = {0};
    struct status error = {0};
    if (replay_run(tape, &device->base, NULL, &result, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(device->held_count, 0);
    assert_int_equal(device->held_bytes, 0);
    return result;
}

static void stage_shows(const struct replay_stage *stage, int64_t requested, int64_t requested_peak, int64_t allocated,
                        int64_t allocated_peak, int64_t reserved)
{
    assert_true(stage->present);
    assert_int_equal(stage->requested_bytes, requested);
    assert_int_equal(stage->requested_bytes_peak, requested_peak);
    assert_int_equal(stage->allocated_bytes, allocated);
    assert_int_equal(stage->allocated_bytes_peak, allocated_peak);
    assert_int_equal(stage->reserved_bytes, reserved);
}

static void every_stage_has_its_figures(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device device = counting_device(true);
    struct replay_result result = replayed(&tape, &device);
    int64_t weight = 1536 * KIB, forward = weight + 1000 + 9 * MIB + 8, forward_blocks = weight + 1024 + 9 * MIB + 512;
    stage_shows(&result.stages[STAGE_CONTEXT], 0, 0, 0, 0, 0);
    stage_shows(&result.stages[STAGE_LOAD], weight, weight, weight, weight, 20 * MIB);
    stage_shows(&result.stages[STAGE_FORWARD], forward, forward, forward_blocks, forward_blocks, 22 * MIB);
    stage_shows(&result.stages[STAGE_BACKWARD], 2 * weight + 1008, forward + 30 * MIB + weight, 2 * weight + 1536,
                forward_blocks + 30 * MIB + weight, 52 * MIB);
    stage_shows(&result.stages[STAGE_STEP], weight + 1008, 2 * weight + 1008, weight + 1536, 2 * weight + 1536,
                52 * MIB);
    assert_false(result.stages[STAGE_GENERATE].present);
    assert_int_equal(result.peak_stage, STAGE_BACKWARD);
    assert_int_equal(result.requested_bytes_peak, forward + 30 * MIB + weight);
    assert_int_equal(result.allocated_bytes_peak, forward_blocks + 30 * MIB + weight);
    assert_int_equal(result.reserved_bytes_peak, 52 * MIB);
    assert_int_equal(result.segment_count, 3);
    assert_int_equal(result.alloc_count, 7);
    assert_int_equal(result.saved_for_backward_bytes, 9 * MIB);
    assert_null(result.oom_label);
}

static void the_peak_says_what_it_is_made_of(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device device = counting_device(false);
    struct replay_result result = replayed(&tape, &device);
    int64_t sum = 0;
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        sum += result.categories_at_peak[i];
    }
    assert_int_equal(sum, result.requested_bytes_peak);
    assert_int_equal(result.categories_at_peak[CATEGORY_TEMPORARIES], 30 * MIB);
    assert_int_equal(result.categories_at_peak[CATEGORY_ACTIVATIONS], 9 * MIB + 8);
    assert_int_equal(result.categories_at_peak[CATEGORY_GRADIENTS], 1536 * KIB);
    assert_int_equal(result.stages[STAGE_LOAD].categories_at_peak[CATEGORY_WEIGHTS], 1536 * KIB);
    assert_int_equal(result.causes_at_load.rounding_bytes, 0);
    assert_int_equal(result.causes_at_load.cached_bytes, 20 * MIB - 1536 * KIB);
    assert_int_equal(result.causes_at_end.rounding_bytes, 24 + 504);
    assert_int_equal(result.causes_at_end.unsplit_remainder_count, 0);
    assert_int_equal(result.causes_at_end.cached_bytes, 52 * MIB - 1536 * KIB - 1536);
}

static void two_devices_see_the_same_sequence(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device meta = counting_device(false), host = counting_device(true);
    struct replay_result predicted = replayed(&tape, &meta), measured = replayed(&tape, &host);
    assert_true(predicted.sequence_hash == measured.sequence_hash);
    assert_int_equal(
        memcmp(predicted.categories_at_peak, measured.categories_at_peak, sizeof predicted.categories_at_peak), 0);
    assert_int_equal(meta.run_count, 3);
    assert_int_equal(host.run_count, 3);
    assert_int_equal(host.reset_count, 5);
    tape.event_count -= 1; /* one free fewer is another sequence */
    struct replay_result other = replayed(&tape, &meta);
    assert_false(other.sequence_hash == measured.sequence_hash);
}

static void readings_and_times_are_of_devices_that_have_them(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device meta = counting_device(false), host = counting_device(true);
    struct replay_result predicted = replayed(&tape, &meta), measured = replayed(&tape, &host);
    for (int i = 0; i <= STAGE_STEP; i++) {
        assert_false(predicted.stages[i].reading.device_valid);
        assert_true(predicted.stages[i].seconds == 0.0);
        assert_true(measured.stages[i].reading.device_valid);
        assert_int_equal(measured.stages[i].reading.device_bytes, measured.stages[i].reserved_bytes);
        assert_true(measured.stages[i].seconds >= 0.0);
    }
    assert_true(measured.stages[STAGE_LOAD].seconds > 0.0);
}

static void operands_become_addresses(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device device = counting_device(false);
    tape.event_count = 9; /* the last run is that of the loss */
    replayed(&tape, &device);
    uint64_t small_segment = UINT64_C(0x9000000000000000) - (uint64_t)(20 * MIB);
    /* The input fills the first 1024 bytes of the small segment; the loss is the second float after them. */
    assert_true((uint64_t)(uintptr_t)device.last_call.tensors[0].data == small_segment + 1024 + 4);
    assert_int_equal(device.last_call.opcode, OPCODE_FILL);
    assert_int_equal(device.last_call.tensor_count, 1);
    assert_true(device.last_call.attributes.f[0] == 2.5);
}

static void the_loss_is_read_in_every_floating_dtype(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    for (int i = 0; i < SIZE(dtypes); i++) {
        struct operand typed[SIZE(operands)];
        memcpy(typed, operands, sizeof operands);
        typed[0].dtype = dtypes[i];
        struct tape_view tape = small_tape();
        tape.operands = typed;
        struct counting_device device = counting_device(true);
        struct replay_result result = replayed(&tape, &device);
        assert_true(result.loss_valid);
        assert_true(result.loss == 2.5);
    }
    struct tape_view tape = small_tape();
    struct counting_device meta = counting_device(false), host = counting_device(true);
    assert_false(replayed(&tape, &meta).loss_valid);
    tape.loss_operand = -1;
    assert_false(replayed(&tape, &host).loss_valid);
}

static void of_a_repeated_stage_the_last_counts(void **state)
{
    (void)state;
    static const struct event repeated[] = {
        {EVENT_STAGE, STAGE_FORWARD}, {EVENT_ALLOC, SCRATCH},       {EVENT_FREE, SCRATCH}, {EVENT_STAGE, STAGE_STEP},
        {EVENT_ALLOC, INPUT},         {EVENT_STAGE, STAGE_FORWARD}, {EVENT_ALLOC, LOSS},
    };
    struct tape_view tape = small_tape();
    tape.events = repeated;
    tape.event_count = SIZE(repeated);
    struct counting_device device = counting_device(true);
    struct replay_result result = replayed(&tape, &device);
    stage_shows(&result.stages[STAGE_FORWARD], 1008, 1008, 1536, 1536, 32 * MIB);
    assert_int_equal(result.allocated_bytes_peak, 1536);
    assert_int_equal(result.peak_stage, STAGE_FORWARD);
    assert_int_equal(result.reserved_bytes_peak, 32 * MIB);
}

static void stage_noted(void *context, enum stage stage, const struct replay_stage *figures)
{
    char *order = context;
    size_t length = strlen(order);
    order[length] = (char)('0' + stage);
    assert_true(figures->present);
}

static void the_observer_hears_of_every_stage(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device device = counting_device(false);
    char order[16] = "";
    struct replay_observer observer = {.stage_ended = stage_noted, .context = order};
    struct replay_result result;
    assert_int_equal(replay_run(&tape, &device.base, &observer, &result, NULL), STATUS_OK);
    assert_string_equal(order, "01234");
}

/* Runs a tape that has a fault; the text must name it. */
static void tape_fails(const struct tape_view *tape, const char *expected)
{
    struct counting_device device = counting_device(true);
    struct status error = {0};
    struct replay_result result, untouched;
    memset(&untouched, 0x5a, sizeof untouched);
    memcpy(&result, &untouched, sizeof result);
    assert_int_equal(replay_run(tape, &device.base, NULL, &result, &error), STATUS_INTERNAL);
    if (strstr(error.text, expected) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", expected, error.text);
    }
    assert_int_equal(memcmp(&result, &untouched, sizeof result), 0);
    assert_int_equal(device.held_count, 0);
}

static void events_fail(const struct event *wrong, int count, const char *expected)
{
    struct tape_view tape = small_tape();
    tape.events = wrong;
    tape.event_count = count;
    tape.loss_operand = -1;
    tape_fails(&tape, expected);
}

static void faulty_events_are_internal_errors(void **state)
{
    (void)state;
    static const struct event twice[] = {{EVENT_STAGE, STAGE_LOAD}, {EVENT_ALLOC, WEIGHT}, {EVENT_ALLOC, WEIGHT}};
    static const struct event again[] = {{EVENT_ALLOC, INPUT}, {EVENT_FREE, INPUT}, {EVENT_ALLOC, INPUT}};
    static const struct event freed[] = {{EVENT_ALLOC, INPUT}, {EVENT_FREE, INPUT}, {EVENT_FREE, INPUT}};
    static const struct event early[] = {{EVENT_FREE, SCRATCH}};
    static const struct event dead[] = {{EVENT_ALLOC, LOSS}, {EVENT_FREE, LOSS}, {EVENT_RUN, 0}};
    static const struct event absent[] = {{EVENT_ALLOC, WEIGHT}, {EVENT_RUN, 2}};
    static const struct event beyond[] = {{EVENT_ALLOC, 99}};
    static const struct event below[] = {{EVENT_RUN, -1}};
    static const struct event stage[] = {{EVENT_STAGE, STAGE_COUNT}};
    static const struct event kind[] = {{(enum event_kind)9, 0}};
    events_fail(twice, SIZE(twice), "stage load: storage 0 (weight) is taken twice");
    events_fail(again, SIZE(again), "stage context: storage 1 (input_ids) is taken twice");
    events_fail(freed, SIZE(freed), "storage 1 (input_ids) is freed twice");
    events_fail(early, SIZE(early), "storage 5 (scratch) is freed before it is taken");
    events_fail(dead, SIZE(dead), "op 0 (FILL): operand 0: storage 3 (NLL_LOSS) is not alive");
    events_fail(absent, SIZE(absent), "op 2 (COPY): operand 2: storage 6 (empty) is not alive");
    events_fail(beyond, SIZE(beyond), "event 0 of kind 0 points at 99 of 7");
    events_fail(below, SIZE(below), "points at -1 of 3");
    events_fail(stage, SIZE(stage), "points at 6 of 6");
    events_fail(kind, SIZE(kind), "unknown kind 9");
}

static void faulty_ops_and_operands_are_internal_errors(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct op wrong_op = {.opcode = OPCODE_COUNT, .operand_count = 1};
    struct operand wrong[SIZE(operands)];
    tape.ops = &wrong_op;
    tape.op_count = 1;
    static const struct event run[] = {{EVENT_ALLOC, LOSS}, {EVENT_RUN, 0}};
    tape.events = run;
    tape.event_count = SIZE(run);
    tape_fails(&tape, "op 0: opcode");
    wrong_op = (struct op){.opcode = OPCODE_FILL, .operand_count = OPERATION_TENSORS_MAXIMUM + 1};
    tape_fails(&tape, "op 0: opcode");
    wrong_op = (struct op){.opcode = OPCODE_FILL, .first_operand = SIZE(operands), .operand_count = 1};
    tape_fails(&tape, "operand 3 does not exist");
    wrong_op = ops[0];
    tape.operands = wrong;
    memcpy(wrong, operands, sizeof operands);
    wrong[0].storage = 7;
    tape_fails(&tape, "operand 0: storage 7 does not exist");
    memcpy(wrong, operands, sizeof operands);
    wrong[0].size[0] = 2;
    tape_fails(&tape, "storage 3 (NLL_LOSS): the tensor ends at byte 12 of a storage of 8");
    struct storage nowhere = {.bytes = 8, .category = CATEGORY_COUNT, .label = "nowhere"};
    static const struct event alloc[] = {{EVENT_ALLOC, 0}};
    tape.storages = &nowhere;
    tape.storage_count = 1;
    tape.events = alloc;
    tape.event_count = 1;
    tape_fails(&tape, "storage 0 (nowhere) has no category");
}

static void a_loss_that_is_no_number_is_an_internal_error(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    tape.loss_operand = 1;
    tape_fails(&tape, "loss: it is not one floating number");
    tape.loss_operand = SIZE(operands);
    tape_fails(&tape, "loss: operand 3 does not exist");
}

/* Exactly the predicted bytes are enough; one byte fewer is not; any bound is survived. */
static void out_of_memory_is_an_outcome(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device whole = counting_device(true);
    int64_t needed = replayed(&tape, &whole).reserved_bytes_peak;
    for (int64_t capacity = 0; capacity <= needed; capacity += MIB / 2) {
        struct counting_device device = counting_device(true);
        struct replay_result result;
        device.capacity_bytes = capacity == needed - MIB / 2 ? needed - 1 : capacity;
        enum status_code code = replay_run(&tape, &device.base, NULL, &result, NULL);
        assert_int_equal(code, capacity < needed ? STATUS_OUT_OF_MEMORY : STATUS_OK);
        assert_int_equal(device.held_count, 0);
        assert_true(code == STATUS_OK || (result.oom_wanted_bytes > 0 && result.oom_held_bytes <= capacity));
    }
}

static void out_of_memory_says_what_was_wanted(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device device = counting_device(false);
    struct replay_result result;
    struct status error = {0};
    device.capacity_bytes = 40 * MIB;
    assert_int_equal(replay_run(&tape, &device.base, NULL, &result, &error), STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text,
                        "stage backward: scratch wants 30.00 MiB while 22.00 MiB are held: the bound is reached");
    assert_int_equal(result.oom_wanted_bytes, 30 * MIB);
    assert_int_equal(result.oom_held_bytes, 22 * MIB);
    assert_int_equal(result.oom_stage, STAGE_BACKWARD);
    assert_string_equal(result.oom_label, "scratch");
    assert_true(result.stages[STAGE_FORWARD].present);
    assert_false(result.stages[STAGE_BACKWARD].present);
    assert_int_equal(result.peak_stage, STAGE_FORWARD);
    assert_false(result.loss_valid);
}

static void an_operation_that_runs_out_of_memory_is_named(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct replay_result result;
    struct counting_device device = counting_device(true);
    device.failing_code = STATUS_OUT_OF_MEMORY;
    /* properties, reset, then for context: synchronize, reading, reset; one segment; run. */
    device.failing_call = 7;
    struct status error = {0};
    assert_int_equal(replay_run(&tape, &device.base, NULL, &result, &error), STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text,
                        "stage load: FILL runs out of memory while 20.00 MiB are held: run fails on demand");
    assert_string_equal(result.oom_label, "FILL");
    assert_int_equal(result.oom_wanted_bytes, 0);
    assert_int_equal(device.held_count, 0);
}

/* Every call of the device fails once, in turn: an error each time, nothing kept, no result written. */
static void no_failing_call_leaks_or_passes(void **state)
{
    (void)state;
    struct tape_view tape = small_tape();
    struct counting_device whole = counting_device(true);
    replayed(&tape, &whole);
    assert_true(whole.call_count > 20);
    for (int64_t call = 1; call <= whole.call_count; call++) {
        struct counting_device device = counting_device(true);
        struct replay_result result, untouched;
        struct status error = {0};
        memset(&untouched, 0x5a, sizeof untouched);
        memcpy(&result, &untouched, sizeof result);
        device.failing_call = call;
        assert_int_equal(replay_run(&tape, &device.base, NULL, &result, &error), STATUS_DEVICE);
        assert_non_null(strstr(error.text, "fails on demand"));
        assert_int_equal(memcmp(&result, &untouched, sizeof result), 0);
        assert_int_equal(device.held_count, 0);
        assert_int_equal(device.held_bytes, 0);
    }
}

static void an_empty_tape_is_legal(void **state)
{
    (void)state;
    struct tape_view tape = {.loss_operand = -1};
    struct counting_device device = counting_device(true);
    struct replay_result result = replayed(&tape, &device);
    assert_true(result.stages[STAGE_CONTEXT].present);
    assert_int_equal(result.allocated_bytes_peak, 0);
    assert_int_equal(result.alloc_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stage_has_its_figures),
        cmocka_unit_test(the_peak_says_what_it_is_made_of),
        cmocka_unit_test(two_devices_see_the_same_sequence),
        cmocka_unit_test(readings_and_times_are_of_devices_that_have_them),
        cmocka_unit_test(operands_become_addresses),
        cmocka_unit_test(the_loss_is_read_in_every_floating_dtype),
        cmocka_unit_test(of_a_repeated_stage_the_last_counts),
        cmocka_unit_test(the_observer_hears_of_every_stage),
        cmocka_unit_test(faulty_events_are_internal_errors),
        cmocka_unit_test(faulty_ops_and_operands_are_internal_errors),
        cmocka_unit_test(a_loss_that_is_no_number_is_an_internal_error),
        cmocka_unit_test(out_of_memory_is_an_outcome),
        cmocka_unit_test(out_of_memory_says_what_was_wanted),
        cmocka_unit_test(an_operation_that_runs_out_of_memory_is_named),
        cmocka_unit_test(no_failing_call_leaks_or_passes),
        cmocka_unit_test(an_empty_tape_is_legal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
