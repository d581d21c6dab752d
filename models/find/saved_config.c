/* Saved configuration: three keys of the document. The rest is the publisher's. */
#include "models/find/saved_config.h"

static bool key_is_there(const struct json *document, const char *key)
{
    return json_get(document, key) != NULL;
}

/* Under the keys that are there. Where none is, under the one that all releases of transformers read. */
static bool dtype_set(struct json *document, enum dtype precision)
{
    const char *name = dtype_name(precision);
    bool has_new = key_is_there(document, "dtype"), has_old = key_is_there(document, "torch_dtype");
    bool made = true;
    if (has_new) {
        made = json_set(document, "dtype", json_string_new(name));
    }
    if (has_old || !has_new) {
        made = json_set(document, "torch_dtype", json_string_new(name)) && made;
    }
    return made;
}

static bool class_set(struct json *document, const char *class_name)
{
    struct json *classes = json_array_new();
    bool made = json_append(classes, json_string_new(class_name));
    return json_set(document, "architectures", json_made(classes, made));
}

enum status_code saved_config_make(struct json *document, const struct skeleton *skeleton, enum dtype precision,
                                   bool *dequantized, struct status *error)
{
    bool is_timm = skeleton->config->is_timm;
    bool made = dtype_set(document, precision);
    made = made && (is_timm || class_set(document, skeleton->modules[0].class_name));
    *dequantized = key_is_there(document, "quantization_config");
    if (*dequantized) {
        json_remove(document, "quantization_config");
    }
    return made ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for config.json");
}
