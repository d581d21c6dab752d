/* The table of trials: for each operation what it computes in double precision, and the calls that it is tried with. An
 * operation without a row does not compile, and a row without a function does not link. */
#ifndef ASSAY_TESTS_KERNELS_TRIAL_TABLE_H
#define ASSAY_TESTS_KERNELS_TRIAL_TABLE_H

#include "harness/kernels/operation.h"

/* TRIAL(name, reference, plan), in the order of OPERATION_TABLE:
 * reference: the operation in double precision (reference.h), in one of the reference_*.c.
 * plan: its calls (trial_plan.h), in one of the trial_plan_*.c. */
#define TRIAL_TABLE(TRIAL)                                                                                             \
    TRIAL(FILL, reference_create, plan_create)                                                                         \
    TRIAL(RANDOM_NORMAL, reference_create, plan_create)                                                                \
    TRIAL(RANDOM_INTEGER, reference_create, plan_create)                                                               \
    TRIAL(SEQUENCE, reference_create, plan_create)                                                                     \
    TRIAL(CAUSAL_MASK, reference_create, plan_create)                                                                  \
    TRIAL(DYNAMIC_MAP, reference_dynamic_map, plan_dynamic_map)                                                        \
    TRIAL(ATTENTION_MASK, reference_attention_mask, plan_attention_mask)                                               \
    TRIAL(POSITION_BUCKETS, reference_position_buckets, plan_position_buckets)                                         \
    TRIAL(COPY, reference_element, plan_element)                                                                       \
    TRIAL(ADD, reference_element, plan_element)                                                                        \
    TRIAL(MULTIPLY, reference_element, plan_element)                                                                   \
    TRIAL(DIVIDE, reference_element, plan_element)                                                                     \
    TRIAL(COMPLEX_MULTIPLY, reference_complex_multiply, plan_complex_multiply)                                         \
    TRIAL(BOUND, reference_element, plan_element)                                                                      \
    TRIAL(WITHIN, reference_element, plan_element)                                                                     \
    TRIAL(AFFINE, reference_element, plan_element)                                                                     \
    TRIAL(ABSOLUTE, reference_element, plan_element)                                                                   \
    TRIAL(CLAMP, reference_element, plan_element)                                                                      \
    TRIAL(POWER, reference_element, plan_element)                                                                      \
    TRIAL(SQUARE_ROOT, reference_element, plan_element)                                                                \
    TRIAL(RECIPROCAL_ROOT, reference_element, plan_element)                                                            \
    TRIAL(TANH, reference_element, plan_element)                                                                       \
    TRIAL(COSINE, reference_element, plan_element)                                                                     \
    TRIAL(SINE, reference_element, plan_element)                                                                       \
    TRIAL(GELU, reference_element, plan_element)                                                                       \
    TRIAL(SILU, reference_element, plan_element)                                                                       \
    TRIAL(RELU, reference_element, plan_element)                                                                       \
    TRIAL(SIGMOID, reference_element, plan_element)                                                                    \
    TRIAL(TANH_BACKWARD, reference_element, plan_element)                                                              \
    TRIAL(RELU_BACKWARD, reference_element, plan_element)                                                              \
    TRIAL(GELU_BACKWARD, reference_element, plan_element)                                                              \
    TRIAL(SILU_BACKWARD, reference_element, plan_element)                                                              \
    TRIAL(SIGMOID_BACKWARD, reference_element, plan_element)                                                           \
    TRIAL(DROPOUT, reference_dropout, plan_dropout)                                                                    \
    TRIAL(DROPOUT_BACKWARD, reference_element, plan_element)                                                           \
    TRIAL(SUM, reference_sum, plan_sum)                                                                                \
    TRIAL(EXTREME, reference_extreme, plan_extreme)                                                                    \
    TRIAL(SOFTMAX, reference_softmax, plan_rows)                                                                       \
    TRIAL(LOG_SOFTMAX, reference_softmax, plan_rows)                                                                   \
    TRIAL(SOFTMAX_BACKWARD, reference_softmax_backward, plan_rows)                                                     \
    TRIAL(LOG_SOFTMAX_BACKWARD, reference_softmax_backward, plan_rows)                                                 \
    TRIAL(NLL_LOSS, reference_loss, plan_loss)                                                                         \
    TRIAL(NLL_LOSS_BACKWARD, reference_loss_backward, plan_loss_backward)                                              \
    TRIAL(TARGET_MASK, reference_target_mask, plan_target_mask)                                                        \
    TRIAL(CROSS_ENTROPY, reference_cross_entropy, plan_cross_entropy)                                                  \
    TRIAL(LAYERNORM, reference_layernorm, plan_layernorm)                                                              \
    TRIAL(LAYERNORM_BACKWARD, reference_layernorm_backward, plan_layernorm_backward)                                   \
    TRIAL(LAYERNORM_BACKWARD_INPUT, reference_layernorm_backward, plan_layernorm_backward)                             \
    TRIAL(BATCHNORM, reference_batchnorm, plan_batchnorm)                                                              \
    TRIAL(BATCHNORM_INFERENCE, reference_batchnorm_inference, plan_batchnorm_inference)                                \
    TRIAL(BATCHNORM_BACKWARD, reference_batchnorm_backward, plan_batchnorm_backward)                                   \
    TRIAL(EMBEDDING, reference_embedding, plan_embedding)                                                              \
    TRIAL(EMBEDDING_BACKWARD, reference_embedding_backward, plan_embedding_backward)                                   \
    TRIAL(TOP_K, reference_top_k, plan_top_k)                                                                          \
    TRIAL(ARGMAX, reference_top_k, plan_top_k)                                                                         \
    TRIAL(GATHER, reference_gather, plan_gather)                                                                       \
    TRIAL(TOKEN_POSITIONS, reference_token_positions, plan_token_positions)                                            \
    TRIAL(QUOTIENT, reference_divide, plan_divide)                                                                     \
    TRIAL(REMAINDER, reference_divide, plan_divide)                                                                    \
    TRIAL(SCATTER, reference_scatter, plan_scatter)                                                                    \
    TRIAL(GROUP_LIMIT, reference_group_limit, plan_group_limit)                                                        \
    TRIAL(SORT_IDS, reference_sort_ids, plan_sort_ids)                                                                 \
    TRIAL(GROUP_ENDS, reference_group_ends, plan_group_ends)                                                           \
    TRIAL(PLACE_IDS, reference_place_ids, plan_place_ids)                                                              \
    TRIAL(MAX_POOL, reference_max_pool, plan_max_pool)                                                                 \
    TRIAL(MAX_POOL_BACKWARD, reference_max_pool_backward, plan_max_pool_backward)                                      \
    TRIAL(CONVOLUTION, reference_convolution, plan_convolution)                                                        \
    TRIAL(CONVOLUTION_BACKWARD_INPUT, reference_convolution, plan_convolution)                                         \
    TRIAL(CONVOLUTION_BACKWARD_WEIGHT, reference_convolution, plan_convolution)                                        \
    TRIAL(GROUPED_CONVOLUTION, reference_grouped_convolution, plan_grouped_convolution)                                \
    TRIAL(GROUPED_CONVOLUTION_BACKWARD_INPUT, reference_grouped_convolution, plan_grouped_convolution)                 \
    TRIAL(GROUPED_CONVOLUTION_BACKWARD_WEIGHT, reference_grouped_convolution, plan_grouped_convolution)                \
    TRIAL(MATMUL, reference_matmul, plan_matmul)                                                                       \
    TRIAL(GROUPED_MATMUL, reference_grouped_matmul, plan_grouped_matmul)                                               \
    TRIAL(ATTENTION, reference_attention, plan_attention)                                                              \
    TRIAL(ATTENTION_IN_PARTS, reference_attention, plan_attention_in_parts)                                            \
    TRIAL(ATTENTION_BACKWARD, reference_attention_backward, plan_attention_backward)                                   \
    TRIAL(ATTENTION_BIAS_GRADIENT, reference_attention_bias_gradient, plan_attention_bias_gradient)                    \
    TRIAL(QUANTIZE, reference_quantize, plan_quantize)                                                                 \
    TRIAL(DEQUANTIZE, reference_dequantize, plan_dequantize)                                                           \
    TRIAL(PACK_BITS, reference_bits, plan_bits)                                                                        \
    TRIAL(UNPACK_BITS, reference_bits, plan_bits)                                                                      \
    TRIAL(QUANTIZED_LINEAR, reference_quantized_linear, plan_quantized_linear)                                         \
    TRIAL(DEQUANTIZE_SUMS, reference_dequantize_sums, plan_dequantize_sums)                                            \
    TRIAL(INTEGER_MATMUL, reference_integer_matmul, plan_integer_matmul)                                               \
    TRIAL(SCALED_MATMUL, reference_scaled_matmul, plan_scaled_matmul)                                                  \
    TRIAL(ADAM_MOMENTS, reference_optimizer, plan_optimizer)                                                           \
    TRIAL(ADAM_APPLY, reference_optimizer, plan_optimizer)                                                             \
    TRIAL(ADAM, reference_optimizer, plan_optimizer)                                                                   \
    TRIAL(ADAM_8BIT, reference_adam_8bit, plan_adam_8bit)                                                              \
    TRIAL(SGD_MOMENTUM, reference_optimizer, plan_optimizer)                                                           \
    TRIAL(SGD, reference_optimizer, plan_optimizer)                                                                    \
    TRIAL(UNSCALE, reference_optimizer, plan_optimizer)                                                                \
    TRIAL(MAP_QUANTIZE, reference_map_quantize, plan_map_quantize)                                                     \
    TRIAL(MAP_DEQUANTIZE, reference_map_dequantize, plan_map_dequantize)                                               \
    TRIAL(NESTED_LINEAR, reference_nested_linear, plan_nested_linear)

/* A row for each operation, or this does not compile. */
enum {
#define TRIAL_ROW(name, reference, plan) TRIAL_OF_##name,
    TRIAL_TABLE(TRIAL_ROW)
#undef TRIAL_ROW
};
#define KERNEL_TRIAL(name, pattern, check, host, launch) PRODUCT_TRIAL(name, pattern, PRODUCT_NONE)
#define PRODUCT_TRIAL(name, pattern, kind)                                                                             \
    _Static_assert((int)TRIAL_OF_##name == (int)OPCODE_##name, #name " is elsewhere in OPERATION_TABLE");
OPERATION_TABLE(KERNEL_TRIAL, PRODUCT_TRIAL)
#undef KERNEL_TRIAL
#undef PRODUCT_TRIAL

#endif
