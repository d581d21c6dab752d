/* Workload optimizer: what an optimizer of the register (case_field.h) is on a tape, with the defaults of its class. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_OPTIMIZER_H
#define ASSAY_WORKLOAD_WORKLOAD_OPTIMIZER_H

#include "harness/case/case_field.h"
#include "harness/tape/build.h"

struct optimizer_settings workload_optimizer(enum optimizer optimizer, double learning_rate);

#endif
