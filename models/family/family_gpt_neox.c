/* GPT-NeoX (Pythia): LayerNorm, one projection for queries, keys and values of a head, rotary positions of a part of a
 * head, attention and feed-forward side by side on the residual stream.
 *
 * Worked number: pythia-70m has 2 * 50304 * 512 parameters in its embedding and its head, 3,152,384 in each of 6 layers
 * (1,050,624 of attention, 2,099,712 of the feed-forward, 2,048 of norms) and 1,024 in the last norm: 70,426,624. */
#include "models/family/family_table.h"

#include <inttypes.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/module_visit.h"
#include "models/forward/rotary.h"

static const struct decoder_type types[] = {
    {.model_type = "gpt_neox",
     .classes = {.model = "GPTNeoXModel",
                 .head = "GPTNeoXForCausalLM",
                 .layer = "GPTNeoXLayer",
                 .rotary = "GPTNeoXRotaryEmbedding"}},
};

/* -- the configuration */

/* The base and the part of a head that turns, under the names of the class or in rope_parameters. */
static void neox_read_rope(struct field_reader *reader, struct config *config)
{
    config_rope(reader, config);
    const struct json *parameters = field_member(reader, "rope_parameters");
    bool nested = json_kind(parameters) == JSON_KIND_OBJECT;
    struct field_reader inner = *reader;
    if (nested) {
        inner.object = parameters;
        inner.parent = "/rope_parameters";
    }
    const char *base = nested && json_get(parameters, "rope_theta") != NULL ? "rope_theta" : "rotary_emb_base";
    const char *part =
        nested && json_get(parameters, "partial_rotary_factor") != NULL ? "partial_rotary_factor" : "rotary_pct";
    config->rope_theta = field_real(base[5] == 't' ? &inner : reader, base, 1, 1e12, 10000);
    double factor = field_real(part[0] == 'p' ? &inner : reader, part, 0, 1, 0.25);
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
    config->rotary_dim = (int64_t)((double)config->head_dim * factor);
    if (reader->code == STATUS_OK && (config->rotary_dim < 2 || config->rotary_dim % 2 != 0)) {
        field_fault(reader, part,
                    "it turns %" PRId64 " of the %" PRId64 " elements of a head; write a part that makes "
                    "an even number, 2 or more",
                    config->rotary_dim, config->head_dim);
    }
}

static void neox_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 50432, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), 6144, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), 44, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), 64, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), 24576, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 2048, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "num_attention_heads", config);
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
    neox_read_rope(reader, config);
    config_activation(reader, "hidden_act", ACTIVATION_GELU, config);
    config->pad_token = -1; /* its embedding has no padding index, whatever pad_token_id says */
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->hidden_dropout = config->embedding_dropout = field_real(reader, "hidden_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "layer_norm_eps", 0, 1, 1e-5);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    config->parallel_residual = field_boolean(reader, "use_parallel_residual", true);
    config->attention_bias = config->attention_output_bias = field_boolean(reader, "attention_bias", true);
    config->mlp_bias = true;
}

/* -- the skeleton */

static void dropout_list(struct skeleton_builder *builder, int model)
{
    builder_dropout(builder, model, "emb_dropout");
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    const struct config *config = builder->config;
    int layer = builder_element(builder, layers, number, type->classes.layer);
    builder_keep_whole(builder, layer);
    builder_layernorm(builder, layer, "input_layernorm");
    builder_layernorm(builder, layer, "post_attention_layernorm");
    builder_dropout(builder, layer, "post_attention_dropout");
    builder_dropout(builder, layer, "post_mlp_dropout");
    int attention = builder_module(builder, layer, "attention", "GPTNeoXAttention");
    builder_linear(builder, attention, "query_key_value", 3 * config->hidden, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "dense", config->hidden, config->hidden, config->attention_output_bias);
    int mlp = builder_module(builder, layer, "mlp", "GPTNeoXMLP");
    builder_linear(builder, mlp, "dense_h_to_4h", config->ffn, config->hidden, config->mlp_bias);
    builder_linear(builder, mlp, "dense_4h_to_h", config->hidden, config->ffn, config->mlp_bias);
    builder_activation(builder, mlp, "act");
}

/* -- the forward pass */

/* [B, S, heads * 3 * D] -> views [B, heads, S, D] of queries, keys and values, and the name of all three. */
static struct value *heads_split(const struct forward_layer *layer, struct value *hidden, struct value *parts[3])
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *fused = layer_linear(layer, "attention.query_key_value", hidden);
    struct value *heads = tape_frame_close(f->tape, frame, heads_view(f, fused, f->config->heads));
    tape_split(f->tape, heads, 3, 3, parts);
    return heads;
}

/* GPTNeoXAttention; *weights: the eager form's. Both belong to the open frame. */
static struct value *attend(const struct forward_layer *layer, struct value *hidden, struct value **weights)
{
    struct tape *tape = layer->forward->tape;
    struct value *parts[3];
    struct value *fused = heads_split(layer, hidden, parts);
    struct rotary_cut cuts[2];
    for (int i = 0; i < 2; i++) {
        cuts[i] = rotary_cut(layer, parts[i]);
    }
    struct value *joined[2];
    for (int i = 0; i < 2; i++) {
        joined[i] = rotary_turn(layer, cuts[i].turning);
    }
    for (int i = 0; i < 2; i++) {
        value_rebind(tape, &joined[i], rotary_join(layer, joined[i], cuts[i].passing));
    }
    for (int i = 0; i < 2; i++) {
        tape_drop(tape, cuts[i].turning);
        tape_drop(tape, cuts[i].passing);
    }
    tape_drop(tape, parts[0]);
    tape_drop(tape, parts[1]);
    layer_cache(layer, &joined[1], &parts[2]);
    struct value *out = decoder_attend_all(layer, "attention.dense", true, joined[0], joined[1], parts[2], weights);
    tape_drop(tape, fused);
    return out;
}

/* attend, as the module that it is: what it is given comes to where it runs. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct forward_layer inside = *layer;
    struct value *weights = NULL;
    struct module_visit visit = layer_enter(layer, "attention");
    hidden = module_argument(f, visit, hidden);
    inside.mask = module_argument(f, visit, layer->mask);
    inside.cosine = module_argument(f, visit, layer->cosine);
    inside.sine = module_argument(f, visit, layer->sine);
    inside.positions = module_argument(f, visit, layer->positions);
    struct value *out = attend(&inside, hidden, &weights);
    struct value *const results[] = {out, weights};
    module_leave_all(f, visit, results, 2);
    return out;
}

static struct value *feed_forward(const struct forward_layer *layer, struct value *input)
{
    const struct forward *f = layer->forward;
    int frame = tape_frame_open(f->tape);
    struct value *normed = layer_layernorm(layer, "post_attention_layernorm", input);
    struct module_visit visit = layer_enter(layer, "mlp");
    struct value *hidden = layer_linear(layer, "mlp.dense_h_to_4h", module_argument(f, visit, normed));
    hidden = layer_activation(layer, "mlp.act", hidden);
    value_rebind(f->tape, &hidden, layer_linear(layer, "mlp.dense_4h_to_h", hidden));
    hidden = module_leave(f, visit, hidden);
    tape_drop(f->tape, normed);
    hidden = layer_dropout(layer, "post_mlp_dropout", hidden, f->config->hidden_dropout);
    return tape_frame_close(f->tape, frame, hidden);
}

static struct value *neox_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    const struct config *config = layer->forward->config;
    int frame = tape_frame_open(tape);
    struct value *normed = layer_layernorm(layer, "input_layernorm", input);
    struct value *attended = attention(layer, normed);
    tape_drop(tape, normed);
    attended = layer_dropout(layer, "post_attention_dropout", attended, config->hidden_dropout);
    if (!config->parallel_residual) {
        value_rebind(tape, &attended, tape_add(tape, attended, input));
        struct value *fed = feed_forward(layer, attended);
        return tape_frame_close(tape, frame, tape_add(tape, fed, attended));
    }
    struct value *fed = feed_forward(layer, input);
    struct value *sum = tape_add(tape, fed, attended);
    return tape_frame_close(tape, frame, tape_add(tape, sum, input));
}

static const struct task_head task_heads[] = {TASK_HEAD_LAST("gpt_neox"),
                                              {.head = HEAD_TOKEN,
                                               .inside = "gpt_neox",
                                               .loss_in_float32 = true,
                                               .list = classifier_list,
                                               .run = token_classifier_run},
                                              TASK_HEAD_QUESTION("gpt_neox"),
                                              {.head = HEAD_DEFAULT}};

static const struct decoder neox = {
    .names = {.inside = "gpt_neox", .words = "embed_in", .layers = "layers", .norm = "final_layer_norm"},
    .types = DECODER_TYPES(types),
    .heads = task_heads,
    .after_words = dropout_list,
    .drops_words = true,
    .layer_list = layer_list,
    .layer = neox_layer,
};

static const char *const model_types[] = {"gpt_neox", NULL};
static const char *const lora_targets[] = {"query_key_value", NULL};

const struct family family_gpt_neox = {
    .name = "gpt_neox",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = neox_read,
    .has_head = decoder_has_head,
    .decoder = &neox,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
