/* Operations: the vocabulary in which a tape speaks and which every device understands.
 *
 * It is that of PyTorch's ATen, so that a model written in it allocates what PyTorch allocates. An operation reads and
 * writes tensors that exist already; it allocates nothing that the ledger should see. Arithmetic is done in float32
 * whatever the storage; sums over a whole tensor may be done in float64 on the host.
 *
 * Conventions. `in` tensors come first in operation_call.tensors, then `out`. "any" = any strides, stride 0 included
 * (broadcast: the caller has expanded the view, so all shapes are equal). "dense" = row-major without gaps; leading
 * dimensions may then be read as one ("rows" = product of all but the last size, "columns" = last size). Floating
 * tensors may each have any floating dtype unless said otherwise; "f32", "i64" and "u8" mean just that. An `out` may be
 * the same memory as an `in` of equal shape and strides if the line says so (in place). Every element of an `out` is
 * written, unless the line says "accumulates" or "updates". Empty tensors are legal and do nothing.
 *
 * A workspace is scratch memory that the tape takes for a call, so that a device takes none by itself: bool, rank 1,
 * dense, aligned to 256 bytes; the last `in` of the operations that list it. Its memory goes on to the next multiple of
 * WORKSPACE_UNIT_BYTES, as the allocator's blocks do. It holds nothing before and after the call; its size may change
 * how a result is computed, never what it means. Devices that need none ignore it.
 *
 * Each operation is one row of OPERATION_TABLE below. An operation with optional tensors reads tensor_count.
 *
 * -- creation
 * FILL                    -> out any; out = f[0] (any dtype; nf4x2: the byte)
 * RANDOM_NORMAL           -> out dense; f[0] = mean, f[1] = deviation, i[0] = seed; element k depends on (seed, k) only
 * RANDOM_INTEGER          -> out i64 dense; uniform in [0, i[1]); i[0] = seed
 * SEQUENCE                -> out i64 dense; element k = i[0] + i[1] (k modulo columns): each row counts from i[0]
 * CAUSAL_MASK             -> out dense [.., rows, columns]; 0 if column <= row + i[0], else the lowest finite value
 * DYNAMIC_MAP             -> out f32 dense [256]; the numbers that the codes of ADAM_8BIT stand for (body_map_codes.h);
 *                            i[0] = 1: signed
 * ATTENTION_MASK (seen i64 dense [B, T]) -> out bool dense [B, 1, S, T]; true if seen is not 0 (without it
 *                            everywhere), column <= row + i[0] and, if i[1] > 0, column > row + i[0] - i[1]
 * POSITION_BUCKETS        -> out i64 dense [S, T]; the bucket of the distance of column c from row i[0] + r, of i[1]
 *                            buckets for distances up to i[2]; i[3] = 1: in both directions, else what comes later is
 *                            at distance 0 (body_attention_bias.h)
 * -- copies and element-wise arithmetic (out dense unless "any"; in place allowed)
 * COPY          a any     -> out any; converts any dtype but nf4x2 to floating ones, floating ones to float8_e4m3fn
 *                            (rounded to nearest, beyond 464 NaN) and, of 0 to 255, to uint8 (cut to whole numbers),
 *                            and copies any dtype to itself. Not in place.
 * ADD           a any, b any -> out any; out = a + f[0] * b
 * MULTIPLY      a any, b any -> out any; b may be uint8
 * DIVIDE        a any, b any -> out any
 * BOUND         a any, b any -> out any; a, no larger than b and no smaller than -b; NaN stays
 * WITHIN        a any, b any -> out any; 1 if -b <= a <= b, else 0
 * AFFINE        a any     -> out any; out = f[0] * a + f[1]
 * ABSOLUTE      a any     -> out any
 * CLAMP         a any     -> out any; the nearest number of f[0] to f[1] (f[1] if they are crossed); i[0] = 1: first
 *                            rounded to a whole number, ties to even. NaN becomes f[0]
 * POWER         a any     -> out; a ** f[0]; exact products for the exponents 2 and 3
 * SQUARE_ROOT   a         -> out
 * RECIPROCAL_ROOT a       -> out; 1 / sqrt(a)
 * TANH a -> out;  COSINE a any -> out any (f[0] * cos);  SINE a any -> out any (f[0] * sin)
 * COMPLEX_MULTIPLY a any [.., 2], b any [.., 2] -> out any [.., 2]; real and imaginary part are neighbours; out = a *
 *                            b, with i[0] = 1 of the conjugate of b
 * GELU a -> out; i[0] = 0: erf form, 1: tanh form.   SILU a -> out.   RELU a -> out
 * SIGMOID a -> out;  SIGMOID_BACKWARD grad, result -> out
 * TANH_BACKWARD  grad, result -> out; RELU_BACKWARD grad, result -> out
 * GELU_BACKWARD  grad, a -> out (i[0] as GELU); SILU_BACKWARD grad, a -> out
 * DROPOUT       a         -> out, mask bool; kept with probability 1 - f[0], then scaled by 1 / (1 - f[0]);
 *                            i[0] = seed; element k depends on (seed, k) only. Not in place.
 * DROPOUT_BACKWARD grad, mask -> out; grad * mask * f[0]
 * -- reductions
 * SUM           a any, (workspace) -> out, same rank; size 1 (or the full size) in each dimension: sums over the rest;
 *                            * f[0]. i[0] = 1: not of the elements, but the root of the sum of their squares
 * EXTREME       a dense [rows, columns] -> out dense [rows]; i[0] = 1: the highest of each row, 0: the lowest. NaN is
 *                            passed over; of an empty row the infinity that is beyond all
 * SOFTMAX       a dense [rows, columns] -> out;   LOG_SOFTMAX likewise. in place allowed
 * SOFTMAX_BACKWARD grad, result -> out;   LOG_SOFTMAX_BACKWARD grad, result -> out
 * NLL_LOSS      logp dense [N, C], target i64 [N] -> loss [1], total_weight [1]; mean over targets that are not
 *                            -100; loss is NaN if none is left. Another target outside [0, C) is an error
 * NLL_LOSS_BACKWARD grad [1], target, total_weight -> out [N, C] dense; -grad / total_weight at the target, 0 elsewhere
 * TARGET_MASK   target i64 [N] -> mask bool [N], masked i64 [N], count i64 [1]; mask: the target is not -100; masked:
 *                            the target if it is not -100, else 0; count: how many are not. Another target outside
 *                            [0, i[0]) is an error
 * CROSS_ENTROPY target i64 [N], count i64 [1] -> logits dense [N, C] updates, losses [N]; a row's loss becomes
 *                            (log sum e^logits - logit of its target) / count, and its logits the gradient of that,
 *                            (softmax - 1 at the target) / count; both are 0 if the target is -100. Another target
 *                            outside [0, C) is an error
 * -- normalisation
 * LAYERNORM     a dense, weight, bias -> out, mean f32 [rows], reciprocal deviation f32 [rows]; f[0] = epsilon
 * LAYERNORM_BACKWARD grad, a, mean, reciprocal deviation, weight -> grad a, grad weight, grad bias
 * LAYERNORM_BACKWARD_INPUT likewise -> grad a alone, for frozen weight and bias
 * BATCHNORM     a dense NCHW, weight f32, bias f32, running mean f32, running variance f32
 *                         -> out, mean f32 [C], reciprocal deviation f32 [C]; i[0] = 1 training: batch statistics, the
 *                            running ones are updated with momentum f[1] (variance unbiased); 0: running statistics are
 *                            used, mean and deviation receive them. f[0] = epsilon. weight..variance may be of the
 *                            dtype of a instead of f32
 * BATCHNORM_INFERENCE the same inputs -> out alone; f[0] = epsilon. By the running statistics, as BATCHNORM with
 *                            i[0] = 0
 * BATCHNORM_BACKWARD grad, a, weight, mean, reciprocal deviation -> grad a, grad weight, grad bias (training formula)
 * -- lookup
 * EMBEDDING     weight [V, h], ids i64 -> out dense [.., h]; a wrong id is an error, never a wild read
 * EMBEDDING_BACKWARD grad dense [.., h], ids -> grad weight [V, h]: filled with zero, then summed in a fixed order;
 *                            rows of id i[0] stay zero (the padding index; -1: none)
 * -- selection
 * TOP_K         a dense [rows, columns], (workspace) -> values dense [rows, k], indices i64 dense [rows, k]; the k
 *                            largest, falling; of equals the lower index first; NaN as +infinity. 1 <= k <= columns
 * ARGMAX        a dense [rows, columns], (workspace) -> indices i64 dense [rows]; as TOP_K with k = 1
 * GATHER        a dense [G, R, C], ids i64 any [G, N, C] -> out dense [G, N, C], of one dtype, whichever;
 *                            out[g, n, c] = a[g, ids[g, n, c], c]; a wrong id is an error, never a wild read
 * TOKEN_POSITIONS ids i64 dense [.., T] -> out i64 dense; if an id is not i[0], how many of its row up to it are
 *                            not, plus i[1]; else i[2]
 * SCATTER       a dense [rows, k], ids i64 dense [rows, k] -> out dense [rows, columns] of a's dtype:
 *                            zero, and in each row a's elements at their ids, which differ; a wrong id is an error
 * GROUP_LIMIT   scores dense [rows, columns] -> hidden bool dense [rows, columns]; columns are i[0] groups side by
 *                            side; false in the i[1] of them that score highest (of equals the first), true elsewhere.
 *                            A group scores the sum of its i[2] largest elements, 1 or 2; NaN counts as +infinity
 * SORT_IDS      ids i64 dense [n], each in [0, i[0]) -> ids i64 dense [n], places i64 dense [n]; rising, of equals the
 *                            one that came first, and where each was
 * GROUP_ENDS    ids i64 dense [n], rising, each in [0, groups) -> ids i32 dense [n], counts i32 dense [groups], ends
 *                            i32 dense [groups]; the same ids, how many of each there are, and how many up to each
 * PLACE_IDS     places i64 dense [n], ids i64 dense [n] -> out i64 dense [n]; out[places[k]] = ids[k]; places are
 *                            0 to n - 1
 * QUOTIENT      a i64 any -> out i64 any; a / i[0], rounded down; i[0] > 0.   REMAINDER likewise; 0 <= out < i[0]
 * -- images (NCHW dense)
 * MAX_POOL      a         -> out, indices i64 (h * W + w of the winner, the first of equals; NaN wins);
 *                            i[0] = kernel, i[1] = stride, i[2] = padding
 * MAX_POOL_BACKWARD grad, indices -> out (sums in a fixed order, 0 if no window chose); i as MAX_POOL
 * CONVOLUTION   a, weight [O, C, k, k], (bias), (workspace) -> out; i[0] = stride, i[1] = padding,
 *                            i[2] = 1: factors in TF32, as MATMUL. A GPU may round a 16-bit product before it adds
 *                            the bias, as PyTorch does
 * CONVOLUTION_BACKWARD_INPUT  grad, weight, (workspace) -> grad a
 * CONVOLUTION_BACKWARD_WEIGHT grad, a, (workspace) -> grad weight; i as above
 * GROUPED_CONVOLUTION a any, weight dense [O, C / g, k, k], (bias) -> out any; i[0] = stride, i[1] = padding, i[2] = g
 *                            groups: filters [n O / g, ...) read channels [n C / g, ...). Sums in float32 in a fixed
 *                            order, no workspace; images may lie in memory in any order (channels last)
 * GROUPED_CONVOLUTION_BACKWARD_INPUT  grad any, weight -> grad a any
 * GROUPED_CONVOLUTION_BACKWARD_WEIGHT grad any, a any -> grad weight; i as above
 * -- products
 * MATMUL        a [.., m, k], b [.., k, n], (bias [n]), (workspace) -> out [.., m, n], ranks equal, 2 to 4; the last
 *                            two dimensions of each have one of their strides 1 (transposed views are welcome) and the
 *                            other >= the size it steps over; leading strides any.
 *                            out = f[0] * a b + f[1] * out + bias; out unread if f[1] = 0. i[0] = 1: a device may
 *                            round float32 factors to TF32 (10 bits of mantissa); 0: it must not. A GPU may round a
 *                            16-bit product before it adds f[1] * out, or the bias of a batch or of an out whose
 *                            columns are dense, as PyTorch does
 * GROUPED_MATMUL a [n, k], b [groups, k, m], ends i32 dense [groups] -> out dense [n, m]; the rows up to the end of a
 *                            group, and behind that of the last one, times its matrix; those behind all groups are
 *                            zero.
 *               a [k, n], b [n, m], ends -> out dense [groups, k, m]; sums over the rows of b in each group
 *                            In both, one of the last two strides of a and of b is 1. i[0] as MATMUL
 * ATTENTION     q [B, a, S, D] any, k [B, g, T, D] any, v [B, g, T, E] any, (mask [B, 1 or a, S, T] any, additive)
 *                         -> out [B, a, S, E] any, lse f32 dense [B, a, S']; D and E have stride 1; a is a multiple
 *                            of g: head h reads h / (a / g). f[0] = scale, f[1] = dropout probability, i[0] = 1:
 *                            causal, i[1] = seed. S' >= S, and what lies beyond S is set to +infinity; or S' = 0, and
 *                            lse is not made, which only a backward pass would need. Scores are never stored.
 *                            Causal: column <= row + (T - S). A row that sees nothing is 0 and has lse +infinity.
 *                            With dropout T is below 2^26.
 *                            CUDA on tensor cores (sm_80 on; all of it float16 or bfloat16, D = E a multiple of 8 up to
 *                            256, rows on 16 bytes) rounds what it multiplies with v, and the gradients of scores, to
 *                            16 bits
 * ATTENTION_IN_PARTS q, k, v, sums f32 dense [n, B, a', S'], parts f32 dense [n, B, a', S', E'] -> out, lse; as
 *                            ATTENTION without a mask. sums and parts are scratch of n parts that the columns may be
 *                            divided into, and the tape's, like a workspace; 0 < n <= 65536, E' >= E. a' = g and
 *                            S' = a / g if S is 1 and a > g, else a' = a and S' = S
 * ATTENTION_BACKWARD grad out, q, k, v, out, lse, (mask) -> grad q any, grad k any, grad v any; attributes likewise
 * ATTENTION_BIAS_GRADIENT grad out, q, k, v, out, lse, mask -> grad mask [B, a, S, T] any, one for each
 *                            score; attributes likewise
 * -- quantised storage: codes dense of dtype int8, float8_e4m3fn or nf4x2, and scales f32 dense, one for each block of
 *    i[0] elements (row-major; the last block may be shorter; even for nf4x2). An element is worth
 *    int8: code * scale / 127;   float8_e4m3fn: code * scale;   nf4x2: level[code] * scale, the 16 levels of NF4
 * QUANTIZE      a dense   -> codes, scales; int8 and nf4x2: scale = the block's largest magnitude, float8_e4m3fn: that
 *                            / 448; codes rounded to nearest, int8 ties to even, nf4 ties to the lower level. A block
 *                            of zeros has scale 0
 * DEQUANTIZE    codes, scales, (ids i64) -> out dense; with ids: rows of a matrix of i[1] rows, as EMBEDDING takes them
 * PACK_BITS     a u8 dense [n] -> shifted u8 dense [n], packed u8 dense [n] updates; the lowest i[0] bits (2 or 4) of
 *                            a, i[0] * i[1] bits higher, and packed with them set too; i[1] below 8 / i[0]
 * UNPACK_BITS   packed u8 dense [n] -> out u8 dense [8 / i[0] n]; element j n + k: bits i[0] j and up of packed[k]
 * QUANTIZED_LINEAR a dense [.., k], codes of [n, k], scales, (bias [n]) -> out dense [.., n]; a times the transposed
 *                            matrix, dequantised in registers: for few rows
 * MAP_QUANTIZE  a dense, map f32 [256] -> codes u8, scales f32; for each block of i[0] elements its largest magnitude,
 *                            and of each element the code of the map's number nearest to it by the scale. map ascends
 * MAP_DEQUANTIZE codes u8, scales f32, map f32 [256] -> out dense; map[code] * scale
 * NESTED_LINEAR a dense [.., k], codes of [n, k], scale codes u8, scales f32, map f32 [256], offset f32 [1], (bias [n])
 *                            -> out dense [.., n]; as QUANTIZED_LINEAR, the scale of a block b of codes being
 *                            map[scale code b] * scale of the block of i[1] that b is in, plus offset
 * DEQUANTIZE_SUMS sums i32 dense [.., n], row scales f32 [rows], column scales f32 [n] -> out dense;
 *                            sum * row scale * column scale / 127^2
 * INTEGER_MATMUL a, b int8 -> out i32; as MATMUL, without scalars; exact sums
 * SCALED_MATMUL a, b float8_e4m3fn, a scale f32 [1], b scale f32 [1], (bias [n]), (workspace) -> out; as MATMUL, a b
 *                            times both scales
 * -- optimizers (all dense, one parameter each; "updates" = read and written outs). found f32 [1] is optional and last
 *    among the ins: if it is there and not 0, nothing is changed
 * ADAM_MOMENTS  grad, (found) -> m, v updates; m += (1 - f[0]) (grad - m); v = f[1] v + (1 - f[1]) grad^2
 * ADAM_APPLY    m, denominator, (found) -> parameter updates; parameter -= f[0] * m / denominator
 * ADAM          grad, (found) -> parameter, m, v updates, all in registers. f[0] = learning rate, f[1] = beta1,
 *                            f[2] = beta2, f[3] = epsilon, f[4] = weight decay, i[0] = 1: decoupled (AdamW),
 *                            i[1] = step counted from 1. denominator = sqrt(v) / sqrt(1 - beta2^step) + epsilon
 * ADAM_8BIT     grad, signed map f32 [256], unsigned map f32 [256], (found)
 *                         -> parameter, m u8, v u8, scales of m f32, scales of v f32 updates; f and i as ADAM. m and v
 *                            are codes of the maps, each 256 of them share a scale, the largest magnitude of the block.
 *                            If grad is not finite the parameter stays and m and v become 0
 * SGD_MOMENTUM  grad, (found) -> parameter, buffer updates; buffer = f[1] * buffer + grad; parameter -= f[0] * buffer
 * SGD           grad, (found) -> parameter updates; parameter -= f[0] * grad
 * UNSCALE       (none)    -> gradient updates, found f32 [1] updates; gradient *= f[0]; found = 1 if any
 *                            is not finite
 */
#ifndef ASSAY_KERNELS_OPERATION_H
#define ASSAY_KERNELS_OPERATION_H

#include <stdint.h>

#include "harness/kernels/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row for each operation:
 * KERNEL(name, pattern, check, host, launch): an operation of the kernels beside this file.
 * PRODUCT(name, pattern, kind): one that a device leaves to a matrix library. Its plan (device/product_plan.h) checks
 * it.
 *
 * pattern: the tensors, inputs > outputs, one letter each: f floating, n floating or uint8, s float32, i int64,
 * w int32, b bool, u uint8, k int8, e float8_e4m3fn, q codes of quantised storage (int8, float8_e4m3fn, nf4x2), a any,
 * D that of the first tensor (the check sees to it). Capital letters: dense. In brackets: an input that may be left
 * out; a kernel has one at most.
 * check: says whether shapes and attributes fit, once the pattern does (call_check_*.c).
 * host: computes it on the host (host_*.c).
 * launch: launches it on a CUDA device (launch_*.cu); built with the plug-in only. */
#define OPERATION_TABLE(KERNEL, PRODUCT)                                                                               \
    KERNEL(FILL, ">a", any_shape_check, host_fill, launch_fill)                                                        \
    KERNEL(RANDOM_NORMAL, ">F", any_shape_check, host_random_normal, launch_create)                                    \
    KERNEL(RANDOM_INTEGER, ">I", random_integer_check, host_random_integer, launch_create)                             \
    KERNEL(SEQUENCE, ">I", any_shape_check, host_sequence, launch_create)                                              \
    KERNEL(CAUSAL_MASK, ">F", causal_mask_check, host_causal_mask, launch_create)                                      \
    KERNEL(DYNAMIC_MAP, ">S", dynamic_map_check, host_dynamic_map, launch_dynamic_map)                                 \
    KERNEL(ATTENTION_MASK, "(I)>B", attention_mask_check, host_attention_mask, launch_attention_mask)                  \
    KERNEL(POSITION_BUCKETS, ">I", position_buckets_check, host_position_buckets, launch_position_buckets)             \
    KERNEL(COPY, "a>a", copy_check, host_copy, launch_copy)                                                            \
    KERNEL(ADD, "ff>f", element_check, host_element, launch_element)                                                   \
    KERNEL(MULTIPLY, "fn>f", element_check, host_element, launch_element)                                              \
    KERNEL(DIVIDE, "ff>f", element_check, host_element, launch_element)                                                \
    KERNEL(COMPLEX_MULTIPLY, "ff>f", complex_multiply_check, host_complex_multiply, launch_complex_multiply)           \
    KERNEL(BOUND, "ff>f", element_check, host_element, launch_element)                                                 \
    KERNEL(WITHIN, "ff>f", element_check, host_element, launch_element)                                                \
    KERNEL(AFFINE, "f>f", element_check, host_element, launch_element)                                                 \
    KERNEL(ABSOLUTE, "f>f", element_check, host_element, launch_element)                                               \
    KERNEL(CLAMP, "f>f", element_check, host_element, launch_element)                                                  \
    KERNEL(POWER, "f>f", element_check, host_element, launch_element)                                                  \
    KERNEL(SQUARE_ROOT, "f>f", element_check, host_element, launch_element)                                            \
    KERNEL(RECIPROCAL_ROOT, "f>f", element_check, host_element, launch_element)                                        \
    KERNEL(TANH, "f>f", element_check, host_element, launch_element)                                                   \
    KERNEL(COSINE, "f>f", element_check, host_element, launch_element)                                                 \
    KERNEL(SINE, "f>f", element_check, host_element, launch_element)                                                   \
    KERNEL(GELU, "f>f", element_check, host_element, launch_element)                                                   \
    KERNEL(SILU, "f>f", element_check, host_element, launch_element)                                                   \
    KERNEL(RELU, "f>f", element_check, host_element, launch_element)                                                   \
    KERNEL(SIGMOID, "f>f", element_check, host_element, launch_element)                                                \
    KERNEL(TANH_BACKWARD, "ff>f", element_check, host_element, launch_element)                                         \
    KERNEL(RELU_BACKWARD, "ff>f", element_check, host_element, launch_element)                                         \
    KERNEL(GELU_BACKWARD, "ff>f", element_check, host_element, launch_element)                                         \
    KERNEL(SILU_BACKWARD, "ff>f", element_check, host_element, launch_element)                                         \
    KERNEL(SIGMOID_BACKWARD, "ff>f", element_check, host_element, launch_element)                                      \
    KERNEL(DROPOUT, "f>fb", dropout_check, host_dropout, launch_dropout)                                               \
    KERNEL(DROPOUT_BACKWARD, "fb>f", element_check, host_element, launch_element)                                      \
    KERNEL(SUM, "f(B)>f", sum_check, host_sum, launch_sum)                                                             \
    KERNEL(EXTREME, "F>F", extreme_check, host_extreme, launch_extreme)                                                \
    KERNEL(SOFTMAX, "F>F", rows_check, host_softmax, launch_rows)                                                      \
    KERNEL(LOG_SOFTMAX, "F>F", rows_check, host_log_softmax, launch_rows)                                              \
    KERNEL(SOFTMAX_BACKWARD, "FF>F", rows_check, host_softmax_backward, launch_rows)                                   \
    KERNEL(LOG_SOFTMAX_BACKWARD, "FF>F", rows_check, host_log_softmax_backward, launch_rows)                           \
    KERNEL(NLL_LOSS, "FI>FF", nll_loss_check, host_nll_loss, launch_nll_loss)                                          \
    KERNEL(NLL_LOSS_BACKWARD, "FIF>F", nll_loss_backward_check, host_nll_loss_backward, launch_nll_loss_backward)      \
    KERNEL(TARGET_MASK, "I>BII", target_mask_check, host_target_mask, launch_target_mask)                              \
    KERNEL(CROSS_ENTROPY, "II>FF", cross_entropy_check, host_cross_entropy, launch_cross_entropy)                      \
    KERNEL(LAYERNORM, "FFF>FSS", layernorm_check, host_layernorm, launch_layernorm)                                    \
    KERNEL(LAYERNORM_BACKWARD, "FFSSF>FFF", layernorm_backward_check, host_layernorm_backward,                         \
           launch_layernorm_backward)                                                                                  \
    KERNEL(LAYERNORM_BACKWARD_INPUT, "FFSSF>F", layernorm_backward_check, host_layernorm_backward_input,               \
           launch_layernorm_backward)                                                                                  \
    KERNEL(BATCHNORM, "FFFFF>FSS", batchnorm_check, host_batchnorm, launch_batchnorm)                                  \
    KERNEL(BATCHNORM_INFERENCE, "FFFFF>F", batchnorm_check, host_batchnorm, launch_batchnorm)                          \
    KERNEL(BATCHNORM_BACKWARD, "FFFSS>FFF", batchnorm_backward_check, host_batchnorm_backward,                         \
           launch_batchnorm_backward)                                                                                  \
    KERNEL(EMBEDDING, "FI>F", embedding_check, host_embedding, launch_embedding)                                       \
    KERNEL(EMBEDDING_BACKWARD, "FI>F", embedding_backward_check, host_embedding_backward, launch_embedding_backward)   \
    KERNEL(TOP_K, "F(B)>FI", top_k_check, host_top_k, launch_top_k)                                                    \
    KERNEL(ARGMAX, "F(B)>I", argmax_check, host_top_k, launch_top_k)                                                   \
    KERNEL(GATHER, "Ai>D", gather_check, host_gather, launch_gather)                                                   \
    KERNEL(TOKEN_POSITIONS, "I>I", element_check, host_token_positions, launch_token_positions)                        \
    KERNEL(QUOTIENT, "i>i", divide_check, host_divide, launch_divide)                                                  \
    KERNEL(REMAINDER, "i>i", divide_check, host_divide, launch_divide)                                                 \
    KERNEL(SCATTER, "FI>D", scatter_check, host_scatter, launch_scatter)                                               \
    KERNEL(GROUP_LIMIT, "F>B", group_limit_check, host_group_limit, launch_group_limit)                                \
    KERNEL(SORT_IDS, "I>II", sort_ids_check, host_sort_ids, launch_sort_ids)                                           \
    KERNEL(GROUP_ENDS, "I>WWW", group_ends_check, host_group_ends, launch_group_ends)                                  \
    KERNEL(PLACE_IDS, "II>I", element_check, host_place_ids, launch_place_ids)                                         \
    KERNEL(MAX_POOL, "F>FI", max_pool_check, host_max_pool, launch_max_pool)                                           \
    KERNEL(MAX_POOL_BACKWARD, "FI>F", max_pool_backward_check, host_max_pool_backward, launch_max_pool_backward)       \
    PRODUCT(CONVOLUTION, "FF(F)(B)>F", PRODUCT_CONVOLUTION)                                                            \
    PRODUCT(CONVOLUTION_BACKWARD_INPUT, "FF(B)>F", PRODUCT_CONVOLUTION)                                                \
    PRODUCT(CONVOLUTION_BACKWARD_WEIGHT, "FF(B)>F", PRODUCT_CONVOLUTION)                                               \
    KERNEL(GROUPED_CONVOLUTION, "fF(F)>f", grouped_convolution_check, host_grouped_convolution,                        \
           launch_grouped_convolution)                                                                                 \
    KERNEL(GROUPED_CONVOLUTION_BACKWARD_INPUT, "fF>f", grouped_convolution_check,                                      \
           host_grouped_convolution_backward_input, launch_grouped_convolution)                                        \
    KERNEL(GROUPED_CONVOLUTION_BACKWARD_WEIGHT, "ff>F", grouped_convolution_check,                                     \
           host_grouped_convolution_backward_weight, launch_grouped_convolution_backward_weight)                       \
    PRODUCT(MATMUL, "ff(f)(B)>f", PRODUCT_MATMUL)                                                                      \
    KERNEL(GROUPED_MATMUL, "ffW>F", grouped_matmul_check, host_grouped_matmul, launch_grouped_matmul)                  \
    KERNEL(ATTENTION, "fff(f)>fS", attention_check, host_attention, launch_attention)                                  \
    KERNEL(ATTENTION_IN_PARTS, "fffSS>fS", attention_check, host_attention, launch_attention)                          \
    KERNEL(ATTENTION_BACKWARD, "fffffS(f)>fff", attention_check, host_attention_backward, launch_attention_backward)   \
    KERNEL(ATTENTION_BIAS_GRADIENT, "fffffSf>f", attention_check, host_attention_bias_gradient,                        \
           launch_attention_bias_gradient)                                                                             \
    KERNEL(QUANTIZE, "F>QS", quantize_check, host_quantize, launch_quantize)                                           \
    KERNEL(DEQUANTIZE, "QS(I)>F", dequantize_check, host_dequantize, launch_dequantize)                                \
    KERNEL(PACK_BITS, "U>UU", pack_bits_check, host_pack_bits, launch_pack_bits)                                       \
    KERNEL(UNPACK_BITS, "U>U", unpack_bits_check, host_unpack_bits, launch_unpack_bits)                                \
    KERNEL(QUANTIZED_LINEAR, "FQS(F)>F", quantized_linear_check, host_quantized_linear, launch_quantized_linear)       \
    KERNEL(DEQUANTIZE_SUMS, "WSS>F", dequantize_sums_check, host_dequantize_sums, launch_dequantize_sums)              \
    PRODUCT(INTEGER_MATMUL, "kk>w", PRODUCT_MATMUL)                                                                    \
    PRODUCT(SCALED_MATMUL, "eeSS(f)(B)>f", PRODUCT_MATMUL)                                                             \
    KERNEL(ADAM_MOMENTS, "F(S)>FF", optimizer_check, host_adam_moments, launch_optimizer)                              \
    KERNEL(ADAM_APPLY, "FF(S)>F", optimizer_check, host_adam_apply, launch_optimizer)                                  \
    KERNEL(ADAM, "F(S)>FFF", optimizer_check, host_adam, launch_optimizer)                                             \
    KERNEL(ADAM_8BIT, "FSS(S)>FUUSS", adam_8bit_check, host_adam_8bit, launch_adam_8bit)                               \
    KERNEL(SGD_MOMENTUM, "F(S)>FF", optimizer_check, host_sgd_momentum, launch_optimizer)                              \
    KERNEL(SGD, "F(S)>F", optimizer_check, host_sgd, launch_optimizer)                                                 \
    KERNEL(UNSCALE, ">FS", unscale_check, host_unscale, launch_unscale)                                                \
    KERNEL(MAP_QUANTIZE, "FS>US", map_quantize_check, host_map_quantize, launch_map_quantize)                          \
    KERNEL(MAP_DEQUANTIZE, "USS>F", map_dequantize_check, host_map_dequantize, launch_map_dequantize)                  \
    KERNEL(NESTED_LINEAR, "FQUSSS(F)>F", nested_linear_check, host_quantized_linear, launch_quantized_linear)

enum opcode {
#define KERNEL_OPCODE(name, pattern, check, host, launch) OPCODE_##name,
#define PRODUCT_OPCODE(name, pattern, kind)               OPCODE_##name,
    OPERATION_TABLE(KERNEL_OPCODE, PRODUCT_OPCODE)
#undef KERNEL_OPCODE
#undef PRODUCT_OPCODE
        OPCODE_COUNT
};

enum { TENSOR_RANK_MAXIMUM = 5, OPERATION_TENSORS_MAXIMUM = 12, OPERATION_ATTRIBUTES = 6, WORKSPACE_UNIT_BYTES = 512 };

/* One tensor as an operation sees it. data points at its first element; sizes and strides count elements. */
struct tensor {
    void *data;
    enum dtype dtype;
    int rank; /* 0 to TENSOR_RANK_MAXIMUM; a scalar has rank 0 or one element */
    int64_t size[TENSOR_RANK_MAXIMUM];
    int64_t stride[TENSOR_RANK_MAXIMUM];
};

struct operation_attributes {
    double f[OPERATION_ATTRIBUTES];
    int64_t i[OPERATION_ATTRIBUTES];
};

struct operation_call {
    enum opcode opcode;
    int input_count;  /* tensors[0 .. input_count) are read */
    int tensor_count; /* tensors[input_count .. tensor_count) are written */
    struct tensor tensors[OPERATION_TENSORS_MAXIMUM];
    struct operation_attributes attributes;
};

/* What computes an operation: a kernel of this folder, or the products of the library that a device has opened. */
enum product_kind { PRODUCT_NONE, PRODUCT_MATMUL, PRODUCT_CONVOLUTION };

/* The table in words, "FILL >a\nRANDOM_NORMAL >F\n...": two builds whose lists differ do not understand each other. */
extern const char operation_list[];

const char *opcode_name(enum opcode opcode);    /* "LAYERNORM" */
const char *opcode_pattern(enum opcode opcode); /* "FFF>FSS" */
int opcode_input_count(enum opcode opcode);     /* required ones */
int opcode_output_count(enum opcode opcode);
enum product_kind opcode_product(enum opcode opcode); /* PRODUCT_NONE of what is no opcode, too */
int64_t tensor_element_count(const struct tensor *tensor);
bool tensor_is_dense(const struct tensor *tensor);

/* "MATMUL float32 [8, 128, 768] float32 [768, 3072] -> float32 [8, 128, 3072]": a call for messages. Cut if it is
 * too long. Returns text. */
enum { CALL_TEXT_BYTES = 320 };
const char *call_describe(const struct operation_call *call, char text[CALL_TEXT_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
