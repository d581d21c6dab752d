/* Side table: the rows of a table out of the cases of a report. Which tables there are is in side_tables.c, how they
 * look in side_table_*.c. */
#include "harness/report/side_table.h"

#include <limits.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/report/case_order.h"

struct side_row *side_row_add(struct side_rows *rows, const struct case_view *view, const char *group)
{
    struct side_row *made = array_extend(rows->rows, (size_t)rows->count, &rows->room, sizeof *made);
    if (made == NULL) {
        rows->failed = true;
        return NULL;
    }
    rows->rows = made;
    struct side_row *row = &rows->rows[rows->count++];
    *row = (struct side_row){.view = view, .group = group};
    return row;
}

void side_rows_release(struct side_rows *rows)
{
    free(rows->rows);
    *rows = (struct side_rows){0};
}

/* The cases of a table, with their place in the order of the report. */
struct chosen_case {
    const struct case_view *view;
    const struct side_table *table;
    int place;
};

static int chosen_order(const void *left, const void *right)
{
    const struct chosen_case *a = left, *b = right;
    int order = a->table->order(a->view, b->view);
    return order != 0 ? order : a->place - b->place;
}

/* Chooses from `order`; the cases are put into *made. */
static void cases_fill(const struct side_table *table, const struct report *report, const struct case_order *order,
                       int maximum, struct side_cases *made)
{
    struct chosen_case *chosen = calloc((size_t)report->case_count, sizeof *chosen);
    made->cases = calloc((size_t)report->case_count, sizeof *made->cases);
    made->failed = chosen == NULL || made->cases == NULL;
    for (int place = 0; !made->failed && place < report->case_count; place++) {
        bool has = table->has(order->cases[place]), fits = made->count < maximum;
        made->hidden_count += has && !fits ? 1 : 0;
        if (has && fits) {
            chosen[made->count++] = (struct chosen_case){order->cases[place], table, place};
        }
    }
    if (!made->failed && table->order != NULL) {
        qsort(chosen, (size_t)made->count, sizeof *chosen, chosen_order);
    }
    for (int at = 0; !made->failed && at < made->count; at++) {
        made->cases[at] = chosen[at].view;
    }
    free(chosen);
}

struct side_cases side_cases_make(const struct side_table *table, const struct report *report, int maximum)
{
    struct side_cases made = {0};
    struct case_order order = {0};
    maximum = maximum > 0 ? maximum : INT_MAX;
    if (!side_table_is_there(table, report)) {
        return made;
    }
    if (case_order_make(report, maximum, &order)) {
        cases_fill(table, report, &order, maximum, &made);
    } else {
        made.failed = true;
    }
    case_order_release(&order);
    return made;
}

void side_cases_release(struct side_cases *cases)
{
    free(cases->cases);
    *cases = (struct side_cases){0};
}

void side_rows_of(const struct side_table *table, const struct case_view *view, struct side_rows *rows)
{
    rows->count = 0;
    table->add(view, rows);
}

bool side_table_is_there(const struct side_table *table, const struct report *report)
{
    int index = 0;
    while (index < report->case_count && !table->has(&report->cases[index])) {
        index++;
    }
    return index < report->case_count;
}
