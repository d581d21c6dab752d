/* assay history import: records into the history, and what became of each run. */
#include <string.h>
#include <sys/stat.h>

#include "harness/cli/history_actions.h"
#include "harness/cli/history_options.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"

struct importing {
    const char *path;        /* of the database */
    struct history *history; /* NULL until a run was read: records that cannot be leave no empty database behind */
    enum import_manner manner;
    struct text lines; /* what was done, a line for each run */
    int counts[IMPORT_KEPT + 1];
    int empty_count; /* runs that attempted no case */
};

static void import_say(struct importing *importing, const struct run_figures *figures, const char *word)
{
    text_format(&importing->lines, "%-8s ", word);
    history_run_line(&importing->lines, figures->started, figures->run_id, figures->case_count, figures->environment);
}

static enum status_code database_open(struct importing *importing, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (importing->history == NULL) {
        code = parent_folders_make(importing->path, error);
        code = code == STATUS_OK ? history_open(importing->path, HISTORY_WRITE, &importing->history, error) : code;
    }
    return code;
}

static enum status_code import_visit(const struct run_figures *figures, void *context, struct status *error)
{
    static const char *const words[] = {"added", "there", "renewed", "kept"};
    struct importing *importing = context;
    enum import_outcome outcome = IMPORT_PRESENT;
    if (figures->case_count == 0) {
        importing->empty_count++;
        import_say(importing, figures, "empty");
        return STATUS_OK;
    }
    enum status_code code = database_open(importing, error);
    if (code == STATUS_OK) {
        code = history_import(importing->history, figures, importing->manner, &outcome, error);
    }
    if (code == STATUS_OK) {
        importing->counts[outcome]++;
        import_say(importing, figures, words[outcome]);
        if (figures->damaged_line_count > 0) {
            output_warning("assay: history import: %s: %d line%s that a killed run left unfinished %s left out",
                           figures->source, figures->damaged_line_count, figures->damaged_line_count == 1 ? "" : "s",
                           figures->damaged_line_count == 1 ? "was" : "were");
        }
    }
    return code;
}

static void totals_say(struct importing *importing)
{
    const int *counts = importing->counts;
    text_format(&importing->lines, "%d added, %d renewed, %d there already", counts[IMPORT_ADDED],
                counts[IMPORT_RENEWED], counts[IMPORT_PRESENT]);
    if (counts[IMPORT_KEPT] > 0) {
        text_format(&importing->lines, ", %d kept because the history has more of %s", counts[IMPORT_KEPT],
                    counts[IMPORT_KEPT] == 1 ? "it" : "them");
    }
    if (importing->empty_count > 0) {
        text_format(&importing->lines, ", %d left out without a case", importing->empty_count);
    }
    text_format(&importing->lines, ": %s\n", importing->path);
}

/* Whoever names the folder of all nights means the nights in it. */
static void nights_hint(const char *folder, struct status *error)
{
    struct text records = {0};
    struct stat facts;
    text_format(&records, "%s/records.jsonl", folder);
    if (stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode) && stat(text_string(&records), &facts) != 0) {
        status_extend(error, "; of a folder of nights name each of them: %s/*", folder);
    }
    text_release(&records);
}

/* What was imported before an error is in the history, and is told. */
static enum status_code records_import(const struct arguments *arguments, struct importing *importing,
                                       struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int at = 1; at < arguments->operand_count && code == STATUS_OK; at++) {
        code = run_figures_each(arguments->operands[at], import_visit, importing, error);
        if (code != STATUS_OK) {
            nights_hint(arguments->operands[at], error);
        }
    }
    if (code == STATUS_OK) {
        totals_say(importing);
    }
    struct status lost;
    enum status_code printed = output_lines(&importing->lines, &lost);
    return code == STATUS_OK && printed != STATUS_OK ? status_copy(error, printed, &lost) : code;
}

enum status_code history_import_action(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    struct importing importing = {.path = history_database(arguments),
                                  .manner =
                                      arguments_value(arguments, "replace") != NULL ? IMPORT_REPLACES : IMPORT_GUARDED};
    (void)exit_code;
    enum status_code code = records_import(arguments, &importing, error);
    history_close(importing.history);
    text_release(&importing.lines);
    return code;
}
