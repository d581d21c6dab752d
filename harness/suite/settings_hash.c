/* Settings hash: every member with its length or an end of its own, so that neighbours stay apart. */
#include "harness/suite/settings_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/suite/suite_external.h"

static uint64_t text_add(uint64_t hash, const char *text)
{
    static const char absent = 1;
    return text != NULL ? hash_bytes(hash, text, strlen(text) + 1) : hash_bytes(hash, &absent, 1);
}

/* The same number on every machine, whatever its bytes' order and the width of its int. */
static uint64_t number_add(uint64_t hash, int64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)((uint64_t)number >> (8 * i));
    }
    return hash_bytes(hash, bytes, sizeof bytes);
}

static uint64_t tolerance_add(uint64_t hash, const struct suite_tolerance *entry)
{
    int64_t fraction = 0;
    memcpy(&fraction, &entry->tolerance.fraction, sizeof fraction);
    bool is_bytes = entry->tolerance.kind == TOLERANCE_BYTES;
    hash = text_add(number_add(hash, entry->quantity), entry->estimator);
    return number_add(number_add(hash, entry->tolerance.kind), is_bytes ? entry->tolerance.bytes : fraction);
}

static uint64_t expectations_add(uint64_t hash, const struct suite_settings *settings)
{
    hash = number_add(hash, settings->expectation_count);
    for (int i = 0; i < settings->expectation_count; i++) {
        hash = number_add(hash, settings->expectations[i].quantity);
        hash = number_add(hash, settings->expectations[i].bytes);
    }
    return hash;
}

static uint64_t settings_add(uint64_t hash, const struct suite_settings *settings)
{
    int64_t milliseconds = (int64_t)(settings->timeout_seconds * 1000.0);
    hash = text_add(text_add(hash, settings->device), settings->target);
    hash = number_add(number_add(hash, settings->memory_bytes), milliseconds);
    hash = number_add(number_add(hash, settings->repeat), settings->tag_count);
    for (int i = 0; i < settings->tag_count; i++) {
        hash = text_add(hash, settings->tags[i]);
    }
    hash = number_add(hash, settings->tolerance_count);
    for (int i = 0; i < settings->tolerance_count; i++) {
        hash = tolerance_add(hash, &settings->tolerances[i]);
    }
    return expectations_add(hash, settings);
}

/* ---- tolerances, in words ---- */

enum { TOLERANCE_WORDS_BYTES = 90 };

/* A tolerance that is there already is not told again; what finds no room is in the hash. */
static void tolerance_words_add(struct text *words, const struct suite_tolerance *entry, bool *is_cut)
{
    char size[TOLERANCE_TEXT_BYTES];
    struct text one = {0};
    text_format(&one, "%s %s %s", entry->estimator, quantity_name(entry->quantity),
                tolerance_format(&entry->tolerance, size));
    const bool is_there = words->length > 0 && strstr(text_string(words), text_string(&one)) != NULL;
    const bool fits = words->length + one.length + 2 <= TOLERANCE_WORDS_BYTES;
    if (!is_there && fits) {
        text_format(words, "%s%s", words->length > 0 ? ", " : "", text_string(&one));
    }
    *is_cut = *is_cut || (!is_there && !fits);
    words->failed = words->failed || one.failed;
    text_release(&one);
}

void suite_tolerances_append(const struct suite *suite, struct text *text)
{
    const struct suite_settings *before = NULL;
    struct text words = {0};
    uint64_t hash = HASH_START;
    bool is_cut = false;
    int count = 0;
    for (int i = 0; i < suite->case_count; i++) {
        const struct suite_settings *settings = suite->cases[i].settings;
        hash = text_add(hash, suite->cases[i].id);
        for (int at = 0; at < settings->tolerance_count; at++) {
            hash = tolerance_add(hash, &settings->tolerances[at]);
            if (settings != before) {
                tolerance_words_add(&words, &settings->tolerances[at], &is_cut);
            }
        }
        hash = expectations_add(hash, settings);
        count += settings->tolerance_count + settings->expectation_count;
        before = settings;
    }
    text_append(text, words.length > 0 ? text_string(&words) : count > 0 ? "expectations alone" : "none");
    text_append(text, is_cut ? ", ..." : "");
    if (count > 0) {
        text_format(text, " (%08" PRIx32 ")", (uint32_t)(hash ^ (hash >> 32)));
    }
    text->failed = text->failed || words.failed;
    text_release(&words);
}

static uint64_t words_add(uint64_t hash, const char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        hash = text_add(hash, words[i]);
    }
    return text_add(hash, NULL);
}

static uint64_t external_add(uint64_t hash, const struct suite_external *external)
{
    hash = words_add(text_add(hash, external->name), external->command);
    hash = number_add(words_add(hash, external->version), external->quantity_count);
    for (int i = 0; i < external->quantity_count; i++) {
        hash = text_add(text_add(hash, external->quantities[i].name), external->quantities[i].pointer);
    }
    hash = number_add(number_add(hash, external->unit_bytes), external->modes);
    return number_add(hash, external->timeout_seconds);
}

void settings_hash_write(const struct suite *suite, char hash[17])
{
    uint64_t value = HASH_START;
    for (int i = 0; i < suite->case_count; i++) {
        value = settings_add(value, suite->cases[i].settings);
    }
    for (int i = 0; i < suite->external_count; i++) {
        value = external_add(value, &suite->externals[i]);
    }
    snprintf(hash, 17, "%016" PRIx64, value);
}
