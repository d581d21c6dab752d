/* Launches of grouped rows: a thread for each group when ids are sorted, for each element of a product. A wrong id of
 * SORT_IDS, GROUP_ENDS, PLACE_IDS or SCATTER, which nobody here can report, is left out. */
#include "harness/kernels/body_grouped.h"
#include "harness/kernels/launch_grid.h"

struct grouped_launch {
    struct tensor tensors[4];
    int64_t count, groups;
    struct rows rows;
};

static struct grouped_launch grouped_launch_of(const struct operation_call *call)
{
    struct grouped_launch launch;
    for (int t = 0; t < call->tensor_count; t++) {
        launch.tensors[t] = call->tensors[t];
    }
    launch.count = tensor_element_count(&call->tensors[0]);
    launch.groups = call->attributes.i[0];
    return launch;
}

static __global__ void sort_ids_kernel(const __grid_constant__ struct grouped_launch launch)
{
    const int64_t *ids = (const int64_t *)launch.tensors[0].data;
    for (int64_t group = thread_first(); group < launch.groups; group += thread_step()) {
        group_collect(ids, launch.count, group, ids_below(ids, launch.count, group), (int64_t *)launch.tensors[1].data,
                      (int64_t *)launch.tensors[2].data);
    }
}

const char *launch_sort_ids(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    sort_ids_kernel<<<grid_blocks(launch.groups, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}

static __global__ void group_ends_kernel(const __grid_constant__ struct grouped_launch launch)
{
    const int64_t *ids = (const int64_t *)launch.tensors[0].data;
    int64_t widest = launch.count > launch.groups ? launch.count : launch.groups;
    for (int64_t k = thread_first(); k < widest; k += thread_step()) {
        if (k < launch.count) {
            ((int32_t *)launch.tensors[1].data)[k] = (int32_t)ids[k];
        }
        if (k < launch.groups) {
            int64_t end = ids_below(ids, launch.count, k + 1);
            ((int32_t *)launch.tensors[2].data)[k] = (int32_t)(end - ids_below(ids, launch.count, k));
            ((int32_t *)launch.tensors[3].data)[k] = (int32_t)end;
        }
    }
}

const char *launch_group_ends(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    launch.groups = tensor_element_count(&call->tensors[2]);
    int64_t widest = launch.count > launch.groups ? launch.count : launch.groups;
    group_ends_kernel<<<grid_blocks(widest, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}

static __global__ void place_ids_kernel(const __grid_constant__ struct grouped_launch launch)
{
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        int64_t place = ((const int64_t *)launch.tensors[0].data)[k];
        if (place >= 0 && place < launch.count) {
            ((int64_t *)launch.tensors[2].data)[place] = ((const int64_t *)launch.tensors[1].data)[k];
        }
    }
}

const char *launch_place_ids(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    place_ids_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}

/* A thread has a group of a row. */
static __global__ void group_limit_kernel(const __grid_constant__ struct grouped_launch launch,
                                          struct group_choice choice)
{
    uint8_t *hidden = (uint8_t *)launch.tensors[1].data;
    int64_t width = choice.columns / choice.groups;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        bool hides = group_is_hidden(&launch.tensors[0], choice, k / choice.groups, k % choice.groups);
        for (int64_t column = k * width; column < (k + 1) * width; column++) {
            hidden[column] = hides ? 1 : 0;
        }
    }
}

const char *launch_group_limit(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    const int64_t *i = call->attributes.i;
    struct rows rows = rows_of(&call->tensors[0]);
    struct group_choice choice = {rows.columns, i[0], i[1], i[2]};
    launch.count = rows.count * choice.groups;
    group_limit_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch, choice);
    return launch_result();
}

/* A thread has a row: it alone writes there. */
static __global__ void scatter_kernel(const __grid_constant__ struct grouped_launch launch)
{
    const int64_t *ids = (const int64_t *)launch.tensors[1].data;
    int64_t picked = launch.groups, columns = launch.rows.columns;
    for (int64_t row = thread_first(); row < launch.rows.count; row += thread_step()) {
        for (int64_t column = 0; column < columns; column++) {
            tensor_set(&launch.tensors[2], row * columns + column, 0.0f);
        }
        for (int64_t k = row * picked; k < (row + 1) * picked; k++) {
            if (ids[k] >= 0 && ids[k] < columns) {
                tensor_set(&launch.tensors[2], row * columns + ids[k], tensor_get(&launch.tensors[0], k));
            }
        }
    }
}

const char *launch_scatter(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    launch.rows = rows_of(&call->tensors[2]);
    launch.groups = rows_of(&call->tensors[0]).columns;
    scatter_kernel<<<grid_blocks(launch.rows.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}

/* The sum of count products of elements a_step and b_step apart. */
BODY float product_sum(const struct tensor *a, int64_t a_first, int64_t a_step, const struct tensor *b, int64_t b_first,
                       int64_t b_step, int64_t count)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < count; k++) {
        sum += tensor_get(a, a_first + k * a_step) * tensor_get(b, b_first + k * b_step);
    }
    return sum;
}

/* The element of a product at row-major `index`. */
BODY float grouped_product(const struct grouped_launch *launch, int64_t columns, int64_t index)
{
    const struct tensor *a = &launch->tensors[0], *b = &launch->tensors[1];
    const int32_t *ends = (const int32_t *)launch->tensors[2].data;
    int64_t row = index / columns, column = index % columns;
    if (b->rank == 3) {
        int64_t group = group_of_row(ends, launch->groups, row);
        return group == launch->groups
                   ? 0.0f
                   : product_sum(a, row * a->stride[0], a->stride[1], b, group * b->stride[0] + column * b->stride[2],
                                 b->stride[1], a->size[1]);
    }
    struct group_rows range = group_rows_of(ends, row / a->size[0], b->size[0]);
    int64_t first = row % a->size[0] * a->stride[0] + range.first * a->stride[1];
    return product_sum(a, first, a->stride[1], b, range.first * b->stride[0] + column * b->stride[1], b->stride[0],
                       range.end - range.first);
}

static __global__ void grouped_matmul_kernel(const __grid_constant__ struct grouped_launch launch)
{
    int64_t columns = launch.rows.columns;
    for (int64_t k = thread_first(); k < launch.count; k += thread_step()) {
        tensor_set(&launch.tensors[3], k, grouped_product(&launch, columns, k));
    }
}

const char *launch_grouped_matmul(const struct operation_call *call, cudaStream_t stream)
{
    struct grouped_launch launch = grouped_launch_of(call);
    launch.rows = rows_of(&call->tensors[3]);
    launch.count = tensor_element_count(&call->tensors[3]);
    launch.groups = tensor_element_count(&call->tensors[2]);
    grouped_matmul_kernel<<<grid_blocks(launch.count, LANES), LANES, 0, stream>>>(launch);
    return launch_result();
}
