/* assay history: the figures of many nights in one file, and what changed between them. The words of the command line
 * are here; what each action does is in history_actions.c. */
#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/history_actions.h"
#include "harness/cli/history_options.h"
#include "harness/history/trend.h"
#include "harness/report/report.h"

static const struct option_row options[] = {
    {"database", OPTION_VALUE, "FILE", "the history (default: $ASSAY_HISTORY, else " HISTORY_DEFAULT_FILE ")"},
    {"replace", OPTION_FLAG, NULL, "import: take records that say something else than before"},
    {"suite", OPTION_VALUE, "GLOB", "show, trend, prune, export: runs of suites whose name matches"},
    {"device", OPTION_VALUE, "GLOB", "the same of devices as show prints them: '*H200*'"},
    {"since", OPTION_VALUE, "DATE", "show, trend, export: runs that started on DATE or later: 2026-11-01"},
    {"before", OPTION_VALUE, "DATE", "show, trend, export: runs that started before DATE; prune: these go"},
    {"nights", OPTION_VALUE, "N", "show: the newest N runs; trend: of each suite and device (default 90)"},
    {"case", OPTION_VALUE, "GLOB", "trend, export: cases whose id, label or tag matches"},
    {"level", OPTION_VALUE, "LIST", "trend: of these alone: requested,allocated,reserved,device,process"},
    {"fail", OPTION_FLAG, NULL, "trend: exit code 1 if a figure rose behind the night that was accepted last"},
    {"keep", OPTION_VALUE, "N", "prune: of each suite and device the newest N runs stay"},
    {"dry-run", OPTION_FLAG, NULL, "prune: say what would go, and change nothing"},
    {"format", OPTION_VALUE, "FORMAT", REPORT_PAGE_HELP "; export: jsonl or csv"},
    {"output", OPTION_VALUE, "FILE", "show, trend, export: write to FILE instead of standard output"},
    {"plots", OPTION_VALUE, "FOLDER", "trend: keep the plots there (html has them in the page)"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* Actions, and which options each takes besides --database. */
static const struct action_row {
    const char *name;
    history_action *run;
    const char *options[12]; /* ended by NULL */
    int operand_minimum, operand_maximum;
    const char *operand_words; /* of the error that there are too few or too many */
} actions[] = {
    {"import",
     history_import_action,
     {"replace", NULL},
     1,
     OPERAND_COUNT_MAXIMUM - 1,
     "RECORDS..., folders or files of records"},
    {"show",
     history_show_action,
     {"suite", "device", "since", "before", "nights", "format", "output", NULL},
     0,
     1,
     "at most one RUN"},
    {"trend",
     history_trend_action,
     {"suite", "device", "since", "before", "nights", "case", "level", "fail", "format", "output", "plots", NULL},
     0,
     0,
     "no operand; --case GLOB chooses cases"},
    {"prune",
     history_prune_action,
     {"suite", "device", "before", "keep", "dry-run", NULL},
     0,
     0,
     "no operand; --keep N or --before DATE says what goes"},
    {"export",
     history_export_action,
     {"suite", "device", "since", "before", "case", "format", "output", NULL},
     0,
     0,
     "no operand; --output FILE says where to"},
};

enum { ACTION_COUNT = sizeof actions / sizeof actions[0] };

static const char action_words[] = "import, show, trend, prune or export";

static enum status_code action_find(const char *name, const struct action_row **action, struct status *error)
{
    for (int at = 0; at < ACTION_COUNT; at++) {
        if (strcmp(actions[at].name, name) == 0) {
            *action = &actions[at];
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "history: '%.64s' is nothing that a history can do; write %s", name,
                      action_words);
}

static bool action_takes(const struct action_row *action, const char *option)
{
    for (int at = 0; action->options[at] != NULL; at++) {
        if (strcmp(action->options[at], option) == 0) {
            return true;
        }
    }
    return strcmp(option, "database") == 0;
}

static enum status_code action_check(const struct action_row *action, const struct arguments *arguments,
                                     struct status *error)
{
    const int count = arguments->operand_count - 1;
    for (int at = 0; options[at].name != NULL; at++) {
        if (arguments->values[at] != NULL && !action_takes(action, options[at].name)) {
            return status_set(error, STATUS_INVALID, "history %s: takes no --%s; `assay history --help` says who does",
                              action->name, options[at].name);
        }
    }
    if (count < action->operand_minimum || count > action->operand_maximum) {
        return status_set(error, STATUS_INVALID, "history %s: takes %s", action->name, action->operand_words);
    }
    return STATUS_OK;
}

static enum status_code history_command(const struct arguments *arguments, enum exit_code *exit_code,
                                        struct status *error)
{
    const struct action_row *action = NULL;
    if (arguments->operand_count == 0) {
        return status_set(error, STATUS_INVALID, "history: what to do is missing; write %s", action_words);
    }
    enum status_code code = action_find(arguments->operands[0], &action, error);
    if (code == STATUS_OK) {
        code = action_check(action, arguments, error);
    }
    return code == STATUS_OK ? action->run(arguments, exit_code, error) : code;
}

const struct command command_history = {
    .name = "history",
    .operands = "ACTION ...",
    .summary = "the figures of many nights, and the steps in them",
    .details = "ACTION is one of these:\n"
               "\n"
               "  import RECORDS...  put the runs of RECORDS (folders that `assay run` wrote, or files of\n"
               "                     records) into the history. A run that is there already changes nothing;\n"
               "                     one that has grown is renewed. One of which a finished case says something\n"
               "                     else now is refused, unless --replace says that it is right.\n"
               "  show               list the runs, the newest first\n"
               "  show RUN           what a run was measured under, and its figures; RUN is the beginning of\n"
               "                     its run_id, or 'latest'\n"
               "  trend              find where a figure jumped or drifts, and say between which nights and\n"
               "                     revisions, and what else changed then: driver, runtime, libraries. A night\n"
               "                     is a run.\n"
               "  prune              remove old runs and say which; with --keep and --before those that both name\n"
               "  export             write a line for each case of each run\n"
               "\n"
               "The history is one file of SQLite. Records stay the source: the file can be made anew from them.\n"
               "docs/HISTORY.md says how steps are found and how sure they are.\n"
               "\n"
               "Exit codes: 0; 1 if trend --fail finds a jump or a drift to more; 2 if the history, the records or\n"
               "an option is wrong: what was imported before the error stays, and a run is in the history as a\n"
               "whole or not at all.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = history_command,
};
