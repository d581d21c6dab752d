/* T5 and its kin (T5 v1.1, Flan-T5): T5Model, and T5ForConditionalGeneration with its head (transformers 5.23). Encoder
 * and decoder share one embedding with the head, in this release also where a file has a head of its own (Flan-T5's own
 * head is not loaded then: 222,903,552 parameters of flan-t5-base, not 247,577,856); the first block of each has the
 * table of relative positions for all.
 *
 * Encoder and decoder get as many tokens each: in training the decoder reads the labels shifted by one, in inference
 * the ids that the encoder reads.
 *
 * Worked number: t5-small has 32,128 * 512 = 16,449,536 parameters in its embedding, 6 * 3,147,776 + 256 + 512 in the
 * encoder, of which a block has 4 * 512 * 512 + 2 * 512 * 2048 + 2 * 512, and 6 * 4,196,864 + 256 + 512 in the decoder,
 * whose blocks attend to the encoder with 4 * 512 * 512 + 512 more: 60,506,624. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/family/t5_stack.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

/* "relu", or "gated-gelu": gated ones have a second matrix. GELU is the tanh form in "gated-gelu" alone. The class
 * derives is_gated_act and dense_act_fn from it; where a file has them too, they are set behind that and count. */
static void projection_read(struct field_reader *reader, struct config *config)
{
    const char *name = field_string(reader, "feed_forward_proj"), *stated = field_string(reader, "dense_act_fn");
    name = name != NULL ? name : "relu";
    bool is_gated = strncmp(name, "gated-", 6) == 0;
    const char *derived = strcmp(name, "gated-gelu") == 0 ? "gelu_new" : is_gated ? name + 6 : name;
    if (!activation_find(derived, config)) {
        field_fault(reader, "feed_forward_proj",
                    "'%.80s' is not known; write relu, gelu, silu, or one of these behind 'gated-'", name);
    }
    if (stated != NULL && !activation_find(stated, config)) {
        field_fault(reader, "dense_act_fn", "'%.80s' is not known; write relu, gelu, gelu_new or silu", stated);
    }
    config->gated = field_boolean(reader, "is_gated_act", is_gated);
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
    config->scales_output =
        field_boolean(reader, "scale_decoder_outputs", field_boolean(reader, "tie_word_embeddings", true));
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

/* T5EncoderModel; sentences are embedded by it. */
static bool encodes_alone(enum head head)
{
    return head == HEAD_ENCODER || head == HEAD_EMBEDDING;
}

static bool t5_has_head(const struct config *config, enum head head)
{
    (void)config;
    return head == HEAD_ENCODER;
}

static void t5_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    bool encodes = encodes_alone(head);
    const char *name = encodes ? "T5EncoderModel" : head == HEAD_LM ? "T5ForConditionalGeneration" : "T5Model";
    int root = builder_module(builder, -1, "", name);
    int words = builder_embedding(builder, root, "shared", config->vocab, config->hidden);
    skeleton_stack(builder, root, "encoder", config->layers, words);
    if (!encodes) {
        skeleton_stack(builder, root, "decoder", config->decoder_layers, words);
    }
    if (head == HEAD_LM) {
        builder_tie(builder, builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false), words);
    }
}

/* -- the forward pass */

/* _shift_right: what the decoder reads while it learns the labels. Where a label does not count the padding token, 0,
 * is read, which is known here of the padded batch without asking the labels. */
static struct value *labels_moved(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(f->labels, 0), rows = value_size(f->labels, 1);
    int64_t size[] = {batch, rows}, shorter[] = {batch, rows - 1};
    struct value *moved = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "decoder_input_ids");
    tape_fill(tape, moved, 0.0);
    struct value *copy = tensor_passing(tape, DTYPE_INT64, 2, shorter);
    tape_copy_into(tape, tape_slice(tape, f->ids, 1, 0, rows - 1), copy);
    tape_copy_into(tape, copy, tape_slice(tape, moved, 1, 1, rows - 1));
    tape_drop(tape, copy);
    tape_fill(tape, tape_slice(tape, moved, 1, 0, 1), (double)f->config->decoder_start);
    tape_drop(tape, tensor_passing(tape, DTYPE_BOOL, 2, size));
    return tape_frame_close(tape, frame, moved);
}

static struct value *t5_encode(const struct forward *f)
{
    return t5_stack_run(f, "encoder", f->ids, NULL);
}

/* The output has what the encoder made, too: both are brought to where the input lies. */
static struct value *outputs_bring(const struct forward *f, struct value *result, struct value *encoded)
{
    struct value *brought = module_output(f, result);
    module_output(f, encoded);
    return brought;
}

static struct value *t5_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *encoded = f->encoded != NULL ? f->encoded : t5_encode(f);
    if (encodes_alone(f->skeleton->head)) {
        return tape_frame_close(tape, frame, module_output(f, encoded));
    }
    forward_output_keep(f, encoded);
    struct value *output = t5_stack_run(f, "decoder", f->labels != NULL ? labels_moved(f) : f->ids, encoded);
    if (f->skeleton->head == HEAD_BARE) {
        return tape_frame_close(tape, frame, outputs_bring(f, output, encoded));
    }
    struct value *rows =
        f->config->scales_output ? tape_scale(tape, output, 1.0 / sqrt((double)f->config->hidden)) : output;
    struct value *logits = forward_linear(f, "lm_head", rows);
    if (f->labels != NULL) {
        logits = forward_language_loss(f, logits, false);
    }
    return tape_frame_close(tape, frame, outputs_bring(f, logits, encoded));
}

static const char *const model_types[] = {"t5", NULL};
static const char *const lora_targets[] = {"q", "v", NULL};

const struct family family_t5 = {
    .name = "t5",
    .model_types = model_types,
    .lora_targets = lora_targets,
    .has_attention = true,
    .read = t5_read,
    .has_head = t5_has_head,
    .skeleton = t5_skeleton,
    .forward = t5_forward,
    .encode = t5_encode,
    .lacks_position_ids = true,
    .generates = true,
};
