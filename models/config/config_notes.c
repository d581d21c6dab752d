/* Configuration notes: keys of a document held against what was read of it and what its class knows. Not a judge:
 * whether a note is a warning or an error is decided in harness/cli. */
#include "models/config/config_notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json_place.h"
#include "harness/base/nearest.h"
#include "models/config/config_keys.h"

enum { KEY_LENGTH_LEAST = 4, EDITS_IN = 4, KEY_SHOWN = 60 };

static bool words_have(const char *words, const char *key)
{
    size_t length = strlen(key);
    for (const char *found = strstr(words, key); length > 0 && found != NULL; found = strstr(found + 1, key)) {
        if (found[-1] == ' ' && found[length] == ' ') {
            return strchr(key, ' ') == NULL;
        }
    }
    return false;
}

const struct config_keys *config_keys_of(const char *model_type)
{
    const struct config_keys *keys;
    for (size_t i = 0; (keys = config_keys_at(i)) != NULL; i++) {
        if (strcmp(keys->model_type, model_type) == 0) {
            return keys;
        }
    }
    return NULL;
}

bool config_file_has(const char *model_type, const char *key)
{
    const struct config_keys *keys = config_keys_of(model_type);
    if (keys == NULL || !words_have(keys->keys, key)) {
        return false;
    }
    for (const struct config_alias *alias = keys->aliases; alias->key != NULL; alias++) {
        if (strcmp(alias->key, key) == 0) {
            return false;
        }
    }
    return true;
}

bool config_key_is_known(const struct config_keys *keys, const char *key)
{
    return keys == NULL ? words_have(config_timm_keys(), key)
                        : words_have(keys->keys, key) || words_have(config_common_keys(), key);
}

__attribute__((format(printf, 5, 6))) static void note_add(struct config *config, enum config_note_kind kind,
                                                           const char *key, struct file_place place, const char *format,
                                                           ...)
{
    if (config->note_count == CONFIG_NOTES_MAXIMUM) {
        return;
    }
    struct config_note *note = &config->notes[config->note_count++];
    struct status said = {0};
    char rest[256], line[STATUS_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    *note = (struct config_note){.kind = kind};
    snprintf(note->key, sizeof note->key, "%s", key);
    status_set_at(&said, STATUS_OK, place, "%s", rest);
    snprintf(note->text, sizeof note->text, "%.*s", CONFIG_NOTE_BYTES - 1, status_line(&said, line));
}

/* Whether the reader has asked for the key, or would take it in the place of one. */
static bool is_read(const struct field_reader *reader, const char *key)
{
    for (int i = 0; i < reader->record->read_count; i++) {
        if (strcmp(reader->record->read[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static int edits_allowed(const char *key)
{
    size_t length = strlen(key);
    return length < KEY_LENGTH_LEAST || length > 64 ? 0 : (int)length / EDITS_IN;
}

/* The nearer of best and name to key, if it is near enough. */
static const char *nearer(const char *key, const char *name, int *least, const char *best)
{
    int length = (int)strlen(key), other = (int)strlen(name);
    if (abs(length - other) > *least) {
        return best;
    }
    int found = name_distance(key, name);
    if (found > *least || (found == *least && best != NULL)) {
        return best;
    }
    *least = found;
    return name;
}

/* What a field of another class is called in this one, "n_layer" of GPT-2 in Llama, if that is not in the file. */
static const char *key_of_others(const struct field_reader *reader, const char *key)
{
    const struct config_keys *keys;
    for (size_t i = 0; (keys = config_keys_at(i)) != NULL; i++) {
        for (const struct config_alias *alias = keys->aliases; alias->key != NULL; alias++) {
            if (strcmp(alias->field, key) == 0 && is_read(reader, alias->key) &&
                json_get(reader->object, alias->key) == NULL) {
                return alias->key;
            }
        }
    }
    return NULL;
}

/* The key that was probably meant: one that is read, by any of its names. NULL: none resembles it. */
static const char *key_meant(const struct field_reader *reader, const char *key)
{
    const char *best = key_of_others(reader, key);
    if (best != NULL) {
        return best;
    }
    int least = edits_allowed(key);
    for (int i = 0; i < reader->record->read_count && least > 0; i++) {
        best = nearer(key, reader->record->read[i], &least, best);
    }
    const struct config_alias *alias = reader->keys != NULL ? reader->keys->aliases : NULL;
    for (; alias != NULL && alias->key != NULL && least > 0; alias++) {
        best = is_read(reader, alias->field) ? nearer(key, alias->key, &least, best) : best;
    }
    return best;
}

/* The word of a list that resembles the key most, nearer than *least; best where none does. */
static void word_meant(const char *words, const char *key, int *least, char best[64])
{
    while (*(words += strspn(words, " ")) != '\0') {
        char word[64];
        size_t length = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (length < sizeof word && nearer(key, word, least, best[0] != '\0' ? best : NULL) == word) {
            memcpy(best, word, length + 1);
        }
        words += length;
    }
}

/* Where a key is looked for, and what is known there. Words are lists as in config_keys.h; "" has none. */
struct key_place {
    const struct json *object;
    const char *parent;             /* the way to it, "/rope_parameters"; "" for the document */
    const char *words, *more_words; /* keys that are known */
    const char *reader;             /* who would read them: "LlamaConfig" */
};

/* The key of the lists that was probably meant; "" if none resembles it. */
static void listed_key_meant(const struct key_place *place, const char *key, char best[64])
{
    int least = edits_allowed(key);
    best[0] = '\0';
    if (least > 0) {
        word_meant(place->words, key, &least, best);
        word_meant(place->more_words, key, &least, best);
    }
}

static struct file_place key_place_find(const struct field_reader *reader, const char *parent, const char *key)
{
    struct json_place found = {0};
    char pointer[256];
    snprintf(pointer, sizeof pointer, "%.120s/%.120s", parent, key);
    json_place_find(reader->path, pointer, &found);
    return (struct file_place){reader->path, found.line, found.column};
}

/* Of the keys that nobody knows: those that resemble one that is known, or the others. */
static void unknown_take(const struct field_reader *reader, const struct key_place *at, bool resembling,
                         struct config *config)
{
    char listed[64], within[80] = "";
    bool is_document = at->parent[0] == '\0';
    int looked_at = 0;
    const char *key = json_key_after(at->object, NULL);
    if (!is_document) {
        snprintf(within, sizeof within, " in %.64s", at->parent + 1);
    }
    for (; key != NULL && looked_at < CONFIG_KEYS_LOOKED_AT && config->note_count < CONFIG_NOTES_MAXIMUM;
         key = json_key_after(at->object, key)) {
        if ((is_document && is_read(reader, key)) || words_have(at->words, key) || words_have(at->more_words, key)) {
            continue;
        }
        looked_at++;
        listed_key_meant(at, key, listed);
        const char *meant = is_document ? key_meant(reader, key) : NULL;
        meant = meant == NULL && listed[0] != '\0' ? listed : meant;
        if ((meant != NULL) != resembling) {
            continue;
        }
        const struct file_place place = key_place_find(reader, at->parent, key);
        if (resembling) {
            note_add(config, CONFIG_NOTE_RESEMBLES, key, place, "unknown key '%.*s'%s; did you mean '%s'?", KEY_SHOWN,
                     key, within, meant);
        } else {
            note_add(config, CONFIG_NOTE_UNKNOWN, key, place, "unknown key '%.*s'%s; neither %s nor assay reads it",
                     KEY_SHOWN, key, within, at->reader);
        }
    }
}

/* Objects within: since transformers 5 that of the positions has one for each kind of layer. */
static void inner_take(const struct field_reader *reader, bool resembling, struct config *config)
{
    static const char *const ropes[] = {"rope_parameters", "rope_scaling"};
    static const char *const kinds[] = {"full_attention", "sliding_attention"};
    const struct json *document = reader->object;
    for (int i = 0; i < 2; i++) {
        struct key_place rope = {json_get(document, ropes[i]), "", config_rope_keys(), "", "transformers"};
        char parent[64];
        bool is_by_kind = false;
        for (int kind = 0; kind < 2; kind++) {
            struct key_place inner = rope;
            inner.object = json_get(rope.object, kinds[kind]);
            inner.parent = parent;
            snprintf(parent, sizeof parent, "/%s/%s", ropes[i], kinds[kind]);
            is_by_kind = is_by_kind || inner.object != NULL;
            unknown_take(reader, &inner, resembling, config);
        }
        snprintf(parent, sizeof parent, "/%s", ropes[i]);
        rope.parent = parent;
        rope.more_words = is_by_kind ? " full_attention sliding_attention " : "";
        unknown_take(reader, &rope, resembling, config);
    }
    const struct key_place quantization = {json_get(document, "quantization_config"), "/quantization_config",
                                           config_quantization_keys(), "", "transformers"};
    unknown_take(reader, &quantization, resembling, config);
    const struct json *text = json_get(document, "text_config");
    const struct config_keys *keys = config_keys_of(json_string_or(json_get(text, "model_type"), config->model_type));
    if (keys != NULL) {
        const struct key_place inner = {text, "/text_config", keys->keys, config_common_keys(), keys->class_name};
        unknown_take(reader, &inner, resembling, config);
    }
}

/* A class that is not built, and what is answered instead. */
static void class_take(const struct field_reader *reader, struct config *config)
{
    if (config->is_timm || config->architecture[0] == '\0' || config->model_heads.stated != HEAD_DEFAULT) {
        return;
    }
    note_add(config, CONFIG_NOTE_CLASS, "architectures", key_place_find(reader, "", "architectures"),
             "'%.64s' is no class that assay builds for %.64s; answered is the model with its own head (%s), or "
             "without one",
             config->architecture, config->model_type, head_name(config->model_heads.own));
}

void config_notes_take(const struct field_reader *reader, struct config *config)
{
    class_take(reader, config);
    const struct field_record *record = reader->record;
    const struct key_place document = {
        reader->object, "", reader->keys != NULL ? reader->keys->keys : config_timm_keys(),
        reader->keys != NULL ? config_common_keys() : "", reader->keys != NULL ? reader->keys->class_name : "timm"};
    unknown_take(reader, &document, true, config);
    inner_take(reader, true, config);
    for (int i = 0; i < record->missing_count; i++) {
        const char *key = record->missing[i].key;
        note_add(config, CONFIG_NOTE_MISSING, key, (struct file_place){.path = reader->path},
                 "%s is missing; %s is taken, the default of %s", key, record->missing[i].taken,
                 reader->keys != NULL ? reader->keys->class_name : "timm");
    }
    unknown_take(reader, &document, false, config);
    inner_take(reader, false, config);
}
