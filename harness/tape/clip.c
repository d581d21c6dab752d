/* Clipping of gradients: torch.nn.utils.clip_grad_norm_ with the 2-norm, in both of its forms, line by line (2.11).
 *
 * The norm of every gradient is a scalar of its own; they are stacked, and the norm of the stack is the norm of all.
 * foreach: on a GPU one kernel makes the norms of all gradients of a dtype from partial sums, one for each 65,536
 * elements of the largest of them, for every gradient: ntensors * chunks * 4 bytes, given back when the norms are there
 * (foreach_tensor_norm_cuda of ATen/native/cuda/ForeachReduceOp.cu). Worked: GPT-2 has 148 gradients, the largest of
 * 38,597,376 elements, 589 chunks: 348,688 bytes. single: each norm is a reduction like a sum. Not here: other norms,
 * clip_grad_value_. */
#include <float.h>

#include "harness/base/arena.h"
#include "harness/base/size.h"
#include "harness/tape/graph.h"

enum { CHUNK_ELEMENTS = 65536 };

/* Of gradients of one dtype, first those of the first gradient's: as _group_tensors_by_device_and_dtype has them. */
struct norm_list {
    struct value **norms;
    int count;
};

static struct value *scalar_new(struct tape *tape, enum dtype dtype, const char *label)
{
    struct shape scalar = {0};
    return value_new(tape, dtype, &scalar, label);
}

/* value seen with as many dimensions of size 1 as like has. */
static struct value *seen_as(struct tape *tape, struct value *scalar, const struct value *like)
{
    struct value *view = value_alias(tape, scalar);
    if (view != NULL) {
        view->shape = (struct shape){.rank = like->shape.rank};
        for (int i = 0; i < view->shape.rank; i++) {
            view->shape.size[i] = view->stride[i] = 1;
        }
    }
    return view;
}

static const struct operation_attributes norm_attributes = {.f = {1.0}, .i = {1}};

/* workspace: of several norms, one after the other; NULL: none. */
static void norm_into(struct tape *tape, struct value *a, struct value *norm, struct value *workspace)
{
    struct value *view = seen_as(tape, norm, a);
    sum_run_in(tape, a, view, &norm_attributes, workspace);
    tape_drop(tape, view);
}

/* As one reduction, with scratch of its own. */
static void single_norm_into(struct tape *tape, struct value *a, struct value *norm)
{
    struct value *view = seen_as(tape, norm, a);
    sum_run_with(tape, a, view, &norm_attributes);
    tape_drop(tape, view);
}

static int64_t chunks_of(struct value *const *parameters, int count, enum dtype dtype, int64_t *tensor_count)
{
    int64_t most = 0;
    *tensor_count = 0;
    for (int i = 0; i < count; i++) {
        if (parameters[i]->gradient != NULL && parameters[i]->gradient->dtype == dtype) {
            int64_t chunks = (value_count(parameters[i]->gradient) + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS;
            most = chunks > most ? chunks : most;
            ++*tensor_count;
        }
    }
    return most;
}

static void norms_make(struct tape *tape, int count, struct value *const *parameters, enum dtype dtype, bool foreach,
                       struct norm_list *list)
{
    int64_t tensors, chunks = chunks_of(parameters, count, dtype, &tensors), bytes;
    struct value *partial = NULL;
    int first = list->count;
    if (!size_multiply(4 * tensors, chunks, &bytes)) {
        tape_fail(tape, STATUS_OVERFLOW, "the partial sums of norms do not fit 63 bits");
        return;
    }
    if (foreach && tape_targets_gpu(tape)) {
        partial = scratch_bytes_new(tape, bytes, "partial sums of norms");
    }
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        struct value *gradient = parameters[i]->gradient;
        if (gradient != NULL && gradient->dtype == dtype) {
            list->norms[list->count++] = scalar_new(tape, dtype, "norm of a gradient");
            if (!foreach) {
                single_norm_into(tape, gradient, list->norms[list->count - 1]);
            }
        }
    }
    for (int i = 0; foreach && i < count && !tape_failed(tape); i++) {
        struct value *gradient = parameters[i]->gradient;
        if (gradient != NULL && gradient->dtype == dtype) {
            norm_into(tape, gradient, list->norms[first++], tape->has_places ? NULL : partial);
        }
    }
    tape_drop(tape, partial);
}

/* torch.stack of the norms, and its norm. */
static struct value *total_norm(struct tape *tape, const struct norm_list *list)
{
    enum dtype dtype = list->norms[0]->dtype;
    for (int i = 1; i < list->count; i++) {
        dtype = dtype_promote(dtype, list->norms[i]->dtype);
    }
    struct shape shape = {.rank = 1, .size = {list->count}};
    struct value *stack = value_new(tape, dtype, &shape, "norms of gradients");
    for (int i = 0; i < list->count && !tape_failed(tape); i++) {
        struct value *place = value_slice(tape, stack, 0, i, 1);
        struct value *norm = seen_as(tape, list->norms[i], place);
        struct value *values[] = {norm, place};
        tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
        tape_drop(tape, norm);
        tape_drop(tape, place);
    }
    struct value *total = scalar_new(tape, dtype, "norm of all gradients");
    if (stack != NULL && total != NULL) {
        norm_into(tape, stack, total, NULL);
    }
    tape_drop(tape, stack);
    return total;
}

/* clamp(max_norm / (total + 1e-6), max=1) */
static struct value *coefficient_make(struct tape *tape, struct value *total, double max_norm)
{
    struct operation_attributes inverse = attributes_f(-1.0, 0.0), clamp = attributes_f(-(double)FLT_MAX, 1.0);
    struct value *sum = make_scale(tape, total, 1.0, 1e-6);
    struct value *reciprocal = make_unary(tape, OPCODE_POWER, &inverse, sum);
    struct value *coefficient = make_scale(tape, reciprocal, max_norm, 0.0);
    tape_drop(tape, reciprocal);
    tape_drop(tape, sum);
    return make_unary(tape, OPCODE_CLAMP, &clamp, coefficient);
}

void tape_clip_gradients(struct tape *tape, int count, struct value *const *parameters, double max_norm, bool foreach)
{
    int frame = tape_frame_open(tape);
    struct norm_list list = {.norms = arena_alloc(&tape->arena, sizeof *list.norms * (size_t)(count > 0 ? count : 1))};
    if (list.norms == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for the norms of gradients");
    }
    bool is_done[DTYPE_COUNT] = {false};
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        struct value *gradient = parameters[i]->gradient;
        if (gradient != NULL && !is_done[gradient->dtype]) {
            is_done[gradient->dtype] = true;
            norms_make(tape, count, parameters, gradient->dtype, foreach, &list);
        }
    }
    if (list.count > 0 && !tape_failed(tape)) {
        struct value *total = total_norm(tape, &list);
        for (int i = 0; i < list.count; i++) {
            tape_drop(tape, list.norms[i]);
        }
        struct value *coefficient = coefficient_make(tape, total, max_norm);
        for (int i = 0; i < count && !tape_failed(tape); i++) {
            struct value *gradient = parameters[i]->gradient;
            if (gradient != NULL) {
                struct value *values[] = {gradient, value_broadcast(tape, coefficient, &gradient->shape), gradient};
                tape_run(tape, OPCODE_MULTIPLY, NULL, 2, 3, values);
                tape_drop(tape, values[1]);
            }
        }
    }
    tape_frame_close(tape, frame, NULL);
}
