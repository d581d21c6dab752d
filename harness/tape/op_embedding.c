/* Lookups: embedding, its gradient, and what PyTorch takes to sort the ids of many rows. */
#include "harness/tape/graph.h"
#include "harness/tape/scan_scratch.h"

/* -- the scratch of embedding_dense_backward (Embedding.cu, EmbeddingBackwardKernel.cu of PyTorch 2.11). Above 3,072
 * ids they are sorted, equal ones become segments, and every 10 rows of a segment are summed first, in float32. Worked:
 * 4,096 ids into 50,257 rows of 1,600, on sm_90:
 *
 *   sorted ids, their places, a count from 0                    3 * 8 * 4,096
 *   the sort: two more of these, 8 passes over 256 digits of    83,455 = 2 * 8 * 4,096 + 8 * 256 * 8 + 1,024 * 1 block
 *     8 bytes, 1,024 for each block of 4,608 ids, counters      + 256 + 255
 *   where segments begin, and how many there are                8 * 4,096 and 8; while they are found, 8 * 4,096 and
 *                                                               1,279
 *   parts of each of min(4,096, 50,257) segments, and where     2 * 8 * 4,096; while they are summed up, 1,279;
 *     they begin                                                how many: 8
 *   the parts, at most 4,096 / 10 + 4,096 = 4,505               8 * 4,505 = 36,040
 *   their sums                                                  4 * 4,505 * 1,600 = 28,832,000
 *
 * 1,279 bytes are those of a scan (scan_scratch.h), and of finding where ids change. A history of an H100 (gpt2-xl
 * train bfloat16 b4 s1024) shows all of these, in this order. Other GPUs cut other blocks: 1,024 bytes a block. */

enum {
    IDS_UNSORTED_MAXIMUM = 3072,
    ROWS_OF_PART = 10,
    WARP_ELEMENTS = 32,
    BLOCK_THREADS = 1024,
    BLOCKS_OF_MULTIPROCESSOR = 4,
    SORT_DIGITS = 256,
    SORT_PASSES = 8,
    SORT_BLOCK_IDS = 4608,
    LIBRARY_STEP_BYTES = 256, /* of each part of cub's temporary memory, and 255 for its address */
    ID_BYTES = 8
};

static int64_t whole(int64_t bytes, int64_t step)
{
    return (bytes + step - 1) / step * step;
}

static int64_t sort_bytes(int64_t ids)
{
    int64_t blocks = (ids + SORT_BLOCK_IDS - 1) / SORT_BLOCK_IDS;
    return SORT_PASSES * SORT_DIGITS * 8 + blocks * SORT_DIGITS * 4 + 2 * whole(ids * ID_BYTES, LIBRARY_STEP_BYTES) +
           LIBRARY_STEP_BYTES + LIBRARY_STEP_BYTES - 1;
}

static void scratch_pass(struct tape *tape, int64_t bytes, const char *label)
{
    tape_drop(tape, scratch_bytes_new(tape, bytes, label));
}

struct value *tape_scratch(struct tape *tape, int64_t bytes, const char *label)
{
    return tape_targets_gpu(tape) ? scratch_bytes_new(tape, bytes, label) : NULL;
}

void tape_scan_pass(struct tape *tape, int64_t count)
{
    if (tape_targets_gpu(tape)) {
        scratch_pass(tape, scan_scratch_bytes(count), "scan of a row");
    }
}

static bool is_sorted(const struct tape *tape, const struct value *ids)
{
    return tape_targets_gpu(tape) && value_count(ids) > IDS_UNSORTED_MAXIMUM;
}

enum { SORTED_COUNT = 2, SEGMENTS_COUNT = 8 };

/* Before the gradient is made: the sorted ids and where each was. */
static void ids_sort(struct tape *tape, int64_t ids, struct value *sorted[SORTED_COUNT])
{
    sorted[0] = scratch_bytes_new(tape, ids * ID_BYTES, "sorted ids");
    sorted[1] = scratch_bytes_new(tape, ids * ID_BYTES, "places of sorted ids");
    struct value *counting = scratch_bytes_new(tape, ids * ID_BYTES, "places of ids");
    scratch_pass(tape, sort_bytes(ids), "sort of ids");
    tape_drop(tape, counting);
}

/* Few segments of many parts leave a GPU idle if each is summed up by itself. Then each part adds its sum to the
 * gradient at once; in 16 bits, to a copy of it in float32. Releases before 2.11 do not. */
static bool parts_are_added(const struct tape *tape, int64_t segments, int64_t parts, int64_t width)
{
    int64_t threads = whole(width, WARP_ELEMENTS);
    int64_t block = threads < BLOCK_THREADS ? threads : BLOCK_THREADS;
    int64_t blocks = (segments * threads + block - 1) / block;
    return !tape->torch.embedding_parts_summed &&
           blocks < (int64_t)tape->target->multiprocessor_count * BLOCKS_OF_MULTIPROCESSOR && parts > blocks * 4;
}

/* After the gradient is made: the segments and their parts. */
static void segments_find(struct tape *tape, int64_t ids, enum dtype dtype, const struct shape *weight,
                          struct value *taken[SEGMENTS_COUNT])
{
    int64_t segments = ids < weight->size[0] ? ids : weight->size[0];
    int64_t parts = ids / ROWS_OF_PART + segments;
    taken[0] = scratch_bytes_new(tape, ids * ID_BYTES, "segments of ids");
    taken[1] = scratch_bytes_new(tape, ID_BYTES, "count of segments");
    struct value *different = scratch_bytes_new(tape, ids * ID_BYTES, "different ids");
    scratch_pass(tape, scan_scratch_bytes(ids), "scan of ids");
    tape_drop(tape, different);
    taken[2] = scratch_bytes_new(tape, segments * ID_BYTES, "parts of segments");
    taken[3] = scratch_bytes_new(tape, segments * ID_BYTES, "first parts of segments");
    scratch_pass(tape, scan_scratch_bytes(segments), "scan of segments");
    taken[4] = scratch_bytes_new(tape, ID_BYTES, "count of parts");
    taken[5] = scratch_bytes_new(tape, parts * ID_BYTES, "parts");
    if (!parts_are_added(tape, segments, parts, weight->size[1])) {
        const struct shape sums = {.rank = 2, .size = {parts, weight->size[1]}};
        taken[6] = scratch_new(tape, DTYPE_FLOAT32, &sums, "sums of parts");
        return;
    }
    taken[6] = scratch_bytes_new(tape, parts * ID_BYTES, "segments of parts");
    if (dtype != DTYPE_FLOAT32) {
        taken[7] = scratch_new(tape, DTYPE_FLOAT32, weight, "sums of segments");
    }
}

static void embedding_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    const struct shape *weight = &node->edges[0].shape;
    bool is_dense = value_is_dense(out[0]);
    struct value *gradient = is_dense ? out[0] : make_copy(tape, out[0], out[0]->dtype, "embedding gradient, dense");
    struct value *ids = node->saved[0];
    struct value *row = value_is_dense(ids) ? ids : make_copy(tape, ids, DTYPE_INT64, "ids");
    struct value *sorted[SORTED_COUNT] = {NULL}, *segments[SEGMENTS_COUNT] = {NULL};
    bool sorts = is_sorted(tape, ids);
    if (sorts) {
        ids_sort(tape, value_count(ids), sorted);
    }
    in[0] = value_new(tape, out[0]->dtype, weight, "EMBEDDING gradient");
    if (sorts) {
        segments_find(tape, value_count(ids), out[0]->dtype, weight, segments);
    }
    struct value *values[] = {gradient, row, in[0]};
    tape_run(tape, OPCODE_EMBEDDING_BACKWARD, &node->attributes, 2, 3, values);
    for (int i = SEGMENTS_COUNT; i-- > 0;) {
        tape_drop(tape, segments[i]);
    }
    for (int i = SORTED_COUNT; i-- > 0;) {
        tape_drop(tape, sorted[i]);
    }
}

struct value *tape_embedding(struct tape *tape, struct value *weight, struct value *ids, int64_t padding_id)
{
    if (weight == NULL || ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape shape = ids->shape;
    shape.size[shape.rank++] = weight->shape.size[1];
    /* index_select wants the ids in a row: what was expanded is copied for the call; the graph keeps the view. */
    struct value *row = value_is_dense(ids) ? ids : make_copy(tape, ids, DTYPE_INT64, "ids");
    struct value *result = value_new(tape, weight->dtype, &shape, "EMBEDDING");
    struct value *values[] = {weight, row, result};
    tape_run(tape, OPCODE_EMBEDDING, NULL, 2, 3, values);
    struct node *node = node_new(tape, embedding_backward, 1, &weight, result);
    if (node != NULL) {
        node->attributes = attributes_i(padding_id, 0);
        node_save(tape, node, 0, ids);
    }
    return tape_frame_close(tape, frame, result);
}
