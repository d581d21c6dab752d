/* Gate keep: one command for a night instead of two, and what a person says of one. Judges nothing. */
#include "harness/cli/gate_keep.h"

#include <time.h>

#include "harness/cli/history_options.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"
#include "harness/history/history.h"

const char *gate_history(const struct arguments *arguments)
{
    const char *named = arguments_value(arguments, "history");
    return named != NULL ? named : history_database(arguments);
}

/* A run without a case says nothing, and no history can keep it. */
static enum status_code run_visit(const struct run_figures *figures, void *context, struct status *error)
{
    enum import_outcome outcome = IMPORT_PRESENT;
    return figures->case_count > 0 ? history_import(context, figures, IMPORT_GUARDED, &outcome, error) : STATUS_OK;
}

static enum status_code records_keep(const struct arguments *arguments, struct history **history, struct status *error)
{
    const char *path = gate_history(arguments);
    enum status_code code = parent_folders_make(path, error);
    code = code == STATUS_OK ? history_open(path, HISTORY_WRITE, history, error) : code;
    return code == STATUS_OK ? run_figures_each(arguments->operands[0], run_visit, *history, error) : code;
}

enum status_code gate_import(const struct arguments *arguments, struct status *error)
{
    struct history *history = NULL;
    enum status_code code = STATUS_OK;
    if (arguments_value(arguments, "import") != NULL) {
        code = records_keep(arguments, &history, error);
        history_close(history);
    }
    return code;
}

static enum status_code accept_check(const struct arguments *arguments, const struct run_figures *run,
                                     struct status *error)
{
    static const char *const others[] = {"baseline", "since",  "policy",  "allow", "format",
                                         "json",     "output", "summary", "rows",  "import"};
    for (size_t at = 0; at < sizeof others / sizeof others[0]; at++) {
        if (arguments_value(arguments, others[at]) != NULL) {
            return status_set(error, STATUS_INVALID, "gate: --accept judges nothing; leave --%s out", others[at]);
        }
    }
    if (!run->ended || run->absent_count + run->unnamed_absent_count > 0) {
        return status_set(error, STATUS_INVALID,
                          "gate: --accept: the run %.8s was cut short, so that nobody knows what it would be held "
                          "against; measure it again",
                          run->run_id);
    }
    if (arguments_value(arguments, "by") == NULL || arguments_value(arguments, "reason") == NULL) {
        return status_set(error, STATUS_INVALID,
                          "gate: --accept: who says that the run is right, and why? Write --by NAME --reason TEXT: "
                          "later runs are held against it");
    }
    return STATUS_OK;
}

enum status_code gate_accept(const struct arguments *arguments, const struct run_figures *run, struct status *error)
{
    enum { MOMENT_BYTES = 24 };
    const char *reason = arguments_value(arguments, "reason"), *name = arguments_value(arguments, "by");
    char moment[MOMENT_BYTES] = "";
    struct history *history = NULL;
    struct text line = {0};
    struct tm parts;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &parts) != NULL) {
        strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    enum status_code code = accept_check(arguments, run, error);
    code = code == STATUS_OK ? records_keep(arguments, &history, error) : code;
    code = code == STATUS_OK ? history_accept(history, run->run_id, moment, name, reason, error) : code;
    if (code == STATUS_OK) {
        text_format(&line, "accepted by %s%s%s, in %s: later runs are held against this one\n", name,
                    reason[0] != '\0' ? ": " : "", reason, gate_history(arguments));
        history_run_line(&line, run->started, run->run_id, run->case_count, run->environment);
        code = output_lines(&line, error);
    }
    text_release(&line);
    history_close(history);
    return code;
}
