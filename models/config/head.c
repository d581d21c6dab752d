/* Heads: the register, and what is read of a configuration by it. Not the modules of a head. */
#include "models/config/head.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/case/workload.h"
#include "models/config/config_keys.h"
#include "models/config/family.h"

/* Names of classes end so; the first row that fits holds. HEAD_COUNT: classes that no family here has. */
static const struct {
    const char *ending;
    enum head head;
} endings[] = {
    {"ForSequenceClassification", HEAD_SEQUENCE},
    {"ForTokenClassification", HEAD_TOKEN},
    {"ForQuestionAnswering", HEAD_QUESTION},
    {"EncoderModel", HEAD_ENCODER},
    {"ForCausalLM", HEAD_CAUSAL_LM},
    {"ForMaskedLM", HEAD_MASKED_LM},
    {"ForConditionalGeneration", HEAD_SEQ2SEQ_LM},
    {"T5WithLMHeadModel", HEAD_SEQ2SEQ_LM}, /* T5ForConditionalGeneration up to transformers 3 */
    {"LMHeadModel", HEAD_CAUSAL_LM},
    {"ForImageClassification", HEAD_IMAGE},
    {"HeadsModel", HEAD_COUNT},
    {"Model", HEAD_BARE},
};

enum { ENDING_COUNT = (int)(sizeof endings / sizeof endings[0]) };

void head_class_name(enum head head, const char *prefix, char name[CLASS_NAME_BYTES])
{
    const char *ending = "Model";
    for (int i = 0; i < ENDING_COUNT; i++) {
        if (endings[i].head == head) {
            ending = endings[i].ending;
            break;
        }
    }
    snprintf(name, CLASS_NAME_BYTES, "%s%s", prefix, ending);
}

static enum head head_of_class(const char *class_name)
{
    size_t length = strlen(class_name);
    for (int i = 0; i < ENDING_COUNT; i++) {
        size_t ending = strlen(endings[i].ending);
        if (length >= ending && strcmp(class_name + length - ending, endings[i].ending) == 0) {
            return endings[i].head;
        }
    }
    return HEAD_COUNT;
}

static unsigned head_bit(enum head head)
{
    return 1U << (unsigned)head;
}

/* The word for a head that is the family's own is HEAD_LM. */
static enum head head_settled(const struct config_heads *heads, enum head head)
{
    return head == heads->own ? HEAD_LM : head;
}

static enum head own_head(const struct family *family)
{
    return family->is_image         ? HEAD_IMAGE
           : family->encode != NULL ? HEAD_SEQ2SEQ_LM
           : family->generates      ? HEAD_CAUSAL_LM
                                    : HEAD_MASKED_LM;
}

/* id2label, else num_labels, else the two of every configuration. */
static int64_t labels_read(struct field_reader *reader)
{
    int64_t count = field_integer(reader, "num_labels", 1, INT64_C(1) << 40, 2);
    const struct json *labels = field_member(reader, "id2label");
    return json_kind(labels) == JSON_KIND_OBJECT && json_count(labels) > 0 ? (int64_t)json_count(labels) : count;
}

/* A dropout by its key; null and a key that is not there are the default of the class. */
static double dropout_read(struct field_reader *reader, const char *key, double fallback)
{
    bool is_there = json_kind(field_member(reader, key)) != JSON_KIND_NULL;
    double read = is_there ? field_real(reader, key, 0, 0.999, fallback) : fallback;
    return read;
}

/* classifier_dropout. Where it is not there: decoders take the hidden_dropout that a few of their classes have, or 0.1;
 * T5 none; encoders that of their layers, DistilBERT by keys of its own. */
static void dropouts_read(struct field_reader *reader, struct config *config)
{
    const struct family *family = config->family;
    bool knows_own = config_key_is_known(reader->keys, "classifier_dropout");
    bool takes_hidden = family->decoder == NULL || (!knows_own && config_key_is_known(reader->keys, "hidden_dropout"));
    double common = family->encode != NULL ? 0.0 : takes_hidden ? config->hidden_dropout : 0.1;
    bool has_keys = config_key_is_known(reader->keys, "seq_classif_dropout");
    if (has_keys) {
        config->sequence_dropout = dropout_read(reader, "seq_classif_dropout", 0.2);
        config->question_dropout = dropout_read(reader, "qa_dropout", 0.1);
        config->token_dropout = config->hidden_dropout;
        return;
    }
    config->token_dropout = config->sequence_dropout = dropout_read(reader, "classifier_dropout", common);
}

void heads_read(struct field_reader *reader, struct config *config)
{
    const struct family *family = config->family;
    struct config_heads heads = {.own = own_head(family), .known = head_bit(HEAD_BARE) | head_bit(HEAD_LM)};
    if (!family->is_image) {
        heads.known |= head_bit(HEAD_EMBEDDING);
        config->labels = labels_read(reader);
        dropouts_read(reader, config);
    }
    for (enum head head = HEAD_BARE; family->has_head != NULL && head < HEAD_COUNT; head++) {
        heads.known |= family->has_head(config, head) ? head_bit(head) : 0;
    }
    enum head stated = config->is_timm ? HEAD_COUNT : head_settled(&heads, head_of_class(config->architecture));
    heads.stated = stated < HEAD_COUNT && (heads.known & head_bit(stated)) != 0 ? stated : HEAD_DEFAULT;
    config->model_heads = heads;
}

enum head head_of(const struct config_heads *heads, const struct workload *workload)
{
    enum head stated = heads->stated;
    if (workload->head != HEAD_DEFAULT) {
        return head_settled(heads, workload->head);
    }
    if (workload->mode == MODE_LOAD) {
        return stated == HEAD_ENCODER ? stated : HEAD_BARE;
    }
    bool serves = workload->mode == MODE_INFER || (workload->mode == MODE_TRAIN && head_has_loss(stated));
    return serves && stated != HEAD_DEFAULT ? stated : HEAD_LM;
}

enum head head_stored(const struct config_heads *heads)
{
    return heads->stated == HEAD_DEFAULT || heads->stated == HEAD_BARE ? HEAD_LM : heads->stated;
}

enum head head_opposite(const struct config_heads *heads, enum head head)
{
    return head == HEAD_BARE ? head_stored(heads) : HEAD_BARE;
}

enum status_code head_check(const struct config_heads *heads, const char *model, enum head head, struct status *error)
{
    if (head != HEAD_DEFAULT && head < HEAD_COUNT && (heads->known & head_bit(head_settled(heads, head))) != 0) {
        return STATUS_OK;
    }
    struct text known = {0};
    for (enum head one = HEAD_BARE; one < HEAD_COUNT; one++) {
        if ((heads->known & head_bit(one)) != 0) {
            text_format(&known, "%s%s", known.length > 0 ? ", " : "", head_name(one));
        }
    }
    enum status_code code = status_set(error, STATUS_INVALID, "%s: %s has no such class; write one of: %s (lm is %s)",
                                       workload_name_words(error, FIELD_HEAD, head_name(head)).text, model,
                                       text_string(&known), head_name(heads->own));
    text_release(&known);
    return code;
}
