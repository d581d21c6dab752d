/* The rule behind reduction_scratch.h: how the kernel sees a tensor, then into which blocks it cuts it. */
#include "harness/tape/reduction_scratch.h"

#include <stdint.h>

enum {
    BLOCK_THREADS_MAXIMUM = 512,
    WARP_THREADS = 32,
    VALUES_A_LOAD = 4,
    VALUES_OF_THREAD_MINIMUM = 16,
    VALUES_OF_THREAD_MAXIMUM = 256,
    INPUT_VECTOR_MINIMUM = 128,
    COUNTER_BYTES = 4
};

/* -- the tensor as TensorIterator has it: summed dimensions first, each group by its strides, neighbours joined */

struct dimension {
    int64_t size, stride, output_stride; /* output_stride 0: summed */
};

struct iterator {
    int64_t part_count; /* this is one of so many */
    int count;
    struct dimension dimensions[TENSOR_RANK_MAXIMUM];
};

/* TensorIteratorBase::reorder_dimensions: > 0 if a has to stand behind b. */
static int dimensions_compare(const struct dimension *a, const struct dimension *b)
{
    if ((a->output_stride == 0) != (b->output_stride == 0)) {
        return b->output_stride == 0 ? 1 : -1;
    }
    const int64_t strides[2][2] = {{a->output_stride, b->output_stride}, {a->stride, b->stride}};
    for (int i = 0; i < 2; i++) {
        int64_t left = strides[i][0], right = strides[i][1];
        if (left == 0 || right == 0) {
            continue;
        }
        if (left != right) {
            return left < right ? -1 : 1;
        }
        if (a->size > b->size) {
            return 1;
        }
    }
    return 0;
}

static void iterator_sort(struct iterator *iterator)
{
    for (int i = 1; i < iterator->count; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int order = dimensions_compare(&iterator->dimensions[j], &iterator->dimensions[at]);
            if (order < 0) {
                break;
            }
            if (order > 0) {
                struct dimension moved = iterator->dimensions[j];
                iterator->dimensions[j] = iterator->dimensions[at];
                iterator->dimensions[at] = moved;
                at = j;
            }
        }
    }
}

static void iterator_join(struct iterator *iterator)
{
    int last = 0;
    for (int i = 1; i < iterator->count; i++) {
        struct dimension *inner = &iterator->dimensions[last];
        const struct dimension *outer = &iterator->dimensions[i];
        bool joins = inner->size == 1 || outer->size == 1 ||
                     (inner->size * inner->stride == outer->stride &&
                      inner->size * inner->output_stride == outer->output_stride);
        if (!joins) {
            iterator->dimensions[++last] = *outer;
            continue;
        }
        int64_t size = inner->size * outer->size;
        if (inner->size == 1) {
            *inner = *outer;
        }
        inner->size = size;
    }
    iterator->count = iterator->count > 0 ? last + 1 : 0;
}

/* TensorIteratorBase::with_32bit_indexing: the larger of the last two parts. */
static void iterator_halve(struct iterator *iterator, int64_t element_bytes)
{
    for (;;) {
        struct dimension *widest = &iterator->dimensions[0];
        int64_t extent = 0;
        for (int i = 0; i < iterator->count; i++) {
            struct dimension *dimension = &iterator->dimensions[i];
            int64_t reach = (dimension->size - 1) * dimension->stride;
            extent += reach;
            widest = reach > (widest->size - 1) * widest->stride ? dimension : widest;
        }
        if (extent <= (INT32_MAX - 1) / element_bytes || widest->size < 2) {
            return;
        }
        widest->size -= widest->size / 2;
        iterator->part_count *= 2;
    }
}

static struct iterator iterator_of(const struct reduction *reduction)
{
    struct iterator iterator = {.part_count = 1, .count = reduction->rank};
    int64_t output_stride = 1;
    for (int i = 0; i < reduction->rank; i++) {
        int from = reduction->rank - 1 - i;
        iterator.dimensions[i] = (struct dimension){reduction->size[from], reduction->stride[from],
                                                    reduction->summed[from] ? 0 : output_stride};
        output_stride *= reduction->summed[from] ? 1 : reduction->size[from];
    }
    iterator_sort(&iterator);
    iterator_join(&iterator);
    iterator_halve(&iterator, dtype_bytes(reduction->dtype));
    return iterator;
}

/* -- the blocks */

struct blocks {
    int64_t output_count, input_count;         /* outputs, and what is summed for each */
    int64_t width, height;                     /* of a block, in threads */
    int64_t outputs_a_load;                    /* that a thread loads together */
    int64_t outputs_of_block, inputs_of_block; /* that it advances by */
    bool sums_across_width, sums_across_height;
};

static int64_t divided_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t power_of_two_below(int64_t number, int64_t maximum)
{
    int64_t power = 1;
    while (power * 2 <= number && power * 2 <= maximum) {
        power *= 2;
    }
    return power;
}

/* get_output_vec_size: as many as address, outputs and all other strides allow. */
static int64_t outputs_a_load_of(const struct iterator *iterator, int first_output, int64_t offset)
{
    int64_t together = VALUES_A_LOAD;
    while (offset % together != 0 || iterator->dimensions[first_output].size % together != 0) {
        together /= 2;
    }
    for (int i = 0; i < iterator->count; i++) {
        while (i != first_output && iterator->dimensions[i].stride % together != 0) {
            together /= 2;
        }
    }
    return together;
}

/* set_block_dimension. */
static void block_shape(struct blocks *blocks, int64_t along_width, int64_t along_height)
{
    int64_t threads = BLOCK_THREADS_MAXIMUM / blocks->outputs_a_load;
    int64_t width = power_of_two_below(along_width, threads), height = power_of_two_below(along_height, threads);
    int64_t narrow = width < WARP_THREADS ? width : WARP_THREADS;
    blocks->height = height < threads / narrow ? height : threads / narrow;
    blocks->width = width < threads / blocks->height ? width : threads / blocks->height;
}

static struct blocks blocks_of(const struct iterator *iterator, int64_t offset)
{
    struct blocks blocks = {.output_count = 1, .input_count = 1, .outputs_a_load = 1};
    int summed = 0;
    for (int i = 0; i < iterator->count; i++) {
        const struct dimension *dimension = &iterator->dimensions[i];
        bool is_summed = dimension->output_stride == 0;
        summed += is_summed ? 1 : 0;
        *(is_summed ? &blocks.input_count : &blocks.output_count) *= dimension->size;
    }
    blocks.sums_across_width = summed == iterator->count ||
                               (summed > 0 && iterator->dimensions[0].stride < iterator->dimensions[summed].stride);
    int64_t along_width = blocks.sums_across_width ? blocks.input_count : blocks.output_count;
    int64_t along_height = blocks.sums_across_width ? blocks.output_count : blocks.input_count;
    bool is_dense = iterator->dimensions[blocks.sums_across_width ? 0 : summed].stride == 1;
    if (is_dense && !blocks.sums_across_width) {
        blocks.outputs_a_load = outputs_a_load_of(iterator, summed, offset);
        along_width /= blocks.outputs_a_load;
    } else if (is_dense && along_width >= INPUT_VECTOR_MINIMUM && summed == 1) {
        along_width /= VALUES_A_LOAD;
    }
    block_shape(&blocks, along_width, along_height);
    blocks.inputs_of_block = blocks.sums_across_width ? blocks.width : 1;
    blocks.outputs_of_block = blocks.sums_across_width ? 1 : blocks.width;
    int64_t split_from = blocks.height * VALUES_OF_THREAD_MINIMUM;
    split_from = split_from < VALUES_OF_THREAD_MAXIMUM ? split_from : VALUES_OF_THREAD_MAXIMUM;
    blocks.sums_across_height = divided_up(blocks.input_count, blocks.inputs_of_block) >= split_from;
    *(blocks.sums_across_height ? &blocks.inputs_of_block : &blocks.outputs_of_block) *= blocks.height;
    return blocks;
}

struct reduction_scratch reduction_scratch_of(const struct target *target, const struct reduction *reduction)
{
    struct reduction_scratch scratch = {0};
    struct iterator iterator = iterator_of(reduction);
    for (int i = 0; i < iterator.count; i++) {
        if (iterator.dimensions[i].size == 0) {
            return scratch;
        }
    }
    if (target->multiprocessor_count == 0 || iterator.count == 0) {
        return scratch;
    }
    struct blocks blocks = blocks_of(&iterator, reduction->offset);
    int64_t columns = divided_up(blocks.output_count / blocks.outputs_a_load, blocks.outputs_of_block);
    int64_t wanted = target->multiprocessor_count * (target->multiprocessor_threads / (blocks.width * blocks.height));
    int64_t of_thread = divided_up(blocks.input_count, blocks.inputs_of_block);
    if (!blocks.sums_across_height || of_thread < VALUES_OF_THREAD_MAXIMUM || columns > wanted) {
        return scratch;
    }
    int64_t sharing = divided_up(wanted, columns), most = divided_up(of_thread, VALUES_OF_THREAD_MINIMUM);
    int64_t least = divided_up(of_thread, VALUES_OF_THREAD_MAXIMUM);
    sharing = sharing < most ? sharing : most;
    sharing = sharing > least ? sharing : least;
    if (sharing > 1) {
        int64_t sum_bytes = dtype_is_floating(reduction->dtype) ? 4 : 8;
        scratch.partial_bytes =
            (reduction->partial_bytes > 0 ? reduction->partial_bytes : sum_bytes) * blocks.output_count * sharing;
        scratch.partial_bytes *= blocks.sums_across_width ? 1 : blocks.width * blocks.outputs_a_load;
        scratch.counter_bytes = COUNTER_BYTES * columns;
        scratch.part_count = iterator.part_count;
    }
    return scratch;
}
