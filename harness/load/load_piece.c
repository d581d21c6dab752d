/* Load piece: bytes of one stored tensor on their way: file, staging, cast, place. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/load/element_cast.h"
#include "harness/load/load_inside.h"

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

/* A run of elements of a piece that fits the staging buffers. */
struct run {
    const struct load_piece *piece;
    const struct storage_type *type; /* of the target */
    int64_t first, count;            /* elements of the piece */
};

static int64_t element_offset(const struct storage_type *type, int64_t elements)
{
    return elements / type->block_elements * type->block_bytes;
}

/* Reads the run, cast, to `to`; NULL: to a staging buffer. *at: where it is. */
static enum status_code run_read(struct loaded *loaded, const struct run *run, void *to, const void **at,
                                 struct status *error)
{
    const struct checkpoint_tensor *stored = run->piece->stored;
    bool is_cast = stored->type != run->type;
    char *raw = loaded->staging.memory, *cast = raw + LOAD_PIECE_BYTES;
    void *landing = is_cast || to == NULL ? raw : to;
    int64_t offset = element_offset(stored->type, run->first);
    int64_t bytes = element_offset(stored->type, run->count);
    enum status_code code = watch_look(loaded, 0, error);
    if (code == STATUS_OK) {
        code = load_files_read(loaded->files, stored, offset, landing, bytes, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    *at = landing;
    if (is_cast) {
        *at = to != NULL ? to : cast;
        elements_cast(run->type, to != NULL ? to : cast, stored->type, raw, run->count);
    }
    return watch_look(loaded, bytes, error);
}

/* Elements that fit a staging buffer in both types. */
static int64_t run_elements(const struct storage_type *a, const struct storage_type *b)
{
    int bytes = a->block_bytes > b->block_bytes ? a->block_bytes : b->block_bytes;
    int elements = a->block_elements;
    return LOAD_PIECE_BYTES / bytes * elements;
}

enum status_code piece_load(struct loaded *loaded, const struct load_piece *piece, void *to, struct status *error)
{
    const struct load_target *target = &loaded->plan->targets[piece->target];
    const struct load_lane *lane = &loaded->lanes[target->place];
    int64_t most = run_elements(piece->stored->type, target->type);
    bool is_near = lane->is_disk || lane->is_host; /* the host's own memory needs no copy */
    enum status_code code = STATUS_OK;
    for (int64_t first = 0; first < piece->element_count && code == STATUS_OK; first += most) {
        int64_t left = piece->element_count - first;
        struct run run = {piece, target->type, first, left < most ? left : most};
        char *goal = (char *)to + element_offset(target->type, piece->first_element + first);
        const void *at = NULL;
        code = run_read(loaded, &run, is_near ? goal : NULL, &at, error);
        if (code == STATUS_OK && !is_near) {
            struct device *device = lane->given->device;
            code = device->table->copy_from_host(device, goal, at, element_offset(target->type, run.count), error);
        }
    }
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

/* The pieces of one target, which are passages[0..count). */
static enum status_code target_store(struct loaded *loaded, const struct passage *passages, int count,
                                     struct status *error)
{
    const struct load_target *target = &loaded->plan->targets[passages[0].target];
    char *bytes = calloc(1, target->bytes > 0 ? (size_t)target->bytes : 1);
    enum status_code code =
        bytes != NULL ? STATUS_OK
                      : status_set(error, STATUS_OUT_OF_MEMORY,
                                   "tensor '%s': the host has no memory for the %" PRId64 " bytes that go to the disk",
                                   target->path, target->bytes);
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
    free(bytes);
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
    enum status_code code = STATUS_OK;
    for (int i = 0, end = 0; i < count && code == STATUS_OK; i = end) {
        while (end < count && passages[end].target == passages[i].target) {
            end++;
        }
        code = target_store(loaded, &passages[i], end - i, error);
    }
    return code;
}
