/* Pieces of JSON documents about placed tapes: names of members that several commands print stand here. */
#ifndef ASSAY_CLI_PLACED_JSON_H
#define ASSAY_CLI_PLACED_JSON_H

#include "harness/base/json.h"
#include "harness/question/placed_trial.h"

struct json *bytes_or_null_json(int64_t bytes); /* null below 0 */
struct json *placed_stage_json(const struct replay_stage *stage);
/* {"device", "stage", "tensor", "wanted_bytes", ...}; null if it ran through. */
struct json *placed_refusal_json(const struct placed_tape *placed, const struct placed_outcome *outcome);
/* [{"from", "to", "count", "bytes", "seconds"}, ...]; runs false: nothing took time. */
struct json *placed_copies_json(const struct placed_tape *placed, const struct placed_result *result, bool runs);

/* Whether the figures of a stage are the same: peaks of the three levels, and what was requested at its end. */
bool placed_stage_agrees(const struct replay_stage *a, const struct replay_stage *b);

#endif
