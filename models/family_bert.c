/* BERT: BertModel with its pooler, and BertForMaskedLM.
 *
 * Skeleton of BERT: BertModel with its pooler, or BertForMaskedLM without it (transformers 5.23).
 *
 * Worked number: bert-base-cased has (28996 + 512 + 2 + 2) * 768 = 22,665,216 parameters in its embeddings, 7,087,872
 * in each of 12 layers and 590,592 in the pooler: 108,310,272. Buffers: two rows of 512 int64: 8,192 bytes. */
#include "models/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config_part.h"
#include "models/forward.h"
#include "models/skeleton_builder.h"

/* -- the configuration */

static void bert_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 30522, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 768, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 12, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 12, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), 3072, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 512, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"type_vocab_size", NULL, CONFIG_OFFSET(token_types), 2, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "num_attention_heads", config);
    config_activation(reader, "hidden_act", ACTIVATION_GELU, config);
    config->hidden_dropout = field_real(reader, "hidden_dropout_prob", 0, 0.999, 0.1);
    config->embedding_dropout = config->hidden_dropout;
    config->attention_dropout = field_real(reader, "attention_probs_dropout_prob", 0, 0.999, 0.1);
    config->norm_epsilon = field_real(reader, "layer_norm_eps", 0, 1, 1e-12);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    config_pad_token(reader, 0, config);
    config_refuse_true(reader, "is_decoder");
    config_refuse_true(reader, "add_cross_attention");
    const char *positions = field_string(reader, "position_embedding_type");
    if (positions != NULL && strcmp(positions, "absolute") != 0) {
        field_fault(reader, "position_embedding_type", "'%.80s' is not modelled; known is absolute", positions);
    }
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* -- the skeleton */

static void skeleton_embeddings(struct skeleton_builder *builder, int parent, int *words)
{
    const struct config *config = builder->config;
    static const struct buffer_kind position_ids = {.dtype = DTYPE_INT64, .initial = INITIAL_SEQUENCE};
    static const struct buffer_kind token_type_ids = {.dtype = DTYPE_INT64};
    const int64_t row[] = {1, config->positions};
    int embeddings = builder_block(builder, parent, "embeddings", "BertEmbeddings");
    builder_buffer(builder, "position_ids", &position_ids, 2, row);
    builder_buffer(builder, "token_type_ids", &token_type_ids, 2, row);
    *words = builder_embedding(builder, embeddings, "word_embeddings", config->vocab, config->hidden);
    builder_embedding(builder, embeddings, "position_embeddings", config->positions, config->hidden);
    builder_embedding(builder, embeddings, "token_type_embeddings", config->token_types, config->hidden);
    builder_layernorm(builder, embeddings, "LayerNorm");
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    int64_t hidden = builder->config->hidden;
    int layer = builder_element(builder, parent, number, "BertLayer");
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "attention", "BertAttention");
    int self = builder_module(builder, attention, "self", "BertSelfAttention");
    builder_linear(builder, self, "query", hidden, hidden, true);
    builder_linear(builder, self, "key", hidden, hidden, true);
    builder_linear(builder, self, "value", hidden, hidden, true);
    int projection = builder_module(builder, attention, "output", "BertSelfOutput");
    builder_linear(builder, projection, "dense", hidden, hidden, true);
    builder_layernorm(builder, projection, "LayerNorm");
    int intermediate = builder_module(builder, layer, "intermediate", "BertIntermediate");
    builder_linear(builder, intermediate, "dense", builder->config->ffn, hidden, true);
    int output = builder_module(builder, layer, "output", "BertOutput");
    builder_linear(builder, output, "dense", hidden, builder->config->ffn, true);
    builder_layernorm(builder, output, "LayerNorm");
}

/* The decoder's bias and the head's own are one storage, and its weight is that of the embedding, where tied. */
static void skeleton_head(struct skeleton_builder *builder, int root, int words)
{
    const struct config *config = builder->config;
    int head = builder_module(builder, root, "cls", "BertOnlyMLMHead");
    int predictions = builder_module(builder, head, "predictions", "BertLMPredictionHead");
    int bias = builder_vector(builder, "bias", (struct initial){0}, config->vocab);
    int transform = builder_module(builder, predictions, "transform", "BertPredictionHeadTransform");
    builder_linear(builder, transform, "dense", config->hidden, config->hidden, true);
    builder_layernorm(builder, transform, "LayerNorm");
    int decoder = builder_linear(builder, predictions, "decoder", config->vocab, config->hidden, true);
    if (config->tied_head && decoder >= 0) {
        builder_tie(builder, decoder, words);
        builder_tie(builder, decoder + 1, bias);
    }
}

static void bert_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    int root = -1;
    int model = -1;
    if (head == HEAD_LM) {
        root = builder_module(builder, -1, "", "BertForMaskedLM");
        model = builder_module(builder, root, "bert", "BertModel");
    } else {
        model = builder_module(builder, -1, "", "BertModel");
    }
    int words = -1;
    skeleton_embeddings(builder, model, &words);
    int encoder = builder_module(builder, model, "encoder", "BertEncoder");
    int layers = builder_module(builder, encoder, "layer", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    if (head == HEAD_LM) {
        skeleton_head(builder, root, words);
    } else {
        int pooler = builder_module(builder, model, "pooler", "BertPooler");
        builder_linear(builder, pooler, "dense", config->hidden, config->hidden, true);
    }
}

/* -- the forward pass */

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

static struct value *bert_forward(const struct forward *f)
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

static const char *const model_types[] = {"bert", NULL};
static const char *const lora_targets[] = {"query", "value", NULL};

const struct family family_bert = {
    .name = "bert",
    .model_types = model_types,
    .has_attention = true,
    .bounds_positions = true,
    .lora_targets = lora_targets,
    .read = bert_read,
    .skeleton = bert_skeleton,
    .forward = bert_forward,
};
