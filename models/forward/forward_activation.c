/* Activation functions and soft caps, each in the operations that transformers makes it of. */
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"

/* 0.5 * x * (1.0 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3.0)))), operation by operation. */
static struct value *gelu_composed(struct tape *tape, struct value *x)
{
    int frame = tape_frame_open(tape);
    struct value *half = tape_scale(tape, x, 0.5);
    struct value *inner = tape_power(tape, x, 3.0);
    value_rebind(tape, &inner, tape_scale(tape, inner, 0.044715));
    value_rebind(tape, &inner, tape_add(tape, x, inner));
    value_rebind(tape, &inner, tape_scale(tape, inner, 0.79788456080286535588));
    value_rebind(tape, &inner, tape_tanh(tape, inner));
    value_rebind(tape, &inner, tape_add_number(tape, inner, 1.0));
    return tape_frame_close(tape, frame, tape_multiply(tape, half, inner));
}

/* 0.5 * x * (1.0 + tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x))), likewise. */
static struct value *gelu_fast_composed(struct tape *tape, struct value *x)
{
    int frame = tape_frame_open(tape);
    struct value *half = tape_scale(tape, x, 0.5);
    struct value *outer = tape_scale(tape, x, 0.7978845608);
    struct value *inner = tape_scale(tape, x, 0.044715);
    value_rebind(tape, &inner, tape_multiply(tape, inner, x));
    value_rebind(tape, &inner, tape_add_number(tape, inner, 1.0));
    struct value *product = tape_multiply(tape, outer, inner);
    tape_drop(tape, inner);
    tape_drop(tape, outer);
    value_rebind(tape, &product, tape_tanh(tape, product));
    value_rebind(tape, &product, tape_add_number(tape, product, 1.0));
    return tape_frame_close(tape, frame, tape_multiply(tape, half, product));
}

struct value *forward_cap(struct tape *tape, struct value *x, double cap)
{
    value_rebind(tape, &x, tape_scale(tape, x, 1.0 / cap));
    value_rebind(tape, &x, tape_tanh(tape, x));
    value_rebind(tape, &x, tape_scale(tape, x, cap));
    return x;
}

struct value *forward_activation(const struct forward *forward, enum activation activation, struct value *a)
{
    struct tape *tape = forward->tape;
    struct value *result = NULL;
    switch (activation) {
    case ACTIVATION_GELU:
        result = tape_gelu(tape, a, false);
        break;
    case ACTIVATION_GELU_TANH:
        result = tape_gelu(tape, a, true);
        break;
    case ACTIVATION_GELU_NEW:
        result = gelu_composed(tape, a);
        break;
    case ACTIVATION_GELU_FAST:
        result = gelu_fast_composed(tape, a);
        break;
    case ACTIVATION_SILU:
        result = tape_silu(tape, a);
        break;
    case ACTIVATION_RELU:
        result = tape_relu(tape, a);
        break;
    }
    tape_drop(tape, a);
    return result;
}

struct value *forward_activation_module(const struct forward *f, const char *path, struct value *a)
{
    struct module_visit visit = module_enter(f, path);
    struct value *here = module_argument(f, visit, a);
    struct value *out = module_leave(f, visit, forward_activation(f, f->config->activation, here));
    if (here != a) {
        tape_drop(f->tape, a);
    }
    return out;
}

struct value *layer_activation(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_activation_module(layer->forward, path, a);
}

struct value *forward_dropout(const struct forward *f, const char *path, struct value *a, double probability)
{
    struct module_visit visit = module_enter(f, path);
    struct value *here = module_argument(f, visit, a);
    return module_leave(f, visit, tape_dropout(f->tape, here, probability));
}

struct value *layer_dropout(const struct forward_layer *layer, const char *name, struct value *a, double probability)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    value_rebind(layer->forward->tape, &a, forward_dropout(layer->forward, path, a, probability));
    return a;
}
