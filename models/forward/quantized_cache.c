/* Quantised key-value caches: when states are quantised, read and quantised again. Not how:
 * harness/tape/quantized_states.c.
 */
#include "models/forward/quantized_cache.h"

enum states_form cache_states_form(enum cache_dtype dtype)
{
    return dtype == CACHE_DTYPE_FP8 ? STATES_FLOAT8 : dtype == CACHE_DTYPE_INT4 ? STATES_INT4 : STATES_INT2;
}

static void states_hold(struct tape *tape, const struct quantized_states *states)
{
    tape_hold(tape, states->codes);
    tape_hold(tape, states->scale);
    if (states->shift != NULL) {
        tape_hold(tape, states->shift);
    }
}

static void states_let_go(struct tape *tape, struct quantized_states *states)
{
    tape_let_go(tape, states->codes);
    tape_let_go(tape, states->scale);
    tape_let_go(tape, states->shift);
    *states = (struct quantized_states){0};
}

void quantized_cache_drop(struct tape *tape, struct cache_layer *layer)
{
    states_let_go(tape, &layer->quantized_keys);
    states_let_go(tape, &layer->quantized_values);
}

/* `kept = quantised states`: the new ones are there before the old ones go. */
static void states_renew(struct key_value_cache *cache, struct quantized_states *kept, struct value *states)
{
    struct tape *tape = cache->tape;
    int frame = tape_frame_open(tape);
    struct quantized_states made = tape_states_quantize(tape, cache_states_form(cache->dtype), states);
    if (!tape_failed(tape)) {
        states_hold(tape, &made);
        states_let_go(tape, kept);
        *kept = made;
    }
    tape_frame_close(tape, frame, NULL);
}

/* -- fp8 */

/* The codes with those of new states behind them; the old and the new ones stay until the update is over. */
static void codes_append(struct tape *tape, struct quantized_states *kept, struct value *added)
{
    kept->codes = cache_tensor_grown(tape, kept->codes, added, DTYPE_FLOAT8_E4M3FN, "cache codes");
    kept->size[2] = value_size(kept->codes, 2);
}

static void float8_update(struct key_value_cache *cache, struct cache_layer *layer, struct value **keys,
                          struct value **values)
{
    struct tape *tape = cache->tape;
    enum dtype dtype = value_dtype(*keys);
    struct value *old_keys = layer->quantized_keys.codes, *old_values = layer->quantized_values.codes;
    struct value *new_keys = tape_states_codes(tape, *keys, layer->quantized_keys.scale);
    struct value *new_values = tape_states_codes(tape, *values, layer->quantized_values.scale);
    codes_append(tape, &layer->quantized_keys, new_keys);
    codes_append(tape, &layer->quantized_values, new_values);
    *keys = tape_states_dequantize(tape, &layer->quantized_keys, dtype);
    *values = tape_states_dequantize(tape, &layer->quantized_values, dtype);
    tape_let_go(tape, old_keys);
    tape_let_go(tape, old_values);
    tape_drop(tape, new_keys);
    tape_drop(tape, new_values);
}

/* -- int4 and int2 */

/* torch.cat([dequantised, residual, new]) along the tokens; residual may be NULL. */
static struct value *states_join(struct tape *tape, struct value *dequantized, struct value *residual,
                                 struct value *added)
{
    struct value *parts[] = {dequantized, residual, added};
    int64_t tokens = value_size(dequantized, 2) + value_size(residual, 2) + value_size(added, 2), first = 0;
    int64_t size[] = {value_size(added, 0), value_size(added, 1), tokens, value_size(added, 3)};
    int frame = tape_frame_open(tape);
    struct value *whole =
        tape_leaf(tape, CATEGORY_TEMPORARIES, value_dtype(added), 4, size, false, "states of all tokens");
    for (int i = 0; i < 3; i++) {
        if (parts[i] != NULL) {
            tape_copy_into(tape, parts[i], tape_slice(tape, whole, 2, first, value_size(parts[i], 2)));
            first += value_size(parts[i], 2);
        }
    }
    return tape_frame_close(tape, frame, whole);
}

/* index_select over the rows, dense, in the open frame. */
static struct value *states_ordered(struct tape *tape, struct value *states, struct value *order)
{
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(states, 0), value_size(states, 1), value_size(states, 2), value_size(states, 3)};
    int64_t groups = value_size(order, 0), rows = value_size(order, 1);
    int64_t flat[] = {groups, rows, size[1] * size[2] * size[3]}, column[] = {groups, rows, 1};
    struct value *made = tape_leaf(tape, CATEGORY_TEMPORARIES, value_dtype(states), 4, size, false, "ordered states");
    tape_gather_into(tape, tape_reshape(tape, states, 3, flat), tape_reshape(tape, order, 3, column),
                     tape_reshape(tape, made, 3, flat));
    return tape_frame_close(tape, frame, made);
}

/* What beams have changed since the states were quantised (NULL: nothing): both are there in order before either
 * goes. */
static void pending_apply(struct tape *tape, struct value *order, struct value **keys, struct value **values)
{
    if (order == NULL) {
        return;
    }
    struct value *old_keys = *keys, *old_values = *values;
    *keys = states_ordered(tape, old_keys, order);
    *values = states_ordered(tape, old_values, order);
    tape_drop(tape, old_keys);
    tape_drop(tape, old_values);
}

/* beam_idx.clone(), or the pending order in the new one. */
static void pending_compose(struct tape *tape, struct value **order, struct value *ids)
{
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(ids, 0), value_size(ids, 1)}, column[] = {size[0], size[1], 1};
    struct value *old = *order;
    struct value *made = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "pending order");
    if (old == NULL) {
        tape_copy_into(tape, ids, made);
    } else {
        tape_gather_into(tape, tape_reshape(tape, old, 3, column), tape_reshape(tape, ids, 3, column),
                         tape_reshape(tape, made, 3, column));
    }
    *order = tape_hold(tape, made);
    tape_frame_close(tape, frame, NULL);
    tape_let_go(tape, old);
}

static void residual_order(struct tape *tape, struct value **residual, struct value *ids)
{
    struct value *old = *residual;
    if (old != NULL) {
        *residual = cache_tensor_reordered(tape, old, ids);
        tape_let_go(tape, old);
    }
}

static void residual_grow(struct tape *tape, struct value **residual, struct value *added)
{
    struct value *old = *residual;
    *residual = cache_tensor_grown(tape, old, added, value_dtype(added), "residual cache");
    tape_let_go(tape, old);
}

static void integer_update(struct key_value_cache *cache, struct cache_layer *layer, struct value **keys,
                           struct value **values)
{
    struct tape *tape = cache->tape;
    enum dtype dtype = value_dtype(*keys);
    struct value *old_keys = tape_states_dequantize(tape, &layer->quantized_keys, dtype);
    struct value *old_values = tape_states_dequantize(tape, &layer->quantized_values, dtype);
    pending_apply(tape, layer->order, &old_keys, &old_values);
    struct value *all_keys = states_join(tape, old_keys, layer->keys, *keys);
    struct value *all_values = states_join(tape, old_values, layer->values, *values);
    if (value_size(layer->keys, 2) + value_size(*keys, 2) >= CACHE_RESIDUAL_TOKENS) {
        states_renew(cache, &layer->quantized_keys, all_keys);
        states_renew(cache, &layer->quantized_values, all_values);
        tape_let_go(tape, layer->keys);
        tape_let_go(tape, layer->values);
        tape_let_go(tape, layer->order);
        layer->keys = layer->values = layer->order = NULL;
    } else {
        residual_grow(tape, &layer->keys, *keys);
        residual_grow(tape, &layer->values, *values);
    }
    tape_drop(tape, old_keys);
    tape_drop(tape, old_values);
    *keys = all_keys;
    *values = all_values;
}

void quantized_cache_update(struct key_value_cache *cache, struct cache_layer *layer, struct value **keys,
                            struct value **values)
{
    struct value *new_keys = *keys, *new_values = *values;
    if (layer->quantized_keys.codes == NULL) {
        states_renew(cache, &layer->quantized_keys, new_keys);
        states_renew(cache, &layer->quantized_values, new_values);
        return;
    }
    if (cache->dtype == CACHE_DTYPE_FP8) {
        float8_update(cache, layer, keys, values);
    } else {
        integer_update(cache, layer, keys, values);
    }
    tape_drop(cache->tape, new_keys);
    tape_drop(cache->tape, new_values);
}

void quantized_cache_pass(struct cache_layer *layer, int64_t tokens)
{
    layer->quantized_keys.size[2] += layer->quantized_keys.codes != NULL ? tokens : 0;
    layer->quantized_values.size[2] += layer->quantized_values.codes != NULL ? tokens : 0;
}

void quantized_cache_reorder(struct tape *tape, struct cache_layer *layer, struct value *ids)
{
    if (layer->quantized_keys.form != STATES_FLOAT8) {
        pending_compose(tape, &layer->order, ids);
        residual_order(tape, &layer->keys, ids);
        residual_order(tape, &layer->values, ids);
        return;
    }
    struct value *old_keys = layer->quantized_keys.codes, *old_values = layer->quantized_values.codes;
    layer->quantized_keys.codes = cache_tensor_reordered(tape, old_keys, ids);
    layer->quantized_values.codes = cache_tensor_reordered(tape, old_values, ids);
    tape_let_go(tape, old_keys);
    tape_let_go(tape, old_values);
}
