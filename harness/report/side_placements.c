/* Side table of placements: how each strategy spread a model over the devices that it was given. */
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/placed_view.h"
#include "harness/report/side_tables.h"

enum { BUDGETS, ON_GPUS, ELSEWHERE, ACCELERATE_RUNS, STRATEGY, MODULES, RAISED, COLUMNS };

static const struct side_column columns[] = {
    [BUDGETS] = {"place", "place", CELL_WORD, 34, false},
    [ON_GPUS] = {"on GPUs", "gpu_placed_bytes", CELL_BYTES, 10, false},
    [ELSEWHERE] = {"elsewhere", "other_placed_bytes", CELL_BYTES, 10, false},
    [ACCELERATE_RUNS] = {"accelerate runs", "accelerate_runs", CELL_FLAG, 15, true},
    [STRATEGY] = {"strategy", "strategy", CELL_WORD, 14, true},
    [MODULES] = {"entries", "map_entries", CELL_COUNT, 7, true},
    [RAISED] = {"accelerate raises", "raised", CELL_WORD, 32, true},
};

static bool placement_is_there(const struct case_view *view)
{
    return view->placed != NULL && view->placed->strategy != NULL;
}

/* Of the GPUs, or of all other places; BYTES_UNKNOWN if one of them is not known. */
static int64_t placed_sum(const struct placed_view *placed, bool on_gpus)
{
    int64_t sum_bytes = 0;
    for (int at = 0; at < placed->place_count; at++) {
        bool counts = place_is_gpu(&placed->places[at]) == on_gpus;
        if (counts && !size_add(sum_bytes, placed->places[at].placed_bytes, &sum_bytes)) {
            return BYTES_UNKNOWN;
        }
    }
    return sum_bytes;
}

static void placement_add(const struct case_view *view, struct side_rows *rows)
{
    const struct placed_view *placed = view->placed;
    struct side_row *row = side_row_add(rows, view, placed->title);
    if (row != NULL) {
        row->cells[BUDGETS] = cell_word(view->place);
        row->cells[STRATEGY] = cell_word(placed->strategy);
        row->cells[ON_GPUS] = cell_bytes(placed_sum(placed, true));
        row->cells[ELSEWHERE] = cell_bytes(placed_sum(placed, false));
        row->cells[ACCELERATE_RUNS] = cell_flag(placed->accelerate_runs);
        row->cells[MODULES] = cell_count(placed->module_count);
        row->cells[RAISED] = cell_word(placed->raised);
    }
}

static int title_order(const struct case_view *a, const struct case_view *b)
{
    return strcmp(a->placed->title, b->placed->title);
}

/* "With the budgets of 2 of 12 exact plans accelerate's own map would have run out of memory." */
static void placements_note(const struct report *report, struct text *text)
{
    int known_count = 0, alone_count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct placed_view *placed = report->cases[index].placed;
        const bool *runs = placed != NULL ? placed->accelerate_runs : NULL;
        known_count += runs != NULL ? 1 : 0;
        alone_count += runs != NULL && !*runs ? 1 : 0;
    }
    if (known_count > 0) {
        text_format(text, "With the budgets of %d of %d exact plans accelerate's own map would have run out of memory.",
                    alone_count, known_count);
    }
}

const struct side_table side_placements = {
    .name = "placements",
    .title = "Placements",
    .words = "Weights and buffers that each plan keeps on GPUs and elsewhere; of an exact plan also whether "
             "accelerate's own map "
             "for the same budgets would have run.",
    .columns = columns,
    .column_count = COLUMNS,
    .has = placement_is_there,
    .add = placement_add,
    .order = title_order,
    .note = placements_note,
};
