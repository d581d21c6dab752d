/* Quantised key-value cache: transformers' QuantizedCache, layer by layer.
 *
 * What attention reads is always there as a whole in the dtype of the model, made anew for every layer and token; what
 * is quantised is what stays in between.
 *   fp8         every token's codes are appended, so that all codes are there twice for a moment.
 *   int4, int2  the prompt is quantised; later tokens wait in the dtype of the model until there are 128 of them, the
 *               residual length, then everything is quantised anew.
 * The first pass attends to its own keys and values as they came. */
#ifndef ASSAY_FORWARD_QUANTIZED_CACHE_H
#define ASSAY_FORWARD_QUANTIZED_CACHE_H

#include "models/forward/key_value_cache.h"

/* Of a dtype that is not automatic. */
enum states_form cache_states_form(enum cache_dtype dtype);

enum { CACHE_RESIDUAL_TOKENS = 128 };

/* cache_update of a layer; the states are handed over as there. */
void quantized_cache_update(struct key_value_cache *cache, struct cache_layer *layer, struct value **keys,
                            struct value **values);
/* Gives what is quantised back. */
void quantized_cache_drop(struct tape *tape, struct cache_layer *layer);
/* cache_pass of a layer: of integers a whole number of residuals. */
void quantized_cache_pass(struct cache_layer *layer, int64_t tokens);
/* cache_reorder of a layer: of fp8 the codes; of integers the residual, and the order is kept until the rest is
 * read. */
void quantized_cache_reorder(struct tape *tape, struct cache_layer *layer, struct value *ids);

#endif
