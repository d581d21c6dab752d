/* The case of assay chain: models, the arguments of each, the GPU on which they run in turn, and the outcome. Printing:
 * chain_print.c. */
#ifndef ASSAY_CLI_CHAIN_CASE_H
#define ASSAY_CLI_CHAIN_CASE_H

#include "harness/base/json.h"
#include "harness/cli/place_options.h"
#include "harness/question/chain_trial.h"
#include "harness/question/placed_lanes.h"

struct chain_model {
    struct model model;
    struct skeleton skeleton;
    struct workload workload;
};

/* Stays where it is while it is open. */
struct chain_case {
    struct place_case place; /* budgets, their arena, notes; no model */
    struct chain_model models[CHAIN_LINKS_MAXIMUM];
    struct chain_link links[CHAIN_LINKS_MAXIMUM];
    int count;
    bool runs;
    enum placed_ground ground; /* of a run */
    struct chain_question question;
    struct placed_tape placed;
    struct placed_outcome predicted, measured;
    struct placed_lanes lanes;
    int64_t need_bytes[CHAIN_PLACES];
    int64_t resident_need_bytes; /* of the GPU, with every model on it all the time */
};

/* The arguments of a model, in an option or behind its name: "gpt2:seq=512,batch=2". */
#define CHAIN_CASE_ROWS                                                                                                \
    {"precision", OPTION_VALUE, "P", "as stored, else float32; or float16, bfloat16"},                                 \
        {"batch", OPTION_VALUE, "N", "samples at once (default: 1)"},                                                  \
        {"seq", OPTION_VALUE, "N", "tokens of a sample (default: 128)"},                                               \
        {"attention", OPTION_VALUE, "A", "sdpa (default), eager or native, as in assay estimate"},                     \
        {"padding", OPTION_BOOLEAN, NULL, "sequences of different lengths, under an attention mask (text)"},           \
        {"logits", OPTION_VALUE, "all|last", "rows of the head that are computed (default: all)"},                     \
    {                                                                                                                  \
        "head", OPTION_VALUE, "bare|lm", "without or with the head of the task (default: lm)"                          \
    }

/* Reads the models, predicts and, with --run, measures. On failure nothing is open. */
enum status_code chain_case_open(const struct arguments *arguments, struct chain_case *chain, struct status *error);
void chain_case_close(struct chain_case *chain);

/* Whether what was measured is what was predicted. True if nothing was measured. */
bool chain_case_agrees(const struct chain_case *chain);

void chain_lines(const struct chain_case *chain, struct text *text);
struct json *chain_json(const struct chain_case *chain);

#endif
