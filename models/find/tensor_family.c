/* Tensor families: the table. The networks of timm are not here: what they are stands in their configurations alone. */
#include "models/find/tensor_family.h"

#include <stddef.h>

#define SIZE(key, tensor, axis)                                                                                        \
    {                                                                                                                  \
        TENSOR_SIZE, tensor, key, axis, 0, 0, NULL                                                                     \
    }
#define COUNT(key, tensor)                                                                                             \
    {                                                                                                                  \
        TENSOR_COUNT, tensor, key, 0, 0, 0, NULL                                                                       \
    }
#define PRESENT(key, tensor)                                                                                           \
    {                                                                                                                  \
        TENSOR_PRESENT, tensor, key, 0, 0, 0, NULL                                                                     \
    }
#define ABSENT(key, tensor)                                                                                            \
    {                                                                                                                  \
        TENSOR_ABSENT, tensor, key, 0, 0, 0, NULL                                                                      \
    }
#define FACT(kind, key, tensor, number)                                                                                \
    {                                                                                                                  \
        kind, tensor, key, 0, number, 0, NULL                                                                          \
    }
#define ELSE(key, tensor, number)    FACT(TENSOR_SIZE_ELSE, key, tensor, number)
#define ASSUMED(key, tensor, number) FACT(TENSOR_ASSUMED, key, tensor, number)
#define FIRST(key, tensor)           FACT(TENSOR_FIRST, key, tensor, 0)
#define LAYERS(key, tensor)          FACT(TENSOR_LAYERS, key, tensor, 0)
#define FACT_END                                                                                                       \
    {                                                                                                                  \
        TENSOR_SIZE, NULL, NULL, 0, 0, 0, NULL                                                                         \
    }

static const struct tensor_fact gpt2_facts[] = {
    SIZE("vocab_size", "wte.weight", 0),       SIZE("n_embd", "wte.weight", 1),
    SIZE("n_positions", "wpe.weight", 0),      COUNT("n_layer", "h.#.attn.c_attn.weight"),
    SIZE("n_inner", "h.0.mlp.c_fc.weight", 1), FACT_END,
};

static const struct tensor_fact bert_facts[] = {
    SIZE("vocab_size", "embeddings.word_embeddings.weight", 0),
    SIZE("hidden_size", "embeddings.word_embeddings.weight", 1),
    SIZE("max_position_embeddings", "embeddings.position_embeddings.weight", 0),
    SIZE("type_vocab_size", "embeddings.token_type_embeddings.weight", 0),
    COUNT("num_hidden_layers", "encoder.layer.#.attention.self.query.weight"),
    SIZE("intermediate_size", "encoder.layer.0.intermediate.dense.weight", 0),
    FACT_END,
};

static const struct tensor_fact distilbert_facts[] = {
    SIZE("vocab_size", "embeddings.word_embeddings.weight", 0),
    SIZE("dim", "embeddings.word_embeddings.weight", 1),
    SIZE("max_position_embeddings", "embeddings.position_embeddings.weight", 0),
    COUNT("n_layers", "transformer.layer.#.attention.q_lin.weight"),
    SIZE("hidden_dim", "transformer.layer.0.ffn.lin1.weight", 0),
    FACT_END,
};

/* What Llama and its kin share. */
#define DECODER_FACTS                                                                                                  \
    SIZE("vocab_size", "embed_tokens.weight", 0), SIZE("hidden_size", "embed_tokens.weight", 1),                       \
        COUNT("num_hidden_layers", "layers.#.input_layernorm.weight"),                                                 \
        ABSENT("tie_word_embeddings", "/lm_head.weight")
#define DENSE_FACTS DECODER_FACTS, SIZE("intermediate_size", "layers.0.mlp.gate_proj.weight", 0)

static const struct tensor_fact llama_facts[] = {
    DENSE_FACTS,
    PRESENT("attention_bias", "layers.0.self_attn.o_proj.bias"),
    PRESENT("mlp_bias", "layers.0.mlp.gate_proj.bias"),
    FACT_END,
};

static const struct tensor_fact dense_facts[] = {DENSE_FACTS, FACT_END};

static const struct tensor_fact biased_facts[] = {
    DENSE_FACTS,
    PRESENT("attention_bias", "layers.0.self_attn.o_proj.bias"),
    FACT_END,
};

static const struct tensor_fact phi3_facts[] = {
    DECODER_FACTS,
    {TENSOR_SIZE, "layers.0.mlp.gate_up_proj.weight", "intermediate_size", 0, 0, 2, NULL},
    FACT_END,
};

static const struct tensor_fact mixtral_facts[] = {
    DECODER_FACTS,
    SIZE("num_local_experts", "layers.0.block_sparse_moe.gate.weight", 0),
    SIZE("intermediate_size", "layers.0.block_sparse_moe.experts.0.w1.weight", 0),
    ASSUMED("num_experts_per_tok", "layers.0.block_sparse_moe.gate.weight", 2),
    FACT_END,
};

#define EXPERT        "layers.@.mlp.experts.0.gate_proj.weight"
#define ROUTER        "layers.@.mlp.gate.weight"
#define SHARED_EXPERT "layers.@.mlp.shared_expert.gate_proj.weight"
#define MIXTURE_FACTS(ffn)                                                                                             \
    DECODER_FACTS, SIZE("num_experts", ROUTER, 0), SIZE("moe_intermediate_size", EXPERT, 0),                           \
        ELSE("intermediate_size", "layers.~.mlp.gate_proj.weight", ffn), LAYERS("mlp_only_layers", TENSOR_DENSE)

/* What decides nothing if no layer is dense has the default of the class, as every config.json has some number
 * there. */
static const struct tensor_fact qwen2_moe_facts[] = {
    MIXTURE_FACTS(5632),
    SIZE("shared_expert_intermediate_size", SHARED_EXPERT, 0),
    PRESENT("qkv_bias", "layers.0.self_attn.q_proj.bias"),
    ASSUMED("num_experts_per_tok", ROUTER, 4),
    FACT_END,
};

static const struct tensor_fact qwen3_moe_facts[] = {
    MIXTURE_FACTS(6144),
    PRESENT("attention_bias", "layers.0.self_attn.o_proj.bias"),
    ASSUMED("num_experts_per_tok", ROUTER, 8),
    FACT_END,
};

#define LATENT "layers.0.self_attn.kv_a_proj_with_mqa."
#define DEEPSEEK_FACTS(ffn, active)                                                                                    \
    DECODER_FACTS, SIZE("n_routed_experts", ROUTER, 0), SIZE("moe_intermediate_size", EXPERT, 0),                      \
        ELSE("intermediate_size", "layers.~.mlp.gate_proj.weight", ffn), FIRST("first_k_dense_replace", ROUTER),       \
        ELSE("q_lora_rank", "layers.0.self_attn.q_a_proj.weight", 0), PRESENT("attention_bias", LATENT "bias"),        \
        ASSUMED("num_experts_per_tok", ROUTER, active)

static const struct tensor_fact deepseek_v2_facts[] = {DEEPSEEK_FACTS(11008, 6), FACT_END};
static const struct tensor_fact deepseek_v3_facts[] = {DEEPSEEK_FACTS(18432, 8), FACT_END};

#define FALCON_FACTS                                                                                                   \
    SIZE("vocab_size", "word_embeddings.weight", 0), SIZE("hidden_size", "word_embeddings.weight", 1),                 \
        COUNT("num_hidden_layers", "h.#.self_attention.query_key_value.weight"),                                       \
        SIZE("ffn_hidden_size", "h.0.mlp.dense_h_to_4h.weight", 0),                                                    \
        PRESENT("bias", "h.0.self_attention.query_key_value.bias"), ABSENT("tie_word_embeddings", "/lm_head.weight")

#define FALCON_QKV        "h.0.self_attention.query_key_value.weight"
#define FALCON_TWO_NORMS  "h.0.ln_attn.weight"
#define FALCON_SEQUENTIAL "h.0.post_attention_layernorm.weight"
static const struct tensor_fact falcon_facts[] = {
    FALCON_FACTS,
    PRESENT("new_decoder_architecture", FALCON_TWO_NORMS),
    ABSENT("parallel_attn", FALCON_SEQUENTIAL),
    ABSENT("multi_query", FALCON_SEQUENTIAL),
    PRESENT("alibi", FALCON_SEQUENTIAL),
    FACT_END,
};

#define CONVNEXT_LAYERS "encoder.stages.#.layers.*."
static const struct tensor_fact convnext_facts[] = {
    SIZE("num_channels", "embeddings.patch_embeddings.weight", 1),
    SIZE("patch_size", "embeddings.patch_embeddings.weight", 2),
    COUNT("num_stages", "encoder.stages.#.layers.0.dwconv.weight"),
    {TENSOR_DEPTHS, CONVNEXT_LAYERS "dwconv.weight", "depths", 0, 0, 0, NULL},
    {TENSOR_WIDTHS, CONVNEXT_LAYERS "dwconv.weight", "hidden_sizes", 0, 0, 0, NULL},
    SIZE("num_labels", "/classifier.weight", 0),
    FACT_END,
};

static const struct tensor_fact gpt_neox_facts[] = {
    SIZE("vocab_size", "embed_in.weight", 0),
    SIZE("hidden_size", "embed_in.weight", 1),
    COUNT("num_hidden_layers", "layers.#.attention.query_key_value.weight"),
    SIZE("intermediate_size", "layers.0.mlp.dense_h_to_4h.weight", 0),
    PRESENT("attention_bias", "layers.0.attention.query_key_value.bias"),
    FACT_END,
};

static const struct tensor_fact gpt_neo_facts[] = {
    SIZE("vocab_size", "wte.weight", 0),
    SIZE("hidden_size", "wte.weight", 1),
    SIZE("max_position_embeddings", "wpe.weight", 0),
    COUNT("num_layers", "h.#.attn.attention.q_proj.weight"),
    SIZE("intermediate_size", "h.0.mlp.c_fc.weight", 0),
    FACT(TENSOR_TURNS, "attention_types", "h.#.attn.attention.q_proj.weight", 0),
    FACT_END,
};

static const struct tensor_fact bloom_facts[] = {
    SIZE("vocab_size", "word_embeddings.weight", 0),
    SIZE("hidden_size", "word_embeddings.weight", 1),
    COUNT("n_layer", "h.#.self_attention.query_key_value.weight"),
    FACT_END,
};

/* Its table of positions has two rows in front of the first token's. */
static const struct tensor_fact opt_facts[] = {
    SIZE("vocab_size", "decoder.embed_tokens.weight", 0),
    SIZE("word_embed_proj_dim", "decoder.embed_tokens.weight", 1),
    SIZE("hidden_size", "decoder.embed_positions.weight", 1),
    {TENSOR_SIZE, "decoder.embed_positions.weight", "max_position_embeddings", 0, 2, 0, NULL},
    COUNT("num_hidden_layers", "decoder.layers.#.self_attn.q_proj.weight"),
    SIZE("ffn_dim", "decoder.layers.0.fc1.weight", 0),
    PRESENT("do_layer_norm_before", "decoder.final_layer_norm.weight"),
    PRESENT("enable_bias", "decoder.layers.0.fc1.bias"),
    FACT_END,
};

#define T5_SELF  "encoder.block.0.layer.0.SelfAttention."
#define T5_DENSE "encoder.block.0.layer.1.DenseReluDense."
static const struct tensor_fact t5_facts[] = {
    SIZE("vocab_size", "shared.weight", 0),
    SIZE("d_model", "shared.weight", 1),
    COUNT("num_layers", "encoder.block.#.layer.0.SelfAttention.q.weight"),
    COUNT("num_decoder_layers", "decoder.block.#.layer.0.SelfAttention.q.weight"),
    SIZE("relative_attention_num_buckets", T5_SELF "relative_attention_bias.weight", 0),
    SIZE("d_ff", T5_DENSE "wo.weight", 1),
    {TENSOR_TEXT, T5_DENSE "wi_0.weight", "feed_forward_proj", 0, 0, 0, "gated-gelu"},
    ABSENT("tie_word_embeddings", "lm_head.weight"),
    FACT_END,
};

/* Files have the names of older classes, newer ones those of the newer. */
static const struct tensor_fact vit_facts[] = {
    SIZE("hidden_size", "embeddings.patch_embeddings.projection.weight", 0),
    SIZE("num_channels", "embeddings.patch_embeddings.projection.weight", 1),
    SIZE("patch_size", "embeddings.patch_embeddings.projection.weight", 2),
    {TENSOR_IMAGE, "embeddings.position_embeddings", "image_size", 1, 0, 0, NULL},
    COUNT("num_hidden_layers", "encoder.layer.#.attention.attention.query.weight"),
    COUNT("num_hidden_layers", "layers.#.attention.q_proj.weight"),
    SIZE("intermediate_size", "encoder.layer.0.intermediate.dense.weight", 0),
    SIZE("intermediate_size", "layers.0.mlp.fc1.weight", 0),
    SIZE("pooler_output_size", "pooler.dense.weight", 0),
    SIZE("num_labels", "/classifier.weight", 0),
    FACT_END,
};

#define LLAMA_ATTENTION "layers.0.self_attn."
#define LLAMA_PREFIXES                                                                                                 \
    {                                                                                                                  \
        "model.", "", NULL                                                                                             \
    }
#define LLAMA_NEEDS                                                                                                    \
    "embed_tokens.weight", LLAMA_ATTENTION "q_proj.weight", LLAMA_ATTENTION "k_proj.weight",                           \
        "layers.0.mlp.gate_proj.weight", "layers.0.post_attention_layernorm.weight"
#define LLAMA_HEADS(exact, factor, usual, wide)                                                                        \
    {                                                                                                                  \
        "num_attention_heads", "num_key_value_heads", "head_dim", LLAMA_ATTENTION "q_proj.weight", 0,                  \
            LLAMA_ATTENTION "k_proj.weight", HEADS_PLAIN, exact, factor, NULL, usual, wide                             \
    }
#define PLAIN_HEADS(key, tensor, axis, wide)                                                                           \
    {                                                                                                                  \
        key, NULL, NULL, tensor, axis, NULL, HEADS_PLAIN, NULL, 0, NULL, 0, wide                                       \
    }
#define LATENT_HEADS                                                                                                   \
    {                                                                                                                  \
        "num_attention_heads", "num_key_value_heads", NULL, NULL, 0, NULL, HEADS_LATENT, NULL, 0, NULL, 0, 0           \
    }
#define NO_HEADS                                                                                                       \
    {                                                                                                                  \
        NULL, NULL, NULL, NULL, 0, NULL, HEADS_PLAIN, NULL, 0, NULL, 0, 0                                              \
    }
#define Q_NORM      LLAMA_ATTENTION "q_norm.weight"
#define K_BIAS      LLAMA_ATTENTION "k_proj.bias"
#define O_BIAS      LLAMA_ATTENTION "o_proj.bias"
#define FREQUENCIES LLAMA_ATTENTION "rotary_emb.inv_freq"
#define MORE_NORMS  "layers.0.pre_feedforward_layernorm.weight"

enum { WIDE = 2049, NEVER_WIDE = 1 << 30 };

static const struct tensor_family families[] = {
    {"gpt2",
     false,
     NULL,
     {"", "transformer.", NULL},
     {"wte.weight", "h.0.attn.c_attn.weight", "wpe.weight", NULL},
     {NULL},
     gpt2_facts,
     PLAIN_HEADS("n_head", "wte.weight", 1, NEVER_WIDE)},
    {"roberta",
     false,
     "xlm-roberta has the same tensors, and needs the same",
     {"roberta.", NULL},
     {"embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.query.weight", NULL},
     {NULL},
     bert_facts,
     PLAIN_HEADS("num_attention_heads", "embeddings.word_embeddings.weight", 1, NEVER_WIDE)},
    {"roberta",
     true,
     NULL,
     {"", NULL},
     {"embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.query.weight", NULL},
     {NULL},
     bert_facts,
     PLAIN_HEADS("num_attention_heads", "embeddings.word_embeddings.weight", 1, NEVER_WIDE)},
    {"bert",
     false,
     NULL,
     {"bert.", "", NULL},
     {"embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.query.weight", NULL},
     {NULL},
     bert_facts,
     PLAIN_HEADS("num_attention_heads", "embeddings.word_embeddings.weight", 1, NEVER_WIDE)},
    {"distilbert",
     false,
     NULL,
     {"distilbert.", "", NULL},
     {"embeddings.word_embeddings.weight", "transformer.layer.0.attention.q_lin.weight", NULL},
     {NULL},
     distilbert_facts,
     PLAIN_HEADS("n_heads", "embeddings.word_embeddings.weight", 1, NEVER_WIDE)},
    {"gemma3_text",
     false,
     NULL,
     LLAMA_PREFIXES,
     {Q_NORM, MORE_NORMS, LLAMA_NEEDS},
     {NULL},
     biased_facts,
     LLAMA_HEADS(Q_NORM, 1, 256, 0)},
    {"gemma2",
     false,
     NULL,
     LLAMA_PREFIXES,
     {LLAMA_NEEDS, MORE_NORMS, NULL},
     {Q_NORM, NULL},
     biased_facts,
     LLAMA_HEADS(NULL, 0, 256, 0)},
    {"qwen3",
     false,
     NULL,
     LLAMA_PREFIXES,
     {Q_NORM, LLAMA_NEEDS, NULL},
     {MORE_NORMS, ROUTER, NULL},
     biased_facts,
     LLAMA_HEADS(Q_NORM, 1, 128, 0)},
    {"qwen2",
     false,
     NULL,
     LLAMA_PREFIXES,
     {K_BIAS, LLAMA_NEEDS, NULL},
     {ROUTER, Q_NORM, MORE_NORMS, O_BIAS, NULL},
     dense_facts,
     LLAMA_HEADS(FREQUENCIES, 2, 0, 1024)},
    {"llama",
     false,
     "mistral has the same tensors; #mistral behind the name reads it so",
     LLAMA_PREFIXES,
     {LLAMA_NEEDS, NULL},
     {ROUTER, Q_NORM, MORE_NORMS, NULL},
     llama_facts,
     LLAMA_HEADS(FREQUENCIES, 2, 0, WIDE)},
    {"mistral",
     true,
     NULL,
     LLAMA_PREFIXES,
     {LLAMA_NEEDS, NULL},
     {Q_NORM, MORE_NORMS, O_BIAS, NULL},
     dense_facts,
     LLAMA_HEADS(FREQUENCIES, 2, 128, 0)},
    {"gemma",
     true,
     NULL,
     LLAMA_PREFIXES,
     {LLAMA_NEEDS, NULL},
     {Q_NORM, MORE_NORMS, NULL},
     biased_facts,
     LLAMA_HEADS(NULL, 0, 256, 0)},
    {"phi3",
     false,
     NULL,
     LLAMA_PREFIXES,
     {LLAMA_ATTENTION "qkv_proj.weight", "layers.0.mlp.gate_up_proj.weight", "embed_tokens.weight", NULL},
     {NULL},
     phi3_facts,
     {"num_attention_heads", "num_key_value_heads", NULL, LLAMA_ATTENTION "o_proj.weight", 1,
      LLAMA_ATTENTION "qkv_proj.weight", HEADS_REST, NULL, 0, NULL, 96, 0}},
    {"mixtral",
     false,
     NULL,
     LLAMA_PREFIXES,
     {"layers.0.block_sparse_moe.gate.weight", "layers.0.block_sparse_moe.experts.0.w1.weight", "embed_tokens.weight",
      LLAMA_ATTENTION "q_proj.weight", NULL},
     {NULL},
     mixtral_facts,
     LLAMA_HEADS(FREQUENCIES, 2, 128, 0)},
    {"qwen2_moe",
     false,
     NULL,
     LLAMA_PREFIXES,
     {SHARED_EXPERT, EXPERT, "embed_tokens.weight", NULL},
     {Q_NORM, NULL},
     qwen2_moe_facts,
     LLAMA_HEADS(NULL, 0, 128, 0)},
    {"qwen3_moe",
     false,
     NULL,
     LLAMA_PREFIXES,
     {Q_NORM, EXPERT, "embed_tokens.weight", NULL},
     {SHARED_EXPERT, NULL},
     qwen3_moe_facts,
     LLAMA_HEADS(Q_NORM, 1, 128, 0)},
    {"deepseek_v3",
     false,
     "the groups of its experts are those of DeepSeek-V3, or one if these do not divide them",
     LLAMA_PREFIXES,
     {LATENT "weight", "layers.@.mlp.gate.e_score_correction_bias", EXPERT, ROUTER, "embed_tokens.weight", NULL},
     {NULL},
     deepseek_v3_facts,
     LATENT_HEADS},
    {"deepseek_v2",
     false,
     "experts are chosen greedily, without groups, as DeepSeek-V2-Lite's are",
     LLAMA_PREFIXES,
     {LATENT "weight", EXPERT, ROUTER, "embed_tokens.weight", NULL},
     {"layers.@.mlp.gate.e_score_correction_bias", NULL},
     deepseek_v2_facts,
     LATENT_HEADS},
    {"falcon",
     false,
     NULL,
     {"transformer.", "", NULL},
     {FALCON_TWO_NORMS, FALCON_QKV, "word_embeddings.weight", "h.0.ln_mlp.weight", NULL},
     {FALCON_SEQUENTIAL, NULL},
     falcon_facts,
     {"num_attention_heads", "num_kv_heads", NULL, "h.0.self_attention.dense.weight", 1, FALCON_QKV, HEADS_REST, NULL,
      0, NULL, 64, 0}},
    {"falcon",
     false,
     "alibi is taken for its positions, as Falcon-RW has it",
     {"transformer.", "", NULL},
     {FALCON_SEQUENTIAL, FALCON_QKV, "word_embeddings.weight", "h.0.input_layernorm.weight", NULL},
     {FALCON_TWO_NORMS, "word_embeddings_layernorm.weight", NULL},
     falcon_facts,
     PLAIN_HEADS("num_attention_heads", "word_embeddings.weight", 1, NEVER_WIDE)},
    {"falcon",
     false,
     "Falcon2-11B has the same names",
     {"transformer.", "", NULL},
     {FALCON_QKV, "h.0.input_layernorm.weight", "word_embeddings.weight", "h.0.mlp.dense_h_to_4h.weight", NULL},
     {FALCON_TWO_NORMS, FALCON_SEQUENTIAL, "word_embeddings_layernorm.weight", NULL},
     falcon_facts,
     {"num_attention_heads", NULL, NULL, "h.0.self_attention.dense.weight", 1, FALCON_QKV, HEADS_ONE_KEY, NULL, 0, NULL,
      0, 0}},
    {"convnext",
     false,
     NULL,
     {"convnext.", "", NULL},
     {"embeddings.patch_embeddings.weight", "encoder.stages.0.layers.0.dwconv.weight",
      "encoder.stages.0.layers.0.layer_scale_parameter", NULL},
     {"embeddings.cls_token", NULL},
     convnext_facts,
     NO_HEADS},
    {"gpt_neox",
     false,
     NULL,
     {"gpt_neox.", "", NULL},
     {"embed_in.weight", "layers.0.attention.query_key_value.weight", NULL},
     {NULL},
     gpt_neox_facts,
     PLAIN_HEADS("num_attention_heads", "embed_in.weight", 1, WIDE)},
    {"gpt_neo",
     false,
     "its layers see all tokens and a window in turns",
     {"transformer.", "", NULL},
     {"wte.weight", "h.0.attn.attention.q_proj.weight", "wpe.weight", NULL},
     {NULL},
     gpt_neo_facts,
     PLAIN_HEADS("num_heads", "wte.weight", 1, 2048)},
    {"bloom",
     false,
     NULL,
     {"transformer.", "", NULL},
     {"word_embeddings_layernorm.weight", "h.0.self_attention.query_key_value.weight", "word_embeddings.weight", NULL},
     {NULL},
     bloom_facts,
     PLAIN_HEADS("n_head", "word_embeddings.weight", 1, WIDE)},
    {"opt",
     false,
     NULL,
     {"model.", "", NULL},
     {"decoder.embed_positions.weight", "decoder.layers.0.fc1.weight", "decoder.embed_tokens.weight",
      "decoder.layers.0.self_attn.q_proj.weight", NULL},
     {"encoder.embed_positions.weight", NULL},
     opt_facts,
     PLAIN_HEADS("num_attention_heads", "decoder.embed_positions.weight", 1, 4096)},
    {"t5",
     false,
     NULL,
     {"", NULL},
     {"shared.weight", T5_SELF "q.weight", T5_SELF "relative_attention_bias.weight", NULL},
     {NULL},
     t5_facts,
     {"num_heads", NULL, "d_kv", T5_SELF "q.weight", 0, NULL, HEADS_PLAIN, NULL, 0,
      T5_SELF "relative_attention_bias.weight", 64, 0}},
    {"vit",
     false,
     NULL,
     {"vit.", "", NULL},
     {"embeddings.patch_embeddings.projection.weight", "embeddings.cls_token", "embeddings.position_embeddings", NULL},
     {NULL},
     vit_facts,
     PLAIN_HEADS("num_attention_heads", "embeddings.patch_embeddings.projection.weight", 0, NEVER_WIDE)},
};

const struct tensor_family *tensor_family_at(int index)
{
    return index >= 0 && index < (int)(sizeof families / sizeof families[0]) ? &families[index] : NULL;
}
