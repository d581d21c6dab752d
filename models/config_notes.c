/* Configuration notes: keys of a document held against what was read of it and what its class knows. Not a judge: whether a note
 * is a warning or an error is decided in harness/cli. */
#include "models/config_notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json_place.h"
#include "harness/base/nearest.h"
#include "models/config_keys.h"

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

bool config_key_is_known(const struct config_keys *keys, const char *key)
{
    return keys == NULL ? words_have(config_timm_keys(), key)
                        : words_have(keys->keys, key) || words_have(config_common_keys(), key);
}

__attribute__((format(printf, 5, 6))) static void note_add(struct config *config, enum config_note_kind kind,
                                                           const char *key, const char *place, const char *format, ...)
{
    if (config->note_count == CONFIG_NOTES_MAXIMUM) {
        return;
    }
    struct config_note *note = &config->notes[config->note_count++];
    char rest[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    *note = (struct config_note){.kind = kind};
    snprintf(note->key, sizeof note->key, "%s", key);
    snprintf(note->text, sizeof note->text, "%s: %s", place, rest);
    for (char *byte = note->text; *byte != '\0'; byte++) {
        *byte = (unsigned char)*byte < ' ' || *byte == 127 ? '?' : *byte;
    }
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

/* The nearer of best and name to key, where it is near enough. */
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

/* What a field of another class is called in this one, "n_layer" of GPT-2 in Llama, where that is not in the file. */
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

/* "; did you mean 'use_cache'?" into text: of the keys that the class has, though nothing here reads them. */
static void class_key_meant(const struct field_reader *reader, const char *key, char text[96])
{
    char best[64] = "";
    int least = edits_allowed(key);
    text[0] = '\0';
    if (least > 0) {
        word_meant(reader->keys != NULL ? reader->keys->keys : config_timm_keys(), key, &least, best);
        word_meant(reader->keys != NULL ? config_common_keys() : "", key, &least, best);
    }
    if (best[0] != '\0') {
        snprintf(text, 96, "; did you mean '%s'?", best);
    }
}

static void place_write(const struct field_reader *reader, const char *key, char *place, size_t size)
{
    struct json_place found;
    char pointer[128];
    snprintf(pointer, sizeof pointer, "/%.120s", key);
    if (json_place_find(reader->path, pointer, &found)) {
        snprintf(place, size, "%s:%d:%d", reader->path, found.line, found.column);
    } else {
        snprintf(place, size, "%s", reader->path);
    }
}

/* Of the keys that nobody knows: those that resemble one that is read, or the others. */
static void unknown_take(const struct field_reader *reader, bool resembling, struct config *config)
{
    char place[CONFIG_NOTE_BYTES];
    int looked_at = 0;
    const char *key = json_key_after(reader->object, NULL);
    for (; key != NULL && looked_at < CONFIG_KEYS_LOOKED_AT && config->note_count < CONFIG_NOTES_MAXIMUM;
         key = json_key_after(reader->object, key)) {
        if (is_read(reader, key) || config_key_is_known(reader->keys, key)) {
            continue;
        }
        looked_at++;
        const char *meant = key_meant(reader, key);
        if ((meant != NULL) != resembling) {
            continue;
        }
        place_write(reader, key, place, sizeof place);
        if (resembling) {
            note_add(config, CONFIG_NOTE_RESEMBLES, key, place, "unknown key '%.*s'; did you mean '%s'?", KEY_SHOWN,
                     key, meant);
        } else {
            char meant_here[96];
            class_key_meant(reader, key, meant_here);
            note_add(config, CONFIG_NOTE_UNKNOWN, key, place, "unknown key '%.*s'; neither %s nor assay reads it%s",
                     KEY_SHOWN, key, reader->keys != NULL ? reader->keys->class_name : "timm", meant_here);
        }
    }
}

void config_notes_take(const struct field_reader *reader, struct config *config)
{
    const struct field_record *record = reader->record;
    unknown_take(reader, true, config);
    for (int i = 0; i < record->missing_count; i++) {
        const char *key = record->missing[i].key;
        note_add(config, CONFIG_NOTE_MISSING, key, reader->path, "%s is missing; %s is taken, the default of %s", key,
                 record->missing[i].taken, reader->keys != NULL ? reader->keys->class_name : "timm");
    }
    unknown_take(reader, false, config);
}
