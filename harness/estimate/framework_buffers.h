/* Framework buffers: what releases of transformers registered besides parameters, and no longer do, and what accelerate
 * weighs twice.
 *
 * A table that accelerate prints counts buffers, persistent or not, and these changed: Llama kept the cosines and sines
 * of all positions in every layer until 4.40, GPT-2 a causal mask until 5.0. A published figure therefore belongs to a
 * release; without one it is today's. Sources: the modelling files of the releases named in docs/decisions.
 *
 * accelerate builds a model without storage and so gives each registered parameter a tensor of its own. Until 5.0 an
 * encoder and a decoder were given one module of embeddings; since then each registers its own and is tied afterwards,
 * which that building undoes: t5-small's matrix of 65,798,144 bytes is weighed three times.
 *
 * Worked number: Llama-2-7b (4.31): each of 32 layers has 64 * 4 bytes of frequencies and 2 * 4096 * 128 * 4 bytes of
 * cosines and sines: 4,194,560; in all 134,225,920 bytes. */
#ifndef ASSAY_ESTIMATE_FRAMEWORK_BUFFERS_H
#define ASSAY_ESTIMATE_FRAMEWORK_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "models/config/config.h"

enum { FRAMEWORK_RELEASE_CURRENT = 1000000 };

struct framework_buffers {
    bool as_skeleton;    /* the skeleton's own buffers are right; the rest of the bytes is 0 */
    bool counts_tied;    /* accelerate weighs tied tensors each */
    int64_t block_bytes; /* in each block that is never split, instead of the skeleton's */
    int64_t model_bytes; /* beside the blocks, instead of the skeleton's */
};

/* "4.31.0.dev0" or "4.31" gives 4031; "" and "current" give FRAMEWORK_RELEASE_CURRENT. STATUS_INVALID else. */
enum status_code framework_release_parse(const char *text, int *release, struct status *error);

/* STATUS_OVERFLOW if a size does not fit. A boolean counts as one eighth of a byte, as accelerate counts it. */
enum status_code framework_buffers_of(const struct config *config, int release, struct framework_buffers *buffers,
                                      struct status *error);

#endif
