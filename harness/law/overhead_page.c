/* Overhead page: the law of the overhead for readers of documents and screens. Its figures are those of the lines that
 * a terminal has (overhead_text.c, overhead_rule_text.c), in tables that can be taken over. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/law/law_page.h"
#include "harness/law/overhead_rule.h"
#include "harness/law/residual_plot.h"

#define RULE_FACTOR 1.2

static const char *level_words(enum overhead_level level)
{
    return level == OVERHEAD_ALLOCATED ? "without" : "with";
}

/* ---- errors ---- */

static void forms_describe(struct page *page, const struct overhead_law *law)
{
    static const struct page_column columns[] = {{.title = "context", .kind = CELL_WORD},
                                                 {.title = "form", .kind = CELL_WORD},
                                                 {.title = "what it says", .kind = CELL_WORD},
                                                 SUMMARY_COLUMNS};
    static const struct page_column beside_columns[] = {{.title = "form", .kind = CELL_WORD}, SUMMARY_COLUMNS};
    struct cell cells[3 + SUMMARY_CELLS];
    page_words(page, BLOCK_HEADING, MEDIA_READ, "Errors of the forms");
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 3 + SUMMARY_CELLS);
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        for (int form = 0; form < FORM_COUNT; form++) {
            const struct error_summary *summary = &law->summary[level][form];
            if (summary->count > 0) {
                cells[0] = cell_word(level_words((enum overhead_level)level));
                cells[1] = cell_word(overhead_form_key((enum overhead_form)form));
                cells[2] = cell_word(overhead_form_words((enum overhead_form)form));
                summary_cells_fill(summary, cells + 3);
                page_row_add(page, table, cells);
            }
        }
    }
    page_say(
        page, BLOCK_NOTE, MEDIA_READ,
        "Errors are (predicted - measured) / measured, each of a model that was left out of the fit; bias is their "
        "median with its sign, under the share that was predicted too small. Below %d cases there is no p99.",
        P99_CASES_MINIMUM);
    page_words(page, BLOCK_SUBHEADING, MEDIA_READ,
               "The same, without the context, relative to what is beside the weights (peak - weights)");
    table = page_table_add(page, MEDIA_READ, beside_columns, 1 + SUMMARY_CELLS);
    for (int form = 0; form < FORM_REPLAYED; form++) {
        cells[0] = cell_word(overhead_form_key((enum overhead_form)form));
        summary_cells_fill(&law->beside[form], cells + 1);
        page_row_add(page, table, cells);
    }
}

/* ---- the context ---- */

static struct cell interval_cell(struct page *page, struct interval interval, double unit, int digits)
{
    struct text word = {0};
    if (!interval.is_known) {
        return (struct cell){.known = false};
    }
    text_format(&word, "%.*f to %.*f", digits, interval.low / unit, digits, interval.high / unit);
    return (struct cell){.known = true, .word = page_word_move(page, &word)};
}

static void contexts_describe(struct page *page, const struct overhead_law *law)
{
    static const struct page_column columns[] = {{.title = "device", .kind = CELL_WORD},
                                                 {.title = "program", .kind = CELL_WORD},
                                                 {.title = "mode", .kind = CELL_WORD},
                                                 {.title = "context, MiB", .kind = CELL_MARK},
                                                 {.title = "interval", .kind = CELL_MARK},
                                                 {.title = "models", .kind = CELL_COUNT},
                                                 SUMMARY_COLUMNS};
    struct cell cells[6 + SUMMARY_CELLS];
    if (law->context_count == 0) {
        return;
    }
    page_words(page, BLOCK_HEADING, MEDIA_READ, "The context: footprint = the segments that replay has + a context");
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 6 + SUMMARY_CELLS);
    for (int at = 0; at < law->context_count; at++) {
        const struct overhead_context *context = &law->contexts[at];
        cells[0] = cell_word(context->target);
        cells[1] = cell_word(context->program);
        cells[2] = cell_word(context->mode);
        cells[3] = law_figure_cell(page, context->bytes / 1048576.0, 2);
        cells[4] = interval_cell(page, context->spread, 1048576.0, 2);
        cells[5] = cell_count(context->model_count);
        summary_cells_fill(&context->errors, cells + 6);
        cells[6] = cell_count(context->case_count);
        page_row_add(page, table, cells);
    }
    if (law->unreplayed_count > 0) {
        page_say(page, BLOCK_TEXT, MEDIA_READ, "Left out: %d cases with a footprint whose segments no replay has told.",
                 law->unreplayed_count);
    }
}

static void termless_describe(struct page *page, const struct overhead_law *law)
{
    static const struct page_column columns[] = {{.title = "kind", .kind = CELL_WORD},
                                                 {.title = "device", .kind = CELL_WORD},
                                                 {.title = "program", .kind = CELL_WORD},
                                                 {.title = "models", .kind = CELL_COUNT},
                                                 SUMMARY_COLUMNS};
    struct page_table *table = NULL;
    struct cell cells[4 + SUMMARY_CELLS];
    for (int at = 0; at < law->kind_count; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        if (kind->has_terms || kind->replayed.count == 0) {
            continue;
        }
        if (table == NULL) {
            page_words(page, BLOCK_SUBHEADING, MEDIA_READ, "Kinds that the moments have no terms for, replayed");
            table = page_table_add(page, MEDIA_READ, columns, 4 + SUMMARY_CELLS);
        }
        cells[0] = cell_word(kind->kind);
        cells[1] = cell_word(kind->target);
        cells[2] = cell_word(kind->program);
        cells[3] = cell_count(kind->model_count);
        summary_cells_fill(&kind->replayed, cells + 4);
        page_row_add(page, table, cells);
    }
}

static const char *share_word(struct page *page, const struct overhead_held *held)
{
    struct text word = {0};
    if (isinf(held->low)) {
        text_format(&word, "below %.0f %%", 100.0 * held->high);
    } else if (isinf(held->high)) {
        text_format(&word, "from %.0f %%", 100.0 * held->low);
    } else {
        text_format(&word, "%.0f to %.0f %%", 100.0 * held->low, 100.0 * held->high);
    }
    return page_word_move(page, &word);
}

static void held_describe(struct page *page, const struct overhead_law *law)
{
    static const struct page_column columns[] = {{.title = "held beside tensors", .kind = CELL_WORD},
                                                 SUMMARY_COLUMNS,
                                                 {.title = "meets the goal", .kind = CELL_FLAG}};
    struct overhead_held held[HELD_COUNT];
    struct cell cells[2 + SUMMARY_CELLS];
    if (law->summary[OVERHEAD_FOOTPRINT][FORM_REPLAYED].count == 0) {
        return;
    }
    page->failed = page->failed || overhead_held_make(law, held, NULL) != STATUS_OK;
    page_words(page, BLOCK_HEADING, MEDIA_READ, "The structural form with the context, by what segments hold");
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 2 + SUMMARY_CELLS);
    for (int row = 0; row < HELD_COUNT && !page->failed; row++) {
        bool met = overhead_goal_is_met(&held[row].errors);
        cells[0] = cell_word(share_word(page, &held[row]));
        summary_cells_fill(&held[row].errors, cells + 1);
        cells[1 + SUMMARY_CELLS] = cell_flag(held[row].errors.count > 0 ? &met : NULL);
        page_row_add(page, table, cells);
    }
    page_say(
        page, BLOCK_NOTE, MEDIA_READ,
        "What the allocator's segments hold beside the tensors of the peak, as a share of the footprint. The goal: "
        "a median of at most %.0f %%, and a p99, of few cases the worst, of at most %.0f %%.",
        100.0 * OVERHEAD_GOAL_MEDIAN, 100.0 * OVERHEAD_GOAL_P99);
}

/* ---- the rule ---- */

static void count_row_add(struct page *page, struct page_table *table, const char *name, const struct rule_count *count)
{
    const struct cell cells[] = {
        cell_word(name),
        cell_count(count->count),
        (struct cell){.known = count->count > 0, .number = count->too_little, .whole = count->count},
        (struct cell){.known = count->count > 0,
                      .number = count->count - count->too_little - count->wasteful,
                      .whole = count->count},
        (struct cell){.known = count->count > 0, .number = count->wasteful, .whole = count->count},
    };
    page_row_add(page, table, cells);
}

static const struct page_column count_columns[] = {{.title = "cases of", .kind = CELL_WORD},
                                                   {.title = "cases", .kind = CELL_COUNT},
                                                   {.title = "too little", .kind = CELL_PERCENT},
                                                   {.title = "close", .kind = CELL_PERCENT},
                                                   {.title = "wasteful", .kind = CELL_PERCENT}};

/* "too little / wasteful" in %; a column for each length. */
static void grid_describe(struct page *page, const struct overhead_verdict *verdict)
{
    struct page_column columns[1 + RULE_GRID_MAXIMUM] = {{.title = "batch", .kind = CELL_COUNT}};
    for (int seq = 0; seq < verdict->seq_count; seq++) {
        struct text title = {0};
        text_format(&title, "s%" PRId64, verdict->seqs[seq]);
        columns[1 + seq] = (struct page_column){.title = page_word_move(page, &title), .kind = CELL_MARK};
    }
    page_words(page, BLOCK_SUBHEADING, MEDIA_READ,
               "Too little / wasteful in %, by batch and sequence (text, all kinds)");
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 1 + verdict->seq_count);
    for (int batch = 0; batch < verdict->batch_count; batch++) {
        struct cell cells[1 + RULE_GRID_MAXIMUM] = {cell_count(verdict->batches[batch])};
        for (int seq = 0; seq < verdict->seq_count; seq++) {
            const struct rule_count *count = &verdict->grid[batch][seq];
            if (count->count > 0) {
                struct text word = {0};
                text_format(&word, "%.0f / %.0f", 100.0 * count->too_little / count->count,
                            100.0 * count->wasteful / count->count);
                cells[1 + seq] = (struct cell){.known = true, .word = page_word_move(page, &word)};
            }
        }
        page_row_add(page, table, cells);
    }
}

static void rule_describe(struct page *page, const struct overhead_law *law)
{
    struct overhead_verdict verdict;
    overhead_verdict_make(law, &verdict);
    page_say(page, BLOCK_HEADING, MEDIA_READ, "%.1f x weights is %s", RULE_FACTOR, overhead_verdict_words(&verdict));
    struct page_table *table = page_table_add(page, MEDIA_READ, count_columns, 5);
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        count_row_add(page, table, level == OVERHEAD_ALLOCATED ? "all, without the context" : "all, with the context",
                      &verdict.all[level]);
    }
    for (int at = 0; at < law->kind_count; at++) {
        const struct rule_count count = overhead_group_count(law, &law->kinds[at], OVERHEAD_ALLOCATED);
        struct text name = {0};
        text_format(&name, "%s, %s (%s)", law->kinds[at].kind, law->kinds[at].target, law->kinds[at].program);
        count_row_add(page, table, page_word_move(page, &name), &count);
    }
    page_words(page, BLOCK_NOTE, MEDIA_READ,
               "Too little: the peak is above 1.2 x weights. Wasteful: 1.2 x weights is more than 1.1 x the peak. The "
               "shares are of the cases that were measured here, with a law or without, and not of all uses. Kinds are "
               "counted without the context.");
    grid_describe(page, &verdict);
}

/* ---- coefficients ---- */

static void simple_describe(struct page *page, const struct overhead_law *law)
{
    static const struct page_column columns[] = {{.title = "context", .kind = CELL_WORD},
                                                 {.title = "form", .kind = CELL_WORD},
                                                 {.title = "coefficient", .kind = CELL_MARK},
                                                 {.title = "interval", .kind = CELL_MARK},
                                                 {.title = "times", .kind = CELL_WORD}};
    static const char *const times[AFFINE_COUNT] = {"MiB", "weights", "T H e"};
    page_words(page, BLOCK_HEADING, MEDIA_READ, "Fitted over all kinds");
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 5);
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        for (int form = FORM_CONSTANT; form <= FORM_AFFINE && law->summary[level][form].count > 0; form++) {
            const struct overhead_simple *simple = &law->simple[level][form];
            int count = form == FORM_AFFINE ? AFFINE_COUNT : 1;
            for (int at = 0; at < count; at++) {
                struct cell cells[] = {cell_word(level_words((enum overhead_level)level)),
                                       cell_word(overhead_form_key((enum overhead_form)form)),
                                       law_figure_cell(page, simple->coefficients[at], 3),
                                       interval_cell(page, simple->spread[at], 1.0, 3),
                                       cell_word(count == 1 ? times[1] : times[at])};
                cells[2].after = simple->is_told[at] ? NULL : "*";
                page_row_add(page, table, cells);
            }
        }
    }
}

static void moments_describe(struct page *page)
{
    page_words(page, BLOCK_HEADING, MEDIA_READ, "The structural form");
    page_words(page, BLOCK_TEXT, MEDIA_READ,
               "Peak = weights + what the allocator rounds up + the highest of its moments:");
    for (int moment = 0; moment < MOMENT_COUNT; moment++) {
        const struct moment_terms *terms = overhead_moment_terms((enum overhead_moment)moment);
        struct text line = {0};
        text_format(&line, "%s: ", overhead_moment_name((enum overhead_moment)moment));
        for (int at = 0; at < terms->count; at++) {
            enum overhead_term term = (enum overhead_term)terms->terms[at];
            text_format(&line, "%s%s %s", at > 0 ? " + " : "", overhead_term_symbol(term), overhead_term_unit(term));
        }
        page_words_move(page, BLOCK_ITEM, MEDIA_READ, &line);
    }
    page_words(
        page, BLOCK_NOTE, MEDIA_READ,
        "B batch, S sequence, T = B S, N = B (S + new tokens), e bytes of a number, H hidden size, A width of all "
        "query heads, F width of the feed-forward, V vocabulary, h heads, C = 2 layers x width of all key heads; "
        "tokens are B S in the prompt and N in decoding. f, s, t and r count if attention is eager, t in 16 bits "
        "alone. A static cache is as long as N from the beginning, and is not copied (l).");
}

static void glance_describe(struct page *page, const struct overhead_law *law)
{
    struct page_column columns[3 + TERM_COUNT + 4] = {{.title = "kind", .kind = CELL_WORD},
                                                      {.title = "device", .kind = CELL_WORD},
                                                      {.title = "program", .kind = CELL_WORD}};
    for (int term = 0; term < TERM_COUNT; term++) {
        columns[3 + term] =
            (struct page_column){.title = overhead_term_symbol((enum overhead_term)term), .kind = CELL_MARK};
    }
    columns[3 + TERM_COUNT] = (struct page_column){.title = "models", .kind = CELL_COUNT};
    columns[4 + TERM_COUNT] = (struct page_column){.title = "cases", .kind = CELL_COUNT};
    columns[5 + TERM_COUNT] = (struct page_column){.title = "median", .kind = CELL_MAGNITUDE};
    columns[6 + TERM_COUNT] = (struct page_column){.title = "worst", .kind = CELL_MAGNITUDE};
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 7 + TERM_COUNT);
    for (int index = 0; index < law->kind_count; index++) {
        const struct overhead_group *kind = &law->kinds[index];
        const struct error_summary *errors = &kind->errors[OVERHEAD_ALLOCATED];
        struct cell cells[3 + TERM_COUNT + 4] = {cell_word(kind->kind), cell_word(kind->target),
                                                 cell_word(kind->program)};
        for (int term = 0; term < TERM_COUNT; term++) {
            cells[3 + term] = kind->fit.is_seen[term] ? law_figure_cell(page, kind->fit.coefficients[term], 2)
                                                      : (struct cell){.known = false};
            cells[3 + term].after = kind->fit.is_dependent[term] ? "*" : NULL;
        }
        cells[3 + TERM_COUNT] = cell_count(kind->model_count);
        cells[4 + TERM_COUNT] = cell_count(kind->point_count);
        cells[5 + TERM_COUNT] = cell_error(errors->count > 0, errors->median);
        cells[6 + TERM_COUNT] = cell_error(errors->count > 0, errors->worst);
        if (kind->counts) {
            page_row_add(page, table, cells);
        }
    }
}

static void unjudged_describe(struct page *page, const struct overhead_law *law)
{
    static const struct page_column columns[] = {{.title = "kind", .kind = CELL_WORD},
                                                 {.title = "device", .kind = CELL_WORD},
                                                 {.title = "program", .kind = CELL_WORD},
                                                 {.title = "models", .kind = CELL_COUNT},
                                                 {.title = "cases", .kind = CELL_COUNT},
                                                 {.title = "law of", .kind = CELL_WORD},
                                                 {.title = "workspaces, MiB", .kind = CELL_MARK},
                                                 {.title = "median", .kind = CELL_MAGNITUDE},
                                                 {.title = "worst", .kind = CELL_MAGNITUDE},
                                                 {.title = "fits", .kind = CELL_FLAG}};
    struct page_table *table = NULL;
    for (int at = 0; at < law->kind_count; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        bool borrows = kind->donor != NULL, fits = overhead_loan_fits(kind);
        if (kind->counts || !kind->has_terms) {
            continue;
        }
        if (table == NULL) {
            page_words(page, BLOCK_SUBHEADING, MEDIA_READ, "Kinds with too few models, by the law of another device");
            table = page_table_add(page, MEDIA_READ, columns, 10);
        }
        const struct cell cells[] = {cell_word(kind->kind),
                                     cell_word(kind->target),
                                     cell_word(kind->program),
                                     cell_count(kind->model_count),
                                     cell_count(kind->point_count),
                                     cell_word(borrows ? kind->donor->target : NULL),
                                     law_figure_cell(page, borrows ? kind->workspace_bytes / 1048576.0 : NAN, 2),
                                     cell_error(kind->borrowed.count > 0, kind->borrowed.median),
                                     cell_error(kind->borrowed.count > 0, kind->borrowed.worst),
                                     cell_flag(borrows ? &fits : NULL)};
        page_row_add(page, table, cells);
    }
}

void overhead_describe(const struct overhead_law *law, struct page *page)
{
    struct text counted = {0};
    page_words(page, BLOCK_TITLE, MEDIA_READ, "Law of the overhead of inference");
    page_say(page, BLOCK_LEAD, MEDIA_READ, "%d cases of %d models of %d kinds.", law->counted_point_count,
             law->counted_model_count, law->counted_kind_count);
    struct overhead_range range = overhead_range_of(law);
    law_points_append(&counted, law->points);
    if (law->points->count > law->counted_point_count) {
        text_format(&counted,
                    ". %d of them are of kinds with too few models or without terms: they have no law of their "
                    "own, and stand in the rule of 20 %% and in the contexts",
                    law->points->count - law->counted_point_count);
    }
    text_append(&counted, ". Range: ");
    overhead_range_append(&counted, &range, " ");
    if (law->counted_cluster_count < law->counted_model_count) {
        text_format(&counted, ". The models have %d size%s; what is fitted over all kinds is resampled by size",
                    law->counted_cluster_count, law->counted_cluster_count == 1 ? "" : "s");
    }
    if (law->untold_count > 0) {
        text_format(&counted,
                    ". %d cases have no error: without their own model nothing tells a coefficient that they need",
                    law->untold_count);
    }
    if (law->resample_count > 0) {
        text_format(&counted, ". Intervals: 95 of 100 of %d resamples of the models, seed %" PRIu64 ".",
                    law->resample_count, law->seed);
    } else {
        text_append(&counted, ". There are no intervals, because nothing was resampled.");
    }
    page_words_move(page, BLOCK_TEXT, MEDIA_READ, &counted);
    forms_describe(page, law);
    page_figure(page, MEDIA_READ, OVERHEAD_LAW_PLOT,
                "Residuals of the structural law by kind, and the errors of all forms", false);
    contexts_describe(page, law);
    termless_describe(page, law);
    held_describe(page, law);
    rule_describe(page, law);
    simple_describe(page, law);
    moments_describe(page);
    glance_describe(page, law);
    page_words(
        page, BLOCK_NOTE, MEDIA_READ,
        "A coefficient with * cannot be told apart from others of its row: their sum holds, neither of them alone. "
        "Intervals are in CSV and JSON, with the models and the resamples that tell each coefficient; one that fewer "
        "than three models or fewer than half of the resamples tell has none.");
    unjudged_describe(page, law);
}
