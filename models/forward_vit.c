/* ViT: ViTModel with its pooler, and ViTForImageClassification. Separate query, key and value projections. */
#include <math.h>
#include <stdio.h>

#include "models/forward.h"

/* ViTAttention; eager weights stay with the open frame. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    static const char *const paths[] = {"attention.q_proj", "attention.k_proj", "attention.v_proj"};
    struct value *heads[3];
    for (int i = 0; i < 3; i++) {
        int frame = tape_frame_open(tape);
        heads[i] =
            tape_frame_close(tape, frame, heads_view(f, layer_linear(layer, paths[i], hidden), f->config->heads));
    }
    struct attention_form form = {.scale = 1.0 / sqrt((double)f->config->head_dim),
                                  .dropout = f->config->attention_dropout,
                                  .softmax_in_float32 = true,
                                  .casts_weights = true,
                                  .weights_dtype = value_dtype(heads[0])};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, heads[0], heads[1], heads[2], &weights);
    value_rebind(tape, &out, layer_linear(layer, "attention.o_proj", out));
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, heads[i]);
    }
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *inner = forward_activation(f, f->config->activation, layer_linear(layer, "mlp.fc1", hidden));
    return tape_frame_close(f->tape, frame, layer_linear(layer, "mlp.fc2", inner));
}

static struct value *vit_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    double dropout = layer->forward->config->hidden_dropout;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_layernorm(layer, "layernorm_before", input);
    value_rebind(tape, &hidden, attention(layer, hidden));
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, dropout));
    value_rebind(tape, &hidden, tape_add(tape, hidden, input));
    struct value *residual = hidden;
    hidden = layer_layernorm(layer, "layernorm_after", residual);
    value_rebind(tape, &hidden, feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, dropout));
    value_rebind(tape, &hidden, tape_add(tape, hidden, residual));
    return tape_frame_close(tape, frame, hidden);
}

/* Patches as rows, a class token before them, positions added. */
static struct value *embeddings(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t hidden = f->config->hidden, batch = value_size(f->images, 0);
    struct value *map =
        tape_convolution(tape, f->images, forward_tensor(f, "%sembeddings.patch_embeddings.projection.weight", root),
                         forward_tensor(f, "%sembeddings.patch_embeddings.projection.bias", root), f->config->patch, 0);
    int64_t flat[] = {batch, hidden, value_size(map, 2) * value_size(map, 3)};
    int64_t one[] = {batch, 1, hidden};
    struct value *patches = tape_transpose(tape, tape_reshape(tape, map, 3, flat), 1, 2);
    struct value *token = tape_expand(tape, forward_tensor(f, "%sembeddings.cls_token", root), 3, one);
    struct value *rows = tape_concatenate(tape, token, patches, 1);
    /* map, flat view and patches are one name in the real code: gone once the rows are there */
    struct value *result = tape_frame_close(tape, frame, rows);
    frame = tape_frame_open(tape);
    struct value *placed = tape_add(tape, result, forward_tensor(f, "%sembeddings.position_embeddings", root));
    value_rebind(tape, &result, tape_frame_close(tape, frame, placed));
    value_rebind(tape, &result, tape_dropout(tape, result, f->config->hidden_dropout));
    return result;
}

static struct value *encoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    struct forward_layer layer = {.forward = f};
    struct value *embedded = embeddings(f, root); /* keeps its name until the model returns */
    struct value *hidden = forward_layers(vit_layer, &layer, root, "layers.", NULL, 0, embedded);
    char path[64];
    snprintf(path, sizeof path, "%slayernorm", root);
    struct value *normed = forward_layernorm(f, path, hidden);
    tape_drop(tape, hidden);
    tape_drop(tape, embedded);
    return normed;
}

struct value *forward_vit(const struct forward *f)
{
    struct tape *tape = f->tape;
    if (f->skeleton->head == HEAD_BARE) {
        struct value *hidden = encoder(f, "");
        forward_pooler(f, hidden);
        return hidden;
    }
    int frame = tape_frame_open(tape);
    struct value *hidden = encoder(f, "vit.");
    struct value *logits = forward_linear(f, "classifier", tape_select(tape, hidden, 1, 0));
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, logits);
    }
    return tape_frame_close(tape, frame, forward_loss(f, logits, f->labels));
}
