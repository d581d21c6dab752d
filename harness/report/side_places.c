/* Side tables of placed cases: how far the prediction of each place was off, and in which stage; what was kept free for
 * the largest layer and how much of it was needed; the peaks of each stage. */
#include <string.h>

#include "harness/record/quantity.h"
#include "harness/report/placed_view.h"
#include "harness/report/side_tables.h"

static bool places_are_there(const struct case_view *view)
{
    return view->placed != NULL && view->placed->place_count > 0;
}

static bool is_oom(const struct case_view *view, const struct place_view *place)
{
    return view->placed->oom_place != NULL && strcmp(view->placed->oom_place, place->name) == 0;
}

/* ---- places ---- */

enum {
    PLACE,
    PLACE_BUDGET,
    PLACE_PREDICTED,
    PLACE_MEASURED,
    PLACE_OFF,
    PLACE_ERROR,
    PLACE_STAGE,
    PLACE_QUANTITY,
    PLACE_SPEC,
    PLACE_COLUMNS
};

static const struct side_column place_columns[] = {
    [PLACE] = {"place", "place", CELL_WORD, 5, false},
    [PLACE_BUDGET] = {"budget", "budget_bytes", CELL_BYTES, 11, true},
    [PLACE_PREDICTED] = {"predicted", "predicted_bytes", CELL_BYTES, 11, false},
    [PLACE_MEASURED] = {"found", "measured_bytes", CELL_BYTES, 11, false},
    [PLACE_OFF] = {"off by", "signed_error_bytes", CELL_DIFFERENCE, 12, false},
    [PLACE_ERROR] = {"error", "signed_error", CELL_ERROR, 9, true},
    [PLACE_STAGE] = {"off in", "stage_off", CELL_WORD, 8, false},
    [PLACE_QUANTITY] = {"of", "quantity", CELL_QUANTITY, 14, true},
    [PLACE_SPEC] = {"device", "spec", CELL_WORD, 26, true},
};

static void place_cells(const struct case_view *view, const struct place_view *place, struct side_row *row)
{
    const struct place_figures figures = place_figures_make(view, place);
    struct cell *cells = row->cells;
    cells[PLACE] = cell_word(place->name);
    cells[PLACE_SPEC] = cell_word(place->spec);
    cells[PLACE_QUANTITY] = cell_word(figures.quantity);
    cells[PLACE_BUDGET] = cell_bytes(place->budget_bytes);
    cells[PLACE_PREDICTED] = cell_bytes(figures.predicted_bytes);
    cells[PLACE_MEASURED] = cell_bytes(figures.measured_bytes);
    cells[PLACE_OFF] = cell_difference(figures.predicted_bytes, figures.measured_bytes);
    bool known = cells[PLACE_OFF].known && figures.measured_bytes > 0;
    cells[PLACE_ERROR] =
        cell_error(known, known ? (double)cells[PLACE_OFF].number / (double)figures.measured_bytes : 0.0);
    cells[PLACE_ERROR].is_bad = cells[PLACE_OFF].is_bad = figures.judgement == JUDGEMENT_FAIL;
    cells[PLACE_STAGE] = cell_word(figures.stage < STAGE_COUNT ? report_stage_name(figures.stage) : NULL);
    row->is_idle = place->placed_bytes == 0 && figures.predicted_bytes == 0 && figures.measured_bytes == 0;
    if (is_oom(view, place)) {
        cells[PLACE_MEASURED] = (struct cell){.word = "oom", .is_bad = true};
    }
}

static void places_add(const struct case_view *view, struct side_rows *rows)
{
    for (int at = 0; at < view->placed->place_count; at++) {
        struct side_row *row = side_row_add(rows, view, view->title);
        if (row != NULL) {
            place_cells(view, &view->placed->places[at], row);
        }
    }
}

const struct side_table side_places = {
    .name = "places",
    .title = "Places: predicted and found",
    .words = "The peak of each place of a placed case: what replay predicted, what was found, and the stage in which "
             "both are "
             "furthest apart.",
    .columns = place_columns,
    .column_count = PLACE_COLUMNS,
    .has = places_are_there,
    .add = places_add,
};

/* ---- what was kept free ---- */

enum { KEPT_PLACE, KEPT_BUDGET, KEPT_PLACED, KEPT, KEPT_NEEDED, KEPT_WASTED, KEPT_SHARE, KEPT_COLUMNS };

static const struct side_column kept_columns[] = {
    [KEPT_PLACE] = {"place", "place", CELL_WORD, 5, false},
    [KEPT_BUDGET] = {"budget", "budget_bytes", CELL_BYTES, 11, true},
    [KEPT_PLACED] = {"placed", "placed_bytes", CELL_BYTES, 11, false},
    [KEPT] = {"kept free", "kept_bytes", CELL_BYTES, 11, false},
    [KEPT_NEEDED] = {"needed", "needed_bytes", CELL_BYTES, 11, false},
    [KEPT_WASTED] = {"wasted", "wasted_bytes", CELL_BYTES, 11, false},
    [KEPT_SHARE] = {"of kept", "wasted", CELL_SHARE, 9, true},
};

static bool is_kept(const struct place_view *place)
{
    return place->kept_bytes != BYTES_UNKNOWN || place->needed_bytes != BYTES_UNKNOWN;
}

static bool kept_is_there(const struct case_view *view)
{
    int at = 0;
    while (view->placed != NULL && at < view->placed->place_count && !is_kept(&view->placed->places[at])) {
        at++;
    }
    return view->placed != NULL && at < view->placed->place_count;
}

static void kept_cells(const struct place_view *place, struct cell *cells)
{
    cells[KEPT_PLACE] = cell_word(place->name);
    cells[KEPT_BUDGET] = cell_bytes(place->budget_bytes);
    cells[KEPT_PLACED] = cell_bytes(place->placed_bytes);
    cells[KEPT] = cell_bytes(place->kept_bytes);
    cells[KEPT_NEEDED] = cell_bytes(place->needed_bytes);
    cells[KEPT_WASTED] = cell_difference(place->kept_bytes, place->needed_bytes);
    bool known = cells[KEPT_WASTED].known && place->kept_bytes > 0;
    cells[KEPT_SHARE] = cell_error(known, known ? (double)cells[KEPT_WASTED].number / (double)place->kept_bytes : 0.0);
}

static void kept_add(const struct case_view *view, struct side_rows *rows)
{
    for (int at = 0; at < view->placed->place_count; at++) {
        const struct place_view *place = &view->placed->places[at];
        struct side_row *row = is_kept(place) ? side_row_add(rows, view, view->title) : NULL;
        if (row != NULL) {
            kept_cells(place, row->cells);
        }
    }
}

/* "What was kept free was enough on 1 of 2 places." */
static void kept_note(const struct report *report, struct text *text)
{
    int enough_count = 0, short_count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct placed_view *placed = report->cases[index].placed;
        for (int at = 0; placed != NULL && at < placed->place_count; at++) {
            int64_t kept_bytes = placed->places[at].kept_bytes, needed_bytes = placed->places[at].needed_bytes;
            if (kept_bytes != BYTES_UNKNOWN && needed_bytes != BYTES_UNKNOWN) {
                *(kept_bytes >= needed_bytes ? &enough_count : &short_count) += 1;
            }
        }
    }
    if (enough_count + short_count > 0) {
        text_format(text, "What was kept free was enough on %d of %d places.", enough_count,
                    enough_count + short_count);
    }
}

const struct side_table side_kept = {
    .name = "kept",
    .title = "Room kept free for the largest layer",
    .words = "What the planner kept free on a place, and how much of it the run needed beside what is placed there. "
             "Wasted: kept "
             "less needed; below 0 more was needed than was kept.",
    .columns = kept_columns,
    .column_count = KEPT_COLUMNS,
    .has = kept_is_there,
    .add = kept_add,
    .note = kept_note,
};

/* ---- stages ---- */

enum { STAGE_PLACE, STAGE_NAME, STAGE_FIGURES, STAGE_PROCESS = STAGE_FIGURES + 2 * LEVEL_COUNTED_COUNT, STAGE_COLUMNS };

/* Of each level what was found, and what was predicted. If there is room for one level, it is the allocated one. */
#define STAGE_LEVEL(name, stem, ...)                                                                                   \
    {#stem, LEVEL_PEAK_KEY(stem), CELL_BYTES, 11, LEVEL_##name != LEVEL_ALLOCATED},                                    \
        {"predicted", "predicted_" LEVEL_PEAK_KEY(stem), CELL_BYTES, 11, LEVEL_##name != LEVEL_ALLOCATED},

static const struct side_column stage_columns[] = {
    [STAGE_PLACE] = {"place", "place", CELL_WORD, 5, false},
    [STAGE_NAME] = {"peak in", "stage", CELL_WORD, 8, false},
    LEVEL_COUNTED_TABLE(STAGE_LEVEL) /* requested_bytes_peak, predicted_requested_bytes_peak, ... */
    {"process", LEVEL_PEAK_KEY(process), CELL_BYTES, 11, true},
};

static void stage_cells(const struct stage_view *measured, const struct stage_view *predicted, struct cell *cells)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        struct cell *found = &cells[STAGE_FIGURES + 2 * level];
        found[0] = cell_bytes(measured->peak_bytes[level]);
        found[1] = cell_bytes(predicted->peak_bytes[level]);
        found[1].is_bad = found[0].known && found[1].known && found[0].number != found[1].number;
    }
    cells[STAGE_PROCESS] = cell_bytes(measured->peak_bytes[LEVEL_PROCESS]);
}

static void place_stages_add(const struct case_view *view, const struct place_view *place, struct side_rows *rows)
{
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = place->measured.stages[stage];
        const struct stage_view *predicted = place->predicted.stages[stage];
        struct side_row *row = measured->present || predicted->present ? side_row_add(rows, view, view->title) : NULL;
        if (row != NULL) {
            row->cells[STAGE_PLACE] = cell_word(place->name);
            row->cells[STAGE_NAME] = cell_word(report_stage_name(stage));
            stage_cells(measured, predicted, row->cells);
        }
    }
}

static void stages_add(const struct case_view *view, struct side_rows *rows)
{
    for (int at = 0; at < view->placed->place_count; at++) {
        place_stages_add(view, &view->placed->places[at], rows);
    }
}

const struct side_table side_stages = {
    .name = "stages",
    .title = "Places, stage by stage",
    .words = "The peak of each level on each place in each stage, found and predicted.",
    .columns = stage_columns,
    .column_count = STAGE_COLUMNS,
    .is_detail = true,
    .has = places_are_there,
    .add = stages_add,
};
