/* Key-value cache: the keys and values of the tokens that a decoder has seen, layer by layer.
 *
 * dynamic (transformers' DynamicCache): every token makes a new tensor of all tokens for each, and the old one is given
 * back when the new one is there, so that the two coexist. static (StaticCache): one tensor for prompt and new tokens,
 * taken and zeroed when the layer first runs; new states are written into it and attention looks at all of it.
 * quantised (QuantizedCache): models/forward/quantized_cache.h.
 * In training, where a cache is new in every pass (use_cache), the copies have a graph.
 * A layer with a sliding window of w keeps the last w - 1 tokens: of a dynamic cache a view, which holds the tensor of
 * all that attention has read last until the next token has made a new one.
 *
 * Size: 2 tensors * layers * rows * key heads * tokens * head size * bytes of an element, where rows = batch * beams.
 * Llama-3.1-8B (32 layers, 8 key heads of 128) in bfloat16 with 2048 + 255 tokens of one row:
 * 2 * 32 * 1 * 8 * 2303 * 128 * 2 = 301,858,816 bytes. */
#ifndef ASSAY_FORWARD_KEY_VALUE_CACHE_H
#define ASSAY_FORWARD_KEY_VALUE_CACHE_H

#include "harness/case/workload.h"
#include "harness/tape/quantized_states.h"
#include "models/config/config.h"

struct key_value_cache {
    struct tape *tape;
    enum cache kind;
    enum cache_dtype dtype; /* automatic after cache_open */
    const struct config *config;
    bool keeps_old;      /* dynamic: what a pass has replaced stays until cache_spent_drop (RELEASE_CACHE_KEPT) */
    bool takes_states;   /* dynamic: the first states are kept themselves (RELEASE_CACHE_TAKES_STATES) */
    bool has_no_windows; /* dynamic: layers with a window keep all tokens (RELEASE_CACHE_WITHOUT_WINDOWS) */
    int64_t layers;
    int64_t length;   /* tokens seen before the pass that runs */
    int64_t capacity; /* static: tokens there is room for */
    struct cache_layer *layer;
};

struct cache_layer {
    struct value *keys, *values; /* [rows, key heads, tokens, head size]; NULL before the first pass */
    struct quantized_states quantized_keys, quantized_values; /* keys and values are then the residual */
    struct value *spent_keys, *spent_values;                  /* those of the pass before, if the cache keeps them */
    struct value *order;  /* i64 [groups, rows]: of beams, what quantised states are still to be put into */
    struct value *scalar; /* what a layer counts on the device; NULL: nothing */
};

/* tokens: the most that will be seen. Errors are the tape's. The cache must be released. */
struct key_value_cache cache_open(struct tape *tape, const struct config *config, enum cache kind, int64_t tokens);
/* Gives the tensors back: the last use of the cache on the tape. */
void cache_drop(struct key_value_cache *cache);
/* Gives back what the building took. */
void cache_release(struct key_value_cache *cache);

/* Takes the states of new tokens, [rows, key heads, new, head size], over into the cache of a layer and returns in
 * their place what attention reads: all tokens so far, of a static cache all of it; with a window those that are kept
 * and the new ones. */
void cache_update(struct key_value_cache *cache, int64_t layer, struct value **keys, struct value **values);

/* Gives back what the last pass has replaced, if the cache has kept it. */
void cache_spent_drop(struct key_value_cache *cache);

/* So many tokens have been seen of which no pass was built; the tensors are already theirs (tape_cycle_turn). */
void cache_pass(struct key_value_cache *cache, int64_t tokens);

/* How many tokens the layers with a sliding window hold before the pass that runs. */
int64_t cache_window_kept(const struct key_value_cache *cache);

/* Every row becomes a copy of row ids[g, k] of its group: i64 [groups, rows / groups]. New tensors, layer by layer. */
void cache_reorder(struct key_value_cache *cache, struct value *ids);

/* -- for models/forward/quantized_cache.c */
/* torch.cat of what there was (NULL: nothing) and the states, held. Autocast brings both to one dtype first. */
struct value *cache_tensor_grown(struct tape *tape, struct value *kept, struct value *states, enum dtype dtype,
                                 const char *label);
/* A held copy whose rows are in the order of ids, as cache_reorder has them. */
struct value *cache_tensor_reordered(struct tape *tape, struct value *kept, struct value *ids);

#endif
