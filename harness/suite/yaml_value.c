/* YAML values: typed reading of nodes. Not the schema of a suite. */
#include "harness/suite/yaml_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/code_point.h"
#include "harness/base/nearest.h"
#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/base/text.h"

const char *text_quote(const char *text, char result[NODE_QUOTE_BYTES])
{
    size_t length = 0;
    result[length++] = '\'';
    for (; *text != '\0' && length < NODE_QUOTE_BYTES - 5; text++) {
        unsigned char c = (unsigned char)*text;
        result[length++] = c < 0x20 || c == 0x7f ? '?' : *text;
    }
    if (*text != '\0') { /* not in the middle of a UTF-8 character */
        while (length > 1 && code_point_goes_on(result[length - 1])) {
            length--;
        }
        if ((unsigned char)result[length - 1] >= 0xC0) {
            length--;
        }
        memcpy(result + length, "...", 3);
        length += 3;
    }
    memcpy(result + length, "'", 2);
    return result;
}

static struct file_place place_of(const struct yaml_tree *tree, const struct node *node)
{
    return (struct file_place){tree->path, node->line, node->column};
}

enum status_code node_fail(const struct yaml_tree *tree, const struct node *node, struct status *error,
                           const char *format, ...)
{
    char what[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return status_set_at(error, STATUS_INVALID, place_of(tree, node), "%s", what);
}

enum status_code node_place(const struct yaml_tree *tree, const struct node *node, enum status_code code,
                            struct status *error)
{
    status_place(error, place_of(tree, node));
    return code;
}

const struct node *map_find(const struct node *map, const char *key, const struct node **key_node)
{
    for (size_t i = 0; map != NULL && i < map->count; i++) {
        if (strcmp(map->children[2 * i]->text, key) == 0) {
            if (key_node != NULL) {
                *key_node = map->children[2 * i];
            }
            return map->children[2 * i + 1];
        }
    }
    return NULL;
}

static const char *kind_name(const struct node *node)
{
    return node->kind == NODE_SCALAR ? "a single value" : node->kind == NODE_LIST ? "a list" : "a map";
}

/* More names than these are a page and no remedy. */
enum { NAMES_LISTED_MAXIMUM = 12 };

static enum status_code key_unknown(const struct yaml_tree *tree, const struct node *key, const char *what,
                                    const char *const *names, struct status *error)
{
    char quoted[NODE_QUOTE_BYTES];
    const char *meant[NAMES_MEANT_MAXIMUM];
    struct text remedy = {0};
    int count = names_meant(key->text, names, meant);
    size_t known = 0;
    while (names[known] != NULL) {
        known++;
    }
    if (count > 0) {
        text_append(&remedy, "did you mean ");
        names_meant_append(meant, count, "'", "'", &remedy);
        text_append(&remedy, "?");
    } else if (known > NAMES_LISTED_MAXIMUM) {
        text_append(&remedy, "docs/FORMAT.md lists those that there are");
    }
    for (size_t n = 0; count == 0 && known <= NAMES_LISTED_MAXIMUM && n < known; n++) {
        text_format(&remedy, "%s%s", n > 0 ? ", " : "known are ", names[n]);
    }
    enum status_code code = node_fail(tree, key, error, "unknown key %s in %s; %s", text_quote(key->text, quoted), what,
                                      text_string(&remedy));
    text_release(&remedy);
    return code;
}

enum status_code map_check(const struct yaml_tree *tree, const struct node *node, const char *what,
                           const char *const *names, struct status *error)
{
    if (node->kind != NODE_MAP) {
        return node_fail(tree, node, error, "%s must be a map, not %s; write 'key: value' lines", what,
                         kind_name(node));
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct node *key = node->children[2 * i];
        size_t n = 0;
        while (names[n] != NULL && strcmp(names[n], key->text) != 0) {
            n++;
        }
        if (names[n] == NULL) {
            return key_unknown(tree, key, what, names, error);
        }
    }
    return STATUS_OK;
}

enum status_code list_check(const struct yaml_tree *tree, const struct node *node, const char *what,
                            struct status *error)
{
    if (node->kind != NODE_LIST) {
        return node_fail(tree, node, error, "%s must be a list, not %s; write '- ' items", what, kind_name(node));
    }
    if (node->count == 0) {
        return node_fail(tree, node, error, "%s is an empty list; give at least one item or remove it", what);
    }
    return STATUS_OK;
}

static bool text_is_null(const char *text)
{
    return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 || strcmp(text, "Null") == 0 ||
           strcmp(text, "NULL") == 0;
}

static enum status_code scalar_check(const struct yaml_tree *tree, const struct node *node, const char *what,
                                     struct status *error)
{
    if (node->kind != NODE_SCALAR) {
        return node_fail(tree, node, error, "%s must be a single value, not %s", what, kind_name(node));
    }
    if (node->is_plain ? text_is_null(node->text) : *node->text == '\0') {
        return node_fail(tree, node, error, "%s is %s; give a value or remove the key", what,
                         node->is_plain ? "null" : "empty");
    }
    return STATUS_OK;
}

bool text_is_word(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return text[strspn(text, letters)] == '\0' && strlen(text) <= WORD_LENGTH_MAXIMUM;
}

enum status_code node_text(const struct yaml_tree *tree, const struct node *node, const char *what, const char **text,
                           struct status *error)
{
    enum status_code code = scalar_check(tree, node, what, error);
    if (code != STATUS_OK) {
        return code;
    }
    for (const char *c = node->text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return node_fail(tree, node, error, "%s has a line break or control character in it; remove it", what);
        }
    }
    *text = node->text;
    return STATUS_OK;
}

enum status_code node_words(const struct yaml_tree *tree, const struct node *node, const char *what,
                            struct arena *arena, const char **text, struct status *error)
{
    enum status_code code = scalar_check(tree, node, what, error);
    if (code != STATUS_OK) {
        return code;
    }
    char *words = arena_copy(arena, node->text);
    if (words == NULL) {
        return status_set_at(error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = tree->path},
                             "no memory to read it");
    }
    char *end = words;
    for (const char *c = node->text; *c != '\0'; c++) {
        bool space = (unsigned char)*c <= 0x20 || *c == 0x7f;
        if (!space) {
            *end++ = *c;
        } else if (end > words && end[-1] != ' ') {
            *end++ = ' ';
        }
    }
    end -= end > words && end[-1] == ' ' ? 1 : 0;
    *end = '\0';
    *text = words;
    return STATUS_OK;
}

/* A scalar that stands for a number: not null, not in quotes. */
static enum status_code node_number(const struct yaml_tree *tree, const struct node *node, const char *what,
                                    const char **text, struct status *error)
{
    enum status_code code = node_text(tree, node, what, text, error);
    if (code == STATUS_OK && !node->is_plain) {
        char quoted[NODE_QUOTE_BYTES];
        return node_fail(tree, node, error, "%s is the text %s; write the number without quotes", what,
                         text_quote(*text, quoted));
    }
    return code;
}

enum status_code node_integer(const struct yaml_tree *tree, const struct node *node, const char *what, int64_t minimum,
                              int64_t maximum, int64_t *value, struct status *error)
{
    const char *text = NULL;
    enum status_code code = node_number(tree, node, what, &text, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = integer_parse(text, minimum, maximum, value, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s", what);
        return node_place(tree, node, code, error);
    }
    return STATUS_OK;
}

enum status_code node_size(const struct yaml_tree *tree, const struct node *node, const char *what, int64_t *bytes,
                           struct status *error)
{
    const char *text = NULL;
    enum status_code code = node_number(tree, node, what, &text, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (text[0] == '0' && text[1] >= '0' && text[1] <= '9') {
        return node_fail(tree, node, error, "%s: '%.40s' has a leading zero; remove it", what, text);
    }
    code = size_parse(text, bytes, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s", what);
        return node_place(tree, node, code, error);
    }
    return STATUS_OK;
}

enum status_code node_memory(const struct yaml_tree *tree, const struct node *node, const char *what, int64_t *bytes,
                             struct status *error)
{
    const char *text = NULL;
    int64_t read = 0;
    enum status_code code = node_number(tree, node, what, &text, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = size_parse_memory(text, &read, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s", what);
        return node_place(tree, node, code, error);
    }
    if (read == 0) {
        return node_fail(tree, node, error, "%s: 0 holds nothing; write a size such as 24GiB, or remove the key", what);
    }
    *bytes = read;
    return STATUS_OK;
}

const struct node *node_item(const struct node *node, size_t index)
{
    if (node->kind == NODE_LIST) {
        return index < node->count ? node->children[index] : NULL;
    }
    return index == 0 ? node : NULL;
}
