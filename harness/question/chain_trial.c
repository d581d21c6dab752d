/* Chain trial: a chain as a placed tape. What replays it is placed_trial.c's. */
#include "harness/question/chain_trial.h"

#include <stdio.h>

static void place_set(const struct chain_question *question, int place, struct placement_device device,
                      struct placed_tape *placed)
{
    const struct placed_question budgets = {.budgets = question->budgets, .budget_count = question->budget_count};
    char name[DEVICE_TEXT_BYTES];
    placed->devices[place] = device;
    placed->budget_bytes[place] = placed_budget_bytes(&budgets, device);
    snprintf(placed->budget_words[place], sizeof placed->budget_words[place], "the budget of %s",
             placement_device_name(device, name));
}

enum status_code chain_tape_build(const struct chain_question *question, struct placed_tape *placed,
                                  struct status *error)
{
    *placed = (struct placed_tape){.place_count = CHAIN_PLACES, .pass_count = question->plan.link_count};
    place_set(question, CHAIN_DEVICE, (struct placement_device){PLACEMENT_GPU, question->gpu}, placed);
    place_set(question, CHAIN_HOST, (struct placement_device){.kind = PLACEMENT_CPU}, placed);
    enum status_code code = workload_tape_chain(&question->plan, question->target, &placed->tape, error);
    if (code == STATUS_OK) {
        placed_bytes_note(placed);
    } else {
        placed_tape_release(placed);
    }
    return code;
}

/* Forward stages end in this order: what the models are fed, the passes of each turn. */
static int passes_ended(const struct placed_outcome *outcome)
{
    return outcome->forward_count - 1;
}

bool chain_peak(const struct placed_tape *placed, const struct placed_outcome *outcome, struct replay_stage *peak)
{
    if (passes_ended(outcome) < CHAIN_TURNS * placed->pass_count) {
        return false;
    }
    *peak = outcome->passes[placed->pass_count - 1];
    for (int i = 0; i < placed->pass_count; i++) {
        for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
            int64_t bytes = outcome->passes[i].levels[level].bytes_peak;
            int64_t *highest = &peak->levels[level].bytes_peak;
            *highest = bytes > *highest ? bytes : *highest;
        }
    }
    return true;
}

int chain_refused_link(const struct placed_tape *placed, const struct placed_outcome *outcome)
{
    bool is_pass = !outcome->fits && passes_ended(outcome) >= 0;
    return is_pass ? passes_ended(outcome) % placed->pass_count : -1;
}
