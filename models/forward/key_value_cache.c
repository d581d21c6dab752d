/* Key-value caches: growing, filling and reordering. Not here: what attention makes of them. */
#include "models/forward/key_value_cache.h"

#include <stdlib.h>

#include "models/forward/quantized_cache.h"

struct key_value_cache cache_open(struct tape *tape, const struct config *config, enum cache kind, int64_t tokens)
{
    int64_t layers = config->decoder_layers > 0 ? config->decoder_layers : config->layers;
    struct key_value_cache cache = {.tape = tape, .kind = kind, .config = config, .layers = layers, .capacity = tokens};
    cache.layer = calloc((size_t)layers, sizeof *cache.layer);
    if (cache.layer == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a cache of %lld layers", (long long)layers);
        cache.layers = 0;
    }
    return cache;
}

void cache_drop(struct key_value_cache *cache)
{
    cache_spent_drop(cache);
    for (int64_t i = 0; i < cache->layers; i++) {
        struct cache_layer *layer = &cache->layer[i];
        tape_let_go(cache->tape, layer->keys);
        tape_let_go(cache->tape, layer->values);
        tape_let_go(cache->tape, layer->scalar);
        quantized_cache_drop(cache->tape, layer);
    }
    for (int64_t i = 0; i < cache->layers; i++) {
        tape_let_go(cache->tape, cache->layer[i].order);
        cache->layer[i] = (struct cache_layer){0};
    }
}

void cache_release(struct key_value_cache *cache)
{
    free(cache->layer);
    cache->layer = NULL;
}

/* A tensor of the cache, held: like states, but with so many tokens. */
static struct value *tensor_new(struct tape *tape, struct value *states, enum dtype dtype, int64_t tokens,
                                const char *label)
{
    int64_t size[] = {value_size(states, 0), value_size(states, 1), tokens, value_size(states, 3)};
    return tape_hold(tape, tape_leaf(tape, CATEGORY_KV_CACHE, dtype, 4, size, false, label));
}

struct value *cache_tensor_grown(struct tape *tape, struct value *kept, struct value *states, enum dtype dtype,
                                 const char *label)
{
    if (kept == NULL && tape_gradients_enabled(tape)) {
        return tape_hold(tape, tape_concatenate_alone(tape, CATEGORY_KV_CACHE, dtype, states, 2, label));
    }
    int frame = tape_frame_open(tape);
    int64_t before = value_size(kept, 2), added = value_size(states, 2);
    struct value *added_states = tape_cast(tape, states, dtype);
    struct value *whole = tensor_new(tape, states, dtype, before + added, label);
    if (kept != NULL) {
        tape_copy_into(tape, kept, tape_slice(tape, whole, 2, 0, before));
    }
    tape_copy_into(tape, added_states, tape_slice(tape, whole, 2, before, added));
    tape_frame_close(tape, frame, NULL);
    return whole;
}

static struct value *scalar_new(struct tape *tape, const char *label)
{
    int64_t one = 1;
    struct value *scalar = tape_hold(tape, tape_leaf(tape, CATEGORY_KV_CACHE, DTYPE_INT64, 0, &one, false, label));
    tape_fill(tape, scalar, 0.0);
    return scalar;
}

/* StaticLayer.lazy_initialization */
static void static_layer_make(struct key_value_cache *cache, struct cache_layer *layer, struct value *keys,
                              struct value *values)
{
    struct tape *tape = cache->tape;
    enum dtype dtype = value_dtype(keys);
    layer->keys = tensor_new(tape, keys, dtype, cache->capacity, "static key cache");
    tape_fill(tape, layer->keys, 0.0);
    layer->values = tensor_new(tape, values, dtype, cache->capacity, "static value cache");
    tape_fill(tape, layer->values, 0.0);
    layer->scalar = scalar_new(tape, "tokens seen");
}

/* arange + cumulative_length: the places that the new tokens take */
static void static_places_make(struct key_value_cache *cache, int64_t count)
{
    struct tape *tape = cache->tape;
    struct value *range = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 1, &count, false, "range");
    tape_sequence(tape, range, 0);
    struct value *places = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 1, &count, false, "cache positions");
    tape_sequence(tape, places, cache->length);
    tape_drop(tape, range);
}

static void static_update(struct key_value_cache *cache, struct cache_layer *layer, struct value *keys,
                          struct value *values)
{
    struct tape *tape = cache->tape;
    int64_t count = value_size(keys, 2);
    if (layer->keys == NULL) {
        static_layer_make(cache, layer, keys, values);
    }
    int frame = tape_frame_open(tape);
    static_places_make(cache, count);
    tape_fill(tape, layer->scalar, (double)(cache->length + count));
    tape_copy_into(tape, keys, tape_slice(tape, layer->keys, 2, cache->length, count));
    tape_copy_into(tape, values, tape_slice(tape, layer->values, 2, cache->length, count));
    tape_frame_close(tape, frame, NULL);
}

static void old_give_back(const struct key_value_cache *cache, struct value **spent, struct value *old)
{
    if (cache->keeps_old) {
        *spent = old;
    } else {
        tape_let_go(cache->tape, old);
    }
}

void cache_spent_drop(struct key_value_cache *cache)
{
    for (int64_t i = 0; i < cache->layers; i++) {
        struct cache_layer *layer = &cache->layer[i];
        tape_let_go(cache->tape, layer->spent_keys);
        tape_let_go(cache->tape, layer->spent_values);
        layer->spent_keys = layer->spent_values = NULL;
    }
}

/* Keys and values of all tokens that there are; *keys and *values become those that attention reads. */
static void dynamic_update(struct key_value_cache *cache, struct cache_layer *layer, struct value **keys,
                           struct value **values)
{
    struct tape *tape = cache->tape;
    enum dtype dtype = value_dtype(*keys);
    struct value *old_keys = layer->keys, *old_values = layer->values;
    if (old_keys == NULL && cache->takes_states) {
        layer->keys = tape_hold(tape, tape_slice(tape, *keys, 2, 0, value_size(*keys, 2)));
        layer->values = tape_hold(tape, tape_slice(tape, *values, 2, 0, value_size(*values, 2)));
        *keys = layer->keys;
        *values = layer->values;
        return;
    }
    layer->keys = cache_tensor_grown(tape, old_keys, *keys, dtype, "key cache");
    old_give_back(cache, &layer->spent_keys, old_keys);
    layer->values = cache_tensor_grown(tape, old_values, *values, dtype, "value cache");
    old_give_back(cache, &layer->spent_values, old_values);
    *keys = layer->keys;
    *values = layer->values;
}

/* The last tokens of whole, as a view that the layer holds. */
static struct value *tokens_keep(struct tape *tape, struct value *whole, int64_t kept)
{
    int64_t count = value_size(whole, 2);
    int64_t rest = count < kept ? count : kept;
    return tape_hold(tape, tape_slice(tape, whole, 2, count - rest, rest));
}

/* What is held, which is dense, as a value of the open frame. */
static struct value *tensor_lend(struct tape *tape, struct value *held)
{
    struct value *lent = tape_contiguous(tape, held);
    tape_let_go(tape, held);
    return lent;
}

/* DynamicSlidingWindowLayer: the layer gives its names to the new ones when both are there. */
static void sliding_update(struct key_value_cache *cache, struct cache_layer *layer, struct value **keys,
                           struct value **values)
{
    struct tape *tape = cache->tape;
    enum dtype dtype = value_dtype(*keys);
    int64_t kept = cache->config->sliding_window - 1;
    struct value *old_keys = layer->keys, *old_values = layer->values;
    if (layer->scalar == NULL) {
        layer->scalar = scalar_new(tape, "sliding window");
    }
    *keys = tensor_lend(tape, cache_tensor_grown(tape, old_keys, *keys, dtype, "key cache"));
    *values = tensor_lend(tape, cache_tensor_grown(tape, old_values, *values, dtype, "value cache"));
    layer->keys = tokens_keep(tape, *keys, kept);
    tape_let_go(tape, old_keys);
    layer->values = tokens_keep(tape, *values, kept);
    tape_let_go(tape, old_values);
}

void cache_update(struct key_value_cache *cache, int64_t layer, struct value **keys, struct value **values)
{
    struct tape *tape = cache->tape;
    if (*keys == NULL || *values == NULL || tape_failed(tape)) {
        return;
    }
    struct cache_layer *kept = &cache->layer[layer];
    struct value *new_keys = *keys, *new_values = *values;
    if (cache->dtype != CACHE_DTYPE_AUTO) {
        quantized_cache_update(cache, kept, keys, values);
        return;
    }
    if (cache->kind == CACHE_STATIC) {
        static_update(cache, kept, *keys, *values);
        *keys = kept->keys;
        *values = kept->values;
    } else if (config_layer_slides(cache->config, layer) && !cache->has_no_windows) {
        sliding_update(cache, kept, keys, values);
    } else {
        dynamic_update(cache, kept, keys, values);
    }
    tape_drop(tape, new_keys);
    tape_drop(tape, new_values);
}

void cache_pass(struct key_value_cache *cache, int64_t tokens)
{
    cache->length += tokens;
    for (int64_t i = 0; i < cache->layers; i++) {
        quantized_cache_pass(&cache->layer[i], tokens);
    }
}

int64_t cache_window_kept(const struct key_value_cache *cache)
{
    int64_t window = cache->config->sliding_window;
    bool is_cut = cache->kind == CACHE_DYNAMIC && !cache->has_no_windows && window > 0 && cache->length >= window;
    return is_cut ? window - 1 : cache->length;
}

/* index_select over the rows */
struct value *cache_tensor_reordered(struct tape *tape, struct value *old, struct value *ids)
{
    int frame = tape_frame_open(tape);
    int64_t groups = value_size(ids, 0), rows = value_size(ids, 1);
    int64_t flat[] = {groups, rows, value_size(old, 1) * value_size(old, 2) * value_size(old, 3)};
    int64_t column[] = {groups, rows, 1};
    struct value *made = tensor_new(tape, old, value_dtype(old), value_size(old, 2), "reordered cache");
    tape_gather_into(tape, tape_reshape(tape, old, 3, flat), tape_reshape(tape, ids, 3, column),
                     tape_reshape(tape, made, 3, flat));
    tape_frame_close(tape, frame, NULL);
    return made;
}

static void tensor_reorder(struct tape *tape, struct value **kept, struct value *ids)
{
    struct value *old = *kept;
    *kept = cache_tensor_reordered(tape, old, ids);
    tape_let_go(tape, old);
}

void cache_reorder(struct key_value_cache *cache, struct value *ids)
{
    for (int64_t i = 0; i < cache->layers && !tape_failed(cache->tape); i++) {
        if (cache->dtype != CACHE_DTYPE_AUTO) {
            quantized_cache_reorder(cache->tape, &cache->layer[i], ids);
            continue;
        }
        tensor_reorder(cache->tape, &cache->layer[i].keys, ids);
        tensor_reorder(cache->tape, &cache->layer[i].values, ids);
    }
}
