/* Suite: the top of the file, its cases and include entries, and what must hold for the list as a whole. */
#include "harness/suite/suite.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/suite/settings_hash.h"
#include "harness/suite/suite_compare.h"
#include "harness/suite/suite_expand.h"
#include "harness/suite/suite_external.h"

#define FIELD_KEY(name, member, ...) , #member
#define FIELD_KEYS                   "model" CASE_FIELD_TABLE(FIELD_KEY)
#define SETTING_KEYS                 "tags", "tolerances", "timeout_seconds", "repeat", "device", "for", "memory"

static const struct yaml_subject suite_subject = {"suite", "split the suite"};

static const char *const TOP_KEYS[] = {"version", "name",     "description", "defaults",   "cases", "include",
                                       "exclude", "external", "compare",     SETTING_KEYS, NULL};
static const char *const DEFAULTS_KEYS[] = {FIELD_KEYS, SETTING_KEYS, NULL};
static const char *const CASE_KEYS[] = {FIELD_KEYS, SETTING_KEYS, "expect", "include", "exclude", NULL};
static const char *const INCLUDE_KEYS[] = {FIELD_KEYS, SETTING_KEYS, "expect", NULL};

/* Combinations times the values that exclude compares them with: some seconds. */
enum { COMPARISONS_MAXIMUM = 1000000000 };

/* The exclusions that hold for a case as it stands; its include entries have none. */
struct exclusions {
    struct exclusion of_case, *of_suite;
};

/* It names a folder where --out does not, so it must not lead out of the one above. */
static enum status_code name_read(const struct yaml_tree *tree, const struct node *node, const char **name,
                                  struct status *error)
{
    const char *text = NULL;
    enum status_code code = node_text(tree, node, "name", &text, error);
    if (code == STATUS_OK && (!text_is_word(text) || text[0] == '.')) {
        char quoted[NODE_QUOTE_BYTES];
        return node_fail(tree, node, error,
                         "name: %s does not name a folder; write up to 64 letters, digits, '.', '_' or '-', without "
                         "a '.' in front",
                         text_quote(text, quoted));
    }
    if (code == STATUS_OK) {
        *name = text;
    }
    return code;
}

static enum status_code head_read(const struct yaml_tree *tree, struct suite *suite, struct status *error)
{
    const struct node *root = tree->root;
    int64_t version = 0;
    const char *name = NULL, *description = "";
    enum status_code code = map_check(tree, root, "a suite", TOP_KEYS, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct node *node = map_find(root, "version", NULL);
    if (node == NULL) {
        return node_fail(tree, root, error, "the suite has no version; begin it with 'version: 1'");
    }
    code = node_integer(tree, node, "version", 1, 1, &version, error);
    if (code != STATUS_OK) {
        return code;
    }
    node = map_find(root, "name", NULL);
    if (node == NULL) {
        return node_fail(tree, root, error, "the suite has no name; add 'name: quick' or another one");
    }
    code = name_read(tree, node, &name, error);
    node = map_find(root, "description", NULL);
    if (code == STATUS_OK && node != NULL) {
        code = node_words(tree, node, "description", &suite->arena, &description, error);
    }
    if (code == STATUS_OK) {
        suite->path = arena_copy(&suite->arena, tree->path);
        suite->name = arena_copy(&suite->arena, name);
        suite->description = arena_copy(&suite->arena, description);
        if (suite->path == NULL || suite->name == NULL || suite->description == NULL) {
            code = status_set_at(error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = tree->path},
                                 "no memory to read it");
        }
    }
    return code;
}

static int64_t exclusion_weight(const struct exclusion *exclusion)
{
    return exclusion != NULL && exclusion->list != NULL ? (int64_t)exclusion->list->weight : 0;
}

static enum status_code block_add(struct expansion *expansion, const struct layers *layers, const struct node *place,
                                  struct exclusions *exclusions)
{
    struct block block;
    enum status_code code = block_read(expansion, layers, place, &block);
    if (code == STATUS_OK) {
        code = settings_read(expansion->tree, layers, expansion->arena, &block.settings, expansion->error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (exclusions != NULL) {
        block.excludes[0] = &exclusions->of_case;
        block.excludes[1] = exclusions->of_suite;
    }
    if (block.combination_count > SUITE_CASES_MAXIMUM - (int64_t)expansion->count) {
        return node_fail(expansion->tree, place, expansion->error,
                         "with this case the suite expands to more than %d cases; shorten the lists",
                         SUITE_CASES_MAXIMUM);
    }
    int64_t weight = exclusion_weight(block.excludes[0]) + exclusion_weight(block.excludes[1]);
    if (weight > COMPARISONS_MAXIMUM / block.combination_count) {
        return node_fail(expansion->tree, place, expansion->error,
                         "%" PRId64 " combinations against %" PRId64
                         " values of exclude are too many; shorten the lists of one of them",
                         block.combination_count, weight);
    }
    return block_expand(expansion, &block);
}

/* Each entry laid over outer. */
static enum status_code includes_add(struct expansion *expansion, const struct node *list, const struct layers *outer)
{
    enum status_code code = STATUS_OK;
    if (list != NULL) {
        code = list_check(expansion->tree, list, "include", expansion->error);
    }
    for (size_t i = 0; list != NULL && code == STATUS_OK && i < list->count; i++) {
        const struct node *entry = list->children[i];
        struct layers layers = *outer;
        for (int n = layers.count; n > 0; n--) {
            layers.maps[n] = layers.maps[n - 1];
        }
        layers.maps[0] = entry;
        layers.count++;
        layers.own_count = 1;
        code = map_check(expansion->tree, entry, "an include entry", INCLUDE_KEYS, expansion->error);
        if (code == STATUS_OK) {
            code = block_add(expansion, &layers, entry, NULL);
        }
    }
    return code;
}

static enum status_code case_add(struct expansion *expansion, const struct node *node, const struct layers *outer,
                                 struct exclusion *of_suite)
{
    enum status_code code = map_check(expansion->tree, node, "a case", CASE_KEYS, expansion->error);
    if (code != STATUS_OK) {
        return code;
    }
    struct layers layers = {.maps = {node}, .count = 1 + outer->count, .own_count = 1, .has_top = true};
    for (int i = 0; i < outer->count; i++) {
        layers.maps[i + 1] = outer->maps[i];
    }
    struct exclusions exclusions = {.of_suite = of_suite};
    code = exclusion_read(expansion, map_find(node, "exclude", NULL), &exclusions.of_case);
    if (code == STATUS_OK) {
        code = block_add(expansion, &layers, node, &exclusions);
    }
    if (code == STATUS_OK) {
        code = exclusion_finish(expansion, &exclusions.of_case);
    }
    return code == STATUS_OK ? includes_add(expansion, map_find(node, "include", NULL), &layers) : code;
}

static enum status_code cases_read(struct expansion *expansion)
{
    const struct yaml_tree *tree = expansion->tree;
    const struct node *defaults = map_find(tree->root, "defaults", NULL);
    const struct node *cases = map_find(tree->root, "cases", NULL);
    const struct node *include = map_find(tree->root, "include", NULL);
    struct exclusion exclusion = {0};
    struct layers outer = {.has_top = true};
    enum status_code code = STATUS_OK;
    if (defaults != NULL) {
        code = map_check(tree, defaults, "defaults", DEFAULTS_KEYS, expansion->error);
        outer.maps[outer.count++] = defaults;
    }
    outer.maps[outer.count++] = tree->root;
    if (code == STATUS_OK && cases == NULL && include == NULL) {
        return node_fail(tree, tree->root, expansion->error, "the suite has no cases; add 'cases:' with '- ' items");
    }
    if (code == STATUS_OK && cases != NULL) {
        code = list_check(tree, cases, "cases", expansion->error);
    }
    if (code == STATUS_OK) {
        code = exclusion_read(expansion, map_find(tree->root, "exclude", NULL), &exclusion);
    }
    for (size_t i = 0; cases != NULL && code == STATUS_OK && i < cases->count; i++) {
        code = case_add(expansion, cases->children[i], &outer, &exclusion);
    }
    if (code == STATUS_OK) {
        code = exclusion_finish(expansion, &exclusion);
    }
    if (code == STATUS_OK) {
        code = includes_add(expansion, include, &outer);
    }
    if (code == STATUS_OK && expansion->count == 0) {
        code = node_fail(tree, tree->root, expansion->error,
                         "the suite expands to nothing: every combination is excluded; shorten 'exclude'");
    }
    return code;
}

static int case_compare(const void *a, const void *b)
{
    const struct suite_case *left = *(const struct suite_case *const *)a;
    const struct suite_case *right = *(const struct suite_case *const *)b;
    int order = strcmp(left->id, right->id);
    return order != 0 ? order : left->line - right->line;
}

static enum status_code ids_check(const struct expansion *expansion)
{
    const struct suite_case **sorted = malloc(expansion->count * sizeof *sorted);
    if (sorted == NULL) {
        return status_set_at(expansion->error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = expansion->tree->path},
                             "no memory to expand it");
    }
    for (size_t i = 0; i < expansion->count; i++) {
        sorted[i] = &expansion->cases[i];
    }
    qsort(sorted, expansion->count, sizeof *sorted, case_compare);
    enum status_code code = STATUS_OK;
    for (size_t i = 1; code == STATUS_OK && i < expansion->count; i++) {
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0) {
            const struct file_place place = {expansion->tree->path, sorted[i]->line, sorted[i]->column};
            code = status_set_at(expansion->error, STATUS_INVALID, place,
                                 "case %s is there already, from line %d; remove it from one of the two", sorted[i]->id,
                                 sorted[i - 1]->line);
        }
    }
    free(sorted);
    return code;
}

static void plan_hash_write(const struct expansion *expansion, char hash[17])
{
    uint64_t value = HASH_START;
    for (size_t i = 0; i < expansion->count; i++) {
        const char *id = expansion->cases[i].id;
        value = hash_bytes(value, id, strlen(id) + 1); /* the zero byte too: it keeps neighbours apart */
    }
    snprintf(hash, 17, "%016" PRIx64, value);
}

/* The folder of a suite in a file. A name without a slash is of the working directory, by a name of its own: what is
 * of no file has none. */
static const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    return length > 0 ? arena_format(arena, "%.*s", (int)length, path) : ".";
}

static enum status_code suite_from_tree(const struct yaml_tree *tree, bool is_file, const char *catalogue_dir,
                                        struct suite *suite, struct status *error)
{
    struct suite made = {0};
    struct expansion expansion = {.tree = tree, .catalogue_dir = catalogue_dir, .arena = &made.arena, .error = error};
    enum status_code code = head_read(tree, &made, error);
    if (code == STATUS_OK && is_file) {
        made.folder = expansion.folder = folder_of(&made.arena, tree->path);
        code = made.folder != NULL ? STATUS_OK
                                   : status_set_at(error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = tree->path},
                                                   "no memory to expand it");
    }
    if (code == STATUS_OK) {
        code = suite_externals_read(tree, map_find(tree->root, "external", NULL), &made.arena, &made.externals,
                                    &made.external_count, error);
    }
    if (code == STATUS_OK) {
        code = suite_compare_read(tree, map_find(tree->root, "compare", NULL), &made.compare, error);
    }
    if (code == STATUS_OK) {
        code = cases_read(&expansion);
    }
    if (code == STATUS_OK) {
        code = ids_check(&expansion);
    }
    if (code == STATUS_OK) {
        plan_hash_write(&expansion, made.plan_hash);
        made.case_count = (int)expansion.count;
        made.cases = arena_alloc(&made.arena, expansion.count * sizeof *made.cases);
        if (made.cases == NULL) {
            code = status_set_at(error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = tree->path},
                                 "no memory to expand it");
        } else {
            memcpy(made.cases, expansion.cases, expansion.count * sizeof *made.cases);
            settings_hash_write(&made, made.settings_hash);
        }
    }
    free(expansion.cases);
    if (code != STATUS_OK) {
        arena_release(&made.arena);
        return code;
    }
    *suite = made;
    return STATUS_OK;
}

enum status_code suite_read(const char *path, const char *catalogue_dir, struct suite *suite, struct status *error)
{
    struct yaml_tree tree;
    enum status_code code = yaml_tree_read_file(path, &suite_subject, &tree, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = suite_from_tree(&tree, true, catalogue_dir, suite, error);
    yaml_tree_release(&tree);
    return code;
}

enum status_code suite_read_text(const char *name, const char *text, size_t length, const char *catalogue_dir,
                                 struct suite *suite, struct status *error)
{
    struct yaml_tree tree;
    enum status_code code = yaml_tree_read_text(name, &suite_subject, text, length, &tree, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = suite_from_tree(&tree, false, catalogue_dir, suite, error);
    yaml_tree_release(&tree);
    return code;
}

void suite_release(struct suite *suite)
{
    arena_release(&suite->arena);
    *suite = (struct suite){0};
}

bool suite_case_matches(const struct suite_case *case_, const char *pattern)
{
    if (pattern == NULL || fnmatch(pattern, case_->id, 0) == 0) {
        return true;
    }
    for (int i = 0; i < case_->settings->tag_count; i++) {
        if (fnmatch(pattern, case_->settings->tags[i], 0) == 0) {
            return true;
        }
    }
    return false;
}

const struct tolerance *suite_case_tolerance(const struct suite_case *case_, const char *estimator,
                                             enum quantity quantity)
{
    static const struct tolerance exact = {.kind = TOLERANCE_BYTES, .bytes = 0};
    for (int i = 0; i < case_->settings->tolerance_count; i++) {
        const struct suite_tolerance *entry = &case_->settings->tolerances[i];
        if (entry->quantity == quantity && strcmp(entry->estimator, estimator) == 0) {
            return &entry->tolerance;
        }
    }
    return strcmp(estimator, "expected") == 0 ? &exact : NULL;
}
