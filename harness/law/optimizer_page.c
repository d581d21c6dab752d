/* Optimizer page: bytes for each parameter by optimizer and precision, and what that says of published claims. */
#include <math.h>

#include "harness/law/law_file.h"
#include "harness/law/law_page.h"
#include "harness/report/escape.h"

const char *claim_scope_words(enum claim_scope scope)
{
    return scope == CLAIM_ALL ? "weights, gradients, states" : "states and copy";
}

const char *claim_verdict_word(enum claim_verdict verdict)
{
    static const char *const words[] = {"holds", "does not hold", "not measured"};
    return words[verdict];
}

static const struct optimizer_law *law_of(const void *subject)
{
    return ((const struct law_subject *)subject)->law;
}

static void groups_describe(struct page *page, const struct optimizer_law *law)
{
    static const struct page_column columns[] = {
        {.title = "optimizer", .kind = CELL_WORD, .width = 16}, {.title = "precision", .kind = CELL_WORD, .width = 13},
        {.title = "models", .kind = CELL_COUNT, .width = 7},    {.title = "cases", .kind = CELL_COUNT, .width = 6},
        {.title = "weights", .kind = CELL_MARK, .width = 8},    {.title = "gradients", .kind = CELL_MARK, .width = 10},
        {.title = "states", .kind = CELL_MARK, .width = 7},     {.title = "master", .kind = CELL_MARK, .width = 7},
        {.title = "sum", .kind = CELL_MARK, .width = 7},        {.title = "least", .kind = CELL_MARK, .width = 7},
        {.title = "most", .kind = CELL_MARK, .width = 7},
    };
    enum { COUNT = sizeof columns / sizeof columns[0] };
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, COUNT);
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
        {.title = "bytes", .kind = CELL_MARK, .width = 6},
        {.title = "of", .kind = CELL_WORD, .width = 27, .lead = 2},
        {.title = "optimizer", .kind = CELL_WORD, .width = 14},
        {.title = "precision", .kind = CELL_WORD, .width = 13},
        {.title = "claim", .kind = CELL_WORD, .width = 13},
        {.title = "measured", .kind = CELL_MARK, .width = 9},
        {.title = "source", .short_title = "source", .kind = CELL_WORD, .width = WIDTH_BELOW},
    };
    enum { COUNT = sizeof columns / sizeof columns[0] };
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, COUNT);
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
    const struct optimizer_law *law = law_of(subject);
    page_words(page, BLOCK_TITLE, MEDIUM_ALL, "Bytes for each parameter while the optimizer steps");
    page_say(page, BLOCK_LEAD, MEDIUM_ALL, "%d cases of training count, %d do not.", law->case_count,
             law->left_out_count);
    page_gap(page);
    groups_describe(page, law);
    page_words(page, BLOCK_NOTE, MEDIUM_ALL,
               "Medians over the cases; least and most are of the sum. Bytes are those of the highest moment of the "
               "step, by category, over the parameters of the model (tied ones once).");
    page_words(page, BLOCK_HEADING, MEDIUM_ALL, "Published claims, held against the cases that they are about");
    claims_describe(page, law);
    page_words(page, BLOCK_NOTE, MEDIUM_ALL,
               "Claims of 12 and 18 count a copy of the weights in float32 beside weights in 16 bits; a case keeps one "
               "if its column master is not 0.");
}

static void csv_row(struct text *text, const struct optimizer_group *group, const char *part,
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
    const struct optimizer_law *law = law_of(subject);
    (void)style;
    text_append(text, "optimizer,precision,part,models,cases,median,min,max\r\n");
    for (int at = 0; at < law->group_count; at++) {
        const struct optimizer_group *group = &law->groups[at];
        for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
            csv_row(text, group, optimizer_part_name((enum optimizer_part)part), &group->parts[part]);
        }
        csv_row(text, group, "sum", &group->all);
    }
}

static struct json *spread_json(const struct byte_spread *spread)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "median", json_real_new(spread->median)) &&
                json_set(object, "min", json_real_new(spread->low)) &&
                json_set(object, "max", json_real_new(spread->high));
    return json_made(object, made);
}

static struct json *group_json(const struct optimizer_group *group)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "optimizer", json_string_new(group->optimizer)) &&
                json_set(object, "precision", json_string_new(group->precision)) &&
                json_set(object, "models", json_integer_new(group->model_count)) &&
                json_set(object, "cases", json_integer_new(group->case_count));
    for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
        made =
            made && json_set(object, optimizer_part_name((enum optimizer_part)part), spread_json(&group->parts[part]));
    }
    made = made && json_set(object, "sum", spread_json(&group->all));
    return json_made(object, made);
}

static struct json *claim_json(const struct optimizer_law *law, const struct optimizer_claim *claim)
{
    double measured;
    enum claim_verdict verdict = optimizer_claim_judge(law, claim, &measured);
    struct json *object = json_object_new();
    bool made = json_set(object, "bytes", json_real_new(claim->bytes)) &&
                json_set(object, "of", json_string_new(claim_scope_words(claim->scope))) &&
                json_set(object, "optimizer", json_string_new(claim->optimizer)) &&
                json_set(object, "precision", json_string_new(claim->precision)) &&
                json_set(object, "source", json_string_new(claim->source)) &&
                json_set(object, "verdict", json_string_new(claim_verdict_word(verdict))) &&
                json_set(object, "measured", json_real_new(measured));
    return json_made(object, made);
}

struct json *optimizer_law_json(const struct optimizer_law *law, const char *version)
{
    struct json *document = law_document_new("optimizer", version);
    struct json *groups = json_array_new(), *claims = json_array_new();
    const struct optimizer_claim *claim;
    bool made = true;
    for (int at = 0; at < law->group_count; at++) {
        made = made && json_append(groups, group_json(&law->groups[at]));
    }
    for (int at = 0; (claim = optimizer_claim_at(at)) != NULL; at++) {
        made = made && json_append(claims, claim_json(law, claim));
    }
    groups = json_made(groups, made);
    claims = json_made(claims, made);
    made = json_set(document, "cases", json_integer_new(law->case_count)) &&
           json_set(document, "left_out", json_integer_new(law->left_out_count)) &&
           json_set(document, "groups", groups) && json_set(document, "claims", claims);
    return json_made(document, made);
}

static struct json *optimizer_value(const void *subject)
{
    return optimizer_law_json(law_of(subject), ((const struct law_subject *)subject)->version);
}

const struct page_kind optimizer_page = {
    .name = "a law",
    .what = "a law",
    .describe = optimizer_describe,
    .own = {[REPORT_CSV] = optimizer_csv_write},
    .value = optimizer_value,
};
