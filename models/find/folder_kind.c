/* Kinds of folders: what the file of a kind says is shown, so that the next command can be written. Not a reader of
 * adapters or pipelines. */
#include "models/find/folder_kind.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/json.h"
#include "harness/base/text.h"

enum { FILE_BYTES_MAXIMUM = 1 << 20, PARTS_SHOWN = 8 };

static void adapter_describe(const char *name, const struct json *document, struct text *text)
{
    const char *base = json_string_or(json_get(document, "base_model_name_or_path"), NULL);
    const char *type = json_string_or(json_get(document, "peft_type"), "PEFT");
    int64_t rank = json_integer_or(json_get(document, "r"), 0);
    text_format(text, "%s is an adapter of PEFT (%.40s", name, type);
    if (rank > 0) {
        text_format(text, " of rank %lld", (long long)rank);
    }
    text_format(text, "), and no model; name its base model%s%.200s", base != NULL ? ", " : "",
                base != NULL ? base : "");
    if (rank > 0 && strcmp(type, "LORA") == 0) {
        text_format(text, ", with --lora-rank %lld to train such an adapter", (long long)rank);
    }
}

/* Parts of a pipeline are pairs, ["transformers", "CLIPTextModel"]; null where it has none. */
static void pipeline_describe(const char *name, const struct json *document, struct text *text)
{
    int shown = 0;
    text_format(text, "%s is a pipeline of diffusers (%.60s), and not one model; name one of its parts", name,
                json_string_or(json_get(document, "_class_name"), "model_index.json"));
    for (const char *key = json_key_after(document, NULL); key != NULL && shown < PARTS_SHOWN;
         key = json_key_after(document, key)) {
        const struct json *part = json_get(document, key);
        if (key[0] != '_' && json_count(part) == 2 && json_kind(json_at(part, 0)) == JSON_KIND_STRING) {
            text_format(text, "%s %s/%.60s", shown++ == 0 ? ":" : ",", name, key);
        }
    }
}

/* [{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}, ...] */
static void modules_describe(const char *name, const struct json *document, struct text *text)
{
    text_format(text, "%s is a list of modules of sentence-transformers (modules.json)", name);
    for (size_t i = 0; i < json_count(document); i++) {
        const struct json *module = json_at(document, i);
        const char *type = json_string_or(json_get(module, "type"), ""), *last = strrchr(type, '.');
        const char *path = json_string_or(json_get(module, "path"), "");
        if (strcmp(last != NULL ? last + 1 : type, "Transformer") == 0 && path[0] != '\0') {
            text_format(text, ", and its model lies deeper; name %s/%.100s", name, path);
            return;
        }
    }
    text_append(text, ", and has no config.json beside it; name the folder of its model");
}

static const struct {
    const char *file;
    void (*describe)(const char *name, const struct json *document, struct text *text);
} kinds[] = {
    {"adapter_config.json", adapter_describe},
    {"model_index.json", pipeline_describe},
    {"modules.json", modules_describe},
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const char *folder_kind_file(int kind)
{
    return kind < KIND_COUNT ? kinds[kind].file : NULL;
}

enum status_code folder_kind_refuse(int kind, const char *name, const char *path, struct status *error)
{
    struct json *document = NULL;
    struct text text = {0};
    enum status_code code = json_parse_python_file(path, FILE_BYTES_MAXIMUM, &document, error);
    if (code != STATUS_OK) {
        return code;
    }
    kinds[kind].describe(name, document, &text);
    code = text.failed ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a message")
                       : status_set(error, STATUS_INVALID, "%s", text_string(&text));
    text_release(&text);
    json_release(document);
    return code;
}

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

enum status_code folder_kind_check(const char *name, struct status *error)
{
    const char *slash = strrchr(name, '/');
    const char *last = slash != NULL ? slash + 1 : name;
    int folder_length = slash == NULL ? 0 : (int)(slash - name);
    size_t length = strlen(name);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        char path[PATH_MAX], folder[PATH_MAX];
        if (strcmp(last, kinds[kind].file) == 0 && is_file(name)) {
            snprintf(folder, sizeof folder, "%.*s", folder_length, name);
            return folder_kind_refuse(kind, folder_length > 0 ? folder : ".", name, error);
        }
        const char *between = length > 0 && name[length - 1] == '/' ? "" : "/";
        int count = snprintf(path, sizeof path, "%s%s%s", name, between, kinds[kind].file);
        if (count > 0 && count < PATH_MAX && is_file(path)) {
            return folder_kind_refuse(kind, name, path, error);
        }
    }
    return STATUS_OK;
}
