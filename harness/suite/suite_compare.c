/* The key `compare`: read here, recorded by a run, obeyed by `assay compare`. */
#include "harness/suite/suite_compare.h"

#include "harness/suite/yaml_value.h"

enum status_code suite_compare_read(const struct yaml_tree *tree, const struct node *node, struct level_rules *rules,
                                    struct status *error)
{
    struct level_rules read = {0};
    enum status_code code = node != NULL ? map_check(tree, node, "compare", level_names(), error) : STATUS_OK;
    for (size_t i = 0; node != NULL && code == STATUS_OK && i < node->count; i++) {
        const struct node *value = node->children[2 * i + 1];
        const char *text = NULL;
        enum level level = LEVEL_REQUESTED;
        level_from_name(node->children[2 * i]->text, &level);
        code = node_text(tree, value, level_name(level), &text, error);
        if (code == STATUS_OK) {
            struct status cause = {0};
            code = level_rule_parse(text, &read.of[level], &cause);
            code = code == STATUS_OK ? code : node_fail(tree, value, error, "%s: %s", level_name(level), cause.text);
        }
    }
    if (code == STATUS_OK) {
        *rules = read;
    }
    return code;
}
