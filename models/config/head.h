/* Heads: what a model ends in. Which one a configuration names (`architectures`), which ones the classes of its family
 * have, and which one a case takes. What a head is made of: models/forward/task_head.h. */
#ifndef ASSAY_CONFIG_HEAD_H
#define ASSAY_CONFIG_HEAD_H

#include "harness/case/workload.h"
#include "models/config/config.h"
#include "models/config/field.h"

/* config->model_heads, config->labels and the probabilities of dropouts in heads, once the family has read its fields.
 *
 * The end of the name of a class says it: BertForTokenClassification has HEAD_TOKEN. If it is none, or one that the
 * model has not, nothing is named (HEAD_DEFAULT), and config_notes.h notes it. */
void heads_read(struct field_reader *reader, struct config *config);

/* The head of a case, as skeletons are built with. One that is said is taken, HEAD_CAUSAL_LM and its like for HEAD_LM.
 * Else loading is of the model without a head (of an encoder alone, if that is named); a pass is of the class that the
 * configuration names, HEAD_LM if it names none, or none that can do it: a model without a head has no loss to learn by
 * and no tokens to write. */
enum head head_of(const struct config_heads *heads, const struct workload *workload);

/* The head of the files of a model, if they have one: that of the configuration, else HEAD_LM. */
enum head head_stored(const struct config_heads *heads);

/* What the files of a model are held against besides a head: without one, if it is one; else head_stored. */
enum head head_opposite(const struct config_heads *heads, enum head head);

/* Whether the model has the head. STATUS_INVALID names those that it has. */
enum status_code head_check(const struct config_heads *heads, const char *model, enum head head, struct status *error);

/* "BertForTokenClassification", of "Bert" and HEAD_TOKEN. The head is none over tokens or images (HEAD_LM). */
enum { CLASS_NAME_BYTES = 80 };
void head_class_name(enum head head, const char *prefix, char name[CLASS_NAME_BYTES]);

#endif
