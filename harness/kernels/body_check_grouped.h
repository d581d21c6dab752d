/* Check of shapes: rows that are sorted into groups. A part of body_check_shape.h, which includes it behind what all
 * checks share. */
#ifndef ASSAY_KERNELS_BODY_CHECK_GROUPED_H
#define ASSAY_KERNELS_BODY_CHECK_GROUPED_H

/* One of the last two strides is 1. */
static inline bool lies_in_lines(const struct tensor *matrix)
{
    return matrix->rank >= 2 && (matrix->stride[matrix->rank - 1] == 1 || matrix->stride[matrix->rank - 2] == 1);
}

static inline const char *grouped_matmul_check(const struct tensor *t)
{
    const struct tensor *a = &t[0], *b = &t[1], *ends = &t[2], *out = &t[3];
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

static inline const char *group_limit_check(const struct operation_call *call)
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

/* Also of operations that treat each element by itself, whose tensors agree. */
static inline const char *grouped_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    switch (call->opcode) {
    case OPCODE_SCATTER:
        return shapes_verdict(t[0].rank >= 1 && shapes_equal(&t[0], &t[1]) && t[2].rank >= 1 &&
                              t[0].dtype == t[2].dtype && rows_of(&t[0]).count == rows_of(&t[2]).count);
    case OPCODE_SORT_IDS:
        return call->attributes.i[0] < 1 ? attributes_wrong : shapes_verdict(all_agree(call));
    case OPCODE_GROUP_ENDS:
        return shapes_verdict(count_of(&t[0]) == count_of(&t[1]) && count_of(&t[2]) == count_of(&t[3]));
    case OPCODE_GROUP_LIMIT:
        return group_limit_check(call);
    case OPCODE_GROUPED_MATMUL:
        return grouped_matmul_check(t);
    default:
        return shapes_verdict(all_agree(call));
    }
}

#endif
