/* Reading of a configuration: what every file has, and which family reads the rest. Not the catalogue: names are found
 * in catalogue.c. Defaults are those of the real classes, because a file may leave out what is at its default. */
#include "models/family/config_reading.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "models/config/config_keys.h"
#include "models/config/config_notes.h"
#include "models/config/head.h"
#include "models/family/config_quantization.h"
#include "models/family/family_table.h"

static void copy_string(struct field_reader *reader, const char *key, const char *value, char *target, size_t size)
{
    int length = snprintf(target, size, "%s", value != NULL ? value : "");
    if (length < 0 || (size_t)length >= size) {
        field_fault(reader, key, "the text is longer than %zu bytes; shorten it", size - 1);
    }
}

static void read_common(struct field_reader *reader, struct config *config)
{
    config_quantization_read(reader, config);
    const char *key = field_member(reader, "dtype") != NULL ? "dtype" : "torch_dtype";
    const char *dtype = field_string(reader, key);
    if (dtype != NULL && strncmp(dtype, "torch.", 6) == 0) {
        dtype += 6;
    }
    config->states_dtype = dtype != NULL && strcmp(dtype, "auto") != 0;
    if (config->states_dtype && (!dtype_from_name(dtype, &config->dtype) || !dtype_is_floating(config->dtype))) {
        field_fault(reader, key, "'%.80s' is not known; known are float32, float16, bfloat16", dtype);
        config->dtype = DTYPE_FLOAT32;
    }
    config->initializer_range = field_real(reader, "initializer_range", 0, 1, 0.02);
    config->use_cache = field_boolean(reader, "use_cache", true);
    copy_string(reader, "transformers_version", field_string(reader, "transformers_version"),
                config->transformers_version, sizeof config->transformers_version);
    const struct json *classes = field_member(reader, "architectures");
    const char *class_name = field_string(reader, "architecture");
    copy_string(reader, "architecture", class_name != NULL ? class_name : json_string_or(json_at(classes, 0), ""),
                config->architecture, sizeof config->architecture);
}

/* "bert, gpt2, ...": every model type. */
static void types_append(struct text *text)
{
    const char *separator = "";
    const struct family *family;
    for (int i = 0; (family = family_at(i)) != NULL; i++) {
        for (const char *const *type = family->model_types; type != NULL && *type != NULL; type++) {
            text_format(text, "%s%s", separator, *type);
            separator = ", ";
        }
    }
}

/* "resnet*, vgg*, ...": every architecture up to its first digit, since whole names are too many for a message. */
static void architectures_append(struct text *text)
{
    const char *separator = "";
    const struct family *family;
    for (int i = 0; (family = family_at(i)) != NULL; i++) {
        const char *before = "";
        size_t before_length = 0;
        for (const char *const *name = family->architectures; name != NULL && *name != NULL; name++) {
            size_t length = strcspn(*name, "0123456789");
            if (length != before_length || strncmp(*name, before, length) != 0) {
                text_format(text, "%s%.*s*", separator, (int)length, *name);
                separator = ", ";
            }
            before = *name;
            before_length = length;
        }
    }
}

static void family_unknown(struct field_reader *reader, const struct config *config, bool timm)
{
    const char *value = timm ? config->architecture : config->model_type;
    struct text known = {0};
    if (!timm) {
        types_append(&known);
        text_format(&known, ", and timm's \"architecture\" ");
    }
    architectures_append(&known);
    field_fault(reader, timm ? "architecture" : "model_type", "%s%s%s; known are %s",
                value[0] != '\0' ? "'" : "it is missing", value, value[0] != '\0' ? "' is not known" : "",
                text_string(&known));
    text_release(&known);
}

bool config_names_unknown(const struct json *document)
{
    const char *type = json_string_or(json_get(document, "model_type"), "");
    const char *architecture = json_string_or(json_get(document, "architecture"), "");
    return json_kind(document) == JSON_KIND_OBJECT && family_of_type(type) == NULL &&
           (type[0] != '\0' || family_of_architecture(architecture) == NULL);
}

const char *config_read_as(const char *name, char bare[CONFIG_NAME_BYTES])
{
    const char *mark = strrchr(name, '#');
    bool is_asked = mark != NULL && mark != name && family_of_type(mark + 1) != NULL;
    snprintf(bare, CONFIG_NAME_BYTES, "%.*s", is_asked ? (int)(mark - name) : CONFIG_NAME_BYTES - 1, name);
    return is_asked ? mark + 1 : NULL;
}

/* A type that is not known becomes the one that the name asks for. */
static const struct family *family_asked(struct config *config)
{
    char bare[CONFIG_NAME_BYTES];
    const char *type = config_read_as(config->name, bare);
    if (type == NULL || config->model_type[0] == '\0') {
        return NULL;
    }
    memcpy(config->stated_type, config->model_type, sizeof config->stated_type);
    snprintf(config->model_type, sizeof config->model_type, "%s", type);
    return family_of_type(type);
}

static void read_family(struct field_reader *reader, struct config *config)
{
    copy_string(reader, "model_type", field_string(reader, "model_type"), config->model_type,
                sizeof config->model_type);
    if (reader->code != STATUS_OK) {
        return;
    }
    bool timm = config->model_type[0] == '\0' && field_member(reader, "architecture") != NULL;
    const struct family *family =
        timm ? family_of_architecture(config->architecture) : family_of_type(config->model_type);
    family = family == NULL ? family_asked(config) : family;
    if (family != NULL) {
        config->family = family;
        config->is_timm = timm;
        reader->keys = timm ? NULL : config_keys_of(config->model_type);
        if (timm) {
            snprintf(config->model_type, sizeof config->model_type, "%s", family->name);
        }
        family->read(reader, config);
        heads_read(reader, config);
    } else if (strcmp(config->model_type, "resnet") == 0) { /* its activations are not in place, its names are others */
        field_fault(reader, "model_type",
                    "the ResNet of transformers is not modelled; take timm's, for example timm/resnet50.a1_in1k");
    } else {
        family_unknown(reader, config, timm);
    }
}

enum status_code config_of_json(const struct json *document, const char *path, const char *name, struct config *config,
                                struct status *error)
{
    struct config result = {.dtype = DTYPE_FLOAT32};
    struct field_record record = {.read_count = 0};
    struct field_reader reader = {
        .object = document, .path = path, .record = &record, .error = error, .code = STATUS_OK};
    if (json_kind(document) != JSON_KIND_OBJECT) {
        reader.code = status_set_at(error, STATUS_INVALID, (struct file_place){path, 1, 1},
                                    "%s is not a configuration; write an object", json_kind_name(json_kind(document)));
    } else {
        copy_string(&reader, "name", name, result.name, sizeof result.name);
        read_common(&reader, &result);
        read_family(&reader, &result);
    }
    if (reader.code == STATUS_OK) {
        config_notes_take(&reader, &result);
        *config = result;
    }
    return reader.code;
}
