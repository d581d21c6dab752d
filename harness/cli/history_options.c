/* History options: read, and where results go. */
#include "harness/cli/history_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/cli/output_place.h"
#include "harness/report/escape.h"

const char *history_database(const struct arguments *arguments)
{
    const char *file = arguments_value(arguments, "database"), *from_environment = getenv("ASSAY_HISTORY");
    return file != NULL                                              ? file
           : from_environment != NULL && from_environment[0] != '\0' ? from_environment
                                                                     : HISTORY_DEFAULT_FILE;
}

/* "2026-11-20", with or without a time behind it: "2026-11-20T02:00:00Z". */
static bool date_is_one(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
    const size_t length = strlen(text);
    bool is_one = length == 10 || length == 16 || length == 19 || length == 20;
    for (size_t at = 0; at < length && is_one; at++) {
        is_one = form[at] == 'd' ? isdigit((unsigned char)text[at]) != 0 : text[at] == form[at];
    }
    return is_one;
}

enum status_code history_date_read(const struct arguments *arguments, const char *option, const char **date,
                                   struct status *error)
{
    *date = arguments_value(arguments, option);
    return *date == NULL || date_is_one(*date)
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "%s: --%s: '%.64s' is no date; write it as 2026-11-20",
                            arguments->command->name, option, *date);
}

enum status_code history_filter_read(const struct arguments *arguments, struct history_filter *filter,
                                     struct status *error)
{
    *filter = (struct history_filter){.suite = arguments_value(arguments, "suite"),
                                      .device = arguments_value(arguments, "device")};
    enum status_code code = history_date_read(arguments, "since", &filter->since, error);
    return code == STATUS_OK ? history_date_read(arguments, "before", &filter->before, error) : code;
}

enum status_code history_sink_open(const struct arguments *arguments, struct page_sink *sink, struct status *error)
{
    const char *path = arguments_value(arguments, "output");
    enum status_code code = output_place_check(path, history_database(arguments), error);
    return code == STATUS_OK ? page_sink_open(path, sink, error) : code;
}

struct report_style history_style(const struct arguments *arguments, const struct plot_set *plots)
{
    return (struct report_style){.width = terminal_width(stdout),
                                 .colour = arguments_value(arguments, "output") == NULL && terminal_is_lively(stdout),
                                 .plots = plots};
}

/* "2026-11-20T02:00  1f2e3d4c  12 cases  nightly on NVIDIA H200"; names come from records, and these from anywhere. */
void history_run_line(struct text *lines, const char *started, const char *run_id, int case_count,
                      const char *const environment[ENVIRONMENT_COUNT])
{
    const char *suite = environment[ENVIRONMENT_SUITE], *device = environment[ENVIRONMENT_DEVICE];
    struct text line = {0};
    text_format(&line, "%.16s  %.8s  %d case%s  %s%s%s", started, run_id, case_count, case_count == 1 ? "" : "s",
                suite != NULL ? suite : "(no suite)", device != NULL ? " on " : "", device != NULL ? device : "");
    terminal_append(lines, text_string(&line));
    text_append(lines, "\n");
    lines->failed = lines->failed || line.failed;
    text_release(&line);
}

void history_nothing_tell(const struct arguments *arguments, const struct history *history, int count)
{
    static const char *const choices[] = {"suite", "device", "since", "before", "case"};
    bool chooses = false;
    for (size_t at = 0; at < sizeof choices / sizeof choices[0]; at++) {
        chooses = chooses || arguments_value(arguments, choices[at]) != NULL;
    }
    if (count == 0 && chooses) {
        output_warning("assay: history %s: nothing in %s is of what the options choose; `assay history show` without "
                       "them lists all runs",
                       arguments->operands[0], history_path(history));
    }
}
