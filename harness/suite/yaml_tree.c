/* YAML tree: from libyaml's events to nodes. Not a schema: which keys may stand where is known in suite*.c and in
 * the readers of other files. */
#include "harness/suite/yaml_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "harness/base/array.h"
#include "harness/base/file_kind.h"
#include "harness/base/hash.h"
#include "harness/base/regular_file.h"
#include "harness/suite/yaml_value.h"

struct anchor {
    struct anchor *next; /* in its bucket */
    const char *name;
    struct node *node; /* NULL while the node is being read: an alias to it would be a cycle */
};

enum { ANCHOR_BUCKETS = 8192 };

struct builder {
    yaml_parser_t parser;
    const char *text; /* what is read */
    size_t length;
    const struct yaml_subject *subject;
    struct yaml_tree *tree;
    struct anchor *anchors[ANCHOR_BUCKETS];
    size_t weight; /* of everything so far */
    struct status *error;
};

struct node_list {
    struct node **items;
    size_t count, capacity;
};

static enum status_code build_node(struct builder *builder, const yaml_event_t *event, int depth, struct node **result);

static enum status_code builder_fail(struct builder *builder, yaml_mark_t mark, const char *what)
{
    const struct file_place place = {builder->tree->path, (int)mark.line + 1, (int)mark.column + 1};
    return status_set_at(builder->error, STATUS_INVALID, place, "%s", what);
}

static enum status_code builder_no_memory(struct builder *builder)
{
    return status_set_at(builder->error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = builder->tree->path},
                         "no memory to read it");
}

/* Where byte number offset is; columns count bytes. */
static yaml_mark_t offset_mark(const char *text, size_t offset)
{
    yaml_mark_t mark = {.index = offset};
    for (size_t i = 0; i < offset; i++) {
        mark.column = text[i] == '\n' ? 0 : mark.column + 1;
        mark.line += text[i] == '\n' ? 1 : 0;
    }
    return mark;
}

/* libyaml's own complaint. A reader error (bad UTF-8, control character) has no mark but its offset in the text. */
static enum status_code builder_fail_parser(struct builder *builder)
{
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        return builder_no_memory(builder);
    }
    const char *problem = parser->problem != NULL ? parser->problem : "it cannot be read";
    bool is_reader = parser->error == YAML_READER_ERROR;
    yaml_mark_t mark = is_reader ? offset_mark(builder->text, parser->problem_offset) : parser->problem_mark;
    const char *noun = builder->subject->noun;
    char what[512];
    const struct file_kind *kind = file_kind_of(builder->text, builder->length);
    if (kind != NULL) {
        snprintf(what, sizeof what, "this is no YAML: it is %s; %s%s%s", kind->words,
                 kind->remedy != NULL ? kind->remedy : "name a ", kind->remedy != NULL ? "" : noun,
                 kind->remedy != NULL ? "" : " file");
        mark = (yaml_mark_t){0};
    } else if (is_reader) {
        snprintf(what, sizeof what, "%s; a %s is UTF-8 text", problem, noun);
    } else if (parser->context != NULL) {
        snprintf(what, sizeof what,
                 "not valid YAML: %s %s that begins at line %zu; write 'key: value' lines indented with spaces",
                 problem, parser->context, parser->context_mark.line + 1);
    } else {
        snprintf(what, sizeof what, "not valid YAML: %s; write 'key: value' lines indented with spaces", problem);
    }
    return builder_fail(builder, mark, what);
}

static enum status_code event_next(struct builder *builder, yaml_event_t *event)
{
    return yaml_parser_parse(&builder->parser, event) ? STATUS_OK : builder_fail_parser(builder);
}

static enum status_code weight_add(struct builder *builder, yaml_mark_t mark, size_t weight)
{
    if (weight > YAML_TREE_NODES_MAXIMUM - builder->weight) {
        char what[160];
        snprintf(what, sizeof what, "more than 100000 values, aliases expanded; %s or use fewer aliases",
                 builder->subject->smaller);
        return builder_fail(builder, mark, what);
    }
    builder->weight += weight;
    return STATUS_OK;
}

static bool list_push(struct node_list *list, struct node *node)
{
    struct node **items = array_extend(list->items, list->count, &list->capacity, sizeof *items);
    if (items == NULL) {
        return false;
    }
    list->items = items;
    list->items[list->count++] = node;
    return true;
}

static size_t anchor_bucket(const char *name)
{
    return hash_text(HASH_START, name) % ANCHOR_BUCKETS;
}

static struct anchor *anchor_find(const struct builder *builder, const char *name)
{
    struct anchor *anchor = builder->anchors[anchor_bucket(name)];
    while (anchor != NULL && strcmp(anchor->name, name) != 0) {
        anchor = anchor->next;
    }
    return anchor;
}

static enum status_code anchor_open(struct builder *builder, yaml_mark_t mark, const char *name, struct anchor **result)
{
    if (anchor_find(builder, name) != NULL) {
        return builder_fail(builder, mark, "this anchor is defined twice; give each anchor its own name");
    }
    struct anchor *anchor = arena_alloc(&builder->tree->arena, sizeof *anchor);
    char *copy = arena_copy(&builder->tree->arena, name);
    if (anchor == NULL || copy == NULL) {
        return builder_no_memory(builder);
    }
    struct anchor **bucket = &builder->anchors[anchor_bucket(name)];
    *anchor = (struct anchor){.next = *bucket, .name = copy};
    *bucket = anchor;
    *result = anchor;
    return STATUS_OK;
}

static enum status_code build_alias(struct builder *builder, const yaml_event_t *event, struct node **result)
{
    const struct anchor *anchor = anchor_find(builder, (const char *)event->data.alias.anchor);
    if (anchor == NULL) {
        return builder_fail(builder, event->start_mark, "alias of an anchor that is not defined above it");
    }
    if (anchor->node == NULL) {
        return builder_fail(builder, event->start_mark, "alias of the very node it stands in; remove the alias");
    }
    *result = anchor->node;
    return weight_add(builder, event->start_mark, anchor->node->weight);
}

static enum status_code build_scalar(struct builder *builder, const yaml_event_t *event, struct node *node)
{
    const char *value = (const char *)event->data.scalar.value;
    if (strlen(value) != event->data.scalar.length) {
        return builder_fail(builder, event->start_mark, "text with a zero byte in it; remove the \\0");
    }
    node->kind = NODE_SCALAR;
    node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = arena_copy(&builder->tree->arena, value);
    return node->text != NULL ? STATUS_OK : builder_no_memory(builder);
}

/* Moves the collected children into the tree. */
static enum status_code children_keep(struct builder *builder, struct node *node, const struct node_list *list)
{
    node->children = arena_alloc(&builder->tree->arena, list->count * sizeof *node->children);
    if (node->children == NULL) {
        return builder_no_memory(builder);
    }
    node->weight = 1;
    for (size_t i = 0; i < list->count; i++) {
        node->children[i] = list->items[i];
        node->weight += list->items[i]->weight;
    }
    node->count = node->kind == NODE_MAP ? list->count / 2 : list->count;
    return STATUS_OK;
}

/* The key that was read last must be a scalar, not '<<', and not there yet. */
static enum status_code key_check(struct builder *builder, const struct node_list *list, yaml_mark_t mark)
{
    const struct node *key = list->items[list->count - 1];
    char quoted[NODE_QUOTE_BYTES], what[256];
    if (key->kind != NODE_SCALAR) {
        return builder_fail(builder, mark, "a list or map stands where a key must; write 'key: value'");
    }
    if (key->is_plain && strcmp(key->text, "<<") == 0) {
        return builder_fail(builder, mark, "merge keys are not understood; put what is shared into 'defaults'");
    }
    if (list->count / 2 >= YAML_TREE_KEYS_MAXIMUM) {
        return builder_fail(builder, mark, "more than 1000 keys in one map; split it");
    }
    for (size_t i = 0; i + 1 < list->count; i += 2) {
        if (strcmp(list->items[i]->text, key->text) == 0) {
            snprintf(what, sizeof what, "key %s stands twice in this map, first on line %d; keep one",
                     text_quote(key->text, quoted), list->items[i]->line);
            return builder_fail(builder, mark, what);
        }
    }
    return STATUS_OK;
}

static enum status_code build_children(struct builder *builder, struct node *node, int depth, struct node_list *list)
{
    yaml_event_type_t end = node->kind == NODE_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    for (;;) {
        yaml_event_t event;
        enum status_code code = event_next(builder, &event);
        if (code != STATUS_OK) {
            return code;
        }
        if (event.type == end) {
            yaml_event_delete(&event);
            return STATUS_OK;
        }
        yaml_mark_t mark = event.start_mark;
        struct node *child = NULL;
        code = build_node(builder, &event, depth + 1, &child);
        yaml_event_delete(&event);
        if (code == STATUS_OK && !list_push(list, child)) {
            code = builder_no_memory(builder);
        }
        if (code == STATUS_OK && node->kind == NODE_MAP && list->count % 2 == 1) {
            code = key_check(builder, list, mark);
        }
        if (code != STATUS_OK) {
            return code;
        }
    }
}

static enum status_code build_container(struct builder *builder, const yaml_event_t *event, int depth,
                                        struct node *node)
{
    if (depth >= YAML_TREE_DEPTH_MAXIMUM) {
        char what[160];
        snprintf(what, sizeof what, "nested deeper than 16 levels; a %s needs five", builder->subject->noun);
        return builder_fail(builder, event->start_mark, what);
    }
    node->kind = event->type == YAML_MAPPING_START_EVENT ? NODE_MAP : NODE_LIST;
    struct node_list list = {0};
    enum status_code code = build_children(builder, node, depth, &list);
    if (code == STATUS_OK) {
        code = children_keep(builder, node, &list);
    }
    free(list.items);
    return code;
}

/* The anchor and the tag of an event that may have them. */
static const char *event_anchor(const yaml_event_t *event, const char **tag)
{
    const yaml_char_t *anchor = NULL, *found = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        found = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        found = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        found = event->data.mapping_start.tag;
    }
    *tag = (const char *)found;
    return (const char *)anchor;
}

static enum status_code build_node(struct builder *builder, const yaml_event_t *event, int depth, struct node **result)
{
    if (event->type == YAML_ALIAS_EVENT) {
        return build_alias(builder, event, result);
    }
    const char *tag = NULL;
    const char *name = event_anchor(event, &tag);
    if (tag != NULL) {
        return builder_fail(builder, event->start_mark, "tags (!...) are not understood; remove the tag");
    }
    enum status_code code = weight_add(builder, event->start_mark, 1);
    if (code != STATUS_OK) {
        return code;
    }
    struct node *node = arena_alloc(&builder->tree->arena, sizeof *node);
    if (node == NULL) {
        return builder_no_memory(builder);
    }
    *node = (struct node){
        .line = (int)event->start_mark.line + 1, .column = (int)event->start_mark.column + 1, .weight = 1};
    struct anchor *anchor = NULL;
    if (name != NULL) {
        code = anchor_open(builder, event->start_mark, name, &anchor);
    }
    if (code == STATUS_OK) {
        code = event->type == YAML_SCALAR_EVENT ? build_scalar(builder, event, node)
                                                : build_container(builder, event, depth, node);
    }
    if (code == STATUS_OK && anchor != NULL) {
        anchor->node = node;
    }
    if (code == STATUS_OK) {
        *result = node;
    }
    return code;
}

/* After the root: the document must end, and the file with it. */
static enum status_code build_end(struct builder *builder)
{
    for (;;) {
        yaml_event_t event;
        enum status_code code = event_next(builder, &event);
        if (code != STATUS_OK) {
            return code;
        }
        yaml_event_type_t type = event.type;
        yaml_mark_t mark = event.start_mark;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT) {
            return STATUS_OK;
        }
        if (type == YAML_DOCUMENT_START_EVENT) {
            char what[160];
            snprintf(what, sizeof what, "a second document begins; a %s is one document in one file",
                     builder->subject->noun);
            return builder_fail(builder, mark, what);
        }
    }
}

static enum status_code build_root(struct builder *builder)
{
    yaml_event_t event;
    enum status_code code = STATUS_OK;
    do { /* STREAM-START, DOCUMENT-START, then the root; or STREAM-END */
        code = event_next(builder, &event);
        if (code != STATUS_OK) {
            return code;
        }
        if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT) {
            break;
        }
        yaml_event_delete(&event);
    } while (true);
    struct node *root = NULL;
    if (event.type == YAML_STREAM_END_EVENT) {
        code = status_set_at(builder->error, STATUS_INVALID, (struct file_place){builder->tree->path, 1, 1},
                             "the file is empty; a %s begins with 'version: 1'", builder->subject->noun);
    } else {
        code = build_node(builder, &event, 0, &root);
    }
    yaml_event_delete(&event);
    if (code == STATUS_OK) {
        code = build_end(builder);
    }
    builder->tree->root = root;
    return code;
}

enum status_code yaml_tree_read_text(const char *name, const struct yaml_subject *subject, const char *text,
                                     size_t length, struct yaml_tree *tree, struct status *error)
{
    struct yaml_tree made = {0};
    made.path = arena_copy(&made.arena, name);
    if (made.path == NULL) {
        return status_set_at(error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = name}, "no memory to read it");
    }
    if (length > YAML_TREE_FILE_BYTES_MAXIMUM) {
        arena_release(&made.arena);
        return status_set_at(error, STATUS_INVALID, (struct file_place){name, 1, 1}, "larger than 1 MiB; %s",
                             subject->smaller);
    }
    struct builder builder = {.text = text, .length = length, .subject = subject, .tree = &made, .error = error};
    enum status_code code = STATUS_OK;
    if (!yaml_parser_initialize(&builder.parser)) {
        code = builder_no_memory(&builder);
    } else {
        yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, length);
        code = build_root(&builder);
        yaml_parser_delete(&builder.parser);
    }
    if (code != STATUS_OK) {
        arena_release(&made.arena);
        return code;
    }
    *tree = made;
    return STATUS_OK;
}

/* At most one byte more than is allowed, so that a file that is too large is seen to be. */
static enum status_code file_load(const char *path, const char *noun, char *content, size_t *length,
                                  struct status *error)
{
    struct stat state;
    int descriptor = regular_file_open(path, &state);
    if (descriptor < 0 && errno == 0) {
        return status_set(error, STATUS_INVALID, "%s: is not a regular file; name a %s file", path, noun);
    }
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (file == NULL) {
        enum status_code code =
            status_set(error, STATUS_INVALID, "%s: cannot be opened: %s; name a %s file", path, strerror(errno), noun);
        if (descriptor >= 0) {
            close(descriptor);
        }
        return code;
    }
    *length = fread(content, 1, (size_t)YAML_TREE_FILE_BYTES_MAXIMUM + 1, file);
    enum status_code code =
        ferror(file) ? status_set(error, STATUS_INVALID, "%s: cannot be read: %s", path, strerror(errno)) : STATUS_OK;
    fclose(file);
    return code;
}

enum status_code yaml_tree_read_file(const char *path, const struct yaml_subject *subject, struct yaml_tree *tree,
                                     struct status *error)
{
    size_t length = 0;
    char *content = malloc((size_t)YAML_TREE_FILE_BYTES_MAXIMUM + 1);
    if (content == NULL) {
        return status_set_at(error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = path}, "no memory to read it");
    }
    enum status_code code = file_load(path, subject->noun, content, &length, error);
    if (code == STATUS_OK) {
        code = yaml_tree_read_text(path, subject, content, length, tree, error);
    }
    free(content);
    return code;
}

void yaml_tree_release(struct yaml_tree *tree)
{
    arena_release(&tree->arena);
    *tree = (struct yaml_tree){0};
}
