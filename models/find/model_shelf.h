/* Model shelf: models and their skeletons, for many cases of few models. What was read and built for one case lies
 * ready for the next, as long as it is among those that were used last: a list of cases of any length takes a bounded
 * amount of memory.
 *
 * Any thread may take and give back. What is taken is only read. */
#ifndef ASSAY_FIND_MODEL_SHELF_H
#define ASSAY_FIND_MODEL_SHELF_H

#include "harness/base/status.h"
#include "harness/case/workload.h"
#include "models/find/model.h"
#include "models/skeleton/skeleton.h"

struct model_shelf;

/* Valid until it is given back. */
struct shelf_item {
    const struct model *model;
    const struct skeleton *skeleton; /* as model_skeleton makes it for the workload */
    const struct skeleton *bare;     /* as skeleton_build makes it with HEAD_BARE; NULL if it cannot be made */
    struct shelf_row *row;           /* of the shelf */
};

/* places must outlive the shelf. */
enum status_code model_shelf_open(const struct model_places *places, struct model_shelf **shelf, struct status *error);

/* What model_find and model_skeleton say of the name and the workload, with their errors. */
enum status_code model_shelf_take(struct model_shelf *shelf, const char *name, const struct workload *workload,
                                  struct shelf_item *item, struct status *error);

/* All zero is accepted. */
void model_shelf_give_back(struct model_shelf *shelf, const struct shelf_item *item);

/* Everything was given back. NULL is accepted. */
void model_shelf_close(struct model_shelf *shelf);

#endif
