/* Workload tape: loading, inputs, steps. The model's own code is in family_*.c. */
#include "models/workload_tape.h"

#include <math.h>
#include <stdlib.h>

#include "models/family.h"
#include "models/forward.h"
#include "models/generate.h"
#include "models/prepare_kbit.h"
#include "models/quantization.h"
#include "models/workload_fit.h"

enum { STEP_COUNT = 3, INFER_COUNT = 2, RECORDED_MICRO_BATCHES = 16 };

/* The scale of a gradient scaler in its steady state; its size in memory does not depend on it. */
static const double loss_scale = 1024.0;

struct build {
    struct forward forward;
    struct training_plan plan;
    struct quantized *quantized;
    struct value **parameters; /* in the order of the optimizer */
    struct optimizer_state *states;
    int parameter_count;
    struct value *scale, *found; /* of the gradient scaler, else NULL */
    struct forward_leaves leaves;
};

enum head workload_head(const struct workload *workload)
{
    if (workload->head != HEAD_DEFAULT) {
        return workload->head;
    }
    return workload->mode == MODE_LOAD ? HEAD_BARE : HEAD_LM;
}

enum status_code workload_skeleton(const struct config *config, const struct workload *workload,
                                   struct skeleton *skeleton, struct status *error)
{
    return skeleton_build_adapted(config, workload_head(workload), workload->lora_rank, workload->lora_targets,
                                  skeleton, error);
}

struct training_plan training_plan_default(void)
{
    return (struct training_plan){.step_count = STEP_COUNT, .learning_rate = 1e-4};
}

/* Of what is not quantised, and of what is computed. */
enum dtype precision_dtype(enum precision precision)
{
    enum quantized_form form;
    bool quantized = precision_is_quantized(precision, &form);
    return precision == PRECISION_FLOAT16                 ? DTYPE_FLOAT16
           : quantized || precision == PRECISION_BFLOAT16 ? DTYPE_BFLOAT16
                                                          : DTYPE_FLOAT32;
}

static bool precision_is_amp(enum precision precision)
{
    return precision == PRECISION_AMP_FLOAT16 || precision == PRECISION_AMP_BFLOAT16;
}

/* -- load */

/* Numbers of a table of frequencies, half of those of a head that turn; no model has more than some hundred. */
enum { FREQUENCIES_MAXIMUM = 1 << 14 };

/* theta^(-k/n), one number at a time: the table is short. */
static void frequencies_fill(struct build *build, struct value *value, const struct skeleton_tensor *tensor)
{
    struct tape *tape = build->forward.tape;
    if (tensor->element_count > FREQUENCIES_MAXIMUM) {
        tape_fail(tape, STATUS_INVALID, "'%s' has %lld frequencies, more than a tape holds; write heads of at most %d",
                  tensor->path, (long long)tensor->element_count, 2 * FREQUENCIES_MAXIMUM);
        return;
    }
    for (int64_t k = 0; k < tensor->element_count; k++) {
        int frame = tape_frame_open(tape);
        double exponent = -(double)k / (double)tensor->element_count;
        tape_fill(tape, tape_slice(tape, value, 0, k, 1), pow(tensor->init_constant, exponent));
        tape_frame_close(tape, frame, NULL);
    }
}

static void tensor_fill(struct build *build, struct value *value, const struct skeleton_tensor *tensor)
{
    struct tape *tape = build->forward.tape;
    switch (tensor->initial) {
    case INITIAL_CONSTANT:
        tape_fill(tape, value, tensor->init_constant);
        break;
    case INITIAL_NORMAL:
        tape_init_normal(tape, value, 0.0, tensor->init_deviation);
        break;
    case INITIAL_SEQUENCE:
        tape_sequence(tape, value, 0);
        break;
    case INITIAL_INVERSE_FREQUENCY:
        frequencies_fill(build, value, tensor);
        break;
    }
}

/* Whether gradients are wanted of a tensor. Under autocast inference a parameter is told by this from an activation. */
static bool tensor_learns(const struct build *build, const struct skeleton_tensor *tensor)
{
    const struct workload *workload = build->forward.workload;
    bool learns = workload->mode == MODE_TRAIN || precision_is_amp(workload->precision);
    return learns && !tensor->is_buffer && (tensor->is_adapter || workload->lora_rank == 0);
}

static void tensor_load(struct build *build, int index)
{
    const struct workload *workload = build->forward.workload;
    struct tape *tape = build->forward.tape;
    const struct skeleton_tensor *own = &build->forward.skeleton->tensors[index];
    enum dtype dtype = precision_dtype(workload->precision);
    dtype = own->stays_float32 && dtype == DTYPE_FLOAT16 ? DTYPE_FLOAT32 : dtype;
    struct value *value = tape_leaf(tape, own->is_buffer ? CATEGORY_BUFFERS : CATEGORY_WEIGHTS,
                                    own->rounds_with_model ? dtype : own->dtype, own->rank, own->size,
                                    tensor_learns(build, own), own->path);
    tensor_fill(build, value, own);
    build->forward.values[index] = tape_hold(tape, value);
}

/* As transformers loads for bitsandbytes: the 16-bit tensor comes to the device, is quantised there, and goes. */
static void tensor_load_quantized(struct build *build, int index, enum quantized_form form)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    struct tape *tape = build->forward.tape;
    const struct skeleton_tensor *own = &skeleton->tensors[index];
    int frame = tape_frame_open(tape);
    struct value *whole = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BFLOAT16, own->rank, own->size, false, own->path);
    tensor_fill(build, whole, own);
    struct value *stored = tensor_is_turned(skeleton, index) ? tape_transpose(tape, whole, 0, 1) : whole;
    struct quantized *quantized = &build->quantized[index];
    *quantized = tape_quantize(tape, form, stored, own->path);
    quantized->codes = tape_hold(tape, quantized->codes);
    quantized->scales = tape_hold(tape, quantized->scales);
    quantized->table = tape_hold(tape, quantized->table);
    tape_frame_close(tape, frame, NULL);
}

static void tensors_load(struct build *build)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    const struct workload *workload = build->forward.workload;
    enum quantized_form form = QUANTIZED_INT8;
    bool quantizes = precision_is_quantized(workload->precision, &form);
    bool prepares = workload->prepare_kbit;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        int index = skeleton->load_order[i];
        const struct skeleton_tensor *tensor = &skeleton->tensors[index];
        if (prepares && tensor->is_adapter) { /* the first: adapters come last */
            prepare_kbit(&build->forward);
            prepares = false;
        }
        int owner = tensor->tied_to >= 0 ? tensor->tied_to : index;
        const char *outside =
            tape_module_open(build->forward.tape, skeleton->modules[skeleton->tensors[owner].module].path);
        if (build->forward.values[owner] == NULL && build->quantized[owner].codes == NULL) {
            if (quantizes && tensor_is_quantized(skeleton, owner, workload->quantize)) {
                tensor_load_quantized(build, owner, form);
            } else {
                tensor_load(build, owner);
            }
        }
        tape_module_close(build->forward.tape, outside);
        build->forward.values[index] = build->forward.values[owner];
        build->quantized[index] = build->quantized[owner];
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor_learns(build, tensor) && tensor->tied_to < 0 && build->forward.values[i] != NULL) {
            build->parameters[build->parameter_count++] = build->forward.values[i];
        }
    }
}

/* -- inputs */

/* The second half of the batch, or the only sequence, ends after half of the tokens, rounded up. */
static void padding_fill(struct tape *tape, struct value *rows, double number)
{
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(rows, 0), seq = value_size(rows, 1);
    int64_t whole = batch / 2, kept = seq - seq / 2;
    struct value *shorter = tape_slice(tape, rows, 0, whole, batch - whole);
    tape_fill(tape, tape_slice(tape, shorter, 1, kept, seq - kept), number);
    tape_frame_close(tape, frame, NULL);
}

/* Labels are the ids themselves; those of a padded batch are its own, with -100 where nothing counts. */
static void padding_make(struct forward *f)
{
    struct tape *tape = f->tape;
    bool training = f->workload->mode == MODE_TRAIN;
    f->labels = training ? f->ids : NULL;
    if (!f->workload->padding) {
        return;
    }
    int64_t size[] = {value_size(f->ids, 0), value_size(f->ids, 1)};
    f->seen = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 2, size, false, "attention_mask"));
    tape_fill(tape, f->seen, 1.0);
    padding_fill(tape, f->seen, 0.0);
    struct value *labels = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 2, size, false, "labels"));
    tape_copy_into(tape, f->ids, labels);
    padding_fill(tape, labels, -100.0);
    f->labels = training ? labels : NULL;
}

static void inputs_make(struct build *build)
{
    struct forward *f = &build->forward;
    const struct config *config = f->config;
    struct tape *tape = f->tape;
    int64_t batch = f->workload->batch;
    bool text = f->workload->seq > 0;
    if (text) {
        int64_t size[] = {batch, f->workload->seq};
        f->ids = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 2, size, false, "input_ids"));
        tape_init_integers(tape, f->ids, config->vocab);
        padding_make(f);
        return;
    }
    int64_t size[] = {batch, config->channels, config->image, config->image};
    enum dtype dtype = precision_dtype(f->workload->precision);
    f->images = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, dtype, 4, size, false, "pixel_values"));
    tape_init_normal(tape, f->images, 0.0, 1.0);
    /* A batch of images comes with its labels, also where only the images are used. */
    struct value *labels = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 1, &batch, false, "labels"));
    tape_init_integers(tape, labels, config->classes > 0 ? config->classes : 1);
    f->labels = f->workload->mode == MODE_TRAIN ? labels : NULL;
}

static void autocast_begin(const struct build *build)
{
    enum precision precision = build->forward.workload->precision;
    if (precision_is_amp(precision)) {
        tape_autocast_open(build->forward.tape, precision == PRECISION_AMP_FLOAT16 ? DTYPE_FLOAT16 : DTYPE_BFLOAT16);
    }
}

/* -- infer */

static void infer(struct build *build)
{
    struct tape *tape = build->forward.tape;
    tape_stage(tape, STAGE_FORWARD);
    inputs_make(build);
    struct value *output = NULL;
    for (int i = 0; i < INFER_COUNT; i++) {
        /* The output keeps its name until the figures are taken; it goes before those of the next pass begin. */
        tape_stage_again(tape, STAGE_FORWARD);
        tape_let_go(tape, output);
        tape_stage_again(tape, STAGE_FORWARD);
        int frame = tape_frame_open(tape);
        autocast_begin(build);
        output = build->forward.config->family->forward(&build->forward);
        tape_autocast_close(tape);
        output = tape_hold(tape, tape_frame_close(tape, frame, output));
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
    autocast_begin(build);
    generate_build(&build->forward);
    tape_autocast_close(tape);
}

/* -- train */

static struct optimizer_settings settings_of(const struct build *build)
{
    enum optimizer optimizer = build->forward.workload->optimizer;
    struct optimizer_settings settings = {.learning_rate = build->plan.learning_rate,
                                          .beta1 = 0.9,
                                          .beta2 = 0.999,
                                          .epsilon = 1e-8,
                                          .momentum = 0.9,
                                          .form = OPTIMIZER_FORM_FOREACH};
    settings.sgd = optimizer == OPTIMIZER_SGD_MOMENTUM;
    settings.decoupled = optimizer == OPTIMIZER_ADAMW_FOREACH || optimizer == OPTIMIZER_ADAMW_FUSED ||
                         optimizer == OPTIMIZER_ADAMW_SINGLE;
    settings.weight_decay = settings.decoupled ? 1e-2 : 0.0; /* torch.optim's defaults */
    if (optimizer == OPTIMIZER_ADAM_FUSED || optimizer == OPTIMIZER_ADAMW_FUSED) {
        settings.form = OPTIMIZER_FORM_FUSED;
    } else if (optimizer == OPTIMIZER_ADAM_SINGLE || optimizer == OPTIMIZER_ADAMW_SINGLE) {
        settings.form = OPTIMIZER_FORM_SINGLE;
    } else if (optimizer == OPTIMIZER_ADAM_8BIT) {
        settings.form = OPTIMIZER_FORM_8BIT;
    }
    return settings;
}

static void scaler_make(struct build *build)
{
    struct tape *tape = build->forward.tape;
    if (build->forward.workload->precision != PRECISION_AMP_FLOAT16) {
        return;
    }
    int64_t one = 1;
    build->scale = tape_hold(tape, tape_leaf(tape, CATEGORY_OPTIMIZER, DTYPE_FLOAT32, 0, &one, false, "loss scale"));
    tape_fill(tape, build->scale, loss_scale);
    build->found = tape_hold(tape, tape_leaf(tape, CATEGORY_OPTIMIZER, DTYPE_FLOAT32, 0, &one, false, "found_inf"));
}

/* One micro-batch. The loss keeps its name until the next one is there, and with it the leaf of its graph. */
static void micro_batch(struct build *build, struct value **loss)
{
    struct tape *tape = build->forward.tape;
    tape_stage_again(tape, STAGE_FORWARD);
    int frame = tape_frame_open(tape);
    struct forward_leaves leaves = build->leaves;
    build->leaves.count = 0;
    autocast_begin(build);
    struct value *made = build->forward.config->family->forward(&build->forward);
    tape_autocast_close(tape);
    made = tape_hold(tape, tape_frame_close(tape, frame, made));
    tape_let_go(tape, *loss);
    tape_graphs_end(tape);
    for (int i = 0; i < leaves.count; i++) {
        tape_leaf_end(tape, leaves.values[i]);
    }
    *loss = made;
    tape_stage(tape, STAGE_BACKWARD);
    frame = tape_frame_open(tape);
    struct value *objective = made;
    int64_t accumulate = build->forward.workload->accumulate;
    if (accumulate > 1) {
        objective = tape_scale(tape, objective, 1.0 / (double)accumulate);
    }
    if (build->scale != NULL) {
        objective = tape_multiply(tape, objective, build->scale);
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
        micro_batch(build, loss);
        i += tape_cycle_turn(&cycle, count - i - 1);
    }
}

/* zero_grad(set_to_none=True): after a step's figures are taken and before the next one's begin. The stage opened here
 * is replaced by that of the next micro-batch. */
static void gradients_drop(struct build *build)
{
    tape_stage_again(build->forward.tape, STAGE_FORWARD);
    for (int i = 0; i < build->parameter_count; i++) {
        tape_gradient_drop(build->forward.tape, build->parameters[i]);
    }
}

static void train(struct build *build)
{
    struct tape *tape = build->forward.tape;
    struct optimizer_settings settings = settings_of(build);
    struct value *loss = NULL;
    tape_stage(tape, STAGE_FORWARD);
    inputs_make(build);
    scaler_make(build);
    tape_gradients(tape, true);
    tape_training(tape, true);
    for (int step = 1; step <= build->plan.step_count && !tape_failed(tape); step++) {
        gradients_drop(build);
        micro_batches(build, &loss);
        tape_stage(tape, STAGE_STEP);
        tape_gradients(tape, false);
        if (build->found != NULL) {
            tape_fill(tape, build->found, 0.0);
            tape_unscale(tape, build->parameter_count, build->parameters, 1.0 / loss_scale, build->found);
        }
        tape_optimizer_step(tape, &settings, step, build->parameter_count, build->parameters, build->states,
                            build->found);
        tape_gradients(tape, true);
    }
}

/* -- the whole */

static void case_build(struct build *build)
{
    tensors_load(build);
    enum mode mode = build->forward.workload->mode;
    if (mode == MODE_INFER) {
        infer(build);
    } else if (mode == MODE_GENERATE) {
        generate(build);
    } else if (mode == MODE_TRAIN) {
        train(build);
    }
}

static void build_release(struct build *build)
{
    free(build->forward.values);
    free(build->parameters);
    free(build->states);
    free(build->quantized);
}

/* workload: as the model takes it. bounds: of plan->form.repeats, else NULL. */
static enum status_code tape_attempt(struct build *build, const struct target *target, struct cycle_bounds *bounds,
                                     struct tape **tape, struct status *error)
{
    const struct workload *workload = build->forward.workload;
    size_t count = (size_t)build->forward.skeleton->tensor_count + 1;
    struct tape *made = NULL;
    build->forward.values = calloc(count, sizeof *build->forward.values);
    build->parameters = calloc(count, sizeof *build->parameters);
    build->states = calloc(count, sizeof *build->states);
    build->quantized = calloc(count, sizeof *build->quantized);
    build->forward.quantized = build->quantized;
    bool has_room =
        build->forward.values != NULL && build->parameters != NULL && build->states != NULL && build->quantized != NULL;
    enum status_code code = has_room ? tape_new(target, &made, error)
                                     : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape");
    if (code == STATUS_OK) {
        tape_shape(made, build->plan.form, bounds);
        build->forward.tape = made;
        build->forward.leaves = &build->leaves;
        tape_tf32(made, workload->tf32, workload->tf32 || workload->tf32_convolutions);
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

enum status_code workload_tape_planned(const struct config *config, const struct skeleton *skeleton,
                                       const struct workload *workload, const struct target *target,
                                       const struct training_plan *plan, struct tape **tape, struct status *error)
{
    struct cycle_bounds bounds = {0};
    struct workload adapted = *workload;
    if (config->family->is_image) {
        adapted.seq = 0;
    }
    if (config->family->attends_eagerly) {
        adapted.attention = ATTENTION_EAGER;
    }
    enum status_code code = workload_fit_check(config, workload, plan->form.repeats, error);
    if (code != STATUS_OK) {
        return code;
    }
    do {
        struct status why = {0};
        struct build build = {.forward = {.config = config, .skeleton = skeleton, .workload = &adapted}, .plan = *plan};
        bounds.broken = false;
        code = tape_attempt(&build, target, plan->form.repeats ? &bounds : NULL, tape, &why);
        if (code != STATUS_OK && !bounds.broken) {
            return status_set(error, code, "%s", why.text);
        }
    } while (bounds.broken);
    return code;
}

enum status_code workload_tape(const struct config *config, const struct skeleton *skeleton,
                               const struct workload *workload, const struct target *target, struct tape **tape,
                               struct status *error)
{
    struct training_plan plan = training_plan_default();
    plan.form.repeats = workload->mode == MODE_TRAIN && workload->accumulate > RECORDED_MICRO_BATCHES;
    return workload_tape_planned(config, skeleton, workload, target, &plan, tape, error);
}

enum status_code workload_tape_brief(const struct config *config, const struct skeleton *skeleton,
                                     const struct workload *workload, const struct target *target, bool with_operations,
                                     struct tape **tape, struct status *error)
{
    struct training_plan plan = training_plan_default();
    plan.form = (struct tape_form){.repeats = true, .bare = !with_operations};
    return workload_tape_planned(config, skeleton, workload, target, &plan, tape, error);
}
