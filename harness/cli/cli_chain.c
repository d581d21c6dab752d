/* assay chain: what models that run in turn on one GPU need, each of which sends the one before it back to the cpu. */
#include <stdlib.h>

#include "harness/cli/chain_case.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"

static const struct option_row options[] = {
    {"max-memory", OPTION_VALUE, "DEVICE=SIZE,...",
     "budgets of one GPU and the cpu: 0=10GB,cpu=50GB (default: no bound)"},
    {"on", OPTION_VALUE, "GPU", "instead: a GPU by its name, \"RTX 4090\", less a context"},
    CHAIN_CASE_ROWS,
    {"keep-last", OPTION_FLAG, NULL, "the last model stays beside the next turn's: nobody calls hook.offload()"},
    {"run", OPTION_CHOICE, "host|cuda", "run the chain within its budgets; host: in place of the GPU"},
    {"for", OPTION_VALUE, "T", "predict as on this class of devices (default: the GPU's own, else sm_90)"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code chain_print(const struct arguments *arguments, const struct chain_case *chain,
                                    struct status *error)
{
    if (arguments_value(arguments, "json") != NULL) {
        struct json *document = chain_json(chain);
        enum status_code code = output_json(document, error);
        json_release(document);
        return code;
    }
    struct text text = {0};
    chain_lines(chain, &text);
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code chain_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct chain_case *chain = calloc(1, sizeof *chain);
    if (chain == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a chain");
    }
    enum status_code code = chain_case_open(arguments, chain, error);
    if (code == STATUS_OK) {
        const struct placed_outcome *outcome = chain->runs ? &chain->measured : &chain->predicted;
        bool agrees = chain_case_agrees(chain);
        code = chain_print(arguments, chain, error);
        if (code == STATUS_OK && (!outcome->fits || !agrees)) {
            *exit_code = EXIT_CODE_FAIL;
            exit_reason_print("chain", EXIT_CODE_FAIL,
                              !agrees ? "what was measured is not what was predicted"
                                      : "the chain runs out of memory within these budgets");
        }
        chain_case_close(chain);
    }
    free(chain);
    return code;
}

const struct command command_chain = {
    .name = "chain",
    .operands = "MODEL...",
    .summary = "the peak of models that run in turn, each sent to the cpu by the next one",
    .details = "The chain is that of accelerate's cpu_offload_with_hook, and so of diffusers'\n"
               "enable_model_cpu_offload: a model comes to the GPU as a whole when it is called, after the one\n"
               "before it has gone back to the cpu. The inputs of all models are on the GPU all the time; what a\n"
               "model returns is there until the next one has returned. The figures are those of the second of two\n"
               "turns. needs: the least budget with which the device would run through.\n"
               "\n"
               "The options of the pass hold for every model. An option behind a model's name is its own:\n"
               "  assay chain t5-base:seq=512 gpt2:batch=4\n"
               "\n"
               "Exit code 1: a device runs out of memory, or what was measured is not what was predicted.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = CHAIN_LINKS_MAXIMUM,
    .computes = true,
    .run = chain_run,
};
