/* Synthetic points: sizes differ from one another, so that every term can be told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/law/synthetic_points.h"

static double part_value(const struct law_point *point, enum overhead_part part, const double *coefficients)
{
    struct overhead_row row;
    enum overhead_moment moment;
    overhead_row_make(point, part, &row);
    return overhead_row_value(&row, coefficients, &moment);
}

static void point_add(struct law_points *points, const struct synthetic_kind *kind, struct law_point *point)
{
    bool generates = point->mode[0] == 'g';
    double pass = part_value(point, PART_PASS, kind->coefficients);
    double decode = generates ? part_value(point, PART_DECODE, kind->coefficients) : -1.0;
    double highest = pass > decode ? pass : decode;
    point->pass_bytes = point->weights_bytes + (int64_t)pass;
    point->decode_bytes = generates ? point->weights_bytes + (int64_t)decode : POINT_BYTES_UNKNOWN;
    point->allocated_bytes = point->weights_bytes + (int64_t)(highest + kind->allocator_bytes + kind->workspace_bytes);
    point->footprint_bytes = 20 * 1048576 + point->allocated_bytes;
    assert_int_equal(law_points_add(points, point, NULL), STATUS_OK);
}

void synthetic_points_add(struct law_points *points, const struct synthetic_kind *kind)
{
    static const int64_t batches[] = {1, 4}, seqs[] = {64, 257};
    static const char *const attentions[] = {"sdpa", "eager"}, *const precisions[] = {"float32", "bfloat16"};
    char name[64];
    for (int model = 0; model < kind->model_count; model++) {
        snprintf(name, sizeof name, "%s-%d", kind->kind, model);
        int64_t hidden = 256 + 96 * model + 32 * (model % 3);
        for (int at = 0; at < 40; at++) {
            struct law_point point = {.source = kind->source != NULL ? kind->source : "points.tsv",
                                      .model = name,
                                      .kind = kind->kind,
                                      .target = kind->target != NULL ? kind->target : "host",
                                      .program = "assay",
                                      .mode = at < 32 ? "infer" : "generate",
                                      .precision = precisions[at / 2 % 2],
                                      .attention = attentions[at % 2],
                                      .logits = at % 32 < 16 ? "all" : "last",
                                      .cache = at < 32 ? "none" : "dynamic",
                                      .batch = batches[at / 4 % 2],
                                      .seq = seqs[at / 8 % 2],
                                      .new_tokens = at < 32 ? 0 : 16 + 200 * (at / 4 % 2),
                                      .hidden = hidden,
                                      .width = hidden + 64 * (model % 2),
                                      .cached_width = 64 + 32 * (model % 3),
                                      .heads = 4 + 4 * (model % 3),
                                      .layers = 2 + model % 4,
                                      .ffn = kind->has_fixed_ratio ? 4 * hidden : hidden * (2 + model % 4) + 64,
                                      .vocab = model % 2 == 0 ? 700 : 30000,
                                      .weights_bytes = 30000000 + 7000000 * model};
            point_add(points, kind, &point);
        }
    }
}
