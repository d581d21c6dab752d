/* History baselines: from a word of --baseline to runs of a history. Joins and judges nothing. */
#include "harness/cli/history_baselines.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/history_options.h"
#include "harness/history/ancestor.h"

/* A name as a pattern that matches it alone; NULL for NULL. */
static const char *pattern_of(struct arena *arena, const char *name)
{
    char *pattern = name != NULL ? arena_alloc(arena, 2 * strlen(name) + 1) : NULL;
    char *end = pattern;
    for (const char *at = name; pattern != NULL && *at != '\0'; at++) {
        if (strchr("*?[]\\", *at) != NULL) {
            *end++ = '\\';
        }
        *end++ = *at;
    }
    return pattern;
}

static struct history_filter filter_of(struct gate_baselines *baselines)
{
    const struct run_figures *run = baselines->run;
    return (struct history_filter){.suite = pattern_of(&baselines->arena, run->environment[ENVIRONMENT_SUITE]),
                                   .device = pattern_of(&baselines->arena, run->environment[ENVIRONMENT_DEVICE]),
                                   .before = run->started[0] != '\0' ? run->started : NULL,
                                   .except = run->run_id[0] != '\0' ? run->run_id : NULL};
}

/* label: what the run is; NULL: its own source says it. */
static enum status_code figures_add(struct gate_baselines *baselines, struct history *history,
                                    const struct history_run *run, const char *label, struct status *error)
{
    enum status_code code = gate_baseline_room(baselines->count, error);
    if (code != STATUS_OK) {
        return code;
    }
    baselines->labels[baselines->count] = label;
    return history_figures(history, run, &baselines->runs[baselines->count++], error);
}

static void lacking_say(struct gate_baselines *baselines, const struct history *history, const char *what)
{
    const char *suite = baselines->run->environment[ENVIRONMENT_SUITE];
    const char *device = baselines->run->environment[ENVIRONMENT_DEVICE];
    baselines->lacking =
        arena_format(&baselines->arena, "the history %s has no %s of suite %s on %s before this one",
                     history_path(history), what, suite != NULL ? suite : "?", device != NULL ? device : "?");
}

static enum status_code newest_add(struct gate_baselines *baselines, struct history *history, int most,
                                   struct status *error)
{
    const struct history_filter filter = filter_of(baselines);
    struct history_runs runs;
    int found = 0;
    enum status_code code = history_runs_list(history, &filter, &baselines->arena, &runs, error);
    for (int i = 0; code == STATUS_OK && i < runs.count && found < most; i++) {
        if (runs.runs[i].ended && runs.runs[i].absent_count == 0) {
            code = figures_add(baselines, history, &runs.runs[i], NULL, error);
            found++;
        }
    }
    if (code == STATUS_OK && found == 0) {
        lacking_say(baselines, history, "whole run");
    }
    return code;
}

/* Opens the history, and closes it behind work. */
typedef enum status_code history_use(struct gate_baselines *baselines, struct history *history, const char *word,
                                     struct status *error);

static enum status_code history_with(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, history_use *use, struct status *error)
{
    const char *named = arguments_value(arguments, "history");
    struct history *history = NULL;
    enum status_code code =
        history_open(named != NULL ? named : history_database(arguments), HISTORY_READ, &history, error);
    if (code == STATUS_OK) {
        code = use(baselines, history, word, error);
    }
    history_close(history);
    return code;
}

static enum status_code latest_use(struct gate_baselines *baselines, struct history *history, const char *word,
                                   struct status *error)
{
    (void)word;
    return newest_add(baselines, history, 1, error);
}

static enum status_code newest_use(struct gate_baselines *baselines, struct history *history, const char *word,
                                   struct status *error)
{
    int64_t most = 0;
    enum status_code code = integer_parse(word, 1, GATE_BASELINES_MAXIMUM, &most, error);
    if (code != STATUS_OK) {
        status_prefix(error, "gate: --baseline median");
        return code;
    }
    return newest_add(baselines, history, (int)most, error);
}

static enum status_code run_use(struct gate_baselines *baselines, struct history *history, const char *word,
                                struct status *error)
{
    struct history_run run;
    enum status_code code = history_run_find(history, word, &baselines->arena, &run, error);
    return code == STATUS_OK ? figures_add(baselines, history, &run, NULL, error) : code;
}

static enum status_code ancestor_use(struct gate_baselines *baselines, struct history *history, const char *word,
                                     struct status *error)
{
    const struct history_filter filter = filter_of(baselines);
    struct ancestor ancestor;
    enum status_code code = history_ancestor(history, &filter, ".", baselines->run->environment[ENVIRONMENT_REVISION],
                                             &baselines->arena, &ancestor, error);
    (void)word;
    if (code == STATUS_OK && !ancestor.found) {
        baselines->lacking = ancestor.why_not;
    } else if (code == STATUS_OK) {
        const char *label = arena_format(&baselines->arena, "%s: run %s, %d commit%s before", history_path(history),
                                         ancestor.run.run_id, ancestor.distance, ancestor.distance == 1 ? "" : "s");
        code = figures_add(baselines, history, &ancestor.run, label, error);
    }
    return code;
}

enum status_code history_latest_read(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, struct status *error)
{
    return history_with(arguments, word, baselines, latest_use, error);
}

enum status_code history_newest_read(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, struct status *error)
{
    return history_with(arguments, word, baselines, newest_use, error);
}

enum status_code history_run_read(const struct arguments *arguments, const char *word, struct gate_baselines *baselines,
                                  struct status *error)
{
    return history_with(arguments, word, baselines, run_use, error);
}

enum status_code history_ancestor_read(const struct arguments *arguments, const char *word,
                                       struct gate_baselines *baselines, struct status *error)
{
    return history_with(arguments, word, baselines, ancestor_use, error);
}
