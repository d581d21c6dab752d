/* Inferred configuration: the rows of tensor_family against a header, and a document made of what they find. Not a
 * guess at weights: heads and what only a configuration says are assumptions, and called so. */
#include "models/find/inferred_config.h"
#include "models/family/config_reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "models/config/config_keys.h"
#include "models/find/stored_precision.h"
#include "models/find/tensor_facts.h"

enum { GEMMA_TOKENS = 256000, HEAD_WIDEST = 256 };

/* The first row that fits and is of the type that is asked for, if one is. */
static const struct tensor_family *family_look(const struct checkpoint *checkpoint, const char *type,
                                               struct tensor_place *place)
{
    const struct tensor_family *family;
    for (int i = 0; (family = tensor_family_at(i)) != NULL; i++) {
        bool is_meant = type != NULL ? strcmp(family->model_type, type) == 0 : !family->only_asked;
        for (const char *const *one = family->prefixes; is_meant && *one != NULL; one++) {
            *place = tensor_place_of(checkpoint, *one);
            if (tensor_family_fits(place, family)) {
                return family;
            }
        }
    }
    return NULL;
}

/* What is being told from which file. */
struct telling {
    const struct checkpoint *checkpoint;
    const char *name, *type; /* type: the one that is asked for, or NULL */
    const struct tensor_family *family;
    struct tensor_place place;
    struct tensor_heads_found heads;
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
    return telling->type == NULL && strcmp(telling->family->model_type, "bert") == 0 &&
           telling->place.prefix[0] == '\0' &&
           (json_integer_or(json_get(telling->document, "type_vocab_size"), 0) == 1 ||
            (rows > 2 && (rows - 2) % 64 == 0));
}

/* "12 heads of 64; 4 of 60 experts for each token; ", what is assumed of a model's sizes. */
static void assumed_write(const struct telling *telling, const struct config *config, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    if (!telling->heads.is_exact && config->kv_heads != config->heads) {
        length =
            (size_t)snprintf(text, size, "%" PRId64 " heads of %" PRId64 ", %" PRId64 " key-value %s; ", config->heads,
                             config->head_dim, config->kv_heads, config->kv_heads == 1 ? "head" : "heads");
    } else if (!telling->heads.is_exact) {
        length = (size_t)snprintf(text, size, "%" PRId64 " %s of %" PRId64 "; ", config->heads,
                                  config->heads == 1 ? "head" : "heads", config->head_dim);
    }
    if (config->experts > 0 && length < size) {
        snprintf(text + length, size - length, "%" PRId64 " of %" PRId64 " experts for each token; ",
                 config->active_experts, config->experts);
    }
}

static void inferred_write(const struct telling *telling, const struct config *config, struct inferred *inferred)
{
    const struct tensor_family *family = telling->family;
    const struct config_keys *keys = config_keys_of(family->model_type);
    char size[96] = "", counted[192], first[TENSOR_NAME_BYTES], second[TENSOR_NAME_BYTES];
    if (config->layers > 0) {
        snprintf(size, sizeof size, "; %" PRId64 " %s, %" PRId64 " wide", config->layers,
                 config->layers == 1 ? "layer" : "layers", config->hidden);
    }
    if (config->vocab > 0) {
        size_t length = strlen(size);
        snprintf(size + length, sizeof size - length, ", %" PRId64 " tokens", config->vocab);
    }
    assumed_write(telling, config, counted, sizeof counted);
    tensor_name_write(&telling->place, family->needs[0], 0, first);
    tensor_name_write(&telling->place, family->needs[1], 0, second);
    inferred->is_inferred = true;
    snprintf(inferred->evidence, sizeof inferred->evidence, "%.100s, %.100s: %s%s", first, second, family->model_type,
             size);
    snprintf(inferred->assumed, sizeof inferred->assumed, "%swhat else a config.json says, as %s has it by default%s%s",
             counted, keys != NULL ? keys->class_name : family->model_type, family->also != NULL ? "; " : "",
             family->also != NULL ? family->also : "");
}

/* What the tensors say, as a config.json would. */
static enum status_code document_fill(struct telling *telling, struct status *error)
{
    const struct stored_precision stored = stored_precision_of(telling->checkpoint);
    struct json *document = telling->document;
    bool made =
        json_set(document, "model_type", json_string_new(telling->family->model_type)) &&
        tensor_facts_add(&telling->place, telling->family, &telling->heads, document) &&
        (!stored.is_precision || json_set(document, "dtype", json_string_new(precision_name(stored.precision))));
    return made ? STATUS_OK
                : status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its configuration",
                             telling->checkpoint->name);
}

/* Names of timm and torchvision, which say what kind of network it is and not which. */
static const struct {
    const char *tensors[2], *what;
} networks[] = {
    {{"layer1.0.conv1.weight", "bn1.weight"},
     "a ResNet of timm or torchvision, which assay builds from timm's config.json"},
    {{"features.0.weight", "features.2.weight"},
     "a VGG of timm or torchvision, which assay builds from timm's config.json"},
    {{"s1.b1.conv1.conv.weight", "stem.conv.weight"}, "a RegNet of timm, which assay builds from timm's config.json"},
    {{"stages.0.blocks.0.conv_dw.weight", "stem.0.weight"}, "a ConvNeXt of timm, which assay does not build"},
    {{"blocks.0.attn.qkv.weight", "patch_embed.proj.weight"},
     "a vision transformer of timm, which assay builds from timm's config.json"},
    {{"convnextv2.encoder.stages.0.layers.0.dwconv.weight", "convnextv2.encoder.stages.0.layers.0.grn.weight"},
     "a ConvNeXt V2, which assay does not build"},
};

static enum status_code unknown_fail(const struct checkpoint *checkpoint, const char *type, struct status *error)
{
    char whose[192];
    snprintf(whose, sizeof whose, "do not tell what the model is");
    if (type != NULL) {
        snprintf(whose, sizeof whose, "are not those of %.64s", type);
    }
    for (size_t i = 0; type == NULL && i < sizeof networks / sizeof networks[0]; i++) {
        if (checkpoint_find(checkpoint, networks[i].tensors[0]) != NULL &&
            checkpoint_find(checkpoint, networks[i].tensors[1]) != NULL) {
            return status_set(error, STATUS_INVALID, "%s: there is no config.json beside it, and by %s it is %s",
                              checkpoint->name, networks[i].tensors[0], networks[i].what);
        }
    }
    return status_set(
        error, STATUS_INVALID,
        "%s: there is no config.json beside it, and its tensors %s; put the model's config.json beside it",
        checkpoint->name, whose);
}

/* One head of keys would be wider than any is: several, then, and no tensor says how many. */
static enum status_code keys_check(const struct telling *telling, struct status *error)
{
    if (telling->family->heads.kind != HEADS_ONE_KEY || telling->heads.keys <= HEAD_WIDEST) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID,
                      "%s: there is no config.json beside it, and its tensors are those of a %s with %" PRId64
                      " elements of keys, in heads that they do not tell; put the model's config.json beside it",
                      telling->checkpoint->name, telling->family->model_type, telling->heads.keys);
}

static enum status_code family_tell(struct telling *telling, struct status *error)
{
    const char *type = telling->type;
    telling->family = family_look(telling->checkpoint, type, &telling->place);
    if (telling->family == NULL) {
        return unknown_fail(telling->checkpoint, type, error);
    }
    enum status_code code = document_fill(telling, error);
    if (code == STATUS_OK && is_roberta(telling)) {
        telling->family = family_look(telling->checkpoint, "roberta", &telling->place);
        code = document_fill(telling, error);
    }
    code = code == STATUS_OK ? keys_check(telling, error) : code;
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
    struct telling telling = {
        .checkpoint = checkpoint, .name = name, .type = config_read_as(name, bare), .document = json_object_new()};
    struct text path = {0};
    enum status_code code = family_tell(&telling, error);
    text_format(&path, "%s, by its tensors", checkpoint->name);
    if (code == STATUS_OK) {
        code = config_of_json(telling.document, text_string(&path), name, config, error);
    }
    if (code == STATUS_OK) {
        *inferred = (struct inferred){0};
        inferred_write(&telling, config, inferred);
    }
    text_release(&path);
    json_release(telling.document);
    return code;
}
