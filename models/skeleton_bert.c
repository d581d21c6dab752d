/* Skeleton of BERT: BertModel with its pooler, or BertForMaskedLM without it (transformers 5.23).
 *
 * Worked number: bert-base-cased has (28996 + 512 + 2 + 2) * 768 = 22,665,216 parameters in its embeddings, 7,087,872
 * in each of 12 layers and 590,592 in the pooler: 108,310,272. Buffers: two rows of 512 int64: 8,192 bytes. */
#include "models/skeleton_builder.h"

static void bert_embeddings(struct skeleton_builder *builder, int parent, int *words)
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

static void bert_layer(struct skeleton_builder *builder, int parent, int64_t number)
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
static void bert_head(struct skeleton_builder *builder, int root, int words)
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

void skeleton_bert(struct skeleton_builder *builder, enum head head)
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
    bert_embeddings(builder, model, &words);
    int encoder = builder_module(builder, model, "encoder", "BertEncoder");
    int layers = builder_module(builder, encoder, "layer", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        bert_layer(builder, layers, i);
    }
    if (head == HEAD_LM) {
        bert_head(builder, root, words);
    } else {
        int pooler = builder_module(builder, model, "pooler", "BertPooler");
        builder_linear(builder, pooler, "dense", config->hidden, config->hidden, true);
    }
}
