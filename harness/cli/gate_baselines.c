/* Gate baselines: from the words of --baseline to one baseline. A kind of word is a row of a table. */
#include "harness/cli/gate_baselines.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/history_baselines.h"
#include "harness/cli/history_options.h"

enum { LABELS_TOLD = 3 };

static enum status_code folder_read(const struct arguments *arguments, const char *word,
                                    struct gate_baselines *baselines, struct status *error)
{
    (void)arguments;
    enum status_code code = gate_baseline_room(baselines->count, error);
    return code == STATUS_OK ? run_figures_read(word, &baselines->runs[baselines->count++], error) : code;
}

static enum status_code folders_read(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (const char *at = word; code == STATUS_OK; at++) {
        const size_t length = strcspn(at, ",");
        char *folder = strndup(at, length);
        if (folder == NULL) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the name of a baseline");
        }
        code = length > 0 ? folder_read(arguments, folder, baselines, error)
                          : status_set(error, STATUS_INVALID,
                                       "%s: --baseline median:%s names an empty folder; write median:DIR,DIR",
                                       arguments->command->name, word);
        free(folder);
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    return code;
}

/* "7" is a number of nights; ./7 a folder. */
static enum status_code median_read(const struct arguments *arguments, const char *word,
                                    struct gate_baselines *baselines, struct status *error)
{
    const bool is_number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
    return (is_number ? history_newest_read : folders_read)(arguments, word, baselines, error);
}

/* What a value begins with, or is if it has no colon. A value that is none of these is a folder; ./ before one that
 * looks like it makes it one. */
static const struct baseline_kind {
    const char *word;
    baseline_reader *read;
} kinds[] = {
    {"median:", median_read},
    {"run:", history_run_read},
    {"latest", history_latest_read},
    {"ancestor", history_ancestor_read},
};

static enum status_code word_read(const struct arguments *arguments, const char *value,
                                  struct gate_baselines *baselines, struct status *error)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t length = strlen(kinds[i].word);
        const bool has_more = kinds[i].word[length - 1] == ':';
        if (strncmp(value, kinds[i].word, length) == 0 && (has_more || value[length] == '\0')) {
            return kinds[i].read(arguments, value + length, baselines, error);
        }
    }
    return folder_read(arguments, value, baselines, error);
}

static const char *label_of(const struct gate_baselines *baselines, int at)
{
    return baselines->labels[at] != NULL ? baselines->labels[at] : baselines->runs[at].source;
}

static enum status_code baselines_join(struct gate_baselines *baselines, struct status *error)
{
    const struct run_figures *runs[GATE_BASELINES_MAXIMUM];
    if (baselines->count == 1) {
        text_append(&baselines->words, label_of(baselines, 0));
        return STATUS_OK;
    }
    text_format(&baselines->words, "the median of %d runs (", baselines->count);
    for (int i = 0; i < baselines->count; i++) {
        runs[i] = &baselines->runs[i];
        if (i < LABELS_TOLD) {
            text_format(&baselines->words, "%s%s", i > 0 ? ", " : "", label_of(baselines, i));
        }
    }
    if (baselines->count > LABELS_TOLD) {
        text_format(&baselines->words, " and %d more", baselines->count - LABELS_TOLD);
    }
    text_append(&baselines->words, ")");
    return gate_baseline_make(runs, baselines->count, &baselines->merged, error);
}

/* What is of baselines alone decides nothing without one: whoever wrote it forgot the other half. */
static enum status_code baseline_needed(const struct arguments *arguments, struct status *error)
{
    static const char *const halves[] = {"allow", "since"};
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        if (arguments_value(arguments, halves[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "gate: --%s is of a baseline, and there is none; write --baseline latest as well, or "
                              "leave it out: the run is then judged by its own verdicts",
                              halves[i]);
        }
    }
    if (arguments_value(arguments, "history") != NULL && arguments_value(arguments, "import") == NULL) {
        return status_set(error, STATUS_INVALID,
                          "gate: --history is of a baseline, and there is none; write --baseline latest as well, or "
                          "--import to put the records into it");
    }
    return STATUS_OK;
}

/* Held against itself every run passes. */
static void self_say(struct gate_baselines *baselines)
{
    for (int i = 0; i < baselines->count; i++) {
        if (run_figures_share(&baselines->runs[i], baselines->run)) {
            baselines->aside = baselines->count == 1 ? "the baseline is this run itself, so nothing can differ"
                                                     : "this run is one of those that the baseline is made of";
        }
    }
}

enum status_code gate_baselines_read(const struct arguments *arguments, const struct run_figures *run,
                                     const struct gate_options *limits, struct gate_baselines *baselines,
                                     struct status *error)
{
    const char *word = NULL;
    baselines->run = run;
    baselines->limits = limits;
    enum status_code code = history_date_read(arguments, "since", &baselines->since, error);
    for (int next = 0; code == STATUS_OK && (word = arguments_value_next(arguments, "baseline", &next)) != NULL;) {
        code = word_read(arguments, word, baselines, error);
    }
    if (code == STATUS_OK) {
        self_say(baselines);
    }
    if (code == STATUS_OK && arguments_value(arguments, "baseline") == NULL) {
        code = baseline_needed(arguments, error);
    }
    if (code == STATUS_OK && baselines->since != NULL && !baselines->is_since_used) {
        code = status_set(error, STATUS_INVALID,
                          "gate: --since is of --baseline latest and median:N; remove it, or write one of them");
    }
    if (code == STATUS_OK && baselines->count > 0) {
        code = baselines_join(baselines, error);
    }
    return code == STATUS_OK ? text_status(&baselines->words, "the names of the baselines", error) : code;
}

const struct run_figures *gate_baselines_figures(const struct gate_baselines *baselines)
{
    return baselines->count == 0 ? NULL : baselines->count == 1 ? &baselines->runs[0] : &baselines->merged;
}

const struct run_figures *gate_baselines_reference(const struct gate_baselines *baselines)
{
    const struct run_figures *reference = baselines->reference_words == NULL ? NULL
                                          : baselines->reference.source != NULL
                                              ? &baselines->reference
                                              : &baselines->runs[baselines->reference_at];
    return reference != gate_baselines_figures(baselines) ? reference : NULL;
}

void gate_baselines_release(struct gate_baselines *baselines)
{
    run_figures_release(&baselines->reference);
    run_figures_release(&baselines->merged);
    for (int i = 0; i < baselines->count; i++) {
        run_figures_release(&baselines->runs[i]);
    }
    text_release(&baselines->words);
    arena_release(&baselines->arena);
}
