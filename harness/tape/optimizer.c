/* Optimizer steps: what each form of torch.optim's Adam, AdamW and SGD takes and computes.
 *
 * foreach: a square root of every second moment lives at once. single: one parameter's at a time, twice its size.
 * fused: nothing but the states; those of bitsandbytes: likewise, and see optimizer_bitsandbytes.c. Not here:
 * learning-rate schedules, gradient clipping. */
#include "harness/base/arena.h"
#include "harness/tape/graph.h"

#include <math.h>

static bool is_bitsandbytes(const struct optimizer_settings *settings)
{
    return settings->form == OPTIMIZER_FORM_8BIT || settings->form == OPTIMIZER_FORM_32BIT;
}

static void state_make(struct tape *tape, const struct optimizer_settings *settings, struct value *parameter,
                       struct optimizer_state *state)
{
    if (state->first != NULL || state->is_managed || settings->sgd) {
        return;
    }
    if (settings->form == OPTIMIZER_FORM_ADAFACTOR_TORCH) {
        adafactor_state_make(tape, false, parameter, state);
        return;
    }
    if (is_bitsandbytes(settings)) {
        bitsandbytes_state_make(tape, settings, parameter, state);
        return;
    }
    if (settings->form == OPTIMIZER_FORM_FUSED) {
        struct shape scalar = {0};
        state->step = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &scalar, "step");
    }
    state->first = optimizer_state_new(tape, parameter, parameter->dtype, &parameter->shape, "exp_avg");
    state->second = optimizer_state_new(tape, parameter, parameter->dtype, &parameter->shape, "exp_avg_sq");
}

/* Runs opcode over what is read, then found if there is a gradient scaler, then what is updated. */
static void update_run(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                       int read_count, struct value *const *read, struct value *found, int updated_count,
                       struct value *const *updated)
{
    struct value *values[6];
    int count = 0;
    for (int i = 0; i < read_count; i++) {
        values[count++] = read[i];
    }
    if (found != NULL) {
        values[count++] = found;
    }
    int inputs = count;
    for (int i = 0; i < updated_count; i++) {
        values[count++] = updated[i];
    }
    tape_run(tape, opcode, attributes, inputs, count, values);
}

static void moments_run(struct tape *tape, const struct optimizer_settings *settings, struct value *parameter,
                        const struct optimizer_state *state, struct value *found)
{
    struct operation_attributes attributes = attributes_f(settings->beta1, settings->beta2);
    struct value *updated[] = {state->first, state->second};
    update_run(tape, OPCODE_ADAM_MOMENTS, &attributes, 1, &parameter->gradient, found, 2, updated);
}

/* root / sqrt(1 - beta2^n) + epsilon, as factor and summand. */
static struct operation_attributes denominator_of(const struct optimizer_settings *settings, int64_t number)
{
    return attributes_f(1.0 / sqrt(1.0 - pow(settings->beta2, (double)number)), settings->epsilon);
}

static void apply_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number,
                      struct value *parameter, const struct optimizer_state *state, struct value *denominator,
                      struct value *found)
{
    double step_size = settings->learning_rate / (1.0 - pow(settings->beta1, (double)number));
    struct operation_attributes attributes = attributes_f(step_size, 0.0);
    struct value *read[] = {state->first, denominator};
    update_run(tape, OPCODE_ADAM_APPLY, &attributes, 2, read, found, 1, &parameter);
}

static void decay_run(struct tape *tape, const struct optimizer_settings *settings, struct value *parameter)
{
    if (settings->decoupled && settings->weight_decay != 0.0) {
        struct operation_attributes attributes =
            attributes_f(1.0 - settings->learning_rate * settings->weight_decay, 0.0);
        struct value *values[] = {parameter, parameter};
        tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, values);
    }
}

static void fused_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number,
                      struct value *parameter, const struct optimizer_state *state, struct value *found)
{
    struct operation_attributes attributes = {
        .f = {settings->learning_rate, settings->beta1, settings->beta2, settings->epsilon, settings->weight_decay},
        .i = {settings->decoupled ? 1 : 0, number}};
    if (is_bitsandbytes(settings)) {
        bitsandbytes_run(tape, &attributes, parameter, state, found);
        return;
    }
    struct value *updated[] = {parameter, state->first, state->second};
    update_run(tape, OPCODE_ADAM, &attributes, 1, &parameter->gradient, found, 3, updated);
}

static void single_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number,
                       struct value *parameter, const struct optimizer_state *state, struct value *found)
{
    int frame = tape_frame_open(tape);
    decay_run(tape, settings, parameter);
    moments_run(tape, settings, parameter, state, found);
    /* (exp_avg_sq.sqrt() / correction).add_(epsilon): the root and the quotient exist together for a moment. */
    struct value *root = make_unary(tape, OPCODE_SQUARE_ROOT, NULL, state->second);
    value_belongs(tape, root, parameter);
    struct operation_attributes attributes = denominator_of(settings, number);
    struct value *denominator = make_unary(tape, OPCODE_AFFINE, &attributes, root);
    value_belongs(tape, denominator, parameter);
    tape_drop(tape, root);
    apply_run(tape, settings, number, parameter, state, denominator, found);
    tape_frame_close(tape, frame, NULL);
}

static void foreach_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number, int count,
                        struct value *const *parameters, struct optimizer_state *states, struct value *found)
{
    int frame = tape_frame_open(tape);
    struct value **roots = arena_alloc(&tape->arena, sizeof *roots * (size_t)(count > 0 ? count : 1));
    if (roots == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for an optimizer step");
        return;
    }
    for (int i = 0; i < count; i++) {
        if (parameters[i]->gradient != NULL) {
            decay_run(tape, settings, parameters[i]);
            moments_run(tape, settings, parameters[i], &states[i], found);
        }
    }
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient != NULL) {
            roots[i] = make_unary(tape, OPCODE_SQUARE_ROOT, NULL, states[i].second);
            value_belongs(tape, roots[i], parameters[i]);
        }
    }
    struct operation_attributes denominator = denominator_of(settings, number);
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (roots[i] != NULL) {
            struct value *in_place[] = {roots[i], roots[i]};
            tape_run(tape, OPCODE_AFFINE, &denominator, 1, 2, in_place);
            apply_run(tape, settings, number, parameters[i], &states[i], roots[i], found);
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        tape_drop(tape, roots[i]);
    }
    tape_frame_close(tape, frame, NULL);
}

static void sgd_run(struct tape *tape, const struct optimizer_settings *settings, struct value *parameter,
                    struct optimizer_state *state, struct value *found)
{
    if (settings->momentum == 0.0) {
        struct operation_attributes attributes = attributes_f(settings->learning_rate, 0.0);
        update_run(tape, OPCODE_SGD, &attributes, 1, &parameter->gradient, found, 1, &parameter);
        return;
    }
    if (state->first == NULL) {
        /* torch.clone(grad).detach(): the buffer starts as the gradient; here it is 0 * momentum + gradient. */
        state->first = optimizer_state_new(tape, parameter, parameter->dtype, &parameter->shape, "momentum_buffer");
    }
    struct operation_attributes attributes = attributes_f(settings->learning_rate, settings->momentum);
    struct value *updated[] = {parameter, state->first};
    update_run(tape, OPCODE_SGD_MOMENTUM, &attributes, 1, &parameter->gradient, found, 2, updated);
}

void tape_optimizer_step(struct tape *tape, const struct optimizer_settings *settings, int64_t number, int count,
                         struct value *const *parameters, struct optimizer_state *states, struct value *found)
{
    bool transformers = settings->form == OPTIMIZER_FORM_ADAFACTOR_TRANSFORMERS;
    for (int i = 0; i < count && !tape_failed(tape) && !transformers; i++) {
        if (parameters[i]->gradient != NULL) {
            state_make(tape, settings, parameters[i], &states[i]);
        }
    }
    if (transformers || settings->form == OPTIMIZER_FORM_ADAFACTOR_TORCH) {
        adafactor_run(tape, transformers, count, parameters, states);
        return;
    }
    bool each = settings->sgd || settings->form != OPTIMIZER_FORM_FOREACH;
    for (int i = 0; each && i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient == NULL) {
            continue;
        }
        if (settings->sgd) {
            sgd_run(tape, settings, parameters[i], &states[i], found);
        } else if (settings->form != OPTIMIZER_FORM_SINGLE) {
            fused_run(tape, settings, number, parameters[i], &states[i], found);
        } else {
            single_run(tape, settings, number, parameters[i], &states[i], found);
        }
    }
    if (!each && !tape_failed(tape)) {
        foreach_run(tape, settings, number, count, parameters, states, found);
    }
}
