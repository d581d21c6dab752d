/* Habit cost: what each habit of a case's program comes to in bytes.
 *
 * The case is predicted once more for each of its habits without it. Of a case that has the default program, which
 * has none, it is predicted with each habit of the documentation's loop instead. A cost is the peak with the habit
 * less the peak without; habits overlap, so costs need not add up. What says how much is done (a rank, a batch) is
 * no habit. */
#ifndef ASSAY_QUESTION_HABIT_COST_H
#define ASSAY_QUESTION_HABIT_COST_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/estimate/estimate.h"

enum { HABIT_COSTS_MAXIMUM = 16 };

struct habit_cost {
    enum case_field field;
    int64_t with, without; /* values of the field */
    bool is_in_case;       /* the case has the habit */
    bool is_fixed;         /* the program itself has no other value */
    int64_t allocated_bytes, reserved_bytes;
};

struct habit_costs {
    struct habit_cost rows[HABIT_COSTS_MAXIMUM];
    int count;
};

/* fields_said: of the case (identity.h). Without a bound of memory. Errors of workload_tape. */
enum status_code habit_costs_find(const struct estimate_input *input, uint64_t fields_said, struct habit_costs *costs,
                                  struct status *error);

/* Lines for people; nothing if there are no rows. */
void habit_costs_lines(const struct habit_costs *costs, const struct workload *workload, struct text *text);

/* [{"field", "with", "without", "in_case", "fixed", "allocated_bytes", "reserved_bytes"}]; NULL if memory ran out. */
struct json *habit_costs_json(const struct habit_costs *costs);

#endif
