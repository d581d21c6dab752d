/* The CUDA table of operations and the way into it. The launches are in the launch_*.cu files beside this one. */
#include "harness/kernels/launch.h"

#include "harness/kernels/body_check.h"
#include "harness/kernels/launch_grid.h"

struct launch_row {
    enum opcode opcode;
    launch_function *function;
};

static const struct launch_row launch_table[] = {
    {OPCODE_FILL, launch_fill},
    {OPCODE_RANDOM_NORMAL, launch_create},
    {OPCODE_RANDOM_INTEGER, launch_create},
    {OPCODE_SEQUENCE, launch_create},
    {OPCODE_CAUSAL_MASK, launch_create},
    {OPCODE_DYNAMIC_MAP, launch_dynamic_map},
    {OPCODE_ATTENTION_MASK, launch_attention_mask},
    {OPCODE_POSITION_BUCKETS, launch_position_buckets},
    {OPCODE_COPY, launch_copy},
    {OPCODE_ADD, launch_element},
    {OPCODE_MULTIPLY, launch_element},
    {OPCODE_DIVIDE, launch_element},
    {OPCODE_COMPLEX_MULTIPLY, launch_complex_multiply},
    {OPCODE_BOUND, launch_element},
    {OPCODE_WITHIN, launch_element},
    {OPCODE_SIGMOID, launch_element},
    {OPCODE_SIGMOID_BACKWARD, launch_element},
    {OPCODE_ABSOLUTE, launch_element},
    {OPCODE_CLAMP, launch_element},
    {OPCODE_AFFINE, launch_element},
    {OPCODE_POWER, launch_element},
    {OPCODE_SQUARE_ROOT, launch_element},
    {OPCODE_RECIPROCAL_ROOT, launch_element},
    {OPCODE_TANH, launch_element},
    {OPCODE_COSINE, launch_element},
    {OPCODE_SINE, launch_element},
    {OPCODE_GELU, launch_element},
    {OPCODE_SILU, launch_element},
    {OPCODE_RELU, launch_element},
    {OPCODE_TANH_BACKWARD, launch_element},
    {OPCODE_RELU_BACKWARD, launch_element},
    {OPCODE_GELU_BACKWARD, launch_element},
    {OPCODE_SILU_BACKWARD, launch_element},
    {OPCODE_DROPOUT, launch_dropout},
    {OPCODE_DROPOUT_BACKWARD, launch_element},
    {OPCODE_SUM, launch_sum},
    {OPCODE_EXTREME, launch_extreme},
    {OPCODE_PACK_BITS, launch_pack_bits},
    {OPCODE_UNPACK_BITS, launch_unpack_bits},
    {OPCODE_SOFTMAX, launch_rows},
    {OPCODE_LOG_SOFTMAX, launch_rows},
    {OPCODE_SOFTMAX_BACKWARD, launch_rows},
    {OPCODE_LOG_SOFTMAX_BACKWARD, launch_rows},
    {OPCODE_NLL_LOSS, launch_nll_loss},
    {OPCODE_NLL_LOSS_BACKWARD, launch_nll_loss_backward},
    {OPCODE_TARGET_MASK, launch_target_mask},
    {OPCODE_CROSS_ENTROPY, launch_cross_entropy},
    {OPCODE_LAYERNORM, launch_layernorm},
    {OPCODE_LAYERNORM_BACKWARD, launch_layernorm_backward},
    {OPCODE_LAYERNORM_BACKWARD_INPUT, launch_layernorm_backward},
    {OPCODE_BATCHNORM, launch_batchnorm},
    {OPCODE_BATCHNORM_INFERENCE, launch_batchnorm},
    {OPCODE_BATCHNORM_BACKWARD, launch_batchnorm_backward},
    {OPCODE_EMBEDDING, launch_embedding},
    {OPCODE_EMBEDDING_BACKWARD, launch_embedding_backward},
    {OPCODE_TOP_K, launch_top_k},
    {OPCODE_ARGMAX, launch_top_k},
    {OPCODE_GATHER, launch_gather},
    {OPCODE_TOKEN_POSITIONS, launch_token_positions},
    {OPCODE_SCATTER, launch_scatter},
    {OPCODE_GROUP_LIMIT, launch_group_limit},
    {OPCODE_SORT_IDS, launch_sort_ids},
    {OPCODE_GROUP_ENDS, launch_group_ends},
    {OPCODE_PLACE_IDS, launch_place_ids},
    {OPCODE_GROUPED_MATMUL, launch_grouped_matmul},
    {OPCODE_QUOTIENT, launch_divide},
    {OPCODE_REMAINDER, launch_divide},
    {OPCODE_MAX_POOL, launch_max_pool},
    {OPCODE_MAX_POOL_BACKWARD, launch_max_pool_backward},
    {OPCODE_GROUPED_CONVOLUTION, launch_grouped_convolution},
    {OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT, launch_grouped_convolution},
    {OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT, launch_grouped_convolution_backward_weight},
    {OPCODE_ATTENTION, launch_attention},
    {OPCODE_ATTENTION_BACKWARD, launch_attention_backward},
    {OPCODE_ATTENTION_BIAS_GRADIENT, launch_attention_bias_gradient},
    {OPCODE_QUANTIZE, launch_quantize},
    {OPCODE_DEQUANTIZE, launch_dequantize},
    {OPCODE_QUANTIZED_LINEAR, launch_quantized_linear},
    {OPCODE_DEQUANTIZE_SUMS, launch_dequantize_sums},
    {OPCODE_ADAM_MOMENTS, launch_optimizer},
    {OPCODE_ADAM_APPLY, launch_optimizer},
    {OPCODE_ADAM, launch_optimizer},
    {OPCODE_ADAM_8BIT, launch_adam_8bit},
    {OPCODE_SGD_MOMENTUM, launch_optimizer},
    {OPCODE_UNSCALE, launch_unscale},
};

static launch_function *launch_find(enum opcode opcode)
{
    for (size_t i = 0; i < sizeof launch_table / sizeof launch_table[0]; i++) {
        if (launch_table[i].opcode == opcode) {
            return launch_table[i].function;
        }
    }
    return NULL;
}

bool kernel_cuda_has(enum opcode opcode)
{
    return launch_find(opcode) != NULL;
}

/* Whether no output has an element, so that nothing is launched. */
static bool outputs_are_empty(const struct operation_call *call)
{
    for (int t = call->input_count; t < call->tensor_count; t++) {
        if (elements_of(&call->tensors[t]) > 0) {
            return false;
        }
    }
    return true;
}

const char *kernel_cuda_run(const struct operation_call *call, void *stream)
{
    launch_function *function = launch_find(call->opcode);
    if (function == NULL) {
        return "the operation is not one of the kernels";
    }
    const char *wrong = call_check(call);
    if (wrong != NULL || outputs_are_empty(call)) {
        return wrong;
    }
    return function(call, (cudaStream_t)stream);
}
