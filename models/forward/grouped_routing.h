/* How DeepSeek-V2 and V3 choose a token's experts: from the groups of experts that score highest. The choice is made on
 * the device and changes no size. */
#ifndef ASSAY_FORWARD_GROUPED_ROUTING_H
#define ASSAY_FORWARD_GROUPED_ROUTING_H

#include "models/forward/forward.h"

/* "layer.mlp.gate" of hidden [B, S, H], N tokens: the weights of the experts of each token, float32 [N, active],
 * and *ids. V2 (softmax): probabilities, in groups if the model has them; a group scores its best expert. V3 (sigmoid):
 * scores, of which "e_score_correction_bias" is added for the choice alone; a group scores the sum of its two best. The
 * logits stay with the open frame, as the name `_`. */
struct value *routing_softmax(const struct forward_layer *layer, struct value *hidden, struct value **ids);
struct value *routing_sigmoid(const struct forward_layer *layer, struct value *hidden, struct value **ids);

#endif
