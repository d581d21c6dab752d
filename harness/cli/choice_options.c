/* Choice options: from the words of a command line to rules. */
#include "harness/cli/choice_options.h"

#include "harness/base/shell_word.h"
#include "harness/cli/number_option.h"

struct patterns {
    const char *globs[REPEATED_COUNT_MAXIMUM];
    int count;
};

static void patterns_read(const struct arguments *arguments, const char *name, struct patterns *patterns)
{
    const char *glob = NULL;
    for (int next = 0; (glob = arguments_value_next(arguments, name, &next)) != NULL;) {
        patterns->globs[patterns->count++] = glob;
    }
}

/* As other programs write it; no id and no tag begins so. */
static enum status_code negations_refuse(const struct arguments *arguments, const struct patterns *filters,
                                         struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < filters->count && code == STATUS_OK; i++) {
        if (filters->globs[i][0] == '!') {
            struct text word = {0};
            shell_word_append(&word, filters->globs[i] + 1);
            code = status_set(error, STATUS_INVALID, "%s: --filter %s: to leave cases out, write --not %s",
                              arguments->command->name, filters->globs[i], text_string(&word));
            text_release(&word);
        }
    }
    return code;
}

enum status_code choice_options_read(const struct arguments *arguments, const struct suite *suite,
                                     struct case_choice *choice, struct status *error)
{
    struct patterns filters = {.count = 0}, nots = {.count = 0};
    struct case_rules rules = {0};
    patterns_read(arguments, "filter", &filters);
    patterns_read(arguments, "not", &nots);
    rules.filters = filters.globs;
    rules.filter_count = filters.count;
    rules.nots = nots.globs;
    rules.not_count = nots.count;
    enum status_code code = negations_refuse(arguments, &filters, error);
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "repeat", 1, CASE_ATTEMPTS_MAXIMUM, &rules.repeat, error);
    }
    if (code == STATUS_OK) {
        code = case_choice_make(suite, &rules, choice, error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s", arguments->command->name);
        }
    }
    return code;
}
