/* Run choice: options and what a folder says to a choice. What may go on is compared again in harness/run, whoever
 * chose. */
#include "harness/cli/run_choice.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/choice_options.h"
#include "harness/cli/last_failed.h"
#include "harness/cli/shard_option.h"
#include "harness/run/resumed_selection.h"

/* Whether --filter, --not, --repeat or --shard is given. */
static bool choice_is_given(const struct arguments *arguments)
{
    int first = 0, second = 0;
    return arguments_value_next(arguments, "filter", &first) != NULL ||
           arguments_value_next(arguments, "not", &second) != NULL || arguments_value(arguments, "repeat") != NULL ||
           arguments_value(arguments, "shard") != NULL;
}

/* The words of a choice end with those of this rule, which is its last one. */
static bool words_are_of_last_failed(const char *words)
{
    size_t length = strlen(words), own = strlen(LAST_FAILED_WORDS);
    const char *end = length >= own ? words + length - own : words;
    return strcmp(end, LAST_FAILED_WORDS) == 0 &&
           (end == words || (end - words > 2 && end[-2] == ',' && end[-1] == ' '));
}

/* Of a part of several: the cases of that part are what stays. */
static enum status_code part_take(const struct arguments *arguments, const struct shard_wish *wish,
                                  struct run_options *run, struct case_choice *choice, struct shard_plan *shards,
                                  struct status *error)
{
    struct text words = shard_options_text(run, arguments_value(arguments, "constants"));
    const struct shard_question question = {.suite = run->suite,
                                            .device = run->device,
                                            .options = text_string(&words),
                                            .catalogue_dir = run->catalogue_dir};
    enum status_code code = shard_take(wish, &question, choice, shards, error);
    run->shards = wish->count > 0 ? shards : NULL;
    run->shard = wish->index;
    text_release(&words);
    return code;
}

/* As the options say. */
static enum status_code options_choose(const struct arguments *arguments, struct run_options *run,
                                       struct case_choice *choice, struct shard_plan *shards, struct status *error)
{
    struct shard_wish wish;
    enum status_code code = shard_option_read(arguments, &wish, error);
    if (code == STATUS_OK && wish.count > 0 && arguments_value(arguments, "last-failed") != NULL) {
        code = status_set(error, STATUS_INVALID,
                          "run: --last-failed chooses by results that other machines do not have, and --shard needs "
                          "one choice for all; leave out one of them");
    }
    if (code == STATUS_OK) {
        code = choice_options_read(arguments, run->suite, choice, error);
    }
    return code == STATUS_OK ? part_take(arguments, &wish, run, choice, shards, error) : code;
}

/* --resume alone: whatever the run chose, of a part what its plan says. What is not listed, because it was killed
 * before, or is of another suite, is left to the comparison with the run, which then names the difference. */
static enum status_code same_choose(const struct arguments *arguments, struct run_options *run,
                                    const struct resumed_selection *then, struct case_choice *choice,
                                    struct shard_plan *shards, struct status *error)
{
    const struct shard_wish wish = {then->shard, then->shard_count};
    enum status_code code = resumed_selection_choice(then, run->folder, run->suite, choice, error);
    if (code != STATUS_OK) {
        status_extend(error, "; run: --resume: give --shard and what else chose cases as before");
        return code;
    }
    return part_take(arguments, &wish, run, choice, shards, error);
}

/* The cases of the given choice that the run took, too. It must be the choice that the run was made of. */
static enum status_code choice_narrow(const struct run_options *run, const struct resumed_selection *then,
                                      struct case_choice *choice, struct status *error)
{
    for (int i = 0; i < choice->suite_count; i++) {
        if (then->attempts[i] == 0) {
            case_choice_drop(choice, i);
        }
    }
    case_choice_tell(choice, LAST_FAILED_WORDS);
    if (strcmp(text_string(&choice->words), text_string(&then->words)) == 0) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID,
                      "run: --last-failed --resume: the run of %.40s in %.300s chose '%.200s', and is asked for "
                      "'%.200s'; leave --filter and --not out to go on with it, or --resume, which begins another",
                      text_string(&then->started), run->folder, text_string(&then->words), text_string(&choice->words));
}

static void another_tell(const struct run_options *run, const struct resumed_selection *then, const char *why)
{
    char text[STATUS_TEXT_BYTES];
    snprintf(text, sizeof text, "the run of %.40s in %.300s %s; one of what failed begins", text_string(&then->started),
             run->folder, why);
    if (run->progress.warned != NULL) {
        run->progress.warned(run->progress.context, text);
    }
}

/* --last-failed --resume: the last run, if it was one of what had failed; else, if it is finished, such a run
 * begins. */
static enum status_code last_failed_resume(const struct arguments *arguments, struct run_options *run,
                                           const struct resumed_selection *then, struct case_choice *choice,
                                           struct shard_plan *shards, struct status *error)
{
    bool is_of_failed = words_are_of_last_failed(text_string(&then->words));
    if (is_of_failed && then->is_listed) {
        if (!choice_is_given(arguments)) {
            return same_choose(arguments, run, then, choice, shards, error);
        }
        enum status_code code = options_choose(arguments, run, choice, shards, error);
        return code == STATUS_OK ? choice_narrow(run, then, choice, error) : code;
    }
    if (then->is_there && !is_of_failed && !then->is_finished) {
        return status_set(error, STATUS_INVALID,
                          "run: --last-failed --resume: the run of %.40s in %.300s was interrupted and is of other "
                          "cases; finish it with --resume alone, or leave --resume out, which begins another run",
                          text_string(&then->started), run->folder);
    }
    run->resume = false;
    enum status_code code = options_choose(arguments, run, choice, shards, error);
    if (code == STATUS_OK) {
        code = last_failed_choose(run->folder, run->suite, choice, error);
    }
    if (code == STATUS_OK && choice->case_count > 0) { /* else nothing begins, which is told by whoever asked */
        another_tell(run, then, is_of_failed ? "was killed before it had written which cases it takes" : "is finished");
    }
    return code;
}

enum status_code run_choice_make(const struct arguments *arguments, struct run_options *run, struct case_choice *choice,
                                 struct shard_plan *shards, struct status *error)
{
    bool is_of_failed = arguments_value(arguments, "last-failed") != NULL;
    struct resumed_selection then = {0};
    bool is_asked =
        run->resume && (is_of_failed || !choice_is_given(arguments)); /* of large records it takes seconds */
    run->choice = choice;
    enum status_code code = is_asked ? resumed_selection_read(run->folder, run->suite, &then, error) : STATUS_OK;
    if (code != STATUS_OK) {
        return code;
    }
    if (run->resume && is_of_failed && then.is_there) {
        code = last_failed_resume(arguments, run, &then, choice, shards, error);
    } else if ((then.is_listed || then.shard_count > 0) && !choice_is_given(arguments)) {
        code = same_choose(arguments, run, &then, choice, shards, error);
    } else {
        code = options_choose(arguments, run, choice, shards, error);
        if (code == STATUS_OK && is_of_failed) {
            code = last_failed_choose(run->folder, run->suite, choice, error);
        }
    }
    resumed_selection_release(&then);
    return code;
}
