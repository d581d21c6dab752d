/* T5 and its kin (T5 v1.1, Flan-T5): T5Model, and T5ForConditionalGeneration with its head (transformers 5.23). Encoder and
 * decoder share one embedding with the head, in this release also where a file has a head of its own (Flan-T5's own head is
 * not loaded then: 222,903,552 parameters of flan-t5-base, not 247,577,856); the first block of each has the table of relative positions for all.
 *
 * Encoder and decoder get as many tokens each: in training the decoder reads the labels shifted by one, in inference the ids
 * that the encoder reads.
 *
 * Worked number: t5-small has 32,128 * 512 = 16,449,536 parameters in its embedding, 6 * 3,147,776 + 256 + 512 in the
 * encoder, of which a block has 4 * 512 * 512 + 2 * 512 * 2048 + 2 * 512, and 6 * 4,196,864 + 256 + 512 in the decoder, whose
 * blocks attend to the encoder with 4 * 512 * 512 + 512 more: 60,506,624. */
#include "models/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config_part.h"
#include "models/relative_bias.h"
#include "models/skeleton_builder.h"

/* -- the configuration */

/* "relu", or "gated-gelu": gated ones have a second matrix. Of "gated-gelu" alone GELU is the tanh form. */
static void projection_read(struct field_reader *reader, struct config *config)
{
    const char *name = field_string(reader, "feed_forward_proj");
    name = name != NULL ? name : "relu";
    config->gated = strncmp(name, "gated-", 6) == 0;
    const char *activation = config->gated ? name + 6 : name;
    if (strcmp(name, "gated-gelu") == 0) {
        activation_set(ACTIVATION_GELU_NEW, config);
    } else if (!activation_find(activation, config)) {
        field_fault(reader, "feed_forward_proj",
                    "'%.80s' is not known; write relu, gelu, silu, or one of these behind 'gated-'", name);
    }
}

static void t5_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 32128, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"d_model", NULL, CONFIG_OFFSET(hidden), 512, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"d_kv", NULL, CONFIG_OFFSET(head_dim), 64, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"d_ff", NULL, CONFIG_OFFSET(ffn), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_layers", NULL, CONFIG_OFFSET(layers), 6, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_decoder_layers", NULL, CONFIG_OFFSET(decoder_layers), 0, 0, CONFIG_LAYERS_MAXIMUM},
        {"num_heads", NULL, CONFIG_OFFSET(heads), 8, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"relative_attention_num_buckets", NULL, CONFIG_OFFSET(position_buckets), 32, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"relative_attention_max_distance", NULL, CONFIG_OFFSET(farthest_position), 128, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config->decoder_layers = config->decoder_layers > 0 ? config->decoder_layers : config->layers;
    if (reader->code == STATUS_OK && config->heads > CONFIG_COUNT_MAXIMUM / config->head_dim) {
        field_fault(reader, "d_kv", "%" PRId64 " heads of %" PRId64 " are too large; write smaller numbers",
                    config->heads, config->head_dim);
    }
    if (reader->code == STATUS_OK &&
        (config->position_buckets < 4 || config->farthest_position <= config->position_buckets / 2)) {
        field_fault(reader, "relative_attention_num_buckets",
                    "%" PRId64 " buckets for distances up to %" PRId64
                    " leave none that counts by logarithms; write at least 4, "
                    "and a relative_attention_max_distance above their half",
                    config->position_buckets, config->farthest_position);
    }
    projection_read(reader, config);
    config_refuse_true(reader, "is_decoder");
    config->hidden_dropout = field_real(reader, "dropout_rate", 0, 0.999, 0.1);
    config->embedding_dropout = config->attention_dropout = config->hidden_dropout;
    config->norm_epsilon = field_real(reader, "layer_norm_epsilon", 0, 1, 1e-6);
    config->initializer_range = field_real(reader, "initializer_factor", 0, 1e6, 1);
    config->tied_head = true; /* whatever the file says: there it only tells whether outputs are scaled */
    config->scales_output = field_boolean(reader, "tie_word_embeddings", true);
    config->decoder_start = field_integer(reader, "decoder_start_token_id", 0, CONFIG_COUNT_MAXIMUM, 0);
    if (reader->code == STATUS_OK && config->decoder_start >= config->vocab) {
        field_fault(reader, "decoder_start_token_id", "%" PRId64 " is no token of %" PRId64 "; write a smaller number",
                    config->decoder_start, config->vocab);
    }
    config->kv_heads = config->heads;
    config->pad_token = -1;
}

/* -- the skeleton */

/* A matrix without a bias, its deviation factor / sqrt(divisor). */
static void skeleton_matrix(struct skeleton_builder *builder, int parent, const char *name, int64_t rows,
                            int64_t columns, double divisor)
{
    builder_module(builder, parent, name, "Linear");
    builder_matrix(builder, "weight", (struct initial){.deviation = builder->config->initializer_range / sqrt(divisor)},
                   rows, columns);
}

static void skeleton_norm(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_module(builder, parent, name, "T5LayerNorm");
    builder_vector(builder, "weight", (struct initial){.constant = builder->config->initializer_range},
                   builder->config->hidden);
}

static void skeleton_attention(struct skeleton_builder *builder, int layer, const char *name, bool has_positions)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden, inner = config->heads * config->head_dim; /* t5_read has checked that it fits */
    int attention = builder_module(builder, layer, name, "T5Attention");
    skeleton_matrix(builder, attention, "q", inner, hidden, (double)hidden * (double)config->head_dim);
    skeleton_matrix(builder, attention, "k", inner, hidden, (double)hidden);
    skeleton_matrix(builder, attention, "v", inner, hidden, (double)hidden);
    skeleton_matrix(builder, attention, "o", hidden, inner, (double)inner);
    if (has_positions) {
        builder_module(builder, attention, "relative_attention_bias", "Embedding");
        builder_matrix(builder, "weight",
                       (struct initial){.deviation = config->initializer_range / sqrt((double)hidden)},
                       config->position_buckets, config->heads);
    }
}

static void skeleton_feed_forward(struct skeleton_builder *builder, int layer)
{
    const struct config *config = builder->config;
    double hidden = (double)config->hidden;
    int dense =
        builder_module(builder, layer, "DenseReluDense", config->gated ? "T5DenseGatedActDense" : "T5DenseActDense");
    if (config->gated) {
        skeleton_matrix(builder, dense, "wi_0", config->ffn, config->hidden, hidden);
        skeleton_matrix(builder, dense, "wi_1", config->ffn, config->hidden, hidden);
    } else {
        skeleton_matrix(builder, dense, "wi", config->ffn, config->hidden, hidden);
    }
    skeleton_matrix(builder, dense, "wo", config->hidden, config->ffn, (double)config->ffn);
    builder_keep_float32(builder); /* _keep_in_fp32_modules */
    builder_dropout(builder, dense, "dropout");
    builder_activation(builder, dense, "act");
}

static void skeleton_block(struct skeleton_builder *builder, int parent, int64_t number, bool decodes)
{
    int block = builder_element(builder, parent, number, "T5Block");
    builder_keep_whole(builder, block);
    int layers = builder_module(builder, block, "layer", "ModuleList");
    int self = builder_element(builder, layers, 0, "T5LayerSelfAttention");
    skeleton_attention(builder, self, "SelfAttention", number == 0);
    skeleton_norm(builder, self, "layer_norm");
    builder_dropout(builder, self, "dropout");
    if (decodes) {
        int cross = builder_element(builder, layers, 1, "T5LayerCrossAttention");
        skeleton_attention(builder, cross, "EncDecAttention", false);
        skeleton_norm(builder, cross, "layer_norm");
        builder_dropout(builder, cross, "dropout");
    }
    int last = builder_element(builder, layers, decodes ? 2 : 1, "T5LayerFF");
    skeleton_feed_forward(builder, last);
    skeleton_norm(builder, last, "layer_norm");
    builder_dropout(builder, last, "dropout");
}

static void skeleton_stack(struct skeleton_builder *builder, int root, const char *name, int64_t layers, int words)
{
    const struct config *config = builder->config;
    int stack = builder_module(builder, root, name, "T5Stack");
    builder_tie(builder, builder_embedding(builder, stack, "embed_tokens", config->vocab, config->hidden), words);
    int blocks = builder_module(builder, stack, "block", "ModuleList");
    for (int64_t i = 0; i < layers; i++) {
        skeleton_block(builder, blocks, i, strcmp(name, "decoder") == 0);
    }
    skeleton_norm(builder, stack, "final_layer_norm");
    builder_dropout(builder, stack, "dropout");
}

static void t5_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    int root = builder_module(builder, -1, "", head == HEAD_LM ? "T5ForConditionalGeneration" : "T5Model");
    int words = builder_embedding(builder, root, "shared", config->vocab, config->hidden);
    skeleton_stack(builder, root, "encoder", config->layers, words);
    skeleton_stack(builder, root, "decoder", config->decoder_layers, words);
    if (head == HEAD_LM) {
        builder_tie(builder, builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false), words);
    }
}

/* -- the forward pass */

/* What a block reads besides its input. The biases are NULL in the first block of a stack, which makes them and hands them
 * on by name. */
struct t5_layer {
    struct forward_layer layer;
    bool decodes;
    struct value *bias, *cross_bias;
    struct value *encoded, *cross_mask;
    struct value **made_bias, **made_cross_bias;
};

/* Holds what the first block made until the stack ends; of a second run nobody takes it. */
static void hand_on(struct tape *tape, struct value **name, struct value *made)
{
    if (!tape_recomputes(tape)) {
        *name = tape_hold(tape, made);
    }
}

/* The table's rows, made by the first block's self-attention. */
static struct value *self_bias(const struct t5_layer *block, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    if (block->bias != NULL || hidden == NULL) {
        return block->bias;
    }
    char path[160];
    snprintf(path, sizeof path, "%s.layer.0.SelfAttention.relative_attention_bias", block->layer.prefix);
    int64_t rows = value_size(hidden, 1), before = block->decodes && f->cache != NULL ? f->cache->length : 0;
    struct bias_span span = {.rows = rows, .columns = before + rows, .first = before, .both = !block->decodes};
    struct value *bias = relative_bias_make(f, path, &span);
    hand_on(f->tape, block->made_bias, bias);
    return bias;
}

/* Attention to the encoder has no table: zeros, of which checkpointing wants a gradient. */
static struct value *cross_bias(const struct t5_layer *block, struct value *q, struct value *k)
{
    const struct forward *f = block->layer.forward;
    if (block->cross_bias != NULL || q == NULL || k == NULL) {
        return block->cross_bias;
    }
    int64_t size[] = {1, f->config->heads, value_size(q, 2), value_size(k, 2)};
    bool learns = f->workload->checkpointing;
    struct value *bias =
        tape_leaf(f->tape, CATEGORY_TEMPORARIES, value_dtype(q), 4, size, learns, "zeros in place of a bias");
    tape_fill(f->tape, bias, 0.0);
    if (learns && !tape_recomputes(f->tape)) {
        forward_leaf_begin(f, bias);
    }
    hand_on(f->tape, block->made_cross_bias, bias);
    return bias;
}

static struct value *heads_of(const struct t5_layer *block, const char *format, char which, struct value *hidden)
{
    struct tape *tape = block->layer.forward->tape;
    char name[64];
    snprintf(name, sizeof name, format, which);
    int frame = tape_frame_open(tape);
    struct value *projected = layer_linear(&block->layer, name, hidden);
    return tape_frame_close(tape, frame,
                            heads_view(block->layer.forward, projected, block->layer.forward->config->heads));
}

/* Keys and values of the hidden state with what is cached of those before, or of the encoder's, made once. */
static void states_make(const struct t5_layer *block, bool crosses, const char *format, struct value *hidden,
                        struct value **k, struct value **v)
{
    const struct forward *f = block->layer.forward;
    struct key_value_cache *cache = !block->decodes ? NULL : crosses ? f->cross_cache : f->cache;
    if (crosses && cache != NULL && cache->layer[block->layer.index].keys != NULL) {
        *k = cache->layer[block->layer.index].keys;
        *v = cache->layer[block->layer.index].values;
        return;
    }
    struct value *source = crosses ? block->encoded : hidden;
    *k = heads_of(block, format, 'k', source);
    *v = heads_of(block, format, 'v', source);
    if (cache != NULL) {
        cache_update(cache, block->layer.index, k, v);
    }
}

/* T5Attention: of the hidden state, or (crosses) of the encoder's. *weights: the eager form's, held. */
static struct value *attention(const struct t5_layer *block, bool crosses, struct value *hidden, struct value **weights)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    const char *format = crosses ? "layer.1.EncDecAttention.%c" : "layer.0.SelfAttention.%c";
    int frame = tape_frame_open(tape);
    struct value *q = heads_of(block, format, 'q', hidden), *k = NULL, *v = NULL;
    states_make(block, crosses, format, hidden, &k, &v);
    struct attention_form form = {.scale = 1.0,
                                  .dropout = f->config->attention_dropout,
                                  .causal = block->decodes && !crosses,
                                  .mask = crosses ? block->cross_mask : block->layer.mask};
    form.bias = crosses ? cross_bias(block, q, k) : self_bias(block, hidden);
    if (q == NULL || k == NULL || v == NULL || form.bias == NULL) {
        return tape_frame_close(tape, frame, NULL);
    }
    struct value *made = NULL;
    struct value *out = forward_attention(f, &form, q, k, v, &made);
    char name[64];
    snprintf(name, sizeof name, format, 'o');
    value_rebind(tape, &out, layer_linear(&block->layer, name, out));
    *weights = tape_hold(tape, made);
    return tape_frame_close(tape, frame, out);
}

/* T5LayerSelfAttention and T5LayerCrossAttention: norm, attention, the sum. *weights: as attention. */
static struct value *attention_layer(const struct t5_layer *block, bool crosses, struct value *hidden,
                                     struct value **weights)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    const char *norm = crosses ? "layer.1.layer_norm" : "layer.0.layer_norm";
    int frame = tape_frame_open(tape);
    struct value *normed = layer_rms_norm_promoted(&block->layer, norm, hidden);
    struct value *attended = attention(block, crosses, normed, weights);
    int inner = tape_frame_open(tape);
    struct value *kept = tape_dropout(tape, attended, f->config->hidden_dropout);
    struct value *sum = tape_frame_close(tape, inner, tape_add(tape, hidden, kept));
    tape_drop(tape, crosses ? normed : attended);
    tape_drop(tape, crosses ? attended : normed);
    return tape_frame_close(tape, frame, sum);
}

/* "prefix.wo" of hidden, which it takes over, in the dtype of its weights: they stay float32 in a float16 model. */
static struct value *projected_back(const struct t5_layer *block, const char *prefix, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    char path[96];
    snprintf(path, sizeof path, "%s.wo", prefix);
    value_rebind(f->tape, &hidden, tape_dropout(f->tape, hidden, f->config->hidden_dropout));
    struct value *weight = forward_optional(f, "%s.%s.weight", block->layer.prefix, path);
    if (weight != NULL && hidden != NULL) {
        value_rebind(f->tape, &hidden, tape_cast(f->tape, hidden, value_dtype(weight)));
    }
    return layer_linear(&block->layer, path, hidden);
}

/* T5DenseActDense and T5DenseGatedActDense. */
static struct value *dense(const struct t5_layer *block, const char *prefix, struct value *normed)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    char path[96];
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%s.%s", prefix, f->config->gated ? "wi_0" : "wi");
    struct value *hidden = forward_activation(f, f->config->activation, layer_linear(&block->layer, path, normed));
    if (f->config->gated) {
        snprintf(path, sizeof path, "%s.wi_1", prefix);
        struct value *linear = layer_linear(&block->layer, path, normed);
        hidden = tape_multiply(tape, hidden, linear);
    }
    return tape_frame_close(tape, frame, projected_back(block, prefix, hidden));
}

static struct value *feed_forward(const struct t5_layer *block, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    struct tape *tape = f->tape;
    char path[64];
    int number = block->decodes ? 2 : 1;
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "layer.%d.layer_norm", number);
    struct value *forwarded = layer_rms_norm_promoted(&block->layer, path, hidden);
    snprintf(path, sizeof path, "layer.%d.DenseReluDense", number);
    value_rebind(tape, &forwarded, dense(block, path, forwarded));
    struct value *kept = tape_dropout(tape, forwarded, f->config->hidden_dropout);
    return tape_frame_close(tape, frame, tape_add(tape, hidden, kept));
}

/* In float16 what is infinite becomes finite. */
static struct value *clamped(struct tape *tape, struct value *hidden)
{
    if (hidden != NULL && value_dtype(hidden) == DTYPE_FLOAT16) {
        value_rebind(tape, &hidden, tape_clamp_infinite(tape, hidden));
    }
    return hidden;
}

/* The weights of an attention keep their name until those of the next one are there. */
static struct value *t5_block(struct tape *tape, const void *context, struct value *input)
{
    const struct t5_layer *block = context;
    struct value *weights = NULL, *crossed = NULL;
    int frame = tape_frame_open(tape);
    struct value *hidden = clamped(tape, attention_layer(block, false, input, &weights));
    if (block->decodes) {
        value_rebind(tape, &hidden, attention_layer(block, true, hidden, &crossed));
        hidden = clamped(tape, hidden);
        tape_let_go(tape, weights);
        weights = crossed;
    }
    value_rebind(tape, &hidden, feed_forward(block, hidden));
    hidden = clamped(tape, hidden);
    tape_let_go(tape, weights);
    return tape_frame_close(tape, frame, hidden);
}

/* The blocks over hidden, which they take over. */
static struct value *blocks_run(struct t5_layer *block, const char *stack, int64_t count, struct value *hidden)
{
    const struct forward *f = block->layer.forward;
    for (int64_t i = 0; i < count; i++) {
        block->bias = *block->made_bias;
        block->cross_bias = *block->made_cross_bias;
        struct value *held[] = {block->layer.mask, block->bias, block->encoded, block->cross_mask, block->cross_bias};
        int held_count = (int)(sizeof held / sizeof held[0]);
        for (int k = 0; k < held_count; k++) {
            tape_checkpoint_argument(f->tape, held[k]);
        }
        block->layer.index = i;
        snprintf(block->layer.prefix, sizeof block->layer.prefix, "%s.block.%lld", stack, (long long)i);
        value_rebind(f->tape, &hidden,
                     forward_block(f, t5_block, block->layer.prefix, block, sizeof *block, held, held_count, hidden));
    }
    return hidden;
}

/* T5Stack over the ids: the encoder where encoded is NULL. Blocks are run again after this: they see f alone, which stays. */
static struct value *stack_run(const struct forward *f, const char *stack, struct value *ids, struct value *encoded)
{
    struct tape *tape = f->tape;
    struct value *bias = NULL, *crossed = NULL;
    struct t5_layer block = {.layer.forward = f, .decodes = encoded != NULL, .encoded = encoded};
    block.made_bias = &bias;
    block.made_cross_bias = &crossed;
    char path[64];
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%s.embed_tokens", stack);
    struct forward reading = *f;
    reading.ids = ids;
    struct value *words = forward_words(&reading, path, -1);
    int64_t count = encoded != NULL ? f->config->decoder_layers : f->config->layers;
    if (encoded != NULL) {
        struct forward unpadded = *f;
        unpadded.seen = NULL;
        block.layer.mask = forward_mask(&unpadded, words, true);
        block.cross_mask = forward_mask(f, encoded, false);
    } else {
        block.layer.mask = forward_mask(f, words, false);
    }
    struct value *hidden = blocks_run(&block, stack, count, tape_dropout(tape, words, f->config->embedding_dropout));
    snprintf(path, sizeof path, "%s.final_layer_norm", stack);
    value_rebind(tape, &hidden, forward_rms_norm_promoted(f, path, hidden));
    value_rebind(tape, &hidden, tape_dropout(tape, hidden, f->config->hidden_dropout));
    tape_drop(tape, words);
    tape_let_go(tape, bias);
    tape_let_go(tape, crossed);
    return tape_frame_close(tape, frame, hidden);
}

/* _shift_right: what the decoder reads while it learns the labels. Where a label does not count the padding token, 0, is
 * read, which is known here of the padded batch without asking the labels. */
static struct value *labels_moved(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(f->labels, 0), rows = value_size(f->labels, 1), one = 1;
    int64_t size[] = {batch, rows}, shorter[] = {batch, rows - 1};
    struct value *moved = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "decoder_input_ids");
    tape_fill(tape, moved, 0.0);
    struct value *copy = tensor_passing(tape, DTYPE_INT64, 2, shorter);
    tape_copy_into(tape, tape_slice(tape, f->ids, 1, 0, rows - 1), copy);
    tape_copy_into(tape, copy, tape_slice(tape, moved, 1, 1, rows - 1));
    tape_drop(tape, copy);
    tape_drop(tape, tensor_passing(tape, DTYPE_INT64, 0, &one));
    tape_fill(tape, tape_slice(tape, moved, 1, 0, 1), (double)f->config->decoder_start);
    tape_drop(tape, tensor_passing(tape, DTYPE_BOOL, 2, size));
    return tape_frame_close(tape, frame, moved);
}

static struct value *t5_encode(const struct forward *f)
{
    return stack_run(f, "encoder", f->ids, NULL);
}

static struct value *t5_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *encoded = f->encoded != NULL ? f->encoded : t5_encode(f);
    struct value *output = stack_run(f, "decoder", f->labels != NULL ? labels_moved(f) : f->ids, encoded);
    if (f->skeleton->head == HEAD_BARE) {
        return tape_frame_close(tape, frame, output);
    }
    struct value *rows =
        f->config->scales_output ? tape_scale(tape, output, 1.0 / sqrt((double)f->config->hidden)) : output;
    struct value *logits = forward_linear(f, "lm_head", rows);
    if (f->labels != NULL) {
        logits = forward_language_loss(f, logits, false);
    }
    return tape_frame_close(tape, frame, logits);
}

static const char *const model_types[] = {"t5", NULL};
static const char *const lora_targets[] = {"q", "v", NULL};

const struct family family_t5 = {
    .name = "t5",
    .model_types = model_types,
    .lora_targets = lora_targets,
    .has_attention = true,
    .read = t5_read,
    .skeleton = t5_skeleton,
    .forward = t5_forward,
    .encode = t5_encode,
    .lacks_position_ids = true,
    .generates = true,
};
