/* Plain operations without a graph: what backward functions and builders are made of. */
#include <string.h>

#include "harness/tape/graph.h"
#include "harness/tape/reduction_scratch.h"

enum dtype dtype_promote(enum dtype a, enum dtype b)
{
    if (a == b || !dtype_is_floating(b)) {
        return a;
    }
    if (!dtype_is_floating(a)) {
        return b;
    }
    return DTYPE_FLOAT32;
}

/* The shape that a and b are broadcast to. */
struct shape shape_join(struct tape *tape, const struct shape *a, const struct shape *b)
{
    struct shape joined = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= joined.rank; i++) {
        int64_t one = i <= a->rank ? a->size[a->rank - i] : 1;
        int64_t two = i <= b->rank ? b->size[b->rank - i] : 1;
        if (one != two && one != 1 && two != 1) {
            tape_fail(tape, STATUS_INTERNAL, "sizes %lld and %lld do not go together", (long long)one, (long long)two);
        }
        joined.size[joined.rank - i] = one == 1 ? two : one;
    }
    return joined;
}

/* Whether dimension i of a lies outside of j in memory: the larger stride, of equals the one that comes first. */
static bool lies_outside(const struct value *a, int i, int j)
{
    int64_t outer = a->stride[i], inner = a->stride[j];
    return outer > inner || (outer == inner && i < j);
}

/* As TensorIterator does: if a covers the whole result, the result lies in memory in the order of a's dimensions,
 * whatever gaps a has; if a is repeated along one, the result is dense. */
static struct value *value_new_like(struct tape *tape, enum dtype dtype, const struct shape *shape,
                                    const struct value *a, const char *label)
{
    struct value *made = value_new(tape, dtype, shape, label);
    if (made == NULL || !shape_equal(shape, &a->shape) || value_is_dense(a)) {
        return made;
    }
    int64_t stride[TENSOR_RANK_MAXIMUM] = {0};
    for (int i = 0; i < shape->rank; i++) {
        if (shape->size[i] > 1 && a->stride[i] == 0) {
            return made;
        }
        stride[i] = 1;
        for (int j = 0; j < shape->rank; j++) {
            bool inside = i != j && shape->size[j] > 1 && lies_outside(a, i, j);
            stride[i] *= inside ? shape->size[j] : 1;
        }
    }
    memcpy(made->stride, stride, sizeof made->stride);
    return made;
}

struct value *make_binary(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                          struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = shape_join(tape, &a->shape, &b->shape);
    struct value *result = value_new_like(tape, dtype_promote(a->dtype, b->dtype), &shape,
                                          shape_equal(&a->shape, &shape) ? a : b, opcode_name(opcode));
    struct value *left = value_broadcast(tape, a, &shape);
    struct value *right = value_broadcast(tape, b, &shape);
    struct value *values[] = {left, right, result};
    tape_run(tape, opcode, attributes, 2, 3, values);
    if (left != a) {
        tape_drop(tape, left);
    }
    if (right != b) {
        tape_drop(tape, right);
    }
    return result;
}

struct value *make_add(struct tape *tape, struct value *a, struct value *b)
{
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    return make_binary(tape, OPCODE_ADD, &attributes, a, b);
}

struct value *make_multiply(struct tape *tape, struct value *a, struct value *b)
{
    return make_binary(tape, OPCODE_MULTIPLY, NULL, a, b);
}

struct value *make_unary(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                         struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = value_new_like(tape, a->dtype, &a->shape, a, opcode_name(opcode));
    struct value *values[] = {a, result};
    tape_run(tape, opcode, attributes, 1, 2, values);
    return result;
}

struct value *make_scale(struct tape *tape, struct value *a, double factor, double summand)
{
    struct operation_attributes attributes = attributes_f(factor, summand);
    return make_unary(tape, OPCODE_AFFINE, &attributes, a);
}

struct value *make_copy(struct tape *tape, struct value *a, enum dtype dtype, const char *label)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    /* A cast keeps the order in memory; a copy for contiguity (same dtype) does not. */
    struct value *result =
        dtype != a->dtype ? value_new_like(tape, dtype, &a->shape, a, label) : value_new(tape, dtype, &a->shape, label);
    struct value *values[] = {a, result};
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
    return result;
}

struct value *make_dense(struct tape *tape, struct value *a)
{
    return a == NULL || value_is_dense(a) ? a : make_copy(tape, a, a->dtype, "contiguous");
}

struct sum_scratch sum_scratch_take(struct tape *tape, const struct reduction *reduction)
{
    struct reduction_scratch rule = reduction_scratch_of(tape->target, reduction);
    struct sum_scratch taken = {NULL, NULL};
    for (int64_t part = 0; part < rule.part_count; part++) {
        sum_scratch_drop(tape, taken);
        taken.partial = scratch_bytes_new(tape, rule.partial_bytes, "partial sums");
        taken.counters = scratch_bytes_new(tape, rule.counter_bytes, "counters of partial sums");
    }
    return taken;
}

void sum_scratch_drop(struct tape *tape, struct sum_scratch scratch)
{
    tape_drop(tape, scratch.counters);
    tape_drop(tape, scratch.partial);
}

/* sum has a's rank and size 1 in each dimension that is summed. */
static struct reduction reduction_of(const struct value *a, const struct value *sum)
{
    struct reduction reduction = {.dtype = a->dtype, .rank = a->shape.rank, .offset = a->offset};
    for (int i = 0; i < reduction.rank; i++) {
        reduction.size[i] = a->shape.size[i];
        reduction.stride[i] = a->stride[i];
        reduction.summed[i] = sum->shape.size[i] != a->shape.size[i];
    }
    return reduction;
}

void sum_run_in(struct tape *tape, struct value *a, struct value *sum, const struct operation_attributes *attributes,
                struct value *workspace)
{
    struct value *values[3] = {a};
    int inputs = 1;
    if (workspace != NULL) {
        values[inputs++] = workspace;
    }
    values[inputs] = sum;
    tape_run(tape, OPCODE_SUM, attributes, inputs, inputs + 1, values);
}

void sum_run_with(struct tape *tape, struct value *a, struct value *sum, const struct operation_attributes *attributes)
{
    if (a == NULL || sum == NULL || tape_failed(tape)) {
        return;
    }
    struct reduction reduction = reduction_of(a, sum);
    struct sum_scratch scratch = sum_scratch_take(tape, &reduction);
    sum_run_in(tape, a, sum, attributes, scratch.partial);
    sum_scratch_drop(tape, scratch);
}

void sum_run(struct tape *tape, struct value *a, struct value *sum, double factor)
{
    struct operation_attributes attributes = attributes_f(factor, 0.0);
    sum_run_with(tape, a, sum, &attributes);
}

/* The sum over leading dimensions and over those that shape has as 1. */
struct value *make_sum_to(struct tape *tape, struct value *a, const struct shape *shape)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape kept = {.rank = a->shape.rank};
    int shift = a->shape.rank - shape->rank;
    for (int i = 0; i < kept.rank; i++) {
        kept.size[i] = i < shift ? 1 : shape->size[i - shift];
    }
    struct value *sum = value_new(tape, a->dtype, &kept, "SUM");
    sum_run(tape, a, sum, 1.0);
    if (sum != NULL) {
        sum->shape = *shape;
        for (int i = 0; i < shape->rank; i++) {
            sum->stride[i] = sum->stride[i + shift];
        }
    }
    return sum;
}

/* Whether a can be seen as shape without a copy; writes the strides. */
static bool strides_for(const struct value *a, const struct shape *shape, int64_t *stride)
{
    int from = a->shape.rank - 1;
    int to = shape->rank - 1;
    while (to >= 0) {
        while (from > 0 && a->shape.size[from] == 1) {
            from--;
        }
        int64_t have = from >= 0 ? a->shape.size[from] : 1;
        int64_t step = from >= 0 ? a->stride[from] : 1;
        int low = from - 1;
        int64_t need = shape->size[to];
        int first = to;
        /* Join dimensions of the target until they are as many as a run of joinable dimensions of a. */
        while (have != need) {
            if (have < need) {
                while (low >= 0 && a->shape.size[low] == 1) {
                    low--;
                }
                if (low < 0 || a->stride[low] != step * have) {
                    return false;
                }
                have *= a->shape.size[low--];
            } else {
                if (--first < 0) {
                    return false;
                }
                need *= shape->size[first];
            }
        }
        for (int i = to; i >= first; i--) {
            stride[i] = step;
            step *= shape->size[i];
        }
        to = first - 1;
        from = low;
    }
    return true;
}

struct value *make_reshape(struct tape *tape, struct value *a, const struct shape *shape)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        count *= shape->size[i];
    }
    if (count != value_count(a)) {
        tape_fail(tape, STATUS_INTERNAL, "%lld elements cannot be seen as %lld", (long long)value_count(a),
                  (long long)count);
        return NULL;
    }
    int64_t stride[TENSOR_RANK_MAXIMUM] = {0};
    struct value *base = a;
    if (!strides_for(a, shape, stride)) {
        base = make_copy(tape, a, a->dtype, "contiguous");
        if (base == NULL || !strides_for(base, shape, stride)) {
            return NULL;
        }
    }
    struct value *view = value_alias(tape, base);
    if (view != NULL) {
        view->is_view = !shape_equal(&view->shape, shape);
        view->shape = *shape;
        memcpy(view->stride, stride, sizeof stride);
    }
    if (base != a) {
        tape_drop(tape, base);
    }
    return view;
}
