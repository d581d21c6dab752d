/* Case choice: patterns to attempts. Knows nothing of records, devices and costs: rules about those drop cases. */
#include "harness/run/case_choice.h"

#include <stdlib.h>

#include "harness/base/shell_word.h"

static enum status_code memory_error(const struct suite *suite, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the choice among %d cases", suite->case_count);
}

static bool any_matches(const struct suite_case *case_, const char *const *patterns, int count)
{
    bool matches = false;
    for (int i = 0; i < count && !matches; i++) {
        matches = suite_case_matches(case_, patterns[i]);
    }
    return matches;
}

static enum status_code nothing_matches(const struct suite *suite, const char *what, struct status *error)
{
    struct text path = {0};
    shell_word_append(&path, suite->path);
    enum status_code code =
        status_set(error, STATUS_INVALID, "no case of %s matches '%s'; assay plan %s --ids lists them", suite->path,
                   what, text_string(&path));
    text_release(&path);
    return code;
}

/* One of several that matches nothing is a slip of the pen too, and would be seen by nobody. */
static enum status_code filters_check(const struct suite *suite, const struct case_rules *rules, struct status *error)
{
    for (int k = 0; k < rules->filter_count; k++) {
        bool matches = false;
        for (int i = 0; i < suite->case_count && !matches; i++) {
            matches = suite_case_matches(&suite->cases[i], rules->filters[k]);
        }
        if (!matches) {
            return nothing_matches(suite, rules->filters[k], error);
        }
    }
    return STATUS_OK;
}

static void words_make(const struct case_rules *rules, struct text *words)
{
    for (int k = 0; k < rules->filter_count; k++) {
        text_format(words, "%s%s", k > 0 ? " or " : "", rules->filters[k]);
    }
    for (int k = 0; k < rules->not_count; k++) {
        text_format(words, "%snot %s", words->length > 0 ? ", " : "", rules->nots[k]);
    }
}

static void cases_take(const struct suite *suite, const struct case_rules *rules, struct case_choice *choice)
{
    for (int i = 0; i < suite->case_count; i++) {
        const struct suite_case *case_ = &suite->cases[i];
        bool is_taken = (rules->filter_count == 0 || any_matches(case_, rules->filters, rules->filter_count)) &&
                        !any_matches(case_, rules->nots, rules->not_count);
        if (is_taken) {
            int attempts = rules->repeat > 0 ? rules->repeat : case_->settings->repeat;
            choice->attempts[i] = attempts;
            choice->attempt_count += attempts;
            choice->case_count++;
        }
    }
}

enum status_code case_choice_make(const struct suite *suite, const struct case_rules *rules, struct case_choice *choice,
                                  struct status *error)
{
    enum status_code code = filters_check(suite, rules, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct case_choice made = {.attempts = calloc((size_t)suite->case_count + 1, sizeof *made.attempts),
                               .suite_count = suite->case_count};
    words_make(rules, &made.words);
    if (made.attempts == NULL || made.words.failed) {
        code = memory_error(suite, error);
    } else {
        cases_take(suite, rules, &made);
        code = made.case_count > 0 ? STATUS_OK : nothing_matches(suite, text_string(&made.words), error);
    }
    if (code != STATUS_OK) {
        case_choice_release(&made);
        return code;
    }
    *choice = made;
    return STATUS_OK;
}

enum status_code case_choice_again(const struct suite *suite, const int *attempts, const char *words,
                                   struct case_choice *choice, struct status *error)
{
    struct case_choice made = {.attempts = calloc((size_t)suite->case_count + 1, sizeof *made.attempts),
                               .suite_count = suite->case_count};
    text_append(&made.words, words);
    if (made.attempts == NULL || made.words.failed) {
        case_choice_release(&made);
        return memory_error(suite, error);
    }
    for (int i = 0; i < suite->case_count; i++) {
        made.attempts[i] = attempts[i];
        made.attempt_count += attempts[i];
        made.case_count += attempts[i] > 0 ? 1 : 0;
    }
    *choice = made;
    return STATUS_OK;
}

void case_choice_drop(struct case_choice *choice, int index)
{
    if (choice->attempts[index] > 0) {
        choice->attempt_count -= choice->attempts[index];
        choice->case_count--;
        choice->attempts[index] = 0;
    }
}

void case_choice_tell(struct case_choice *choice, const char *rule)
{
    text_format(&choice->words, "%s%s", choice->words.length > 0 ? ", " : "", rule);
}

int case_choice_attempts(const struct case_choice *choice, const struct suite *suite, int index)
{
    return choice != NULL ? choice->attempts[index] : suite->cases[index].settings->repeat;
}

void case_choice_release(struct case_choice *choice)
{
    free(choice->attempts);
    text_release(&choice->words);
    *choice = (struct case_choice){0};
}
