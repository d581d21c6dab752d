/* The host's loops, one function for each family of operations: the entries of the table in kernel_host.c. A call that
 * reaches them has passed call_check. Each returns NULL, a static text or host_no_memory, as kernel_host_run does. */
#ifndef ASSAY_KERNELS_HOST_OPERATIONS_H
#define ASSAY_KERNELS_HOST_OPERATIONS_H

#include "harness/kernels/kernel_host.h"
#include "harness/kernels/operation.h"

typedef const char *host_function(const struct operation_call *call);

/* Whether the gradient scaler's flag, an optimizer's optional last input, says that this step is left out. */
bool optimizer_is_held(const struct operation_call *call);

host_function host_fill, host_random_normal, host_random_integer, host_sequence, host_causal_mask, host_attention_mask;
host_function host_element, host_copy, host_dropout;
host_function host_sum;
host_function host_softmax, host_log_softmax, host_softmax_backward, host_log_softmax_backward;
host_function host_nll_loss, host_nll_loss_backward, host_target_mask, host_cross_entropy;
host_function host_layernorm, host_layernorm_backward, host_layernorm_backward_input;
host_function host_batchnorm, host_batchnorm_backward;
host_function host_embedding, host_embedding_backward;
host_function host_complex_multiply, host_group_limit;
host_function host_scatter, host_sort_ids, host_group_ends, host_place_ids, host_grouped_matmul;
host_function host_top_k, host_gather, host_token_positions, host_divide;
host_function host_max_pool, host_max_pool_backward;
host_function host_grouped_convolution, host_grouped_convolution_backward_input,
    host_grouped_convolution_backward_weight;
host_function host_attention, host_attention_backward, host_position_buckets, host_attention_bias_gradient;
host_function host_quantize, host_dequantize, host_quantized_linear, host_dequantize_sums;
host_function host_extreme, host_pack_bits, host_unpack_bits;
host_function host_adam_moments, host_adam_apply, host_adam, host_sgd_momentum, host_unscale;
host_function host_dynamic_map, host_adam_8bit;

#endif
