/* Allocator: events (a block taken or given back) per second, without memory behind the segments. Two loads: the order
 * and the sizes of a real training tape, and random sizes with many live blocks, which is the hard case for the
 * search. */
#include <stdlib.h>

#include "harness/base/clock.h"
#include "harness/device/device.h"
#include "harness/memory/allocator.h"
#include "harness/replay/replay.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"
#include "tests/bench/bench_parts.h"

enum { LIVE_COUNT = 20000, RANDOM_EVENT_COUNT = 400000 };

static const double million = 1e6;

/* Takes and gives back what the events of a tape say; *event_count: how many did. */
static enum status_code tape_play(const struct tape_view *tape, struct block **blocks, int64_t *event_count,
                                  struct status *error)
{
    struct allocator *allocator = NULL;
    int64_t count = 0;
    enum status_code code = allocator_open(ALLOCATOR_CACHING, segment_source_virtual, &allocator, error);
    for (int i = 0; i < tape->event_count && code == STATUS_OK; i++) {
        const struct event *event = &tape->events[i];
        if (event->kind == EVENT_ALLOC) {
            code = allocator_alloc(allocator, tape->storages[event->index].bytes, &blocks[event->index], error);
            count += 1;
        } else if (event->kind == EVENT_FREE) {
            code = allocator_free(allocator, blocks[event->index], error);
            count += 1;
        }
    }
    enum status_code closing = allocator_close(allocator, code == STATUS_OK ? error : NULL);
    *event_count = count;
    return code == STATUS_OK ? closing : code;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Each event exchanges a random block of LIVE_COUNT for one of 1 byte to 16 MiB, small ones more often. */
static enum status_code random_play(struct block **blocks, struct status *error)
{
    struct allocator *allocator = NULL;
    uint64_t state = UINT64_C(88172645463325252);
    enum status_code code = allocator_open(ALLOCATOR_CACHING, segment_source_virtual, &allocator, error);
    for (int i = 0; i < LIVE_COUNT; i++) {
        blocks[i] = NULL;
    }
    for (int i = 0; i < RANDOM_EVENT_COUNT && code == STATUS_OK; i += 2) {
        struct block **block = &blocks[random_next(&state) % LIVE_COUNT];
        uint64_t largest = UINT64_C(1) << (8 + random_next(&state) % 17);
        code = allocator_free(allocator, *block, error);
        *block = NULL;
        if (code == STATUS_OK) {
            code = allocator_alloc(allocator, (int64_t)(1 + random_next(&state) % largest), block, error);
        }
    }
    enum status_code closing = allocator_close(allocator, code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? closing : code;
}

static enum status_code random_measure(struct bench_tally *tally, struct status *error)
{
    struct bench_row row = bench_row_open("allocator, random sizes, 20,000 blocks live", "million events/s");
    struct block **blocks = calloc(LIVE_COUNT, sizeof *blocks);
    enum status_code code =
        blocks != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the blocks");
    for (int i = 0; i < BENCH_RUNS && code == STATUS_OK; i++) {
        double begin = clock_seconds();
        code = random_play(blocks, error);
        bench_row_add(&row, (double)RANDOM_EVENT_COUNT / (clock_seconds() - begin) / million);
    }
    free(blocks);
    if (code == STATUS_OK) {
        bench_row_print(&row, tally);
    }
    return code;
}

/* The allocator alone, then the whole replay of the tape on the meta device, in events of the allocator. */
static enum status_code tape_measure(const struct tape_view *tape, struct bench_tally *tally, struct status *error)
{
    struct bench_row alone = bench_row_open("allocator, training tape of gpt2-xl", "million events/s");
    struct bench_row whole = bench_row_open("replay on meta, training tape of gpt2-xl", "million events/s");
    struct block **blocks = calloc((size_t)tape->storage_count + 1, sizeof *blocks);
    struct device *device = NULL;
    enum status_code code =
        blocks != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the blocks");
    if (code == STATUS_OK) {
        code = device_open("meta", &device, error);
    }
    for (int i = 0; i < BENCH_RUNS && code == STATUS_OK; i++) {
        int64_t event_count = 0;
        struct replay_result result;
        double begin = clock_seconds();
        code = tape_play(tape, blocks, &event_count, error);
        double middle = clock_seconds();
        if (code == STATUS_OK) {
            code = replay_run(tape, device, NULL, &result, error);
        }
        double end = clock_seconds();
        bench_row_add(&alone, (double)event_count / (middle - begin) / million);
        bench_row_add(&whole, (double)event_count / (end - middle) / million);
    }
    device_close(device);
    free(blocks);
    if (code == STATUS_OK) {
        bench_row_print(&alone, tally);
        bench_row_print(&whole, tally);
    }
    return code;
}

static enum status_code training_measure(struct bench_tally *tally, struct status *error)
{
    struct config config;
    struct skeleton skeleton = {0};
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_TRAIN);
    enum status_code code = config_find("models/catalogue", "gpt2-xl", &config, error);
    if (code == STATUS_OK) {
        code = target_find("sm_90", &target, error);
    }
    if (code == STATUS_OK) {
        code = skeleton_build(&config, workload_head(&workload), &skeleton, error);
    }
    if (code == STATUS_OK) {
        code = workload_tape(&config, &skeleton, &workload, target, &tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        code = tape_measure(&view, tally, error);
    }
    tape_release(tape);
    skeleton_release(&skeleton);
    return code;
}

void bench_allocator(struct bench_tally *tally)
{
    struct status error = {0};
    if (random_measure(tally, &error) != STATUS_OK) {
        bench_row_fail("allocator, random sizes", &error, tally);
    }
    if (training_measure(tally, &error) != STATUS_OK) {
        bench_row_fail("allocator, training tape", &error, tally);
    }
}
