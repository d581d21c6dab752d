/* Generation: transformers' generate() as tape: prefill, then one token after another over a key-value cache.
 *
 * What the loop keeps by name is kept here until it would rebind it: the ids so far, their positions, the scores of the
 * last step in float32. A tape cannot end where a value says so: there is no end-of-sequence token, and every row is
 * generated to its full length. Questions that the loop asks about values (is there padding? are all finished?) and
 * their flags are left out. Every chosen id stays on the device and is what the next step embeds. */
#ifndef ASSAY_WORKLOAD_GENERATE_H
#define ASSAY_WORKLOAD_GENERATE_H

#include "models/forward/forward.h"

/* STATUS_INVALID, reason and remedy, if the model cannot generate so much, or not at all. repeats: steps are told
 * once. */
enum status_code generate_check(const struct config *config, const struct workload *workload, bool repeats,
                                struct status *error);

/* The most new tokens that a tape of the model holds (repeats: that a replay goes through in minutes), whatever its
 * positions. */
int64_t generate_tokens_maximum(const struct config *config, bool repeats);

/* Builds the stages forward (the prefill) and generate (all that follows). forward->ids: the prompt, i64 [batch, seq].
 * Returns the sequences, held for the whole tape: i64 [batch, seq + new_tokens], or [batch, beams, seq + new_tokens]
 * with the best of an item first. */
struct value *generate_build(const struct forward *forward);

#endif
