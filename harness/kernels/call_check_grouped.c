/* Checks of shapes: rows that are sorted into groups. */
#include <stddef.h>

#include "harness/kernels/body_rows.h"
#include "harness/kernels/call_check_shape.h"

const char *scatter_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(t[0].rank >= 1 && shapes_equal(&t[0], &t[1]) && t[2].rank >= 1 && t[0].dtype == t[2].dtype &&
                          rows_of(&t[0]).count == rows_of(&t[2]).count);
}

const char *group_limit_check(const struct operation_call *call)
{
    const struct tensor *scores = &call->tensors[0];
    const int64_t *i = call->attributes.i;
    struct rows rows = rows_of(scores);
    if (i[0] < 1 || i[1] < 1 || i[1] > i[0] || i[2] < 1 || i[2] > 2) {
        return attributes_wrong;
    }
    return shapes_verdict(scores->rank >= 1 && rows.columns % i[0] == 0 && rows.columns / i[0] >= i[2] &&
                          all_agree(call));
}

const char *sort_ids_check(const struct operation_call *call)
{
    return call->attributes.i[0] < 1 ? attributes_wrong : shapes_verdict(all_agree(call));
}

const char *group_ends_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(tensor_element_count(&t[0]) == tensor_element_count(&t[1]) &&
                          tensor_element_count(&t[2]) == tensor_element_count(&t[3]));
}

/* One of the last two strides is 1. */
static bool lies_in_lines(const struct tensor *matrix)
{
    return matrix->rank >= 2 && (matrix->stride[matrix->rank - 1] == 1 || matrix->stride[matrix->rank - 2] == 1);
}

const char *grouped_matmul_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1], *ends = &call->tensors[2];
    const struct tensor *out = &call->tensors[3];
    if (a->rank != 2 || ends->rank != 1 || !lies_in_lines(a) || !lies_in_lines(b)) {
        return shapes_wrong;
    }
    if (b->rank == 3) {
        return shapes_verdict(a->size[1] == b->size[1] && ends->size[0] == b->size[0] && out->rank == 2 &&
                              out->size[0] == a->size[0] && out->size[1] == b->size[2]);
    }
    return shapes_verdict(b->rank == 2 && a->size[1] == b->size[0] && out->rank == 3 && out->size[0] == ends->size[0] &&
                          out->size[1] == a->size[0] && out->size[2] == b->size[1]);
}
