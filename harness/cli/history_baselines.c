/* History baselines: from a word of --baseline to runs of a history. Joins and judges nothing. */
#include "harness/cli/history_baselines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/cli/history_options.h"
#include "harness/gate/gate_chain.h"
#include "harness/history/ancestor.h"

enum { STARTED_BYTES = 24 }; /* "2026-11-20T02:00:00Z" */

static const char no_memory_words[] = "there is no baseline, and no memory to say why";

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
                                   .until = run->started[0] != '\0' ? run->started : NULL,
                                   .except = run->run_id[0] != '\0' ? run->run_id : NULL};
}

/* "results/history.db: run 1f2e3d4c of 2026-11-20", as `assay history show` names it. */
static const char *run_label(struct gate_baselines *baselines, const struct history *history, const char *run_id,
                             const char *started)
{
    return arena_format(&baselines->arena, "%s: run %.8s of %.10s", history_path(history), run_id, started);
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

/* ---- nights that passed ---- */

/* "of suite night on cuda (NVIDIA H200) before this one" */
static const char *which_words(struct gate_baselines *baselines)
{
    const char *suite = baselines->run->environment[ENVIRONMENT_SUITE];
    const char *device = baselines->run->environment[ENVIRONMENT_DEVICE];
    return arena_format(&baselines->arena, "of suite %s on %s before this one%s%s", suite != NULL ? suite : "?",
                        device != NULL ? device : "?", baselines->since != NULL ? ", since " : "",
                        baselines->since != NULL ? baselines->since : "");
}

static void lacking_say(struct gate_baselines *baselines, const struct history *history, const struct gate_chain *chain)
{
    const char *which = which_words(baselines);
    const int count = chain->night_count;
    const char **reason = count == 0 ? &baselines->first : &baselines->lacking;
    *reason = which == NULL ? NULL
              : count == 0
                  ? arena_format(&baselines->arena, "the history %s has no run %s", history_path(history), which)
                  : arena_format(&baselines->arena, "of %d run%s %s, none in the history %s passed", count,
                                 count == 1 ? "" : "s", which, history_path(history));
    *reason = *reason != NULL ? *reason : no_memory_words;
}

/* Nights that did not pass stay out until they are mended, or somebody says that they are right; those of another
 * driver or suite until somebody begins anew with the first of theirs. */
static void failed_say(struct gate_baselines *baselines, const struct gate_chain *chain, const char *alike_since)
{
    const struct gate_options *limits = baselines->limits;
    const int count = chain->failed_count;
    if ((gate_refusals_of(&chain->kept[chain->kept_count - 1], baselines->run) & ~limits->allowed) != 0) {
        baselines->aside =
            arena_format(&baselines->arena, "to hold runs like this one against each other, begin anew with --since %s",
                         alike_since[0] != '\0' ? alike_since : baselines->run->started);
    } else if (count > 0) {
        baselines->aside = arena_format(
            &baselines->arena,
            "%d run%s after that of the baseline did not pass, and %s no baseline; if %s right, `assay gate RECORDS "
            "--accept` says so, or --since %s begins anew",
            count, count == 1 ? "" : "s", count == 1 ? "is" : "are", count == 1 ? "it is" : "they are",
            chain->failed_since);
    } else if (chain->better_count > 0) {
        baselines->aside = arena_format(
            &baselines->arena,
            "%d run%s after that of the baseline %s better by more than %s bounds, and %s no baseline until one is "
            "accepted: `assay gate RECORDS --accept`",
            chain->better_count, chain->better_count == 1 ? "" : "s", chain->better_count == 1 ? "is" : "are",
            chain->better_count == 1 ? "its" : "their", chain->better_count == 1 ? "is" : "are");
    } else if (chain->known_count > 0) {
        baselines->aside = arena_format(
            &baselines->arena,
            "%d run%s after that of the baseline %s a failure that the policy knows, and %s no baseline: what is known "
            "must not become the new state",
            chain->known_count, chain->known_count == 1 ? "" : "s", chain->known_count == 1 ? "has" : "have",
            chain->known_count == 1 ? "is" : "are");
    }
}

/* One night through the gate; the first that is kept, or one that was accepted, is the reference. */
static enum status_code night_take(struct gate_baselines *baselines, const struct history_run *run,
                                   struct gate_chain *chain, struct run_figures *night, struct status *error)
{
    const int kept_count = chain->kept_count;
    enum status_code code = STATUS_OK;
    if (run->accepted_by != NULL) {
        gate_chain_accept(chain, night);
    } else {
        code = gate_chain_add(chain, night, error);
    }
    if (run->accepted_by != NULL || (kept_count == 0 && chain->kept_count > 0)) {
        baselines->reference_words =
            run->accepted_by != NULL
                ? arena_format(&baselines->arena, "run %.8s of %.10s, accepted by %s%s%s", run->run_id, run->started,
                               run->accepted_by, run->accepted_why[0] != '\0' ? ": " : "", run->accepted_why)
                : arena_format(&baselines->arena, "run %.8s of %.10s, the first that passed", run->run_id,
                               run->started);
    }
    return code;
}

/* Nights of another class of GPU or number of threads are a series of their own, as in a trend: they are no baseline,
 * and break none. */
static bool machines_agree(const struct gate_baselines *baselines, const struct run_figures *night)
{
    const unsigned machine = 1U << GATE_REFUSAL_DEVICE | 1U << GATE_REFUSAL_THREADS;
    return (gate_refusals_of(night, baselines->run) & ~baselines->limits->allowed & machine) == 0;
}

/* The runs of a list, from the oldest to the newest, through the gate. */
static enum status_code chain_fill(struct gate_baselines *baselines, struct history *history,
                                   const struct history_runs *runs, struct gate_chain *chain,
                                   char alike_since[STARTED_BYTES], struct status *error)
{
    const struct gate_options *limits = baselines->limits;
    enum status_code code = STATUS_OK;
    alike_since[0] = '\0';
    for (int at = runs->count - 1; at >= 0 && code == STATUS_OK; at--) {
        struct run_figures night = {0};
        code = history_figures(history, &runs->runs[at], &night, error);
        const bool is_ours =
            code == STATUS_OK && !run_figures_share(&night, baselines->run) && machines_agree(baselines, &night);
        if (is_ours) {
            if (alike_since[0] == '\0' && (gate_refusals_of(&night, baselines->run) & ~limits->allowed) == 0) {
                snprintf(alike_since, STARTED_BYTES, "%.20s", night.started);
            }
            code = night_take(baselines, &runs->runs[at], chain, &night, error);
        }
        run_figures_release(&night);
    }
    return code;
}

/* What the chain keeps becomes the baselines, the newest first, as people count nights. */
static enum status_code kept_move(struct gate_baselines *baselines, const struct history *history,
                                  struct gate_chain *chain, struct status *error)
{
    const struct run_figures *reference = gate_chain_reference(chain);
    enum status_code code = STATUS_OK;
    baselines->reference_at = -1;
    for (int at = chain->kept_count - 1; at >= 0 && code == STATUS_OK; at--) {
        code = gate_baseline_room(baselines->count, error);
        if (code == STATUS_OK) {
            baselines->labels[baselines->count] =
                run_label(baselines, history, chain->kept[at].run_id, chain->kept[at].started);
            baselines->reference_at = &chain->kept[at] == reference ? baselines->count : baselines->reference_at;
            baselines->runs[baselines->count++] = chain->kept[at];
            chain->kept[at] = (struct run_figures){0};
        }
    }
    if (code == STATUS_OK && baselines->reference_at < 0) {
        baselines->reference = chain->held;
        chain->held = (struct run_figures){0};
    }
    return code;
}

static enum status_code newest_add(struct gate_baselines *baselines, struct history *history, int most,
                                   struct status *error)
{
    struct history_filter filter = filter_of(baselines);
    struct gate_chain chain = {
        .policy = baselines->limits->policy, .allowed = baselines->limits->allowed, .most = most};
    struct history_runs runs;
    char alike_since[STARTED_BYTES];
    filter.since = baselines->since;
    filter.without_counts = true;
    enum status_code code = history_runs_list(history, &filter, &baselines->arena, &runs, error);
    code = code == STATUS_OK ? chain_fill(baselines, history, &runs, &chain, alike_since, error) : code;
    if (code == STATUS_OK && chain.kept_count == 0) {
        lacking_say(baselines, history, &chain);
    } else if (code == STATUS_OK) {
        failed_say(baselines, &chain, alike_since);
    }
    code = code == STATUS_OK && chain.kept_count > 0 ? kept_move(baselines, history, &chain, error) : code;
    gate_chain_release(&chain);
    return code;
}

/* ---- words ---- */

/* Opens the history, and closes it behind work. */
typedef enum status_code history_use(struct gate_baselines *baselines, struct history *history, const char *word,
                                     struct status *error);

static enum status_code history_with(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, history_use *use, struct status *error)
{
    const char *named = arguments_value(arguments, "history");
    const char *path = named != NULL ? named : history_database(arguments);
    struct history *history = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) { /* before the first night */
        const char *words = arena_format(&baselines->arena, "there is no history yet at %s", path);
        baselines->first = words != NULL ? words : no_memory_words;
        return STATUS_OK;
    }
    enum status_code code = history_open(path, HISTORY_READ, &history, error);
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
    return code == STATUS_OK
               ? figures_add(baselines, history, &run, run_label(baselines, history, run.run_id, run.started), error)
               : code;
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
        const char *label = arena_format(&baselines->arena, "%s: run %.8s of %.10s, %d commit%s before",
                                         history_path(history), ancestor.run.run_id, ancestor.run.started,
                                         ancestor.distance, ancestor.distance == 1 ? "" : "s");
        code = figures_add(baselines, history, &ancestor.run, label, error);
    }
    return code;
}

enum status_code history_latest_read(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, struct status *error)
{
    baselines->is_since_used = true;
    return history_with(arguments, word, baselines, latest_use, error);
}

enum status_code history_newest_read(const struct arguments *arguments, const char *word,
                                     struct gate_baselines *baselines, struct status *error)
{
    baselines->is_since_used = true;
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
