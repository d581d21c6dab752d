/* YAML values: what a node of a YAML tree must be, said by the one who reads it. Every error has
 * the place of the node, and says what is wrong and what would be right. Nothing is converted silently. */
#ifndef ASSAY_SUITE_YAML_VALUE_H
#define ASSAY_SUITE_YAML_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/suite/yaml_tree.h"

enum { NODE_QUOTE_BYTES = 80 };

/* Text in single quotes for a message: control characters as '?', long text cut with "...". Returns result. */
const char *text_quote(const char *text, char result[NODE_QUOTE_BYTES]);

/* Sets error to STATUS_INVALID, the place of the node, and the text. */
__attribute__((format(printf, 4, 5))) enum status_code node_fail(const struct yaml_tree *tree, const struct node *node,
                                                                 struct status *error, const char *format, ...);

/* Gives an error the place of the node. Returns code. */
enum status_code node_place(const struct yaml_tree *tree, const struct node *node, enum status_code code,
                            struct status *error);

/* The value of a key of a map, or NULL. With key_node: where the key itself stands. map may be NULL. */
const struct node *map_find(const struct node *map, const char *key, const struct node **key_node);

/* That node is a map and has only keys out of names (ended by NULL). what: "a case", for the message. */
enum status_code map_check(const struct yaml_tree *tree, const struct node *node, const char *what,
                           const char *const *names, struct status *error);

/* A list with at least one item; what: the key. */
enum status_code list_check(const struct yaml_tree *tree, const struct node *node, const char *what,
                            struct status *error);

/* A scalar on one line that is not null and not empty; the text is borrowed from the tree. */
enum status_code node_text(const struct yaml_tree *tree, const struct node *node, const char *what, const char **text,
                           struct status *error);

enum { WORD_LENGTH_MAXIMUM = 64 };

/* Whether text is up to WORD_LENGTH_MAXIMUM letters, digits, '.', '_' or '-' of ASCII: what patterns, file names and
 * shells take as it is. */
bool text_is_word(const char *text);

/* As node_text, with line breaks allowed: they and the spaces around them become one space. The text is made in
 * arena. */
enum status_code node_words(const struct yaml_tree *tree, const struct node *node, const char *what,
                            struct arena *arena, const char **text, struct status *error);

/* A whole decimal integer without quotes. */
enum status_code node_integer(const struct yaml_tree *tree, const struct node *node, const char *what, int64_t minimum,
                              int64_t maximum, int64_t *value, struct status *error);

/* "512", "1.5GiB": bytes, as size_parse reads them. */
enum status_code node_size(const struct yaml_tree *tree, const struct node *node, const char *what, int64_t *bytes,
                           struct status *error);

/* The same of a memory: above 0, and with its unit (size_parse_memory). */
enum status_code node_memory(const struct yaml_tree *tree, const struct node *node, const char *what, int64_t *bytes,
                             struct status *error);

/* One scalar, or a list of them: item index, or NULL past the end. */
const struct node *node_item(const struct node *node, size_t index);

#endif
