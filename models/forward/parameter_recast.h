/* Parameter recast: a parameter in another dtype, for good, as `param.data = param.data.to(dtype)` has it. PEFT
 * prepares models so (prepare_kbit.h), and layers of bitsandbytes do it to their biases. */
#ifndef ASSAY_FORWARD_PARAMETER_RECAST_H
#define ASSAY_FORWARD_PARAMETER_RECAST_H

#include "models/forward/forward.h"

/* Of a tensor of the skeleton whose value is held: a copy takes its place, also for those that are tied to it. */
void parameter_recast(const struct forward *forward, int index, enum dtype dtype);

/* The bias (NULL: there is none) of a layer of bitsandbytes as the layer reads it: it is brought to the dtype of what
 * the layer multiplies, bfloat16 in Linear4bit, when that first differs: of a model that was prepared, and under
 * autocast. */
struct value *bias_recast(const struct forward *forward, const char *path, enum dtype dtype);

#endif
