/* Configuration: the numbers of a model, read from Hugging Face's config.json. */
#ifndef ASSAY_MODELS_CONFIG_H
#define ASSAY_MODELS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/kernels/dtype.h"

enum family_kind { FAMILY_BERT, FAMILY_GPT2, FAMILY_LLAMA, FAMILY_VIT, FAMILY_RESNET, FAMILY_COUNT };

enum activation { ACTIVATION_GELU, ACTIVATION_GELU_NEW, ACTIVATION_GELU_TANH, ACTIVATION_SILU, ACTIVATION_RELU };

/* Fields that a family does not have are 0. Every count is checked: positive, at most 2^40, divisible where it must be. */
struct config {
    char name[256];       /* as the user typed it, or the path */
    char model_type[64];  /* "bert", "llama", "mistral", "qwen2", "resnet", ... */
    char architecture[64]; /* timm: "resnet50"; else the first of `architectures` or "" */
    enum family_kind family;
    bool is_timm;         /* timm naming of ResNets (else Hugging Face's) */
    int64_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab, positions, token_types;
    enum activation activation;
    double norm_epsilon, hidden_dropout, attention_dropout, embedding_dropout;
    double rope_theta;
    bool tied_head;       /* the language-model head shares the embedding */
    bool attention_bias;  /* q, k, v (Qwen2: yes, o: no) */
    bool attention_output_bias, mlp_bias;
    int64_t pad_token;    /* padding_idx of the embedding; -1: none */
    /* images */
    int64_t image, patch, channels, classes;
    int64_t depths[4], widths[4], stem;
    bool bottleneck;
    enum dtype dtype;     /* torch_dtype or dtype; float32 where absent */
};

/* From a config.json. `name` is what the user typed. Errors: FILE:LINE:COLUMN or FILE, cause, remedy. */
enum status_code config_read(const char *path, const char *name, struct config *config, struct status *error);

/* From what a user types: a catalogue name, a path to a config.json, or a folder that holds one. catalogue_dir is
 * where models/catalogue is. A name that is not known: STATUS_INVALID with the nearest names. */
enum status_code config_find(const char *catalogue_dir, const char *model, struct config *config, struct status *error);

#endif
