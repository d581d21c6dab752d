/* Execution of assay place: what --run, --predict and --exact carry out, and the outcome. Printing:
 * place_execution_print.c. */
#ifndef ASSAY_CLI_PLACE_EXECUTION_H
#define ASSAY_CLI_PLACE_EXECUTION_H

#include "harness/base/json.h"
#include "harness/case/workload.h"
#include "harness/cli/place_options.h"
#include "harness/cli/placed_gpus.h"
#include "harness/question/placed_plan.h"

/* The rows of the case, for the command's table. */
#define PLACE_CASE_ROWS                                                                                                \
    {"run", OPTION_CHOICE, "host|cuda", "carry the plan out within its budgets; host: in place of the GPUs"},          \
        {"predict", OPTION_FLAG, NULL, "the same by a replay alone: no device is touched"},                            \
        {"exact", OPTION_FLAG, NULL, "instead: our own plan, by what a replay needs, with accelerate's beside it"},    \
        {"offload-folder", OPTION_VALUE, "DIR",                                                                        \
         "with --run: keeps what goes to the disk (default: a temporary folder)"},                                     \
        {"mode", OPTION_VALUE, "load|infer|generate", "what is carried out (default: infer, a forward pass)"},         \
        {"batch", OPTION_VALUE, "N", "samples at once (default: 1)"},                                                  \
        {"seq", OPTION_VALUE, "N", "tokens of a sample (default: 128)"},                                               \
        {"new-tokens", OPTION_VALUE, "N", "tokens that are generated, greedily (generate; default: 32)"},              \
        {"attention", OPTION_VALUE, "A", "sdpa (default), eager or native, as in assay estimate"},                     \
        {"padding", OPTION_BOOLEAN, NULL, "sequences of different lengths, under an attention mask (text)"},           \
        {"logits", OPTION_VALUE, "all|last", "rows of the head that are computed (default: all)"},                     \
    {                                                                                                                  \
        "for", OPTION_VALUE, "T", "predict as on this class of devices (default: the GPU's own, else sm_90)"           \
    }

struct place_execution {
    const struct place_case *place;
    struct workload workload;
    struct placed_request request;
    bool runs, is_exact;
    struct placed_plan plan;
    struct placed_site site; /* runs */
};

/* Whether any of the three options was given. STATUS_INVALID if an option of the case was given and none of them. */
enum status_code place_execution_wanted(const struct arguments *arguments, bool *wanted, struct status *error);

/* Plans, predicts and runs. The case stays open as long as the execution. On failure nothing is open. */
enum status_code place_execution_make(const struct arguments *arguments, const struct place_case *place,
                                      struct place_execution *execution, struct status *error);
void place_execution_release(struct place_execution *execution);

/* Whether measured and predicted figures of every place and stage are the same. True if nothing was measured. */
bool place_trial_agrees(const struct place_execution *execution);

/* What the command prints. */
void place_execution_lines(const struct place_execution *execution, int columns, struct text *text);
struct json *place_execution_json(const struct place_execution *execution);

#endif
