/* Adafactor steps: what torch.optim's (2.11, its default form, parameter by parameter) and transformers' (5.23, as its
 * Trainer sets it up: scale_parameter and relative_step false, no first moment) take and give back, line by line. A
 * matrix has one moment for each row and each column, a vector one for each element.
 *
 * Only storages are recorded, no arithmetic: the rate of each step depends on norms that the program reads back, which
 * a tape does not. So such a tape is predicted and not run.
 *
 * Temporaries are the parameter's size and more, and a name of Python's keeps the last parameter's until the next one's
 * replaces it. torch: the estimate of the variance, which becomes the update. transformers: the square of the gradient
 * and that plus epsilon; then that and the update; then the update and its negative. Of 16 bits transformers takes
 * copies in float32 of gradient and parameter first, and its states are float32. */
#include "harness/tape/graph.h"

/* torch: every dimension but the last, and every one but the last but one. */
static struct shape without(const struct shape *shape, int from_end, bool keeps)
{
    struct shape made = *shape;
    int at = shape->rank - 1 - from_end;
    made.size[at] = 1;
    for (int i = at; i + 1 < shape->rank && !keeps; i++) {
        made.size[i] = made.size[i + 1];
    }
    made.rank -= keeps ? 0 : 1;
    return made;
}

void adafactor_state_make(struct tape *tape, bool transformers, const struct value *parameter,
                          struct optimizer_state *state)
{
    enum dtype dtype = transformers ? DTYPE_FLOAT32 : parameter->gradient->dtype;
    const struct shape *shape = &parameter->gradient->shape;
    if (shape->rank < 2) {
        state->first = optimizer_state_new(tape, parameter, dtype, shape, transformers ? "exp_avg_sq" : "variance");
        return;
    }
    struct shape rows = without(shape, 0, !transformers), columns = without(shape, 1, !transformers);
    state->first = optimizer_state_new(tape, parameter, dtype, &rows, transformers ? "exp_avg_sq_row" : "row_var");
    state->second = optimizer_state_new(tape, parameter, dtype, &columns, transformers ? "exp_avg_sq_col" : "col_var");
}

/* Names that live from one parameter to the next. */
struct names {
    struct value *gradient, *parameter; /* float32 copies, or NULL */
    struct value *row_mean, *col_mean;  /* of torch's */
    struct value *grad_squared;
    struct value *update; /* torch's var_estimate is the same tensor */
};

static void name_set(struct tape *tape, struct value **name, struct value *value)
{
    tape_drop(tape, *name);
    *name = value;
}

static void scalar_pass(struct tape *tape, enum dtype dtype)
{
    struct shape scalar = {0};
    tape_drop(tape, value_new(tape, dtype, &scalar, "norm"));
}

static void torch_run(struct tape *tape, const struct value *parameter, struct names *names)
{
    enum dtype dtype = parameter->gradient->dtype;
    const struct shape *shape = &parameter->gradient->shape;
    scalar_pass(tape, parameter->dtype); /* param.norm(2).item() */
    if (shape->rank > 1) {
        struct shape rows = without(shape, 0, true), columns = without(shape, 1, true), means = rows;
        name_set(tape, &names->row_mean, value_new(tape, dtype, &rows, "row_mean"));
        name_set(tape, &names->col_mean, value_new(tape, dtype, &columns, "col_mean"));
        struct value *estimate = value_new(tape, dtype, shape, "var_estimate");
        means.size[means.rank - 2] = 1;
        tape_drop(tape, value_new(tape, dtype, &means, "mean of row_var"));
        name_set(tape, &names->update, estimate);
    } else {
        name_set(tape, &names->grad_squared, value_new(tape, dtype, shape, "grad_squared"));
        name_set(tape, &names->update, value_new(tape, dtype, shape, "var_estimate"));
    }
    value_belongs(tape, names->update, parameter);
    scalar_pass(tape, dtype); /* update.norm(2).item() */
}

/* _approx_sq_grad */
static struct value *factors_multiply(struct tape *tape, const struct value *parameter,
                                      const struct optimizer_state *state)
{
    struct shape mean = state->first->shape;
    mean.size[mean.rank - 1] = 1;
    struct value *means = value_new(tape, DTYPE_FLOAT32, &mean, "mean of exp_avg_sq_row");
    struct value *r_factor = value_new(tape, DTYPE_FLOAT32, &state->first->shape, "r_factor");
    tape_drop(tape, means);
    struct value *c_factor = value_new(tape, DTYPE_FLOAT32, &state->second->shape, "c_factor");
    struct value *product = value_new(tape, DTYPE_FLOAT32, &parameter->shape, "update");
    tape_drop(tape, r_factor);
    tape_drop(tape, c_factor);
    return product;
}

static void transformers_run(struct tape *tape, const struct value *parameter, struct optimizer_state *state,
                             struct names *names)
{
    const struct shape *shape = &parameter->shape;
    struct shape scalar = {0};
    name_set(tape, &names->gradient, NULL);
    if (parameter->dtype != DTYPE_FLOAT32) {
        names->gradient = value_new(tape, DTYPE_FLOAT32, shape, "gradient, as float32");
    }
    if (state->first == NULL) {
        adafactor_state_make(tape, true, parameter, state);
    }
    name_set(tape, &names->parameter, NULL);
    if (parameter->dtype != DTYPE_FLOAT32) {
        names->parameter = value_new(tape, DTYPE_FLOAT32, shape, "parameter, as float32");
    }
    struct value *norm = value_new(tape, DTYPE_FLOAT32, &scalar, "norm");
    struct value *rms = value_new_in(tape, CATEGORY_OPTIMIZER, DTYPE_FLOAT32, &scalar, "RMS");
    tape_drop(tape, norm);
    tape_let_go(tape, state->step);
    state->step = tape_hold(tape, rms);
    struct value *square = value_new(tape, DTYPE_FLOAT32, shape, "square of the gradient");
    struct value *shifted = value_new(tape, DTYPE_FLOAT32, shape, "square of the gradient, and epsilon");
    tape_drop(tape, square);
    name_set(tape, &names->update, shifted);
    if (shape->rank > 1) {
        tape_drop(tape, value_new(tape, DTYPE_FLOAT32, &state->first->shape, "mean of rows"));
        tape_drop(tape, value_new(tape, DTYPE_FLOAT32, &state->second->shape, "mean of columns"));
        name_set(tape, &names->update, factors_multiply(tape, parameter, state));
    } else {
        name_set(tape, &names->update, value_new(tape, DTYPE_FLOAT32, shape, "update"));
    }
    value_belongs(tape, names->update, parameter);
    norm = value_new(tape, DTYPE_FLOAT32, &scalar, "norm");
    rms = value_new(tape, DTYPE_FLOAT32, &scalar, "RMS of the update");
    tape_drop(tape, norm);
    struct value *quotient = value_new(tape, DTYPE_FLOAT32, &scalar, "RMS by threshold");
    tape_drop(tape, rms);
    tape_drop(tape, quotient);
    tape_drop(tape, value_new(tape, DTYPE_FLOAT32, shape, "negative update"));
}

void adafactor_run(struct tape *tape, bool transformers, int count, struct value *const *parameters,
                   struct optimizer_state *states)
{
    tape->not_run = transformers ? "transformers' Adafactor" : "torch.optim.Adafactor";
    struct names names = {0};
    int frame = tape_frame_open(tape);
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient == NULL) {
            continue;
        }
        if (transformers) {
            transformers_run(tape, parameters[i], &states[i], &names);
        } else {
            torch_run(tape, parameters[i], &names);
        }
    }
    /* Python lets go of its names in the order in which they appear. */
    struct value *const order[] = {names.gradient, names.parameter,    names.row_mean,
                                   names.col_mean, names.grad_squared, names.update};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        tape_drop(tape, order[i]);
    }
    tape_frame_close(tape, frame, NULL);
}
