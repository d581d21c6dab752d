/* Attention choice: the table behind attention_choice.h, one rule for each backend. What a backend then allocates
 * stands in op_attention.c and op_attention_math.c. */
#include "harness/tape/attention_choice.h"

#include <stddef.h>

enum { FLASH_WIDTH_MAXIMUM = 256, CUDNN_WIDTH_MAXIMUM = 128, CUDNN_HOPPER_WIDTH_MAXIMUM = 256 };

/* float16 and bfloat16; the kernels below know no other 16-bit type. */
static bool is_half(const struct attention_case *attention)
{
    return attention->dtype == DTYPE_FLOAT16 || attention->dtype == DTYPE_BFLOAT16;
}

/* check_prefer_cudnn_attention and check_cudnn_hardware_support: the GPUs that cuDNN is asked first on. */
static bool has_cudnn(int capability)
{
    return capability == 90 || capability == 100 || capability == 103;
}

/* check_batch_size_and_num_heads_dense<true>: fewer key heads have to be said to be groups. */
static bool heads_fit(const struct attention_case *attention)
{
    return attention->heads == attention->groups || !attention->broadcast;
}

static int64_t wider_of(const struct attention_case *attention)
{
    return attention->width > attention->value_width ? attention->width : attention->value_width;
}

/* check_cudnn_tensor_shapes: widths of whole 16-byte units, more than one column, and no dropout over a single row;
 * its backward pass makes no gradient of a mask. */
static bool cudnn_accepts(int capability, const struct attention_case *attention)
{
    int64_t widest = capability == 90 ? CUDNN_HOPPER_WIDTH_MAXIMUM : CUDNN_WIDTH_MAXIMUM;
    return !attention->without_cudnn && has_cudnn(capability) && is_half(attention) && attention->width % 8 == 0 &&
           attention->value_width % 8 == 0 && wider_of(attention) <= widest && attention->columns != 1 &&
           !(attention->rows == 1 && attention->dropped) && !attention->mask_learns && heads_fit(attention);
}

/* check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120: the backward kernel wants more shared memory
 * than those GPUs have. */
static bool flash_backward_fits(int capability, const struct attention_case *attention)
{
    bool small = capability == 86 || capability == 87 || capability == 89 || capability >= 120;
    bool wide = attention->width > 192 && (attention->width <= 224 || attention->dropped);
    return !(small && attention->gradients && wide);
}

/* check_for_attn_mask, check_head_dim_size_flash (values as wide as keys), check_flash_attention_hardware_support,
 * check_flash_causal_non_square_seqlens. */
static bool flash_accepts(int capability, const struct attention_case *attention)
{
    return capability >= 80 && is_half(attention) && !attention->masked && attention->width == attention->value_width &&
           heads_fit(attention) && attention->width <= FLASH_WIDTH_MAXIMUM &&
           !(attention->causal && attention->rows != attention->columns) && flash_backward_fits(capability, attention);
}

/* minimum_gemm_alignment: both widths in elements must be multiples of it. */
static int64_t efficient_alignment(int capability, const struct attention_case *attention)
{
    if (is_half(attention)) {
        return 8;
    }
    return capability >= 80 ? 4 : 1;
}

/* check_batch_size_and_num_heads_dense<false>: as many key heads as query heads; bfloat16 needs sm_80. */
static bool efficient_accepts(int capability, const struct attention_case *attention)
{
    return attention->heads == attention->groups && (attention->dtype != DTYPE_BFLOAT16 || capability >= 80) &&
           attention->width % efficient_alignment(capability, attention) == 0 &&
           attention->value_width % efficient_alignment(capability, attention) == 0;
}

static bool math_accepts(int capability, const struct attention_case *attention)
{
    (void)capability;
    (void)attention;
    return true;
}

/* In the order of priority_order. If cuDNN is not asked first it comes after math, which accepts everything. */
static const struct rule {
    enum attention_backend backend;
    bool (*accepts)(int capability, const struct attention_case *attention);
} rules[] = {
    {ATTENTION_BACKEND_CUDNN, cudnn_accepts},
    {ATTENTION_BACKEND_FLASH, flash_accepts},
    {ATTENTION_BACKEND_EFFICIENT, efficient_accepts},
    {ATTENTION_BACKEND_MATH, math_accepts},
};

enum attention_backend attention_backend_of(int capability, const struct attention_case *attention)
{
    if (capability == 0) {
        return ATTENTION_BACKEND_NATIVE;
    }
    size_t chosen = 0;
    while (!rules[chosen].accepts(capability, attention)) {
        chosen++;
    }
    return rules[chosen].backend;
}

const char *attention_backend_name(enum attention_backend backend)
{
    static const char *const names[] = {[ATTENTION_BACKEND_NONE] = NULL,
#define ATTENTION_BACKEND_TEXT(name, text) [ATTENTION_BACKEND_##name] = text,
                                        ATTENTION_BACKEND_TABLE(ATTENTION_BACKEND_TEXT)
#undef ATTENTION_BACKEND_TEXT
    };
    return names[backend];
}
