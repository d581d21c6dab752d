/* Beam search: GenerationMixin._beam_search of transformers 5 without sampling, with its length penalty of 1.
 *
 * Every batch item has `beams` running sequences. Of all their continuations the 2 * beams best are looked at; those
 * that reach the length are finished, and of the finished ones the `beams` best are kept. Where nothing but the length
 * ends a sequence, all of them finish in the last step. Indices of beams count within their batch item and lie in
 * float32, which is as wide as PyTorch's int32 and holds them exactly. */
#include "models/workload/generate_loop.h"

#include <string.h>

static const double far_below = -1e9; /* the score of what must not be chosen */

/* One set of sequences: ids [batch, n, length], sums of log probabilities [batch, n], beams they came from
 * [batch, n, new tokens]. */
struct beams {
    struct value *ids, *scores, *origins;
};

struct search {
    struct generation *generation;
    struct tape *tape;
    int64_t batch, width, length; /* width: beams */
    int64_t step;
    struct beams running, best, candidates; /* candidates: the 2 * width of a step */
    struct value *finished;                 /* bool [batch, width]: which of best have an end */
    struct value *counted, *open, *stops;   /* flags of the loop, which say nothing of their own here */
    struct value *logits, *log_probabilities, *flat;
};

/* -- small pieces */

static struct value *tensor_of(struct search *search, enum dtype dtype, int64_t count, int64_t depth, double number,
                               const char *label)
{
    int64_t size[] = {search->batch, count, depth};
    enum category category = strcmp(label, "sequences") == 0 ? CATEGORY_INPUTS : CATEGORY_TEMPORARIES;
    struct value *made = tape_leaf(search->tape, category, dtype, depth > 0 ? 3 : 2, size, false, label);
    tape_fill(search->tape, made, number);
    return made;
}

/* a [batch, n, ..] at indices [batch, m]: torch.take_along_dim, whose indices are wrapped into the size first. */
static struct value *beams_gather(struct search *search, struct value *a, struct value *indices, enum category category,
                                  const char *label)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    bool deep = value_size(a, 2) > 0;
    int64_t rows = value_size(a, 1), count = value_size(indices, 1), depth = deep ? value_size(a, 2) : 1;
    int64_t from[] = {search->batch, rows, depth}, to[] = {search->batch, count, depth};
    int64_t column[] = {search->batch, count, 1};
    struct value *wide = tape_expand(tape, tape_reshape(tape, indices, 3, column), 3, to);
    struct value *wrapped = tape_remainder(tape, wide, rows);
    struct value *made = tape_leaf(tape, category, value_dtype(a), deep ? 3 : 2, to, false, label);
    tape_gather_into(tape, tape_reshape(tape, a, 3, from), wrapped, tape_reshape(tape, made, 3, to));
    return tape_frame_close(tape, frame, made);
}

static void beams_hold(struct tape *tape, struct beams *names, struct beams next)
{
    name_hold(tape, &names->ids, next.ids);
    name_hold(tape, &names->scores, next.scores);
    name_hold(tape, &names->origins, next.origins);
}

/* The sets at indices [batch, m]; ids: the label of the sequences. */
static struct beams beams_at(struct search *search, const struct beams *from, struct value *indices, const char *label)
{
    enum category category = strcmp(label, "sequences") == 0 ? CATEGORY_INPUTS : CATEGORY_TEMPORARIES;
    struct beams made;
    made.ids = beams_gather(search, from->ids, indices, category, label);
    made.scores = beams_gather(search, from->scores, indices, CATEGORY_TEMPORARIES, "beam scores");
    made.origins = beams_gather(search, from->origins, indices, CATEGORY_TEMPORARIES, "beam indices");
    return made;
}

static struct value *top_indices(struct tape *tape, struct value *scores, int64_t count)
{
    struct value *indices = NULL;
    tape_drop(tape, tape_top_k(tape, scores, count, &indices));
    return indices;
}

/* -- before the loop */

/* torch.repeat_interleave: [batch, columns] -> [batch * width, columns] */
static struct value *rows_repeat(struct search *search, struct value *a)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    int64_t columns = value_size(a, 1);
    int64_t thin[] = {search->batch, 1, columns}, wide[] = {search->batch, search->width, columns};
    int64_t flat[] = {search->batch * search->width, columns};
    struct value *expanded = tape_expand(tape, tape_reshape(tape, a, 3, thin), 3, wide);
    return tape_frame_close(tape, frame, tape_reshape(tape, tape_clone(tape, expanded), 2, flat));
}

/* Only the first beam of an item counts at first, or all would find the same. */
static void running_make(struct search *search, struct value *prompt)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    int64_t columns = value_size(prompt, 1), news = search->generation->new_tokens;
    int64_t wide[] = {search->batch, search->width, columns};
    struct beams running, best;
    running.ids = tensor_of(search, DTYPE_INT64, search->width, search->length, -1.0, "running sequences");
    tape_copy_into(tape, tape_reshape(tape, prompt, 3, wide), tape_slice(tape, running.ids, 2, 0, columns));
    best.ids = tensor_of(search, DTYPE_INT64, search->width, search->length, 0.0, "sequences");
    tape_copy_into(tape, running.ids, best.ids);
    running.scores = tensor_of(search, DTYPE_FLOAT32, search->width, 0, 0.0, "beam scores");
    tape_fill(tape, tape_slice(tape, running.scores, 1, 1, search->width - 1), far_below);
    best.scores = tensor_of(search, DTYPE_FLOAT32, search->width, 0, far_below, "beam scores");
    search->finished = tape_hold(tape, tensor_of(search, DTYPE_BOOL, search->width, 0, 0.0, "finished beams"));
    search->open = tape_hold(tape, tensor_of(search, DTYPE_BOOL, 1, 0, 1.0, "items that can improve"));
    search->stops = tape_hold(tape, tensor_of(search, DTYPE_BOOL, search->width, 0, 0.0, "stopping criteria"));
    running.origins = tensor_of(search, DTYPE_FLOAT32, search->width, news, -1.0, "beam indices");
    best.origins = tensor_of(search, DTYPE_FLOAT32, search->width, news, -1.0, "beam indices");
    beams_hold(tape, &search->running, running);
    beams_hold(tape, &search->best, best);
    tape_frame_close(tape, frame, NULL);
}

/* -- one step */

/* Sums of log probabilities of every continuation, [batch, width * vocabulary]: the name keeps them. logits are given
 * back as soon as they are copied. */
static void continuations_score(struct search *search, struct value *model_logits)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    int64_t vocab = value_size(model_logits, 2);
    int64_t items[] = {search->batch, search->width, vocab}, flat[] = {search->batch, search->width * vocab};
    int64_t column[] = {search->batch, search->width, 1};
    name_hold(tape, &search->logits, scores_copy(&search->generation->forward, model_logits));
    name_hold(tape, &search->log_probabilities, tape_log_softmax(tape, search->logits));
    tape_let_go(tape, model_logits);
    struct value *scores = tape_add(tape, tape_reshape(tape, search->log_probabilities, 3, items),
                                    tape_reshape(tape, search->running.scores, 3, column));
    name_hold(tape, &search->log_probabilities, tape_reshape(tape, scores, 2, flat));
    tape_frame_close(tape, frame, NULL);
}

/* The 2 * width best continuations; returns the beams that they continue, i64 [batch, 2 * width], held. */
static struct value *candidates_find(struct search *search)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    int64_t vocab = value_size(search->log_probabilities, 1) / search->width;
    int64_t place = search->generation->prompt + search->step, count = 2 * search->width;
    int64_t column[] = {search->batch, count, 1};
    struct value *indices = NULL;
    struct beams found;
    found.scores = tape_top_k(tape, search->log_probabilities, count, &indices);
    struct value *from = tape_quotient(tape, indices, vocab);
    found.origins =
        beams_gather(search, search->running.origins, from, CATEGORY_TEMPORARIES, "beam indices of candidates");
    found.ids = beams_gather(search, search->running.ids, from, CATEGORY_TEMPORARIES, "candidates");
    struct value *ids = tape_remainder(tape, indices, vocab);
    tape_copy_into(tape, tape_reshape(tape, ids, 3, column), tape_slice(tape, found.ids, 2, place, 1));
    tape_copy_into(tape, tape_reshape(tape, from, 3, column), tape_slice(tape, found.origins, 2, search->step, 1));
    beams_hold(tape, &search->candidates, found);
    tape_hold(tape, from);
    tape_frame_close(tape, frame, NULL);
    return from;
}

/* The candidates that go on: the best, less those that have just finished. Returns which, i64 [batch, width]. */
static struct value *running_choose(struct search *search, bool last)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    struct value *scores = tape_add_number(tape, search->candidates.scores, last ? far_below : 0.0);
    struct value *chosen = top_indices(tape, scores, search->width);
    struct beams from = search->candidates;
    from.scores = scores;
    beams_hold(tape, &search->running, beams_at(search, &from, chosen, "running sequences"));
    return tape_frame_close(tape, frame, chosen);
}

/* Scores of the candidates as finished sequences, divided by their length. Only the first `width` can be finished; the
 * others were spares for going on. */
static struct value *finished_scores(struct search *search, bool last)
{
    struct tape *tape = search->tape;
    struct value *scores = tape_scale(tape, search->candidates.scores, 1.0 / (double)(search->step + 1));
    int64_t first = last ? search->width : 0;
    struct value *hidden = tape_slice(tape, scores, 1, first, 2 * search->width - first);
    tape_add_number_(tape, hidden, far_below);
    tape_drop(tape, hidden);
    return scores;
}

/* The best of those that were finished and those that have just finished. */
static void finished_merge(struct search *search, bool last)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    struct value *just = tensor_of(search, DTYPE_BOOL, 2 * search->width, 0, 0.0, "just finished");
    tape_fill(tape, tape_slice(tape, just, 1, 0, search->width), last ? 1.0 : 0.0);
    struct value *scores = finished_scores(search, last);
    struct beams merged;
    merged.ids = tape_concatenate(tape, search->best.ids, search->candidates.ids, 1);
    merged.scores = tape_concatenate(tape, search->best.scores, scores, 1);
    merged.origins = tape_concatenate(tape, search->best.origins, search->candidates.origins, 1);
    struct value *flags = tape_concatenate(tape, search->finished, just, 1);
    struct value *chosen = top_indices(tape, merged.scores, search->width);
    struct beams best = beams_at(search, &merged, chosen, "sequences");
    struct value *finished = beams_gather(search, flags, chosen, CATEGORY_TEMPORARIES, "finished beams");
    beams_hold(tape, &search->best, best);
    name_hold(tape, &search->finished, finished);
    tape_frame_close(tape, frame, NULL);
}

static void step_finish(struct search *search)
{
    struct tape *tape = search->tape;
    bool last = search->step + 1 == search->generation->new_tokens;
    int frame = tape_frame_open(tape);
    struct value *from = candidates_find(search);
    name_hold(tape, &search->stops,
              tensor_of(search, DTYPE_BOOL, 2 * search->width, 0, last ? 1.0 : 0.0, "stopping criteria"));
    struct value *chosen = running_choose(search, last);
    struct value *origins = beams_gather(search, from, chosen, CATEGORY_TEMPORARIES, "beams to go on from");
    tape_let_go(tape, from);
    tape_drop(tape, chosen);
    finished_merge(search, last);
    cache_reorder(&search->generation->cache, origins);
    tape_frame_close(tape, frame, NULL);
}

/* What the model is fed: the running sequences so far, a view whose storage stays alive until the next step. */
static struct value *running_flat(struct search *search)
{
    struct tape *tape = search->tape;
    int frame = tape_frame_open(tape);
    int64_t columns = search->generation->prompt + search->step;
    int64_t flat[] = {search->batch * search->width, columns};
    struct value *view = tape_slice(tape, search->running.ids, 2, 0, columns);
    return tape_frame_close(tape, frame, tape_reshape(tape, view, 2, flat));
}

static void search_release(struct search *search)
{
    struct tape *tape = search->tape;
    struct value *held[] = {search->finished, search->counted,           search->open, search->stops,
                            search->logits,   search->log_probabilities, search->flat};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        tape_let_go(tape, held[i]);
    }
    const struct beams none = {0};
    beams_hold(tape, &search->running, none);
    beams_hold(tape, &search->candidates, none);
    tape_let_go(tape, search->best.scores);
    tape_let_go(tape, search->best.origins);
}

struct value *beams_run(struct generation *generation, struct value *prompt)
{
    struct tape *tape = generation->forward.tape;
    struct search search = {.generation = generation,
                            .tape = tape,
                            .batch = value_size(prompt, 0),
                            .width = generation->beams,
                            .length = generation->prompt + generation->new_tokens};
    int frame = tape_frame_open(tape);
    struct value *rows = tape_hold(tape, rows_repeat(&search, prompt));
    if (generation->positions != NULL) {
        name_hold(tape, &generation->positions, rows_repeat(&search, generation->positions));
        name_hold(tape, &generation->first_positions, generation->positions);
    }
    int64_t candidates = 2 * search.width;
    search.counted = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BOOL, 1, &candidates, false, "candidates that count");
    tape_fill(tape, tape_hold(tape, search.counted), 1.0);
    running_make(&search, rows);
    struct value *logits = prompt_run(generation, rows);
    tape_stage(tape, STAGE_GENERATE);
    struct tape_cycle cycle = tape_cycle_open(tape, generation_period(generation));
    for (search.step = 0; search.step < generation->new_tokens && !tape_failed(tape); search.step++) {
        if (search.step > 0) {
            name_hold(tape, &search.flat, running_flat(&search));
            logits = token_run(generation, search.flat);
        }
        positions_grow(generation);
        continuations_score(&search, logits);
        step_finish(&search);
        tape_token(tape);
        search.step += tokens_pass(generation, &cycle, search.step);
    }
    search_release(&search);
    tape_let_go(tape, rows);
    tape_frame_close(tape, frame, NULL);
    return search.best.ids;
}
