/* Workload tape: loading, inputs, steps. The model's own code is in family_*.c. */
#include "models/workload/workload_tape.h"

#include <stdlib.h>

#include "models/config/family.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/forward/prepare_kbit.h"
#include "models/skeleton/quantization.h"
#include "models/workload/averaged_model.h"
#include "models/workload/generate.h"
#include "models/workload/token_metrics.h"
#include "models/workload/workload_build.h"
#include "models/workload/workload_fit.h"
#include "models/workload/workload_optimizer.h"

enum { INFER_COUNT = 2, RECORDED_MICRO_BATCHES = 16 };

/* The max_norm that nearly every program gives clip_grad_norm_; no size depends on it. */
static const double clipped_norm = 1.0;

enum status_code workload_skeleton(const struct config *config, const struct workload *workload,
                                   struct skeleton *skeleton, struct status *error)
{
    return skeleton_build_for(config, workload, skeleton, error);
}

struct training_plan training_plan_default(const struct workload *workload)
{
    return (struct training_plan){.step_count = (int)workload->steps, .learning_rate = 1e-4};
}

/* -- one pass of the model */

/* Its result, held. What else it returns stays until the same name is given to what the next pass returns
 * (`outputs = model(**batch)`), or goes at once (`model(**batch).loss`). */
static struct value *model_run(struct build *build)
{
    struct tape *tape = build->forward.tape;
    struct model_output output;
    struct token_metrics metrics;
    struct value *result = model_output_make(&build->forward, &build->output, &output);
    token_metrics_make(&build->forward, token_metrics_logits(&build->forward, &output.beside), &metrics);
    if (build->forward.workload->outputs == OUTPUTS_KEPT) {
        model_output_drop(tape, &build->output);
        build->output = output;
    } else {
        model_output_drop(tape, &output);
    }
    token_metrics_drop(tape, &metrics);
    return result;
}

/* -- infer */

static void infer(struct build *build)
{
    struct tape *tape = build->forward.tape;
    tape_stage(tape, STAGE_FORWARD);
    inputs_make(build);
    struct value *result = NULL;
    for (int i = 0; i < INFER_COUNT; i++) {
        /* The result keeps its name until the figures are taken; it goes before those of the next pass begin. */
        tape_stage_again(tape, STAGE_FORWARD);
        if (build->forward.workload->outputs == OUTPUTS_DROPPED) {
            tape_let_go(tape, result);
            result = NULL;
            tape_stage_again(tape, STAGE_FORWARD);
        }
        struct value *made = model_run(build);
        tape_let_go(tape, result);
        result = made;
    }
}

/* -- generate */

static void generate(struct build *build)
{
    struct tape *tape = build->forward.tape;
    const struct workload *workload = build->forward.workload;
    int64_t size[] = {workload->batch, workload->seq};
    tape_stage(tape, STAGE_FORWARD);
    inputs_make(build);
    struct value *mask = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 2, size, false, "attention_mask");
    tape_fill(tape, tape_hold(tape, mask), 1.0);
    tape_stage_again(tape, STAGE_FORWARD);
    autocast_begin(&build->forward);
    generate_build(&build->forward);
    tape_autocast_close(tape);
}

/* -- train */

static void scaler_begin(struct build *build)
{
    build->scaler.is_torchs = build->forward.workload->grad_scaler == GRAD_SCALER_TORCH;
    if (workload_is_scaled(build->forward.workload)) {
        tape_scaler_begin(build->forward.tape, &build->scaler);
    }
}

/* optimizer.zero_grad(). */
static void gradients_zero(struct build *build)
{
    struct tape *tape = build->forward.tape;
    bool stays = build->forward.workload->zero_grad_to == ZERO_GRAD_TO_ZEROS;
    for (int i = 0; i < build->parameter_count; i++) {
        if (!stays) {
            tape_gradient_drop(tape, build->parameters[i]);
        } else if (tape_gradient(build->parameters[i]) != NULL) {
            tape_fill(tape, tape_gradient(build->parameters[i]), 0.0);
        }
    }
}

/* One micro-batch. The loss keeps its name until the next one is there, and, if it is not detached, with it the leaf of
 * its graph. */
static void micro_batch(struct build *build, struct value **loss)
{
    struct tape *tape = build->forward.tape;
    tape_stage_again(tape, STAGE_FORWARD);
    detached_graph_end(build);
    struct forward_leaves leaves = build->leaves;
    build->leaves.count = 0;
    struct value *made = model_run(build);
    tape_let_go(tape, *loss);
    loss_graph_end(build, &leaves);
    *loss = made;
    if (build->zeroes_before_backward) {
        tape_stage_again(tape, STAGE_BACKWARD); /* replaced by that of the backward pass */
        gradients_zero(build);
        tape_stage_again(tape, STAGE_BACKWARD);
    }
    tape_stage(tape, STAGE_BACKWARD);
    int frame = tape_frame_open(tape);
    struct value *objective = made;
    const struct workload *workload = build->forward.workload;
    if (workload->accumulate > 1 && workload->accumulated_loss == ACCUMULATED_LOSS_DIVIDED) {
        objective = tape_scale(tape, objective, 1.0 / (double)workload->accumulate);
    }
    if (workload_is_scaled(workload)) {
        objective = tape_scaler_scale(tape, &build->scaler, objective);
    }
    tape_backward(tape, objective);
    tape_frame_close(tape, frame, NULL);
}

static void micro_batches(struct build *build, struct value **loss)
{
    struct tape *tape = build->forward.tape;
    int64_t count = build->forward.workload->accumulate;
    struct tape_cycle cycle = tape_cycle_open(tape, 1);
    for (int64_t i = 0; i < count && !tape_failed(tape); i++) {
        build->zeroes_before_backward = i == 0 && build->forward.workload->zero_grad == ZERO_GRAD_BEFORE_BACKWARD;
        micro_batch(build, loss);
        i += tape_cycle_turn(&cycle, count - i - 1);
    }
}

struct step_in_backward {
    struct build *build;
    const struct optimizer_settings *settings;
    int step;
};

/* The parameter's own optimizer steps, and its gradient goes. */
static void step_in_backward(void *context, struct tape *tape, struct value *leaf)
{
    const struct step_in_backward *step = context;
    for (int i = 0; i < step->build->parameter_count; i++) {
        if (step->build->stepped[i] == leaf) {
            tape_optimizer_step(tape, step->settings, step->step, 1, &leaf, &step->build->states[i], NULL);
            tape_gradient_drop(tape, leaf);
            return;
        }
    }
}

/* What the program does between its last backward pass and zero_grad(). */
static void step_take(struct build *build, const struct optimizer_settings *settings, int step)
{
    struct tape *tape = build->forward.tape;
    const struct workload *workload = build->forward.workload;
    bool scaled = workload_is_scaled(workload), clips = workload->clip_grad != CLIP_GRAD_NONE;
    bool unscales = settings->form == OPTIMIZER_FORM_FUSED; /* _step_supports_amp_scaling */
    int frame = tape_frame_open(tape);
    struct scaler_loan loan = {NULL, NULL};
    detached_graph_end(build);
    if (scaled) {
        tape_scaler_unscale(tape, &build->scaler, build->parameter_count, build->parameters, unscales && !clips);
    }
    if (clips) {
        tape_clip_gradients(tape, build->parameter_count, build->parameters, clipped_norm,
                            workload->clip_grad == CLIP_GRAD_FOREACH);
    }
    if (scaled && build->scaler.is_torchs && unscales) {
        loan = tape_scaler_lend(tape, &build->scaler, clips);
    }
    struct value *found = scaled ? build->scaler.found : NULL;
    int first = build->decayed_count, second = build->parameter_count - first;
    tape_optimizer_step(tape, settings, step, first, build->stepped, build->states, found);
    if (second > 0) {
        tape_optimizer_step(tape, settings, step, second, build->stepped + first, build->states + first, found);
    }
    tape_scaler_take_back(tape, loan);
    if (scaled) {
        tape_scaler_update(tape, &build->scaler);
    }
    averaged_model_update(build, step);
    tape_frame_close(tape, frame, NULL);
}

static void train(struct build *build)
{
    struct tape *tape = build->forward.tape;
    struct optimizer_settings settings =
        workload_optimizer(build->forward.workload->optimizer, build->plan.learning_rate);
    struct value *loss = NULL;
    tape_stage(tape, STAGE_FORWARD);
    averaged_model_begin(build);
    inputs_make(build);
    scaler_begin(build);
    tape_gradients(tape, true);
    tape_training(tape, true);
    for (int step = 1; step <= build->plan.step_count && !tape_failed(tape); step++) {
        if (build->forward.workload->zero_grad != ZERO_GRAD_BEFORE_BACKWARD) {
            /* After a step's figures are taken and before the next one's begin, wherever of the two the program calls
             * it: nothing lies between. The stage opened here is replaced by that of the next micro-batch. */
            tape_stage_again(tape, STAGE_FORWARD);
            gradients_zero(build);
        }
        struct step_in_backward hooked = {build, &settings, step};
        bool hooks = build->forward.workload->optimizer_in_backward;
        tape_gradient_hook_set(tape, hooks ? step_in_backward : NULL, &hooked);
        micro_batches(build, &loss);
        tape_gradient_hook_set(tape, NULL, NULL);
        tape_stage(tape, STAGE_STEP);
        tape_gradients(tape, false);
        step_take(build, &settings, step);
        tape_gradients(tape, true);
    }
}

/* -- the whole */

static void case_build(struct build *build)
{
    tensors_load(build);
    if (build->forward.placement != NULL) {
        tape_place(build->forward.tape, build->forward.placement->main);
    }
    enum mode mode = build->forward.workload->mode;
    if (mode == MODE_INFER) {
        infer(build);
    } else if (mode == MODE_GENERATE) {
        generate(build);
    } else if (mode == MODE_TRAIN) {
        train(build);
    }
}

void build_release(struct build *build)
{
    free(build->forward.values);
    free(build->forward.brought);
    free(build->parameters);
    free(build->stepped);
    free(build->states);
    free(build->averages);
    free(build->quantized);
    free(build->output.beside.parts);
    cache_release(&build->output.cache);
    cache_release(&build->output.crossed);
}

enum status_code build_open(struct build *build, struct tape *tape, struct status *error)
{
    const struct workload *workload = build->forward.workload;
    size_t count = (size_t)build->forward.skeleton->tensor_count + 1;
    build->forward.values = calloc(count, sizeof *build->forward.values);
    build->forward.brought = calloc(count, sizeof *build->forward.brought);
    build->parameters = calloc(count, sizeof *build->parameters);
    build->stepped = calloc(count, sizeof *build->stepped);
    build->states = calloc(count, sizeof *build->states);
    build->averages = calloc(count, sizeof *build->averages);
    build->quantized = calloc(count, sizeof *build->quantized);
    build->forward.quantized = build->quantized;
    build->forward.tape = tape;
    build->forward.leaves = &build->leaves;
    build->forward.near_tensor = &build->near_tensor;
    bool has_room = build->forward.values != NULL && build->forward.brought != NULL && build->parameters != NULL &&
                    build->stepped != NULL && build->states != NULL && build->averages != NULL &&
                    build->quantized != NULL;
    if (!has_room) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape");
    }
    const char *model_type = build->forward.config->model_type;
    tape_torch(tape, (struct torch_habits){
                         .linear_workspace_passes = release_has(workload, model_type, RELEASE_LINEAR_WORKSPACE_PASSING),
                         .cudnn_attention_last = release_has(workload, model_type, RELEASE_CUDNN_ATTENTION_LAST),
                         .flash_counts_once = release_has(workload, model_type, RELEASE_FLASH_COUNTS_ONCE),
                         .flash_undivided = release_has(workload, model_type, RELEASE_FLASH_UNDIVIDED),
                         .embedding_parts_summed = release_has(workload, model_type, RELEASE_EMBEDDING_PARTS_SUMMED),
                         .mean_keeps_input = release_has(workload, model_type, RELEASE_MEAN_KEEPS_INPUT)});
    tape_bitsandbytes(tape, bitsandbytes_habits_of(workload, model_type));
    tape_tf32(tape, workload->tf32, workload->tf32 || workload->tf32_convolutions);
    tape_cudnn_benchmark(tape, workload->cudnn_benchmark);
    return STATUS_OK;
}

struct workload workload_as_taken(const struct config *config, const struct workload *workload)
{
    struct workload taken = *workload;
    if (config->family->is_image) {
        taken.seq = 0;
    }
    if (config_attends_eagerly(config) || release_has(workload, config->model_type, RELEASE_EAGER_ALONE)) {
        taken.attention = ATTENTION_EAGER;
    }
    if (taken.mode == MODE_GENERATE && release_has(workload, config->model_type, RELEASE_ALL_LOGITS)) {
        taken.logits = LOGITS_ALL;
    }
    return taken;
}

/* workload: as the model takes it. bounds: of plan->form.repeats, else NULL. */
static enum status_code tape_attempt(struct build *build, const struct target *target, struct cycle_bounds *bounds,
                                     struct tape **tape, struct status *error)
{
    struct tape *made = NULL;
    enum status_code code = tape_new(target, &made, error);
    if (code == STATUS_OK) {
        tape_shape(made, build->plan.form, bounds);
        code = build_open(build, made, error);
    }
    if (code == STATUS_OK) {
        case_build(build);
        code = tape_finish(made, error);
    }
    if (code == STATUS_OK) {
        *tape = made;
        made = NULL;
    }
    tape_release(made);
    build_release(build);
    return code;
}

/* placement NULL: the model lies in one place. */
static enum status_code tape_build(const struct forward *form, const struct target *target,
                                   const struct training_plan *plan, struct tape **tape, struct status *error)
{
    const struct config *config = form->config;
    const struct workload *workload = form->workload;
    struct cycle_bounds bounds = {0};
    const struct workload adapted = workload_as_taken(config, workload);
    enum status_code code = workload_fit_check(config, workload, plan->form.repeats, error);
    if (code != STATUS_OK) {
        return code;
    }
    do {
        struct status why = {.spelling = error != NULL ? error->spelling : STATUS_SPELLING_KEYS};
        struct build build = {.forward = *form, .plan = *plan};
        build.forward.workload = &adapted;
        bounds.broken = false;
        code = tape_attempt(&build, target, plan->form.repeats ? &bounds : NULL, tape, &why);
        if (code != STATUS_OK && !bounds.broken) {
            return status_copy(error, code, &why);
        }
    } while (bounds.broken);
    return code;
}

enum status_code workload_tape_planned(const struct config *config, const struct skeleton *skeleton,
                                       const struct workload *workload, const struct target *target,
                                       const struct training_plan *plan, struct tape **tape, struct status *error)
{
    struct forward form = {.config = config,
                           .skeleton = skeleton,
                           .workload = workload,
                           .habits = release_habits_of(workload, config->model_type)};
    if (workload->place != NULL) {
        return status_set(error, STATUS_INVALID, "place: %s: this tape has one place; leave place out",
                          workload->place);
    }
    return tape_build(&form, target, plan, tape, error);
}

/* What a placed tape does not know yet, said with the reason. */
static enum status_code placed_check(const struct config *config, const struct workload *workload, struct status *error)
{
    enum quantized_form form;
    bool generates = workload->mode == MODE_GENERATE;
    const char *what = workload->mode == MODE_TRAIN                             ? "training"
                       : generates && workload->cache != CACHE_DYNAMIC          ? "a static cache"
                       : generates && workload->cache_dtype != CACHE_DTYPE_AUTO ? "a quantised cache"
                       : generates && workload->beams > 1                       ? "a search with beams"
                       : generates && config->family->encode != NULL            ? "generation beside an encoder"
                       : workload_is_autocast(workload)                         ? "autocast"
                       : precision_is_quantized(workload->precision, &form)     ? "quantised weights"
                       : workload->lora_rank > 0                                ? "adapters of LoRA"
                                                                                : NULL;
    return what == NULL ? STATUS_OK
                        : status_set(error, STATUS_INVALID,
                                     "a model on several devices is loaded, run forward, or generates greedily over a "
                                     "dynamic cache, in one precision; %s over several devices is not built; write "
                                     "--mode load, infer or generate, in float32, float16 or bfloat16",
                                     what);
}

enum status_code workload_tape_placed(const struct config *config, const struct skeleton *skeleton,
                                      const struct workload *workload, const struct target *target,
                                      const struct placement *placement, struct tape **tape, struct status *error)
{
    struct training_plan plan = training_plan_default(workload);
    struct forward form = {.config = config,
                           .skeleton = skeleton,
                           .workload = workload,
                           .habits = release_habits_of(workload, config->model_type),
                           .placement = placement};
    enum status_code code = placed_check(config, workload, error);
    return code == STATUS_OK ? tape_build(&form, target, &plan, tape, error) : code;
}

enum status_code workload_tape(const struct config *config, const struct skeleton *skeleton,
                               const struct workload *workload, const struct target *target, struct tape **tape,
                               struct status *error)
{
    struct training_plan plan = training_plan_default(workload);
    plan.form.repeats = workload->mode == MODE_TRAIN && workload->accumulate > RECORDED_MICRO_BATCHES;
    return workload_tape_planned(config, skeleton, workload, target, &plan, tape, error);
}

enum status_code workload_tape_brief(const struct config *config, const struct skeleton *skeleton,
                                     const struct workload *workload, const struct target *target, bool with_operations,
                                     struct tape **tape, struct status *error)
{
    struct training_plan plan = training_plan_default(workload);
    plan.form = (struct tape_form){.repeats = true, .bare = !with_operations};
    return workload_tape_planned(config, skeleton, workload, target, &plan, tape, error);
}
