/* Side tables of searches for a batch: what each policy found, beside what was predicted, what it cost and what it
 * lost; and the tries of each. */
#include "harness/report/search_view.h"
#include "harness/report/side_tables.h"

static bool search_is_there(const struct case_view *view)
{
    return view->search != NULL;
}

enum { POLICY, START, FOUND, PREDICTED, TRIES, SECONDS, SPEED, LOST, END, UNIT, BEST, PASS, COLUMNS };

static const struct side_column columns[] = {
    [POLICY] = {"policy", "policy", CELL_WORD, 7, false},
    [START] = {"start", "start", CELL_COUNT, 6, true},
    [FOUND] = {"found", "found", CELL_COUNT, 6, false},
    [PREDICTED] = {"predicted", "predicted", CELL_COUNT, 9, false},
    [TRIES] = {"tries", "tries", CELL_COUNT, 5, false},
    [SECONDS] = {"time", "duration_seconds", CELL_SECONDS, 8, false},
    [SPEED] = {"per second", "per_second", CELL_SPEED, 10, false},
    [LOST] = {"lost", "per_second_lost", CELL_SHARE, 7, false},
    [END] = {"ended", "end", CELL_WORD, 11, true},
    [UNIT] = {"of", "unit", CELL_WORD, 7, true},
    [BEST] = {"best", "best_per_second", CELL_SPEED, 10, true},
    [PASS] = {"as predicted", "pass", CELL_FLAG, 12, true},
};

static void search_add(const struct case_view *view, struct side_rows *rows)
{
    const struct search_view *search = view->search;
    struct side_row *row = side_row_add(rows, view, search->title);
    if (row == NULL) {
        return;
    }
    const bool failed = search->judgement == JUDGEMENT_FAIL, passed = !failed;
    struct cell *cells = row->cells;
    cells[POLICY] = cell_word(search->policy);
    cells[START] = cell_count(search->start);
    cells[FOUND] = cell_count(search->found);
    cells[PREDICTED] = cell_count(search->predicted);
    cells[PREDICTED].is_bad = failed;
    cells[TRIES] = cell_count(search->try_count);
    cells[SECONDS] = cell_real(search->seconds);
    cells[SPEED] = cell_real(search->per_second);
    cells[LOST] = cell_real(search_loss(search));
    cells[END] = cell_word(search->end);
    cells[UNIT] = cell_word(search->unit);
    cells[BEST] = cell_real(search->best_per_second > 0.0 ? search->best_per_second : -1.0);
    cells[PASS] = cell_flag(search->judgement != JUDGEMENT_NONE ? &passed : NULL);
    cells[PASS].is_bad = failed;
}

static int series_order(const struct case_view *a, const struct case_view *b)
{
    return (a->search->series > b->search->series) - (a->search->series < b->search->series);
}

const struct side_table side_searches = {
    .name = "searches",
    .title = "Searches for a batch that fits",
    .words = "What each policy found, beside the largest batch that replay says runs; per second: tokens or samples of "
             "the batch "
             "found; lost: of the best throughput of any batch tried in cases that differ in their policy alone.",
    .columns = columns,
    .column_count = COLUMNS,
    .has = search_is_there,
    .add = search_add,
    .order = series_order,
};

/* ---- tries ---- */

enum {
    TRY_POLICY,
    TRY_BATCH,
    TRY_ENDED,
    TRY_PREDICTED,
    TRY_STAGE,
    TRY_WANTED,
    TRY_SECONDS,
    TRY_CAUSE,
    TRY_RECOGNISED,
    TRY_LABEL,
    TRY_NEXT,
    TRY_COLUMNS
};

static const struct side_column try_columns[] = {
    [TRY_POLICY] = {"policy", "policy", CELL_WORD, 7, false},
    [TRY_BATCH] = {"batch", "batch", CELL_COUNT, 6, false},
    [TRY_ENDED] = {"ended", "ended", CELL_WORD, 9, false},
    [TRY_PREDICTED] = {"to run", "predicted_runs", CELL_FLAG, 6, false},
    [TRY_STAGE] = {"stage", "stage", CELL_WORD, 8, false},
    [TRY_WANTED] = {"wanted", "wanted_bytes", CELL_BYTES, 11, false},
    [TRY_SECONDS] = {"time", "seconds", CELL_SECONDS, 9, false},
    [TRY_CAUSE] = {"cause", "cause", CELL_WORD, 12, true},
    [TRY_RECOGNISED] = {"recognised", "recognised", CELL_FLAG, 10, true},
    [TRY_LABEL] = {"for", "label", CELL_WORD, 24, true},
    [TRY_NEXT] = {"next", "next", CELL_COUNT, 6, true},
};

static void tries_add(const struct case_view *view, struct side_rows *rows)
{
    for (int at = 0; at < view->search->try_count; at++) {
        const struct search_try *one = &view->search->tries[at];
        struct side_row *row = side_row_add(rows, view, view->title);
        if (row == NULL) {
            return;
        }
        struct cell *cells = row->cells;
        cells[TRY_POLICY] = cell_word(view->search->policy);
        cells[TRY_BATCH] = cell_count(one->batch);
        cells[TRY_ENDED] = cell_word(one->ended);
        cells[TRY_PREDICTED] = cell_flag(one->predicted);
        cells[TRY_PREDICTED].is_bad = one->is_off;
        cells[TRY_STAGE] = cell_word(one->stage);
        cells[TRY_WANTED] = cell_bytes(one->wanted_bytes);
        cells[TRY_SECONDS] = cell_real(one->seconds);
        cells[TRY_CAUSE] = cell_word(one->cause);
        cells[TRY_RECOGNISED] = cell_flag(one->recognised);
        cells[TRY_LABEL] = cell_word(one->label);
        cells[TRY_NEXT] = cell_count(one->next);
    }
}

static bool tries_are_there(const struct case_view *view)
{
    return view->search != NULL && view->search->try_count > 0;
}

const struct side_table side_tries = {
    .name = "tries",
    .title = "Tries of each search",
    .words = "The batches that were tried, in their order, how each ended, and whether replay says that it runs.",
    .columns = try_columns,
    .column_count = TRY_COLUMNS,
    .is_detail = true,
    .has = tries_are_there,
    .add = tries_add,
};
