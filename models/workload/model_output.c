/* Model output: the object that a call returns. Not here: when a program's names let go of it (workload_tape.c), and
 * what a class puts into it (forward_output_keep). */
#include "models/workload/model_output.h"

#include "models/config/family.h"
#include "models/forward/module_visit.h"
#include "models/workload/workload_tape.h"

static void autocast_begin(const struct forward *forward)
{
    enum precision precision = forward->workload->precision;
    if (precision == PRECISION_AMP_FLOAT16 || precision == PRECISION_AMP_BFLOAT16) {
        tape_autocast_open(forward->tape, precision == PRECISION_AMP_FLOAT16 ? DTYPE_FLOAT16 : DTYPE_BFLOAT16);
    }
}

static void cache_begin(struct forward *forward, struct model_output *output)
{
    if (!forward->workload->use_cache || !forward->config->family->generates) {
        return;
    }
    output->cache = cache_open(forward->tape, forward->config, CACHE_DYNAMIC, forward->workload->seq);
    output->crossed = cache_open(forward->tape, forward->config, CACHE_DYNAMIC, forward->workload->seq);
    forward->cache = &output->cache;
    forward->cross_cache = &output->crossed;
}

struct value *model_output_make(struct forward *forward, struct model_output *before, struct model_output *output)
{
    struct tape *tape = forward->tape;
    *output = (struct model_output){.beside.replaced = &before->beside};
    int frame = tape_frame_open(tape);
    forward->outputs = forward->workload->outputs == OUTPUTS_KEPT ? &output->beside : NULL;
    cache_begin(forward, output);
    autocast_begin(forward);
    struct value *result = module_output(forward, forward->config->family->forward(forward));
    if (forward->placement != NULL) { /* a model that is not visited as a whole ends where it ends */
        tape_place(tape, forward->placement->main);
    }
    tape_autocast_close(tape);
    forward->outputs = NULL;
    output->beside.replaced = NULL;
    forward->cache = forward->cross_cache = NULL;
    return tape_hold(tape, tape_frame_close(tape, frame, result));
}

void model_output_drop(struct tape *tape, struct model_output *output)
{
    forward_outputs_drop(tape, &output->beside);
    cache_drop(&output->cache);
    cache_release(&output->cache);
    cache_drop(&output->crossed);
    cache_release(&output->crossed);
    *output = (struct model_output){.beside.count = 0};
}
