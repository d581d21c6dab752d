/* External estimators of a suite: what the file says of them, and the words of their commands for a case. Nothing is
 * started here: that is harness/run. */
#include "harness/suite/suite_external.h"

#include <string.h>

#include "harness/base/json_pointer.h"
#include "harness/suite/yaml_value.h"

struct external_reader {
    const struct yaml_tree *tree;
    struct arena *arena;
    struct status *error;
};

static enum status_code reader_no_memory(const struct external_reader *reader)
{
    return status_set_at(reader->error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = reader->tree->path},
                         "no memory to read it");
}

static bool placeholder_is_config(const char *name, size_t length)
{
    return length == 6 && strncmp(name, "config", 6) == 0;
}

/* The next placeholder from *text on: its name and length; *text is then behind it. What stands before it goes to plain
 * (may be NULL), doubled braces as one. NULL: there is none, and all went to plain. length is -1 if a brace stands
 * alone. */
static const char *placeholder_next(const char **text, int *length, struct text *plain)
{
    const char *byte = *text;
    for (; *byte != '\0'; byte++) {
        bool is_brace = *byte == '{' || *byte == '}';
        if (is_brace && byte[1] != *byte) {
            size_t count = strcspn(byte + 1, "{}");
            bool closed = *byte == '{' && byte[1 + count] == '}';
            *length = closed ? (int)count : -1;
            *text = byte + (closed ? count + 2 : 1);
            return byte + 1;
        }
        byte += is_brace ? 1 : 0;
        if (plain != NULL) {
            text_append_bytes(plain, byte, 1);
        }
    }
    *text = byte;
    return NULL;
}

static enum status_code word_check(const struct external_reader *reader, const struct node *node, const char *word,
                                   bool placeholders)
{
    const char *name;
    int length = 0;
    char quoted[NODE_QUOTE_BYTES];
    while (placeholders && (name = placeholder_next(&word, &length, NULL)) != NULL) {
        bool known = length > 0 && (placeholder_is_config(name, (size_t)length) ||
                                    case_field_find(name, (size_t)length) != FIELD_COUNT);
        if (!known) {
            return node_fail(
                reader->tree, node, reader->error,
                "command: %s has a brace that is no placeholder; write {model}, {config} or an axis such as "
                "{batch}, and {{ for a brace",
                text_quote(node->text, quoted));
        }
    }
    return STATUS_OK;
}

/* A list of words, ended by NULL. */
static enum status_code words_read(const struct external_reader *reader, const struct node *node, const char *what,
                                   bool placeholders, const char ***words)
{
    if (node->kind == NODE_LIST && node->count > EXTERNAL_WORDS_MAXIMUM) {
        return node_fail(reader->tree, node, reader->error, "%s has more than %d words; put them into a script", what,
                         EXTERNAL_WORDS_MAXIMUM);
    }
    enum status_code code = list_check(reader->tree, node, what, reader->error);
    if (code != STATUS_OK) {
        return code;
    }
    const char **made = arena_alloc(reader->arena, (node->count + 1) * sizeof *made);
    for (size_t i = 0; made != NULL && code == STATUS_OK && i < node->count; i++) {
        const char *word = NULL;
        code = node_text(reader->tree, node->children[i], what, &word, reader->error);
        if (code == STATUS_OK) {
            code = word_check(reader, node->children[i], word, placeholders);
        }
        if (code == STATUS_OK) {
            made[i] = arena_copy(reader->arena, word);
            code = made[i] != NULL ? STATUS_OK : reader_no_memory(reader);
        }
    }
    *words = made;
    return made != NULL ? code : reader_no_memory(reader);
}

static enum status_code quantity_read(const struct external_reader *reader, const struct node *key,
                                      const struct node *value, struct external_quantity *quantity)
{
    const char *pointer = NULL;
    char quoted[NODE_QUOTE_BYTES];
    if (!text_is_word(key->text)) {
        return node_fail(reader->tree, key, reader->error,
                         "quantities: %s is no name; write total_bytes, or letters, digits and '_'",
                         text_quote(key->text, quoted));
    }
    bool is_document = value->kind == NODE_SCALAR && !value->is_plain && value->text[0] == '\0';
    enum status_code code = STATUS_OK;
    if (is_document) {
        pointer = "";
    } else {
        code = node_text(reader->tree, value, key->text, &pointer, reader->error);
    }
    if (code == STATUS_OK && json_pointer_check(pointer, reader->error) != STATUS_OK) {
        status_prefix(reader->error, "%s", key->text);
        code = node_place(reader->tree, value, STATUS_INVALID, reader->error);
    }
    if (code == STATUS_OK) {
        quantity->name = arena_copy(reader->arena, key->text);
        quantity->pointer = arena_copy(reader->arena, pointer);
        code = quantity->name != NULL && quantity->pointer != NULL ? STATUS_OK : reader_no_memory(reader);
    }
    return code;
}

static enum status_code quantities_read(const struct external_reader *reader, const struct node *node,
                                        struct suite_external *external)
{
    if (node == NULL || node->kind != NODE_MAP || node->count == 0 || node->count > EXTERNAL_QUANTITIES_MAXIMUM) {
        return node_fail(reader->tree, node != NULL ? node : reader->tree->root, reader->error,
                         "external: %s needs 1 to %d quantities, each with where it stands in the output: "
                         "'quantities: {total_bytes: /total}'",
                         external->name, EXTERNAL_QUANTITIES_MAXIMUM);
    }
    external->quantities = arena_alloc(reader->arena, node->count * sizeof *external->quantities);
    if (external->quantities == NULL) {
        return reader_no_memory(reader);
    }
    enum status_code code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < node->count; i++) {
        code = quantity_read(reader, node->children[2 * i], node->children[2 * i + 1], &external->quantities[i]);
    }
    external->quantity_count = (int)node->count;
    return code;
}

static enum status_code modes_read(const struct external_reader *reader, const struct node *node,
                                   struct suite_external *external)
{
    const struct node *item = NULL;
    enum status_code code = STATUS_OK;
    if (node == NULL) {
        external->modes = (1U << MODE_COUNT) - 1;
        return STATUS_OK;
    }
    for (size_t i = 0; code == STATUS_OK && (item = node_item(node, i)) != NULL; i++) {
        struct workload scratch = workload_default(MODE_LOAD);
        const char *text = NULL;
        code = node_text(reader->tree, item, "modes", &text, reader->error);
        if (code == STATUS_OK && workload_set(&scratch, "mode", text, reader->error) != STATUS_OK) {
            code = node_place(reader->tree, item, STATUS_INVALID, reader->error);
        }
        external->modes |= 1U << scratch.mode;
    }
    return code;
}

static enum status_code numbers_read(const struct external_reader *reader, const struct node *node,
                                     struct suite_external *external)
{
    int64_t seconds = EXTERNAL_SECONDS_DEFAULT;
    const struct node *unit = map_find(node, "unit", NULL), *timeout = map_find(node, "timeout_seconds", NULL);
    enum status_code code = STATUS_OK;
    external->unit_bytes = 1;
    if (unit != NULL) {
        code = node_size(reader->tree, unit, "unit", &external->unit_bytes, reader->error);
        if (code == STATUS_OK && external->unit_bytes == 0) {
            code =
                node_fail(reader->tree, unit, reader->error, "unit: a figure stands for at least one byte; write 1MiB");
        }
    }
    if (code == STATUS_OK && timeout != NULL) {
        code = node_integer(reader->tree, timeout, "timeout_seconds", 1, EXTERNAL_SECONDS_MAXIMUM, &seconds,
                            reader->error);
    }
    external->timeout_seconds = (int)seconds;
    return code;
}

static enum status_code external_read(const struct external_reader *reader, const struct node *key,
                                      const struct node *node, struct suite_external *external)
{
    static const char *const names[] = {"command", "version", "quantities", "unit", "modes", "timeout_seconds", NULL};
    const struct node *command = map_find(node, "command", NULL), *version = map_find(node, "version", NULL);
    char quoted[NODE_QUOTE_BYTES];
    if (!text_is_word(key->text) || strcmp(key->text, "expected") == 0) {
        return node_fail(reader->tree, key, reader->error,
                         "external: %s cannot be its name; write up to 64 letters, digits, '.', '_' or '-'",
                         text_quote(key->text, quoted));
    }
    enum status_code code = map_check(reader->tree, node, "an external estimator", names, reader->error);
    if (code != STATUS_OK) {
        return code;
    }
    external->line = key->line;
    external->column = key->column;
    external->name = arena_copy(reader->arena, key->text);
    if (external->name == NULL) {
        return reader_no_memory(reader);
    }
    if (command == NULL) {
        return node_fail(reader->tree, node, reader->error,
                         "external: %s has no command; add 'command: [PROGRAM, \"{model}\"]'", external->name);
    }
    code = words_read(reader, command, "command", true, &external->command);
    if (code == STATUS_OK && version != NULL) {
        code = words_read(reader, version, "version", false, &external->version);
    }
    if (code == STATUS_OK) {
        code = quantities_read(reader, map_find(node, "quantities", NULL), external);
    }
    if (code == STATUS_OK) {
        code = modes_read(reader, map_find(node, "modes", NULL), external);
    }
    return code == STATUS_OK ? numbers_read(reader, node, external) : code;
}

enum status_code suite_externals_read(const struct yaml_tree *tree, const struct node *node, struct arena *arena,
                                      const struct suite_external **externals, int *count, struct status *error)
{
    const struct external_reader reader = {.tree = tree, .arena = arena, .error = error};
    if (node == NULL) {
        *externals = NULL;
        *count = 0;
        return STATUS_OK;
    }
    if (node->kind != NODE_MAP || node->count == 0 || node->count > EXTERNALS_MAXIMUM) {
        return node_fail(tree, node, error, "external: write 1 to %d estimators, each a name and a map below it",
                         EXTERNALS_MAXIMUM);
    }
    struct suite_external *made = arena_alloc(arena, node->count * sizeof *made);
    if (made == NULL) {
        return reader_no_memory(&reader);
    }
    enum status_code code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < node->count; i++) {
        code = external_read(&reader, node->children[2 * i], node->children[2 * i + 1], &made[i]);
    }
    if (code == STATUS_OK) {
        *externals = made;
        *count = (int)node->count;
    }
    return code;
}

bool suite_external_applies(const struct suite_external *external, const struct identity *identity)
{
    bool applies = (external->modes & (1U << identity->workload.mode)) != 0;
    for (const char **word = external->command; applies && *word != NULL; word++) {
        const char *rest = *word, *name;
        int length = 0;
        while (applies && (name = placeholder_next(&rest, &length, NULL)) != NULL) {
            char buffer[IDENTITY_VALUE_BYTES];
            enum case_field field = case_field_find(name, (size_t)length);
            applies = placeholder_is_config(name, (size_t)length) ||
                      (identity_has(identity, field) && identity_value(identity, field, buffer) != NULL);
        }
    }
    return applies;
}

bool suite_external_wants(const struct suite_external *external, const char *placeholder)
{
    for (const char **word = external->command; *word != NULL; word++) {
        const char *rest = *word, *name;
        int length = 0;
        while ((name = placeholder_next(&rest, &length, NULL)) != NULL) {
            if (strlen(placeholder) == (size_t)length && strncmp(name, placeholder, (size_t)length) == 0) {
                return true;
            }
        }
    }
    return false;
}

void suite_external_word(const char *word, const struct identity *identity, const char *config_path, struct text *text)
{
    const char *name;
    int length = 0;
    while ((name = placeholder_next(&word, &length, text)) != NULL) {
        char buffer[IDENTITY_VALUE_BYTES];
        text_append(text, placeholder_is_config(name, (size_t)length)
                              ? config_path
                              : identity_value(identity, case_field_find(name, (size_t)length), buffer));
    }
}
