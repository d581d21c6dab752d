/* Building a tape: eager execution, written down instead of carried out.
 *
 * A model's forward pass calls the builders below as it would call PyTorch. Each call allocates what PyTorch allocates,
 * remembers what PyTorch saves for the backward pass, and appends the operation to the tape. tape_backward then walks
 * the recorded graph as autograd's engine does. Memory is given back when the last reference goes: a name in the
 * model's code, the graph, or a gradient that is on its way.
 *
 * Names. Every value that a builder returns belongs to the open frame and dies when that frame is closed, or earlier by
 * tape_drop: a frame is a Python function's local variables. A value passed in stays its caller's.
 *
 * Errors stick: after the first one every builder does nothing and returns NULL, NULL arguments are accepted, and
 * tape_finish reports it. So a forward pass needs no checks of its own. */
#ifndef ASSAY_TAPE_BUILD_H
#define ASSAY_TAPE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/tape/tape.h"
#include "harness/tape/target.h"

struct value; /* a tensor: a view of a storage, perhaps with a place in the graph */

/* The tape starts in STAGE_LOAD with gradients disabled, no autocast. target must outlive it. */
enum status_code tape_new(const struct target *target, struct tape **tape, struct status *error);

/* What a tape leaves out. All false: nothing. */
struct tape_form {
    bool repeats;  /* repetitions are told once (cycles, below) */
    bool bare;     /* storages and their lifetimes alone: no operation, no operand, no loss */
    bool unplaced; /* storages do not tell their modules */
};

/* How far cycles may go without building a turn, as far as that is known. Empty at first. A tape whose turns turn out
 * otherwise than was foreseen has failed with `broken`, and the bounds say where; building it again with them gets
 * further. */
enum { CYCLE_BOUNDS_MAXIMUM = 256 };

struct cycle_bounds {
    struct cycle_bound {
        int cycle;    /* the how manieth that was opened */
        int64_t turn; /* of the cycle, from which on */
        int64_t laps; /* may be passed over */
    } bounds[CYCLE_BOUNDS_MAXIMUM];
    int count;
    bool broken;
};

/* Before anything is built. bounds outlives the building; NULL only if repetitions are recorded. */
void tape_shape(struct tape *tape, struct tape_form form, struct cycle_bounds *bounds);

/* Ends the tape. What is still held stays: the replay gives it back. On failure the tape must still be released. */
enum status_code tape_finish(struct tape *tape, struct status *error);

bool tape_failed(const struct tape *tape);
/* Reports a condition that the caller found; keeps the first. */
__attribute__((format(printf, 3, 4))) void tape_fail(struct tape *tape, enum status_code code, const char *format, ...);

void tape_stage(struct tape *tape, enum stage stage);       /* nothing if the tape is in it already */
void tape_stage_again(struct tape *tape, enum stage stage); /* begins it anew */
void tape_token(struct tape *tape); /* a generation has one more token: noted if repetitions are told once */
void tape_gradients(struct tape *tape, bool enabled);
void tape_training(struct tape *tape, bool training); /* dropout and batch statistics act */
/* Whether products, and whether convolutions to come may round float32 factors to TF32. */
void tape_tf32(struct tape *tape, bool products, bool convolutions);
/* Whether the first convolution of each form tries cuDNN's engines: torch.backends.cudnn.benchmark. */
void tape_cudnn_benchmark(struct tape *tape, bool searches);
/* What a release of PyTorch does otherwise than 2.11: cublasLt's workspace is taken and given back by each linear layer
 * with a bias; cuDNN's attention is never chosen; flash attention counts a multiprocessor once where it divides columns
 * (flash_splits.h), or never divides them; the gradient of a lookup sums its parts, however few its rows are; a mean
 * keeps what it summed. */
struct torch_habits {
    bool linear_workspace_passes, cudnn_attention_last, flash_counts_once, flash_undivided, embedding_parts_summed,
        mean_keeps_input;
};
void tape_torch(struct tape *tape, struct torch_habits habits);
/* What a release of bitsandbytes does otherwise than 0.50, of 4-bit weights: a layer keeps its input for the backward
 * pass; weights are quantised in float16, and dequantised to it before they are cast; weights that are quantised twice
 * share one map of codes; only a single row is multiplied out of the codes, after scales have been dequantised. */
struct bitsandbytes_habits {
    bool inputs_kept, weights_halved, map_shared, rows_unfused;
};
void tape_bitsandbytes(struct tape *tape, struct bitsandbytes_habits habits);
bool tape_gradients_enabled(const struct tape *tape);
/* Whether it is for a GPU, on which libraries choose otherwise than for a host. */
bool tape_targets_gpu(const struct tape *tape);

/* Autocast as torch.autocast("cuda"): products in dtype, norms and losses in float32; casts of parameters are kept
 * until it is closed. */
void tape_autocast_open(struct tape *tape, enum dtype dtype);
void tape_autocast_close(struct tape *tape);
/* Whether casts of parameters are kept until it closes, as they are unless this says no (torch's cache_enabled). */
void tape_autocast_cache(struct tape *tape, bool enabled);

/* -- repetitions (cycle.c). A loop whose turns do the same, with sizes that are the same or grow evenly, is told once.
 *
 *     struct tape_cycle cycle = tape_cycle_open(tape, 1);
 *     for (step = 0; step < count; step++) {
 *         ... build the turn ...
 *         passed = tape_cycle_turn(&cycle, count - step - 1);
 *         step += passed, and whatever else counts turns
 *     }
 *
 * Turns are compared in laps: as many as it takes until sizes that are rounded up are in step again, or the loop's own
 * period. If three laps do the same and their sizes grow evenly, the last one is repeated, the values that it left
 * alive become those that the last repetition leaves, and the lap after it is built and held against what was foreseen
 * (struct cycle_bounds). Only values know sizes: what the loop has noted of lengths elsewhere it must bring up to date
 * itself. */
struct tape_cycle {
    struct tape *tape;
    int number;
    int64_t period;   /* the loop's own, in turns */
    int64_t turn;     /* so many have been taken or passed over */
    int64_t lap;      /* turns of a lap */
    int64_t lap_turn; /* of it, so many have been taken */
    int lap_count;    /* laps whose marks are there */
    struct tape_marks {
        int event, storage, op, operand;
    } marks[4];            /* where the last laps began; marks[lap_count]: where the last one ended */
    int64_t foreseen_laps; /* the lap that runs is so many behind that of marks[0]; 0: nothing is foreseen of it */
    int64_t foreseen_turn; /* where the laps passed over began */
};

struct tape_cycle tape_cycle_open(struct tape *tape, int64_t period);
/* A turn was taken. left: how many are to come that are like it, as far as the caller knows. Returns how many of them
 * are passed over. */
int64_t tape_cycle_turn(struct tape_cycle *cycle, int64_t left);

/* -- modules; nothing if the tape does not tell them. What is taken from here on is taken by the module with this
 * path (copied). Returns the one before, to be given to tape_module_close. A backward function takes for the module
 * that its operation was in. */
const char *tape_module_open(struct tape *tape, const char *path);
void tape_module_close(struct tape *tape, const char *before);

/* -- places (place.c): where storages lie, if there is more than one memory. Without these calls everything lies in
 * place 0; the first tape_place comes before the first operation.
 * What an operation takes lies where the things lie that it reads; reading from two places is an error, as in PyTorch.
 * What is made of nothing, and the workspace of a product, lie in the tape's own place. */
int tape_place(struct tape *tape, int place); /* the tape's own place from here on; returns the one before */
int tape_place_now(const struct tape *tape);
int value_place(const struct tape *tape, const struct value *value); /* -1 for NULL */
/* value.to(place): value itself if it lies there, else a dense copy in the open frame, without a graph. A value that is
 * not dense is made so first. */
struct value *tape_move(struct tape *tape, struct value *value, int place);
void tape_trim(struct tape *tape, int place); /* torch.cuda.empty_cache() in this place */

/* -- names */
int tape_frame_open(struct tape *tape);
/* Drops the frame's values; result (may be NULL) moves to the frame outside and is returned. */
struct value *tape_frame_close(struct tape *tape, int frame, struct value *result);
/* The same, and also (may be NULL) moves too: what a function returns beside its result. */
struct value *tape_frame_close_with(struct tape *tape, int frame, struct value *result, struct value *also);
/* The same of count results, any of which may be NULL. */
void tape_frame_close_all(struct tape *tape, int frame, struct value *const *results, int count);
void tape_drop(struct tape *tape, struct value *value);

/* -- what a value is */
enum dtype value_dtype(const struct value *value);
int64_t value_size(const struct value *value, int dimension); /* negative dimensions count from the end */

/* -- creation. label: for people; borrowed, must outlive the tape */
struct value *tape_leaf(struct tape *tape, enum category category, enum dtype dtype, int rank, const int64_t *size,
                        bool requires_grad, const char *label);
void tape_init_normal(struct tape *tape, struct value *value, double mean, double deviation);
void tape_fill(struct tape *tape, struct value *value, double number);
void tape_init_integers(struct tape *tape, struct value *value, int64_t bound); /* uniform in [0, bound) */
void tape_sequence(struct tape *tape, struct value *value, int64_t first);      /* each row counts from first */
void tape_sequence_by(struct tape *tape, struct value *value, int64_t first, int64_t step);
/* [1, 1, rows, columns]: 0 if the row may look at the column, else the lowest finite number. */
struct value *tape_causal_mask(struct tape *tape, enum dtype dtype, int64_t batch, int64_t rows, int64_t columns);
/* The same if the first row is position `first` of the columns. */
struct value *tape_causal_mask_at(struct tape *tape, enum dtype dtype, int64_t batch, int64_t rows, int64_t columns,
                                  int64_t first);

/* Bool [B, 1, S, S]: true if seen (i64 [B, S]) is not 0 and, with causal, not after the row. */
struct value *tape_attention_mask(struct tape *tape, struct value *seen, bool causal);

/* i64 [rows, columns]: in which bucket the distance of a column from row first + r is, of count buckets for distances
 * up to farthest; both: in both directions, else later columns are at distance 0. */
struct bucket_span {
    int64_t rows, columns, first, count, farthest;
    bool both;
};
struct value *tape_position_buckets(struct tape *tape, const struct bucket_span *span);

/* Bool [batch, 1, rows, columns]: row r is position first + r of the columns and sees itself and window - 1 before it,
 * of those only if seen (i64 [batch, columns], NULL: everywhere) is not 0. */
struct mask_span {
    int64_t batch, rows, columns, first, window;
};
struct value *tape_window_mask(struct tape *tape, struct value *seen, const struct mask_span *span);
/* A bool tensor [1, 1, rows, columns]: row r sees column r and window - 1 before it. */
void tape_fill_window(struct tape *tape, struct value *value, int64_t window);

/* -- element-wise; operands are broadcast and promoted as in PyTorch */
struct value *tape_add(struct tape *tape, struct value *a, struct value *b);
struct value *tape_add_(struct tape *tape, struct value *a, struct value *b); /* in place: a += b, broadcast */
struct value *tape_subtract(struct tape *tape, struct value *a, struct value *b);
struct value *tape_multiply(struct tape *tape, struct value *a, struct value *b);
/* a * integers in the dtype of a, which they are converted to as they are read; without gradients. */
struct value *tape_multiply_integers(struct tape *tape, struct value *a, struct value *integers);
struct value *tape_scale(struct tape *tape, struct value *a, double factor);
struct value *tape_scale_(struct tape *tape, struct value *a, double factor); /* in place */
struct value *tape_add_number(struct tape *tape, struct value *a, double number);
struct value *tape_power(struct tape *tape, struct value *a, double exponent);
struct value *tape_reciprocal_root(struct tape *tape, struct value *a);
struct value *tape_tanh(struct tape *tape, struct value *a);
struct value *tape_cosine(struct tape *tape, struct value *a, double factor);
struct value *tape_sine(struct tape *tape, struct value *a, double factor);
/* table [B, 1, S, k n] = cos, or sin, of positions i64 [B or 1, S] times frequencies float32 [n], k times. Written in
 * place: nothing is taken, and so angles are rounded to the dtype of table. */
void tape_angles_into(struct tape *tape, struct value *positions, struct value *frequencies, bool sine,
                      struct value *table);
struct value *tape_gelu(struct tape *tape, struct value *a, bool tanh_form);
struct value *tape_gelu_function(struct tape *tape, struct value *a); /* BLOOM's own: it keeps its input alone */
struct value *tape_silu(struct tape *tape, struct value *a);
struct value *tape_relu(struct tape *tape, struct value *a);
struct value *tape_sigmoid(struct tape *tape, struct value *a);
struct value *tape_divide_(struct tape *tape, struct value *a, struct value *b); /* in place: a /= b */
struct value *tape_relu_(struct tape *tape, struct value *a);
struct value *tape_dropout(struct tape *tape, struct value *a, double probability); /* a itself if it does not act */
struct value *tape_cast(struct tape *tape, struct value *a, enum dtype dtype);      /* a itself if it has the dtype */
/* T5's clamp: infinite elements become 1000 less than the largest number of the dtype, and with them what is beyond
 * that. */
struct value *tape_clamp_infinite(struct tape *tape, struct value *a);
/* torch.where: a where condition (bool, of the same rank) is true, else the lowest finite number of the dtype of a. */
struct value *tape_where_lowest(struct tape *tape, struct value *condition, struct value *a);
/* The same where that number is a tensor on the device, which the caller has taken. */
struct value *tape_where_beside_lowest(struct tape *tape, struct value *condition, struct value *a);

/* Bytes that a kernel takes for itself on a GPU, of the open frame; NULL for a host, whose kernels take none. */
struct value *tape_scratch(struct tape *tape, int64_t bytes, const char *label);
/* What cumsum takes on a GPU while it runs along count int64 that are one row (scan_scratch.h); rows side by side take
 * nothing. */
void tape_scan_pass(struct tape *tape, int64_t count);

/* -- views: no memory */
struct value *tape_transpose(struct tape *tape, struct value *a, int dimension, int other);
struct value *tape_slice(struct tape *tape, struct value *a, int dimension, int64_t first, int64_t count);
struct value *tape_alias(struct tape *tape,
                         struct value *a); /* all of a: what Python's indexing makes of a whole slice */
struct value *tape_select(struct tape *tape, struct value *a, int dimension, int64_t index); /* drops the dimension */
/* a at one place of a dimension, which stays as size 1: a[:, [index]], a copy. The list is a tensor on the device,
 * which the graph keeps. */
struct value *tape_index(struct tape *tape, struct value *a, int dimension, int64_t index);
struct value *tape_expand(struct tape *tape, struct value *a, int rank, const int64_t *size);
void tape_split(struct tape *tape, struct value *a, int dimension, int count, struct value **parts);
/* The parts without the dimension, which has count of them. Their gradients are stacked. */
void tape_unbind(struct tape *tape, struct value *a, int dimension, int count, struct value **parts);
struct value *tape_contiguous(struct tape *tape, struct value *a); /* a itself if it is dense, else a copy */
/* A view if the strides allow it, else a copy. */
struct value *tape_reshape(struct tape *tape, struct value *a, int rank, const int64_t *size);
struct value *tape_concatenate(struct tape *tape, struct value *a, struct value *b, int dimension);
/* torch.cat of a tensor without elements, whose dtype is the result's, and a. label: as of tape_leaf. */
struct value *tape_concatenate_alone(struct tape *tape, enum category category, enum dtype dtype, struct value *a,
                                     int dimension, const char *label);

/* -- parts (op_piece.c) */
/* [0, first) and the rest of a dimension: torch.split with two sizes. */
void tape_split_at(struct tape *tape, struct value *a, int dimension, int64_t first, struct value *parts[2]);
/* The same with two or three sizes, which are all of the dimension. */
void tape_split_sizes(struct tape *tape, struct value *a, int dimension, int count, const int64_t *sizes,
                      struct value **parts);
struct value *tape_interleave(struct tape *tape, struct value *a, struct value *b); /* stack((a, b), -1).flatten(-2) */
struct value *tape_every(struct tape *tape, struct value *a, int64_t first, int64_t step); /* a[..., first::step] */
/* [.., n] and [.., m] -> [.., n + m] in the dtype of a: made empty, then both are copied into it. */
struct value *tape_write_beside(struct tape *tape, struct value *a, struct value *b);

/* -- complex numbers: float32 [.., 2] */
struct value *tape_polar(struct tape *tape, struct value *angles); /* e^(i angle), [..] -> [.., 2]; no graph */
struct value *tape_complex_multiply(struct tape *tape, struct value *a, struct value *b); /* b is a constant */

/* -- reductions and norms */
struct value *tape_mean_last(struct tape *tape, struct value *a);    /* keeps the dimension, as size 1 */
struct value *tape_mean_spatial(struct tape *tape, struct value *a); /* NCHW -> [N, C, 1, 1] */
struct value *tape_sum(struct tape *tape, struct value *a, int dimension, bool keeps); /* keeps: it stays, as size 1 */
struct value *tape_softmax(struct tape *tape, struct value *a, bool in_float32);
struct value *tape_layernorm(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                             double epsilon);
/* In evaluation mean and deviation are made where PyTorch makes them (batchnorm_choice.h). */
struct value *tape_batchnorm(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                             struct value *running_mean, struct value *running_variance, double epsilon,
                             double momentum);

/* -- lookups and products */
struct value *tape_embedding(struct tape *tape, struct value *weight, struct value *ids, int64_t padding_id);
struct value *tape_linear(struct tape *tape, struct value *a, struct value *weight,
                          struct value *bias); /* weight [out, in] */
struct value *tape_linear_t(struct tape *tape, struct value *a, struct value *weight,
                            struct value *bias); /* [in, out] */
/* Rank 4 each; batch dimensions of size 1 are expanded to the other's, as a copy if they cannot be joined. */
struct value *tape_matmul(struct tape *tape, struct value *a, struct value *b);
/* factor * a b + bias, without a place for the scaled product: torch.baddbmm. bias [N, 1 or m, n] is a constant, a
 * [N, m, k], b [N, k, n]. */
struct value *tape_biased_product(struct tape *tape, struct value *bias, struct value *a, struct value *b,
                                  double factor);
struct value *tape_convolution(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                               int64_t stride, int64_t padding);
/* The same if filters see a group of the channels, or the image's channels lie last in memory, as those of the
 * result then do. */
struct value *tape_convolution_grouped(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                                       int64_t stride, int64_t padding, int64_t groups);
struct value *tape_max_pool(struct tape *tape, struct value *a, int64_t kernel, int64_t stride, int64_t padding);

/* -- attention. What it keeps and takes is that of the kernel that PyTorch would choose on the target
 * (attention_choice.h), or of our own, which needs least. */
struct attention_settings {
    double scale;
    double dropout;   /* acts in training only */
    bool causal;      /* not together with a mask */
    bool native;      /* our own kernel, whatever the target */
    bool heads_first; /* q was made head by head, as by a concatenation: cuDNN's and flash's output is stored alike */
    bool broadcast;   /* PyTorch is not told that fewer key heads are groups (enable_gqa), and so takes its math form */
    /* [B or 1, 1 or a, S or 1, T], bool (true: may look) or numbers to be added; NULL: none. A bool mask is converted
     * by every call and kept for the backward pass, as in PyTorch. Numbers may want a gradient. */
    struct value *mask;
};

/* q [B, a, S, D], k [B, g, T, D], v [B, g, T, E] -> [B, a, S, E], stored as [B, S, a, E] by all kernels but math, as
 * long as heads_first does not say otherwise. */
struct value *tape_attention(struct tape *tape, struct value *q, struct value *k, struct value *v,
                             const struct attention_settings *settings);
/* A bool mask as numbers to be added, in that dtype: 0 if it is true, else the lowest finite number. */
struct value *tape_mask_numbers(struct tape *tape, struct value *mask, enum dtype dtype);
/* [B, g, S, D] -> [B, heads, S, D], each repeated heads / g times: a copy if g < heads, else a itself. */
struct value *tape_repeat_heads(struct tape *tape, struct value *a, int64_t heads);

/* -- groups: rows of a mixture of experts, sorted by expert (op_grouped.c) */
/* a [n] or [n, h] at ids, i64 [m] -> [m] or [m, h]: a[ids]. */
struct value *tape_rows(struct tape *tape, struct value *a, struct value *ids);
/* Of blocks, a[arange(m), ids]. */
struct value *tape_rows_beside(struct tape *tape, struct value *a, struct value *ids);
/* i64 [m], each in [0, bound) -> the same, rising, and where each was. */
struct value *tape_sort_ids(struct tape *tape, struct value *ids, int64_t bound, struct value **places);
/* Sorted ids -> i32 [groups]: how many are of each group or of one before it. Its temporaries belong to the open
 * frame. */
struct value *tape_group_ends(struct tape *tape, struct value *ids, int64_t groups);
/* places i64 [m], each of 0 to m - 1 once -> where each number stands. */
struct value *tape_inverse_places(struct tape *tape, struct value *places);
/* a [m, in], weight [groups, out, in], ends as tape_group_ends makes them -> [m, out]: the rows of each group times the
 * transposed matrix of theirs. In the dtype of weight. */
struct value *tape_grouped_linear(struct tape *tape, struct value *a, struct value *weight, struct value *ends);

/* -- selection. A graph have the values of tape_top_k, tape_pick and tape_masked_fill */
struct value *tape_argmax(struct tape *tape, struct value *a); /* [.., n] -> i64 [..] */
/* a if hidden (bool, of its shape) is false, else number. */
struct value *tape_masked_fill(struct tape *tape, struct value *a, struct value *hidden, double number);
/* scores [n, groups * m] -> bool: true outside of the `active` groups of columns that score highest, by the sum of
 * their `best` largest elements, 1 or 2. */
struct value *tape_group_limit(struct tape *tape, struct value *scores, int64_t groups, int64_t active, int64_t best);
/* a [n, m] at ids, i64 [n, k], which differ in a row: torch.gather along the last dimension. */
struct value *tape_pick(struct tape *tape, struct value *a, struct value *ids);
/* [.., n] -> the count largest, falling, and where they were (i64). */
struct value *tape_top_k(struct tape *tape, struct value *a, int64_t count, struct value **indices);
struct value *tape_log_softmax(struct tape *tape, struct value *a);       /* over the last dimension; a dense */
void tape_add_number_(struct tape *tape, struct value *a, double number); /* in place */
/* place [G, N, C] = a [G, R, C] at ids, i64 [G, N, C] or [G, N, 1]: torch.gather along the second dimension. */
void tape_gather_into(struct tape *tape, struct value *a, struct value *ids, struct value *place);
/* ids i64 [.., T], dense: if an id is not excluded, the number of such in its row up to it, plus shift; else
 * otherwise. */
struct value *tape_token_positions(struct tape *tape, struct value *ids, int64_t excluded, int64_t shift,
                                   int64_t otherwise);
struct value *tape_quotient(struct tape *tape, struct value *a, int64_t divisor); /* of i64, rounded down */
struct value *tape_remainder(struct tape *tape, struct value *a, int64_t divisor);

/* -- loss: logits [N, C], targets i64 [N]; the mean; rows with target -100 do not count */
struct value *tape_cross_entropy(struct tape *tape, struct value *logits, struct value *targets);
/* The same number (0 if no row counts), but the logits become its gradient at once: they are not to be read by
 * anything after, nor kept by what made them. */
struct value *tape_cross_entropy_fused(struct tape *tape, struct value *logits, struct value *targets);

/* The same with a share of each loss spread over all classes: torch's cross_entropy(label_smoothing=share), and
 * LabelSmoother of transformers' Trainer (op_label_smoothing.c). count: of the targets that count.
 * drops_targets: LabelSmoother's own name for them, which lasts until they are clamped. */
struct smoothing {
    double share;
    int64_t count;
    bool drops_targets;
};
struct value *tape_cross_entropy_smoothed(struct tape *tape, struct value *logits, struct value *targets,
                                          const struct smoothing *smoothing);
struct value *tape_label_smoother(struct tape *tape, struct value *logits, struct value *targets,
                                  const struct smoothing *smoothing);

/* -- recomputation of blocks (checkpointing, as PyTorch calls it): the block's graph is recorded, but of what it would
 * save only the places are kept, and the input. When the first gradient reaches it, the block runs once more, as far as
 * its last saved value, and fills the places (torch.utils.checkpoint with use_reentrant=False). context is copied
 * (context_bytes <= 256); held: values that the block reads besides its input, kept as long as it is needed (at most 5;
 * NULLs are skipped). */
typedef struct value *tape_block(struct tape *tape, const void *context, struct value *input);
/* Whether a block runs for the second time. What it hands on besides its result, it has then handed on already. */
bool tape_recomputes(const struct tape *tape);
/* A held value that PyTorch saves with each block, because the real layer takes it by position: it counts as saved. */
void tape_recomputation_argument(struct tape *tape, struct value *value);
struct value *tape_recompute_block(struct tape *tape, tape_block *block, const void *context, int context_bytes,
                                   struct value *const *held, int held_count, struct value *input);

/* -- backward: gradients of every leaf that requires one, summed into what a leaf has already. Also notes
 * saved_for_backward_bytes. The loss stays the caller's. */
void tape_backward(struct tape *tape, struct value *loss);
/* The losses of all backward passes so far have lost their names, and with them their graphs go: what functions keep as
 * attributes of their own (those of bitsandbytes) lives until here. */
void tape_graphs_end(struct tape *tape);
/* value.requires_grad_() of a result without a graph: it becomes a leaf and is held, with the gradient that it is
 * given, until tape_leaf_end. Nothing happens if it has a graph. NULL is accepted by both. */
void tape_leaf_begin(struct tape *tape, struct value *value);
void tape_leaf_end(struct tape *tape, struct value *value);
/* Called whenever a leaf has been given a gradient, in the middle of a backward pass: as
 * Tensor.register_post_accumulate_grad_hook. hook NULL: none any more. */
typedef void tape_gradient_hook(void *context, struct tape *tape, struct value *leaf);
void tape_gradient_hook_set(struct tape *tape, tape_gradient_hook *hook, void *context);
struct value *tape_gradient(struct value *leaf); /* NULL: none */
void tape_gradient_drop(struct tape *tape, struct value *leaf);

/* -- optimizer steps (optimizer.c) */
enum optimizer_form {
    OPTIMIZER_FORM_FOREACH,
    OPTIMIZER_FORM_FUSED,
    OPTIMIZER_FORM_SINGLE,
    OPTIMIZER_FORM_8BIT,  /* this and the next: bitsandbytes' */
    OPTIMIZER_FORM_32BIT, /* moments in float32, whatever the parameter is */
    OPTIMIZER_FORM_ADAFACTOR_TORCH,
    OPTIMIZER_FORM_ADAFACTOR_TRANSFORMERS
};

struct optimizer_settings {
    bool sgd;       /* SGD, foreach, without state if momentum is 0; else Adam */
    bool decoupled; /* AdamW: weight_decay shrinks the parameter */
    bool paged;     /* bitsandbytes': large moments lie in managed memory (tape.h) */
    enum optimizer_form form;
    double learning_rate, beta1, beta2, epsilon, weight_decay, momentum;
};

/* One parameter's state, made at the first step that sees a gradient. Zero at the start. */
struct optimizer_state {
    bool stays_float32; /* set before the first step: the 8-bit form keeps float32 moments of this one */
    bool is_managed;    /* first and second lie in managed memory, and are no values */
    /* exp_avg and exp_avg_sq; SGD: the momentum buffer and nothing; Adafactor: of rows and columns, or of all elements
     * and nothing */
    struct value *first, *second;
    struct value *first_scales, *second_scales; /* 8-bit form, if first and second are codes: of each 256 of them */
    struct value *step; /* fused form: a float32 scalar on the device; transformers' Adafactor: RMS */
};

/* One step over count parameters with their gradients. number counts from 1. found: a float32 scalar that is not 0
 * if the step must not happen (gradient scaler), or NULL. */
void tape_optimizer_step(struct tape *tape, const struct optimizer_settings *settings, int64_t number, int count,
                         struct value *const *parameters, struct optimizer_state *states, struct value *found);

/* -- gradient scaler (grad_scaler.c): torch.amp.GradScaler, or the lean one */
struct loss_scaler {
    bool is_torchs;
    struct value *scale, *growth_tracker; /* NULL until the first loss is scaled; the lean one has no tracker */
    struct value *found;                  /* a float32 scalar: 1 if a gradient is not finite. torch's: from
                                           * tape_scaler_unscale to tape_scaler_update */
};

/* Before the first step: the lean one's scalars. torch's are made by the first tape_scaler_scale. */
void tape_scaler_begin(struct tape *tape, struct loss_scaler *scaler);
/* scaler.scale(loss) */
struct value *tape_scaler_scale(struct tape *tape, struct loss_scaler *scaler, struct value *loss);
/* scaler.unscale_(optimizer) over the gradients of count parameters, or, where the optimizer unscales by itself, the
 * search for what is not finite. Then scaler->found is there. */
void tape_scaler_unscale(struct tape *tape, struct loss_scaler *scaler, int count, struct value *const *parameters,
                         bool optimizer_unscales);
/* What torch's scaler.step() gives to an optimizer that unscales by itself, for one step. */
struct scaler_loan {
    struct value *found, *scale;
};
struct scaler_loan tape_scaler_lend(struct tape *tape, const struct loss_scaler *scaler, bool is_unscaled);
void tape_scaler_take_back(struct tape *tape, struct scaler_loan loan);
/* scaler.update() */
void tape_scaler_update(struct tape *tape, struct loss_scaler *scaler);

/* torch.nn.utils.clip_grad_norm_ over the gradients of these parameters (clip.c). */
void tape_clip_gradients(struct tape *tape, int count, struct value *const *parameters, double max_norm, bool foreach);

/* -- averages of weights (weight_average.c); a frame is open */
/* A copy of value that is held, the optimizer's. */
struct value *tape_average_new(struct tape *tape, struct value *value);
/* average = average * decay + value * (1 - decay), where it is: floating tensors. */
void tape_average_lerp(struct tape *tape, struct value *average, struct value *value, double decay);
/* The same by way of both products and their sum. Of an integer, value itself. */
void tape_average_add(struct tape *tape, struct value *average, struct value *value, double decay);
/* The same of a list of bfloat16, in chunks that are rounded by chance; the numbers are those without chance. */
void tape_average_round(struct tape *tape, int count, struct value *const *averages, struct value *const *values,
                        double decay);

/* Copies a into place, which has its shape, without a graph. */
void tape_copy_into(struct tape *tape, struct value *a, struct value *place);
/* A copy in the same dtype. */
struct value *tape_clone(struct tape *tape, struct value *a);
/* Keeps value for the whole tape, whatever frames are closed. */
struct value *tape_hold(struct tape *tape, struct value *value);
/* Ends a tape_hold. */
void tape_let_go(struct tape *tape, struct value *value);

#endif
