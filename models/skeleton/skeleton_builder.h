/* Skeleton builder: what a family calls to list its modules and tensors.
 *
 * Modules are added in registration order, parents first (as named_modules() walks them), each followed at once by its
 * own parameters and then its own buffers. The first failure (memory, a size that does not fit) is kept and later calls
 * do nothing, so that a family need not look after each call. */
#ifndef ASSAY_SKELETON_SKELETON_BUILDER_H
#define ASSAY_SKELETON_SKELETON_BUILDER_H

#include "models/skeleton/skeleton.h"

struct skeleton_builder {
    struct skeleton *skeleton;
    const struct config *config;
    struct status *error;
    enum status_code code; /* STATUS_OK until the first failure */
    enum model_code model_code;
    size_t module_capacity;
    size_t tensor_capacity;
};

/* How a parameter starts: normal(0, deviation) if deviation > 0, else constant. */
struct initial {
    double deviation;
    double constant;
};

/* Index of the new module; 0 after a failure. name is the last part of the path, "" for the root (parent -1). */
int builder_module(struct skeleton_builder *builder, int parent, const char *name, const char *class_name);

/* The root, of a class whose name is copied. */
int builder_root(struct skeleton_builder *builder, const char *class_name);

/* A module; its class is never split over devices. */
int builder_block(struct skeleton_builder *builder, int parent, const char *name, const char *class_name);

/* The same, named by a number: an element of a list. */
int builder_element(struct skeleton_builder *builder, int parent, int64_t number, const char *class_name);

/* A module without tensors, which only a walk over the modules meets; and two kinds of it: the activation function of
 * the configuration, and a dropout, which is there whatever its probability is. */
void builder_silent(struct skeleton_builder *builder, int parent, const char *name, const char *class_name);
void builder_activation(struct skeleton_builder *builder, int parent, const char *name);
void builder_dropout(struct skeleton_builder *builder, int parent, const char *name);

/* A module that exists already is never split either. */
void builder_keep_whole(struct skeleton_builder *builder, int module);

/* A parameter of the newest module. Index of the tensor; -1 after a failure. */
int builder_parameter(struct skeleton_builder *builder, const char *name, struct initial initial, int rank,
                      const int64_t *size);
int builder_vector(struct skeleton_builder *builder, const char *name, struct initial initial, int64_t size);
int builder_matrix(struct skeleton_builder *builder, const char *name, struct initial initial, int64_t rows,
                   int64_t columns);

/* The newest tensor stays float32 if the model is float16, as from_pretrained has it. */
void builder_keep_float32(struct skeleton_builder *builder);

struct buffer_kind {
    enum dtype dtype;
    bool persistent;
    bool keeps_dtype; /* stays float32 when the model is cast */
    enum initial_value initial;
    double constant;
};

/* A buffer of the newest module. */
void builder_buffer(struct skeleton_builder *builder, const char *name, const struct buffer_kind *kind, int rank,
                    const int64_t *size);

/* The tensor shares the storage of an earlier one of the same shape. Nothing happens if either is -1. */
void builder_tie(struct skeleton_builder *builder, int tensor, int owner);

/* The parameter is of all routed experts of a layer, the first dimension being theirs. Nothing happens if it
 * is -1. */
void builder_routed(struct skeleton_builder *builder, int tensor);

/* Modules that several families share; each gives the index of the weight (-1 after a failure).
 * Linear: weight [outputs, inputs], bias [outputs]. Convolution: weight [outputs, inputs, kernel, kernel]. */
int builder_linear(struct skeleton_builder *builder, int parent, const char *name, int64_t outputs, int64_t inputs,
                   bool bias);
int builder_embedding(struct skeleton_builder *builder, int parent, const char *name, int64_t rows, int64_t columns);
void builder_layernorm(struct skeleton_builder *builder, int parent, const char *name);
/* weight [size], which starts at 1, or at 0 if the norm adds 1 to it. Each family of the kin of Llama has its class. */
void builder_rms_norm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                      int64_t size);

/* A batch norm of so many channels, whose weights start at scale, with what it keeps of batches; index of it. */
struct norm_start {
    int64_t channels;
    double scale;
};
int builder_batchnorm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                      struct norm_start start);

/* "global_pool" of timm: a mean of all pixels, flattened. */
void builder_global_pool(struct skeleton_builder *builder, int parent);

/* Adds the adapters of LoRA once the model is listed. */
enum status_code skeleton_lora(struct skeleton_builder *builder, int64_t rank, enum lora_targets targets);

#endif
