/* DistilBERT: DistilBertModel, which has no pooler and no token types, and DistilBertForMaskedLM (transformers 5.23).
 *
 * Worked number: distilbert-base-uncased has (30522 + 512 + 2) * 768 = 23,835,648 parameters in its embeddings and
 * 7,087,872 in each of 6 layers: 66,362,880. Buffers: a row of 512 int64: 4,096 bytes. */
#include "models/family/family_table.h"

#include <stdio.h>

#include "models/config/config_part.h"
#include "models/forward/encoder_part.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/forward/task_head.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

static void distilbert_read(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), 30522, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"dim", NULL, CONFIG_OFFSET(hidden), 768, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"n_layers", NULL, CONFIG_OFFSET(layers), 6, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"n_heads", NULL, CONFIG_OFFSET(heads), 12, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_dim", NULL, CONFIG_OFFSET(ffn), 3072, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), 512, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_heads_check(reader, "n_heads", config);
    config_activation(reader, "activation", ACTIVATION_GELU, config);
    config->hidden_dropout = field_real(reader, "dropout", 0, 0.999, 0.1);
    config->embedding_dropout = config->hidden_dropout;
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0.1);
    config->norm_epsilon = 1e-12; /* the real classes know no other */
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    config_pad_token(reader, 0, config);
    config_refuse_true(reader, "sinusoidal_pos_embds"); /* its table is not trained */
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* -- the skeleton */

static int skeleton_embeddings(struct skeleton_builder *builder, int parent)
{
    const struct config *config = builder->config;
    static const struct buffer_kind position_ids = {.dtype = DTYPE_INT64, .initial = INITIAL_SEQUENCE};
    const int64_t row[] = {1, config->positions};
    int embeddings = builder_module(builder, parent, "embeddings", "Embeddings");
    builder_buffer(builder, "position_ids", &position_ids, 2, row);
    int words = builder_embedding(builder, embeddings, "word_embeddings", config->vocab, config->hidden);
    builder_embedding(builder, embeddings, "position_embeddings", config->positions, config->hidden);
    builder_layernorm(builder, embeddings, "LayerNorm");
    builder_dropout(builder, embeddings, "dropout");
    return words;
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    static const char *const projections[] = {"q_lin", "k_lin", "v_lin", "out_lin"};
    int64_t hidden = builder->config->hidden;
    int layer = builder_element(builder, parent, number, "TransformerBlock");
    int attention = builder_module(builder, layer, "attention", "DistilBertSelfAttention");
    for (size_t i = 0; i < sizeof projections / sizeof projections[0]; i++) {
        builder_linear(builder, attention, projections[i], hidden, hidden, true);
    }
    builder_dropout(builder, attention, "dropout");
    builder_layernorm(builder, layer, "sa_layer_norm");
    int ffn = builder_module(builder, layer, "ffn", "FFN");
    builder_dropout(builder, ffn, "dropout");
    builder_linear(builder, ffn, "lin1", builder->config->ffn, hidden, true);
    builder_linear(builder, ffn, "lin2", hidden, builder->config->ffn, true);
    builder_activation(builder, ffn, "activation");
    builder_layernorm(builder, layer, "output_layer_norm");
}

static int skeleton_body(struct skeleton_builder *builder, int model)
{
    int words = skeleton_embeddings(builder, model);
    int transformer = builder_module(builder, model, "transformer", "Transformer");
    int layers = builder_module(builder, transformer, "layer", "ModuleList");
    for (int64_t i = 0; i < builder->config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    return words;
}

static void skeleton_untied(struct skeleton_builder *builder, int model)
{
    skeleton_body(builder, model);
}

/* -- heads of tasks */

static void sequence_list(struct skeleton_builder *builder, int root)
{
    const struct config *config = builder->config;
    builder_linear(builder, root, "pre_classifier", config->hidden, config->hidden, true);
    builder_linear(builder, root, "classifier", config->labels, config->hidden, true);
    builder_dropout(builder, root, "dropout");
}

/* pooled_output names each of its steps in turn, and first a view of the hidden state. */
static struct value *sequence_run(const struct forward *f, struct value *hidden)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *pooled = tape_select(tape, hidden, 1, 0);
    value_rebind(tape, &pooled, forward_linear(f, "pre_classifier", pooled));
    value_rebind(tape, &pooled, tape_relu(tape, pooled));
    value_rebind(tape, &pooled, forward_dropout(f, "dropout", pooled, f->config->sequence_dropout));
    return tape_frame_close(tape, frame, forward_linear(f, "classifier", pooled));
}

static void distilbert_question_list(struct skeleton_builder *builder, int root)
{
    question_list(builder, root);
    builder_dropout(builder, root, "dropout");
}

static struct value *distilbert_question_run(const struct forward *f, struct value *hidden)
{
    return question_run(f, forward_dropout(f, "dropout", hidden, f->config->question_dropout));
}

static const struct task_head task_heads[] = {
    {.head = HEAD_SEQUENCE, .inside = "distilbert", .list = sequence_list, .run = sequence_run},
    TASK_HEAD_TOKEN("distilbert"),
    {.head = HEAD_QUESTION, .inside = "distilbert", .list = distilbert_question_list, .run = distilbert_question_run},
    {.head = HEAD_DEFAULT},
};

static bool distilbert_has_head(const struct config *config, enum head head)
{
    (void)config;
    return task_head_find(task_heads, head) != NULL;
}

static void distilbert_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    const struct task_head *task = task_head_find(task_heads, head);
    if (task != NULL) {
        task_head_skeleton(builder, task, "DistilBert", "DistilBertModel", skeleton_untied);
        return;
    }
    bool masked = head == HEAD_LM;
    int root = masked ? builder_module(builder, -1, "", "DistilBertForMaskedLM") : -1;
    if (masked) {
        builder_activation(builder, root, "activation");
    }
    int model = builder_module(builder, root, masked ? "distilbert" : "", "DistilBertModel");
    int words = skeleton_body(builder, model);
    if (masked) {
        builder_linear(builder, root, "vocab_transform", config->hidden, config->hidden, true);
        builder_layernorm(builder, root, "vocab_layer_norm");
        int projector = builder_linear(builder, root, "vocab_projector", config->vocab, config->hidden, true);
        builder_tie(builder, config->tied_head ? projector : -1, words);
        builder_silent(builder, root, "mlm_loss_fct", "CrossEntropyLoss");
    }
}

/* -- the forward pass */

static struct value *feed_forward(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct module_visit visit = layer_enter(layer, "ffn");
    int frame = tape_frame_open(f->tape);
    struct value *inner = layer_linear(layer, "ffn.lin1", module_argument(f, visit, hidden));
    inner = layer_activation(layer, "ffn.activation", inner);
    value_rebind(f->tape, &inner, layer_linear(layer, "ffn.lin2", inner));
    inner = layer_dropout(layer, "ffn.dropout", inner, f->config->hidden_dropout);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, inner));
}

/* A norm over the sum of what a part made and what it was given; the sum has no name. */
static struct value *sum_normalised(const struct forward_layer *layer, const char *norm, struct value *made,
                                    struct value *given)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, layer_layernorm(layer, norm, tape_add(tape, made, given)));
}

static struct value *distilbert_layer(struct tape *tape, const void *context, struct value *hidden)
{
    static const char *const paths[] = {"attention.q_lin", "attention.k_lin", "attention.v_lin"};
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *attended = encoder_attention(layer, "attention", paths, "attention.out_lin", hidden);
    value_rebind(tape, &attended, sum_normalised(layer, "sa_layer_norm", attended, hidden));
    struct value *fed = feed_forward(layer, attended);
    value_rebind(tape, &fed, sum_normalised(layer, "output_layer_norm", fed, attended));
    return tape_frame_close(tape, frame, fed);
}

static struct value *embeddings(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[128];
    snprintf(path, sizeof path, "%sembeddings.word_embeddings", root);
    struct value *words = forward_words(f, path, f->config->pad_token);
    struct value *positions =
        tape_slice(tape, forward_tensor(f, "%sembeddings.position_ids", root), 1, 0, value_size(f->ids, 1));
    snprintf(path, sizeof path, "%sembeddings.position_embeddings", root);
    struct value *places = forward_embedding(f, path, positions, -1);
    struct value *sum = tape_add(tape, words, places);
    snprintf(path, sizeof path, "%sembeddings.LayerNorm", root);
    value_rebind(tape, &sum, forward_layernorm(f, path, sum));
    value_rebind(tape, &sum, tape_dropout(tape, sum, f->config->hidden_dropout));
    return tape_frame_close(tape, frame, sum);
}

static struct value *model(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    char path[64];
    int frame = tape_frame_open(tape);
    /* The embeddings and the mask keep their names until the model returns. */
    snprintf(path, sizeof path, "%sembeddings", root);
    struct value *embedded = module_run(f, path, embeddings, root);
    module_place_beside(f, embedded);
    struct forward_layer layer = {.forward = f, .mask = forward_mask(f, embedded, false)};
    tape_recomputation_argument(tape, layer.mask);
    return tape_frame_close(tape, frame, encoder_stack(&layer, distilbert_layer, root, "transformer", embedded));
}

static struct value *distilbert_forward(const struct forward *f)
{
    static const struct masked_head head = {{NULL}, "vocab_transform", "vocab_layer_norm", "vocab_projector"};
    if (f->skeleton->task != NULL) {
        return task_head_forward(f, model);
    }
    if (forward_is_bare(f)) {
        return model(f, "");
    }
    return masked_head_run(f, &head, f->config->activation, module_run(f, "distilbert", model, "distilbert."));
}

static const char *const model_types[] = {"distilbert", NULL};

const struct family family_distilbert = {
    .name = "distilbert",
    .model_types = model_types,
    .has_attention = true,
    .bounds_positions = true,
    .read = distilbert_read,
    .has_head = distilbert_has_head,
    .skeleton = distilbert_skeleton,
    .forward = distilbert_forward,
};
