/* Workload chain: whose weights are where. What a model does in its forward pass is its family's. */
#include "models/workload/workload_chain.h"

#include <stdlib.h>

#include "models/config/family.h"
#include "models/skeleton/placement.h"
#include "models/skeleton/quantization.h"
#include "models/workload/workload_build.h"
#include "models/workload/workload_fit.h"

struct chain {
    const struct chain_plan *plan;
    struct tape *tape;
    struct workload workloads[CHAIN_LINKS_MAXIMUM]; /* as the models take them */
    struct placement placements[CHAIN_LINKS_MAXIMUM];
    struct build builds[CHAIN_LINKS_MAXIMUM];
    bool on_device[CHAIN_LINKS_MAXIMUM];
    struct value *output; /* of the model that returned last; held */
};

/* -- what is refused */

static enum status_code link_check(const struct chain_link *link, struct status *error)
{
    const struct workload *workload = link->workload;
    enum quantized_form form;
    const char *what = workload->mode != MODE_INFER                         ? "another mode than infer"
                       : workload_is_autocast(workload)                     ? "autocast"
                       : precision_is_quantized(workload->precision, &form) ? "storing weights quantised"
                       : workload->lora_rank > 0                            ? "LoRA"
                       : workload->use_cache                                ? "use_cache"
                       : workload->float32_outputs                          ? "float32_outputs"
                       : workload->outputs == OUTPUTS_KEPT                  ? "outputs: kept"
                                                                            : NULL;
    if (what != NULL) {
        return status_set(error, STATUS_INVALID,
                          "the models of a chain run forward in float32, float16 or bfloat16; %s is not built for a "
                          "chain",
                          what);
    }
    return workload_fit_check(link->config, workload, false, error);
}

static enum status_code chain_check(const struct chain_plan *plan, struct status *error)
{
    if (plan->link_count < 1 || plan->link_count > CHAIN_LINKS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "a chain has 1 to %d models, not %d", CHAIN_LINKS_MAXIMUM,
                          plan->link_count);
    }
    for (int i = 0; i < plan->link_count; i++) {
        enum status_code code = link_check(&plan->links[i], error);
        if (code != STATUS_OK) {
            status_prefix(error, "model %d, %s", i + 1, plan->links[i].config->name);
            return code;
        }
    }
    return STATUS_OK;
}

/* -- who is where */

/* module.to(place): tensor by tensor, each in its new place before it leaves the old one. A tied one goes once, at the
 * first of its names; the others name it anew at their own turn. */
static void model_move(struct chain *chain, int link, int place)
{
    struct tape *tape = chain->tape;
    struct forward *forward = &chain->builds[link].forward;
    const struct skeleton *skeleton = forward->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        int index = skeleton->load_order[i], tied = skeleton->tensors[index].tied_to;
        int owner = tied >= 0 ? tied : index;
        struct value *before = forward->values[owner];
        if (value_place(tape, before) != place) {
            int frame = tape_frame_open(tape);
            forward->values[owner] = tape_hold(tape, tape_move(tape, before, place));
            tape_let_go(tape, before);
            tape_frame_close(tape, frame, NULL);
        }
        forward->values[index] = forward->values[owner];
    }
    chain->on_device[link] = place == CHAIN_DEVICE;
}

/* CpuOffload.pre_forward. */
static void model_call_begin(struct chain *chain, int link)
{
    if (link > 0 && chain->on_device[link - 1] && chain->plan->form != CHAIN_RESIDES) {
        model_move(chain, link - 1, CHAIN_HOST);
        tape_trim(chain->tape, CHAIN_DEVICE);
    }
    if (!chain->on_device[link]) {
        model_move(chain, link, CHAIN_DEVICE);
    }
}

static void model_call(struct chain *chain, int link)
{
    struct tape *tape = chain->tape;
    const struct forward *forward = &chain->builds[link].forward;
    const struct workload *workload = forward->workload;
    tape_tf32(tape, workload->tf32, workload->tf32 || workload->tf32_convolutions);
    tape_cudnn_benchmark(tape, workload->cudnn_benchmark);
    int frame = tape_frame_open(tape);
    struct value *made = forward->config->family->forward(forward);
    made = tape_hold(tape, tape_frame_close(tape, frame, made));
    tape_let_go(tape, chain->output);
    chain->output = made;
}

static void turn_run(struct chain *chain)
{
    int last = chain->plan->link_count - 1;
    for (int i = 0; i <= last; i++) {
        tape_stage_again(chain->tape, STAGE_FORWARD);
        model_call_begin(chain, i);
        model_call(chain, i);
    }
    if (chain->plan->form == CHAIN_OFFLOADS) {
        model_move(chain, last, CHAIN_HOST);
    }
}

static void chain_run(struct chain *chain)
{
    for (int i = 0; i < chain->plan->link_count; i++) {
        tensors_load(&chain->builds[i]);
        chain->builds[i].forward.placement = NULL; /* modules have no hooks: the whole model is in one place */
    }
    tape_place(chain->tape, CHAIN_DEVICE);
    tape_stage(chain->tape, STAGE_FORWARD);
    for (int i = 0; i < chain->plan->link_count; i++) {
        inputs_make(&chain->builds[i]);
    }
    for (int turn = 0; turn < CHAIN_TURNS; turn++) {
        tape_let_go(chain->tape, chain->output);
        chain->output = NULL;
        turn_run(chain);
    }
}

/* -- the whole */

static enum status_code link_open(struct chain *chain, int i, struct status *error)
{
    const struct chain_link *link = &chain->plan->links[i];
    bool resides = chain->plan->form == CHAIN_RESIDES;
    const struct placement_entry whole = {"", resides ? CHAIN_DEVICE : CHAIN_HOST};
    const struct placement_plan plan = {
        .places = {[CHAIN_DEVICE] = {PLACE_DEVICE, "0"}, [CHAIN_HOST] = {PLACE_HOST, "cpu"}},
        .place_count = CHAIN_PLACES,
        .entries = &whole,
        .entry_count = 1,
        .main = whole.place};
    chain->workloads[i] = workload_as_taken(link->config, link->workload);
    chain->on_device[i] = resides;
    enum status_code code = placement_build(link->skeleton, &plan, &chain->placements[i], error);
    if (code == STATUS_OK) {
        chain->builds[i].forward = (struct forward){.config = link->config,
                                                    .skeleton = link->skeleton,
                                                    .workload = &chain->workloads[i],
                                                    .placement = &chain->placements[i]};
        code = build_open(&chain->builds[i], chain->tape, error);
    }
    return code;
}

static enum status_code chain_build(struct chain *chain, struct tape **tape, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < chain->plan->link_count && code == STATUS_OK; i++) {
        code = link_open(chain, i, error);
    }
    if (code == STATUS_OK) {
        chain_run(chain);
        code = tape_finish(chain->tape, error);
    }
    if (code == STATUS_OK) {
        *tape = chain->tape;
        chain->tape = NULL;
    }
    tape_release(chain->tape);
    for (int i = 0; i < chain->plan->link_count; i++) {
        build_release(&chain->builds[i]);
        placement_release(&chain->placements[i]);
    }
    return code;
}

enum status_code workload_tape_chain(const struct chain_plan *plan, const struct target *target, struct tape **tape,
                                     struct status *error)
{
    enum status_code code = chain_check(plan, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct chain *chain = calloc(1, sizeof *chain);
    if (chain == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a chain");
    }
    chain->plan = plan;
    code = tape_new(target, &chain->tape, error);
    code = code == STATUS_OK ? chain_build(chain, tape, error) : code;
    free(chain);
    return code;
}
