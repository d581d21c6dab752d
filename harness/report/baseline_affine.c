/* Affine fits: a line through the other cases of a kind of device, fitted anew for every case without that case.
 *
 * Each other case weighs 1 / measured², so that relative errors are fitted, which are what a league judges: with equal
 * weights the largest case would decide alone. */
#include <string.h>

#include "harness/report/baseline.h"

enum { OTHERS_MINIMUM = 3 };

/* What a line is fitted over: a figure of a case that is known before it is measured, and which cases belong together. */
struct abscissa {
    int64_t (*bytes)(const struct counted_case *one);
    bool (*together)(const struct counted_case *a, const struct counted_case *b);
};

/* Sums over the others, with x counted from `origin` to keep its squares small. */
struct fit {
    double origin, weight, x, y, xx, xy;
    int count;
};

static void fit_add(struct fit *fit, double measured, double x)
{
    double weight = 1.0 / (measured * measured);
    fit->weight += weight;
    fit->x += weight * x;
    fit->y += weight * measured;
    fit->xx += weight * x * x;
    fit->xy += weight * x * measured;
    fit->count++;
}

/* The line at `origin`, where x is 0: its constant alone. */
static int64_t fit_predict(const struct fit *fit)
{
    double determinant = fit->weight * fit->xx - fit->x * fit->x;
    if (fit->count < OTHERS_MINIMUM || determinant <= fit->weight * fit->xx * 1e-12) {
        return BYTES_UNKNOWN;
    }
    double bytes = (fit->y * fit->xx - fit->x * fit->xy) / determinant;
    return bytes >= 0.0 && bytes < 0x1p62 ? (int64_t)(bytes + 0.5) : BYTES_UNKNOWN;
}

static bool fits_make(const struct counted_cases *counted, const struct abscissa *over, int64_t *predicted_bytes)
{
    for (int index = 0; index < counted->count; index++) {
        const struct counted_case *one = &counted->cases[index];
        int64_t origin_bytes = over->bytes(one);
        struct fit fit = {.origin = (double)origin_bytes};
        for (int at = 0; at < counted->count && origin_bytes != BYTES_UNKNOWN; at++) {
            const struct counted_case *other = &counted->cases[at];
            int64_t bytes = over->bytes(other);
            if (at != index && bytes != BYTES_UNKNOWN && over->together(one, other)) {
                fit_add(&fit, (double)other->measured_bytes, (double)bytes - fit.origin);
            }
        }
        predicted_bytes[index] = fit_predict(&fit);
    }
    return true;
}

static int64_t tensor_bytes(const struct counted_case *one)
{
    return one->tensor_bytes;
}

static bool same_device(const struct counted_case *a, const struct counted_case *b)
{
    return strcmp(a->device, b->device) == 0;
}

bool baseline_affine_tensors(const struct counted_cases *counted, int64_t *predicted_bytes)
{
    static const struct abscissa over = {tensor_bytes, same_device};
    return fits_make(counted, &over, predicted_bytes);
}

static int64_t weights_bytes(const struct counted_case *one)
{
    return one->weights_bytes;
}

static bool same_device_and_mode(const struct counted_case *a, const struct counted_case *b)
{
    return same_device(a, b) && a->view->mode != NULL && b->view->mode != NULL &&
           strcmp(a->view->mode, b->view->mode) == 0;
}

bool baseline_affine_weights(const struct counted_cases *counted, int64_t *predicted_bytes)
{
    static const struct abscissa over = {weights_bytes, same_device_and_mode};
    return fits_make(counted, &over, predicted_bytes);
}
