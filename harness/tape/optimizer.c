/* Optimizer steps: what each form of torch.optim's Adam, AdamW and SGD takes and computes.
 *
 * foreach: a square root of every second moment lives at once. single: one parameter's at a time, twice its size.
 * fused: nothing but the states. Not here: learning-rate schedules, gradient clipping. */
#include "harness/base/arena.h"
#include "harness/tape/graph.h"

#include <math.h>

static struct value *state_new(struct tape *tape, struct value *like, const char *label)
{
    struct value *state = value_new_in(tape, CATEGORY_OPTIMIZER, like->dtype, &like->shape, label);
    tape_fill(tape, state, 0.0);
    return tape_hold(tape, state);
}

static void state_make(struct tape *tape, const struct optimizer_settings *settings, struct value *parameter,
                       struct optimizer_state *state)
{
    if (state->first != NULL || settings->sgd) {
        return;
    }
    if (settings->form == OPTIMIZER_FORM_FUSED) {
        struct shape scalar = {0};
        struct value *step = value_new_in(tape, CATEGORY_OPTIMIZER, DTYPE_FLOAT32, &scalar, "step");
        tape_fill(tape, step, 0.0);
        state->step = tape_hold(tape, step);
    }
    state->first = state_new(tape, parameter, "exp_avg");
    state->second = state_new(tape, parameter, "exp_avg_sq");
}

static void moments_run(struct tape *tape, const struct optimizer_settings *settings, struct value *parameter,
                        const struct optimizer_state *state, struct value *found)
{
    struct operation_attributes attributes = attributes_f(settings->beta1, settings->beta2);
    struct value *values[] = {parameter->gradient, found, state->first, state->second};
    if (found == NULL) {
        struct value *fewer[] = {parameter->gradient, state->first, state->second};
        tape_run(tape, OPCODE_ADAM_MOMENTS, &attributes, 1, 3, fewer);
        return;
    }
    tape_run(tape, OPCODE_ADAM_MOMENTS, &attributes, 2, 4, values);
}

/* In place: root = root / sqrt(1 - beta2^n) + epsilon. */
static void denominator_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number,
                            struct value *root)
{
    double correction = sqrt(1.0 - pow(settings->beta2, (double)number));
    struct operation_attributes attributes = attributes_f(1.0 / correction, settings->epsilon);
    struct value *values[] = {root, root};
    tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, values);
}

static void apply_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number,
                      struct value *parameter, const struct optimizer_state *state, struct value *root,
                      struct value *found)
{
    double step_size = settings->learning_rate / (1.0 - pow(settings->beta1, (double)number));
    struct operation_attributes attributes = attributes_f(step_size, 0.0);
    if (found == NULL) {
        struct value *values[] = {state->first, root, parameter};
        tape_run(tape, OPCODE_ADAM_APPLY, &attributes, 2, 3, values);
    } else {
        struct value *values[] = {state->first, root, found, parameter};
        tape_run(tape, OPCODE_ADAM_APPLY, &attributes, 3, 4, values);
    }
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
    struct value *values[5] = {parameter->gradient};
    int inputs = 1;
    if (found != NULL) {
        values[inputs++] = found;
    }
    values[inputs] = parameter;
    values[inputs + 1] = state->first;
    values[inputs + 2] = state->second;
    tape_run(tape, OPCODE_ADAM, &attributes, inputs, inputs + 3, values);
}

static void single_run(struct tape *tape, const struct optimizer_settings *settings, int64_t number,
                       struct value *parameter, const struct optimizer_state *state, struct value *found)
{
    int frame = tape_frame_open(tape);
    decay_run(tape, settings, parameter);
    moments_run(tape, settings, parameter, state, found);
    /* (exp_avg_sq.sqrt() / correction).add_(epsilon): the root and the quotient exist together for a moment. */
    struct value *root = make_unary(tape, OPCODE_SQUARE_ROOT, NULL, state->second);
    double correction = sqrt(1.0 - pow(settings->beta2, (double)number));
    struct value *denominator = make_scale(tape, root, 1.0 / correction, settings->epsilon);
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
        }
    }
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (roots[i] != NULL) {
            denominator_run(tape, settings, number, roots[i]);
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
    if (state->first == NULL) {
        /* torch.clone(grad).detach(): the buffer starts as the gradient; here it is 0 * momentum + gradient. */
        state->first = state_new(tape, parameter, "momentum_buffer");
    }
    struct operation_attributes attributes = attributes_f(settings->learning_rate, settings->momentum);
    struct value *values[4] = {parameter->gradient};
    int inputs = 1;
    if (found != NULL) {
        values[inputs++] = found;
    }
    values[inputs] = parameter;
    values[inputs + 1] = state->first;
    tape_run(tape, OPCODE_SGD_MOMENTUM, &attributes, inputs, inputs + 2, values);
}

void tape_optimizer_step(struct tape *tape, const struct optimizer_settings *settings, int64_t number, int count,
                         struct value *const *parameters, struct optimizer_state *states, struct value *found)
{
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient != NULL) {
            state_make(tape, settings, parameters[i], &states[i]);
        }
    }
    bool each = settings->sgd || settings->form != OPTIMIZER_FORM_FOREACH;
    for (int i = 0; each && i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient == NULL) {
            continue;
        }
        if (settings->sgd) {
            sgd_run(tape, settings, parameters[i], &states[i], found);
        } else if (settings->form == OPTIMIZER_FORM_FUSED) {
            fused_run(tape, settings, number, parameters[i], &states[i], found);
        } else {
            single_run(tape, settings, number, parameters[i], &states[i], found);
        }
    }
    if (!each && !tape_failed(tape)) {
        foreach_run(tape, settings, number, count, parameters, states, found);
    }
}

void tape_unscale(struct tape *tape, int count, struct value *const *parameters, double factor, struct value *found)
{
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient != NULL) {
            struct operation_attributes attributes = attributes_f(factor, 0.0);
            struct value *values[] = {parameters[i]->gradient, found};
            tape_run(tape, OPCODE_UNSCALE, &attributes, 0, 2, values);
        }
    }
}
