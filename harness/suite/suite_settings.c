/* Settings: how a case is run and judged: device, target, timeout, tags, tolerances, expectations. Not what it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/device/device_spec.h"
#include "harness/suite/suite_layer.h"
#include "harness/tape/target.h"

enum { TIMEOUT_SECONDS_USUAL = 600, TIMEOUT_SECONDS_MAXIMUM = 7 * 24 * 3600, REPEAT_MAXIMUM = 1000 };

struct settings_reader {
    const struct yaml_tree *tree;
    const struct layers *layers;
    struct arena *arena;
    struct status *error;
    struct suite_settings made;
};

const struct node *layers_find(const struct layers *layers, const char *key, const struct node **key_node, bool *own)
{
    for (int i = 0; i < layers->count; i++) {
        const struct node *value = map_find(layers->maps[i], key, key_node);
        if (value != NULL) {
            if (own != NULL) {
                *own = i < layers->own_count;
            }
            return value;
        }
    }
    return NULL;
}

static enum status_code reader_no_memory(const struct settings_reader *reader)
{
    return status_set_at(reader->error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = reader->tree->path},
                         "no memory to read it");
}

static enum status_code target_words(const char *name, char words[DEVICE_SPEC_BYTES], struct status *error)
{
    const struct target *target = NULL;
    enum status_code code = target_find(name, &target, error);
    if (code == STATUS_OK) {
        snprintf(words, DEVICE_SPEC_BYTES, "%s", target->name);
    }
    return code;
}

/* A text setting that another floor reads, in the words that it has for it, in the arena. NULL if the key is
 * absent. */
static enum status_code read_words(struct settings_reader *reader, const char *key,
                                   enum status_code (*read)(const char *text, char words[DEVICE_SPEC_BYTES],
                                                            struct status *error),
                                   const char **result)
{
    const struct node *node = layers_find(reader->layers, key, NULL, NULL);
    const char *text = NULL;
    char words[DEVICE_SPEC_BYTES];
    if (node == NULL) {
        return STATUS_OK;
    }
    enum status_code code = node_text(reader->tree, node, key, &text, reader->error);
    if (code != STATUS_OK) {
        return code;
    }
    code = read(text, words, reader->error);
    if (code != STATUS_OK) {
        status_prefix(reader->error, "%s", key);
        return node_place(reader->tree, node, code, reader->error);
    }
    *result = arena_copy(reader->arena, words);
    return *result != NULL ? STATUS_OK : reader_no_memory(reader);
}

static enum status_code read_counts(struct settings_reader *reader)
{
    int64_t seconds = TIMEOUT_SECONDS_USUAL, repeat = 1;
    enum status_code code = STATUS_OK;
    const struct node *node = layers_find(reader->layers, "timeout_seconds", NULL, NULL);
    if (node != NULL) {
        code = node_integer(reader->tree, node, "timeout_seconds", 1, TIMEOUT_SECONDS_MAXIMUM, &seconds, reader->error);
    }
    node = layers_find(reader->layers, "repeat", NULL, NULL);
    if (code == STATUS_OK && node != NULL) {
        code = node_integer(reader->tree, node, "repeat", 1, REPEAT_MAXIMUM, &repeat, reader->error);
    }
    reader->made.timeout_seconds = (double)seconds;
    reader->made.repeat = (int)repeat;
    return code;
}

static enum status_code read_memory(struct settings_reader *reader)
{
    const struct node *node = layers_find(reader->layers, "memory", NULL, NULL);
    return node == NULL ? STATUS_OK
                        : node_memory(reader->tree, node, "memory", &reader->made.memory_bytes, reader->error);
}

static bool tags_have(const struct suite_settings *settings, const char *tag)
{
    for (int i = 0; i < settings->tag_count; i++) {
        if (strcmp(settings->tags[i], tag) == 0) {
            return true;
        }
    }
    return false;
}

static enum status_code tag_add(struct settings_reader *reader, const struct node *node)
{
    const char *text = NULL;
    enum status_code code = node_text(reader->tree, node, "tags", &text, reader->error);
    if (code != STATUS_OK || tags_have(&reader->made, text)) {
        return code;
    }
    if (!text_is_word(text)) {
        char quoted[NODE_QUOTE_BYTES];
        return node_fail(reader->tree, node, reader->error,
                         "tags: %s is not a tag; write up to 64 letters, digits, '.', '_' or '-'",
                         text_quote(text, quoted));
    }
    const char *copy = arena_copy(reader->arena, text);
    if (copy == NULL) {
        return reader_no_memory(reader);
    }
    reader->made.tags[reader->made.tag_count++] = copy;
    return STATUS_OK;
}

/* Tags add up over the layers. */
static enum status_code read_tags(struct settings_reader *reader)
{
    size_t capacity = 0;
    for (int i = 0; i < reader->layers->count; i++) {
        const struct node *node = map_find(reader->layers->maps[i], "tags", NULL);
        capacity += node == NULL ? 0 : node->kind == NODE_LIST ? node->count : 1;
    }
    reader->made.tags = arena_alloc(reader->arena, capacity * sizeof *reader->made.tags);
    if (reader->made.tags == NULL) {
        return reader_no_memory(reader);
    }
    for (int i = reader->layers->count - 1; i >= 0; i--) {
        const struct node *node = map_find(reader->layers->maps[i], "tags", NULL);
        const struct node *item = NULL;
        for (size_t n = 0; node != NULL && (item = node_item(node, n)) != NULL; n++) {
            enum status_code code = tag_add(reader, item);
            if (code != STATUS_OK) {
                return code;
            }
        }
    }
    return STATUS_OK;
}

/* "10%" and "0.5%"; everything else is a size. */
static enum status_code tolerance_read(struct settings_reader *reader, const struct node *node, const char *what,
                                       struct tolerance *tolerance)
{
    const char *text = NULL;
    enum status_code code = node_text(reader->tree, node, what, &text, reader->error);
    size_t length = code == STATUS_OK ? strlen(text) : 0;
    if (code != STATUS_OK || !node->is_plain || length < 2 || text[length - 1] != '%') {
        int64_t bytes = 0;
        struct status cause = {0};
        if (code == STATUS_OK && node->is_plain && tolerance_unit_check(text, &cause) != STATUS_OK) {
            return node_fail(reader->tree, node, reader->error, "%s: %s", what, cause.text);
        }
        code = code != STATUS_OK ? code : node_size(reader->tree, node, what, &bytes, reader->error);
        *tolerance = (struct tolerance){.kind = TOLERANCE_BYTES, .bytes = bytes};
        return code;
    }
    double fraction = 0.0;
    if (percentage_parse(text, &fraction, NULL) != STATUS_OK) {
        char quoted[NODE_QUOTE_BYTES];
        return node_fail(
            reader->tree, node, reader->error,
            "%s: %s is not a tolerance; write a percentage below 1000 such as 0.5%% or a size such as 1MiB", what,
            text_quote(text, quoted));
    }
    *tolerance = (struct tolerance){.kind = TOLERANCE_FRACTION, .fraction = fraction};
    return STATUS_OK;
}

static bool tolerances_have(const struct suite_settings *settings, const char *estimator, enum quantity quantity)
{
    for (int i = 0; i < settings->tolerance_count; i++) {
        const struct suite_tolerance *known = &settings->tolerances[i];
        if (known->quantity == quantity && strcmp(known->estimator, estimator) == 0) {
            return true;
        }
    }
    return false;
}

static enum status_code tolerances_of_estimator(struct settings_reader *reader, const struct node *key,
                                                const struct node *map)
{
    char what[64];
    snprintf(what, sizeof what, "tolerances of %.40s", key->text);
    enum status_code code = map_check(reader->tree, map, what, quantity_names(), reader->error);
    for (size_t i = 0; code == STATUS_OK && i < map->count; i++) {
        struct suite_tolerance entry = {.line = key->line, .column = key->column};
        const char *name = map->children[2 * i]->text;
        quantity_from_name(name, &entry.quantity);
        code = tolerance_read(reader, map->children[2 * i + 1], name, &entry.tolerance);
        if (code != STATUS_OK || tolerances_have(&reader->made, key->text, entry.quantity)) {
            continue;
        }
        entry.estimator = arena_copy(reader->arena, key->text);
        if (entry.estimator == NULL) {
            return reader_no_memory(reader);
        }
        reader->made.tolerances[reader->made.tolerance_count++] = entry;
    }
    return code;
}

/* Tolerances are merged: the innermost layer that names an estimator and a quantity decides. */
static enum status_code read_tolerances(struct settings_reader *reader)
{
    size_t capacity = 0;
    for (int i = 0; i < reader->layers->count; i++) {
        const struct node *node = map_find(reader->layers->maps[i], "tolerances", NULL);
        capacity += node != NULL ? node->weight : 0;
    }
    reader->made.tolerances = arena_alloc(reader->arena, capacity * sizeof *reader->made.tolerances);
    if (reader->made.tolerances == NULL) {
        return reader_no_memory(reader);
    }
    for (int i = 0; i < reader->layers->count; i++) {
        const struct node *node = map_find(reader->layers->maps[i], "tolerances", NULL);
        if (node != NULL && node->kind != NODE_MAP) {
            return node_fail(reader->tree, node, reader->error, "tolerances must be a map; write 'replay: {%s: 0}'",
                             quantity_name(QUANTITY_ALLOCATED_BYTES_PEAK));
        }
        for (size_t n = 0; node != NULL && n < node->count; n++) {
            enum status_code code = tolerances_of_estimator(reader, node->children[2 * n], node->children[2 * n + 1]);
            if (code != STATUS_OK) {
                return code;
            }
        }
    }
    return STATUS_OK;
}

static enum status_code read_expectations(struct settings_reader *reader)
{
    const struct node *node = layers_find(reader->layers, "expect", NULL, NULL);
    if (node == NULL) {
        return STATUS_OK;
    }
    enum status_code code = map_check(reader->tree, node, "expect", quantity_names(), reader->error);
    if (code != STATUS_OK) {
        return code;
    }
    reader->made.expectations = arena_alloc(reader->arena, node->count * sizeof *reader->made.expectations);
    if (reader->made.expectations == NULL) {
        return reader_no_memory(reader);
    }
    for (size_t i = 0; code == STATUS_OK && i < node->count; i++) {
        struct suite_expectation *entry = &reader->made.expectations[reader->made.expectation_count++];
        const char *name = node->children[2 * i]->text;
        quantity_from_name(name, &entry->quantity);
        const struct node *value = node->children[2 * i + 1];
        if (value->kind == NODE_SCALAR && value->is_plain && size_lacks_unit(value->text)) {
            return node_fail(reader->tree, value, reader->error,
                             "%s: '%s' has no unit; write %sGiB, %sMiB or, if bytes are meant, %sB", name, value->text,
                             value->text, value->text, value->text);
        }
        code = node_size(reader->tree, value, name, &entry->bytes, reader->error);
    }
    return code;
}

enum status_code settings_read(const struct yaml_tree *tree, const struct layers *layers, struct arena *arena,
                               const struct suite_settings **settings, struct status *error)
{
    struct settings_reader reader = {.tree = tree, .layers = layers, .arena = arena, .error = error};
    enum status_code code = read_words(&reader, "device", device_spec_words, &reader.made.device);
    if (code == STATUS_OK) {
        code = read_words(&reader, "for", target_words, &reader.made.target);
    }
    if (code == STATUS_OK) {
        code = read_memory(&reader);
    }
    if (code == STATUS_OK) {
        code = read_counts(&reader);
    }
    if (code == STATUS_OK) {
        code = read_tags(&reader);
    }
    if (code == STATUS_OK) {
        code = read_tolerances(&reader);
    }
    if (code == STATUS_OK) {
        code = read_expectations(&reader);
    }
    if (code != STATUS_OK) {
        return code;
    }
    struct suite_settings *kept = arena_alloc(arena, sizeof *kept);
    if (kept == NULL) {
        return reader_no_memory(&reader);
    }
    *kept = reader.made;
    *settings = kept;
    return STATUS_OK;
}
