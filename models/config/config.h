/* Configuration: the numbers of a model, read from Hugging Face's config.json. */
#ifndef ASSAY_CONFIG_CONFIG_H
#define ASSAY_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/case/case_field.h"
#include "harness/kernels/dtype.h"

struct family;

enum { CONFIG_LAYERS_MAXIMUM = 10000 }; /* a skeleton is a list of tensors: this bounds its length */

enum activation {
    ACTIVATION_GELU,
    ACTIVATION_GELU_NEW,
    ACTIVATION_GELU_TANH,
    ACTIVATION_GELU_FAST,
    ACTIVATION_SILU,
    ACTIVATION_RELU
};

/* What a person should know of the file: see config_notes.h. */
enum config_note_kind {
    CONFIG_NOTE_MISSING,   /* a key that decides sizes is not there, and the default of the real class was taken */
    CONFIG_NOTE_CLASS,     /* a class in `architectures` that is not built; another one is answered */
    CONFIG_NOTE_RESEMBLES, /* a key that nobody reads resembles one that is read */
    CONFIG_NOTE_UNKNOWN    /* another key that neither this program nor the real class knows */
};

enum { CONFIG_NOTES_MAXIMUM = 12, CONFIG_NOTE_BYTES = 512 };

struct config_note {
    enum config_note_kind kind;
    char key[64];                 /* as the file has it, cut if it is longer */
    char text[CONFIG_NOTE_BYTES]; /* "FILE:LINE:COLUMN: cause; remedy", no control characters */
};

enum { CONFIG_NAME_BYTES = 256, CONFIG_STAGES_MAXIMUM = 5 };

/* Weights as a quantization_config describes them, in the words of case fields: those that GPTQ or AWQ has packed, and
 * those that bitsandbytes or torchao quantises when the model is loaded ("linear"). */
struct config_packing {
    const char *quantize;         /* "gptq", "awq", "linear"; NULL: none are quantised */
    const char *precision;        /* "int4", "int8", "fp8" */
    const char *quantized_kernel; /* "auto", "gemv" */
    const char *method;           /* for people: "bitsandbytes, nf4" */
    int64_t group_size;           /* 0: all inputs of a layer, or what the method always has */
    bool act_order, double_quant;
    bool computes_wide; /* products in float32 (bnb_4bit_compute_dtype), which are counted in bfloat16 */
};

/* Why the real class can be made and loaded and is not run here, and what helps. Static texts. */
struct config_stillness {
    const char *cause, *remedy; /* NULL: it runs */
};

/* See head.h. */
struct config_heads {
    enum head stated; /* what `architectures` names; HEAD_DEFAULT: nothing, or nothing that is built */
    enum head own;    /* what HEAD_LM is: HEAD_CAUSAL_LM, HEAD_MASKED_LM, HEAD_SEQ2SEQ_LM or HEAD_IMAGE */
    unsigned known;   /* a bit for each head that the classes of the model's type have */
};

/* Fields that a family does not have are 0. Every count is checked: positive, at most 2^40 (layers: at most 10,000),
 * divisible where it must be. A field that the file leaves out has the default of the real class (transformers 5.23,
 * timm 1.0.31). */
struct config {
    char name[CONFIG_NAME_BYTES];       /* as the user typed it, or the path */
    char stands_for[CONFIG_NAME_BYTES]; /* what was typed, if the name is another; else "" */
    char stated_type[64];        /* what the file says of a type that is not known and was read as another; else "" */
    char model_type[64];         /* "bert", "llama", "mistral", "qwen2", "resnet", ... */
    char architecture[64];       /* timm: "resnet50"; else the first of `architectures` or "" */
    const struct family *family; /* a row of family.h */
    bool is_timm;                /* a file of timm: it names an architecture instead of a model_type */
    int64_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab, positions, token_types;
    enum activation activation;
    const char *activation_class; /* of the module that computes it: "GELUActivation"; static */
    double norm_epsilon, hidden_dropout, attention_dropout, embedding_dropout;
    double initializer_range; /* deviation of the normal distribution that fills weights */
    double rope_theta;
    double rope_local_theta; /* of layers with a window, if theirs is another; else 0 */
    int64_t rotary_dim;      /* elements of a head that positions turn; the others pass */
    int64_t sliding_window;  /* keys a query sees in the layers that have a window; 0: no layer has one */
    unsigned char windowed[(CONFIG_LAYERS_MAXIMUM + 7) / 8];     /* see config_layer_slides */
    unsigned char local_layers[(CONFIG_LAYERS_MAXIMUM + 7) / 8]; /* GPT-Neo: a bit for each layer with the window */
    int64_t local_window;   /* ... which hides tokens by a buffer and not in the cache */
    bool head_norms;        /* queries and keys of a head are normalised */
    bool shifted_norms;     /* norms multiply by 1 + weight: Gemma */
    bool norms_behind;      /* Gemma 2 and 3: attention and feed-forward end in one */
    bool parallel_residual; /* attention and feed-forward read the same hidden state */
    double attention_scale; /* of scores; 0: 1 / sqrt(head_dim) */
    bool masks_windows;     /* its class makes the mask of a sliding window though no layer has one (Qwen2-MoE) */
    struct config_stillness only_loads;
    bool lacks_fused_attention;                  /* Gemma 2, whose scores are capped */
    double score_cap, logit_cap;                 /* x becomes cap * tanh(x / cap); 0: it stays */
    int64_t pooler;                              /* width of ViT's pooler */
    int64_t decoder_layers;                      /* of an encoder-decoder */
    int64_t position_buckets, farthest_position; /* of the table of relative positions */
    int64_t decoder_start;                       /* the token that a decoder begins with */
    bool scales_output;                          /* what the head is given is multiplied by 1 / sqrt(hidden) */
    bool gated;                                  /* its feed-forward has a second matrix */
    bool tied_head;                              /* the language-model head shares the embedding */
    bool attention_bias;                         /* q, k, v (Qwen2: yes, o: no) */
    bool attention_output_bias, mlp_bias;
    int64_t pad_token;           /* padding_idx of the embedding; -1: none */
    int64_t position_offset;     /* rows of the table of positions in front of the first token's: RoBERTa, OPT */
    int64_t word_width;          /* OPT: columns of the word embedding, projected to hidden if they differ */
    bool norm_first, final_norm; /* OPT: a norm before what it feeds, not after the sum; one behind the last layer */
    bool alibi;                  /* Falcon: biases by distance instead of rotary positions */
    bool parallel_blocks;        /* Falcon: attention and feed-forward read one input, and their outputs are added */
    bool dynamic_cache_only;     /* Falcon with ALiBi: its class cannot make biases for a static cache */
    bool multi_query;            /* Falcon: all queries share one key head, stored behind them */
    bool grouped_projection;     /* Falcon: new_decoder_architecture, queries stored beside the keys they share */
    bool residual_after_norm;    /* BLOOM: the residual is what the norm made */
    int64_t parallel_norms;      /* Falcon: norms of a parallel block, 1 or 2 */
    /* heads */
    struct config_heads model_heads;
    int64_t labels; /* classes of a sequence or a token */
    double sequence_dropout, token_dropout, question_dropout;
    /* experts */
    int64_t experts, active_experts;      /* routed ones of a layer, and those of them that a token uses; 0: none */
    int64_t expert_ffn, shared_ffn;       /* of one routed expert; of what every token uses beside them, 0: nothing */
    int64_t expert_groups, active_groups; /* a token's experts come from so many of the groups; 0: no groups */
    int64_t first_expert_layer, expert_step;              /* see experts_in_layer */
    unsigned char dense[(CONFIG_LAYERS_MAXIMUM + 7) / 8]; /* a bit for each layer that has no experts all the same */
    bool normalizes_routing;                              /* the weights of a token's experts sum to 1 */
    double routing_scale;                                 /* what they are multiplied by */
    /* latent attention: head_dim is nope_dim + rotary_dim */
    int64_t latent, query_latent; /* the row that keys and values are made of, and queries; 0: made directly */
    int64_t nope_dim, value_dim;  /* elements of a head of the keys without positions, and of the values */
    bool rope_interleaved;        /* positions turn neighbours, not halves */
    bool rope_complex;            /* as complex numbers, in float32: DeepSeek-V2 */
    /* images */
    double classifier_dropout; /* before the classifier of an image */
    int64_t image, patch, channels, classes;
    int64_t depths[CONFIG_STAGES_MAXIMUM], widths[CONFIG_STAGES_MAXIMUM]; /* of the stages of a convolutional network */
    int64_t stem;
    int64_t group_width;  /* channels of a group of a convolution */
    double squeeze_ratio; /* of a block's inputs to the channels that its squeeze-and-excitation has; 0: none */
    double layer_scale;   /* what the scale of a layer starts at; <= 0: it has none */
    bool bottleneck;
    enum dtype dtype;              /* torch_dtype or dtype; float32 if absent */
    bool stored_in_fp8;            /* the published file is quantised; sizes are without that */
    struct config_packing packing; /* of the published file */
    bool states_dtype;             /* the file says dtype */
    bool use_cache;                /* a plain pass returns keys and values: true unless the file says otherwise */
    char transformers_version[32]; /* the release that wrote the file, "4.31.0.dev0"; "" if it does not say */
    struct config_note notes[CONFIG_NOTES_MAXIMUM];
    int note_count;
};

/* Heads of a layer's keys and values as a cache keeps them: Falcon's new decoder repeats them for each query first. */
int64_t config_cached_heads(const struct config *config);

/* Whether its class attends in the eager form, whatever a case asks for. */
bool config_attends_eagerly(const struct config *config);

/* Whether a layer has the sliding window. */
bool config_layer_slides(const struct config *config, int64_t layer);
/* Gives it the window. */
void config_layer_slide(struct config *config, int64_t layer);

#endif
