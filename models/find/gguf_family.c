/* GGUF families: the table, and the walk from metadata to a configuration. Not a reader of files. */
#include "models/find/gguf_family.h"
#include "models/family/config_reading.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"

/* What most architectures share. */
#define FACTS_COMMON                                                                                                   \
    {GGUF_FACT_ROWS, "token_embd.weight", "vocab_size"},                                                               \
    {                                                                                                                  \
        GGUF_FACT_ABSENT, "output.weight", "tie_word_embeddings"                                                       \
    }
#define FACTS_LLAMA                                                                                                    \
    FACTS_COMMON, {GGUF_FACT_KEY, "context_length", "max_position_embeddings"},                                        \
        {GGUF_FACT_KEY, "embedding_length", "hidden_size"}, {GGUF_FACT_KEY, "block_count", "num_hidden_layers"},       \
        {GGUF_FACT_KEY, "feed_forward_length", "intermediate_size"},                                                   \
        {GGUF_FACT_KEY, "attention.head_count", "num_attention_heads"},                                                \
        {GGUF_FACT_KEY, "attention.head_count_kv", "num_key_value_heads"},                                             \
        {GGUF_FACT_KEY, "attention.key_length", "head_dim"},                                                           \
    {                                                                                                                  \
        GGUF_FACT_KEY, "attention.layer_norm_rms_epsilon", "rms_norm_eps"                                              \
    }
#define FACT_END                                                                                                       \
    {                                                                                                                  \
        GGUF_FACT_KEY, NULL, NULL                                                                                      \
    }

static const struct gguf_fact llama_facts[] = {
    FACTS_LLAMA,
    {GGUF_FACT_PRESENT, "blk.0.attn_q.bias", "attention_bias"},
    {GGUF_FACT_PRESENT, "blk.0.ffn_up.bias", "mlp_bias"},
    FACT_END,
};

static const struct gguf_fact plain_facts[] = {FACTS_LLAMA, FACT_END};

/* With those of layers of experts, which a model without them does not have. */
static const struct gguf_name llama_names[] = {
    {"token_embd", "model.embed_tokens", GGUF_AS_IS},
    {"output_norm", "model.norm", GGUF_AS_IS},
    {"output", "lm_head", GGUF_AS_IS},
    {"rope_freqs", NULL, GGUF_AS_IS},
    {"blk.#.attn_rot_embd", NULL, GGUF_AS_IS},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", GGUF_AS_IS},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", GGUF_AS_IS},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", GGUF_AS_IS},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", GGUF_AS_IS},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", GGUF_AS_IS},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj", GGUF_AS_IS},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj", GGUF_AS_IS},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm", GGUF_AS_IS},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj", GGUF_AS_IS},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj", GGUF_AS_IS},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj", GGUF_AS_IS},
    {"blk.#.ffn_gate_inp", "model.layers.#.mlp.gate", GGUF_AS_IS},
    {"blk.#.ffn_gate_exps", "model.layers.#.mlp.experts.gate_up_proj", GGUF_EXPERTS_FIRST_HALF},
    {"blk.#.ffn_up_exps", "model.layers.#.mlp.experts.gate_up_proj", GGUF_EXPERTS_SECOND_HALF},
    {"blk.#.ffn_down_exps", "model.layers.#.mlp.experts.down_proj", GGUF_EXPERTS},
    {"blk.#.ffn_gate_inp_shexp", "model.layers.#.mlp.shared_expert_gate", GGUF_AS_IS},
    {"blk.#.ffn_gate_shexp", "model.layers.#.mlp.shared_expert.gate_proj", GGUF_AS_IS},
    {"blk.#.ffn_up_shexp", "model.layers.#.mlp.shared_expert.up_proj", GGUF_AS_IS},
    {"blk.#.ffn_down_shexp", "model.layers.#.mlp.shared_expert.down_proj", GGUF_AS_IS},
    {NULL, NULL, GGUF_AS_IS},
};

static const struct gguf_fact mixtral_facts[] = {
    FACTS_LLAMA,
    {GGUF_FACT_KEY, "expert_count", "num_local_experts"},
    {GGUF_FACT_KEY, "expert_used_count", "num_experts_per_tok"},
    FACT_END,
};

#define FACTS_QWEN_MOE                                                                                                 \
    FACTS_LLAMA, {GGUF_FACT_KEY, "expert_count", "num_experts"},                                                       \
        {GGUF_FACT_KEY, "expert_used_count", "num_experts_per_tok"},                                                   \
    {                                                                                                                  \
        GGUF_FACT_KEY, "expert_feed_forward_length", "moe_intermediate_size"                                           \
    }

static const struct gguf_fact qwen2_moe_facts[] = {
    FACTS_QWEN_MOE,
    {GGUF_FACT_KEY, "expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    FACT_END,
};

static const struct gguf_fact qwen3_moe_facts[] = {FACTS_QWEN_MOE, FACT_END};

static const struct gguf_name phi3_names[] = {
    {"token_embd", "model.embed_tokens", GGUF_AS_IS},
    {"output_norm", "model.norm", GGUF_AS_IS},
    {"output", "lm_head", GGUF_AS_IS},
    {"rope_factors_long", NULL, GGUF_AS_IS},
    {"rope_factors_short", NULL, GGUF_AS_IS},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", GGUF_AS_IS},
    {"blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj", GGUF_AS_IS},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj", GGUF_AS_IS},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm", GGUF_AS_IS},
    {"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj", GGUF_AS_IS},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj", GGUF_AS_IS},
    {NULL, NULL, GGUF_AS_IS},
};

static const struct gguf_fact gpt_neox_facts[] = {
    FACTS_COMMON,
    {GGUF_FACT_KEY, "context_length", "max_position_embeddings"},
    {GGUF_FACT_KEY, "embedding_length", "hidden_size"},
    {GGUF_FACT_KEY, "block_count", "num_hidden_layers"},
    {GGUF_FACT_KEY, "feed_forward_length", "intermediate_size"},
    {GGUF_FACT_KEY, "attention.head_count", "num_attention_heads"},
    {GGUF_FACT_KEY, "attention.layer_norm_epsilon", "layer_norm_eps"},
    {GGUF_FACT_KEY, "use_parallel_residual", "use_parallel_residual"},
    FACT_END,
};

static const struct gguf_name gpt_neox_names[] = {
    {"token_embd", "gpt_neox.embed_in", GGUF_AS_IS},
    {"output_norm", "gpt_neox.final_layer_norm", GGUF_AS_IS},
    {"output", "lm_head", GGUF_AS_IS},
    {"blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm", GGUF_AS_IS},
    {"blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value", GGUF_AS_IS},
    {"blk.#.attn_output", "gpt_neox.layers.#.attention.dense", GGUF_AS_IS},
    {"blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm", GGUF_AS_IS},
    {"blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h", GGUF_AS_IS},
    {"blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h", GGUF_AS_IS},
    {NULL, NULL, GGUF_AS_IS},
};

static const struct gguf_fact gpt2_facts[] = {
    FACTS_COMMON,
    {GGUF_FACT_KEY, "context_length", "n_positions"},
    {GGUF_FACT_KEY, "embedding_length", "n_embd"},
    {GGUF_FACT_KEY, "block_count", "n_layer"},
    {GGUF_FACT_KEY, "feed_forward_length", "n_inner"},
    {GGUF_FACT_KEY, "attention.head_count", "n_head"},
    {GGUF_FACT_KEY, "attention.layer_norm_epsilon", "layer_norm_epsilon"},
    FACT_END,
};

static const struct gguf_name gpt2_names[] = {
    {"token_embd", "transformer.wte", GGUF_AS_IS},
    {"position_embd", "transformer.wpe", GGUF_AS_IS},
    {"output_norm", "transformer.ln_f", GGUF_AS_IS},
    {"output", "lm_head", GGUF_AS_IS},
    {"blk.#.attn_norm", "transformer.h.#.ln_1", GGUF_AS_IS},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", GGUF_TRANSPOSED},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", GGUF_TRANSPOSED},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2", GGUF_AS_IS},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", GGUF_TRANSPOSED},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", GGUF_TRANSPOSED},
    {NULL, NULL, GGUF_AS_IS},
};

/* The converter leaves the pooler and the heads out. */
static const struct gguf_fact bert_facts[] = {
    {GGUF_FACT_ROWS, "token_embd.weight", "vocab_size"},
    {GGUF_FACT_ROWS, "token_types.weight", "type_vocab_size"},
    {GGUF_FACT_KEY, "context_length", "max_position_embeddings"},
    {GGUF_FACT_KEY, "embedding_length", "hidden_size"},
    {GGUF_FACT_KEY, "block_count", "num_hidden_layers"},
    {GGUF_FACT_KEY, "feed_forward_length", "intermediate_size"},
    {GGUF_FACT_KEY, "attention.head_count", "num_attention_heads"},
    {GGUF_FACT_KEY, "attention.layer_norm_epsilon", "layer_norm_eps"},
    FACT_END,
};

static const struct gguf_name bert_names[] = {
    {"token_embd", "embeddings.word_embeddings", GGUF_AS_IS},
    {"position_embd", "embeddings.position_embeddings", GGUF_AS_IS},
    {"token_types", "embeddings.token_type_embeddings", GGUF_AS_IS},
    {"token_embd_norm", "embeddings.LayerNorm", GGUF_AS_IS},
    {"blk.#.attn_q", "encoder.layer.#.attention.self.query", GGUF_AS_IS},
    {"blk.#.attn_k", "encoder.layer.#.attention.self.key", GGUF_AS_IS},
    {"blk.#.attn_v", "encoder.layer.#.attention.self.value", GGUF_AS_IS},
    {"blk.#.attn_output", "encoder.layer.#.attention.output.dense", GGUF_AS_IS},
    {"blk.#.attn_output_norm", "encoder.layer.#.attention.output.LayerNorm", GGUF_AS_IS},
    {"blk.#.ffn_up", "encoder.layer.#.intermediate.dense", GGUF_AS_IS},
    {"blk.#.ffn_down", "encoder.layer.#.output.dense", GGUF_AS_IS},
    {"blk.#.layer_output_norm", "encoder.layer.#.output.LayerNorm", GGUF_AS_IS},
    {NULL, NULL, GGUF_AS_IS},
};

static const struct gguf_fact bloom_facts[] = {
    FACTS_COMMON,
    {GGUF_FACT_KEY, "embedding_length", "hidden_size"},
    {GGUF_FACT_KEY, "block_count", "n_layer"},
    {GGUF_FACT_KEY, "attention.head_count", "n_head"},
    {GGUF_FACT_KEY, "attention.layer_norm_epsilon", "layer_norm_epsilon"},
    FACT_END,
};

static const struct gguf_name bloom_names[] = {
    {"token_embd", "transformer.word_embeddings", GGUF_AS_IS},
    {"token_embd_norm", "transformer.word_embeddings_layernorm", GGUF_AS_IS},
    {"output_norm", "transformer.ln_f", GGUF_AS_IS},
    {"output", "lm_head", GGUF_AS_IS},
    {"blk.#.attn_norm", "transformer.h.#.input_layernorm", GGUF_AS_IS},
    {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", GGUF_AS_IS},
    {"blk.#.attn_output", "transformer.h.#.self_attention.dense", GGUF_AS_IS},
    {"blk.#.ffn_norm", "transformer.h.#.post_attention_layernorm", GGUF_AS_IS},
    {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h", GGUF_AS_IS},
    {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h", GGUF_AS_IS},
    {NULL, NULL, GGUF_AS_IS},
};

/* Where an architecture has several rows, the one without a marker is the last of them. */
static const struct gguf_family families[] = {
    {"llama", "expert_count", "mixtral", mixtral_facts, llama_names},
    {"llama", NULL, "llama", llama_facts, llama_names},
    {"qwen2", NULL, "qwen2", plain_facts, llama_names},
    {"qwen2moe", NULL, "qwen2_moe", qwen2_moe_facts, llama_names},
    {"qwen3", NULL, "qwen3", plain_facts, llama_names},
    {"qwen3moe", NULL, "qwen3_moe", qwen3_moe_facts, llama_names},
    {"gemma", NULL, "gemma", plain_facts, llama_names},
    {"phi3", NULL, "phi3", plain_facts, phi3_names},
    {"gptneox", NULL, "gpt_neox", gpt_neox_facts, gpt_neox_names},
    {"gpt2", NULL, "gpt2", gpt2_facts, gpt2_names},
    {"bert", NULL, "bert", bert_facts, bert_names},
    {"bloom", NULL, "bloom", bloom_facts, bloom_names},
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0], KEY_BYTES = 160 };

const struct gguf_family *gguf_family_at(int index)
{
    return index >= 0 && index < FAMILY_COUNT ? &families[index] : NULL;
}

static const struct checkpoint_entry *family_entry(const struct checkpoint *checkpoint,
                                                   const struct gguf_family *family, const char *name)
{
    char key[KEY_BYTES];
    snprintf(key, sizeof key, "%s.%s", family->architecture, name);
    return checkpoint_entry(checkpoint, key);
}

const struct gguf_family *gguf_family_of(const struct checkpoint *checkpoint)
{
    const struct checkpoint_entry *entry = checkpoint_entry(checkpoint, "general.architecture");
    for (int i = 0; i < FAMILY_COUNT && entry != NULL && entry->text != NULL; i++) {
        const struct gguf_family *family = &families[i];
        const struct checkpoint_entry *marker =
            family->marker != NULL ? family_entry(checkpoint, family, family->marker) : NULL;
        bool is_marked = marker != NULL && marker->kind == CHECKPOINT_VALUE_INTEGER && marker->integer > 0;
        if (strcmp(family->architecture, entry->text) == 0 && (family->marker == NULL || is_marked)) {
            return family;
        }
    }
    return NULL;
}

/* A list of one value throughout is that value; other lists are passed as they are, and the family refuses them. */
static struct json *entry_json(const struct checkpoint_entry *entry)
{
    bool uniform = entry->kind == CHECKPOINT_VALUE_LIST && entry->integers != NULL && entry->count > 0;
    for (int64_t i = 1; uniform && i < entry->count; i++) {
        uniform = entry->integers[i] == entry->integers[0];
    }
    if (entry->kind == CHECKPOINT_VALUE_INTEGER || uniform) {
        return json_integer_new(uniform ? entry->integers[0] : entry->integer);
    }
    return entry->kind == CHECKPOINT_VALUE_REAL      ? json_real_new(entry->real)
           : entry->kind == CHECKPOINT_VALUE_BOOLEAN ? json_boolean_new(entry->integer != 0)
           : entry->kind == CHECKPOINT_VALUE_TEXT    ? json_string_new(entry->text)
                                                     : json_array_new();
}

/* Adds what a fact says, if it says anything. */
static bool fact_add(const struct checkpoint *checkpoint, const struct gguf_family *family,
                     const struct gguf_fact *fact, struct json *document)
{
    const struct checkpoint_tensor *tensor = checkpoint_find(checkpoint, fact->source);
    const struct checkpoint_entry *entry = NULL;
    switch (fact->kind) {
    case GGUF_FACT_KEY:
        entry = family_entry(checkpoint, family, fact->source);
        return entry == NULL || json_set(document, fact->key, entry_json(entry));
    case GGUF_FACT_ROWS:
        return tensor == NULL || tensor->rank == 0 || json_set(document, fact->key, json_integer_new(tensor->shape[0]));
    case GGUF_FACT_ABSENT:
        return json_set(document, fact->key, json_boolean_new(tensor == NULL));
    case GGUF_FACT_PRESENT:
        return json_set(document, fact->key, json_boolean_new(tensor != NULL));
    }
    return false;
}

/* The base of the rotary angles has an object of its own in config.json. */
static bool rope_add(const struct checkpoint *checkpoint, const struct gguf_family *family, struct json *document)
{
    const struct checkpoint_entry *entry = family_entry(checkpoint, family, "rope.freq_base");
    struct json *rope = entry != NULL ? json_object_new() : NULL;
    return entry == NULL ||
           (json_set(rope, "rope_theta", entry_json(entry)) && json_set(document, "rope_parameters", rope));
}

static enum status_code architecture_find(const struct checkpoint *checkpoint, const struct gguf_family **family,
                                          struct status *error)
{
    const struct checkpoint_entry *entry = checkpoint_entry(checkpoint, "general.architecture");
    if (entry == NULL || entry->kind != CHECKPOINT_VALUE_TEXT) {
        return status_set(error, STATUS_INVALID, "%s: its metadata have no general.architecture; fetch the file again",
                          checkpoint->name);
    }
    *family = gguf_family_of(checkpoint);
    if (*family == NULL) {
        struct text known = {0};
        for (int i = 0; i < FAMILY_COUNT; i++) {
            if (families[i].marker == NULL) {
                text_format(&known, "%s%s", known.length > 0 ? ", " : "", families[i].architecture);
            }
        }
        status_set(error, STATUS_INVALID,
                   "%s: general.architecture: '%.80s' is not known; known are %s, so name the model's "
                   "config.json instead",
                   checkpoint->name, entry->text, text_string(&known));
        text_release(&known);
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

enum status_code gguf_config(const struct checkpoint *checkpoint, const char *name, struct config *config,
                             struct status *error)
{
    const struct gguf_family *family = NULL;
    struct text path = {0};
    enum status_code code = architecture_find(checkpoint, &family, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct json *document = json_object_new();
    bool made =
        json_set(document, "model_type", json_string_new(family->model_type)) && rope_add(checkpoint, family, document);
    for (const struct gguf_fact *fact = family->facts; fact->source != NULL; fact++) {
        made = made && fact_add(checkpoint, family, fact, document);
    }
    text_format(&path, "%s, as config.json", checkpoint->name);
    if (made && !path.failed) {
        code = config_of_json(document, text_string(&path), name, config, error);
    } else {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its configuration", checkpoint->name);
    }
    text_release(&path);
    json_release(document);
    return code;
}

/* Where a name fits a pattern: the digits of its block (none: length 0). */
static bool name_fits(const char *pattern, const char *name, size_t length, const char **digits, size_t *digit_count)
{
    const char *mark = strchr(pattern, '#');
    *digits = name;
    *digit_count = 0;
    if (mark == NULL) {
        return strlen(pattern) == length && strncmp(pattern, name, length) == 0;
    }
    size_t front = (size_t)(mark - pattern);
    if (length <= front || strncmp(pattern, name, front) != 0) {
        return false;
    }
    *digits = name + front;
    *digit_count = strspn(*digits, "0123456789");
    size_t rest = front + *digit_count;
    return *digit_count > 0 && rest <= length && strlen(mark + 1) == length - rest &&
           strncmp(mark + 1, name + rest, length - rest) == 0;
}

bool gguf_path(const struct gguf_family *family, const char *tensor, char *path, size_t path_bytes,
               const struct gguf_name **name)
{
    const char *dot = strrchr(tensor, '.');
    size_t length = dot != NULL ? (size_t)(dot - tensor) : strlen(tensor);
    const char *digits;
    size_t digit_count;
    for (const struct gguf_name *row = family->names; row->gguf != NULL; row++) {
        if (!name_fits(row->gguf, tensor, length, &digits, &digit_count)) {
            continue;
        }
        const char *mark = row->path != NULL ? strchr(row->path, '#') : NULL;
        const char *ending = row->form >= GGUF_EXPERTS ? "" : tensor + length;
        int front = mark != NULL ? (int)(mark - row->path) : 0;
        int written = row->path == NULL ? snprintf(path, path_bytes, "%s", "")
                      : mark == NULL    ? snprintf(path, path_bytes, "%s%s", row->path, ending)
                                        : snprintf(path, path_bytes, "%.*s%.*s%s%s", front, row->path, (int)digit_count,
                                                   digits, mark + 1, ending);
        if (written < 0 || (size_t)written >= path_bytes) {
            return false;
        }
        *name = row;
        return true;
    }
    return false;
}
