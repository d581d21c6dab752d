/* Overhead CSV: the law's figures, one in a row. What does not belong to a row is an empty cell. */
#include <math.h>

#include "harness/law/law_page.h"
#include "harness/report/escape.h"

/* What a row is about. */
struct csv_row {
    const char *part;                    /* "form", "context", "coefficient", "kind" */
    const char *kind, *target, *program; /* "" if it is over all */
    const char *level, *name, *times;    /* "footprint"; "replayed", "feed_hidden"; "T F e" */
    double value;                        /* NaN: none */
    struct interval interval;            /* may be not known */
    int model_count, resample_count;     /* 0: not said */
    const struct error_summary *errors;  /* NULL: none */
};

static void number_append(struct text *text, bool known, double value)
{
    text_append(text, ",");
    if (known && isfinite(value)) {
        text_format(text, "%.9g", value);
    }
}

static void row_append(struct text *text, const struct csv_row *row)
{
    const char *const words[] = {row->kind, row->target, row->program, row->level, row->name, row->times};
    static const struct error_summary none;
    const struct error_summary *errors = row->errors != NULL ? row->errors : &none;
    bool has_interval = row->interval.is_known;
    text_append(text, row->part);
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++) {
        text_append(text, ",");
        csv_append(text, words[at] != NULL ? words[at] : "");
    }
    number_append(text, true, row->value);
    number_append(text, has_interval, row->interval.low);
    number_append(text, has_interval, row->interval.high);
    number_append(text, row->model_count > 0, row->model_count);
    number_append(text, errors->count > 0, errors->count);
    number_append(text, errors->count > 0, errors->median);
    number_append(text, errors->count > 0, errors->p90);
    number_append(text, errors->count > 0, errors->p99);
    number_append(text, errors->count > 0, errors->worst);
    number_append(text, errors->count > 0, errors->bias);
    number_append(text, errors->count > 0, errors->under);
    number_append(text, row->resample_count > 0, row->resample_count);
    text_append(text, "\r\n");
}

static void forms_append(struct text *text, const struct overhead_law *law, enum overhead_level level)
{
    static const char *const affine[AFFINE_COUNT] = {"MiB", "weights", "T H e"};
    for (int form = 0; form < FORM_COUNT; form++) {
        const char *key = overhead_form_key((enum overhead_form)form);
        if (law->summary[level][form].count == 0) {
            continue;
        }
        row_append(text, &(struct csv_row){.part = "form",
                                           .level = overhead_level_name(level),
                                           .name = key,
                                           .value = NAN,
                                           .errors = &law->summary[level][form]});
        int count = form == FORM_AFFINE ? AFFINE_COUNT : form <= FORM_CONSTANT ? 1 : 0;
        for (int at = 0; at < count; at++) {
            row_append(text, &(struct csv_row){.part = law->simple[level][form].is_told[at] ? "coefficient"
                                                                                            : "dependent coefficient",
                                               .level = overhead_level_name(level),
                                               .name = key,
                                               .times = affine[count == 1 ? 1 : at],
                                               .value = law->simple[level][form].coefficients[at],
                                               .interval = law->simple[level][form].spread[at]});
        }
    }
}

static void kind_append(struct text *text, const struct overhead_group *kind)
{
    const struct csv_row place = {.kind = kind->kind, .target = kind->target, .program = kind->program};
    struct csv_row row = place;
    row.part = "kind";
    row.level = overhead_level_name(OVERHEAD_ALLOCATED);
    row.name = "allocator_bytes";
    row.value = kind->counts ? kind->allocator_bytes : NAN;
    row.model_count = kind->model_count;
    row.errors = kind->counts ? &kind->errors[OVERHEAD_ALLOCATED] : &kind->borrowed;
    if (kind->has_terms) {
        row_append(text, &row);
    }
    if (kind->replayed.count > 0) {
        row.level = overhead_level_name(OVERHEAD_FOOTPRINT);
        row.name = overhead_form_key(FORM_REPLAYED);
        row.value = NAN;
        row.errors = &kind->replayed;
        row_append(text, &row);
    }
    for (int term = 0; term < TERM_COUNT && kind->counts; term++) {
        if (kind->fit.is_seen[term]) {
            row = place;
            row.part = kind->fit.is_dependent[term] ? "dependent coefficient" : "coefficient";
            row.level = overhead_level_name(OVERHEAD_ALLOCATED);
            row.name = overhead_term_key((enum overhead_term)term);
            row.times = overhead_term_unit((enum overhead_term)term);
            row.value = kind->fit.coefficients[term];
            row.interval = kind->spread[term];
            row.model_count = kind->fit.model_counts[term];
            row.resample_count = kind->told_resamples[term];
            row_append(text, &row);
        }
    }
}

void overhead_csv_append(const struct overhead_law *law, struct text *text)
{
    text_append(text, "part,kind,target,program,level,name,times,value,low,high,models,cases,median,p90,p99,worst,bias,"
                      "under,resamples\r\n");
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        forms_append(text, law, (enum overhead_level)level);
    }
    for (int at = 0; at < law->context_count; at++) {
        const struct overhead_context *context = &law->contexts[at];
        row_append(text, &(struct csv_row){.part = "context",
                                           .target = context->target,
                                           .program = context->program,
                                           .level = overhead_level_name(OVERHEAD_FOOTPRINT),
                                           .name = context->mode,
                                           .times = "bytes",
                                           .value = context->bytes,
                                           .interval = context->spread,
                                           .model_count = context->model_count,
                                           .errors = &context->errors});
    }
    for (int at = 0; at < law->kind_count; at++) {
        kind_append(text, &law->kinds[at]);
    }
}
