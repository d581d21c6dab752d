/* Generation: the prefill, the greedy loop, and what both loops share. The beam search is in generate_beams.c. */
#include "models/workload/generate.h"

#include <stdio.h>

#include "models/config/family.h"
#include "models/forward/module_visit.h"
#include "models/forward/quantized_cache.h"
#include "models/workload/generate_loop.h"
#include "models/workload/workload_tape.h"

void name_hold(struct tape *tape, struct value **name, struct value *next)
{
    tape_hold(tape, next);
    tape_let_go(tape, *name);
    *name = next;
}

/* -- one pass of the model */

/* A placed model: what it is fed goes to the model's device, from there its root's hook takes it to the main one, and
 * what the model returns comes back to the former. */
static struct value *model_run(struct generation *generation)
{
    struct forward *forward = &generation->forward;
    struct tape *tape = forward->tape;
    struct forward inside = *forward;
    int frame = tape_frame_open(tape), before = tape_place_now(tape);
    inside.ids = tape_move(tape, forward->ids, before);
    inside.positions = tape_move(tape, forward->positions, before);
    struct value *logits = tape_move(tape, forward->config->family->forward(&inside), module_device(forward));
    if (forward->placement != NULL) {
        tape_place(tape, before);
    }
    generation->cache.length += value_size(forward->ids, 1);
    return tape_hold(tape, tape_frame_close(tape, frame, logits));
}

/* value where the model's device is, and it alone. */
static struct value *value_feed(const struct generation *generation, struct value *value)
{
    struct tape *tape = generation->forward.tape;
    struct value *fed = tape_move(tape, value, module_device(&generation->forward));
    if (fed != value) {
        tape_drop(tape, value);
    }
    return fed;
}

/* A static cache gets its mask from outside: with sdpa booleans for a single query and none for a prompt, in the eager
 * form numbers. */
static void static_mask_make(struct generation *generation, int64_t rows, int64_t count)
{
    const struct forward *forward = &generation->forward;
    struct tape *tape = forward->tape;
    const struct key_value_cache *cache = &generation->cache;
    bool eager = forward->workload->attention == ATTENTION_EAGER;
    int64_t size[] = {rows, 1, 1, cache->capacity};
    struct value *mask = NULL;
    if (cache->kind == CACHE_STATIC && eager) {
        enum dtype dtype = workload_dtype(forward->workload);
        mask = tape_causal_mask_at(tape, dtype, rows, count, cache->capacity, cache->length);
    } else if (cache->kind == CACHE_STATIC && count == 1 && cache->length > 0) {
        mask = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BOOL, 4, size, false, "mask of the static cache");
        tape_fill(tape, mask, 0.0);
        struct value *seen = tape_slice(tape, mask, 3, 0, cache->length + 1);
        tape_fill(tape, seen, 1.0);
        tape_drop(tape, seen);
    }
    name_hold(tape, &generation->forward.mask, mask);
}

struct value *prompt_run(struct generation *generation, struct value *ids)
{
    struct tape *tape = generation->forward.tape;
    int frame = tape_frame_open(tape);
    generation->forward.ids = value_feed(generation, tape_clone(tape, ids));
    generation->forward.positions =
        tape_move(tape, generation->positions, module_device(&generation->forward)); /* its owner keeps it */
    static_mask_make(generation, value_size(ids, 0), value_size(ids, 1));
    struct value *logits = model_run(generation);
    name_hold(tape, &generation->forward.mask, NULL);
    tape_frame_close(tape, frame, NULL);
    return logits;
}

/* The last column, copied; NULL of NULL. */
static struct value *last_column(struct tape *tape, struct value *a)
{
    if (a == NULL) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, tape_clone(tape, tape_slice(tape, a, 1, value_size(a, 1) - 1, 1)));
}

struct value *token_run(struct generation *generation, struct value *ids)
{
    struct tape *tape = generation->forward.tape;
    struct value *tokens = tape_hold(tape, value_feed(generation, last_column(tape, ids)));
    struct value *places = tape_hold(tape, value_feed(generation, last_column(tape, generation->positions)));
    static_mask_make(generation, value_size(ids, 0), 1);
    tape_let_go(tape, generation->tokens);
    tape_let_go(tape, generation->places);
    cache_spent_drop(&generation->cache);
    generation->tokens = generation->forward.ids = tokens;
    generation->places = generation->forward.positions = places;
    return model_run(generation);
}

/* A quantised cache of integers quantises its residual whenever that is full. */
int64_t generation_period(const struct generation *generation)
{
    enum cache_dtype dtype = generation->cache.dtype;
    return dtype == CACHE_DTYPE_INT4 || dtype == CACHE_DTYPE_INT2 ? CACHE_RESIDUAL_TOKENS : 1;
}

/* Steps from this one on whose sizes follow the length evenly: as far as the sliding window. */
static int64_t steps_alike(const struct generation *generation, int64_t step)
{
    int64_t rest = generation->new_tokens - step - 1;
    int64_t window = generation->forward.config->sliding_window - generation->cache.length - 1;
    return window >= 0 && window < rest ? window : rest;
}

int64_t tokens_pass(struct generation *generation, struct tape_cycle *cycle, int64_t step)
{
    int64_t passed = tape_cycle_turn(cycle, steps_alike(generation, step));
    if (passed > 0) {
        cache_pass(&generation->cache, passed);
    }
    return passed;
}

void positions_grow(struct generation *generation)
{
    struct tape *tape = generation->forward.tape;
    if (generation->positions == NULL) {
        return;
    }
    int frame = tape_frame_open(tape);
    int64_t count = value_size(generation->positions, 1);
    int64_t size[] = {value_size(generation->positions, 0), 1};
    struct value *next = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "next positions");
    tape_sequence(tape, next, count);
    name_hold(tape, &generation->positions, tape_concatenate(tape, generation->positions, next, 1));
    tape_frame_close(tape, frame, NULL);
}

/* What older releases took the scores from: a view of the logits, or a copy of it in their dtype, or of a copy of all
 * logits. In float32 such a view keeps all of them. */
static struct value *scores_before(const struct forward *forward, struct value *logits)
{
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    struct value *whole = forward_has(forward, RELEASE_LOGITS_CLONED) ? tape_clone(tape, logits) : logits;
    struct value *last = tape_select(tape, whole, 1, value_size(logits, 1) - 1);
    if (forward_has(forward, RELEASE_SCORES_IN_DTYPE)) {
        last = tape_clone(tape, last);
    } else if (forward_has(forward, RELEASE_LOGITS_CLONED)) {
        last = tape_cast(tape, last, DTYPE_FLOAT32);
    }
    return tape_frame_close(tape, frame, last);
}

struct value *scores_copy(const struct forward *forward, struct value *logits)
{
    struct tape *tape = forward->tape;
    if (forward_has(forward, RELEASE_SCORES_VIEW) || forward_has(forward, RELEASE_SCORES_IN_DTYPE) ||
        forward_has(forward, RELEASE_LOGITS_CLONED)) {
        return scores_before(forward, logits);
    }
    int frame = tape_frame_open(tape);
    struct value *last = tape_select(tape, logits, 1, value_size(logits, 1) - 1);
    if (value_place(tape, last) != tape_place_now(tape)) { /* .to(device, dtype) makes one copy */
        last = tape_move(tape, tape_cast(tape, last, DTYPE_FLOAT32), tape_place_now(tape));
        return tape_frame_close(tape, frame, last);
    }
    bool is_float32 = value_dtype(logits) == DTYPE_FLOAT32;
    struct value *copy = is_float32 ? tape_clone(tape, last) : tape_cast(tape, last, DTYPE_FLOAT32);
    return tape_frame_close(tape, frame, copy);
}

/* -- the greedy loop: GenerationMixin._sample without sampling */

/* Which rows are not finished: all, until the length is reached. */
static struct value *unfinished_make(struct generation *generation, bool last)
{
    struct tape *tape = generation->forward.tape;
    int64_t rows = generation->forward.workload->batch;
    struct value *stops = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BOOL, 1, &rows, false, "stopping criteria");
    tape_fill(tape, stops, last ? 0.0 : 1.0);
    struct value *flags = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 1, &rows, false, "unfinished sequences");
    tape_fill(tape, flags, last ? 0.0 : 1.0);
    tape_drop(tape, stops);
    return flags;
}

struct greedy {
    struct value *ids, *scores, *chosen, *unfinished;
};

/* The chosen ids behind those before: torch.cat, as an input of what follows. */
static struct value *sequences_grow(struct tape *tape, struct value *ids, struct value *chosen)
{
    int frame = tape_frame_open(tape);
    int64_t rows = value_size(ids, 0), count = value_size(ids, 1);
    int64_t size[] = {rows, count + 1}, column[] = {rows, 1};
    struct value *grown = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 2, size, false, "sequences");
    tape_copy_into(tape, ids, tape_slice(tape, grown, 1, 0, count));
    tape_copy_into(tape, tape_reshape(tape, chosen, 2, column), tape_slice(tape, grown, 1, count, 1));
    return tape_frame_close(tape, frame, grown);
}

static void token_choose(struct generation *generation, struct greedy *names, struct value *logits, bool last)
{
    struct tape *tape = generation->forward.tape;
    int frame = tape_frame_open(tape);
    name_hold(tape, &names->scores, scores_copy(&generation->forward, logits));
    name_hold(tape, &names->chosen, tape_argmax(tape, names->scores));
    name_hold(tape, &names->ids, sequences_grow(tape, names->ids, names->chosen));
    name_hold(tape, &names->unfinished, unfinished_make(generation, last));
    tape_frame_close(tape, frame, NULL);
}

static struct value *greedy_run(struct generation *generation, struct value *prompt)
{
    struct tape *tape = generation->forward.tape;
    struct greedy names = {.ids = tape_hold(tape, prompt)};
    name_hold(tape, &names.unfinished, unfinished_make(generation, false));
    struct value *logits = prompt_run(generation, prompt);
    bool kept = forward_has(&generation->forward, RELEASE_OUTPUTS_KEPT);
    tape_stage(tape, STAGE_GENERATE);
    generation->forward.copies_experts = tape_targets_gpu(tape); /* _optimize_model_for_decode */
    struct tape_cycle cycle = tape_cycle_open(tape, generation_period(generation));
    for (int64_t step = 0; step < generation->new_tokens && !tape_failed(tape); step++) {
        if (step > 0) {
            struct value *before = kept ? logits : NULL;
            logits = token_run(generation, names.ids);
            tape_let_go(tape, before);
        }
        positions_grow(generation);
        token_choose(generation, &names, logits, step + 1 == generation->new_tokens);
        if (!kept) {
            tape_let_go(tape, logits);
        }
        tape_token(tape);
        step += tokens_pass(generation, &cycle, step);
    }
    tape_let_go(tape, kept ? logits : NULL);
    tape_let_go(tape, names.unfinished);
    tape_let_go(tape, names.scores);
    tape_let_go(tape, names.chosen);
    return names.ids;
}

/* -- the whole */

/* Passes of a layer for one token: recorded, each takes some 20 KiB of a tape; if steps are told once, the replay of
 * each takes up to some microseconds. */
enum {
    RECORDED_PASSES_MAXIMUM = 1 << 17,
    REPLAYED_PASSES_MAXIMUM = 1 << 24,
    REPLAYED_TOKENS_MAXIMUM = 1 << 20,
    ROWS_MAXIMUM = 1 << 20
};

int64_t generate_tokens_maximum(const struct config *config, bool repeats)
{
    int64_t tokens = (repeats ? REPLAYED_PASSES_MAXIMUM : RECORDED_PASSES_MAXIMUM) / config->layers;
    return repeats && tokens > REPLAYED_TOKENS_MAXIMUM ? REPLAYED_TOKENS_MAXIMUM : tokens;
}

static struct workload_words count_words(const struct status *error, enum case_field field, int64_t count)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)count);
    return workload_value_words(error, field, digits);
}

static enum status_code tokens_check(const struct config *config, const struct workload *workload, bool repeats,
                                     struct status *error)
{
    int64_t most = generate_tokens_maximum(config, repeats);
    if (workload->new_tokens <= most) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID,
                      "%s through the %lld layer%s of %s are more than %s, whatever the model allows; write at "
                      "most %lld",
                      count_words(error, FIELD_NEW_TOKENS, workload->new_tokens).text, (long long)config->layers,
                      config->layers == 1 ? "" : "s", config->name,
                      repeats ? "assay replays" : "assay's tape for a device holds", (long long)most);
}

/* Whether the states of a prompt with so many numbers for each token are whole groups, at least two. */
static bool states_are_groups(const struct workload *workload, int64_t width)
{
    int64_t elements = width * workload->seq;
    return elements % STATES_GROUP == 0 && elements * workload->batch * workload->beams > STATES_GROUP;
}

/* What QuantizedCache refuses, and a single group, which quanto measures along the other axis. */
static enum status_code quantized_cache_check(const struct config *config, const struct workload *workload,
                                              struct status *error)
{
    const struct workload_words dtype =
        workload_name_words(error, FIELD_CACHE_DTYPE, cache_dtype_name(workload->cache_dtype));
    if (config->sliding_window > 0) {
        return status_set(error, STATUS_INVALID,
                          "%s: %s has layers with a sliding window, which a quantised cache does not take; "
                          "write %s",
                          dtype.text, config->name, workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text);
    }
    int64_t keys = config->latent > 0 ? config->latent : config_cached_heads(config) * config->head_dim;
    int64_t values = config->latent > 0 ? config->rotary_dim : keys;
    int64_t odd = !states_are_groups(workload, keys) ? keys : !states_are_groups(workload, values) ? values : 0;
    if (workload->cache_dtype != CACHE_DTYPE_FP8 && odd > 0) {
        return status_set(error, STATUS_INVALID,
                          "%s: a prompt of %lld tokens with %lld numbers each is not a whole number of groups "
                          "of %d, at least two; write another seq, or %s",
                          dtype.text, (long long)workload->seq, (long long)odd, STATES_GROUP,
                          workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text);
    }
    return STATUS_OK;
}

enum status_code generate_check(const struct config *config, const struct workload *workload, bool repeats,
                                struct status *error)
{
    int64_t fed = workload->seq + workload->new_tokens - 1;
    const struct workload_words dynamic = workload_value_words(error, FIELD_CACHE, "dynamic"),
                                one_beam = workload_value_words(error, FIELD_BEAMS, "1");
    if (!config->family->generates) {
        return status_set(error, STATUS_INVALID, "mode generate: %s has no decoder that generates text; write %s",
                          config->name, workload_name_words(error, FIELD_MODE, "infer").text);
    }
    bool plain = workload->cache == CACHE_DYNAMIC && workload->cache_dtype == CACHE_DTYPE_AUTO && workload->beams == 1;
    if (config->family->encode != NULL && !plain) {
        enum case_field refused = workload->beams > 1                         ? FIELD_BEAMS
                                  : workload->cache_dtype != CACHE_DTYPE_AUTO ? FIELD_CACHE_DTYPE
                                                                              : FIELD_CACHE;
        return status_set(error, STATUS_INVALID,
                          "%s: generation beside the encoder of %s is modelled for a dynamic cache without beams; "
                          "write %s, %s and %s",
                          workload_key_words(error, refused).text, config->name, dynamic.text,
                          workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text, one_beam.text);
    }
    if (workload->batch * workload->beams > ROWS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s for each of %lld samples are too many; write less of either",
                          count_words(error, FIELD_BEAMS, workload->beams).text, (long long)workload->batch);
    }
    if (config->dynamic_cache_only && workload->cache == CACHE_STATIC) {
        return status_set(error, STATUS_INVALID,
                          "%s: the class of %s cannot make its biases by distance for a static cache; write %s",
                          workload_key_words(error, FIELD_CACHE).text, config->name, dynamic.text);
    }
    if (config->family->bounds_positions && fed > config->positions) {
        return status_set(error, STATUS_INVALID,
                          "%s: a prompt of %lld and %lld new tokens are more than the %lld positions of %s; "
                          "write less of either",
                          workload_key_words(error, FIELD_NEW_TOKENS).text, (long long)workload->seq,
                          (long long)workload->new_tokens, (long long)config->positions, config->name);
    }
    if (config->sliding_window > 0 && fed >= config->sliding_window &&
        (workload->cache == CACHE_STATIC || workload->beams > 1)) {
        return status_set(error, STATUS_INVALID,
                          "%s: a prompt of %lld and %lld new tokens reach the sliding window of %lld of %s, which is "
                          "modelled for a dynamic cache without beams; write %s and %s, or fewer tokens",
                          workload_key_words(error, workload->beams > 1 ? FIELD_BEAMS : FIELD_CACHE).text,
                          (long long)workload->seq, (long long)workload->new_tokens, (long long)config->sliding_window,
                          config->name, dynamic.text, one_beam.text);
    }
    enum status_code code = tokens_check(config, workload, repeats, error);
    if (code != STATUS_OK || workload->cache_dtype == CACHE_DTYPE_AUTO) {
        return code;
    }
    return quantized_cache_check(config, workload, error);
}

static void positions_make(struct generation *generation)
{
    struct tape *tape = generation->forward.tape;
    int64_t size[] = {generation->forward.workload->batch, generation->prompt};
    struct value *positions = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "position ids");
    tape_sequence(tape, positions, 0);
    generation->first_positions = tape_hold(tape, positions);
    generation->positions = tape_hold(tape, positions);
}

/* Beside an encoder, which reads the prompt once, the decoder begins with one token. */
static struct value *prompt_encode(struct generation *generation, struct value *ids)
{
    struct forward *forward = &generation->forward;
    struct tape *tape = forward->tape;
    if (forward->config->family->encode == NULL) {
        return ids;
    }
    int frame = tape_frame_open(tape);
    struct value *encoded = forward->config->family->encode(forward);
    forward->encoded = tape_hold(tape, tape_frame_close(tape, frame, encoded));
    int64_t size[] = {forward->workload->batch, 1};
    struct value *ones = tensor_passing(tape, DTYPE_INT64, 2, size);
    struct value *start = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 2, size, false, "decoder_input_ids");
    tape_fill(tape, start, (double)forward->config->decoder_start);
    tape_drop(tape, ones);
    return start;
}

/* What generate() holds for as long as it runs: the token that pads and the one that begins (the decoder, where there
 * is an encoder), each a tensor made of a number. None ends a sequence before its length. */
static void special_tokens_hold(struct tape *tape, struct value *tokens[2])
{
    int64_t none = 0;
    for (int i = 0; i < 2; i++) {
        tokens[i] = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 0, &none, false, "special token");
        tape_hold(tape, tokens[i]);
    }
}

struct value *generate_build(const struct forward *forward)
{
    const struct workload *workload = forward->workload;
    struct tape *tape = forward->tape;
    struct generation generation = {
        .forward = *forward, .prompt = workload->seq, .new_tokens = workload->new_tokens, .beams = workload->beams};
    struct value *specials[2];
    special_tokens_hold(tape, specials);
    int64_t fed = workload->seq + workload->new_tokens - 1; /* the last token is chosen, not read */
    generation.cache = cache_open(tape, forward->config, workload->cache, fed);
    generation.cache.dtype = workload->cache_dtype;
    generation.cache.takes_states = forward_has(forward, RELEASE_CACHE_TAKES_STATES);
    generation.cache.has_no_windows = forward_has(forward, RELEASE_CACHE_WITHOUT_WINDOWS);
    generation.cache.keeps_old = forward_has(forward, RELEASE_CACHE_KEPT);
    generation.forward.cache = &generation.cache;
    struct key_value_cache crossed = cache_open(tape, forward->config, workload->cache, workload->seq);
    struct value *prompt = prompt_encode(&generation, forward->ids);
    generation.forward.cross_cache = &crossed;
    if (!forward->config->family->lacks_position_ids) {
        positions_make(&generation);
    }
    struct value *sequences = workload->beams > 1 ? beams_run(&generation, prompt) : greedy_run(&generation, prompt);
    tape_let_go(tape, specials[0]);
    tape_let_go(tape, specials[1]);
    tape_let_go(tape, generation.tokens);
    tape_let_go(tape, generation.places);
    tape_let_go(tape, generation.forward.mask);
    tape_let_go(tape, generation.positions);
    tape_let_go(tape, generation.first_positions);
    tape_let_go(tape, generation.forward.encoded);
    cache_drop(&generation.cache);
    cache_release(&generation.cache);
    cache_drop(&crossed);
    cache_release(&crossed);
    return sequences;
}
