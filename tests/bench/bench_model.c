/* The table of `--model`: what the kernels move beside what their operations need, and how long they would take at
 * least if the published peaks of a device were all that held them back. Worst first. Nothing is measured, no GPU is
 * asked. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench_parts.h"
#include "tests/bench/model_case.h"

enum { ROWS_MAXIMUM = 64 };

struct model_row {
    const struct model_case *model;
    struct traffic traffic;
    double seconds, least;
    enum model_bound bound;
};

static int row_compare(const void *a, const void *b)
{
    const struct model_row *x = a, *y = b;
    double left = x->seconds / x->least, right = y->seconds / y->least;
    return left < right ? 1 : left > right ? -1 : 0;
}

static void row_print(const struct model_device *device, const struct model_row *row, double sum)
{
    printf("| %s %s | %s | %.2f | %.2f | %.0f | %.1f | %.1f | %.1f | %s |\n", row->model->what,
           dtype_name(row->model->dtype), row->traffic.launches[0].kernel, row->traffic.needed_bytes / 1048576,
           model_moved_bytes(&row->traffic) / row->traffic.needed_bytes,
           100 * model_processors(device, &row->traffic) / device->processors, 1e6 * row->seconds,
           row->seconds / row->least, 100 * row->seconds / sum, model_bound_names[row->bound]);
}

bool bench_model(const char *architecture)
{
    struct model_row rows[ROWS_MAXIMUM];
    const struct model_device *device = model_device_find(architecture);
    double sum = 0;
    if (device == NULL) {
        return false;
    }
    for (int i = 0; i < model_case_count; i++) {
        rows[i].model = &model_cases[i];
        model_traffic(&model_cases[i], device, &rows[i].traffic);
        rows[i].seconds = model_seconds(device, &rows[i].traffic, &rows[i].bound);
        rows[i].least = model_least_seconds(device, &rows[i].traffic);
        sum += rows[i].seconds;
    }
    qsort(rows, (size_t)model_case_count, sizeof rows[0], row_compare);
    printf("%s (%s): computed from the loops of the kernels and the peaks of %s; nothing was measured\n\n",
           device->name, device->architecture, device->source);
    printf(
        "| operation | kernel | needed, MiB | moved / needed | processors busy, %% | at least, us | of its least time "
        "| share, %% | held back by |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n");
    for (int i = 0; i < model_case_count; i++) {
        row_print(device, &rows[i], sum);
    }
    return true;
}
