/* The rule of 20 %: where 1.2 times the weights is enough memory for inference, and where it is more than is needed.
 *
 * Measured cases are counted as the rule's page of reports counts them (harness/report/weights_rule.h): too little if
 * the peak is above 1.2 times the weights; wasteful if 1.2 times the weights is more than 1.1 times the peak; else
 * close. */
#ifndef ASSAY_LAW_OVERHEAD_RULE_H
#define ASSAY_LAW_OVERHEAD_RULE_H

#include "harness/law/overhead_law.h"

enum { RULE_GRID_MAXIMUM = 12 };

struct rule_count {
    int count, too_little, wasteful;
};

/* One measured case at an end: of those that are too little the one with fewest tokens, ... */
struct rule_extreme {
    const struct law_point *point; /* NULL: there is none */
    double factor;                 /* peak over weights */
};

struct overhead_verdict {
    struct rule_count all[OVERHEAD_LEVEL_COUNT];
    struct rule_extreme highest, lowest; /* of allocated peak over weights */
    int batch_count, seq_count;          /* at most RULE_GRID_MAXIMUM each: the smallest; seq of text alone */
    int64_t batches[RULE_GRID_MAXIMUM], seqs[RULE_GRID_MAXIMUM];
    struct rule_count grid[RULE_GRID_MAXIMUM][RULE_GRID_MAXIMUM]; /* by allocated bytes */
};

void overhead_verdict_make(const struct overhead_law *law, struct overhead_verdict *verdict);

/* "unsafe in some cases and wasteful in others": what the rule is by allocated bytes. */
const char *overhead_verdict_words(const struct overhead_verdict *verdict);

/* The same of one kind. */
struct rule_count overhead_group_count(const struct overhead_law *law, const struct overhead_group *kind,
                                       enum overhead_level level);

/* Tokens of one sequence at which the law of a kind reaches factor times the weights: the least and the most over its
 * models. 0: of no model that is measured so (images have no logits of tokens), or beyond 2^22. */
struct token_range {
    int64_t low, high;
    bool low_is_measured, high_is_measured; /* within what was measured of the kind in inference: tokens of a batch */
};

struct token_range overhead_tokens_at(const struct overhead_law *law, const struct overhead_group *kind, double factor,
                                      const char *logits);

#endif
