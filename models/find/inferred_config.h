/* Inferred configuration: of a model file that has none beside it, from the names and shapes of its tensors. */
#ifndef ASSAY_FIND_INFERRED_CONFIG_H
#define ASSAY_FIND_INFERRED_CONFIG_H

#include "harness/checkpoint/checkpoint.h"
#include "models/config/config.h"
#include "models/family/config_reading.h"

struct inferred {
    bool is_inferred;
    char evidence[320]; /* "wte.weight, h.0.attn.c_attn.weight: gpt2; 12 layers, 768 wide, 50257 tokens" */
    char assumed[320];  /* "12 heads of 64; ..." */
    int besides_count;  /* stored tensors of a head that is trained on a task, which are left out */
    int unstored_count; /* tensors of a pooler that the model has and the file has not */
};

/* Of the type that the name asks for (MODEL#TYPE, config_read_as), else of the one that has such tensors. What they do
 * not tell has the default of the real class. STATUS_INVALID if no family has such tensors, or several that differ
 * have them: *error says what would help. That every tensor is one of that model is not looked at here:
 * checkpoint_check does that. */
enum status_code config_infer(const struct checkpoint *checkpoint, const char *name, struct config *config,
                              struct inferred *inferred, struct status *error);

#endif
