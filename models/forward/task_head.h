/* Task heads: what a class has behind the bare model, other than a head over tokens or images: a class of each sequence
 * or token, where an answer begins and ends, and, without weights, the mean over the tokens of a sequence.
 *
 * A family has a table of rows, one for each head that its classes have; skeleton and forward pass follow from the row.
 * Most rows are the same: TASK_HEADS_... below. Each head has the loss of its class: cross entropy over the classes of
 * sequences or tokens, or half the sum of those over the places of first and last tokens. */
#ifndef ASSAY_FORWARD_TASK_HEAD_H
#define ASSAY_FORWARD_TASK_HEAD_H

#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

struct task_head {
    enum head head;
    const char *inside; /* the bare model in the class: "bert" */
    bool is_first;      /* its modules are registered before the model */
    bool loss_in_float32;
    void (*list)(struct skeleton_builder *builder, int root);
    /* Logits of what the model returned: of a sequence [B, C], of tokens [B, S, C], of an answer [B, S, 2]. What the
     * real code has names for stays with the open frame. */
    struct value *(*run)(const struct forward *forward, struct value *hidden);
};

/* The row of a table that ends with HEAD_DEFAULT; NULL if it has none, or there is no table. */
const struct task_head *task_head_find(const struct task_head *rows, enum head head);

/* The class: its root, named by prefix and head ("Bert", "BertForTokenClassification"), its modules, and within it the
 * bare model, which list makes below the module it is given. */
typedef void task_model_list(struct skeleton_builder *builder, int model);
void task_head_skeleton(struct skeleton_builder *builder, const struct task_head *task, const char *prefix,
                        const char *model_class, task_model_list *list);

/* What the class returns: logits, or the loss if there are labels. model runs the bare model below a root, and gives
 * what the row is run over: the last hidden state. */
struct value *task_head_forward(const struct forward *forward, module_body *model);

/* The mean of the rows of hidden [B, S, h] that are not padding: Pooling of sentence-transformers. The output keeps the
 * rows. Takes over hidden. */
struct value *embedding_pool(const struct forward *forward, struct value *hidden);

/* -- parts of rows */

/* "dropout" and "classifier" of each token; "score" in place of the latter, as newer decoders have it. */
void classifier_list(struct skeleton_builder *builder, int root);
struct value *token_classifier_run(const struct forward *forward, struct value *hidden);
void token_score_list(struct skeleton_builder *builder, int root);
struct value *token_score_run(const struct forward *forward, struct value *hidden);

/* "qa_outputs". */
void question_list(struct skeleton_builder *builder, int root);
struct value *question_run(const struct forward *forward, struct value *hidden);

/* "score" of every token, of which the last one of each sequence counts that is no padding. */
void last_score_list(struct skeleton_builder *builder, int root);
struct value *last_score_run(const struct forward *forward, struct value *hidden);

/* Rows of decoders, whose bare model is the module `inside`. */
#define TASK_HEAD_LAST(inside_)                                                                                        \
    {                                                                                                                  \
        .head = HEAD_SEQUENCE, .inside = (inside_), .list = last_score_list, .run = last_score_run                     \
    }
#define TASK_HEAD_TOKEN_SCORE(inside_)                                                                                 \
    {                                                                                                                  \
        .head = HEAD_TOKEN, .inside = (inside_), .list = token_score_list, .run = token_score_run,                     \
        .loss_in_float32 = true                                                                                        \
    }
#define TASK_HEAD_TOKEN(inside_)                                                                                       \
    {                                                                                                                  \
        .head = HEAD_TOKEN, .inside = (inside_), .list = classifier_list, .run = token_classifier_run                  \
    }
#define TASK_HEAD_QUESTION(inside_)                                                                                    \
    {                                                                                                                  \
        .head = HEAD_QUESTION, .inside = (inside_), .list = question_list, .run = question_run                         \
    }

#endif
