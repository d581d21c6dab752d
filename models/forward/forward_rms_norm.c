/* RMSNorm, operation by operation as modeling_llama and modeling_gemma write it, because each of them saves what it
 * needs. */
#include <stdio.h>

#include "models/forward/forward.h"
#include "models/forward/module_visit.h"

struct value *forward_rms_norm_with(const struct forward *f, const char *path, struct value *input, double epsilon)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, path);
    struct value *weight = part_value(f, path, "weight");
    input = module_argument(f, visit, input);
    int frame = tape_frame_open(tape);
    struct value *hidden = tape_cast(tape, input, DTYPE_FLOAT32);
    struct value *square = tape_power(tape, hidden, 2.0);
    struct value *variance = tape_mean_last(tape, square);
    tape_drop(tape, square);
    struct value *shifted = tape_add_number(tape, variance, epsilon);
    struct value *root = tape_reciprocal_root(tape, shifted);
    tape_drop(tape, shifted);
    struct value *scaled = tape_multiply(tape, hidden, root);
    tape_drop(tape, root);
    value_rebind(tape, &hidden, scaled);
    struct value *back = tape_cast(tape, hidden, value_dtype(input));
    struct value *result = tape_multiply(tape, weight, back);
    return module_leave(f, visit, tape_frame_close(tape, frame, result));
}

/* GemmaRMSNorm._norm: nothing in between has a name. */
static struct value *normalise(const struct forward *f, struct value *hidden)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *made = tape_power(tape, hidden, 2.0);
    value_rebind(tape, &made, tape_mean_last(tape, made));
    value_rebind(tape, &made, tape_add_number(tape, made, f->config->norm_epsilon));
    value_rebind(tape, &made, tape_reciprocal_root(tape, made));
    value_rebind(tape, &made, tape_multiply(tape, hidden, made));
    return tape_frame_close(tape, frame, made);
}

/* (1 + weight) * (x * rsqrt(mean(x^2) + epsilon)), all of it in float32: GemmaRMSNorm. */
static struct value *rms_norm_shifted(const struct forward *f, const char *path, struct value *input)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, path);
    struct value *kept = part_value(f, path, "weight");
    input = module_argument(f, visit, input);
    int frame = tape_frame_open(tape);
    struct value *wide = tape_cast(tape, input, DTYPE_FLOAT32);
    struct value *output = normalise(f, wide);
    if (wide != input) {
        tape_drop(tape, wide);
    }
    struct value *weight = tape_cast(tape, kept, DTYPE_FLOAT32);
    struct value *factor = tape_add_number(tape, weight, 1.0);
    if (value_dtype(input) != DTYPE_FLOAT32) {
        tape_drop(tape, weight);
    }
    value_rebind(tape, &output, tape_multiply(tape, output, factor));
    tape_drop(tape, factor);
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_cast(tape, output, value_dtype(input))));
}

struct value *forward_rms_norm(const struct forward *f, const char *path, struct value *input)
{
    return f->config->shifted_norms ? rms_norm_shifted(f, path, input)
                                    : forward_rms_norm_with(f, path, input, f->config->norm_epsilon);
}

struct value *forward_rms_norm_promoted(const struct forward *f, const char *path, struct value *input)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, path);
    struct value *weight = part_value(f, path, "weight");
    input = module_argument(f, visit, input);
    int frame = tape_frame_open(tape);
    int inner = tape_frame_open(tape);
    struct value *wide = tape_cast(tape, input, DTYPE_FLOAT32);
    struct value *square = tape_power(tape, wide, 2.0);
    tape_drop(tape, wide);
    struct value *variance = tape_frame_close(tape, inner, tape_mean_last(tape, square));
    struct value *root = tape_add_number(tape, variance, f->config->norm_epsilon);
    value_rebind(tape, &root, tape_reciprocal_root(tape, root));
    struct value *hidden = tape_multiply(tape, input, root);
    tape_drop(tape, root);
    if (weight != NULL && value_dtype(weight) != DTYPE_FLOAT32) {
        value_rebind(tape, &hidden, tape_cast(tape, hidden, value_dtype(weight)));
    }
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_multiply(tape, weight, hidden)));
}

struct value *layer_rms_norm(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_rms_norm(layer->forward, path, a);
}

struct value *layer_rms_norm_promoted(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_rms_norm_promoted(layer->forward, path, a);
}
