/* Parallel: how a model is divided among devices. The batch and the micro-batches of a workload are those of one rank.
 *
 * data x tensor x pipeline devices; expert groups lie within the data groups, as in Megatron. ZeRO and FSDP divide
 * among the data-parallel ranks: ZeRO 1 the optimizer's states, 2 the gradients too, 3 and FSDP the weights too. */
#ifndef ASSAY_ESTIMATE_PARALLEL_H
#define ASSAY_ESTIMATE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "models/config/config.h"

struct parallel {
    int64_t data, tensor, pipeline, expert; /* degrees, each at least 1 */
    int64_t zero;                           /* 0 to 3 */
    bool fsdp;                              /* fully sharded as FSDP2 does it: tensor by tensor along dimension 0 */
};

struct parallel parallel_single(void); /* one device */

/* Whether there is more than one device. False for NULL. */
bool parallel_divides(const struct parallel *parallel);

/* data x tensor x pipeline. parallel_check has made sure that it fits. */
int64_t parallel_device_count(const struct parallel *parallel);

/* What the data-parallel ranks divide: the ZeRO stage, 3 with FSDP. 0 for NULL. */
int64_t parallel_stage(const struct parallel *parallel);

/* Whether the degrees fit together and the model: heads and layers divide. STATUS_INVALID with what would. */
enum status_code parallel_check(const struct parallel *parallel, const struct config *config, struct status *error);

/* {"data", "tensor", "pipeline", "expert", "zero", "fsdp"}. NULL if memory ran out. */
struct json *parallel_json(const struct parallel *parallel);

#endif
