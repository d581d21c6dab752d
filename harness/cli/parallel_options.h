/* Parallel options: how a model is divided among devices, as options of a command. */
#ifndef ASSAY_CLI_PARALLEL_OPTIONS_H
#define ASSAY_CLI_PARALLEL_OPTIONS_H

#include "harness/cli/command.h"
#include "harness/estimate/parallel.h"

/* The rows, for the table of a command. */
#define PARALLEL_OPTION_ROWS                                                                                           \
    {"data-parallel", OPTION_VALUE, "N", "ranks with the same model and other batches (default: 1)"},                  \
        {"zero", OPTION_VALUE, "0|1|2|3",                                                                              \
         "data-parallel ranks divide optimizer (1), gradients (2), weights (3): ZeRO"},                                \
        {"fsdp", OPTION_FLAG, NULL, "data-parallel ranks divide all of these by tensor, as PyTorch's FSDP2"},          \
        {"tensor-parallel", OPTION_VALUE, "N", "ranks that divide each layer (default: 1)"},                           \
        {"pipeline-parallel", OPTION_VALUE, "N", "ranks that each have some of the layers (default: 1)"},              \
    {                                                                                                                  \
        "expert-parallel", OPTION_VALUE, "N", "data-parallel ranks that divide the experts (default: 1)"               \
    }

/* Whether any of these options was given. */
bool parallel_options_given(const struct arguments *arguments);

/* What they say, checked against the model. */
enum status_code parallel_options_read(const struct arguments *arguments, const struct config *config,
                                       struct parallel *parallel, struct status *error);

#endif
