/* Gap: relative differences, their median and the worst of them. No words and no judgement. */
#include "harness/report/gap.h"

#include <stdlib.h>

#include "harness/report/percentile.h"

bool gap_relative(const struct gap *gap, double *relative)
{
    if (gap->base_bytes < 0 || gap->new_bytes < 0 || (gap->base_bytes == 0 && gap->new_bytes != 0)) {
        return false;
    }
    *relative = gap->base_bytes == 0 ? 0.0 : (double)(gap->new_bytes - gap->base_bytes) / (double)gap->base_bytes;
    return true;
}

enum status_code gap_summarise(const struct gap *gaps, int count, struct gap_summary *summary, struct status *error)
{
    struct gap_summary made = {0};
    double worst_magnitude = 0.0;
    double *magnitudes = calloc((size_t)count + 1, sizeof *magnitudes);
    if (magnitudes == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the median of %d differences", count);
    }
    for (int i = 0; i < count; i++) {
        double relative = 0.0;
        if (!gap_relative(&gaps[i], &relative)) {
            continue;
        }
        double magnitude = relative < 0.0 ? -relative : relative;
        if (magnitude > worst_magnitude) {
            worst_magnitude = magnitude;
            made.worst = relative;
            made.worst_name = gaps[i].name;
        }
        made.equal_count += gaps[i].base_bytes == gaps[i].new_bytes ? 1 : 0;
        magnitudes[made.count++] = magnitude;
    }
    made.median = made.count > 0 ? values_median(magnitudes, made.count) : 0.0;
    free(magnitudes);
    *summary = made;
    return STATUS_OK;
}
