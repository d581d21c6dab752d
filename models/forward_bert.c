/* BERT: BertModel with its pooler, and BertForMaskedLM. */
#include <math.h>
#include <stdio.h>

#include "models/forward.h"

/* BertSelfAttention; weights stay with the open frame. */
static struct value *self_attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    int64_t heads = f->config->heads;
    struct value *names[3];
    const char *const paths[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
    for (int i = 0; i < 3; i++) {
        int frame = tape_frame_open(tape);
        names[i] = tape_frame_close(tape, frame, heads_view(f, layer_linear(layer, paths[i], hidden), heads));
    }
    struct attention_form form = {
        .scale = 1.0 / sqrt((double)f->config->head_dim), .dropout = f->config->attention_dropout, .mask = layer->mask};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, names[0], names[1], names[2], &weights);
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, names[i]);
    }
    return out;
}

/* dense, dropout, LayerNorm(hidden + residual): BertSelfOutput and BertOutput. */
static struct value *output(const struct forward_layer *layer, const char *dense, const char *layernorm,
                            struct value *a, struct value *residual)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_linear(layer, dense, a);
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, layer->forward->config->hidden_dropout));
    struct value *sum = tape_add(tape, hidden, residual);
    return tape_frame_close(tape, frame, layer_layernorm(layer, layernorm, sum));
}

static struct value *bert_layer(struct tape *tape, const void *context, struct value *hidden)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *attended = self_attention(layer, hidden);
    struct value *attention_output =
        output(layer, "attention.output.dense", "attention.output.LayerNorm", attended, hidden);
    tape_drop(tape, attended);
    struct value *inner = layer_linear(layer, "intermediate.dense", attention_output);
    inner = forward_activation(layer->forward, layer->forward->config->activation, inner);
    struct value *result = output(layer, "output.dense", "output.LayerNorm", inner, attention_output);
    return tape_frame_close(tape, frame, result);
}

static struct value *embeddings(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t rows = value_size(f->ids, 1);
    char path[128];
    struct value *positions = tape_slice(tape, forward_tensor(f, "%sembeddings.position_ids", root), 1, 0, rows);
    struct value *types =
        tape_clone(tape, tape_slice(tape, forward_tensor(f, "%sembeddings.token_type_ids", root), 1, 0, rows));
    int64_t whole[] = {value_size(f->ids, 0), rows};
    snprintf(path, sizeof path, "%sembeddings.word_embeddings", root);
    struct value *words = forward_words(f, path, f->config->pad_token);
    snprintf(path, sizeof path, "%sembeddings.token_type_embeddings", root);
    struct value *kinds = forward_embedding(f, path, tape_expand(tape, types, 2, whole), -1);
    struct value *sum = tape_add(tape, words, kinds);
    snprintf(path, sizeof path, "%sembeddings.position_embeddings", root);
    struct value *places = forward_embedding(f, path, positions, -1);
    value_rebind(tape, &sum, tape_add(tape, sum, places));
    snprintf(path, sizeof path, "%sembeddings.LayerNorm", root);
    value_rebind(tape, &sum, forward_layernorm(f, path, sum));
    value_rebind(tape, &sum, tape_dropout(tape, sum, f->config->hidden_dropout));
    return tape_frame_close(tape, frame, sum);
}

static struct value *encoder(const struct forward *f, const char *root)
{
    /* The embeddings and the mask keep their names until the model returns. */
    struct value *embedded = embeddings(f, root);
    struct forward_layer layer = {.forward = f, .mask = forward_mask(f, embedded, false)};
    tape_checkpoint_argument(f->tape, layer.mask);
    return forward_layers(bert_layer, &layer, root, "encoder.layer.", &layer.mask, 1, embedded);
}

struct value *forward_bert(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    bool bare = f->skeleton->head == HEAD_BARE;
    struct value *hidden = encoder(f, bare ? "" : "bert.");
    if (bare) {
        forward_pooler(f, hidden);
    }
    hidden = tape_frame_close(tape, frame, hidden);
    if (bare) {
        return hidden;
    }
    frame = tape_frame_open(tape);
    struct value *transformed = forward_linear(f, "cls.predictions.transform.dense", hidden);
    transformed = forward_activation(f, f->config->activation, transformed);
    value_rebind(tape, &transformed, forward_layernorm(f, "cls.predictions.transform.LayerNorm", transformed));
    struct value *logits = forward_linear(f, "cls.predictions.decoder", transformed);
    tape_drop(tape, transformed);
    if (f->labels == NULL) {
        return logits;
    }
    return tape_frame_close(tape, frame, forward_language_loss(f, logits, false));
}
