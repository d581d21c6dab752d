/* Latent attention, operation by operation as modeling_deepseek_v2 and v3 write it. Not here: attention itself. */
#include "models/forward/latent_attention.h"

#include <stdio.h>

#include "models/forward/module_visit.h"
#include "models/forward/rotary.h"

/* The norms of latent rows have their class's epsilon, whatever the configuration says. */
static const double latent_epsilon = 1e-6;

/* -- positions */

/* freqs_cis: polar(1, position * frequency) * attention_scaling. */
static void circle_make(const struct forward *f, struct decoder_tables *tables, const char *root, struct value *hidden)
{
    struct tape *tape = f->tape;
    bool gradients = tape_gradients_enabled(tape);
    tape_gradients(tape, false);
    char module[64];
    snprintf(module, sizeof module, "%srotary_emb", root);
    struct module_visit visit = module_enter(f, module);
    int frame = tape_frame_open(tape);
    module_argument(f, visit, hidden);
    struct value *positions = module_argument(f, visit, tables->positions);
    int64_t batch = value_size(tables->positions, 0), rows = value_size(f->ids, 1);
    int64_t column[] = {batch, rows, 1}, wide[] = {batch, 1, rows, f->config->rotary_dim / 2, 2};
    struct value *places = tape_cast(tape, tape_reshape(tape, positions, 3, column), DTYPE_FLOAT32);
    struct value *angles = tape_multiply(tape, places, forward_tensor(f, "%srotary_emb.inv_freq", root));
    tape_drop(tape, places);
    struct value *circle = tape_polar(tape, angles);
    value_rebind(tape, &circle, tape_scale(tape, circle, 1.0));
    circle = tape_frame_close(tape, frame, tape_reshape(tape, circle, 5, wide));
    tables->cosines[0] = module_leave(f, visit, circle);
    tape_gradients(tape, gradients);
}

void latent_tables_make(const struct forward *f, struct decoder_tables *tables, const char *root, struct value *hidden)
{
    if (f->config->rope_complex) {
        circle_make(f, tables, root, hidden);
    } else {
        decoder_rotary_make(f, tables, DECODER_KINDS_FULL, root, "rotary_emb.inv_freq", hidden);
    }
}

/* view_as_complex: neighbours as numbers, in float32. */
static struct value *pairs_of(struct tape *tape, struct value *x)
{
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(x, 0), value_size(x, 1), value_size(x, 2), value_size(x, 3) / 2, 2};
    return tape_frame_close(tape, frame, tape_reshape(tape, tape_cast(tape, x, DTYPE_FLOAT32), 5, size));
}

static struct value *pairs_turned(const struct forward_layer *layer, struct value *pairs, struct value *x)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(x, 0), value_size(x, 1), value_size(x, 2), value_size(x, 3)};
    struct value *turned = tape_reshape(tape, tape_complex_multiply(tape, pairs, layer->cosine), 4, size);
    return tape_frame_close(tape, frame, tape_cast(tape, turned, value_dtype(x)));
}

/* apply_rotary_emb of V2. */
static void both_turned_complex(const struct forward_layer *layer, struct value **q, struct value **k)
{
    struct tape *tape = layer->forward->tape;
    struct value *q_pairs = pairs_of(tape, *q), *k_pairs = pairs_of(tape, *k);
    struct value *q_turned = pairs_turned(layer, q_pairs, *q), *k_turned = pairs_turned(layer, k_pairs, *k);
    tape_drop(tape, q_pairs);
    tape_drop(tape, k_pairs);
    value_rebind(tape, q, q_turned);
    value_rebind(tape, k, k_turned);
}

/* The first of two products, and the second added or taken away. */
static struct value *products_join(struct tape *tape, struct value *const a[2], struct value *const b[2], bool adds)
{
    int frame = tape_frame_open(tape);
    struct value *one = tape_multiply(tape, a[0], b[0]), *other = tape_multiply(tape, a[1], b[1]);
    return tape_frame_close(tape, frame, (adds ? tape_add : tape_subtract)(tape, one, other));
}

/* apply_rotary_pos_emb_interleave of V3: even and odd elements, which leave as halves. even and odd keep their
 * names. */
static struct value *halves_turned(struct tape *tape, struct value *even, struct value *odd, struct value *cosine,
                                   struct value *sine)
{
    int frame = tape_frame_open(tape);
    struct value *const both[] = {even, odd}, *const swapped[] = {odd, even}, *const factors[] = {cosine, sine};
    struct value *first = products_join(tape, both, factors, false);
    struct value *second = products_join(tape, swapped, factors, true);
    struct value *turned = tape_concatenate(tape, first, second, -1);
    tape_drop(tape, second);
    return tape_frame_close(tape, frame, turned);
}

static void both_turned_interleaved(const struct forward_layer *layer, struct value **q, struct value **k)
{
    struct tape *tape = layer->forward->tape;
    int64_t half = value_size(layer->cosine, -1) / 2;
    struct value *cosine = tape_slice(tape, layer->cosine, -1, 0, half);
    struct value *sine = tape_slice(tape, layer->sine, -1, 0, half);
    struct value *q_parts[] = {tape_every(tape, *q, 0, 2), tape_every(tape, *q, 1, 2)};
    struct value *k_parts[] = {tape_every(tape, *k, 0, 2), tape_every(tape, *k, 1, 2)};
    struct value *q_turned = halves_turned(tape, q_parts[0], q_parts[1], cosine, sine);
    struct value *k_turned = halves_turned(tape, k_parts[0], k_parts[1], cosine, sine);
    value_rebind(tape, q, q_turned);
    value_rebind(tape, k, k_turned);
}

static void both_turned(const struct forward_layer *layer, struct value **q, struct value **k)
{
    if (layer->sine == NULL) {
        both_turned_complex(layer, q, k);
    } else if (layer->forward->config->rope_interleaved) {
        both_turned_interleaved(layer, q, k);
    } else {
        struct value *q_turned = rotary_turn(layer, *q), *k_turned = rotary_turn(layer, *k);
        value_rebind(layer->forward->tape, q, q_turned);
        value_rebind(layer->forward->tape, k, k_turned);
    }
}

/* -- queries, keys and values */

static struct value *latent_norm(const struct forward_layer *layer, const char *name, struct value *a)
{
    char path[160];
    snprintf(path, sizeof path, "%s.self_attn.%s", layer->prefix, name);
    return forward_rms_norm_with(layer->forward, path, a, latent_epsilon);
}

/* [B, heads, S, nope + rotary] */
static struct value *queries_make(const struct forward_layer *layer, struct value *hidden)
{
    const struct config *config = layer->forward->config;
    struct tape *tape = layer->forward->tape;
    if (config->query_latent == 0) {
        return decoder_heads(layer, "self_attn.q_proj", hidden, config->heads);
    }
    int frame = tape_frame_open(tape);
    struct value *row = layer_linear(layer, "self_attn.q_a_proj", hidden);
    value_rebind(tape, &row, latent_norm(layer, "q_a_layernorm", row));
    return tape_frame_close(tape, frame, decoder_heads(layer, "self_attn.q_b_proj", row, config->heads));
}

/* expand_kv: keys [B, heads, T, nope + rotary] and values [B, heads, T, value] of the rows [B, 1, T, ..]. */
static struct value *keys_expand(const struct forward_layer *layer, struct value *latent, struct value *rotated,
                                 struct value **values)
{
    const struct config *config = layer->forward->config;
    struct tape *tape = layer->forward->tape;
    int64_t batch = value_size(latent, 0), tokens = value_size(latent, 2);
    int64_t split[] = {batch, tokens, config->heads, config->nope_dim + config->value_dim};
    int64_t wide[] = {batch, config->heads, tokens, config->rotary_dim};
    int frame = tape_frame_open(tape);
    struct value *both = layer_linear(layer, "self_attn.kv_b_proj", latent);
    both = tape_transpose(tape, tape_reshape(tape, both, 4, split), 1, 2);
    struct value *parts[2];
    tape_split_at(tape, both, -1, config->nope_dim, parts);
    struct value *repeated = tape_expand(tape, rotated, 4, wide);
    struct value *keys = tape_write_beside(tape, parts[0], repeated);
    *values = parts[1];
    return tape_frame_close_with(tape, frame, keys, parts[1]);
}

struct value *latent_attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct config *config = layer->forward->config;
    struct tape *tape = layer->forward->tape;
    int64_t batch = value_size(hidden, 0), rows = value_size(hidden, 1);
    int64_t latent_size[] = {batch, 1, rows, config->latent}, rotated_size[] = {batch, 1, rows, config->rotary_dim};
    int frame = tape_frame_open(tape);
    struct value *q_parts[2], *row_parts[2], *values = NULL;
    tape_split_at(tape, queries_make(layer, hidden), -1, config->nope_dim, q_parts);
    tape_split_at(tape, layer_linear(layer, "self_attn.kv_a_proj_with_mqa", hidden), -1, config->latent, row_parts);
    struct value *latent = latent_norm(layer, "kv_a_layernorm", row_parts[0]);
    value_rebind(tape, &latent, tape_reshape(tape, latent, 4, latent_size));
    struct value *rotated = tape_reshape(tape, row_parts[1], 4, rotated_size);
    both_turned(layer, &q_parts[1], &rotated);
    layer_cache(layer, &latent, &rotated);
    struct value *queries = tape_concatenate(tape, q_parts[0], q_parts[1], -1);
    struct value *keys = keys_expand(layer, latent, rotated, &values);
    struct value *weights = NULL;
    struct value *out = decoder_attend_all(layer, "self_attn.o_proj", true, queries, keys, values, &weights);
    return tape_frame_close_with(tape, frame, out, weights);
}
