/* Workload: what is done with a model. The identity of a case is a model and a workload. */
#ifndef ASSAY_CASE_WORKLOAD_H
#define ASSAY_CASE_WORKLOAD_H

#include "harness/case/case_field.h"
#include "harness/case/workload_words.h"

/* Its fields, their kinds and their usual values: case_field.h. Texts are borrowed. */
#define WORKLOAD_MEMBER_NAME(member)             enum member member;
#define WORKLOAD_MEMBER_COUNT(member)            int64_t member;
#define WORKLOAD_MEMBER_SWITCH(member)           bool member;
#define WORKLOAD_MEMBER_SHARE(member)            int64_t member;
#define WORKLOAD_MEMBER_TEXT(member)             const char *member;
#define WORKLOAD_MEMBER(name, member, kind, ...) WORKLOAD_MEMBER_##kind(member)
struct workload {
    CASE_FIELD_TABLE(WORKLOAD_MEMBER)
};
#undef WORKLOAD_MEMBER
#undef WORKLOAD_MEMBER_TEXT
#undef WORKLOAD_MEMBER_SHARE
#undef WORKLOAD_MEMBER_SWITCH
#undef WORKLOAD_MEMBER_COUNT
#undef WORKLOAD_MEMBER_NAME

/* What of a model decides whether a field says something about a case of it. */
struct case_traits {
    bool is_image, has_attention;
    bool writes_text; /* a decoder: it has keys and values that a next token could read */
};

/* The fields that say something about a case: bit 1 << field (there are at most 64), that of the model always. */
uint64_t workload_fields_said(const struct workload *workload, struct case_traits traits);

/* The head of a case that says none, of a model whose configuration names none: bare for load, lm otherwise. What a
 * configuration names comes first: models/config/head.h. */
enum head workload_head(const struct workload *workload);

/* Whether the class of a head has a loss of its own: a class without one is not trained. */
bool head_has_loss(enum head head);

/* The value: of a name its enumerator, of a switch 0 or 1, of a share millionths, of
 * a text 1 if there is one. */
int64_t workload_field_value(const struct workload *workload, enum case_field field);
/* Of a text; NULL: nothing is said. */
const char *workload_field_text(const struct workload *workload, enum case_field field);
/* Whether it is the usual one of the mode. */
bool workload_field_is_usual(const struct workload *workload, enum case_field field);
/* Whether it says that there is no such thing, as false does of a switch, which is true of every case. */
bool workload_field_is_no(const struct workload *workload, enum case_field field);

/* The usual values of a mode. */
struct workload workload_default(enum mode mode);

/* A value of one field: of a text the text, borrowed, and 1; else as workload_field_value has it. */
struct case_value {
    int64_t number;
    const char *text;
};

/* From text: a count, a share, a word or an alias of it (workload_alias.h), a checked text; of a model anything.
 * STATUS_INVALID says what is wrong and lists what would be right. */
enum status_code case_value_parse(enum case_field field, const char *text, struct case_value *value,
                                  struct status *error);

void workload_put(struct workload *workload, enum case_field field, const struct case_value *value);

/* Both at once, of a field named by its key; an unknown key is STATUS_INVALID too. */
enum status_code workload_set(struct workload *workload, const char *key, const char *text, struct status *error);

/* Whether the model runs under autocast, with weights in float32 (a precision's) or in less (the field). */
bool workload_is_autocast(const struct workload *workload);

/* Whether a gradient scaler multiplies the loss. */
bool workload_is_scaled(const struct workload *workload);

/* Whether the weights are of 16 bits or quantised, so that the field autocast says something. */
bool workload_takes_autocast(const struct workload *workload);

/* Whether the optimizer is one of bitsandbytes' that keep moments in 8 bits. */
bool workload_steps_in_8bit(const struct workload *workload);

/* Whether weights are stored as bitsandbytes stores them: int8 or int4, and projections alone. */
bool workload_is_bitsandbytes(const struct workload *workload);
/* Whether the graph of a loss holds anything after its backward pass: the input of checkpointed adapters, which is a
 * leaf, or what layers of bitsandbytes keep as attributes. */
bool workload_graph_holds(const struct workload *workload);

/* Whether weights come packed, as GPTQ or AWQ stored them: transformers loads them as they are and computes in
 * float16. */
bool workload_is_packed(const struct workload *workload);
/* Whether the loss is taken of some tokens at a time. */
bool workload_loss_is_chunked(const struct workload *workload);

/* Whether the mode has such a field, where another value than the usual one is said. STATUS_INVALID says which have. */
enum status_code workload_field_check(const struct workload *workload, enum case_field field, struct status *error);

/* Whether the fields fit together (an optimizer only when training, ...). STATUS_INVALID with the reason. */
enum status_code workload_check(const struct workload *workload, struct status *error);

#endif
