/* Plans: for every operation, the calls it is tried with. Each variant is one class of shapes; figures and dtypes are
 * drawn afresh. */
#ifndef ASSAY_TESTS_KERNELS_TRIAL_PLAN_H
#define ASSAY_TESTS_KERNELS_TRIAL_PLAN_H

#include "tests/kernels/trial.h"

/* Fills an opened trial. False, and nothing done, where there are fewer variants. */
typedef bool trial_plan(struct trial *trial, int variant);

/* NULL where an operation has none. */
trial_plan *trial_plan_for(enum opcode opcode);

trial_plan plan_create, plan_attention_mask, plan_element, plan_dropout, plan_sum, plan_rows, plan_loss,
    plan_loss_backward, plan_target_mask, plan_cross_entropy;
trial_plan plan_layernorm, plan_layernorm_backward, plan_batchnorm, plan_batchnorm_inference, plan_batchnorm_backward;
trial_plan plan_embedding, plan_embedding_backward, plan_max_pool, plan_max_pool_backward, plan_convolution,
    plan_grouped_convolution, plan_matmul;
trial_plan plan_complex_multiply, plan_group_limit;
trial_plan plan_scatter, plan_sort_ids, plan_group_ends, plan_place_ids, plan_grouped_matmul;
trial_plan plan_top_k, plan_gather, plan_token_positions, plan_divide;
trial_plan plan_position_buckets, plan_attention_bias_gradient;
trial_plan plan_attention, plan_attention_backward, plan_optimizer, plan_dynamic_map, plan_adam_8bit;
trial_plan plan_extreme, plan_bits;
trial_plan plan_integer_matmul, plan_scaled_matmul;
trial_plan plan_quantize, plan_dequantize, plan_quantized_linear, plan_dequantize_sums;

#endif
