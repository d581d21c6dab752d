/* What the families' forward passes share: layers, attention, blocks.
 * Not here: the order of layers, which is the family's, and how a parameter is found (forward_tensor.c). */
#include "models/forward/forward.h"

#include <stdio.h>

#include "harness/case/share.h"
#include "harness/tape/packed.h"
#include "models/forward/module_visit.h"
#include "models/forward/parameter_recast.h"
#include "models/forward/relative_bias.h"

/* Linear4bit computes in the dtype in which it was quantised, whatever it is given, and answers in that of its
 * input. */
static struct value *linear_of_quantized(const struct forward *forward, const char *prefix, struct value *a,
                                         const struct quantized *weight)
{
    struct tape *tape = forward->tape;
    char path[FORWARD_PATH_BYTES];
    path_join(path, prefix, "bias");
    int frame = tape_frame_open(tape);
    if (weight->form == QUANTIZED_PACKED) {
        struct value *own = weight->bias != NULL ? weight->bias : path_value(forward, path);
        return tape_frame_close(tape, frame, tape_linear_packed(tape, a, weight, own));
    }
    struct value *input = weight->form == QUANTIZED_NF4 ? tape_cast(tape, a, DTYPE_BFLOAT16) : a;
    struct value *bias = input != NULL && workload_is_bitsandbytes(forward->workload)
                             ? bias_recast(forward, path, value_dtype(input))
                             : path_value(forward, path);
    struct value *result = tape_linear_quantized(tape, input, weight, bias);
    if (result != NULL) {
        value_rebind(tape, &result, tape_cast(tape, result, value_dtype(a)));
    }
    return tape_frame_close(tape, frame, result);
}

/* How a layer's weight lies and is used. APART: a @ weight.T, and then the sum with the bias. */
enum linear_form { LINEAR_OUT_IN, LINEAR_IN_OUT, LINEAR_APART };

/* weight.T is no leaf: autocast casts it for each call. */
static struct value *linear_apart(const struct forward *forward, struct value *a, struct value *weight,
                                  struct value *bias)
{
    struct tape *tape = forward->tape;
    struct value *view = tape_transpose(tape, tape_transpose(tape, weight, 0, 1), 0, 1);
    struct value *product = tape_linear(tape, a, view, NULL);
    tape_drop(tape, view);
    return bias != NULL ? tape_add(tape, product, bias) : product;
}

/* What is dequantised for a call goes with its frame. */
static struct value *linear_of_values(const struct forward *forward, struct module_visit visit, const char *prefix,
                                      struct value *a, enum linear_form form)
{
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    struct value *weight = part_value(forward, prefix, "weight");
    struct value *bias = part_optional(forward, prefix, "bias");
    a = module_argument(forward, visit, a);
    struct value *result = form == LINEAR_APART    ? linear_apart(forward, a, weight, bias)
                           : form == LINEAR_IN_OUT ? tape_linear_t(tape, a, weight, bias)
                                                   : tape_linear(tape, a, weight, bias);
    return tape_frame_close(tape, frame, result);
}

/* peft's lora layer around a frozen one that made result of a (weight: NULL if it is not quantised): result +
 * B(A(dropout(a))) * scaling, the adapter in its own dtype. The scaling is lora_alpha / rank, with LoraConfig's alpha
 * of 8. lora.Linear adds in the wider dtype and rounds the sum; its forms for bitsandbytes round the update and
 * add in the dtype of result, that of 4 bits to a copy; under autocast they leave dtypes to it. */
static struct value *linear_adapted(const struct forward *forward, const char *prefix, const struct quantized *weight,
                                    struct value *a, struct value *result)
{
    enum { LORA_ALPHA = 8 };
    struct tape *tape = forward->tape;
    int64_t rank = forward->workload->lora_rank;
    struct value *first = rank > 0 ? forward_optional(forward, LORA_PATH ".weight", prefix, "A") : NULL;
    if (first == NULL || result == NULL) {
        return result;
    }
    int frame = tape_frame_open(tape);
    enum dtype dtype = value_dtype(result);
    bool bitsandbytes = weight != NULL && weight->form != QUANTIZED_FLOAT8;
    bool converts = !bitsandbytes || !workload_is_autocast(forward->workload);
    if (weight != NULL && weight->form == QUANTIZED_NF4) {
        value_rebind(tape, &result, tape_clone(tape, result));
    }
    struct value *input = converts ? tape_cast(tape, a, value_dtype(first)) : a;
    struct value *kept = tape_dropout(tape, input, share_of(forward->workload->lora_dropout));
    struct value *update = tape_linear(tape, kept, first, NULL);
    if (kept != input) {
        tape_drop(tape, kept);
    }
    value_rebind(tape, &update,
                 tape_linear(tape, update, forward_tensor(forward, LORA_PATH ".weight", prefix, "B"), NULL));
    value_rebind(tape, &update, tape_scale(tape, update, (double)LORA_ALPHA / (double)rank));
    if (bitsandbytes && converts) {
        value_rebind(tape, &update, tape_cast(tape, update, dtype));
    }
    value_rebind(tape, &result, tape_add(tape, result, update));
    tape_drop(tape, update);
    if (converts) {
        value_rebind(tape, &result, tape_cast(tape, result, dtype));
    }
    return tape_frame_close(tape, frame, result);
}

static struct value *linear_of(const struct forward *forward, const char *prefix, struct value *a,
                               enum linear_form form)
{
    char path[FORWARD_PATH_BYTES];
    const char *outside = tape_module_open(forward->tape, prefix);
    struct module_visit visit = module_enter(forward, prefix);
    path_join(path, prefix, "weight");
    const struct quantized *weight = path_quantized(forward, path);
    struct value *result = weight != NULL ? linear_of_quantized(forward, prefix, a, weight)
                                          : linear_of_values(forward, visit, prefix, a, form);
    result = module_leave(forward, visit, linear_adapted(forward, prefix, weight, a, result));
    tape_module_close(forward->tape, outside);
    return result;
}

struct value *forward_linear(const struct forward *forward, const char *prefix, struct value *a)
{
    return linear_of(forward, prefix, a, LINEAR_OUT_IN);
}

struct value *forward_linear_t(const struct forward *forward, const char *prefix, struct value *a)
{
    return linear_of(forward, prefix, a, LINEAR_IN_OUT);
}

struct value *forward_linear_apart(const struct forward *forward, const char *prefix, struct value *a)
{
    return linear_of(forward, prefix, a, LINEAR_APART);
}

struct value *forward_layernorm(const struct forward *forward, const char *prefix, struct value *a)
{
    int frame = tape_frame_open(forward->tape);
    const char *outside = tape_module_open(forward->tape, prefix);
    struct module_visit visit = module_enter(forward, prefix);
    struct value *weight = part_value(forward, prefix, "weight");
    struct value *bias = part_value(forward, prefix, "bias");
    a = module_argument(forward, visit, a);
    struct value *result = tape_layernorm(forward->tape, a, weight, bias, forward->config->norm_epsilon);
    result = module_leave(forward, visit, result);
    tape_module_close(forward->tape, outside);
    return tape_frame_close(forward->tape, frame, result);
}

/* scales: the module multiplies what it has looked up by its "embed_scale", if it has that. */
static struct value *rows_look_up(const struct forward *forward, const char *prefix, struct value *ids,
                                  int64_t padding_id, bool scales)
{
    struct tape *tape = forward->tape;
    char path[FORWARD_PATH_BYTES];
    path_join(path, prefix, "weight");
    const struct quantized *table = path_quantized(forward, path);
    const char *outside = tape_module_open(tape, prefix);
    struct module_visit visit = module_enter(forward, prefix);
    struct value *weight = table == NULL ? part_value(forward, prefix, "weight") : NULL;
    struct value *scale = scales ? part_optional(forward, prefix, "embed_scale") : NULL;
    ids = module_argument(forward, visit, ids);
    int frame = tape_frame_open(tape);
    struct value *rows = table != NULL ? tape_embedding_quantized(tape, table, ids, DTYPE_BFLOAT16)
                                       : tape_embedding(tape, weight, ids, padding_id);
    rows = tape_frame_close(tape, frame, scale != NULL ? tape_multiply(tape, rows, scale) : rows);
    rows = module_leave(forward, visit, rows);
    tape_module_close(tape, outside);
    return rows;
}

struct value *forward_embedding(const struct forward *forward, const char *prefix, struct value *ids,
                                int64_t padding_id)
{
    return rows_look_up(forward, prefix, ids, padding_id, false);
}

void forward_leaf_begin(const struct forward *forward, struct value *value)
{
    struct forward_leaves *leaves = forward->leaves;
    if (leaves->count == (int)(sizeof leaves->values / sizeof leaves->values[0])) {
        tape_fail(forward->tape, STATUS_INTERNAL, "a pass makes more leaves than there is room for");
        return;
    }
    tape_leaf_begin(forward->tape, value);
    leaves->values[leaves->count++] = value;
}

struct value *forward_words(const struct forward *forward, const char *prefix, int64_t padding_id)
{
    struct value *words = rows_look_up(forward, prefix, forward->ids, padding_id, true);
    module_place_beside(forward, words);
    if (forward->workload->checkpointing && forward->workload->lora_rank > 0) {
        forward_leaf_begin(forward, words);
    }
    return words;
}

struct value *layer_linear(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_linear(layer->forward, path, a);
}

struct value *layer_linear_t(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_linear_t(layer->forward, path, a);
}

struct value *layer_linear_apart(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_linear_apart(layer->forward, path, a);
}

struct value *layer_layernorm(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return forward_layernorm(layer->forward, path, a);
}

/* -- attention */

struct value *heads_view(const struct forward *forward, struct value *a, int64_t heads)
{
    if (a == NULL) {
        return NULL;
    }
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(a, 0), value_size(a, 1), heads, value_size(a, 2) / heads};
    struct value *view = tape_reshape(tape, a, 4, size);
    return tape_frame_close(tape, frame, tape_transpose(tape, view, 1, 2));
}

/* [B, a, S, D] (any strides) -> [B, S, a * D]; a copy if the heads are not side by side. */
static struct value *heads_join(struct tape *tape, struct value *out)
{
    if (out == NULL) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(out, 0), value_size(out, 2), value_size(out, 1) * value_size(out, 3)};
    struct value *rows = tape_transpose(tape, out, 1, 2);
    return tape_frame_close(tape, frame, tape_reshape(tape, rows, 3, size));
}

/* A single query under a mask. The mask hides the places of a static cache that are not filled yet; it hides nothing
 * of a window that is full. The query heads that share a head of keys become rows of one head (pack_gqa), because the
 * kernels that take a mask want as many heads of queries as of keys. */
static struct value *attention_of_single(const struct forward *forward, struct attention_settings settings,
                                         struct value *q, struct value *k, struct value *v)
{
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(q, 0), heads = value_size(q, 1), groups = value_size(k, 1), width = value_size(v, 3);
    int64_t packed[] = {batch, groups, heads / groups, value_size(q, 3)}, flat[] = {batch, 1, heads * width};
    struct value *out = tape_attention(tape, tape_reshape(tape, q, 4, packed), k, v, &settings);
    int64_t unpacked[] = {batch, heads, 1, width};
    return tape_frame_close(tape, frame, tape_reshape(tape, tape_reshape(tape, out, 4, unpacked), 3, flat));
}

/* A padded batch: keys and values are repeated if a mask is given. Our own kernel reads grouped heads. */
static struct value *attention_masked(const struct forward *forward, struct attention_settings settings,
                                      struct value *q, struct value *k, struct value *v)
{
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    settings.causal = false;
    int64_t heads = settings.native ? value_size(k, 1) : value_size(q, 1);
    struct value *keys = tape_repeat_heads(tape, k, heads), *values = tape_repeat_heads(tape, v, heads);
    struct value *out = tape_attention(tape, q, keys, values, &settings);
    struct value *joined = heads_join(tape, out);
    tape_drop(tape, out);
    if (keys != k) {
        tape_drop(tape, keys);
        tape_drop(tape, values);
    }
    return tape_frame_close(tape, frame, joined);
}

/* A causal pass over more than one row; a single one sees all there is. During the prefill of a static cache the tokens
 * that are there come first in it. */
static struct value *attention_fused(const struct forward *forward, const struct attention_form *form, struct value *q,
                                     struct value *k, struct value *v)
{
    struct tape *tape = forward->tape;
    int64_t rows = value_size(q, 2);
    struct attention_settings settings = {.scale = form->scale,
                                          .dropout = form->dropout,
                                          .causal = form->causal && rows > 1,
                                          .heads_first = form->heads_first,
                                          .native = forward->workload->attention == ATTENTION_NATIVE};
    settings.mask = forward->mask != NULL ? forward->mask : form->mask;
    if (form->bias != NULL) {
        int frame = tape_frame_open(tape);
        settings.mask = relative_bias_mask(forward, form->bias, form->mask, settings.causal);
        return tape_frame_close(tape, frame, attention_masked(forward, settings, q, k, v));
    }
    if (forward->mask != NULL || (form->mask != NULL && rows == 1 && !settings.native)) {
        return attention_of_single(forward, settings, q, k, v);
    }
    if (form->mask != NULL) {
        return attention_masked(forward, settings, q, k, v);
    }
    int frame = tape_frame_open(tape);
    if (forward_has(forward, RELEASE_HEADS_REPEATED)) {
        k = tape_repeat_heads(tape, k, value_size(q, 1));
        v = tape_repeat_heads(tape, v, value_size(q, 1));
    }
    if (forward_has(forward, RELEASE_HEADS_CONTIGUOUS)) {
        q = tape_contiguous(tape, q);
        k = tape_contiguous(tape, k);
        v = tape_contiguous(tape, v);
        settings.heads_first = true;
    }
    bool over_static = forward->cache != NULL && forward->cache->kind == CACHE_STATIC;
    struct value *keys = over_static ? tape_slice(tape, k, 2, 0, rows) : k;
    struct value *values = over_static ? tape_slice(tape, v, 2, 0, rows) : v;
    struct value *out = tape_attention(tape, q, keys, values, &settings);
    return tape_frame_close(tape, frame, heads_join(tape, out));
}

static struct value *attention_weights(const struct forward *forward, const struct attention_form *form,
                                       struct value *q, struct value *k)
{
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    struct value *scores = tape_matmul(tape, q, tape_transpose(tape, k, 2, 3));
    value_rebind(tape, &scores, tape_scale(tape, scores, form->scale));
    if (form->cap > 0) {
        scores = forward_cap(tape, scores, form->cap);
    }
    if (form->bias != NULL) {
        value_rebind(tape, &scores, tape_add(tape, scores, form->bias));
    }
    if (form->mask != NULL) {
        value_rebind(tape, &scores, tape_add(tape, scores, form->mask));
    }
    struct value *weights = tape_softmax(tape, scores, form->softmax_in_float32);
    /* elsewhere softmax and cast are one expression, and scores a name until its end */
    if (!form->softmax_in_float32) {
        tape_drop(tape, scores);
    }
    if (form->casts_weights) {
        value_rebind(tape, &weights, tape_cast(tape, weights, form->weights_dtype));
    }
    if (form->softmax_in_float32) {
        tape_drop(tape, scores);
    }
    scores = weights;
    value_rebind(tape, &scores, tape_dropout(tape, scores, form->dropout));
    return tape_frame_close(tape, frame, scores);
}

struct value *forward_attention(const struct forward *forward, const struct attention_form *form, struct value *q,
                                struct value *k, struct value *v, struct value **weights)
{
    struct tape *tape = forward->tape;
    *weights = NULL;
    if (forward->workload->attention != ATTENTION_EAGER) {
        return attention_fused(forward, form, q, k, v);
    }
    int64_t heads = value_size(q, 1);
    struct value *key = tape_repeat_heads(tape, k, heads), *value = tape_repeat_heads(tape, v, heads);
    *weights = attention_weights(forward, form, q, key);
    int frame = tape_frame_open(tape);
    struct value *out = tape_matmul(tape, *weights, value);
    struct value *joined = tape_frame_close(tape, frame, heads_join(tape, out));
    if (key != k) {
        tape_drop(tape, key);
        tape_drop(tape, value);
    }
    return joined;
}

void layer_cache(const struct forward_layer *layer, struct value **keys, struct value **values)
{
    if (layer->forward->cache != NULL && !layer->forward->workload->checkpointing) {
        cache_update(layer->forward->cache, layer->index, keys, values);
    }
}

struct value *forward_positions(const struct forward *forward)
{
    if (forward->positions != NULL) {
        return forward->positions;
    }
    int64_t size[] = {1, value_size(forward->ids, 1)};
    struct value *counted = tensor_passing(forward->tape, DTYPE_INT64, 1, &size[1]); /* arange(), to which 0 is added */
    struct value *positions =
        tape_leaf(forward->tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "position ids");
    tape_sequence(forward->tape, positions, 0);
    tape_drop(forward->tape, counted);
    return positions;
}

/* -- blocks and heads */

struct value *forward_block(const struct forward *forward, tape_block *block, const char *path, const void *context,
                            int context_bytes, struct value *const *held, int held_count, struct value *input)
{
    if (forward->workload->checkpointing) {
        return tape_recompute_block(forward->tape, block, context, context_bytes, held, held_count, input);
    }
    return module_block(forward, block, path, context, context_bytes, held, held_count, input);
}

struct value *forward_layers(tape_block *block, struct forward_layer *layer, const char *root, const char *stack,
                             struct value *const *held, int held_count, struct value *input)
{
    struct value *hidden = input;
    for (int64_t i = 0; i < layer->forward->config->layers; i++) {
        snprintf(layer->prefix, sizeof layer->prefix, "%s%s%lld", root, stack, (long long)i);
        layer->index = i;
        const char *outside = tape_module_open(layer->forward->tape, layer->prefix);
        struct value *next =
            forward_block(layer->forward, block, layer->prefix, layer, sizeof *layer, held, held_count, hidden);
        tape_module_close(layer->forward->tape, outside);
        if (hidden != input) {
            tape_drop(layer->forward->tape, hidden);
        }
        hidden = next;
    }
    return hidden;
}

struct value *forward_pooler(const struct forward *forward, const char *root, struct value *hidden)
{
    struct tape *tape = forward->tape;
    char path[FORWARD_PATH_BYTES];
    snprintf(path, sizeof path, "%spooler.dense", root);
    int frame = tape_frame_open(tape);
    struct value *pooled = forward_linear(forward, path, tape_select(tape, hidden, 1, 0));
    pooled = tape_frame_close(tape, frame, tape_tanh(tape, pooled));
    if (forward_is_bare(forward)) {
        forward_output_keep(forward, pooled);
    }
    return pooled;
}

struct value *forward_rows(const struct forward *forward, struct value *hidden)
{
    if (forward->workload->logits == LOGITS_ALL || hidden == NULL) {
        return hidden;
    }
    return tape_slice(forward->tape, hidden, 1, value_size(hidden, 1) - 1, 1);
}
