/* Placed replays: which lane an event belongs to, copies between lanes byte by byte, and what happens when a lane has
 * no room, a device fails, or a tape says what cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/replay/placed_replay.h"
#include "harness/tape/build.h"
#include "tests/replay/counting_device.h"

enum { LANES = 3, BIG = 3 * 1000 * 1000 }; /* elements; in float32 three pieces of staging, the last one short */

struct bench {
    struct counting_device devices[LANES];
    struct replay_lane lanes[LANES];
    struct placed_result result;
    struct status error;
};

static void bench_open(struct bench *bench, bool computes)
{
    *bench = (struct bench){0};
    for (int i = 0; i < LANES; i++) {
        bench->devices[i] = counting_device(computes);
        bench->lanes[i] = (struct replay_lane){.device = &bench->devices[i].base,
                                               .policy = i < 2 ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN};
    }
}

static enum status_code bench_run(struct bench *bench, const struct tape_view *view, int lanes)
{
    bench->error = (struct status){0};
    enum status_code code = placed_replay_run(view, bench->lanes, lanes, NULL, &bench->result, &bench->error);
    for (int i = 0; i < lanes; i++) {
        assert_int_equal(bench->devices[i].held_count, 0);
        assert_int_equal(bench->devices[i].held_bytes, 0);
    }
    return code;
}

static struct tape *tape_of_host(void)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct status error = {0};
    assert_int_equal(target_find("host", &target, &error), STATUS_OK);
    assert_int_equal(tape_new(target, &tape, &error), STATUS_OK);
    return tape;
}

/* A tensor in place 0 that goes to place 2, and another one in place 1. */
static struct tape *travelling(int64_t elements)
{
    struct tape *tape = tape_of_host();
    tape_place(tape, 0);
    struct value *a = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 1, &elements, false, "a");
    tape_fill(tape, a, 7.0);
    tape_place(tape, 1);
    int64_t few = 1000;
    tape_fill(tape, tape_leaf(tape, CATEGORY_BUFFERS, DTYPE_FLOAT32, 1, &few, false, "b"), 1.0);
    tape_stage(tape, STAGE_FORWARD);
    struct value *moved = tape_move(tape, a, 2);
    assert_ptr_equal(tape_move(tape, moved, 2), moved);
    assert_int_equal(value_place(tape, moved), 2);
    struct value *sum =
        tape_add(tape, moved, moved); /* lies where its operands lie, whatever the tape's own place is */
    assert_int_equal(value_place(tape, sum), 2);
    struct status error = {0};
    assert_int_equal(tape_finish(tape, &error), STATUS_OK);
    return tape;
}

static void each_lane_counts_its_own(void **state)
{
    (void)state;
    struct bench bench;
    struct tape *tape = travelling(BIG);
    struct tape_view view = tape_view(tape);
    bench_open(&bench, true);
    assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OK);
    const struct replay_result *lanes = bench.result.lanes;
    assert_int_equal(lanes[0].stages[STAGE_LOAD].requested_bytes, 4 * BIG);
    assert_int_equal(lanes[1].stages[STAGE_LOAD].requested_bytes, 4000);
    assert_int_equal(lanes[2].stages[STAGE_LOAD].requested_bytes, 0);
    assert_int_equal(lanes[2].stages[STAGE_FORWARD].requested_bytes, 8 * BIG);
    assert_int_equal(lanes[2].reserved_bytes_peak, 8 * BIG); /* plain: what was asked for */
    assert_int_equal(lanes[1].reserved_bytes_peak, 2 << 20);
    assert_int_equal(bench.result.copy_count, 1);
    assert_int_equal(bench.result.copied_bytes[0][2], 4 * BIG);
    assert_int_equal(bench.result.copy_counts[0][2], 1);
    assert_int_equal(bench.result.copy_counts[2][0], 0);
    assert_int_equal(bench.result.oom_lane, -1);
    assert_int_equal(bench.devices[0].run_count, 1); /* the fill */
    assert_int_equal(bench.devices[2].run_count, 1); /* the sum */
    tape_release(tape);
}

/* Looks at what the sum is given while it runs: the memory is gone when the run has ended. */
static int64_t right_count;

static enum status_code looking_run(struct device *device, const struct operation_call *call, struct status *error)
{
    (void)device;
    (void)error;
    const float *data = call->tensors[0].data;
    for (int64_t i = 0; i < tensor_element_count(&call->tensors[0]); i++) {
        right_count += data[i] == 7.0f;
    }
    return STATUS_OK;
}

static void a_copy_in_pieces_is_whole(void **state)
{
    (void)state;
    struct bench bench;
    struct tape *tape = travelling(BIG);
    struct tape_view view = tape_view(tape);
    assert_true(4 * BIG > 2 * PLACED_STAGING_BYTES && 4 * BIG < 3 * PLACED_STAGING_BYTES);
    bench_open(&bench, true);
    struct device_table looking = *bench.devices[2].base.table;
    looking.run = looking_run;
    bench.devices[2].base.table = &looking;
    right_count = 0;
    assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OK);
    assert_int_equal(right_count, BIG);
    tape_release(tape);
}

/* The host's own memory needs no piece in between: straight from it, and straight to it. */
static void the_hosts_memory_is_copied_from_directly(void **state)
{
    (void)state;
    for (int host = 0; host < LANES; host += 2) {
        struct bench bench;
        struct device *device = NULL;
        struct tape *tape = travelling(BIG);
        struct tape_view view = tape_view(tape);
        bench_open(&bench, true);
        assert_int_equal(device_open("host", &device, &bench.error), STATUS_OK);
        bench.lanes[host].device = device;
        assert_int_equal(placed_replay_run(&view, bench.lanes, LANES, NULL, &bench.result, &bench.error), STATUS_OK);
        assert_int_equal(bench.result.copied_bytes[0][2], 4 * BIG);
        device_close(device);
        tape_release(tape);
    }
}

/* A device that takes bytes at once and is done with them when it has been waited for. */
enum { FINISHING_NANOSECONDS = 3 * 1000 * 1000 };
static bool bytes_wait;

static enum status_code lazy_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                            struct status *error)
{
    (void)device;
    (void)error;
    memcpy(address, host, (size_t)bytes);
    bytes_wait = true;
    return STATUS_OK;
}

static enum status_code lazy_synchronize(struct device *device, struct status *error)
{
    (void)device;
    (void)error;
    if (bytes_wait) {
        nanosleep(&(struct timespec){.tv_nsec = FINISHING_NANOSECONDS}, NULL);
        bytes_wait = false;
    }
    return STATUS_OK;
}

static void the_seconds_of_a_copy_last_until_the_device_has_the_bytes(void **state)
{
    (void)state;
    struct bench bench;
    struct tape *tape = travelling(8);
    struct tape_view view = tape_view(tape);
    bench_open(&bench, true);
    struct device_table lazy = *bench.devices[2].base.table;
    lazy.copy_from_host = lazy_copy_from_host;
    lazy.synchronize = lazy_synchronize;
    bench.devices[2].base.table = &lazy;
    assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OK);
    assert_true(bench.result.copy_seconds[0][2] >= 1e-9 * FINISHING_NANOSECONDS);
    for (int i = 0; i < LANES * LANES; i++) {
        assert_true(i == 2 || bench.result.copy_seconds[i / LANES][i % LANES] == 0.0);
    }
    tape_release(tape);
}

static void a_copy_that_moves_no_byte_takes_no_time(void **state)
{
    (void)state;
    struct tape *tape = travelling(BIG);
    struct tape_view view = tape_view(tape);
    for (int without = 0; without < LANES; without += 2) {
        struct bench bench;
        bench_open(&bench, true);
        bench.devices[without].computes = false;
        bench.devices[2 - without].computes = without == 0;
        assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OK);
        assert_int_equal(bench.result.copied_bytes[0][2], 4 * BIG);
        assert_true(bench.result.copy_seconds[0][2] == 0.0);
    }
    tape_release(tape);
}

static void a_lane_without_room_is_named(void **state)
{
    (void)state;
    struct tape *tape = travelling(BIG);
    struct tape_view view = tape_view(tape);
    for (int lane = 0; lane < LANES; lane++) {
        struct bench bench;
        bench_open(&bench, true);
        bench.devices[lane].capacity_bytes =
            lane == 2 ? 4 * BIG : 0; /* the copy fits there, the sum beside it does not */
        assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OUT_OF_MEMORY);
        assert_int_equal(bench.result.oom_lane, lane);
        const struct replay_result *refused = &bench.result.lanes[lane];
        assert_int_equal(refused->oom_wanted_bytes, lane == 1 ? 4000 : 4 * BIG);
        assert_int_equal(refused->oom_stage, lane == 2 ? STAGE_FORWARD : STAGE_LOAD);
        assert_string_equal(refused->oom_label, lane == 0 ? "a" : lane == 1 ? "b" : "ADD");
        /* The stages that ended are there. */
        assert_true(bench.result.lanes[0].stages[STAGE_LOAD].present == (lane == 2));
    }
    tape_release(tape);
}

static void a_copy_without_room_leaves_its_source(void **state)
{
    (void)state;
    struct bench bench;
    struct tape *tape = travelling(BIG);
    struct tape_view view = tape_view(tape);
    bench_open(&bench, false);
    bench.devices[2].capacity_bytes = 4 * BIG - 1;
    assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OUT_OF_MEMORY);
    assert_int_equal(bench.result.oom_lane, 2);
    assert_string_equal(bench.result.lanes[2].oom_label, "a");
    assert_int_equal(bench.result.copy_count, 0);
    tape_release(tape);
}

static void an_emptied_cache_gives_segments_back(void **state)
{
    (void)state;
    struct bench bench;
    struct status error = {0};
    int64_t elements = 5 << 20;
    for (int trims = 0; trims < 2; trims++) {
        struct tape *tape = tape_of_host();
        int frame = tape_frame_open(tape);
        tape_place(tape, 1);
        tape_fill(tape, tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 1, &elements, false, "a"), 0.0);
        tape_frame_close(tape, frame, NULL);
        if (trims == 1) {
            tape_trim(tape, 1);
        }
        assert_int_equal(tape_finish(tape, &error), STATUS_OK);
        struct tape_view view = tape_view(tape);
        bench_open(&bench, true);
        assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OK);
        const struct replay_stage *load = &bench.result.lanes[1].stages[STAGE_LOAD];
        assert_int_equal(load->reserved_bytes, trims == 1 ? 0 : 4 * elements);
        assert_int_equal(load->reserved_bytes_peak, 4 * elements);
        tape_release(tape);
    }
}

/* -- what a tape may not say */

static void faulty_tapes_are_refused(void **state)
{
    (void)state;
    struct bench bench;
    struct tape *tape = travelling(8);
    const struct tape_view whole = tape_view(tape);
    struct storage *storages = malloc(sizeof *storages * (size_t)whole.storage_count);
    struct event *events = malloc(sizeof *events * (size_t)whole.event_count);
    struct op *ops = malloc(sizeof *ops * (size_t)whole.op_count);
    assert_non_null(storages);
    assert_non_null(events);
    assert_non_null(ops);
    static const struct {
        const char *text;
    } faults[] = {{"there are 2"},        {"there are 3"}, {"operands in places"},
                  {"operands in places"}, {"repetition"},  {"points at"}};
    for (int fault = 0; fault < 6; fault++) {
        struct tape_view view = whole;
        memcpy(storages, whole.storages, sizeof *storages * (size_t)whole.storage_count);
        memcpy(events, whole.events, sizeof *events * (size_t)whole.event_count);
        memcpy(ops, whole.ops, sizeof *ops * (size_t)whole.op_count);
        view.storages = storages;
        view.events = events;
        view.ops = ops;
        storages[0].place = fault == 1 ? LANES : storages[0].place;
        storages[whole.storage_count - 1].place = fault == 2 ? 0 : storages[whole.storage_count - 1].place;
        for (int i = 0; i < whole.op_count; i++) {
            ops[i].opcode = fault == 3 && ops[i].opcode == OPCODE_COPY ? OPCODE_SQUARE_ROOT : ops[i].opcode;
        }
        events[whole.event_count - 1] = fault == 4   ? (struct event){EVENT_REPEAT, 0}
                                        : fault == 5 ? (struct event){EVENT_TRIM, PLACE_MAXIMUM}
                                                     : events[whole.event_count - 1];
        bench_open(&bench, true);
        assert_int_equal(bench_run(&bench, &view, fault == 0 ? 2 : LANES), STATUS_INTERNAL);
        if (strstr(bench.error.text, faults[fault].text) == NULL) {
            fail_msg("fault %d: '%s' does not say '%s'", fault, bench.error.text, faults[fault].text);
        }
    }
    free(storages);
    free(events);
    free(ops);
    tape_release(tape);
}

/* -- every call of every device fails once */

static void each_call_that_fails_is_told_and_nothing_is_held(void **state)
{
    (void)state;
    struct tape *tape = travelling(BIG);
    struct tape_view view = tape_view(tape);
    for (int lane = 0; lane < LANES; lane++) {
        struct bench bench;
        bench_open(&bench, true);
        assert_int_equal(bench_run(&bench, &view, LANES), STATUS_OK);
        int64_t calls = bench.devices[lane].call_count;
        assert_true(calls > 5);
        for (int64_t n = 1; n <= calls; n++) {
            bench_open(&bench, true);
            bench.devices[lane].failing_call = n;
            bench.devices[lane].failing_code = STATUS_DEVICE;
            bench.error = (struct status){0};
            enum status_code code = placed_replay_run(&view, bench.lanes, LANES, NULL, &bench.result, &bench.error);
            assert_int_equal(code, STATUS_DEVICE);
            assert_true(strstr(bench.error.text, "fails on demand") != NULL);
            for (int i = 0; i < LANES; i++) {
                assert_int_equal(bench.devices[i].held_count, 0);
            }
        }
    }
    tape_release(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lane_counts_its_own),
        cmocka_unit_test(a_copy_in_pieces_is_whole),
        cmocka_unit_test(the_hosts_memory_is_copied_from_directly),
        cmocka_unit_test(the_seconds_of_a_copy_last_until_the_device_has_the_bytes),
        cmocka_unit_test(a_copy_that_moves_no_byte_takes_no_time),
        cmocka_unit_test(a_lane_without_room_is_named),
        cmocka_unit_test(a_copy_without_room_leaves_its_source),
        cmocka_unit_test(an_emptied_cache_gives_segments_back),
        cmocka_unit_test(faulty_tapes_are_refused),
        cmocka_unit_test(each_call_that_fails_is_told_and_nothing_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
