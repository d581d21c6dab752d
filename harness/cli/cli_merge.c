/* assay merge: the results of shards as one folder, with the pages that a run of one machine has. How they are merged,
 * and what is refused, is harness/run/shard_merge.h's matter. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/shell_word.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"
#include "harness/cli/report_files.h"
#include "harness/report/escape.h"
#include "harness/report/report.h"
#include "harness/run/shard_merge.h"

static const struct option_row options[] = {
    {"out", OPTION_VALUE, "DIR", "where the merged records and their report go; needed"},
    {"prefer", OPTION_CHOICE, "latest", "of a case that stands there twice take the later run's; else it is refused"},
    {"allow-mixed", OPTION_FLAG, NULL, "merge although devices, drivers, libraries or versions of assay differ"},
    {"allow-nights", OPTION_FLAG, NULL, "merge although shards are of different nights (see Nights)"},
    {"records-only", OPTION_FLAG, NULL, "write no report and no plots beside the records"},
    {"verbose", OPTION_FLAG, NULL, "each run that is merged, and what is taken of it, on standard error"},
    {"quiet", OPTION_FLAG, NULL, "print nothing but warnings and errors: no summary, no missing plots"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* The summary is printed first: it is there even if the disk has no room for the files. */
static enum status_code pages_give(const struct arguments *arguments, const char *folder, struct status *error)
{
    struct arena arena = {0};
    struct report *report = NULL;
    struct text summary = {0};
    const char *page = NULL;
    const struct report_style style = {.width = terminal_width(stdout), .colour = terminal_is_lively(stdout)};
    const struct report_folder place = {.path = folder, .is_quiet = arguments_value(arguments, "quiet") != NULL};
    bool with_files = arguments_value(arguments, "records-only") == NULL;
    enum status_code code = report_open(folder, &report, error);
    if (code == STATUS_OK && !place.is_quiet) {
        code = report_render(report, REPORT_SUMMARY, &style, &summary, error);
        code = code == STATUS_OK ? output_offer(&summary, error) : code;
    }
    if (code == STATUS_OK && with_files) {
        code = report_write(report, &arena, &place, &page, error);
    }
    if (code == STATUS_OK && with_files && !place.is_quiet) {
        struct text line = {0};
        text_format(&line, "report: %s, plots: %s/plots; every figure: assay report ", page, folder);
        shell_word_append(&line, folder);
        text_append(&line, "\n");
        code = output_offer(&line, error);
        text_release(&line);
    }
    text_release(&summary);
    report_release(report);
    arena_release(&arena);
    return code;
}

static enum status_code merged_tell(const struct shard_merge_result *result, struct status *error)
{
    struct text line = {0}, raw = {0};
    text_format(&line, "plan %s in %d shard%s: %d of %d case%s, of %d run%s\n", result->plan_hash, result->shard_count,
                result->shard_count == 1 ? "" : "s", result->case_count - result->missing_count, result->case_count,
                result->case_count == 1 ? "" : "s", result->run_count, result->run_count == 1 ? "" : "s");
    if (result->first_shard > 0) {
        text_format(&raw, "begun at %s (shard %d) to %s (shard %d), ended by %s", result->first_started,
                    result->first_shard, result->last_started, result->last_shard,
                    result->last_finished[0] != '\0' ? result->last_finished : "nobody knows when");
        terminal_append(&line, text_string(&raw));
        text_append(&line, "\n");
    }
    text_release(&raw);
    enum status_code code = output_offer(&line, error);
    text_release(&line);
    return code;
}

/* The exit code of what was merged stands, even if a page could not be written: a failure is not hidden. */
static enum status_code outcome_give(const struct shard_merge_result *result, enum status_code given,
                                     enum exit_code *exit_code, struct status *error)
{
    char line[STATUS_LINE_BYTES];
    bool is_told_here = given != STATUS_OK && result->outcome != RUN_PASS;
    *exit_code = run_outcome_exit_code(result->outcome);
    if (is_told_here) {
        output_warning("assay: merge: %s", status_line(error, line));
    }
    exit_reason_print("merge", *exit_code, text_string(&result->reason));
    return is_told_here ? STATUS_OK : given;
}

/* For --verbose. Names are of files that may come from anywhere. */
static void run_tell(void *context, const struct shard_merge_run *run)
{
    struct text line = {0}, clean = {0};
    (void)context;
    text_format(&line, "shard %d of %d: %d result%s of %s, run %.8s of %s%s%s, %s%s", run->shard, run->shard_count,
                run->taken_count, run->taken_count == 1 ? "" : "s", run->path, run->run_id, run->started,
                run->host != NULL ? " on " : "", run->host != NULL ? run->host : "",
                run->finished != NULL ? "ended " : "was killed, or still runs",
                run->finished != NULL ? run->finished : "");
    terminal_append(&clean, text_string(&line));
    output_warning("assay: merge: %s", text_string(&clean));
    text_release(&line);
    text_release(&clean);
}

static enum status_code merge_command(const struct arguments *arguments, enum exit_code *exit_code,
                                      struct status *error)
{
    struct shard_merge_result result = {0};
    bool is_verbose = arguments_value(arguments, "verbose") != NULL;
    bool is_quiet = arguments_value(arguments, "quiet") != NULL;
    const struct shard_merge_options merge = {.paths = arguments->operands,
                                              .path_count = arguments->operand_count,
                                              .folder = arguments_value(arguments, "out"),
                                              .prefers_latest = arguments_value(arguments, "prefer") != NULL,
                                              .allows_mixed = arguments_value(arguments, "allow-mixed") != NULL,
                                              .allows_nights = arguments_value(arguments, "allow-nights") != NULL,
                                              .told = is_verbose ? run_tell : NULL};
    if (merge.folder == NULL) {
        return status_set(error, STATUS_INVALID, "merge: where the result goes is not said; write --out DIR");
    }
    if (is_verbose && is_quiet) {
        return status_set(error, STATUS_INVALID, "merge: --quiet and --verbose contradict each other; leave one out");
    }
    signal(SIGPIPE, SIG_IGN); /* the result is in files, too */
    enum status_code code = parent_folders_make(merge.folder, error);
    if (code == STATUS_OK && arguments_value(arguments, "records-only") == NULL) {
        code = report_write_check(merge.folder, error);
    }
    if (code == STATUS_OK) {
        code = shard_merge(&merge, &result, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "merge");
        return code;
    }
    code = is_quiet ? STATUS_OK : merged_tell(&result, error);
    if (code == STATUS_OK) {
        code = pages_give(arguments, merge.folder, error);
    }
    code = outcome_give(&result, code, exit_code, error);
    text_release(&result.reason);
    return code;
}

const struct command command_merge = {
    .name = "merge",
    .operands = "DIR...",
    .summary = "the results of all shards of a run as one",
    .details = "DIR: what assay run --shard wrote, or a folder that holds such folders. Every shard must be of one\n"
               "plan, on one class of devices. Case lines are copied as they are, in the order of the suite;\n"
               "nothing is averaged. Cases that no shard has are named, and the exit code is 7; merge again once\n"
               "they are there. A DIR of --out with an earlier merge of the same plan is replaced.\n"
               "\n"
               "Nights: shards of one merge are of one night, or nothing is merged. It is what `assay run --night`\n"
               "said, or else the Slurm array, GitLab pipeline or GitHub run that started them. Without such a name\n"
               "each shard must have begun at most 6 hours after those that began before it had ended.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = merge_command,
};
