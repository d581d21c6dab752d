/* Wide read: runs of one piece, each put where it belongs. What a source is, is its own matter. */
#include "harness/base/wide_read.h"

#include "harness/base/ordered_work.h"

struct wide {
    struct byte_source *source;
    int64_t offset;
    char *bytes;
    size_t count;
    struct status *error;
    enum status_code code;
};

struct run_outcome {
    enum status_code code;
    struct status error;
};

static void run_read(void *context, int index, void *result)
{
    const struct wide *wide = context;
    struct run_outcome *outcome = result;
    size_t begin = (size_t)index * WIDE_READ_RUN_BYTES, rest = wide->count - begin;
    outcome->code = byte_source_read(wide->source, wide->offset + (int64_t)begin, wide->bytes + begin,
                                     rest < WIDE_READ_RUN_BYTES ? rest : WIDE_READ_RUN_BYTES, &outcome->error);
}

static bool run_take(void *context, int index, void *result)
{
    struct wide *wide = context;
    const struct run_outcome *outcome = result;
    (void)index;
    wide->code = outcome->code;
    if (outcome->code != STATUS_OK && wide->error != NULL) {
        *wide->error = outcome->error;
    }
    return outcome->code == STATUS_OK;
}

enum status_code wide_read(struct byte_source *source, int64_t offset, void *bytes, size_t count, struct status *error)
{
    size_t runs = (count + WIDE_READ_RUN_BYTES - 1) / WIDE_READ_RUN_BYTES;
    int workers = source->table->is_parallel && runs > 1 && runs <= INT32_MAX ? ordered_work_workers((int)runs) : 0;
    if (workers == 0 || offset < 0 || offset > source->size_bytes || (uint64_t)(source->size_bytes - offset) < count) {
        return byte_source_read(source, offset, bytes, count, error);
    }
    struct wide wide = {.source = source, .offset = offset, .bytes = bytes, .count = count, .error = error};
    const struct ordered_work work = {.count = (int)runs,
                                      .worker_count = workers,
                                      .result_bytes = sizeof(struct run_outcome),
                                      .context = &wide,
                                      .work = run_read,
                                      .take = run_take};
    enum status_code code = ordered_work_run(&work, error);
    return code == STATUS_OK ? wide.code : code;
}
