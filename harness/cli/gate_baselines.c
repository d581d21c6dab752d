/* Gate baselines: from the words of --baseline to one baseline. A kind of word is a row of a table. */
#include "harness/cli/gate_baselines.h"

#include <stdlib.h>
#include <string.h>

typedef enum status_code baseline_reader(const struct arguments *arguments, const char *word,
                                         struct gate_baselines *baselines, struct status *error);

static enum status_code folder_read(const struct arguments *arguments, const char *word,
                                    struct gate_baselines *baselines, struct status *error)
{
    if (baselines->count == GATE_BASELINES_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: --baseline: more than %d baselines; give fewer",
                          arguments->command->name, GATE_BASELINES_MAXIMUM);
    }
    return run_figures_read(word, &baselines->runs[baselines->count++], error);
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

/* A word that begins with none of these is a folder; ./ before one that does makes it one. */
static const struct baseline_kind {
    const char *prefix;
    baseline_reader *read;
} kinds[] = {
    {"median:", folders_read},
};

static enum status_code word_read(const struct arguments *arguments, const char *word, struct gate_baselines *baselines,
                                  struct status *error)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t length = strlen(kinds[i].prefix);
        if (strncmp(word, kinds[i].prefix, length) == 0) {
            return kinds[i].read(arguments, word + length, baselines, error);
        }
    }
    return folder_read(arguments, word, baselines, error);
}

static enum status_code baselines_join(struct gate_baselines *baselines, struct status *error)
{
    const struct run_figures *runs[GATE_BASELINES_MAXIMUM];
    if (baselines->count == 1) {
        text_append(&baselines->words, baselines->runs[0].source);
        return STATUS_OK;
    }
    text_format(&baselines->words, "the median of %d runs (", baselines->count);
    for (int i = 0; i < baselines->count; i++) {
        runs[i] = &baselines->runs[i];
        text_format(&baselines->words, "%s%s", i > 0 ? ", " : "", runs[i]->source);
    }
    text_append(&baselines->words, ")");
    return gate_baseline_make(runs, baselines->count, &baselines->merged, error);
}

enum status_code gate_baselines_read(const struct arguments *arguments, struct gate_baselines *baselines,
                                     struct status *error)
{
    const char *word = NULL;
    enum status_code code = STATUS_OK;
    for (int next = 0; code == STATUS_OK && (word = arguments_value_next(arguments, "baseline", &next)) != NULL;) {
        code = word_read(arguments, word, baselines, error);
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

void gate_baselines_release(struct gate_baselines *baselines)
{
    run_figures_release(&baselines->merged);
    for (int i = 0; i < baselines->count; i++) {
        run_figures_release(&baselines->runs[i]);
    }
    text_release(&baselines->words);
}
