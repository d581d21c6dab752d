/* The host's table of operations and the way into it. The loops are in the host_*.c files beside this one. */
#include "harness/kernels/kernel_host.h"

#include "harness/kernels/body_check.h"
#include "harness/kernels/host_operations.h"

const char host_no_memory[] = "the host has no memory for its scratch space";

static host_function *const functions[OPCODE_COUNT] = {
    [OPCODE_FILL] = host_fill,
    [OPCODE_RANDOM_NORMAL] = host_random_normal,
    [OPCODE_RANDOM_INTEGER] = host_random_integer,
    [OPCODE_SEQUENCE] = host_sequence,
    [OPCODE_CAUSAL_MASK] = host_causal_mask,
    [OPCODE_ATTENTION_MASK] = host_attention_mask,
    [OPCODE_POSITION_BUCKETS] = host_position_buckets,
    [OPCODE_DYNAMIC_MAP] = host_dynamic_map,
    [OPCODE_COPY] = host_copy,
    [OPCODE_ADD] = host_element,
    [OPCODE_MULTIPLY] = host_element,
    [OPCODE_DIVIDE] = host_element,
    [OPCODE_COMPLEX_MULTIPLY] = host_complex_multiply,
    [OPCODE_BOUND] = host_element,
    [OPCODE_WITHIN] = host_element,
    [OPCODE_SIGMOID] = host_element,
    [OPCODE_SIGMOID_BACKWARD] = host_element,
    [OPCODE_ABSOLUTE] = host_element,
    [OPCODE_CLAMP] = host_element,
    [OPCODE_AFFINE] = host_element,
    [OPCODE_POWER] = host_element,
    [OPCODE_SQUARE_ROOT] = host_element,
    [OPCODE_RECIPROCAL_ROOT] = host_element,
    [OPCODE_TANH] = host_element,
    [OPCODE_COSINE] = host_element,
    [OPCODE_SINE] = host_element,
    [OPCODE_GELU] = host_element,
    [OPCODE_SILU] = host_element,
    [OPCODE_RELU] = host_element,
    [OPCODE_TANH_BACKWARD] = host_element,
    [OPCODE_RELU_BACKWARD] = host_element,
    [OPCODE_GELU_BACKWARD] = host_element,
    [OPCODE_SILU_BACKWARD] = host_element,
    [OPCODE_DROPOUT] = host_dropout,
    [OPCODE_DROPOUT_BACKWARD] = host_element,
    [OPCODE_SUM] = host_sum,
    [OPCODE_EXTREME] = host_extreme,
    [OPCODE_PACK_BITS] = host_pack_bits,
    [OPCODE_UNPACK_BITS] = host_unpack_bits,
    [OPCODE_SOFTMAX] = host_softmax,
    [OPCODE_LOG_SOFTMAX] = host_log_softmax,
    [OPCODE_SOFTMAX_BACKWARD] = host_softmax_backward,
    [OPCODE_LOG_SOFTMAX_BACKWARD] = host_log_softmax_backward,
    [OPCODE_NLL_LOSS] = host_nll_loss,
    [OPCODE_NLL_LOSS_BACKWARD] = host_nll_loss_backward,
    [OPCODE_TARGET_MASK] = host_target_mask,
    [OPCODE_CROSS_ENTROPY] = host_cross_entropy,
    [OPCODE_LAYERNORM] = host_layernorm,
    [OPCODE_LAYERNORM_BACKWARD] = host_layernorm_backward,
    [OPCODE_LAYERNORM_BACKWARD_INPUT] = host_layernorm_backward_input,
    [OPCODE_BATCHNORM] = host_batchnorm,
    [OPCODE_BATCHNORM_INFERENCE] = host_batchnorm,
    [OPCODE_BATCHNORM_BACKWARD] = host_batchnorm_backward,
    [OPCODE_EMBEDDING] = host_embedding,
    [OPCODE_EMBEDDING_BACKWARD] = host_embedding_backward,
    [OPCODE_TOP_K] = host_top_k,
    [OPCODE_ARGMAX] = host_top_k,
    [OPCODE_GATHER] = host_gather,
    [OPCODE_TOKEN_POSITIONS] = host_token_positions,
    [OPCODE_SCATTER] = host_scatter,
    [OPCODE_GROUP_LIMIT] = host_group_limit,
    [OPCODE_SORT_IDS] = host_sort_ids,
    [OPCODE_GROUP_ENDS] = host_group_ends,
    [OPCODE_PLACE_IDS] = host_place_ids,
    [OPCODE_GROUPED_MATMUL] = host_grouped_matmul,
    [OPCODE_QUOTIENT] = host_divide,
    [OPCODE_REMAINDER] = host_divide,
    [OPCODE_MAX_POOL] = host_max_pool,
    [OPCODE_MAX_POOL_BACKWARD] = host_max_pool_backward,
    [OPCODE_GROUPED_CONVOLUTION] = host_grouped_convolution,
    [OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT] = host_grouped_convolution_backward_input,
    [OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT] = host_grouped_convolution_backward_weight,
    [OPCODE_ATTENTION] = host_attention,
    [OPCODE_ATTENTION_BACKWARD] = host_attention_backward,
    [OPCODE_ATTENTION_BIAS_GRADIENT] = host_attention_bias_gradient,
    [OPCODE_QUANTIZE] = host_quantize,
    [OPCODE_DEQUANTIZE] = host_dequantize,
    [OPCODE_QUANTIZED_LINEAR] = host_quantized_linear,
    [OPCODE_DEQUANTIZE_SUMS] = host_dequantize_sums,
    [OPCODE_ADAM_MOMENTS] = host_adam_moments,
    [OPCODE_ADAM_APPLY] = host_adam_apply,
    [OPCODE_ADAM] = host_adam,
    [OPCODE_ADAM_8BIT] = host_adam_8bit,
    [OPCODE_SGD_MOMENTUM] = host_sgd_momentum,
    [OPCODE_UNSCALE] = host_unscale,
};

bool kernel_host_has(enum opcode opcode)
{
    return (unsigned)opcode < OPCODE_COUNT && functions[opcode] != NULL;
}

const char *kernel_host_run(const struct operation_call *call)
{
    if (!kernel_host_has(call->opcode)) {
        return "the operation is not one of the kernels";
    }
    const char *wrong = call_check(call);
    return wrong != NULL ? wrong : functions[call->opcode](call);
}
