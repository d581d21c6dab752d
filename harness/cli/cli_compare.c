/* assay compare: what differs between two results, and whether it may. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/page_sink.h"
#include "harness/report/difference.h"

static const struct option_row options[] = {
    {"tolerance", OPTION_VALUE, "LIST", "what each level may differ by: device=8MiB,process=2%,reserved=none"},
    {"only-changed", OPTION_BOOLEAN, NULL, "count unchanged cases instead of listing them (default: pages, terminal)"},
    {"format", OPTION_VALUE, "FORMAT", REPORT_PAGE_HELP},
    {"output", OPTION_VALUE, "FILE", "write to FILE instead of standard output"},
    {"json", OPTION_FLAG, NULL, "as --format json"},
    {"quiet", OPTION_FLAG, NULL, "print nothing: the exit code, and what --output names"},
    {"within", OPTION_VALUE, "P%", "compare two programs: only allocated peaks decide, within P% of BASE"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code limits_read(const struct arguments *arguments, struct difference_options *limits,
                                    struct status *error)
{
    const char *within = arguments_value(arguments, "within"), *list = arguments_value(arguments, "tolerance");
    enum status_code code = STATUS_OK;
    *limits = (struct difference_options){.within = -1.0};
    if (within != NULL && list != NULL) {
        return status_set(
            error, STATUS_INVALID,
            "compare: --within judges allocated peaks alone and --tolerance every level; give one of them");
    }
    if (within != NULL) {
        code = percentage_parse(within, &limits->within, error);
    } else if (list != NULL) {
        code = level_rules_parse(list, &limits->rules, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "compare: --%s", within != NULL ? "within" : "tolerance");
    }
    return code;
}

/* Somebody at a terminal or a page wants what changed, and a comment on a pull request has room for little more; a
 * program that reads a pipe or JSON may want every case. */
static enum status_code style_read(const struct arguments *arguments, struct difference_style *style,
                                   struct status *error)
{
    const char *format = arguments_value(arguments, "format"), *only = arguments_value(arguments, "only-changed");
    bool json = arguments_value(arguments, "json") != NULL;
    *style = (struct difference_style){.format = json ? REPORT_JSON : REPORT_TABLE, .width = terminal_width(stdout)};
    enum status_code code = format == NULL ? STATUS_OK : difference_format_parse(format, &style->format, error);
    if (code != STATUS_OK) {
        status_prefix(error, "compare: --format");
        return code;
    }
    if (json && style->format != REPORT_JSON) {
        return status_set(error, STATUS_INVALID, "compare: --json is --format json; leave --format %s out", format);
    }
    if (only != NULL && strcmp(only, "true") != 0 && strcmp(only, "false") != 0) {
        return status_set(error, STATUS_INVALID, "compare: --only-changed: '%s' is not known; write true or false",
                          only);
    }
    bool to_terminal = arguments_value(arguments, "output") == NULL && output_is_terminal();
    bool brief = style->format == REPORT_TABLE ? to_terminal : style->format != REPORT_JSON;
    style->only_changed = only != NULL ? strcmp(only, "true") == 0 : brief;
    return STATUS_OK;
}

/* One of the two, read on its own: nothing of a report is shared with another. */
struct side {
    const char *path;
    struct report *report;
    enum status_code code;
    struct status error;
};

static enum status_code page_give(const struct difference *difference, const struct difference_style *style,
                                  const char *output, struct status *error)
{
    struct page_sink sink;
    enum status_code code = page_sink_open(output, &sink, error);
    if (code == STATUS_OK) {
        code = difference_render(difference, style, &sink.text, error);
    }
    return page_sink_close(&sink, code, error);
}

static enum status_code comparison_give(const struct arguments *arguments, const struct side *base,
                                        const struct side *other, const struct difference_options *limits,
                                        const struct difference_style *style, enum exit_code *exit_code,
                                        struct status *error)
{
    const char *output = arguments_value(arguments, "output");
    struct difference *difference = NULL;
    enum status_code code = difference_make(base->report, other->report, limits, &difference, error);
    if (code == STATUS_OK && (output != NULL || arguments_value(arguments, "quiet") == NULL)) {
        code = page_give(difference, style, output, error);
    }
    if (code == STATUS_OK) {
        *exit_code = run_outcome_exit_code(difference_outcome(difference));
    }
    difference_release(difference);
    return code;
}

static void *side_read(void *argument)
{
    struct side *side = argument;
    side->code = report_open_side(side->path, &side->report, &side->error);
    return NULL;
}

/* Reads both at the same time, if it gets a thread; the error of BASE comes first. */
static enum status_code sides_read(struct side *base, struct side *other, struct status *error)
{
    pthread_t thread;
    bool apart = pthread_create(&thread, NULL, side_read, other) == 0;
    side_read(base);
    if (apart) {
        pthread_join(thread, NULL);
    } else {
        side_read(other);
    }
    const struct side *failed = base->code != STATUS_OK ? base : other;
    return failed->code != STATUS_OK ? status_copy(error, failed->code, &failed->error) : STATUS_OK;
}

static enum status_code compare_command(const struct arguments *arguments, enum exit_code *exit_code,
                                        struct status *error)
{
    struct side base = {.path = arguments->operands[0]}, other = {.path = arguments->operands[1]};
    struct difference_options limits;
    struct difference_style style;
    enum status_code code = limits_read(arguments, &limits, error);
    if (code == STATUS_OK) {
        code = style_read(arguments, &style, error);
    }
    if (code == STATUS_OK) {
        code = sides_read(&base, &other, error);
    }
    if (code == STATUS_OK) {
        code = comparison_give(arguments, &base, &other, &limits, &style, exit_code, error);
    }
    report_release(other.report);
    report_release(base.report);
    return code;
}

const struct command command_compare = {
    .name = "compare",
    .operands = "BASE NEW",
    .summary = "what differs between two results",
    .details = "BASE, NEW: folders that `assay run` wrote, or their records.jsonl.\n"
               "\n"
               "The environment comes first: device, driver, runtime, kernel, libraries, program, suite. A\n"
               "different environment alone is reported and is no failure. Requested, allocated and reserved bytes\n"
               "must be equal. Readings of device and process may differ by what --tolerance says, else by what\n"
               "the suite of NEW says (`compare:`), else by 4 MiB: 16 times the widest difference between runs on\n"
               "an unchanged machine, whatever the model. A percentage is of BASE's figure.\n"
               "\n"
               "Exit codes:\n"
               "  0  GO: nothing is beyond its tolerance\n"
               "  1  NO-GO: something is, or a status or a prediction changed\n"
               "  3  INCONCLUSIVE: only a case of BASE is missing, or a reading beyond is gone, disturbed, or of\n"
               "     another device\n"
               "  7  INCOMPLETE: NEW has not made a case or an attempt that it selected\n"
               "\n"
               "With --within, for results of two programs (PyTorch's and ours), only allocated peaks decide:\n"
               "  0  every allocated peak of BASE is met\n"
               "  1  one is further off\n"
               "  3  one is not measured in NEW, or BASE has none\n"
               "\n"
               "The last lines sum up the requested, allocated and reserved peaks of both.\n",
    .options = options,
    .operand_minimum = 2,
    .operand_maximum = 2,
    .run = compare_command,
};
