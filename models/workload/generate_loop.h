/* Generation's inside: what the greedy loop and the beam search share. For models/generate*.c only. */
#ifndef ASSAY_WORKLOAD_GENERATE_LOOP_H
#define ASSAY_WORKLOAD_GENERATE_LOOP_H

#include "models/forward/forward.h"

struct generation {
    struct forward forward; /* a copy; ids, positions, mask and cache change with every step */
    struct key_value_cache cache;
    int64_t prompt, new_tokens, beams;
    struct value *positions;       /* i64 [rows, tokens so far]; NULL: its model takes none */
    struct value *first_positions; /* those of the prompt, which stay the caller's */
    struct value *tokens, *places; /* what the model was fed last, and its mask */
};

/* `name = next`: next is held, what the name held before is let go of. */
void name_hold(struct tape *tape, struct value **name, struct value *next);

/* The prefill: logits [rows, 1 or prompt, vocabulary], held. ids: i64 [rows, prompt]. */
struct value *prompt_run(struct generation *generation, struct value *ids);

/* One step over the last of ids [rows, tokens so far]: logits [rows, 1, vocabulary], held. */
struct value *token_run(struct generation *generation, struct value *ids);

/* After how many steps they do the same again, as far as a cache says so. */
int64_t generation_period(const struct generation *generation);

/* A step has been built. Returns how many of those behind it are passed over because they are alike: the cache is then
 * that of the last of them. */
int64_t tokens_pass(struct generation *generation, struct tape_cycle *cycle, int64_t step);

/* One more position for each row. */
void positions_grow(struct generation *generation);

/* The last row of logits in float32, [rows, vocabulary]: a copy, in the open frame; of older releases what they
 * have. */
struct value *scores_copy(const struct forward *forward, struct value *logits);

/* The search for the sequences with the highest sums of log probabilities. prompt: i64 [batch, columns]. The sequences
 * of all beams, i64 [batch, beams, columns + new tokens], the best of an item first; held. */
struct value *beams_run(struct generation *generation, struct value *prompt);

#endif
