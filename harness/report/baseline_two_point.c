/* Two-point extrapolation in batch: the line through two measured batches. Not a fit: two points and no more. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/baseline.h"

static int batch_order(const void *left, const void *right)
{
    const struct counted_case *a = *(const struct counted_case *const *)left;
    const struct counted_case *b = *(const struct counted_case *const *)right;
    int order = strcmp(a->series, b->series);
    return order != 0 ? order : (a->view->batch > b->view->batch) - (a->view->batch < b->view->batch);
}

/* Rounded to the nearest byte. BYTES_UNKNOWN if the line falls below 0 or leaves 63 bits. */
static int64_t line_extend(const struct counted_case *near, const struct counted_case *far, int64_t batch)
{
    double slope = ((double)near->measured_bytes - (double)far->measured_bytes) /
                   ((double)near->view->batch - (double)far->view->batch);
    double bytes = (double)near->measured_bytes + slope * ((double)batch - (double)near->view->batch);
    return bytes >= 0.0 && bytes < 0x1p62 ? (int64_t)(bytes + 0.5) : BYTES_UNKNOWN;
}

bool baseline_two_point(const struct counted_cases *counted, int64_t *predicted_bytes)
{
    size_t count = 0;
    const struct counted_case **sorted = calloc((size_t)counted->count + 1, sizeof *sorted);
    if (sorted == NULL) {
        return false;
    }
    for (int index = 0; index < counted->count; index++) {
        predicted_bytes[index] = BYTES_UNKNOWN;
        if (counted->cases[index].view->batch > 0) {
            sorted[count++] = &counted->cases[index];
        }
    }
    qsort(sorted, count, sizeof *sorted, batch_order);
    for (size_t at = 2; at < count; at++) {
        const struct counted_case *one = sorted[at], *near = sorted[at - 1], *far = sorted[at - 2];
        if (strcmp(one->series, far->series) == 0 && far->view->batch < near->view->batch &&
            near->view->batch < one->view->batch) {
            predicted_bytes[one - counted->cases] = line_extend(near, far, one->view->batch);
        }
    }
    free(sorted);
    return true;
}
