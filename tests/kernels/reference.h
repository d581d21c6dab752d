/* Reference: what each operation computes, in double precision, element by element, without any thought of speed and
 * without code of the kernels (but the random bits, which test_random.c looks at). Gradients are analytic;
 * test_gradient.c holds them against finite differences of the forward. */
#ifndef ASSAY_TESTS_KERNELS_REFERENCE_H
#define ASSAY_TESTS_KERNELS_REFERENCE_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

/* values[t]: the elements of tensor t in row-major order, whatever its strides. Inputs and updates are read, outputs
 * are written; the memory of the tensors is not looked at. */
typedef void reference_function(const struct operation_call *call, double *const *values);

/* The float8_e4m3fn that is nearest to a number of up to 464. */
double reference_float8(double value);

bool reference_has(enum opcode opcode);
void reference_run(const struct operation_call *call, double *const *values);

/* One for each family, in reference_*.c. */
reference_function reference_create, reference_attention_mask, reference_element, reference_dropout, reference_sum;
reference_function reference_softmax, reference_softmax_backward, reference_loss, reference_loss_backward;
reference_function reference_target_mask, reference_cross_entropy;
reference_function reference_layernorm, reference_layernorm_backward;
reference_function reference_batchnorm, reference_batchnorm_inference, reference_batchnorm_backward;
reference_function reference_embedding, reference_embedding_backward;
reference_function reference_complex_multiply, reference_group_limit;
reference_function reference_scatter, reference_sort_ids, reference_group_ends, reference_place_ids,
    reference_grouped_matmul;
reference_function reference_top_k, reference_gather, reference_token_positions, reference_divide;
reference_function reference_max_pool, reference_max_pool_backward, reference_convolution,
    reference_grouped_convolution, reference_matmul;
reference_function reference_attention, reference_attention_backward, reference_optimizer;
reference_function reference_position_buckets, reference_attention_bias_gradient;
reference_function reference_dynamic_map, reference_adam_8bit;
reference_function reference_extreme, reference_bits;
reference_function reference_integer_matmul, reference_scaled_matmul;
reference_function reference_quantize, reference_dequantize, reference_quantized_linear, reference_dequantize_sums;

/* bounds[t]: for each element of output t of ATTENTION or ATTENTION_BACKWARD the most that a kernel may be off, before
 * it rounds the output, whose sums are float32 and which rounds the left factors of its second products (probabilities,
 * gradients of scores) to the dtype of q. values: as reference_run left them. Derived in reference_attention.c. */
void reference_attention_bound(const struct operation_call *call, double *const *values, double *const *bounds);

/* bounds: for each element of the output of SCALED_MATMUL the most that a GPU's tensor cores may be off, before bias
 * and rounding, where one instruction adds so many terms. values: as reference_run left them. Derived in
 * reference_float8.c. */
void reference_scaled_matmul_bound(const struct operation_call *call, double *const *values, int terms, double *bounds);

#endif
