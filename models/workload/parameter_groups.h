/* Parameter groups: which parameters transformers' Trainer gives its optimizer with weight decay, and which without.
 *
 * An optimizer takes a step group by group: what foreach takes for all parameters at once, it takes for those of a
 * group. The clipping of gradients sees all of them together. */
#ifndef ASSAY_WORKLOAD_PARAMETER_GROUPS_H
#define ASSAY_WORKLOAD_PARAMETER_GROUPS_H

#include "models/skeleton/skeleton.h"

/* Whether Trainer.get_decay_parameter_names (transformers 4.57 and 5) names this parameter: it is none of an
 * nn.LayerNorm (or of ConvNext's, which is derived from it), and its path has no "bias", "layernorm", "rmsnorm", no
 * part "norm" and none that ends in "_norm", whatever the case of the letters. */
bool parameter_decays(const struct skeleton *skeleton, const struct skeleton_tensor *tensor);

#endif
