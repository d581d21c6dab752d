/* Checks of shapes of what has no file of its own: what they share, element-wise operations, reductions, losses,
 * LAYERNORM, look-ups, selection and optimizers. */
#include <stddef.h>

#include "harness/kernels/body_rows.h"
#include "harness/kernels/call_check_shape.h"

const char shapes_wrong[] = "the shapes of the tensors do not fit each other";
const char attributes_wrong[] = "an attribute of the operation is out of range";

const char *shapes_verdict(bool fit)
{
    return fit ? NULL : shapes_wrong;
}

bool shapes_equal(const struct tensor *a, const struct tensor *b)
{
    bool equal = a->rank == b->rank;
    for (int d = 0; equal && d < a->rank; d++) {
        equal = a->size[d] == b->size[d];
    }
    return equal;
}

bool shapes_agree(const struct tensor *a, const struct tensor *b)
{
    return shapes_equal(a, b) ||
           (tensor_element_count(a) == tensor_element_count(b) && tensor_is_dense(a) && tensor_is_dense(b));
}

bool all_agree(const struct operation_call *call)
{
    bool agree = true;
    for (int t = 1; t < call->tensor_count; t++) {
        agree = agree && shapes_agree(&call->tensors[0], &call->tensors[t]);
    }
    return agree;
}

static bool is_scalar(const struct tensor *tensor)
{
    return tensor_element_count(tensor) == 1;
}

/* Of what has one tensor, or whose pattern says all. */
const char *any_shape_check(const struct operation_call *call)
{
    (void)call;
    return NULL;
}

const char *element_check(const struct operation_call *call)
{
    return shapes_verdict(all_agree(call));
}

const char *rows_check(const struct operation_call *call)
{
    struct rows first = rows_of(&call->tensors[0]);
    bool agree = true;
    for (int t = 1; t < call->tensor_count; t++) {
        struct rows rows = rows_of(&call->tensors[t]);
        agree = agree && rows.count == first.count && rows.columns == first.columns;
    }
    return shapes_verdict(agree);
}

const char *random_integer_check(const struct operation_call *call)
{
    return call->attributes.i[1] > 0 ? NULL : attributes_wrong;
}

const char *causal_mask_check(const struct operation_call *call)
{
    return shapes_verdict(call->tensors[0].rank >= 2);
}

const char *copy_check(const struct operation_call *call)
{
    enum dtype from = call->tensors[0].dtype, to = call->tensors[1].dtype;
    bool to_codes = dtype_is_floating(from) && (to == DTYPE_FLOAT8_E4M3FN || to == DTYPE_UINT8);
    if (from != to && ((!dtype_is_floating(to) && !to_codes) || from == DTYPE_NF4X2)) {
        return "COPY converts to floating dtypes, of those to float8_e4m3fn and uint8, and not from nf4x2";
    }
    return element_check(call);
}

const char *dropout_check(const struct operation_call *call)
{
    double probability = call->attributes.f[0];
    return probability >= 0.0 && probability <= 1.0 ? element_check(call) : attributes_wrong;
}

const char *complex_multiply_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool fit = t[0].rank >= 1 && shapes_equal(&t[0], &t[1]) && shapes_equal(&t[0], &t[2]);
    return shapes_verdict(fit && t[0].size[t[0].rank - 1] == 2);
}

const char *sum_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    bool fit = a->rank == out->rank;
    for (int d = 0; fit && d < a->rank; d++) {
        fit = out->size[d] == 1 || out->size[d] == a->size[d];
    }
    return shapes_verdict(fit);
}

const char *extreme_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(t[0].rank >= 1 && tensor_element_count(&t[1]) == rows_of(&t[0]).count);
}

/* A row of `wide` for each of the targets. */
static bool targets_fit(const struct tensor *wide, const struct tensor *target)
{
    return wide->rank >= 1 && rows_of(wide).count == tensor_element_count(target);
}

const char *nll_loss_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(targets_fit(&t[0], &t[1]) && is_scalar(&t[2]) && is_scalar(&t[3]));
}

const char *nll_loss_backward_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(targets_fit(&t[3], &t[1]) && is_scalar(&t[0]) && is_scalar(&t[2]));
}

const char *target_mask_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(shapes_agree(&t[0], &t[1]) && shapes_agree(&t[0], &t[2]) && is_scalar(&t[3]));
}

const char *cross_entropy_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool fit = targets_fit(&t[2], &t[0]) && tensor_element_count(&t[3]) == tensor_element_count(&t[0]);
    return shapes_verdict(fit && is_scalar(&t[1]));
}

/* As many elements as the rows, in as long rows. */
static bool fills_rows(const struct tensor *tensor, struct rows rows)
{
    return tensor_element_count(tensor) == rows.count * rows.columns && rows_of(tensor).columns == rows.columns;
}

const char *layernorm_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    struct rows rows = rows_of(&t[0]);
    bool fit = t[0].rank >= 1 && fills_rows(&t[3], rows);
    fit = fit && tensor_element_count(&t[1]) == rows.columns && tensor_element_count(&t[2]) == rows.columns;
    return shapes_verdict(fit && tensor_element_count(&t[4]) == rows.count &&
                          tensor_element_count(&t[5]) == rows.count);
}

/* With the gradients of weight and bias or without. */
const char *layernorm_backward_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    struct rows rows = rows_of(&t[0]);
    bool fit = t[0].rank >= 1 && fills_rows(&t[1], rows) && fills_rows(&t[5], rows);
    fit = fit && tensor_element_count(&t[2]) == rows.count && tensor_element_count(&t[3]) == rows.count;
    fit = fit && tensor_element_count(&t[4]) == rows.columns;
    for (int slope = 6; slope < call->tensor_count; slope++) {
        fit = fit && tensor_element_count(&t[slope]) == rows.columns;
    }
    return shapes_verdict(fit);
}

/* `wide` has a row of the table for each id. */
static const char *embedding_fits(const struct tensor *table, const struct tensor *ids, const struct tensor *wide)
{
    struct rows rows = rows_of(wide);
    bool fit = table->rank == 2 && wide->rank >= 1 && rows.columns == table->size[1];
    return shapes_verdict(fit && rows.count == tensor_element_count(ids));
}

const char *embedding_check(const struct operation_call *call)
{
    return embedding_fits(&call->tensors[0], &call->tensors[1], &call->tensors[2]);
}

const char *embedding_backward_check(const struct operation_call *call)
{
    return embedding_fits(&call->tensors[2], &call->tensors[1], &call->tensors[0]);
}

const char *top_k_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *values = &call->tensors[call->input_count];
    struct rows rows = rows_of(a), picked = rows_of(values);
    bool fit = a->rank >= 1 && values->rank >= 1 && shapes_equal(values, values + 1);
    return shapes_verdict(fit && picked.count == rows.count && picked.columns >= 1 && picked.columns <= rows.columns);
}

const char *argmax_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0];
    struct rows rows = rows_of(a);
    bool fit = a->rank >= 1 && (rows.columns > 0 || rows.count == 0);
    return shapes_verdict(fit && tensor_element_count(&call->tensors[call->input_count]) == rows.count);
}

const char *gather_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *ids = &call->tensors[1], *out = &call->tensors[2];
    bool fit = a->rank == 3 && shapes_equal(ids, out) && a->dtype == out->dtype;
    return shapes_verdict(fit && a->size[0] == out->size[0] && a->size[2] == out->size[2]);
}

const char *divide_check(const struct operation_call *call)
{
    return call->attributes.i[0] > 0 ? element_check(call) : attributes_wrong;
}

/* As many elements in each as in the parameter; one in what says that nothing is to be changed. */
const char *optimizer_check(const struct operation_call *call)
{
    int required = opcode_input_count(call->opcode);
    bool fit = true;
    int64_t elements = tensor_element_count(&call->tensors[call->input_count]);
    for (int t = 0; t < call->tensor_count; t++) {
        bool found = t >= required && t < call->input_count;
        fit = fit && tensor_element_count(&call->tensors[t]) == (found ? 1 : elements);
    }
    return shapes_verdict(fit);
}

const char *unscale_check(const struct operation_call *call)
{
    return shapes_verdict(is_scalar(&call->tensors[1]));
}
