/* Task heads: the parts that families share, and the losses. Not here: the head over tokens (decoder.c,
 * encoder_part.c), and that over images, which are of their families. */
#include "models/forward/task_head.h"

#include <stdio.h>
#include <string.h>

#include "harness/tape/chunk.h"
#include "models/config/head.h"

const struct task_head *task_head_find(const struct task_head *rows, enum head head)
{
    for (const struct task_head *row = rows; row != NULL && row->head != HEAD_DEFAULT; row++) {
        if (row->head == head) {
            return row;
        }
    }
    return NULL;
}

/* -- the skeleton */

void task_head_skeleton(struct skeleton_builder *builder, const struct task_head *task, const char *prefix,
                        const char *model_class, task_model_list *list)
{
    char name[CLASS_NAME_BYTES];
    head_class_name(task->head, prefix, name);
    builder->skeleton->task = task;
    int root = builder_root(builder, name);
    if (task->is_first) {
        task->list(builder, root);
    }
    list(builder, builder_module(builder, root, task->inside, model_class));
    if (!task->is_first) {
        task->list(builder, root);
    }
}

/* Columns of the last hidden state: OPT projects it. */
static int64_t head_width(const struct config *config)
{
    return config->word_width > 0 ? config->word_width : config->hidden;
}

void classifier_list(struct skeleton_builder *builder, int root)
{
    builder_dropout(builder, root, "dropout");
    builder_linear(builder, root, "classifier", builder->config->labels, head_width(builder->config), true);
}

void token_score_list(struct skeleton_builder *builder, int root)
{
    builder_dropout(builder, root, "dropout");
    builder_linear(builder, root, "score", builder->config->labels, head_width(builder->config), true);
}

void question_list(struct skeleton_builder *builder, int root)
{
    builder_linear(builder, root, "qa_outputs", 2, head_width(builder->config), true);
}

void last_score_list(struct skeleton_builder *builder, int root)
{
    builder_linear(builder, root, "score", builder->config->labels, head_width(builder->config), false);
}

/* -- logits */

static struct value *token_logits(const struct forward *f, const char *path, struct value *hidden)
{
    /* The name of the hidden state is given to what dropout leaves of it; the model's output still has it. */
    struct value *kept = forward_dropout(f, "dropout", hidden, f->config->token_dropout);
    return forward_linear(f, path, kept);
}

struct value *token_classifier_run(const struct forward *f, struct value *hidden)
{
    return token_logits(f, "classifier", hidden);
}

struct value *token_score_run(const struct forward *f, struct value *hidden)
{
    return token_logits(f, "score", hidden);
}

struct value *question_run(const struct forward *f, struct value *hidden)
{
    return forward_linear(f, "qa_outputs", hidden);
}

/* Where the last row of each sequence that is no padding lies among all rows, i64 [B]. The real class asks the ids;
 * here the second half of a padded batch ends early (inputs_make). The names of mask and places stay. */
static struct value *last_places(const struct forward *f)
{
    struct tape *tape = f->tape;
    int64_t batch = value_size(f->ids, 0), seq = value_size(f->ids, 1), size[] = {batch, seq};
    int64_t whole = f->seen != NULL ? batch / 2 : batch, kept = seq - seq / 2;
    struct value *differs = tensor_passing(tape, DTYPE_BOOL, 2, size);
    tensor_passing(tape, DTYPE_INT32, 2, size); /* non_pad_mask */
    tape_drop(tape, differs);
    tensor_passing(tape, DTYPE_INT32, 1, &seq); /* token_indices */
    struct value *product = tensor_passing(tape, DTYPE_INT32, 2, size);
    struct value *last = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 1, &batch, false, "last tokens");
    tape_drop(tape, product);
    int frame = tape_frame_open(tape);
    tape_sequence_by(tape, tape_slice(tape, last, 0, 0, whole), seq - 1, seq);
    tape_sequence_by(tape, tape_slice(tape, last, 0, whole, batch - whole), whole * seq + kept - 1, seq);
    tape_frame_close(tape, frame, NULL);
    return last;
}

struct value *last_score_run(const struct forward *f, struct value *hidden)
{
    struct tape *tape = f->tape;
    struct value *logits = forward_linear(f, "score", hidden), *last = last_places(f);
    if (logits == NULL || last == NULL) {
        return NULL;
    }
    int64_t flat[] = {value_size(logits, 0) * value_size(logits, 1), value_size(logits, 2)};
    return tape_rows_beside(tape, tape_reshape(tape, logits, 2, flat), last);
}

/* -- the loss, and what the class returns */

static struct value *question_forward(const struct forward *f, struct value *logits)
{
    struct tape *tape = f->tape;
    struct value *columns[2], *places[2] = {f->labels, f->ends}, *losses[2];
    if (logits == NULL) {
        return NULL;
    }
    int64_t flat[] = {value_size(logits, 0), value_size(logits, 1)};
    tape_split(tape, logits, 2, 2, columns);
    for (int i = 0; i < 2; i++) {
        value_rebind(tape, &columns[i], tape_contiguous(tape, tape_reshape(tape, columns[i], 2, flat)));
    }
    forward_output_keep(f, columns[1]);
    if (f->labels == NULL) {
        return columns[0];
    }
    forward_output_keep(f, columns[0]);
    for (int i = 0; i < 2; i++) { /* clamp(0, ignored_index) */
        places[i] = tape_clone(tape, places[i]);
    }
    for (int i = 0; i < 2; i++) {
        losses[i] = forward_loss(f, columns[i], places[i], false);
    }
    return tape_losses_mean(tape, losses, 2, 2);
}

static struct value *class_loss(const struct forward *f, struct value *logits)
{
    struct tape *tape = f->tape;
    if (logits == NULL || f->skeleton->head == HEAD_SEQUENCE) {
        return forward_class_loss(f, logits);
    }
    int64_t rows = value_size(logits, 0) * value_size(logits, 1), flat[] = {rows, value_size(logits, 2)};
    forward_output_keep(f, logits);
    struct value *scores = tape_reshape(tape, logits, 2, flat);
    scores = f->skeleton->task->loss_in_float32 ? tape_cast(tape, scores, DTYPE_FLOAT32) : scores;
    return forward_loss(f, scores, tape_reshape(tape, f->labels, 1, &rows), false);
}

struct value *task_head_forward(const struct forward *f, module_body *model)
{
    const struct task_head *task = f->skeleton->task;
    char root[64];
    snprintf(root, sizeof root, "%s.", task->inside);
    int frame = tape_frame_open(f->tape);
    struct value *result = task->run(f, module_run(f, task->inside, model, root));
    if (task->head == HEAD_QUESTION) {
        result = question_forward(f, result);
    } else if (f->labels != NULL) {
        result = class_loss(f, result);
    }
    return tape_frame_close(f->tape, frame, result);
}

/* -- the mean of a sequence */

struct value *embedding_pool(const struct forward *f, struct value *hidden)
{
    struct tape *tape = f->tape;
    if (hidden == NULL) {
        return NULL;
    }
    int64_t whole[] = {value_size(hidden, 0), value_size(hidden, 1), value_size(hidden, 2)};
    int frame = tape_frame_open(tape);
    struct value *seen = tape_leaf(tape, CATEGORY_TEMPORARIES, value_dtype(hidden), 3, whole, false, "expanded mask");
    tape_fill(tape, seen, 1.0);
    if (f->seen != NULL) {
        int64_t shorter = whole[0] - whole[0] / 2, kept = whole[1] - whole[1] / 2;
        int inner = tape_frame_open(tape);
        struct value *half = tape_slice(tape, seen, 0, whole[0] - shorter, shorter);
        tape_fill(tape, tape_slice(tape, half, 1, kept, whole[1] - kept), 0.0);
        tape_frame_close(tape, inner, NULL);
    }
    struct value *rows = tape_multiply(tape, hidden, seen);
    struct value *sums = tape_sum(tape, rows, 1, false);
    tape_drop(tape, rows);
    struct value *counts = tape_sum(tape, seen, 1, false);
    value_rebind(tape, &counts, tape_add_number(tape, counts, 0.0)); /* clamp(min=1e-9) */
    struct value *mean = tape_divide_(tape, tape_clone(tape, sums), counts);
    forward_output_keep(f, hidden);
    mean = tape_frame_close(tape, frame, mean);
    tape_drop(tape, hidden);
    return mean;
}
