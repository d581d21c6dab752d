/* Inferred configuration: the rows of tensor_family against a header, and a document made of what they find. Not a guess at
 * weights: heads and what only a configuration says are assumptions, and called so. */
#include "models/inferred_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "models/config_keys.h"
#include "models/stored_precision.h"
#include "models/tensor_family.h"

enum { NAME_BYTES = 256, GEMMA_TOKENS = 256000 };

struct heads {
    int64_t count, elements;
    bool is_exact;
};

/* number: of the layer that '#' stands for. */
static const struct checkpoint_tensor *tensor_at(const struct checkpoint *checkpoint, const char *prefix,
                                                 const char *name, int number)
{
    char path[NAME_BYTES];
    const char *mark = strchr(name, '#');
    const char *front = name[0] == '/' ? "" : prefix;
    name += name[0] == '/' ? 1 : 0;
    if (mark == NULL) {
        snprintf(path, sizeof path, "%s%s", front, name);
    } else {
        snprintf(path, sizeof path, "%s%.*s%d%s", front, (int)(mark - name), name, number, mark + 1);
    }
    return checkpoint_find(checkpoint, path);
}

static int64_t size_of(const struct checkpoint *checkpoint, const char *prefix, const char *name, int axis)
{
    const struct checkpoint_tensor *tensor = name != NULL ? tensor_at(checkpoint, prefix, name, 0) : NULL;
    return tensor != NULL && axis < tensor->rank ? tensor->shape[axis] : 0;
}

static bool prefix_fits(const struct checkpoint *checkpoint, const struct tensor_family *family, const char *prefix)
{
    for (const char *const *name = family->needs; *name != NULL; name++) {
        if (tensor_at(checkpoint, prefix, *name, 0) == NULL) {
            return false;
        }
    }
    for (const char *const *name = family->lacks; *name != NULL; name++) {
        if (tensor_at(checkpoint, prefix, *name, 0) != NULL) {
            return false;
        }
    }
    return true;
}

/* The first row that fits and is of the type that is asked for, if one is. */
static const struct tensor_family *family_look(const struct checkpoint *checkpoint, const char *type,
                                               const char **prefix)
{
    const struct tensor_family *family;
    for (int i = 0; (family = tensor_family_at(i)) != NULL; i++) {
        bool is_meant = type != NULL ? strcmp(family->model_type, type) == 0 : !family->only_asked;
        for (const char *const *one = family->prefixes; is_meant && *one != NULL; one++) {
            if (prefix_fits(checkpoint, family, *one)) {
                *prefix = *one;
                return family;
            }
        }
    }
    return NULL;
}

static int64_t layers_count(const struct checkpoint *checkpoint, const char *prefix, const char *name)
{
    int count = 0;
    while (count < checkpoint->tensor_count && tensor_at(checkpoint, prefix, name, count) != NULL) {
        count++;
    }
    return count;
}

/* The side of an image whose patches have a row each, beside that of the class; 0: they make no square. */
static int64_t image_side(int64_t rows, int64_t patch)
{
    int64_t side = 1;
    while (side < 65536 && side * side < rows - 1) {
        side++;
    }
    return side * side == rows - 1 && patch > 0 && patch < 65536 ? side * patch : 0;
}

static bool number_add(struct json *document, const char *key, int64_t number)
{
    return number <= 0 || json_set(document, key, json_integer_new(number));
}

static bool fact_add(const struct checkpoint *checkpoint, const char *prefix, const struct tensor_fact *fact,
                     struct json *document)
{
    bool is_there = tensor_at(checkpoint, prefix, fact->tensor, 0) != NULL;
    bool is_beside = fact->tensor[0] == '/' && prefix[0] == '\0'; /* a model without its head says nothing of it */
    int64_t size = size_of(checkpoint, prefix, fact->tensor, fact->axis);
    switch (fact->kind) {
    case TENSOR_SIZE:
        return number_add(document, fact->key, (size - fact->less) / (fact->divisor > 0 ? fact->divisor : 1));
    case TENSOR_COUNT:
        return number_add(document, fact->key, layers_count(checkpoint, prefix, fact->tensor));
    case TENSOR_PRESENT:
        return json_set(document, fact->key, json_boolean_new(is_there));
    case TENSOR_ABSENT:
        return (is_beside && !is_there) || json_set(document, fact->key, json_boolean_new(!is_there));
    case TENSOR_TEXT:
        return !is_there || json_set(document, fact->key, json_string_new(fact->text));
    case TENSOR_IMAGE:
        return number_add(document, fact->key, image_side(size, json_integer_or(json_get(document, "patch_size"), 0)));
    }
    return false;
}

static struct heads heads_of(const struct checkpoint *checkpoint, const char *prefix, const struct tensor_heads *from,
                             int64_t *keys)
{
    int64_t queries = size_of(checkpoint, prefix, from->queries, from->queries_axis);
    int64_t exact = size_of(checkpoint, prefix, from->exact, 0), count = size_of(checkpoint, prefix, from->count, 1);
    int64_t usual = from->usual > 0 ? from->usual : queries >= from->wide_from ? 128 : 64;
    struct heads heads = {.is_exact = true};
    *keys = from->keys != NULL ? size_of(checkpoint, prefix, from->keys, 0) : queries;
    *keys = from->keys_are_rest ? (*keys - queries) / 2 : *keys;
    if (queries <= 0 || *keys <= 0) {
        return heads;
    }
    if (exact > 0 && exact <= queries / from->exact_factor) {
        heads.elements = exact * from->exact_factor;
    } else if (count > 0) {
        heads.elements = queries / count;
    } else {
        heads.is_exact = false;
        for (heads.elements = usual; heads.elements > 1;) {
            if (queries % heads.elements == 0 && *keys % heads.elements == 0) {
                break;
            }
            heads.elements = heads.elements % 3 == 0 ? 128 : heads.elements / 2; /* 96 is Phi-3-mini's alone */
        }
    }
    heads.count = heads.elements > 0 ? queries / heads.elements : 0;
    return heads;
}

/* What is being told from which file. */
struct telling {
    const struct checkpoint *checkpoint;
    const char *name, *type; /* type: the one that is asked for, or NULL */
    const struct tensor_family *family;
    const char *prefix;
    struct heads heads;
    struct json *document;
};

/* A tied decoder of 256,000 tokens is probably a Gemma, whose tape is another. */
static bool is_doubtful(const struct telling *telling)
{
    return telling->type == NULL && strcmp(telling->family->model_type, "llama") == 0 &&
           json_boolean_or(json_get(telling->document, "tie_word_embeddings"), false) &&
           json_integer_or(json_get(telling->document, "vocab_size"), 0) == GEMMA_TOKENS;
}

/* RoBERTa under BERT's names: one type of token, or a table with two rows before the first token's. */
static bool is_roberta(const struct telling *telling)
{
    int64_t rows = json_integer_or(json_get(telling->document, "max_position_embeddings"), 0);
    return telling->type == NULL && strcmp(telling->family->model_type, "bert") == 0 && telling->prefix[0] == '\0' &&
           (json_integer_or(json_get(telling->document, "type_vocab_size"), 0) == 1 ||
            (rows > 2 && (rows - 2) % 64 == 0));
}

static void inferred_write(const struct tensor_family *family, const char *prefix, bool is_exact,
                           const struct config *config, struct inferred *inferred)
{
    const struct config_keys *keys = config_keys_of(family->model_type);
    char tokens[48] = "", counted[128] = "";
    if (config->vocab > 0) {
        snprintf(tokens, sizeof tokens, ", %" PRId64 " tokens", config->vocab);
    }
    if (!is_exact && config->kv_heads != config->heads) {
        snprintf(counted, sizeof counted, "%" PRId64 " heads of %" PRId64 ", %" PRId64 " key-value %s; ", config->heads,
                 config->head_dim, config->kv_heads, config->kv_heads == 1 ? "head" : "heads");
    } else if (!is_exact) {
        snprintf(counted, sizeof counted, "%" PRId64 " %s of %" PRId64 "; ", config->heads,
                 config->heads == 1 ? "head" : "heads", config->head_dim);
    }
    inferred->is_inferred = true;
    snprintf(inferred->evidence, sizeof inferred->evidence, "%s%s, %s%s: %s; %" PRId64 " %s, %" PRId64 " wide%s",
             prefix, family->needs[0], prefix, family->needs[1], family->model_type, config->layers,
             config->layers == 1 ? "layer" : "layers", config->hidden, tokens);
    snprintf(inferred->assumed, sizeof inferred->assumed, "%swhat else a config.json says, as %s has it by default%s%s",
             counted, keys != NULL ? keys->class_name : family->model_type, family->also != NULL ? "; " : "",
             family->also != NULL ? family->also : "");
}

/* What the tensors say, as a config.json would. */
static enum status_code document_fill(struct telling *telling, struct status *error)
{
    const struct tensor_family *family = telling->family;
    const struct stored_precision stored = stored_precision_of(telling->checkpoint);
    struct json *document = telling->document;
    int64_t keys = 0;
    telling->heads = heads_of(telling->checkpoint, telling->prefix, &family->heads, &keys);
    int64_t elements = telling->heads.elements;
    bool made = json_set(document, "model_type", json_string_new(family->model_type));
    for (const struct tensor_fact *fact = family->facts; fact->key != NULL && made; fact++) {
        made = fact_add(telling->checkpoint, telling->prefix, fact, document);
    }
    made = made && number_add(document, family->heads.heads_key, telling->heads.count) &&
           (family->heads.kv_key == NULL || elements == 0 ||
            number_add(document, family->heads.kv_key, keys / elements)) &&
           (family->heads.dim_key == NULL || number_add(document, family->heads.dim_key, elements)) &&
           (!stored.is_precision || json_set(document, "dtype", json_string_new(precision_name(stored.precision))));
    return made ? STATUS_OK
                : status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its configuration",
                             telling->checkpoint->name);
}

static enum status_code unknown_fail(const struct checkpoint *checkpoint, const char *type, struct status *error)
{
    return type != NULL
               ? status_set(error, STATUS_INVALID,
                            "%s: there is no config.json beside it, and its tensors are not those of %s; put the "
                            "model's config.json beside it",
                            checkpoint->name, type)
               : status_set(error, STATUS_INVALID,
                            "%s: there is no config.json beside it, and its tensors do not tell what the model is; put "
                            "the model's config.json beside it",
                            checkpoint->name);
}

static enum status_code family_tell(struct telling *telling, struct status *error)
{
    const char *type = telling->type;
    telling->family = family_look(telling->checkpoint, type, &telling->prefix);
    if (telling->family == NULL) {
        return unknown_fail(telling->checkpoint, type, error);
    }
    enum status_code code = document_fill(telling, error);
    if (code == STATUS_OK && is_roberta(telling)) {
        telling->family = family_look(telling->checkpoint, "roberta", &telling->prefix);
        code = document_fill(telling, error);
    }
    if (code == STATUS_OK && is_doubtful(telling)) {
        code =
            status_set(error, STATUS_INVALID,
                       "%s: there is no config.json beside it, and its tensors are those of llama and of gemma, which "
                       "differ; write %s#gemma or %s#llama, or put the model's config.json beside it",
                       telling->checkpoint->name, telling->name, telling->name);
    }
    return code;
}

enum status_code config_infer(const struct checkpoint *checkpoint, const char *name, struct config *config,
                              struct inferred *inferred, struct status *error)
{
    char bare[CONFIG_NAME_BYTES];
    struct telling telling = {.checkpoint = checkpoint,
                              .name = name,
                              .type = config_read_as(name, bare),
                              .prefix = "",
                              .document = json_object_new()};
    struct text path = {0};
    enum status_code code = family_tell(&telling, error);
    text_format(&path, "%s, by its tensors", checkpoint->name);
    if (code == STATUS_OK) {
        code = config_of_json(telling.document, text_string(&path), name, config, error);
    }
    if (code == STATUS_OK) {
        *inferred = (struct inferred){0};
        inferred_write(telling.family, telling.prefix, telling.heads.is_exact, config, inferred);
    }
    text_release(&path);
    json_release(telling.document);
    return code;
}
