/* Side table of transfers: the bytes that a case moved between places, and how fast, beside a plain read or copy of as
 * many. */
#include <stdio.h>

#include "harness/report/placed_view.h"
#include "harness/report/side_tables.h"

/* What transfers aim at: so much of the plain rate. A goal of the program, and no verdict. */
#define RATIO_GOAL 0.9

enum { FROM, TO, COUNT, BYTES, SECONDS, RATE, PLAIN_RATE, RATIO, PLAIN, PLAIN_BYTES, PLAIN_SECONDS, COLUMNS };

static const struct side_column columns[] = {
    [FROM] = {"from", "from", CELL_WORD, 4, false},
    [TO] = {"to", "to", CELL_WORD, 4, false},
    [COUNT] = {"copies", "count", CELL_COUNT, 7, true},
    [BYTES] = {"bytes", "bytes", CELL_BYTES, 10, false},
    [SECONDS] = {"time", "seconds", CELL_SECONDS, 9, true},
    [RATE] = {"rate", "bytes_per_second", CELL_RATE, 13, false},
    [PLAIN_RATE] = {"plain rate", "plain_bytes_per_second", CELL_RATE, 13, false},
    [RATIO] = {"ratio", "ratio", CELL_RATIO, 6, false},
    [PLAIN] = {"plain", "plain", CELL_WORD, 16, true},
    [PLAIN_BYTES] = {"plain bytes", "plain_bytes", CELL_BYTES, 11, true},
    [PLAIN_SECONDS] = {"plain time", "plain_seconds", CELL_SECONDS, 10, true},
};

static bool transfers_are_there(const struct case_view *view)
{
    return view->placed != NULL && view->placed->transfer_count > 0;
}

static void transfers_add(const struct case_view *view, struct side_rows *rows)
{
    for (int at = 0; at < view->placed->transfer_count; at++) {
        const struct transfer_view *transfer = &view->placed->transfers[at];
        struct side_row *row = side_row_add(rows, view, view->title);
        if (row == NULL) {
            return;
        }
        struct cell *cells = row->cells;
        cells[FROM] = cell_word(transfer->from);
        cells[TO] = cell_word(transfer->to);
        cells[COUNT] = cell_count(transfer->count);
        cells[BYTES] = cell_bytes(transfer->bytes);
        cells[SECONDS] = cell_real(transfer->seconds);
        cells[RATE] = cell_real(transfer_rate(transfer->bytes, transfer->seconds));
        cells[PLAIN_RATE] = cell_real(transfer_rate(transfer->plain_bytes, transfer->plain_seconds));
        cells[RATIO] = cell_real(transfer_ratio(transfer));
        cells[PLAIN] = cell_word(transfer->plain);
        cells[PLAIN_BYTES] = cell_bytes(transfer->plain_bytes);
        cells[PLAIN_SECONDS] = cell_real(transfer->plain_seconds);
    }
}

/* "At least 0.9 of the plain rate, the goal: 3 of 4 transfers of a MiB or more; the lowest is 0.71, disk to 0 of gpt2
 * ..." */
static void transfers_note(const struct report *report, struct text *text)
{
    const struct transfer_view *lowest = NULL;
    const char *title = NULL;
    int known_count = 0, reached_count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct placed_view *placed = report->cases[index].placed;
        for (int at = 0; placed != NULL && at < placed->transfer_count; at++) {
            const struct transfer_view *one = &placed->transfers[at];
            bool counts = transfer_is_telling(one);
            double ratio = transfer_ratio(one);
            known_count += counts ? 1 : 0;
            reached_count += counts && ratio >= RATIO_GOAL ? 1 : 0;
            if (counts && (lowest == NULL || ratio < transfer_ratio(lowest))) {
                lowest = one;
                title = report->cases[index].title;
            }
        }
    }
    if (lowest != NULL) {
        text_format(text,
                    "At least %.1f of the plain rate, the goal: %d of %d transfers of a MiB or more; the lowest is "
                    "%.2f, %s to %s of %s.",
                    RATIO_GOAL, reached_count, known_count, transfer_ratio(lowest), lowest->from, lowest->to, title);
    }
}

const struct side_table side_transfers = {
    .name = "transfers",
    .title = "Transfers between places",
    .words = "What was copied from place to place, and how fast; plain: a sequential read or write, or a copy, of as "
             "many bytes on "
             "the same machine.",
    .columns = columns,
    .column_count = COLUMNS,
    .has = transfers_are_there,
    .add = transfers_add,
    .note = transfers_note,
};
