/* Place request: what the place text of a case asks for, as a request for a placed plan. */
#ifndef ASSAY_QUESTION_PLACE_REQUEST_H
#define ASSAY_QUESTION_PLACE_REQUEST_H

#include "harness/case/place_text.h"
#include "harness/question/placed_plan.h"

/* request borrows from the other members: it stays where it is. */
struct place_request {
    struct place_text text;
    struct placement_budget budgets[PLACE_TEXT_BUDGETS_MAXIMUM];
    struct placement_request planner;
    struct placed_request request;
};

/* question: config, skeleton, workload, target and gpu_memory_bytes are read; without a place everything is on GPU 0.
 * STATUS_INVALID if the text says nothing; STATUS_OVERFLOW if a budget is more than can be planned for. */
enum status_code place_request_make(const struct placed_question *question, struct place_request *made,
                                    struct status *error);

/* The number of the first GPU that the text may put something on; -1: none. */
int place_text_first_gpu(const struct place_text *text);
/* GPU by GPU: after one, the next that the text may put something on; -1: no more. */
int place_text_gpu_after(const struct place_text *text, int index);

#endif
