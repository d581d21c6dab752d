/* Law pages: which format shows what, and what the pages of all laws share. A terminal has the lines of *_text.c. */
#include "harness/law/law_page.h"

#include <math.h>

#include "harness/law/law_file.h"
#include "harness/law/overhead_text.h"
#include "harness/report/escape.h"
#include "harness/report/page_format.h"

/* ---- overhead ---- */

static const struct overhead_law *overhead_of(const void *subject)
{
    return ((const struct law_subject *)subject)->law;
}

static void overhead_page_describe(const void *subject, struct page *page)
{
    const struct law_subject *of = subject;
    overhead_describe(of->law, page);
    page_say(page, BLOCK_NOTE, MEDIA_READ, "Fitted by assay %s.", of->version);
}

static void overhead_table_write(const void *subject, const struct report_style *style, struct text *text)
{
    (void)style;
    overhead_text_append(text, overhead_of(subject));
    text_format(text, "\nfitted by assay %s\n", ((const struct law_subject *)subject)->version);
}

static void overhead_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    (void)style;
    overhead_csv_append(overhead_of(subject), text);
}

static struct json *overhead_value(const void *subject)
{
    return overhead_law_json(overhead_of(subject), ((const struct law_subject *)subject)->version);
}

static const struct page_kind overhead_kind = {
    .name = "a law",
    .what = "a law",
    .describe = overhead_page_describe,
    .own = {[REPORT_TABLE] = overhead_table_write, [REPORT_CSV] = overhead_csv_write},
    .value = overhead_value,
    .has_figures = true,
};

enum status_code law_format_parse(const char *name, enum report_format *format, struct status *error)
{
    return page_format_parse(&overhead_kind, name, format, error);
}

enum status_code overhead_law_render(const struct overhead_law *law, const char *version, enum report_format format,
                                     const struct report_style *style, struct text *text, struct status *error)
{
    const struct law_subject subject = {law, version};
    return page_render(&overhead_kind, &subject, format, style, text, error);
}

/* ---- the optimizer ---- */

static void optimizer_rows_describe(struct page *page, const struct optimizer_law *law)
{
    static const struct page_column columns[] = {
        {.title = "optimizer", .kind = CELL_WORD}, {.title = "precision", .kind = CELL_WORD},
        {.title = "models", .kind = CELL_COUNT},   {.title = "cases", .kind = CELL_COUNT},
        {.title = "weights", .kind = CELL_MARK},   {.title = "gradients", .kind = CELL_MARK},
        {.title = "states", .kind = CELL_MARK},    {.title = "master", .kind = CELL_MARK},
        {.title = "sum", .kind = CELL_MARK},       {.title = "least", .kind = CELL_MARK},
        {.title = "most", .kind = CELL_MARK},
    };
    enum { COUNT = sizeof columns / sizeof columns[0] };
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, COUNT);
    for (int at = 0; at < law->group_count; at++) {
        const struct optimizer_group *group = &law->groups[at];
        struct cell cells[COUNT] = {cell_word(group->optimizer), cell_word(group->precision),
                                    cell_count(group->model_count), cell_count(group->case_count)};
        for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
            cells[4 + part] = law_figure_cell(page, group->parts[part].median, 2);
        }
        cells[8] = law_figure_cell(page, group->all.median, 2);
        cells[9] = law_figure_cell(page, group->all.low, 2);
        cells[10] = law_figure_cell(page, group->all.high, 2);
        page_row_add(page, table, cells);
    }
}

static void claims_describe(struct page *page, const struct optimizer_law *law)
{
    static const struct page_column columns[] = {
        {.title = "bytes", .kind = CELL_MARK},     {.title = "of", .kind = CELL_WORD},
        {.title = "optimizer", .kind = CELL_WORD}, {.title = "precision", .kind = CELL_WORD},
        {.title = "claim", .kind = CELL_WORD},     {.title = "measured", .kind = CELL_MARK},
        {.title = "source", .kind = CELL_WORD},
    };
    enum { COUNT = sizeof columns / sizeof columns[0] };
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, COUNT);
    const struct optimizer_claim *claim;
    for (int at = 0; (claim = optimizer_claim_at(at)) != NULL; at++) {
        double measured = NAN;
        enum claim_verdict verdict = optimizer_claim_judge(law, claim, &measured);
        const struct cell cells[COUNT] = {
            law_figure_cell(page, claim->bytes, 0),
            cell_word(claim_scope_words(claim->scope)),
            cell_word(claim->optimizer),
            cell_word(claim->precision),
            cell_word(claim_verdict_word(verdict)),
            law_figure_cell(page, measured, 2),
            cell_word(claim->source),
        };
        page_row_add(page, table, cells);
    }
}

static void optimizer_describe(const void *subject, struct page *page)
{
    const struct optimizer_law *law = ((const struct law_subject *)subject)->law;
    page_words(page, BLOCK_TITLE, MEDIA_READ, "Bytes for each parameter while the optimizer steps");
    page_say(page, BLOCK_LEAD, MEDIA_READ, "%d cases of training count, %d do not.", law->case_count,
             law->left_out_count);
    optimizer_rows_describe(page, law);
    page_words(page, BLOCK_NOTE, MEDIA_READ,
               "Medians over the models; least and most are of the sum. Bytes are those of the highest moment of the "
               "step, by category, over the parameters of the model (tied ones once).");
    page_words(page, BLOCK_HEADING, MEDIA_READ, "Published claims, held against the cases that they are about");
    claims_describe(page, law);
    page_words(page, BLOCK_NOTE, MEDIA_READ,
               "Claims of 12 and 18 count a copy of the weights in float32 beside weights in 16 bits; a case keeps one "
               "if its column master is not 0.");
}

static void optimizer_table_write(const void *subject, const struct report_style *style, struct text *text)
{
    (void)style;
    optimizer_text_append(text, ((const struct law_subject *)subject)->law);
}

static void optimizer_csv_row(struct text *text, const struct optimizer_group *group, const char *part,
                              const struct byte_spread *spread)
{
    csv_append(text, group->optimizer);
    text_append(text, ",");
    csv_append(text, group->precision);
    text_format(text, ",%s,%d,%d,%.6g,%.6g,%.6g\r\n", part, group->model_count, group->case_count, spread->median,
                spread->low, spread->high);
}

static void optimizer_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct optimizer_law *law = ((const struct law_subject *)subject)->law;
    (void)style;
    text_append(text, "optimizer,precision,part,models,cases,median,min,max\r\n");
    for (int at = 0; at < law->group_count; at++) {
        const struct optimizer_group *group = &law->groups[at];
        for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
            optimizer_csv_row(text, group, optimizer_part_name((enum optimizer_part)part), &group->parts[part]);
        }
        optimizer_csv_row(text, group, "sum", &group->all);
    }
}

static struct json *optimizer_value(const void *subject)
{
    const struct law_subject *law = subject;
    return optimizer_law_json(law->law, law->version);
}

static const struct page_kind optimizer_kind = {
    .name = "a law",
    .what = "a law",
    .describe = optimizer_describe,
    .own = {[REPORT_TABLE] = optimizer_table_write, [REPORT_CSV] = optimizer_csv_write},
    .value = optimizer_value,
};

enum status_code optimizer_law_render(const struct optimizer_law *law, const char *version, enum report_format format,
                                      const struct report_style *style, struct text *text, struct status *error)
{
    const struct law_subject subject = {law, version};
    return page_render(&optimizer_kind, &subject, format, style, text, error);
}

/* ---- the constants of a device ---- */

/* A spread that is known, of a stage ("context", a mode) and a level. */
typedef void spread_visitor(const char *name, const char *level, const struct constants_spread *spread, void *state);

static void levels_visit(const char *name, const struct constants_levels *levels, spread_visitor *visit, void *state)
{
    if (levels->process.known) {
        visit(name, "process", &levels->process, state);
    }
    if (levels->device.known) {
        visit(name, "device", &levels->device, state);
    }
}

static void spreads_visit(const struct constants *constants, spread_visitor *visit, void *state)
{
    levels_visit("context", &constants->context, visit, state);
    for (int at = 0; at < constants->growth_count; at++) {
        levels_visit(constants->growth[at].mode, &constants->growth[at].levels, visit, state);
    }
}

struct constants_rows {
    struct page *page;
    struct page_table *table;
};

static void spread_row_add(const char *name, const char *level, const struct constants_spread *spread, void *state)
{
    struct constants_rows *rows = state;
    const struct cell cells[] = {
        cell_word(page_word(rows->page, name)),
        cell_word(level),
        cell_bytes(spread->median),
        cell_bytes(spread->minimum),
        cell_bytes(spread->maximum),
        cell_count(spread->count),
        cell_error(spread->count > 1, constants_confidence(spread->count)),
    };
    page_row_add(rows->page, rows->table, cells);
}

static void constants_describe(const void *subject, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "of", .kind = CELL_WORD},       {.title = "level", .kind = CELL_WORD},
        {.title = "median", .kind = CELL_BYTES},  {.title = "least", .kind = CELL_BYTES},
        {.title = "most", .kind = CELL_BYTES},    {.title = "readings", .kind = CELL_COUNT},
        {.title = "hold it", .kind = CELL_SHARE},
    };
    const struct constants *constants = ((const struct law_subject *)subject)->law;
    const struct constants_device *device = &constants->device;
    char words[CONSTANTS_WORDS_BYTES];
    page_words(page, BLOCK_TITLE, MEDIA_READ, "Footprint = context + segments + growth of the mode");
    page_say(page, BLOCK_LEAD, MEDIA_READ, "%s; %d cases; driver %s, runtime %s, program %s.",
             constants_device_words(device->kind, device->name, device->thread_count, words), constants->case_count,
             device->driver[0] != '\0' ? device->driver : "not known",
             device->runtime[0] != '\0' ? device->runtime : "not known", constants->tool_version);
    struct constants_rows rows = {page, page_table_add(page, MEDIA_READ, columns, sizeof columns / sizeof columns[0])};
    spreads_visit(constants, spread_row_add, &rows);
    page_words(page, BLOCK_NOTE, MEDIA_READ,
               "Hold it: the chance that the least and the most of so many independent readings hold the median of all "
               "that there could be, whatever their distribution. Of one reading no uncertainty is known.");
}

static void constants_table_write(const void *subject, const struct report_style *style, struct text *text)
{
    (void)style;
    constants_law_append(text, ((const struct law_subject *)subject)->law);
}

static void spread_csv_row(const char *name, const char *level, const struct constants_spread *spread, void *state)
{
    struct text *text = state;
    csv_append(text, name);
    text_format(text, ",%s,", level);
    text_integer(text, spread->median);
    text_append(text, ",");
    text_integer(text, spread->minimum);
    text_append(text, ",");
    text_integer(text, spread->maximum);
    text_append(text, ",");
    text_integer(text, spread->count);
    text_append(text, ",");
    if (spread->count > 1) {
        text_format(text, "%.6g", constants_confidence(spread->count));
    }
    text_append(text, "\r\n");
}

static void constants_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    (void)style;
    text_append(text, "of,level,median_bytes,min_bytes,max_bytes,readings,confidence\r\n");
    spreads_visit(((const struct law_subject *)subject)->law, spread_csv_row, text);
}

static struct json *constants_value(const void *subject)
{
    const struct law_subject *law = subject;
    return constants_law_json(law->law, law->version);
}

static const struct page_kind constants_kind = {
    .name = "a law",
    .what = "a law",
    .describe = constants_describe,
    .own = {[REPORT_TABLE] = constants_table_write, [REPORT_CSV] = constants_csv_write},
    .value = constants_value,
};

enum status_code constants_law_render(const struct constants *constants, const char *version, enum report_format format,
                                      const struct report_style *style, struct text *text, struct status *error)
{
    const struct law_subject subject = {constants, version};
    return page_render(&constants_kind, &subject, format, style, text, error);
}
