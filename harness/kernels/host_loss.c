/* Negative log-likelihood on the host. */
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"
#include "harness/kernels/loss.h"

#include <string.h>

static const char *targets_check(const struct tensor *target, int64_t classes)
{
    const int64_t *targets = target->data;
    int64_t count = tensor_element_count(target);
    for (int64_t row = 0; row < count; row++) {
        bool valid = targets[row] >= 0 && targets[row] < classes;
        if (!valid && targets[row] != LOSS_IGNORED) {
            return "a target is neither a class nor -100";
        }
    }
    return NULL;
}

const char *host_nll_loss(const struct operation_call *call)
{
    const struct tensor *logp = &call->tensors[0];
    struct rows rows = rows_of(logp);
    const char *wrong = targets_check(&call->tensors[1], rows.columns);
    if (wrong != NULL) {
        return wrong;
    }
    const int64_t *targets = call->tensors[1].data;
    double sum = 0.0;
    int64_t counted = 0;
    for (int64_t row = 0; row < rows.count; row++) {
        if (targets[row] != LOSS_IGNORED) {
            sum -= (double)float_load(logp->data, logp->dtype, row * rows.columns + targets[row]);
            counted++;
        }
    }
    const struct tensor *loss = &call->tensors[2];
    float mean = counted > 0 ? (float)(sum / (double)counted) : NAN;
    float_store(loss->data, loss->dtype, 0, mean);
    float_store(call->tensors[3].data, call->tensors[3].dtype, 0, (float)counted);
    return NULL;
}

const char *host_nll_loss_backward(const struct operation_call *call)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[3];
    struct rows rows = rows_of(out);
    const char *wrong = targets_check(&call->tensors[1], rows.columns);
    if (wrong != NULL) {
        return wrong;
    }
    const int64_t *targets = call->tensors[1].data;
    float total_weight = float_load(call->tensors[2].data, call->tensors[2].dtype, 0);
    float value = -float_load(grad->data, grad->dtype, 0) / total_weight;
    size_t row_bytes = (size_t)rows.columns * (size_t)dtype_bytes(out->dtype);
    HOST_PARALLEL_FOR(rows.count * rows.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows.count; row++) {
        memset(tensor_at(out, row * rows.columns), 0, row_bytes);
        if (targets[row] != LOSS_IGNORED) {
            float_store(out->data, out->dtype, row * rows.columns + targets[row], value);
        }
    }
    return NULL;
}
