/* Gradient scaler: torch.amp.GradScaler (2.11), line by line, and the lean one of assay's own loop. Its scale stays
 * what it is: growing and backing off write where they read. Not here: the step itself, which is left out where an
 * element is not finite (optimizer.c).
 *
 * Worked, torch's: scale and growth tracker, 4 bytes each from the first loss on; the scaled loss, 4, while its
 * backward pass runs; for a step a flag of 4 bytes with a copy of it, and the inverse of the scale, which is made in
 * float64 by way of two scalars of 8. All are scalars, but each takes 512 bytes of PyTorch's allocator. */
#include "harness/tape/graph.h"

/* Of a scaler in its steady state; its size in memory does not depend on it. */
static const double loss_scale = 1024.0;

static struct value *state_new(struct tape *tape, enum dtype dtype, const char *label)
{
    int64_t one = 1;
    return tape_hold(tape, tape_leaf(tape, CATEGORY_OPTIMIZER, dtype, 0, &one, false, label));
}

/* torch.full(()) */
static struct value *scalar_full(struct tape *tape, enum dtype dtype, double number, const char *label)
{
    struct shape scalar = {0};
    struct value *value = value_new(tape, dtype, &scalar, label);
    tape_fill(tape, value, number);
    return value;
}

static void scale_make(struct tape *tape, struct loss_scaler *scaler)
{
    scaler->scale = state_new(tape, DTYPE_FLOAT32, "loss scale");
    tape_fill(tape, scaler->scale, loss_scale);
    if (scaler->is_torchs) {
        scaler->growth_tracker = state_new(tape, DTYPE_INT32, "growth tracker of the loss scale");
        tape_fill(tape, scaler->growth_tracker, 0.0);
    } else {
        scaler->found = state_new(tape, DTYPE_FLOAT32, "found_inf");
    }
}

void tape_scaler_begin(struct tape *tape, struct loss_scaler *scaler)
{
    if (!scaler->is_torchs) {
        scale_make(tape, scaler);
    }
}

struct value *tape_scaler_scale(struct tape *tape, struct loss_scaler *scaler, struct value *loss)
{
    if (scaler->scale == NULL) {
        scale_make(tape, scaler);
    }
    return tape_multiply(tape, loss, scaler->scale);
}

/* gradient *= 1 / scale for all parameters; found = 1 if any is not finite. */
static void unscale_run(struct tape *tape, int count, struct value *const *parameters, struct value *found)
{
    struct operation_attributes attributes = attributes_f(1.0 / loss_scale, 0.0);
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (parameters[i]->gradient != NULL) {
            struct value *values[] = {parameters[i]->gradient, found};
            tape_run(tape, OPCODE_UNSCALE, &attributes, 0, 2, values);
        }
    }
}

/* self._scale.double().reciprocal().float(); the tape has no float64, and 8 bytes are 8 bytes. */
static struct value *inverse_make(struct tape *tape)
{
    struct value *wide = scalar_full(tape, DTYPE_INT64, loss_scale, "loss scale, in float64");
    struct value *reciprocal = scalar_full(tape, DTYPE_INT64, 0.0, "inverse of the loss scale, in float64");
    tape_drop(tape, wide);
    struct value *inverse = scalar_full(tape, DTYPE_FLOAT32, 1.0 / loss_scale, "inverse of the loss scale");
    tape_drop(tape, reciprocal);
    return inverse;
}

void tape_scaler_unscale(struct tape *tape, struct loss_scaler *scaler, int count, struct value *const *parameters,
                         bool optimizer_unscales)
{
    if (!scaler->is_torchs) {
        tape_fill(tape, scaler->found, 0.0);
        unscale_run(tape, count, parameters, scaler->found);
        return;
    }
    int frame = tape_frame_open(tape);
    struct value *inverse =
        optimizer_unscales ? scalar_full(tape, DTYPE_FLOAT32, 1.0, "inverse of no loss scale") : inverse_make(tape);
    struct value *flag = scalar_full(tape, DTYPE_FLOAT32, 0.0, "found_inf");
    /* _MultiDeviceReplicator copies both to the device on which they are. */
    scaler->found = tape_hold(tape, make_copy(tape, flag, DTYPE_FLOAT32, "found_inf of the device"));
    struct value *copy = make_copy(tape, inverse, DTYPE_FLOAT32, "inverse of the loss scale, of the device");
    unscale_run(tape, count, parameters, scaler->found);
    tape_drop(tape, copy);
    tape_drop(tape, inverse);
    tape_drop(tape, flag);
    tape_frame_close(tape, frame, NULL);
}

struct scaler_loan tape_scaler_lend(struct tape *tape, const struct loss_scaler *scaler, bool is_unscaled)
{
    struct scaler_loan loan = {NULL, NULL};
    loan.found = make_scale(tape, scaler->found, 1.0, 0.0); /* sum() of a list of one, which begins with 0 */
    if (!is_unscaled) {
        loan.scale = make_scale(tape, scaler->scale, 1.0, 0.0);
    }
    return loan;
}

void tape_scaler_take_back(struct tape *tape, struct scaler_loan loan)
{
    tape_drop(tape, loan.scale);
    tape_drop(tape, loan.found);
}

void tape_scaler_update(struct tape *tape, struct loss_scaler *scaler)
{
    if (scaler->is_torchs) {
        tape_let_go(tape, scaler->found);
        scaler->found = NULL;
    }
}
