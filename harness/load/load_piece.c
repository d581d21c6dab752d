/* Load piece: bytes of one stored tensor on their way: file, staging, cast, place. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/ordered_work.h"
#include "harness/load/element_cast.h"
#include "harness/load/load_inside.h"

enum { PARALLEL_RUNS = 4 }; /* fewer are read before threads have started */

static enum status_code watch_look(struct loaded *loaded, int64_t read_bytes, struct status *error)
{
    const struct load_watch *watch = loaded->watch;
    loaded->result.read_bytes += read_bytes;
    if (watch != NULL && watch->progress != NULL) {
        watch->progress(watch->context, loaded->result.read_bytes, loaded->plan->stored_bytes);
    }
    if (watch != NULL && watch->stops != NULL && watch->stops(watch->context)) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "%s: the load was interrupted after %" PRId64 " of %" PRId64 " bytes",
                          loaded->files->checkpoint->name, loaded->result.read_bytes, loaded->plan->stored_bytes);
    }
    return STATUS_OK;
}

static int64_t element_offset(const struct storage_type *type, int64_t elements)
{
    return elements / type->block_elements * type->block_bytes;
}

/* A piece on its way, in runs of elements that fit a staging buffer in both types. Several threads read and cast runs;
 * the one that loads takes them in order, copies what goes to another device's memory, and tells who watches. */
struct passing {
    struct loaded *loaded;
    const struct load_piece *piece;
    const struct storage_type *from, *type; /* stored, and of the target */
    char *to;                               /* where the first element belongs */
    int64_t run_elements;
    bool is_near; /* `to` is the host's own memory, which needs no copy */
    enum status_code code;
    struct status *error;
};

struct run_result {
    enum status_code code;
    struct status error;
};

static int64_t run_count(const struct passing *passing, int index)
{
    int64_t left = passing->piece->element_count - index * passing->run_elements;
    return left < passing->run_elements ? left : passing->run_elements;
}

static char *run_goal(const struct passing *passing, int index)
{
    return passing->to + element_offset(passing->type, index * passing->run_elements);
}

/* Two buffers for each run that is under way: for what is read, and for what it is cast to. */
static char *run_buffers(const struct passing *passing, int index)
{
    return (char *)passing->loaded->staging.memory + (int64_t)(index % LOAD_SLOTS) * 2 * LOAD_PIECE_BYTES;
}

/* Where a run is when it has been read and cast. */
static char *run_made(const struct passing *passing, int index)
{
    bool is_cast = passing->from != passing->type;
    return passing->is_near ? run_goal(passing, index) : run_buffers(passing, index) + (is_cast ? LOAD_PIECE_BYTES : 0);
}

static void run_read(void *context, int index, void *result)
{
    const struct passing *passing = context;
    struct run_result *made = result;
    bool is_cast = passing->from != passing->type;
    int64_t count = run_count(passing, index);
    char *landing = is_cast ? run_buffers(passing, index) : run_made(passing, index);
    made->code = load_files_read(passing->loaded->files, passing->piece->stored,
                                 element_offset(passing->from, index * passing->run_elements), landing,
                                 element_offset(passing->from, count), &made->error);
    if (made->code == STATUS_OK && is_cast) {
        elements_cast(passing->type, run_made(passing, index), passing->from, landing, count);
    }
}

static bool run_take(void *context, int index, void *result)
{
    struct passing *passing = context;
    const struct run_result *made = result;
    const struct load_target *target = &passing->loaded->plan->targets[passing->piece->target];
    int64_t count = run_count(passing, index);
    passing->code = made->code == STATUS_OK ? STATUS_OK : status_copy(passing->error, made->code, &made->error);
    if (passing->code == STATUS_OK) {
        passing->code = watch_look(passing->loaded, element_offset(passing->from, count), passing->error);
    }
    if (passing->code == STATUS_OK && !passing->is_near) {
        struct device *device = passing->loaded->lanes[target->place].given->device;
        passing->code = device->table->copy_from_host(device, run_goal(passing, index), run_made(passing, index),
                                                      element_offset(passing->type, count), passing->error);
    }
    return passing->code == STATUS_OK;
}

/* Elements that fit a staging buffer in both types. */
static int64_t elements_fitting(const struct storage_type *a, const struct storage_type *b)
{
    int bytes = a->block_bytes > b->block_bytes ? a->block_bytes : b->block_bytes;
    return LOAD_PIECE_BYTES / bytes * a->block_elements;
}

/* Threads for as many runs: 2 or 4, so that their runs fit the slots; none for few. */
static int threads_of(int count)
{
    int usable = count >= PARALLEL_RUNS ? ordered_work_workers(count) : 0;
    return usable >= 4 ? 4 : usable >= 2 ? 2 : 0;
}

enum status_code piece_load(struct loaded *loaded, const struct load_piece *piece, void *to, struct status *error)
{
    const struct load_target *target = &loaded->plan->targets[piece->target];
    const struct load_lane *lane = &loaded->lanes[target->place];
    struct passing passing = {.loaded = loaded,
                              .piece = piece,
                              .from = piece->stored->type,
                              .type = target->type,
                              .to = (char *)to + element_offset(target->type, piece->first_element),
                              .run_elements = elements_fitting(piece->stored->type, target->type),
                              .is_near = lane->is_disk || lane->is_host,
                              .error = error};
    int64_t runs = (piece->element_count + passing.run_elements - 1) / passing.run_elements;
    if (runs > INT_MAX) {
        return status_set(error, STATUS_OVERFLOW, "tensor '%s' is longer than a tensor of this program may be",
                          piece->stored->name);
    }
    int threads = threads_of((int)runs);
    const struct ordered_work work = {.count = (int)runs,
                                      .worker_count = threads,
                                      .result_bytes = sizeof(struct run_result),
                                      .results_each = threads > 0 ? LOAD_SLOTS / threads : 0,
                                      .context = &passing,
                                      .work = run_read,
                                      .take = run_take};
    enum status_code code = watch_look(loaded, 0, error);
    code = code == STATUS_OK ? ordered_work_run(&work, error) : code;
    code = code == STATUS_OK ? passing.code : code;
    if (code != STATUS_OK && code != STATUS_UNAVAILABLE) {
        status_prefix(error, "tensor '%s'", piece->stored->name);
    }
    return code;
}

/* -- the disk */

struct passage {
    int target, piece;
};

static int passage_order(const void *a, const void *b)
{
    const struct passage *left = a, *right = b;
    return left->target != right->target ? (left->target < right->target ? -1 : 1)
                                         : (left->piece > right->piece) - (left->piece < right->piece);
}

static enum status_code tensor_store(struct loaded *loaded, int index, const void *bytes, struct status *error)
{
    const struct load_target *target = &loaded->plan->targets[index];
    const struct placed_store *store = loaded->lanes[target->place].given->store;
    if (!target->type->has_dtype) {
        return status_set(error, STATUS_INVALID,
                          "tensor '%s': elements of type %s are not written to the disk; put it on another device",
                          target->path, target->type->name);
    }
    const struct skeleton_tensor *row = &loaded->plan->skeleton->tensors[target->tensor];
    struct stored_tensor tensor = {
        .label = target->path, .dtype = target->type->dtype, .rank = row->rank, .bytes = target->bytes};
    memcpy(tensor.size, row->size, sizeof tensor.size);
    double begin = clock_seconds();
    enum status_code code = store->write(store->context, &tensor, bytes, error);
    loaded->result.store_seconds += clock_seconds() - begin;
    return code;
}

/* The pieces of one target, which are passages[0..count), by way of bytes, which have room for the largest. */
static enum status_code target_store(struct loaded *loaded, const struct passage *passages, int count, char *bytes,
                                     struct status *error)
{
    const struct load_target *target = &loaded->plan->targets[passages[0].target];
    int64_t filled = 0;
    for (int i = 0; i < count; i++) {
        filled += loaded->plan->pieces[passages[i].piece].element_count;
    }
    if (filled < target->element_count) {
        memset(bytes, 0, (size_t)target->bytes); /* parts are missing: what was there before is not theirs */
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        code = piece_load(loaded, &loaded->plan->pieces[passages[i].piece], bytes, error);
    }
    code = code == STATUS_OK ? tensor_store(loaded, passages[0].target, bytes, error) : code;
    if (code == STATUS_OK) {
        struct load_result *result = &loaded->result;
        result->shares[target->place].stored_bytes += target->bytes;
        result->in_flight_bytes_peak =
            target->bytes > result->in_flight_bytes_peak ? target->bytes : result->in_flight_bytes_peak;
    }
    return code;
}

enum status_code disk_load(struct loaded *loaded, struct status *error)
{
    const struct load_plan *plan = loaded->plan;
    struct passage *passages = arena_alloc(&loaded->arena, ((size_t)plan->piece_count + 1) * sizeof *passages);
    int count = 0;
    if (passages == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the list of what goes to the disk");
    }
    for (int i = 0; i < plan->piece_count; i++) {
        if (loaded->lanes[plan->targets[plan->pieces[i].target].place].is_disk) {
            passages[count++] = (struct passage){plan->pieces[i].target, i};
        }
    }
    qsort(passages, (size_t)count, sizeof *passages, passage_order);
    int64_t largest_bytes = in_flight_bytes(loaded);
    char *bytes = malloc(largest_bytes > 0 ? (size_t)largest_bytes : 1);
    enum status_code code =
        bytes != NULL
            ? STATUS_OK
            : status_set(error, STATUS_OUT_OF_MEMORY,
                         "the host has no memory for the largest tensor that goes to the disk, %" PRId64 " bytes",
                         largest_bytes);
    for (int i = 0, end = 0; i < count && code == STATUS_OK; i = end) {
        while (end < count && passages[end].target == passages[i].target) {
            end++;
        }
        code = target_store(loaded, &passages[i], end - i, bytes, error);
    }
    free(bytes);
    return code;
}
