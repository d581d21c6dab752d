/* Overhead page: the law for people: what it is worth on GPUs first, then its coefficients; and its rows in CSV. */
#include <math.h>

#include "harness/law/law_file.h"
#include "harness/law/law_page.h"
#include "harness/report/escape.h"

static const struct overhead_law *law_of(const void *subject)
{
    return ((const struct law_subject *)subject)->law;
}

struct cell law_figure_cell(struct page *page, double value, int digits)
{
    struct text word = {0};
    if (!isfinite(value)) {
        return (struct cell){.known = false};
    }
    text_format(&word, "%.*f", digits, value);
    return (struct cell){.known = true, .word = page_word_move(page, &word)};
}

/* ---- errors ---- */

static const struct page_column error_columns[] = {
    {.title = "|error|", .kind = CELL_WORD, .width = 24, .width_most = 60},
    {.title = "cases", .kind = CELL_COUNT, .width = 8},
    {.title = "median", .kind = CELL_MAGNITUDE, .width = 10},
    {.title = "p90", .kind = CELL_MAGNITUDE, .width = 10},
    {.title = "worst", .kind = CELL_MAGNITUDE, .width = 10},
    {.title = "too little", .kind = CELL_SHARE, .width = 12},
};

enum { ERROR_COLUMNS = sizeof error_columns / sizeof error_columns[0] };

static struct page_table *errors_table(struct page *page)
{
    return page_table_add(page, MEDIUM_ALL, error_columns, ERROR_COLUMNS);
}

static void error_row(struct page *page, struct page_table *table, const char *name,
                      const struct error_summary *summary)
{
    bool known = summary->count > 0;
    const struct cell cells[ERROR_COLUMNS] = {
        cell_word(name),
        cell_count(summary->count),
        cell_error(known, summary->median),
        cell_error(!isnan(summary->p90), summary->p90),
        cell_error(known, summary->worst),
        cell_error(known, summary->under),
    };
    page_row_add(page, table, cells);
}

static void forms_describe(struct page *page, const struct error_summary errors[FORM_COUNT])
{
    struct page_table *table = errors_table(page);
    for (int form = 0; form < FORM_COUNT; form++) {
        error_row(page, table, overhead_form_words((enum overhead_form)form), &errors[form]);
    }
}

static void tests_describe(const struct overhead_law *law, struct page *page)
{
    if (law->test_count == 0) {
        return;
    }
    page_words(page, BLOCK_HEADING, MEDIUM_ALL, "On GPUs, which nothing was fitted to");
    forms_describe(page, law->all.errors);
    page_words(page, BLOCK_SUBHEADING, MEDIUM_ALL, "The structural form by source and program");
    struct page_table *table = errors_table(page);
    for (int at = 0; at < law->test_count; at++) {
        struct text name = {0};
        text_format(&name, "%s, %s", law->tests[at].source, law->tests[at].program);
        error_row(page, table, page_word_move(page, &name), &law->tests[at].errors[FORM_STRUCTURAL]);
    }
    page_say(page, BLOCK_NOTE, MEDIUM_ALL,
             "Errors are of allocated bytes, relative to what was measured. too little: the share of the cases that "
             "were predicted below it. Of %d measurements the law has nothing to say for %d, whose kind or highest "
             "moment replay has no case of. A measurement that several sources have is in each of them, and once "
             "above.",
             law->all.case_count, law->all.untold_count);
}

static void replay_describe(const struct overhead_law *law, struct page *page)
{
    page_words(page, BLOCK_HEADING, MEDIUM_ALL, "On replay, each model left out in turn");
    forms_describe(page, law->left_out);
    page_say(page, BLOCK_NOTE, MEDIUM_ALL,
             "This says how well the law compresses replay, and nothing of GPUs. Not counted are %d cases that need a "
             "coefficient which only their own model identifies, and %d of kinds with fewer than %d models.",
             law->untold_count, law->unfit_count, MODELS_MINIMUM);
}

/* ---- coefficients ---- */

static struct cell coefficient_cell(struct page *page, const struct overhead_coefficient *one, int digits)
{
    if (one->is_seen && !one->is_identified) {
        return (struct cell){.known = true, .word = "?"};
    }
    return law_figure_cell(page, one->is_seen ? one->value : NAN, digits);
}

static void simple_rows(struct page *page, struct page_table *table, const struct overhead_simple *simple,
                        enum overhead_form form)
{
    int count = form == FORM_CONSTANT ? 1 : AFFINE_COUNT;
    for (int at = 0; at < count; at++) {
        const struct overhead_coefficient *one = &simple->terms[at];
        const struct overhead_term_words *words = overhead_affine_words(count == 1 ? 1 : at);
        struct text name = {0};
        text_format(&name, "%s, x %s", count == 1 ? "c" : words->symbol, words->unit);
        const struct cell cells[] = {
            cell_word(overhead_form_words(form)),
            cell_word(page_word_move(page, &name)),
            coefficient_cell(page, one, 3),
            law_figure_cell(page, one->interval.is_known ? one->interval.low : NAN, 3),
            law_figure_cell(page, one->interval.is_known ? one->interval.high : NAN, 3),
        };
        page_row_add(page, table, cells);
    }
}

static void simple_describe(const struct overhead_law *law, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "form", .kind = CELL_WORD, .width = 32}, {.title = "coefficient", .kind = CELL_WORD, .width = 14},
        {.title = "value", .kind = CELL_MARK, .width = 9}, {.title = "least", .kind = CELL_MARK, .width = 9},
        {.title = "most", .kind = CELL_MARK, .width = 9},
    };
    page_words(page, BLOCK_HEADING, MEDIUM_ALL, "Two forms over all kinds");
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, sizeof columns / sizeof columns[0]);
    simple_rows(page, table, &law->simple[0], FORM_CONSTANT);
    simple_rows(page, table, &law->simple[1], FORM_AFFINE);
}

static void kinds_describe(const struct overhead_law *law, struct page *page)
{
    enum { COUNT = 2 + TERM_COUNT };
    struct page_column columns[COUNT] = {
        {.title = "kind", .kind = CELL_WORD, .width = 16},
        [COUNT - 1] = {.title = "cond", .kind = CELL_MARK, .width = 6},
    };
    page_words(page, BLOCK_HEADING, MEDIUM_ALL, "The structural form: how many of each tensor are held at once");
    for (int term = 0; term < TERM_COUNT; term++) {
        columns[1 + term] = (struct page_column){
            .title = overhead_term_words((enum overhead_term)term)->symbol, .kind = CELL_MARK, .width = 6};
    }
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, COUNT);
    table->is_split = true;
    for (int at = 0; at < law->kind_count; at++) {
        const struct law_kind *kind = &law->kinds[at];
        struct cell cells[COUNT] = {cell_word(kind->kind)};
        for (int term = 0; term < TERM_COUNT; term++) {
            cells[1 + term] = coefficient_cell(page, &kind->terms[term], 2);
        }
        cells[COUNT - 1] = law_figure_cell(page, kind->condition, 1);
        page_row_add(page, table, cells);
    }
    struct text words = {0};
    const char *lead = "";
    for (int term = 0; term < TERM_COUNT; term++) {
        const struct overhead_term_words *of = overhead_term_words((enum overhead_term)term);
        text_format(&words, "%s%s x %s: %s", lead, of->symbol, of->unit, of->words);
        lead = "; ";
    }
    text_append(&words, ".");
    page_words_move(page, BLOCK_NOTE, MEDIUM_ALL, &words);
    page_words(page, BLOCK_NOTE, MEDIUM_ALL,
               "?: the cases do not identify it, because other columns say nearly the same, and its figure would mean "
               "nothing; -: no case has it. cond: the condition number of the columns, - if some are sums of others. "
               "Intervals, over the fits that leave a model out, are in CSV and JSON.");
}

static void overhead_describe(const void *subject, struct page *page)
{
    const struct overhead_law *law = law_of(subject);
    struct text claim = {0}, counts = {0};
    page_words(page, BLOCK_TITLE, MEDIUM_ALL, "What inference takes beside the weights: a law");
    overhead_claim_append(&claim, law);
    text_append(&claim, ".");
    page_words_move(page, BLOCK_LEAD, MEDIUM_ALL, &claim);
    law_points_append(&counts, law->points);
    text_append(&counts, ".");
    page_words_move(page, BLOCK_TEXT, MEDIUM_ALL, &counts);
    tests_describe(law, page);
    replay_describe(law, page);
    simple_describe(law, page);
    kinds_describe(law, page);
    page_say(page, BLOCK_NOTE, MEDIUM_ALL, "Fitted by assay %s.", ((const struct law_subject *)subject)->version);
}

/* ---- CSV ---- */

static void csv_number(struct text *text, double value)
{
    text_append(text, ",");
    if (isfinite(value)) {
        text_format(text, "%.6g", value);
    }
}

static void csv_lead(struct text *text, const char *part, const char *of, const char *program, const char *name,
                     const char *times)
{
    const char *const words[] = {part, of, program, name, times};
    for (int at = 0; at < 5; at++) {
        text_append(text, at > 0 ? "," : "");
        csv_append(text, words[at]);
    }
}

static void csv_errors(struct text *text, const char *part, const char *of, const char *program, const char *form,
                       const struct error_summary *summary)
{
    csv_lead(text, part, of, program, form, "");
    text_format(text, ",,,,,%d", summary->count);
    csv_number(text, summary->median);
    csv_number(text, summary->p90);
    csv_number(text, summary->worst);
    csv_number(text, summary->under);
    text_append(text, "\r\n");
}

static void csv_coefficient(struct text *text, const char *of, const char *name, const char *times,
                            const struct overhead_coefficient *one)
{
    csv_lead(text, "coefficient", of, "", name, times);
    csv_number(text, one->is_identified ? one->value : NAN);
    csv_number(text, one->interval.is_known ? one->interval.low : NAN);
    csv_number(text, one->interval.is_known ? one->interval.high : NAN);
    text_format(text, ",%s,,,,,\r\n", one->is_identified ? "yes" : "no");
}

static void csv_forms(struct text *text, const char *part, const char *of, const char *program,
                      const struct error_summary errors[FORM_COUNT])
{
    for (int form = 0; form < FORM_COUNT; form++) {
        csv_errors(text, part, of, program, overhead_form_key((enum overhead_form)form), &errors[form]);
    }
}

static void csv_kind(struct text *text, const struct law_kind *kind)
{
    csv_errors(text, "tested", kind->kind, "", overhead_form_key(FORM_STRUCTURAL), &kind->tested);
    csv_errors(text, "replay", kind->kind, "", overhead_form_key(FORM_STRUCTURAL), &kind->left_out);
    for (int term = 0; term < TERM_COUNT; term++) {
        const struct overhead_term_words *words = overhead_term_words((enum overhead_term)term);
        if (kind->terms[term].is_seen) {
            csv_coefficient(text, kind->kind, words->key, words->unit, &kind->terms[term]);
        }
    }
}

static void overhead_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct overhead_law *law = law_of(subject);
    (void)style;
    text_append(text, "part,of,program,name,times,value,low,high,identified,cases,median,p90,worst,under\r\n");
    csv_forms(text, "tested", "", "", law->all.errors);
    for (int at = 0; at < law->test_count; at++) {
        csv_forms(text, "tested", law->tests[at].source, law->tests[at].program, law->tests[at].errors);
    }
    csv_forms(text, "replay", "", "", law->left_out);
    for (int at = -1; at < AFFINE_COUNT; at++) { /* of the constant form, then of the affine one */
        const struct overhead_term_words *words = overhead_affine_words(at < 0 ? 1 : at);
        csv_coefficient(text, overhead_form_key(at < 0 ? FORM_CONSTANT : FORM_AFFINE), words->key, words->unit,
                        at < 0 ? &law->simple[0].terms[0] : &law->simple[1].terms[at]);
    }
    for (int at = 0; at < law->kind_count; at++) {
        csv_kind(text, &law->kinds[at]);
    }
}

static struct json *overhead_value(const void *subject)
{
    return overhead_law_json(law_of(subject), ((const struct law_subject *)subject)->version);
}

const struct page_kind overhead_page = {
    .name = "a law",
    .what = "a law",
    .describe = overhead_describe,
    .own = {[REPORT_CSV] = overhead_csv_write},
    .value = overhead_value,
};
