/* Skeleton: every module, parameter and buffer of a model, in registration order, with the framework's own names.
 *
 * Nothing is allocated on a device. `modules` has every module of the real class, those without tensors too (dropouts,
 * activation functions, pooling), in the order of named_modules(): parents before their children. No class that is
 * modelled has one module object under two paths. `tensors` is in registration order, which is that of the state dict:
 * for each module its own parameters, its own buffers, then its children. (named_parameters() is the same order without
 * the buffers; it is the order of the optimizer.) `load_order` is the order in which module.to(device) moves them: for
 * each module its children first, then its own parameters, then its own buffers. Paths equal the keys of the real state
 * dict, plus the non-persistent buffers. */
#ifndef ASSAY_SKELETON_SKELETON_H
#define ASSAY_SKELETON_SKELETON_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/case/workload.h"
#include "harness/kernels/operation.h"
#include "models/config/config.h"

/* What a module is, as far as the estimators ask: a leaf, or a class that is never split, or a plain container. */
struct module_info {
    const char *path;       /* "" for the root; "encoder.layer.0" */
    const char *class_name; /* "BertLayer" */
    int parent;             /* index; -1 for the root */
    bool no_split;          /* its class is in the model's _no_split_modules */
};

/* How a real initialisation fills a tensor. */
enum initial_value {
    INITIAL_CONSTANT,          /* init_constant everywhere */
    INITIAL_NORMAL,            /* normal(0, init_deviation) */
    INITIAL_SEQUENCE,          /* 0, 1, 2, ... (position ids) */
    INITIAL_INVERSE_FREQUENCY, /* init_constant ** (-k / element_count): angles of a position */
    INITIAL_WINDOW /* bool, [.., rows, columns]: a row sees its own column and init_constant - 1 before it */
};

struct skeleton_tensor {
    const char *path; /* "encoder.layer.0.attention.self.query.weight" */
    int module;       /* the owner: index into modules */
    bool is_buffer;
    bool is_adapter;        /* of LoRA: trained where all others are frozen */
    bool is_routed;         /* of experts, of which a token uses config->active_experts in config->experts */
    bool persistent;        /* in the state dict; parameters always */
    bool rounds_with_model; /* cast with the model's dtype: floating and not exempt (inv_freq is exempt) */
    bool stays_float32;     /* not cast to float16: from_pretrained keeps it (_keep_in_fp32_modules) */
    enum dtype dtype;       /* float32 for what follows the precision of the case */
    int rank;
    int64_t size[TENSOR_RANK_MAXIMUM];
    int tied_to; /* index of the tensor whose storage it shares; -1: its own */
    int64_t element_count;
    enum initial_value initial;
    double init_deviation, init_constant;
};

struct task_head;

struct skeleton {
    struct arena arena; /* owns everything below */
    const struct config *config;
    enum head head;               /* one that the configuration knows (struct config_heads) */
    const struct task_head *task; /* of a family's table, if the head is one of those (models/forward/task_head.h) */
    struct module_info *modules;
    int module_count;
    struct skeleton_tensor *tensors;
    int tensor_count;
    int *load_order;         /* tensor_count indices into tensors */
    int *slots;              /* hash of the paths: slot_count indices into tensors, -1: free */
    int slot_count;          /* a power of two */
    int64_t parameter_count; /* elements of parameters, tied ones once */
    int64_t
        active_parameter_count; /* of these, what one token is multiplied with: all but the experts it does not use */
    int64_t buffer_bytes;       /* in their own dtypes, all buffers, persistent or not */
    int64_t parameter_bytes;    /* in float32 */
};

/* config must outlive the skeleton. head: HEAD_BARE (AutoModel), HEAD_LM (with head; images: the classifier, which
 * ResNets and ViT for classification have) or another that the configuration knows, else STATUS_INVALID.
 * STATUS_OVERFLOW if sizes do not fit. */
enum status_code skeleton_build(const struct config *config, enum head head, struct skeleton *skeleton,
                                struct status *error);
/* The same as the workload has it. With its LoRA adapters (lora_rank, lora_targets), behind the model's own tensors:
 * those of the model keep their paths, an adapter's is LORA_PATH of its layer's path and "A" or "B", and ".weight".
 * Of other classes than transformers' (model_code): litgpt's have one projection of queries, keys and values,
 * "self_attn.qkv", and a head that is no embedding. STATUS_INVALID for a model that PEFT has no targets for. */
#define LORA_PATH "base_model.model.%s.lora_%s.default"
enum status_code skeleton_build_for(const struct config *config, const struct workload *workload,
                                    struct skeleton *skeleton, struct status *error);
void skeleton_release(struct skeleton *skeleton);

/* parameter_count, parameter_bytes and buffer_bytes made anew, after sizes of tensors were changed. */
enum status_code skeleton_totals(struct skeleton *skeleton, struct status *error);

/* A module whose weight is a matrix that multiplies: Linear [out, in], or Conv1D [in, out]. */
bool module_is_projection(const struct module_info *module);
bool module_is_conv1d(const struct module_info *module);
/* get_output_embeddings: the language-model head, which neither quantisation nor "all-linear" adapters touch. */
bool module_is_output_embedding(const struct module_info *module);

/* Index of the tensor with this path, or -1. */
int skeleton_find(const struct skeleton *skeleton, const char *path);

#endif
