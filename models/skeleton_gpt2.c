/* Skeleton of GPT-2: GPT2Model, or GPT2LMHeadModel (transformers 5.23, which registers no causal mask).
 *
 * Worked number: gpt2 has 50257 * 768 + 1024 * 768 parameters in its embeddings, 7,087,872 in each of 12 blocks and
 * 1,536 in the last norm: 124,439,808; a tied head adds none. */
#include "models/skeleton_builder.h"

#include <math.h>

/* Conv1D is a linear layer whose weight is stored transposed: [inputs, outputs]. */
static void gpt2_projection(struct skeleton_builder *builder, int parent, const char *name, int64_t inputs,
                            int64_t outputs, double deviation)
{
    builder_module(builder, parent, name, "Conv1D");
    builder_matrix(builder, "weight", (struct initial){.deviation = deviation}, inputs, outputs);
    builder_vector(builder, "bias", (struct initial){0}, outputs);
}

static void gpt2_block(struct skeleton_builder *builder, int parent, int64_t number)
{
    const struct config *config = builder->config;
    int64_t hidden = config->hidden;
    /* Projections that end in the residual stream start smaller, so that its variance does not grow with depth. */
    double residual = config->initializer_range / sqrt(2.0 * (double)config->layers);
    int block = builder_element(builder, parent, number, "GPT2Block");
    builder_keep_whole(builder, block);
    builder_layernorm(builder, block, "ln_1");
    int attention = builder_module(builder, block, "attn", "GPT2Attention");
    gpt2_projection(builder, attention, "c_attn", hidden, 3 * hidden, config->initializer_range);
    gpt2_projection(builder, attention, "c_proj", hidden, hidden, residual);
    builder_layernorm(builder, block, "ln_2");
    int mlp = builder_module(builder, block, "mlp", "GPT2MLP");
    gpt2_projection(builder, mlp, "c_fc", hidden, config->ffn, config->initializer_range);
    gpt2_projection(builder, mlp, "c_proj", config->ffn, hidden, residual);
}

void skeleton_gpt2(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    int root = -1;
    int model = -1;
    if (head == HEAD_LM) {
        root = builder_module(builder, -1, "", "GPT2LMHeadModel");
        model = builder_module(builder, root, "transformer", "GPT2Model");
    } else {
        model = builder_module(builder, -1, "", "GPT2Model");
    }
    int words = builder_embedding(builder, model, "wte", config->vocab, config->hidden);
    builder_embedding(builder, model, "wpe", config->positions, config->hidden);
    int blocks = builder_module(builder, model, "h", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        gpt2_block(builder, blocks, i);
    }
    builder_layernorm(builder, model, "ln_f");
    if (head == HEAD_LM) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}
