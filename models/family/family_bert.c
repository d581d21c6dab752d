/* BERT and its kin (RoBERTa, XLM-RoBERTa): the model with its pooler, and ...ForMaskedLM without it (transformers
 * 5.23).
 *
 * RoBERTa differs by the names of its classes, by the head's path and activation (always gelu), and by its positions: a
 * token's is the number of tokens so far that are not padding, counted from padding_idx + 1, and padding has
 * padding_idx.
 *
 * Worked number: bert-base-cased has (28996 + 512 + 2 + 2) * 768 = 22,665,216 parameters in its embeddings, 7,087,872
 * in each of 12 layers and 590,592 in the pooler: 108,310,272. Buffers: two rows of 512 int64: 8,192 bytes.
 * roberta-base: (50265 + 514 + 1 + 2) * 768 = 39,000,576 in its embeddings, the same layers and pooler: 124,645,632;
 * 8,224 bytes. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/encoder_part.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/forward/task_head.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

struct bert_classes {
    const char *model_type, *model, *masked, *prefix; /* prefix: of the bare model's paths in the masked one */
    const char *embeddings, *encoder, *layer, *attention, *self, *projection, *intermediate, *output, *pooler, *head;
    const char *prefix_of_classes, *classifier;
    bool head_first; /* the masked model registers its head before the model */
};

static const struct bert_classes classes_of_types[] = {
    {"bert", "BertModel", "BertForMaskedLM", "bert", "BertEmbeddings", "BertEncoder", "BertLayer", "BertAttention",
     "BertSelfAttention", "BertSelfOutput", "BertIntermediate", "BertOutput", "BertPooler", "BertLMPredictionHead",
     "Bert", NULL, false},
    {"roberta", "RobertaModel", "RobertaForMaskedLM", "roberta", "RobertaEmbeddings", "RobertaEncoder", "RobertaLayer",
     "RobertaAttention", "RobertaSelfAttention", "RobertaSelfOutput", "RobertaIntermediate", "RobertaOutput",
     "RobertaPooler", "RobertaLMHead", "Roberta", "RobertaClassificationHead", false},
    {"xlm-roberta", "XLMRobertaModel", "XLMRobertaForMaskedLM", "roberta", "XLMRobertaEmbeddings", "XLMRobertaEncoder",
     "XLMRobertaLayer", "XLMRobertaAttention", "XLMRobertaSelfAttention", "XLMRobertaSelfOutput",
     "XLMRobertaIntermediate", "XLMRobertaOutput", "XLMRobertaPooler", "XLMRobertaLMHead", "XLMRoberta",
     "XLMRobertaClassificationHead", true},
};

static const struct bert_classes *bert_classes_of(const struct config *config)
{
    for (size_t i = 1; i < sizeof classes_of_types / sizeof classes_of_types[0]; i++) {
        if (strcmp(config->model_type, classes_of_types[i].model_type) == 0) {
            return &classes_of_types[i];
        }
    }
    return &classes_of_types[0];
}

static bool is_roberta(const struct config *config)
{
    return bert_classes_of(config) != &classes_of_types[0];
}

/* Positions begin behind that of padding; so many rows of their table are no token's. */
static void roberta_positions(struct field_reader *reader, struct config *config)
{
    config_pad_token(reader, 1, config);
    if (reader->code != STATUS_OK) {
        return;
    }
    if (config->pad_token < 0) {
        field_fault(reader, "pad_token_id", "null leaves the positions without a beginning; write 1");
    } else if (config->pad_token + 1 >= config->positions) {
        field_fault(reader, "pad_token_id",
                    "%" PRId64 " leaves none of the %" PRId64 " positions to a token; write a smaller number",
                    config->pad_token, config->positions);
    } else {
        config->position_offset = config->pad_token + 1;
        config->positions -= config->position_offset;
    }
}

static void bert_read(struct field_reader *reader, struct config *config)
{
    const bool roberta = is_roberta(config);
    const int64_t vocab = strcmp(config->model_type, "roberta") == 0 ? 50265 : 30522; /* XLMRobertaConfig has BERT's */
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), vocab, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
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
    if (roberta) {
        roberta_positions(reader, config);
    } else {
        config_pad_token(reader, 0, config);
    }
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
    const int64_t positions = config->positions + config->position_offset;
    static const struct buffer_kind position_ids = {.dtype = DTYPE_INT64, .initial = INITIAL_SEQUENCE};
    static const struct buffer_kind token_type_ids = {.dtype = DTYPE_INT64};
    const int64_t row[] = {1, positions};
    int embeddings = builder_block(builder, parent, "embeddings", bert_classes_of(config)->embeddings);
    builder_buffer(builder, "position_ids", &position_ids, 2, row);
    builder_buffer(builder, "token_type_ids", &token_type_ids, 2, row);
    *words = builder_embedding(builder, embeddings, "word_embeddings", config->vocab, config->hidden);
    if (!is_roberta(config)) {
        builder_embedding(builder, embeddings, "position_embeddings", positions, config->hidden);
    }
    builder_embedding(builder, embeddings, "token_type_embeddings", config->token_types, config->hidden);
    builder_layernorm(builder, embeddings, "LayerNorm");
    builder_dropout(builder, embeddings, "dropout");
    if (is_roberta(config)) {
        builder_embedding(builder, embeddings, "position_embeddings", positions, config->hidden);
    }
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct bert_classes *classes = bert_classes_of(builder->config);
    int64_t hidden = builder->config->hidden;
    int layer = builder_element(builder, parent, number, classes->layer);
    builder_keep_whole(builder, layer);
    int attention = builder_module(builder, layer, "attention", classes->attention);
    int self = builder_module(builder, attention, "self", classes->self);
    builder_linear(builder, self, "query", hidden, hidden, true);
    builder_linear(builder, self, "key", hidden, hidden, true);
    builder_linear(builder, self, "value", hidden, hidden, true);
    builder_dropout(builder, self, "dropout");
    int projection = builder_module(builder, attention, "output", classes->projection);
    builder_linear(builder, projection, "dense", hidden, hidden, true);
    builder_layernorm(builder, projection, "LayerNorm");
    builder_dropout(builder, projection, "dropout");
    int intermediate = builder_module(builder, layer, "intermediate", classes->intermediate);
    builder_linear(builder, intermediate, "dense", builder->config->ffn, hidden, true);
    builder_activation(builder, intermediate, "intermediate_act_fn");
    int output = builder_module(builder, layer, "output", classes->output);
    builder_linear(builder, output, "dense", hidden, builder->config->ffn, true);
    builder_layernorm(builder, output, "LayerNorm");
    builder_dropout(builder, output, "dropout");
}

/* The weight of the decoder, and its bias, which is one storage with the head's own where tied. */
static int skeleton_head(struct skeleton_builder *builder, int root)
{
    const struct config *config = builder->config;
    const struct bert_classes *classes = bert_classes_of(config);
    bool roberta = is_roberta(config);
    int head = roberta ? root : builder_module(builder, root, "cls", "BertOnlyMLMHead");
    int predictions = builder_module(builder, head, roberta ? "lm_head" : "predictions", classes->head);
    int bias = builder_vector(builder, "bias", (struct initial){0}, config->vocab);
    int transform =
        roberta ? predictions : builder_module(builder, predictions, "transform", "BertPredictionHeadTransform");
    builder_linear(builder, transform, "dense", config->hidden, config->hidden, true);
    if (!roberta) { /* whose head calls a function */
        builder_activation(builder, transform, "transform_act_fn");
    }
    builder_layernorm(builder, transform, roberta ? "layer_norm" : "LayerNorm");
    int decoder = builder_linear(builder, predictions, "decoder", config->vocab, config->hidden, true);
    builder_tie(builder, config->tied_head && decoder >= 0 ? decoder + 1 : -1, bias);
    return decoder;
}

static int skeleton_body(struct skeleton_builder *builder, int model)
{
    const struct config *config = builder->config;
    const struct bert_classes *classes = bert_classes_of(config);
    int words = -1;
    skeleton_embeddings(builder, model, &words);
    int encoder = builder_module(builder, model, "encoder", classes->encoder);
    int layers = builder_module(builder, encoder, "layer", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i);
    }
    return words;
}

/* add_pooling_layer=False of most classes with a head. */
static void skeleton_unpooled(struct skeleton_builder *builder, int model)
{
    skeleton_body(builder, model);
}

static void skeleton_pooled(struct skeleton_builder *builder, int model)
{
    int64_t hidden = builder->config->hidden;
    skeleton_body(builder, model);
    int pooler = builder_module(builder, model, "pooler", bert_classes_of(builder->config)->pooler);
    builder_linear(builder, pooler, "dense", hidden, hidden, true);
    builder_silent(builder, pooler, "activation", "Tanh");
}

/* -- heads of tasks */

/* RobertaClassificationHead. */
static void skeleton_dense_classifier(struct skeleton_builder *builder, int root)
{
    const struct config *config = builder->config;
    int classifier = builder_module(builder, root, "classifier", bert_classes_of(config)->classifier);
    builder_linear(builder, classifier, "dense", config->hidden, config->hidden, true);
    builder_dropout(builder, classifier, "dropout");
    builder_linear(builder, classifier, "out_proj", config->labels, config->hidden, true);
}

/* hidden is what the pooler made. */
static struct value *pooled_classifier(const struct forward *f, struct value *pooled)
{
    return forward_linear(f, "classifier", forward_dropout(f, "dropout", pooled, f->config->sequence_dropout));
}

/* features[:, 0, :], dropout, dense, tanh, dropout, out_proj: all of them named x. */
static struct value *dense_classifier(const struct forward *f, struct value *hidden)
{
    struct tape *tape = f->tape;
    double dropout = f->config->sequence_dropout;
    struct module_visit visit = module_enter(f, "classifier");
    int frame = tape_frame_open(tape);
    struct value *x = tape_select(tape, module_argument(f, visit, hidden), 1, 0);
    value_rebind(tape, &x, forward_dropout(f, "classifier.dropout", x, dropout));
    value_rebind(tape, &x, forward_linear(f, "classifier.dense", x));
    value_rebind(tape, &x, tape_tanh(tape, x));
    value_rebind(tape, &x, forward_dropout(f, "classifier.dropout", x, dropout));
    value_rebind(tape, &x, forward_linear(f, "classifier.out_proj", x));
    return module_leave(f, visit, tape_frame_close(tape, frame, x));
}

static const struct task_head bert_heads[] = {
    {.head = HEAD_SEQUENCE, .inside = "bert", .list = classifier_list, .run = pooled_classifier},
    TASK_HEAD_TOKEN("bert"),
    TASK_HEAD_QUESTION("bert"),
    {.head = HEAD_DEFAULT},
};

static const struct task_head roberta_heads[] = {
    {.head = HEAD_SEQUENCE, .inside = "roberta", .list = skeleton_dense_classifier, .run = dense_classifier},
    TASK_HEAD_TOKEN("roberta"),
    TASK_HEAD_QUESTION("roberta"),
    {.head = HEAD_DEFAULT},
};

/* Whose modules come before the model. */
static const struct task_head xlm_roberta_heads[] = {
    {.head = HEAD_SEQUENCE,
     .inside = "roberta",
     .is_first = true,
     .list = skeleton_dense_classifier,
     .run = dense_classifier},
    {.head = HEAD_TOKEN, .inside = "roberta", .is_first = true, .list = classifier_list, .run = token_classifier_run},
    {.head = HEAD_QUESTION, .inside = "roberta", .is_first = true, .list = question_list, .run = question_run},
    {.head = HEAD_DEFAULT},
};

static const struct task_head *heads_of(const struct config *config)
{
    return !is_roberta(config) ? bert_heads : bert_classes_of(config)->head_first ? xlm_roberta_heads : roberta_heads;
}

static bool bert_has_head(const struct config *config, enum head head)
{
    return task_head_find(heads_of(config), head) != NULL;
}

static void bert_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct bert_classes *classes = bert_classes_of(builder->config);
    const struct task_head *task = task_head_find(heads_of(builder->config), head);
    bool tied = builder->config->tied_head;
    if (head == HEAD_BARE || head == HEAD_EMBEDDING) {
        skeleton_pooled(builder, builder_module(builder, -1, "", classes->model));
        return;
    }
    if (task != NULL) {
        bool pools = task->run == pooled_classifier;
        task_head_skeleton(builder, task, classes->prefix_of_classes, classes->model,
                           pools ? skeleton_pooled : skeleton_unpooled);
        return;
    }
    int root = builder_module(builder, -1, "", classes->masked);
    if (classes->head_first) {
        int decoder = skeleton_head(builder, root);
        int words = skeleton_body(builder, builder_module(builder, root, classes->prefix, classes->model));
        builder_tie(builder, tied ? words : -1, decoder);
    } else {
        int words = skeleton_body(builder, builder_module(builder, root, classes->prefix, classes->model));
        int decoder = skeleton_head(builder, root);
        builder_tie(builder, tied ? decoder : -1, words);
    }
}

/* -- the forward pass */

/* dense, dropout, LayerNorm(hidden + residual): BertSelfOutput and BertOutput, the layer's module of that name. */
static struct value *output(const struct forward_layer *layer, const char *module, struct value *a,
                            struct value *residual)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    char path[64];
    struct module_visit visit = layer_enter(layer, module);
    a = module_argument(f, visit, a);
    residual = module_argument(f, visit, residual);
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%s.dense", module);
    struct value *hidden = layer_linear(layer, path, a);
    snprintf(path, sizeof path, "%s.dropout", module);
    hidden = layer_dropout(layer, path, hidden, f->config->hidden_dropout);
    struct value *sum = tape_add(tape, hidden, residual);
    snprintf(path, sizeof path, "%s.LayerNorm", module);
    return module_leave(f, visit, tape_frame_close(tape, frame, layer_layernorm(layer, path, sum)));
}

static struct value *intermediate(const struct forward_layer *layer, struct value *hidden)
{
    struct module_visit visit = layer_enter(layer, "intermediate");
    struct value *inner = layer_linear(layer, "intermediate.dense", module_argument(layer->forward, visit, hidden));
    inner = layer_activation(layer, "intermediate.intermediate_act_fn", inner);
    return module_leave(layer->forward, visit, inner);
}

static const char *const attention_paths[] = {"attention.self.query", "attention.self.key", "attention.self.value"};

static struct value *bert_layer(struct tape *tape, const void *context, struct value *hidden)
{
    const struct forward_layer *layer = context;
    int frame = tape_frame_open(tape);
    struct value *attended = encoder_attention(layer, "attention.self", attention_paths, NULL, hidden);
    struct value *attention_output = output(layer, "attention.output", attended, hidden);
    tape_drop(tape, attended);
    struct value *inner = intermediate(layer, attention_output);
    return tape_frame_close(tape, frame, output(layer, "output", inner, attention_output));
}

/* create_position_ids_from_input_ids: a count of tokens that are not padding, made of eight tensors of which one
 * stays. */
static struct value *positions_behind_padding(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(f->ids, 0), value_size(f->ids, 1)}, pad = f->config->pad_token;
    struct value *differs = tensor_passing(tape, DTYPE_BOOL, 2, size);
    tensor_passing(tape, DTYPE_INT32, 2, size); /* the mask keeps its name */
    tape_drop(tape, differs);
    struct value *counted = running_sum_passing(tape, 2, size);
    for (int i = 0; i < 3; i++) { /* type_as, + 0, * mask */
        value_rebind(tape, &counted, tensor_passing(tape, DTYPE_INT32, 2, size));
    }
    tensor_passing(tape, DTYPE_INT64, 2, size);
    return tape_frame_close(tape, frame, tape_token_positions(tape, f->ids, pad, pad, pad));
}

/* The types of all tokens, 0, looked up by their positions: one row if all have the same positions. Both belong to
 * the open frame. */
static struct value *positions_make(const struct forward *f, const char *root, struct value **types)
{
    struct tape *tape = f->tape;
    int64_t rows = value_size(f->ids, 1);
    int64_t whole[] = {value_size(f->ids, 0), rows};
    struct value *zeros = tape_slice(tape, forward_tensor(f, "%sembeddings.token_type_ids", root), 1, 0, rows);
    if (!is_roberta(f->config)) {
        struct value *positions = tape_slice(tape, forward_tensor(f, "%sembeddings.position_ids", root), 1, 0, rows);
        *types = tape_expand(tape, tape_clone(tape, zeros), 2, whole);
        return positions;
    }
    struct value *positions = positions_behind_padding(f);
    *types = tape_clone(tape, tape_expand(tape, zeros, 2, whole));
    return positions;
}

static struct value *embeddings(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[128];
    struct value *types = NULL;
    struct value *positions = positions_make(f, root, &types);
    snprintf(path, sizeof path, "%sembeddings.word_embeddings", root);
    struct value *words = forward_words(f, path, f->config->pad_token);
    snprintf(path, sizeof path, "%sembeddings.token_type_embeddings", root);
    struct value *kinds = forward_embedding(f, path, types, -1);
    struct value *sum = tape_add(tape, words, kinds);
    snprintf(path, sizeof path, "%sembeddings.position_embeddings", root);
    struct value *places = forward_embedding(f, path, positions, is_roberta(f->config) ? f->config->pad_token : -1);
    value_rebind(tape, &sum, tape_add(tape, sum, places));
    snprintf(path, sizeof path, "%sembeddings.LayerNorm", root);
    value_rebind(tape, &sum, forward_layernorm(f, path, sum));
    value_rebind(tape, &sum, tape_dropout(tape, sum, f->config->hidden_dropout));
    return tape_frame_close(tape, frame, sum);
}

static struct value *encoder(const struct forward *f, const char *root)
{
    /* The embeddings and the mask keep their names until the model returns. */
    char path[64];
    snprintf(path, sizeof path, "%sembeddings", root);
    struct value *embedded = module_run(f, path, embeddings, root);
    module_place_beside(f, embedded);
    struct forward_layer layer = {.forward = f, .mask = forward_mask(f, embedded, false)};
    tape_recomputation_argument(f->tape, layer.mask);
    return encoder_stack(&layer, bert_layer, root, "encoder", embedded);
}

/* The model's own output has the last hidden state too, until the class returns: it stays with the open frame. */
static struct value *pooled_encoder(const struct forward *f, const char *root)
{
    int frame = tape_frame_open(f->tape);
    struct value *hidden = encoder(f, root), *pooled = forward_pooler(f, root, hidden);
    struct value *const results[] = {hidden, pooled};
    tape_frame_close_all(f->tape, frame, results, 2);
    return pooled;
}

static struct value *unpooled_encoder(const struct forward *f, const char *root)
{
    int frame = tape_frame_open(f->tape);
    return tape_frame_close(f->tape, frame, encoder(f, root));
}

static struct value *bert_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    bool bare = forward_is_bare(f);
    if (f->skeleton->task != NULL) {
        bool pools = f->skeleton->task->run == pooled_classifier;
        return task_head_forward(f, pools ? pooled_encoder : unpooled_encoder);
    }
    int frame = tape_frame_open(tape);
    const char *root = bare ? "" : is_roberta(f->config) ? "roberta." : "bert.";
    struct value *hidden = bare                    ? encoder(f, root)
                           : is_roberta(f->config) ? module_run(f, "roberta", encoder, root)
                                                   : module_run(f, "bert", encoder, root);
    if (bare) {
        forward_pooler(f, "", hidden);
    }
    hidden = tape_frame_close(tape, frame, hidden);
    if (bare) {
        return hidden;
    }
    static const struct masked_head bert_head = {{"cls", "cls.predictions"},
                                                 "cls.predictions.transform.dense",
                                                 "cls.predictions.transform.LayerNorm",
                                                 "cls.predictions.decoder"};
    static const struct masked_head roberta_head = {
        {"lm_head"}, "lm_head.dense", "lm_head.layer_norm", "lm_head.decoder"};
    const struct config *config = f->config;
    return is_roberta(config) ? masked_head_run(f, &roberta_head, ACTIVATION_GELU, hidden)
                              : masked_head_run(f, &bert_head, config->activation, hidden);
}

static const char *const model_types[] = {"bert", "roberta", "xlm-roberta", NULL};
static const char *const lora_targets[] = {"query", "value", NULL};

const struct family family_bert = {
    .name = "bert",
    .model_types = model_types,
    .has_attention = true,
    .bounds_positions = true,
    .lora_targets = lora_targets,
    .read = bert_read,
    .has_head = bert_has_head,
    .skeleton = bert_skeleton,
    .forward = bert_forward,
};
