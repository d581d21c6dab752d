/* Forward passes: each family's model code, written against harness/tape/build.h as the real one is against PyTorch.
 *
 * A row of family.h holds what a forward pass makes of the inputs. The names of locals, and so the moments at
 * which memory is given back, follow the real modules of transformers 5.23 and torchvision 0.26. */
#ifndef ASSAY_FORWARD_FORWARD_H
#define ASSAY_FORWARD_FORWARD_H

#include "harness/case/release.h"
#include "harness/case/workload.h"
#include "harness/tape/build.h"
#include "harness/tape/quantized.h"
#include "models/forward/key_value_cache.h"
#include "models/skeleton/skeleton.h"

/* Results that have no graph, but whose gradients a pass wants all the same. They last as long as the pass's graph. */
struct forward_leaves {
    struct value *values[3];
    int count;
};

/* What the object that a call of the model returns has besides the result of `forward`: logits behind a loss, what an
 * encoder made, a pooled row. Held. */
struct forward_outputs {
    struct value *values[3];
    int count;
    struct value **parts; /* logits that come in chunks; in heap memory, which forward_outputs_drop gives back */
    int part_count;
    struct forward_outputs *replaced; /* what the program's name stands for until it is given to these; may be NULL */
};

/* A model on a tape: its tensors and what it is fed. */
struct forward {
    struct tape *tape;
    const struct config *config;
    const struct skeleton *skeleton;
    const struct workload *workload;
    struct release_habits habits; /* of the workload's release with this model */
    struct value **values; /* one for each tensor of the skeleton; tied ones are the same value; NULL: quantised */
    const struct placement *placement; /* where they lie and modules run; NULL: all in one place */
    struct value **brought;            /* placed: by tensor, what a visited module brought, else NULL */
    const struct quantized *quantized; /* one for each tensor; codes NULL: not quantised */
    struct value *ids;                 /* i64 [batch, seq]; images: NULL */
    struct value *images;              /* [batch, channels, height, width]; text: NULL */
    struct value *seen;                /* i64 [batch, seq], 1 if a token is not padding; NULL: none is */
    struct value *labels;              /* i64 [batch, seq] or [batch] when training, else NULL */
    struct value *ends;                /* i64 [batch]: last tokens of answers, whose first ones are the labels */
    int *near_tensor;                  /* where the tensor that was asked for last stands in the skeleton */
    struct forward_leaves *leaves;     /* where a pass notes the results that it made leaves of */
    struct forward_outputs *outputs;   /* where a pass notes what its output keeps; NULL: that goes when it returns */
    /* Of a plain pass with use_cache: empty before it. Of a generation: what it has seen. Else NULL. */
    struct key_value_cache *cache;
    struct key_value_cache *cross_cache; /* beside an encoder: of what that made, filled by the first pass */
    /* Generation, else NULL. ids are then those of the new tokens. */
    struct value *positions; /* i64, like ids: where in the sequence they are */
    struct value *mask;      /* of a static cache: what create_masks_for_generate made of it, or NULL */
    bool copies_experts;     /* see experts_run */
    /* Of classes that are not transformers', which turn queries and keys by tables of all positions: float32
     * [1, S, 1, n] or [1, 1, S, 2 n] (own_code.h). Else NULL. */
    struct value *cosines, *sines;
    struct value *encoded; /* beside an encoder: what that made of the prompt */
};

/* Whether the release that the case follows has the habit, with this model. */
static inline bool forward_has(const struct forward *forward, enum release_habit habit)
{
    return forward->habits.has[habit];
}

/* Whether the pass is of the bare model: without a head, or for the mean of its rows. */
static inline bool forward_is_bare(const struct forward *forward)
{
    return forward->skeleton->head == HEAD_BARE || forward->skeleton->head == HEAD_EMBEDDING;
}

/* tape_leaf_begin, noted. */
void forward_leaf_begin(const struct forward *forward, struct value *value);
/* value is a part of what the model returns besides its result: it is held if the output is kept. */
void forward_output_keep(const struct forward *forward, struct value *value);
/* The same of logits in count parts, and what the program's name stood for before is let go of. */
void forward_outputs_take(const struct forward *forward, struct value *const *parts, int count);
/* Whether what a pass returns is copied to float32 behind autocast (float32_outputs). */
bool forward_converts_output(const struct forward *forward);
/* All of it is let go of; NULL is accepted. */
void forward_outputs_drop(struct tape *tape, struct forward_outputs *outputs);

/* The parameter or buffer with that path. If it is quantised, the result is all of it in bfloat16, a temporary of the
 * open frame. A path that the skeleton lacks is an error of the tape. */
__attribute__((format(printf, 2, 3))) struct value *forward_tensor(const struct forward *forward, const char *format,
                                                                   ...);
/* Like forward_tensor, but NULL if the model has no such tensor. */
__attribute__((format(printf, 2, 3))) struct value *forward_optional(const struct forward *forward, const char *format,
                                                                     ...);

/* The same of "prefix.name", or of a whole path, without a format. */
enum { FORWARD_PATH_BYTES = 256 };
void path_join(char path[FORWARD_PATH_BYTES], const char *prefix, const char *name);
struct value *part_value(const struct forward *forward, const char *prefix, const char *name);
struct value *part_optional(const struct forward *forward, const char *prefix, const char *name);
struct value *path_value(const struct forward *forward, const char *path); /* NULL if there is none */
/* NULL if the model has no such tensor, or one that is not quantised. */
const struct quantized *path_quantized(const struct forward *forward, const char *path);

/* Gives a name to another value, as `name = next` does. */
static inline void value_rebind(struct tape *tape, struct value **name, struct value *next)
{
    if (*name != next) {
        tape_drop(tape, *name);
    }
    *name = next;
}

/* The word embedding of the ids, times "prefix.embed_scale" if the model has that. If a frozen model
 * recomputes its blocks, the output is asked for a gradient, as gradient_checkpointing_enable does
 * (enable_input_require_grads); without adapters it has one anyway. */
struct value *forward_words(const struct forward *forward, const char *prefix, int64_t padding_id);

/* A layer with "prefix.weight" and, if the model has it, "prefix.bias". */
struct value *forward_linear(const struct forward *forward, const char *prefix, struct value *a);
struct value *forward_linear_t(const struct forward *forward, const char *prefix, struct value *a);
/* FalconLinear: a @ weight.T and the sum with the bias are two operations; one that is quantised is a linear layer. */
struct value *forward_linear_apart(const struct forward *forward, const char *prefix, struct value *a);
struct value *forward_layernorm(const struct forward *forward, const char *prefix, struct value *a);
/* weight * (x * rsqrt(mean(x^2) + epsilon)), in float32 up to the weight: Llama's. If config->shifted_norms, the
 * factor is 1 + weight, and all of it is in float32. */
struct value *forward_rms_norm(const struct forward *forward, const char *prefix, struct value *a);
/* The same with another epsilon than that of the configuration. */
struct value *forward_rms_norm_with(const struct forward *forward, const char *prefix, struct value *a, double epsilon);
/* weight * (x * rsqrt(mean(x^2) + epsilon)), x promoted by the root alone: T5's. */
struct value *forward_rms_norm_promoted(const struct forward *forward, const char *prefix, struct value *a);
/* Rows of "prefix.weight" by their ids. */
struct value *forward_embedding(const struct forward *forward, const char *prefix, struct value *ids,
                                int64_t padding_id);

/* The convolution that is the module with this path; with its bias, if the model has one. */
struct convolution_form {
    int64_t stride, padding, groups;
};
struct value *forward_convolution(const struct forward *forward, const char *prefix, struct value *a,
                                  struct convolution_form form);
/* The batch norm that is the module with this path; and timm's BatchNormAct2d, which ends in "path.act", a ReLU in
 * place. */
struct value *forward_batchnorm(const struct forward *forward, const char *path, struct value *a);
struct value *forward_batchnorm_relu(const struct forward *forward, const char *path, struct value *a);
/* The module with this path is a ReLU in place. Takes over a. */
struct value *forward_relu_in_place(const struct forward *forward, const char *path, struct value *a);
/* The mean of each channel, [N, C]: timm's SelectAdaptivePool2d with this path. */
struct value *forward_global_pool(const struct forward *forward, const char *path, struct value *a);

/* One layer of a stack: where its tensors are, and what all layers read besides the hidden state. It is copied into the
 * context of a block that is recomputed. What a family does not have is NULL. */
struct forward_layer {
    const struct forward *forward;
    struct value *mask, *cosine, *sine;
    struct value *positions; /* an argument that no layer reads; it is moved along if a part runs elsewhere */
    struct value *alibi;     /* biases by distance */
    struct value **last;     /* see decoder_weights_return */
    int64_t index;
    char prefix[96]; /* "encoder.layer.0" */
};

/* forward_linear and the like, of prefix.name. */
struct value *layer_linear(const struct forward_layer *layer, const char *name, struct value *a);
struct value *layer_linear_t(const struct forward_layer *layer, const char *name, struct value *a);
struct value *layer_linear_apart(const struct forward_layer *layer, const char *name, struct value *a);
struct value *layer_layernorm(const struct forward_layer *layer, const char *name, struct value *a);
struct value *layer_rms_norm(const struct forward_layer *layer, const char *name, struct value *a);
struct value *layer_rms_norm_promoted(const struct forward_layer *layer, const char *name, struct value *a);

/* -- attention, shared by the families */
struct attention_form {
    double scale, dropout;
    double cap; /* of scores, in the eager form alone; 0: none */
    bool causal;
    bool softmax_in_float32; /* Llama's eager form */
    bool casts_weights;      /* GPT-2's and Llama's: the eager form's weights are cast to weights_dtype */
    enum dtype weights_dtype;
    bool heads_first;   /* see attention_settings */
    struct value *mask; /* of forward_mask; NULL: none */
    struct value *bias; /* of relative_bias_make; NULL: none */
};

/* [B, S, heads * D] -> a view [B, heads, S, D]. */
struct value *heads_view(const struct forward *forward, struct value *a, int64_t heads);

/* q [B, a, S, D], k [B, g, T, D], v [B, g, T, E] -> [B, S, a * E]. *weights: the eager form's attention weights, which
 * the real layer keeps by name until it returns; NULL in the other forms. Both belong to the open frame. */
struct value *forward_attention(const struct forward *forward, const struct attention_form *form, struct value *q,
                                struct value *k, struct value *v, struct value **weights);

/* What create_causal_mask and its like take where they are given position ids and neither a mask nor a cache, to find
 * out whether the rows are packed sequences (find_packed_sequence_indices), like: [B, S, ...]. All of it is gone
 * afterwards. 8 rows of 512 tokens: 64, 32,832 and 32,768 bytes for the differences of the positions, 4,096 of
 * booleans, their running sum with a copy of them as integers, 32,768 each, and the answer, 8 and 1; so on an H100
 * (gpt2 infer bfloat16). */
void forward_packing_ask(const struct forward *forward, struct value *like);

/* The mask that attention is given, made as transformers makes it (forward_mask.c), or NULL: bool [B, 1, S, S] with
 * sdpa on a padded batch; in the dtype of like [B, S, h] with eager if anything is masked, with native on a padded
 * batch. causal, unpadded: [B, 1, S, T], T being S and what is cached. */
struct value *forward_mask(const struct forward *forward, struct value *like, bool causal);

/* The causal mask if it may not be skipped (allow_is_causal_skip=False), over what is cached and the new rows: bool
 * [B, 1, S, T] with sdpa, in the dtype of like with eager. What a static cache is given comes first. */
struct value *forward_mask_always(const struct forward *forward, struct value *like);

/* The same for layers with config->sliding_window. Under sdpa there is one too if as many keys are seen as the
 * window has or more: bool [B, 1, S, T]. */
struct value *forward_window_mask(const struct forward *forward, struct value *like);

/* A tensor that the real code makes on its way and reads at once: it is taken and not written. */
struct value *tensor_passing(struct tape *tape, enum dtype dtype, int rank, const int64_t *size);
/* The same for the result of cumsum() over booleans or int32. Its CUDA kernel reads a copy of them as int64, which is
 * made here too; a device without data does not show it. */
struct value *running_sum_passing(struct tape *tape, int rank, const int64_t *size);

/* If there is a cache, keys and values of the new tokens become those of all tokens, and are taken over. A block that
 * is recomputed is given none: transformers would update it twice. */
void layer_cache(const struct forward_layer *layer, struct value **keys, struct value **values);

/* The positions of the tokens, i64 [1, S] counted from 0, or as the generation gives them. */
struct value *forward_positions(const struct forward *forward);

/* cap * tanh(x / cap), operation by operation. Takes over x. */
struct value *forward_cap(struct tape *tape, struct value *x, double cap);

/* The activation function by its name in the configuration. Takes over a: it is dropped where its name would go. */
struct value *forward_activation(const struct forward *forward, enum activation activation, struct value *a);

/* The configuration's activation function, which is the module with this path. Takes over a, as forward_activation
 * does. */
struct value *forward_activation_module(const struct forward *forward, const char *path, struct value *a);
struct value *layer_activation(const struct forward_layer *layer, const char *name, struct value *a);
/* The dropout that is the module with this path; that of a layer takes over a. */
struct value *forward_dropout(const struct forward *forward, const char *path, struct value *a, double probability);
struct value *layer_dropout(const struct forward_layer *layer, const char *name, struct value *a, double probability);

/* Runs the block that is the module with this path; it is recomputed if the workload asks for that. */
struct value *forward_block(const struct forward *forward, tape_block *block, const char *path, const void *context,
                            int context_bytes, struct value *const *held, int held_count, struct value *input);

/* config->layers blocks over input, layer->prefix being stack and a number ("encoder.layer." -> "encoder.layer.0").
 * held: see tape_recompute_block. input keeps its name: it stays with its caller. */
struct value *forward_layers(tape_block *block, struct forward_layer *layer, const char *root, const char *stack,
                             struct value *const *held, int held_count, struct value *input);

/* "pooler.dense" below root and tanh over the first row of each sequence: what BERT's and ViT's bare models make
 * besides. */
struct value *forward_pooler(const struct forward *forward, const char *root, struct value *hidden);

/* Rows of logits: all, or the last of each sequence. */
struct value *forward_rows(const struct forward *forward, struct value *hidden);
/* Cross entropy over logits [N, C] and labels [N], in the form that the workload asks for. shifted: the first label of
 * each sequence is none of them, or does not count. */
struct value *forward_loss(const struct forward *forward, struct value *logits, struct value *labels, bool shifted);
/* The loss of logits [N, C] over the labels that the model was given; the output keeps the logits. */
struct value *forward_class_loss(const struct forward *forward, struct value *logits);
/* The same where the loss is the program's and not the model's, as timm's are trained: the output before goes first. */
struct value *forward_criterion(const struct forward *forward, struct value *logits);
/* forward_loss over logits [B, S, V], which the output keeps. causal: HF's ForCausalLMLoss, in float32, each token
 * predicts the next; else BertForMaskedLM's, in the dtype of the logits. Takes over logits. */
struct value *forward_language_loss(const struct forward *forward, struct value *logits, bool causal);
/* LabelSmoother of transformers' Trainer, called when the model has returned logits [N, C] or [B, S, V]; it has taken
 * the labels out of what it gave the model. Those of a causal model are shifted as copies. */
struct value *forward_smoothed_loss(const struct forward *forward, struct value *logits, struct value *labels);

#endif
