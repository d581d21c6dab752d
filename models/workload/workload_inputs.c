/* Inputs: the batch that a case is fed, its labels, and what is padding in it. Not its sizes, which are the
 * workload's. */
#include "models/config/family.h"
#include "models/forward/forward.h"
#include "models/workload/workload_build.h"
#include "models/workload/workload_tape.h"

/* The second half of the batch, or the only sequence, ends after half of the tokens, rounded up. */
static void padding_fill(struct tape *tape, struct value *rows, double number)
{
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(rows, 0), seq = value_size(rows, 1);
    int64_t whole = batch / 2, kept = seq - seq / 2;
    struct value *shorter = tape_slice(tape, rows, 0, whole, batch - whole);
    tape_fill(tape, tape_slice(tape, shorter, 1, kept, seq - kept), number);
    tape_frame_close(tape, frame, NULL);
}

/* Integers that a batch of text brings, held: rank 1: one for each sequence; 2: one for each token. */
static struct value *integers_new(const struct forward *f, int rank, const char *label)
{
    int64_t size[] = {f->workload->batch, f->workload->seq};
    return tape_hold(f->tape, tape_leaf(f->tape, CATEGORY_INPUTS, DTYPE_INT64, rank, size, false, label));
}

/* The same with random numbers below bound. */
static struct value *random_integers_new(const struct forward *f, int rank, int64_t bound, const char *label)
{
    struct value *labels = integers_new(f, rank, label);
    tape_init_integers(f->tape, labels, bound);
    return labels;
}

/* Labels of a head that is none over tokens: a class of each sequence, or of each token, of which those of padding do
 * not count, or the first and the last token of an answer. */
static void task_labels_make(struct forward *f)
{
    switch (f->skeleton->head) {
    case HEAD_SEQUENCE:
        f->labels = random_integers_new(f, 1, f->config->labels, "labels");
        break;
    case HEAD_TOKEN:
        f->labels = random_integers_new(f, 2, f->config->labels, "labels");
        if (f->workload->padding) {
            padding_fill(f->tape, f->labels, -100.0);
        }
        break;
    default:
        f->labels = random_integers_new(f, 1, value_size(f->ids, 1), "start_positions");
        f->ends = random_integers_new(f, 1, value_size(f->ids, 1), "end_positions");
    }
}

/* Labels are the ids themselves; those of a padded batch are its own, with -100 where nothing counts. */
static void padding_make(struct forward *f)
{
    struct tape *tape = f->tape;
    bool training = f->workload->mode == MODE_TRAIN, is_own = f->skeleton->task != NULL;
    f->labels = training ? f->ids : NULL;
    if (f->workload->padding) {
        f->seen = integers_new(f, 2, "attention_mask");
        tape_fill(tape, f->seen, 1.0);
        padding_fill(tape, f->seen, 0.0);
    }
    if (is_own && training) {
        task_labels_make(f);
    }
    if (is_own || !f->workload->padding) {
        return;
    }
    struct value *labels = integers_new(f, 2, "labels");
    tape_copy_into(tape, f->ids, labels);
    padding_fill(tape, labels, -100.0);
    f->labels = training ? labels : NULL;
}

void inputs_make(struct build *build)
{
    struct forward *f = &build->forward;
    const struct config *config = f->config;
    struct tape *tape = f->tape;
    int64_t batch = f->workload->batch;
    if (f->workload->seq > 0) {
        f->ids = random_integers_new(f, 2, config->vocab, "input_ids");
        padding_make(f);
        return;
    }
    int64_t size[] = {batch, config->channels, config->image, config->image};
    enum dtype dtype = workload_dtype(f->workload);
    f->images = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, dtype, 4, size, false, "pixel_values"));
    tape_init_normal(tape, f->images, 0.0, 1.0);
    /* A batch of images comes with its labels, also where only the images are used. */
    struct value *labels = tape_hold(tape, tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 1, &batch, false, "labels"));
    tape_init_integers(tape, labels, config->classes > 0 ? config->classes : 1);
    f->labels = f->workload->mode == MODE_TRAIN ? labels : NULL;
}
