/* Case checkpoint: a case whose weights come from a checkpoint that is made for it, in a temporary folder, and then
 * loaded as load_checkpoint_in_model does. Where they go is the placed plan's to say. Internal to harness/run. */
#ifndef ASSAY_RUN_CASE_CHECKPOINT_H
#define ASSAY_RUN_CASE_CHECKPOINT_H

#include "harness/load/plain_transfer.h"
#include "harness/question/placed_load.h"
#include "harness/question/placed_plan.h"
#include "harness/run/measuring.h"

struct checkpoint_case; /* opaque */

/* Drafts the checkpoint of the question's model and workload, and predicts its load by the plan's map: the plan's
 * prediction is that of this load from here on. The plan and what the question points to outlive the case.
 * STATUS_INVALID if no such checkpoint can be made. On failure nothing is open. */
enum status_code checkpoint_case_open(const struct placed_question *question, struct placed_plan *plan,
                                      struct checkpoint_case **made, struct status *error);

/* Makes the files, loads them into the lanes, takes the files away, and reads them once plainly before that. What came
 * of it is the plan's measured outcome. Lanes on meta load nothing. */
enum status_code checkpoint_case_measure(struct checkpoint_case *one, const struct measuring *measuring,
                                         const struct placed_lanes *lanes, const struct replay_observer *observers,
                                         struct status *error);

/* "transfers" of what was measured: from the files, and to the disk. NULL if memory ran out. */
struct json *checkpoint_transfers_json(const struct checkpoint_case *one);

/* Removes what is left of the files. NULL is accepted. */
void checkpoint_case_close(struct checkpoint_case *one);

#endif
