/* Policy file: a gate's policy out of YAML, checked so that nothing in it is passed over. Not what its rules mean. */
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/gate/gate_policy.h"
#include "harness/record/tolerance.h"
#include "harness/suite/yaml_value.h"

struct reading_policy {
    struct yaml_tree tree;
    struct gate_policy *policy;
    int glob_count;
};

static enum status_code no_memory(const struct reading_policy *reading, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for the policy", reading->tree.path);
}

/* ---- words ---- */

/* Which of the words, ended by NULL; *place is untouched if node is NULL: the key is not there. */
static enum status_code word_choose(const struct reading_policy *reading, const struct node *node, const char *key,
                                    const char *const *words, int *place, struct status *error)
{
    const char *text = NULL, *meant[NAMES_MEANT_MAXIMUM];
    char quoted[NODE_QUOTE_BYTES];
    enum status_code code = node != NULL ? node_text(&reading->tree, node, key, &text, error) : STATUS_OK;
    if (code != STATUS_OK || node == NULL) {
        return code;
    }
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *place = i;
            return STATUS_OK;
        }
    }
    struct text remedy = {0};
    int count = names_meant(text, words, meant);
    text_append(&remedy, count > 0 ? "did you mean " : "write one of ");
    if (count > 0) {
        names_meant_append(meant, count, "'", "'", &remedy);
        text_append(&remedy, "?");
    }
    for (int i = 0; count == 0 && words[i] != NULL; i++) {
        text_format(&remedy, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    code = node_fail(&reading->tree, node, error, "%s: %s is not known; %s", key, text_quote(text, quoted),
                     text_string(&remedy));
    text_release(&remedy);
    return code;
}

static enum status_code levels_read(const struct reading_policy *reading, const struct node *map, unsigned *levels,
                                    struct status *error)
{
    const struct node *node = map_find(map, "levels", NULL);
    enum status_code code =
        node != NULL && node->kind != NODE_SCALAR ? list_check(&reading->tree, node, "levels", error) : STATUS_OK;
    for (size_t i = 0; node != NULL && code == STATUS_OK && node_item(node, i) != NULL; i++) {
        const struct node *item = node_item(node, i);
        int level = 0;
        code = word_choose(reading, item, "levels", level_names(), &level, error);
        if (code == STATUS_OK && (*levels & (1U << level)) != 0) {
            code = node_fail(&reading->tree, item, error, "levels: %s stands here twice; remove one",
                             level_name((enum level)level));
        }
        *levels |= 1U << level;
    }
    return code;
}

static enum status_code cases_read(struct reading_policy *reading, const struct node *map, const char *what,
                                   struct gate_patterns *patterns, struct status *error)
{
    const struct node *node = map_find(map, "cases", NULL);
    if (node == NULL) {
        return node_fail(&reading->tree, map, error,
                         "%s has no 'cases'; write the ids or tags that it is for: cases: \"gpt2/train/*\", or \"*\"",
                         what);
    }
    enum status_code code = node->kind != NODE_SCALAR ? list_check(&reading->tree, node, "cases", error) : STATUS_OK;
    const size_t count = node->kind == NODE_LIST ? node->count : 1;
    if (code == STATUS_OK && reading->glob_count + (int)count > GATE_GLOBS_MAXIMUM) {
        return node_fail(&reading->tree, node, error, "the policy has more than %d patterns; join some of them with *",
                         GATE_GLOBS_MAXIMUM);
    }
    patterns->globs = arena_alloc(&reading->policy->arena, count * sizeof *patterns->globs);
    for (size_t i = 0; code == STATUS_OK && i < count; i++) {
        const char *text = NULL;
        code = patterns->globs != NULL ? node_text(&reading->tree, node_item(node, i), "cases", &text, error)
                                       : no_memory(reading, error);
        if (code == STATUS_OK) {
            patterns->globs[i] = arena_copy(&reading->policy->arena, text);
            code = patterns->globs[i] != NULL ? STATUS_OK : no_memory(reading, error);
            patterns->count++;
        }
    }
    reading->glob_count += patterns->count;
    return code;
}

/* ---- bounds ---- */

static enum status_code bound_word_read(const struct reading_policy *reading, const struct node *node, const char *key,
                                        struct gate_bound *bound, struct status *error)
{
    const char *text = NULL;
    struct tolerance tolerance;
    struct status cause = {0};
    enum status_code code = node_text(&reading->tree, node, key, &text, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (strcmp(text, "none") == 0) {
        bound->is_open = true;
        return STATUS_OK;
    }
    code = tolerance_parse(text, &tolerance, &cause);
    if (code != STATUS_OK) {
        return node_fail(&reading->tree, node, error, "%s: %.400s, or none", key, cause.text);
    }
    bound->bytes = tolerance.kind == TOLERANCE_BYTES ? tolerance.bytes : 0;
    bound->fraction = tolerance.kind == TOLERANCE_FRACTION ? tolerance.fraction : 0.0;
    return STATUS_OK;
}

/* "8MiB", "2%", "none", or {bytes: 8MiB, relative: 2%}. */
static enum status_code bound_read(const struct reading_policy *reading, const struct node *node, const char *key,
                                   struct gate_bound *bound, struct status *error)
{
    static const char *const names[] = {"bytes", "relative", NULL};
    *bound = (struct gate_bound){0};
    if (node->kind == NODE_SCALAR) {
        return bound_word_read(reading, node, key, bound, error);
    }
    enum status_code code = map_check(&reading->tree, node, key, names, error);
    if (code == STATUS_OK && node->count == 0) {
        return node_fail(&reading->tree, node, error, "%s is empty; write bytes, relative or both", key);
    }
    for (int i = 0; code == STATUS_OK && names[i] != NULL; i++) {
        const struct node *value = map_find(node, names[i], NULL);
        struct gate_bound part = {0};
        code = value != NULL ? bound_word_read(reading, value, names[i], &part, error) : STATUS_OK;
        const bool is_bytes = i == 0, fits = is_bytes ? part.fraction <= 0.0 : part.bytes == 0;
        if (code == STATUS_OK && (part.is_open || !fits)) {
            return node_fail(&reading->tree, value, error, "%s: write %s here; 'none' stands in place of the map",
                             names[i], is_bytes ? "a size such as 8MiB" : "a percentage such as 2%");
        }
        bound->bytes = is_bytes ? part.bytes : bound->bytes;
        bound->fraction = is_bytes ? bound->fraction : part.fraction;
    }
    return code;
}

/* Whether `warn` can never be told, because what is beyond it is beyond `fail` as well. Where one is in bytes and the
 * other of the figure, that depends on the case. */
static bool warn_is_idle(const struct gate_bound *warn, const struct gate_bound *fail)
{
    return !fail->is_open && (warn->is_open || (warn->bytes >= fail->bytes && warn->fraction >= fail->fraction));
}

static enum status_code bounds_read(const struct reading_policy *reading, const struct node *map,
                                    struct gate_rule *rule, struct status *error)
{
    const struct node *fail = map_find(map, "fail", NULL), *warn = map_find(map, "warn", NULL);
    const struct node *reference = map_find(map, "reference", NULL);
    rule->has_reference = reference != NULL;
    enum status_code code =
        reference != NULL ? bound_read(reading, reference, "reference", &rule->reference, error) : STATUS_OK;
    if (code != STATUS_OK || (fail == NULL && warn == NULL)) {
        return code;
    }
    if (fail == NULL) {
        return node_fail(&reading->tree, warn, error,
                         "'warn' stands without 'fail'; write both, with fail: none if nothing is to fail");
    }
    rule->has_bounds = true;
    code = bound_read(reading, fail, "fail", &rule->fail, error);
    rule->warn = rule->fail;
    if (code == STATUS_OK && warn != NULL) {
        code = bound_read(reading, warn, "warn", &rule->warn, error);
        if (code == STATUS_OK && warn_is_idle(&rule->warn, &rule->fail)) {
            code =
                node_fail(&reading->tree, warn, error,
                          "'warn' is not below 'fail', so that it would never be told; make it smaller or remove it");
        }
    }
    return code;
}

/* ---- rules ---- */

static bool globs_cover(const struct gate_patterns *wide, const struct gate_patterns *narrow)
{
    int covered = 0;
    for (int i = 0; i < narrow->count; i++) {
        bool found = false;
        for (int j = 0; j < wide->count && !found; j++) {
            found = strcmp(wide->globs[j], "*") == 0 || strcmp(wide->globs[j], narrow->globs[i]) == 0;
        }
        covered += found ? 1 : 0;
    }
    return covered == narrow->count;
}

/* A rule that one before it takes all of is a mistake: whoever wrote it believes that it holds. */
static enum status_code rule_reach_check(const struct reading_policy *reading, const struct node *node,
                                         const struct gate_rule *rule, struct status *error)
{
    unsigned open = rule->levels;
    int line = 0;
    for (int i = 0; i < reading->policy->rule_count; i++) {
        const struct gate_rule *before = &reading->policy->rules[i];
        if ((before->levels & open) != 0 && globs_cover(&before->cases, &rule->cases)) {
            open &= ~before->levels;
            line = before->line;
        }
    }
    return open != 0 ? STATUS_OK
                     : node_fail(&reading->tree, node, error,
                                 "this rule never holds, because the first that matches does, and that of line %d "
                                 "matches all of it; move this one before it, or remove one",
                                 line);
}

static enum status_code rule_read(struct reading_policy *reading, const struct node *node, struct gate_rule *rule,
                                  struct status *error)
{
    static const char *const names[] = {"cases", "levels", "tier", "direction", "fail", "warn", "reference", NULL};
#define TIER_WORD(name, word) word,
    static const char *const tiers[] = {GATE_TIER_TABLE(TIER_WORD) NULL};
    static const char *const directions[] = {GATE_DIRECTION_TABLE(TIER_WORD) NULL};
#undef TIER_WORD
    int tier = GATE_TIER_CRITICAL, direction = GATE_DIRECTION_HIGHER;
    *rule = (struct gate_rule){.line = node->line};
    enum status_code code = map_check(&reading->tree, node, "a rule", names, error);
    code = code == STATUS_OK ? cases_read(reading, node, "a rule", &rule->cases, error) : code;
    code = code == STATUS_OK ? levels_read(reading, node, &rule->levels, error) : code;
    code = code == STATUS_OK ? word_choose(reading, map_find(node, "tier", NULL), "tier", tiers, &tier, error) : code;
    code = code == STATUS_OK
               ? word_choose(reading, map_find(node, "direction", NULL), "direction", directions, &direction, error)
               : code;
    code = code == STATUS_OK ? bounds_read(reading, node, rule, error) : code;
    rule->levels = rule->levels == 0 ? (1U << LEVEL_COUNT) - 1 : rule->levels;
    rule->tier = (enum gate_tier)tier;
    rule->direction = (enum gate_direction)direction;
    return code == STATUS_OK ? rule_reach_check(reading, node, rule, error) : code;
}

/* ---- known failures ---- */

static int digits_read(const char *text, int count)
{
    int value = 0;
    for (int i = 0; i < count && value >= 0; i++) {
        value = text[i] >= '0' && text[i] <= '9' ? value * 10 + text[i] - '0' : -1;
    }
    return value;
}

/* "2026-12-31" of the calendar. */
static bool date_is_real(const char *text)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-') {
        return false;
    }
    const int year = digits_read(text, 4), month = digits_read(text + 5, 2), day = digits_read(text + 8, 2);
    if (year < 1 || month < 1 || month > 12 || day < 1) {
        return false;
    }
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= lengths[month - 1] + (month == 2 && leap ? 1 : 0);
}

static enum status_code needed_words(struct reading_policy *reading, const struct node *map, const char *key,
                                     const char *hint, const char **words, struct status *error)
{
    const struct node *node = map_find(map, key, NULL);
    return node != NULL ? node_words(&reading->tree, node, key, &reading->policy->arena, words, error)
                        : node_fail(&reading->tree, map, error, "a known failure has no '%s'; %s", key, hint);
}

static enum status_code known_read(struct reading_policy *reading, const struct node *node, struct gate_known *known,
                                   struct status *error)
{
    static const char *const names[] = {"cases", "levels", "reason", "expires", NULL};
    char quoted[NODE_QUOTE_BYTES];
    *known = (struct gate_known){.line = node->line};
    enum status_code code = map_check(&reading->tree, node, "a known failure", names, error);
    code = code == STATUS_OK ? cases_read(reading, node, "a known failure", &known->cases, error) : code;
    code = code == STATUS_OK ? levels_read(reading, node, &known->levels, error) : code;
    code = code == STATUS_OK
               ? needed_words(reading, node, "reason", "say in a sentence why it fails", &known->reason, error)
               : code;
    code = code == STATUS_OK
               ? needed_words(reading, node, "expires", "write the last day on which it is known: expires: 2026-12-31",
                              &known->expires, error)
               : code;
    if (code == STATUS_OK && !date_is_real(known->expires)) {
        code = node_fail(&reading->tree, map_find(node, "expires", NULL), error,
                         "expires: %s is no day of the calendar; write it as 2026-12-31",
                         text_quote(known->expires, quoted));
    }
    for (int i = 0; code == STATUS_OK && i < reading->policy->known_count; i++) {
        const struct gate_known *before = &reading->policy->knowns[i];
        const bool levels = before->levels == 0 || (known->levels != 0 && (known->levels & ~before->levels) == 0);
        if (levels && globs_cover(&before->cases, &known->cases)) {
            code = node_fail(&reading->tree, node, error,
                             "this known failure is that of line %d again; remove one of them", before->line);
        }
    }
    return code;
}

/* ---- the file ---- */

static enum status_code list_room(struct reading_policy *reading, const struct node *list, const char *what,
                                  size_t element_bytes, void **room, struct status *error)
{
    enum status_code code = list_check(&reading->tree, list, what, error);
    if (code == STATUS_OK && list->count > GATE_RULES_MAXIMUM) {
        code = node_fail(&reading->tree, list, error, "%s has %zu entries; write at most %d, with * for many cases",
                         what, list->count, GATE_RULES_MAXIMUM);
    }
    if (code == STATUS_OK) {
        *room = arena_alloc(&reading->policy->arena, list->count * element_bytes);
        code = *room != NULL ? STATUS_OK : no_memory(reading, error);
    }
    return code;
}

static enum status_code rules_read(struct reading_policy *reading, const struct node *list, struct status *error)
{
    struct gate_policy *policy = reading->policy;
    void *room = NULL;
    enum status_code code = list_room(reading, list, "rules", sizeof *policy->rules, &room, error);
    policy->rules = room;
    for (size_t i = 0; code == STATUS_OK && i < list->count; i++) {
        code = rule_read(reading, list->children[i], &policy->rules[policy->rule_count], error);
        policy->rule_count++;
    }
    return code;
}

static enum status_code knowns_read(struct reading_policy *reading, const struct node *list, struct status *error)
{
    struct gate_policy *policy = reading->policy;
    void *room = NULL;
    enum status_code code = list_room(reading, list, "known_failures", sizeof *policy->knowns, &room, error);
    policy->knowns = room;
    for (size_t i = 0; code == STATUS_OK && i < list->count; i++) {
        code = known_read(reading, list->children[i], &policy->knowns[policy->known_count], error);
        policy->known_count++;
    }
    return code;
}

/* "first_night: {allocated: 10%}": of the counted levels, which alone are predicted. */
static enum status_code first_read(struct reading_policy *reading, const struct node *map, struct status *error)
{
    static const char *names[LEVEL_COUNTED_COUNT + 1];
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        names[level] = level_name((enum level)level);
    }
    enum status_code code = map_check(&reading->tree, map, "first_night", names, error);
    for (int level = 0; level < LEVEL_COUNTED_COUNT && code == STATUS_OK; level++) {
        const struct node *value = map_find(map, names[level], NULL);
        if (value != NULL) {
            code = bound_read(reading, value, names[level], &reading->policy->first[level], error);
            reading->policy->first_levels |= 1U << level;
        }
    }
    return code;
}

static enum status_code root_read(struct reading_policy *reading, struct status *error)
{
    static const char *const names[] = {"version", "description", "rules", "known_failures", "first_night", NULL};
    const struct node *root = reading->tree.root;
    const struct node *rules = map_find(root->kind == NODE_MAP ? root : NULL, "rules", NULL);
    const struct node *knowns = map_find(root->kind == NODE_MAP ? root : NULL, "known_failures", NULL);
    const struct node *first = map_find(root->kind == NODE_MAP ? root : NULL, "first_night", NULL);
    enum status_code code = map_check(&reading->tree, root, "a policy", names, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct node *version = map_find(root, "version", NULL), *words = map_find(root, "description", NULL);
    int64_t number = 0;
    const char *description = NULL;
    code = version != NULL ? node_integer(&reading->tree, version, "version", 1, 1, &number, error)
                           : node_fail(&reading->tree, root, error, "the policy has no version; write version: 1");
    if (code == STATUS_OK && words != NULL) {
        code = node_words(&reading->tree, words, "description", &reading->policy->arena, &description, error);
    }
    if (code == STATUS_OK && rules == NULL && knowns == NULL && first == NULL) {
        code = node_fail(
            &reading->tree, root, error,
            "the policy has no 'rules', 'known_failures' or 'first_night'; without a policy every counted level "
            "is held exactly");
    }
    code = code == STATUS_OK && first != NULL ? first_read(reading, first, error) : code;
    code = code == STATUS_OK && rules != NULL ? rules_read(reading, rules, error) : code;
    return code == STATUS_OK && knowns != NULL ? knowns_read(reading, knowns, error) : code;
}

enum status_code gate_policy_read(const char *path, struct gate_policy *policy, struct status *error)
{
    static const struct yaml_subject subject = {"policy", "join rules and patterns with *"};
    struct reading_policy reading = {.policy = policy};
    *policy = (struct gate_policy){0};
    enum status_code code = yaml_tree_read_file(path, &subject, &reading.tree, error);
    if (code == STATUS_OK) {
        policy->path = arena_copy(&policy->arena, path);
        code = policy->path != NULL ? root_read(&reading, error) : no_memory(&reading, error);
    }
    yaml_tree_release(&reading.tree);
    return code;
}
