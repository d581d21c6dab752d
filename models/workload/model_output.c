/* Model output: the object that a call returns. Not here: when a program's names let go of it (workload_tape.c), and
 * what a class puts into it (forward_output_keep). */
#include "models/workload/model_output.h"

#include "models/config/family.h"
#include "models/forward/module_visit.h"
#include "models/forward/task_head.h"
#include "models/workload/workload_tape.h"

void autocast_begin(const struct forward *forward)
{
    enum precision precision = forward->workload->precision;
    bool halves = precision == PRECISION_AMP_FLOAT16 || precision == PRECISION_FLOAT16;
    if (workload_is_autocast(forward->workload)) {
        tape_autocast_cache(forward->tape, forward->workload->autocast_cache == AUTOCAST_CACHE_ENABLED);
        tape_autocast_open(forward->tape, halves ? DTYPE_FLOAT16 : DTYPE_BFLOAT16);
    }
}

static void cache_begin(struct forward *forward, struct model_output *output)
{
    if (!forward->workload->use_cache || !forward->config->family->generates) {
        return;
    }
    output->cache = cache_open(forward->tape, forward->config, CACHE_DYNAMIC, forward->workload->seq);
    output->crossed = cache_open(forward->tape, forward->config, CACHE_DYNAMIC, forward->workload->seq);
    output->cache.takes_states = forward_has(forward, RELEASE_CACHE_TAKES_STATES);
    output->cache.has_no_windows = forward_has(forward, RELEASE_CACHE_WITHOUT_WINDOWS);
    forward->cache = &output->cache;
    forward->cross_cache = &output->crossed;
}

/* Keys and values in tuples; the originals are there until cache_spent_drop. */
static void cache_convert(struct tape *tape, struct key_value_cache *cache)
{
    for (int64_t i = 0; i < cache->layers; i++) {
        struct cache_layer *layer = &cache->layer[i];
        struct value **const states[] = {&layer->keys, &layer->values},
                             **const spent[] = {&layer->spent_keys, &layer->spent_values};
        for (int k = 0; k < 2; k++) {
            if (*states[k] != NULL && value_dtype(*states[k]) != DTYPE_FLOAT32) {
                *spent[k] = *states[k];
                *states[k] = tape_hold(tape, tape_cast(tape, *spent[k], DTYPE_FLOAT32));
            }
        }
    }
}

/* All copies are there before the object goes that had the originals. A cache that is an object stays as it is:
 * convert_to_fp32 does not look into it. Returns the result's, held as result was. */
static struct value *output_convert(const struct forward *forward, struct model_output *output, struct value *result)
{
    struct tape *tape = forward->tape;
    struct forward_outputs *beside = &output->beside, originals = *beside;
    int frame = tape_frame_open(tape);
    struct value *converted = tape_hold(tape, tape_cast(tape, result, DTYPE_FLOAT32));
    for (int i = 0; i < beside->count; i++) {
        beside->values[i] = tape_hold(tape, tape_cast(tape, originals.values[i], DTYPE_FLOAT32));
    }
    if (forward_has(forward, RELEASE_CACHE_AS_TUPLES)) {
        cache_convert(tape, &output->cache);
    }
    forward_outputs_drop(tape, &originals);
    cache_spent_drop(&output->cache);
    tape_let_go(tape, result);
    tape_frame_close(tape, frame, NULL);
    return converted;
}

/* The Trainer's loss of what the model has returned, held; logits, which were held, go with the object. */
static struct value *loss_smooth(struct forward *forward, struct model_output *output, struct value *logits)
{
    struct tape *tape = forward->tape;
    struct value *loss = tape_hold(tape, forward_smoothed_loss(forward, logits, forward->labels));
    if (forward->workload->outputs == OUTPUTS_KEPT) {
        output->beside.values[output->beside.count++] = logits;
    } else {
        tape_let_go(tape, logits);
    }
    return loss;
}

/* Keys and values go with a model's output if that of the class around it has none. */
static void cache_forget(struct model_output *output)
{
    cache_drop(&output->cache);
    cache_release(&output->cache);
    output->cache = (struct key_value_cache){.layers = 0};
}

struct value *model_output_make(struct forward *forward, struct model_output *before, struct model_output *output)
{
    struct tape *tape = forward->tape;
    bool smooths = forward->workload->label_smoothing == LABEL_SMOOTHING_TRAINER && forward->labels != NULL;
    struct value *labels = forward->labels;
    forward->labels = smooths ? NULL : labels;
    *output = (struct model_output){.beside.replaced = &before->beside};
    int frame = tape_frame_open(tape);
    bool kept = forward->workload->outputs == OUTPUTS_KEPT, converts = forward_converts_output(forward);
    bool measures = forward->workload->metrics != METRICS_NONE;
    forward->outputs = kept || converts || measures ? &output->beside : NULL;
    cache_begin(forward, output);
    autocast_begin(forward);
    struct value *result = module_output(forward, forward->config->family->forward(forward));
    if (forward->skeleton->head == HEAD_EMBEDDING) { /* the model's own output has gone by then */
        cache_forget(output);
        result = embedding_pool(forward, result);
    }
    if (forward->placement != NULL) { /* a model that is not visited as a whole ends where it ends */
        tape_place(tape, forward->placement->main);
    }
    tape_autocast_close(tape);
    forward->outputs = NULL;
    output->beside.replaced = NULL;
    forward->cache = forward->cross_cache = NULL;
    result = tape_hold(tape, tape_frame_close(tape, frame, result));
    forward->labels = labels;
    if (forward->skeleton->head == HEAD_TOKEN || forward->skeleton->head == HEAD_QUESTION) {
        cache_forget(output);
    }
    result = converts ? output_convert(forward, output, result) : result;
    return smooths ? loss_smooth(forward, output, result) : result;
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
