/* Rotary position embeddings, operation by operation as modeling_llama writes them. Not the fused form of libraries. */
#include "models/forward/rotary.h"

#include <stdio.h>

#include "models/forward/module_visit.h"

void rotary_buffers(struct skeleton_builder *builder, const char *name, int64_t dim, double theta)
{
    const struct buffer_kind frequencies = {
        .dtype = DTYPE_FLOAT32, .keeps_dtype = true, .initial = INITIAL_INVERSE_FREQUENCY, .constant = theta};
    const int64_t half[] = {dim / 2};
    char path[64];
    snprintf(path, sizeof path, "%sinv_freq", name);
    builder_buffer(builder, path, &frequencies, 1, half);
    snprintf(path, sizeof path, "%soriginal_inv_freq", name);
    builder_buffer(builder, path, &frequencies, 1, half);
}

/* cat(-x2, x1) of the two halves of the last dimension. */
static struct value *rotate_half(struct tape *tape, struct value *x)
{
    int frame = tape_frame_open(tape);
    int64_t half = value_size(x, -1) / 2;
    struct value *first = tape_slice(tape, x, -1, 0, half);
    struct value *second = tape_slice(tape, x, -1, half, half);
    struct value *negative = tape_scale(tape, second, -1.0);
    return tape_frame_close(tape, frame, tape_concatenate(tape, negative, first, -1));
}

struct value *rotary_turn(const struct forward_layer *layer, struct value *x)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *straight = tape_multiply(tape, x, layer->cosine);
    struct value *turned = rotate_half(tape, x);
    value_rebind(tape, &turned, tape_multiply(tape, turned, layer->sine));
    return tape_frame_close(tape, frame, tape_add(tape, straight, turned));
}

struct rotary_cut rotary_cut(const struct forward_layer *layer, struct value *x)
{
    struct tape *tape = layer->forward->tape;
    int64_t dim = value_size(layer->cosine, -1), width = value_size(x, -1);
    /* x[..., :D] is all of x: Python's indexing makes an alias of it, which is a node of its own, and no slice. */
    struct value *turning = dim == width ? tape_alias(tape, x) : tape_slice(tape, x, -1, 0, dim);
    return (struct rotary_cut){turning, tape_slice(tape, x, -1, dim, width - dim)};
}

struct value *rotary_join(const struct forward_layer *layer, struct value *turned, struct value *passing)
{
    return tape_concatenate(layer->forward->tape, turned, passing, -1);
}

void rotary_make(struct forward_layer *layer, const char *root, const char *buffer, struct value *like,
                 struct value *positions)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool gradients = tape_gradients_enabled(tape);
    tape_gradients(tape, false);
    char module[64];
    snprintf(module, sizeof module, "%srotary_emb", root);
    struct module_visit visit = module_enter(f, module);
    int frame = tape_frame_open(tape);
    module_argument(f, visit, like); /* it goes along as an argument: its dtype is what is wanted of it */
    positions = module_argument(f, visit, positions);
    int64_t batch = value_size(positions, 0);
    int64_t column[] = {batch, value_size(f->ids, 1), 1};
    struct value *places = tape_cast(tape, tape_reshape(tape, positions, 3, column), DTYPE_FLOAT32);
    struct value *angles = tape_multiply(tape, places, forward_tensor(f, "%s%s", root, buffer));
    tape_drop(tape, places);
    struct value *both = tape_concatenate(tape, angles, angles, -1);
    struct value *cosine = tape_cosine(tape, both, 1.0);
    value_rebind(tape, &cosine, tape_scale(tape, cosine, 1.0));
    struct value *sine = tape_sine(tape, both, 1.0);
    value_rebind(tape, &sine, tape_scale(tape, sine, 1.0));
    layer->cosine = tape_hold(tape, tape_cast(tape, cosine, value_dtype(like)));
    layer->sine = tape_hold(tape, tape_cast(tape, sine, value_dtype(like)));
    tape_frame_close(tape, frame, NULL);
    module_leave(f, visit, NULL);
    tape_gradients(tape, gradients);
    /* one for all heads */
    int64_t wide[] = {batch, 1, value_size(f->ids, 1), f->config->rotary_dim};
    cosine = layer->cosine;
    sine = layer->sine;
    layer->cosine = tape_reshape(tape, cosine, 4, wide);
    layer->sine = tape_reshape(tape, sine, 4, wide);
    tape_let_go(tape, cosine);
    tape_let_go(tape, sine);
}

bool rotary_is_of_layers(const struct forward *forward)
{
    return forward_has(forward, RELEASE_ROTARY_INDEXED) || forward_has(forward, RELEASE_ROTARY_IN_LAYERS);
}

/* Of the bare model, in which the module of the frequencies is. */
static const char *root_of(const struct forward *forward)
{
    return forward_is_bare(forward) ? "" : "model.";
}

/* cos[position_ids].unsqueeze(1), cos being a buffer of all positions. We write the numbers instead of looking them
 * up. */
static struct value *rotary_look_up(const struct forward_layer *layer, struct value *like, bool sine)
{
    const struct forward *f = layer->forward;
    struct value *positions = layer->positions;
    int64_t size[] = {value_size(positions, 0), 1, value_size(f->ids, 1), f->config->rotary_dim};
    struct value *table = tape_leaf(f->tape, CATEGORY_TEMPORARIES, value_dtype(like), 4, size, false,
                                    sine ? "sines of the layer" : "cosines of the layer");
    tape_angles_into(f->tape, positions, forward_tensor(f, "%srotary_emb.inv_freq", root_of(f)), sine, table);
    return table;
}

bool rotary_of_layer(struct forward_layer *layer, struct value *like)
{
    const struct forward *f = layer->forward;
    if (!rotary_is_of_layers(f) || like == NULL) {
        return false;
    }
    if (forward_has(f, RELEASE_ROTARY_INDEXED)) {
        layer->cosine = rotary_look_up(layer, like, false);
        layer->sine = rotary_look_up(layer, like, true);
    } else {
        rotary_make(layer, root_of(f), "rotary_emb.inv_freq", like, layer->positions);
    }
    return true;
}

void rotary_let_go(struct forward_layer *layer)
{
    tape_drop(layer->forward->tape, layer->cosine);
    tape_drop(layer->forward->tape, layer->sine);
}
