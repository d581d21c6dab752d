/* YAML tree: one YAML file as nodes that know where they stand. The one door to libyaml.
 *
 * What comes out is smaller than YAML: scalars, lists and maps whose keys are plain scalars. A scalar is text; nothing
 * is converted here. Refused, each with its position and the remedy: an empty file, a second document, tags, merge
 * keys, duplicate keys and anchors, keys that are not scalars, zero bytes, files beyond 1 MiB, nesting beyond 16, more
 * than 100000 values (an alias counts as everything it stands for), more than 1000 keys in one map. */
#ifndef ASSAY_SUITE_YAML_TREE_H
#define ASSAY_SUITE_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"

enum {
    YAML_TREE_FILE_BYTES_MAXIMUM = 1024 * 1024,
    YAML_TREE_DEPTH_MAXIMUM = 16,
    YAML_TREE_NODES_MAXIMUM = 100000,
    YAML_TREE_KEYS_MAXIMUM = 1000
};

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    int line, column;       /* from 1, of the first character; an aliased node has the position of the anchor */
    const char *text;       /* scalar: its text, quotes and escapes undone */
    bool is_plain;          /* scalar: written without quotes */
    struct node **children; /* list: the items. map: key, value, key, value, ... */
    size_t count;           /* list: items. map: pairs. scalar: 0 */
    size_t weight;          /* itself and everything below, an alias counted each time it is used */
};

/* What the file is to be, for messages. Constants. */
struct yaml_subject {
    const char *noun;    /* "suite": "a suite is UTF-8 text" */
    const char *smaller; /* what to do with one that is too large: "split the suite" */
};

struct yaml_tree {
    struct arena arena; /* owns everything below */
    const char *path;   /* as given, for messages */
    const struct node *root;
};

/* STATUS_INVALID with its place, what is wrong and what would be right, also if the file cannot be read. */
enum status_code yaml_tree_read_file(const char *path, const struct yaml_subject *subject, struct yaml_tree *tree,
                                     struct status *error);

/* The same from memory; name stands for the file in messages. "": what is wrong has no place, because nobody has seen
 * the text. */
enum status_code yaml_tree_read_text(const char *name, const struct yaml_subject *subject, const char *text,
                                     size_t length, struct yaml_tree *tree, struct status *error);

void yaml_tree_release(struct yaml_tree *tree);

#endif
