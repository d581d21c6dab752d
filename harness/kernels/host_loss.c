/* Negative log-likelihood, and cross entropy in one pass, on the host. */
#include "harness/kernels/body_cross_entropy.h"
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

const char *host_target_mask(const struct operation_call *call)
{
    const struct tensor *target = &call->tensors[0];
    const char *wrong = targets_check(target, call->attributes.i[0]);
    if (wrong != NULL) {
        return wrong;
    }
    const int64_t *targets = target->data;
    uint8_t *mask = call->tensors[1].data;
    int64_t *masked = call->tensors[2].data, *count = call->tensors[3].data;
    *count = 0;
    for (int64_t row = 0; row < tensor_element_count(target); row++) {
        mask[row] = targets[row] != LOSS_IGNORED;
        masked[row] = mask[row] != 0 ? targets[row] : 0;
        *count += mask[row];
    }
    return NULL;
}

HOST_CLONES
static float cross_entropy_loop(struct span logits, int64_t target, float share, int64_t columns)
{
    return cross_entropy_row(team_of_one, logits, row_of(logits, columns), target, share);
}

const char *host_cross_entropy(const struct operation_call *call)
{
    const struct tensor *logits = &call->tensors[2], *losses = &call->tensors[3];
    struct rows rows = rows_of(logits);
    const char *wrong = targets_check(&call->tensors[0], rows.columns);
    if (wrong != NULL) {
        return wrong;
    }
    const int64_t *targets = call->tensors[0].data, *count = call->tensors[1].data;
    float share = 1.0f / (float)*count;
    size_t row_bytes = (size_t)rows.columns * (size_t)dtype_bytes(logits->dtype);
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, rows.columns)) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(rows.count * rows.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows.count; row++) {
        int64_t at = row * rows.columns;
        float loss = 0.0f;
        if (targets[row] == LOSS_IGNORED) {
            memset(tensor_at(logits, at), 0, row_bytes);
        } else {
            struct span span = span_read(logits, at, 1, rows.columns, host_scratch_part(&scratch));
            loss = cross_entropy_loop(span, targets[row], share, rows.columns);
            span_write(span, logits, at, 1, rows.columns);
        }
        float_store(losses->data, losses->dtype, row, loss);
    }
    host_scratch_close(&scratch);
    return NULL;
}
