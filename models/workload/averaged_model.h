/* Averaged model: the copy of a model in which a training program keeps the exponential average of its weights. */
#ifndef ASSAY_WORKLOAD_AVERAGED_MODEL_H
#define ASSAY_WORKLOAD_AVERAGED_MODEL_H

#include "models/workload/workload_build.h"

/* The copy, taken of the model on its device. Nothing happens if the case has no average. */
void averaged_model_begin(struct build *build);

/* What the program calls behind the optimizer's step; update counts from 1. */
void averaged_model_update(struct build *build, int update);

#endif
