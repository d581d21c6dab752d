/* Quantisation of a model: which of its tensors are stored in a quantised form.
 *
 * linear is what bitsandbytes does through transformers: the weights of Linear and Conv1D modules, but for the output
 * embedding (the language-model head), whether or not it is tied; biases, norms, embeddings and convolutions keep 16
 * bits. A Conv1D weight [in, out] is stored as [out, in]. Classifiers and poolers are quantised: the list of modules
 * that transformers keeps names the last parameter, which is a bias, not its module. all is every parameter. Buffers
 * are never quantised. What from_pretrained keeps in float32 of a float16 model (T5's wo) is not quantised either: in 8
 * and 4 bits it has 16. GPTQ and AWQ have the projections of linear; their checkpoints come quantised. */
#ifndef ASSAY_SKELETON_QUANTIZATION_H
#define ASSAY_SKELETON_QUANTIZATION_H

#include <stdbool.h>

#include "harness/case/workload.h"
#include "harness/tape/quantized.h"
#include "models/skeleton/skeleton.h"

/* Whether the precision stores weights in a quantised form, and in which. */
bool precision_is_quantized(enum precision precision, enum quantized_form *form);

/* How a case that is packed (workload_is_packed) stores and multiplies its weights. always_biased and multiplies_all
 * follow from the release. */
struct packing packing_of(const struct workload *workload, const char *model_type);

/* What the release of a case does with weights in 4 bits. */
struct bitsandbytes_habits bitsandbytes_habits_of(const struct workload *workload, const char *model_type);

/* Whether the tensor with this index is stored so under a quantised precision. */
bool tensor_is_quantized(const struct skeleton *skeleton, int tensor, enum quantize quantize);

/* Whether the tensor is stored with its two dimensions exchanged: the weight of a Conv1D. */
bool tensor_is_turned(const struct skeleton *skeleton, int tensor);

#endif
