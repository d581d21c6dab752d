/* Batch table: the tries of a batch run and what they come to, as lines for people and as a document. */
#ifndef ASSAY_CLI_BATCH_TABLE_H
#define ASSAY_CLI_BATCH_TABLE_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/question/batch_prediction.h"
#include "harness/question/batch_run.h"
#include "harness/question/limit_range.h"

struct batch_answer {
    const struct batch_record *record;
    const struct batch_result *results; /* of the policy that was asked for first */
    int result_count;
    const struct batch_prediction *prediction;
    const struct limit_range *range; /* of PyTorch's own loop in as much memory; NULL: not known */
    const struct workload *workload;
    bool as_accelerate;
};

void batch_heading_append(int columns, struct text *text);

/* A line of a try, in few columns two. */
void batch_try_append(const struct batch_try *try_, bool as_accelerate, int columns, struct text *text);

/* What was found, predicted and lost. */
void batch_summary_append(const struct batch_answer *answer, struct text *text);

/* Sets "found" and what stands beside it (docs/BATCH.md). False if memory ran out. */
bool batch_answer_set(const struct batch_answer *answer, struct json *document);

#endif
