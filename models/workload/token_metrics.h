/* Token metrics: what a trainer computes of the logits beside the loss, to log it: TRL's SFTTrainer in compute_loss
 * (1.0; entropies since 0.22, accuracy since 0.15). No gradients; but the entropies come in chunks of a few rows,
 * three times, and for the accuracy the logits are copied without the last token of each sequence. What has a name in
 * that function lives until it returns, the copy too, and so do the logits. */
#ifndef ASSAY_WORKLOAD_TOKEN_METRICS_H
#define ASSAY_WORKLOAD_TOKEN_METRICS_H

#include "models/forward/forward.h"

enum { TOKEN_METRICS_NAMES = 8 };

struct token_metrics {
    struct value *names[TOKEN_METRICS_NAMES]; /* held, in the order in which they go */
    int count;
};

/* The logits among what an output has besides its result; NULL: it has none. */
struct value *token_metrics_logits(const struct forward *forward, const struct forward_outputs *outputs);

/* logits [batch, seq, vocab], as the output has them; NULL and a workload without metrics: nothing is computed. */
void token_metrics_make(const struct forward *forward, struct value *logits, struct token_metrics *metrics);

/* The function returns. */
void token_metrics_drop(struct tape *tape, struct token_metrics *metrics);

#endif
