/* History options: those that several actions of `assay history` share. */
#ifndef ASSAY_CLI_HISTORY_OPTIONS_H
#define ASSAY_CLI_HISTORY_OPTIONS_H

#include <stdio.h>

#include "harness/cli/command.h"
#include "harness/cli/page_sink.h"
#include "harness/history/history.h"
#include "harness/report/report.h"

#define HISTORY_DEFAULT_FILE "results/history.db"

/* The file that --database, the environment or the default names; borrowed. */
const char *history_database(const struct arguments *arguments);

/* The date that an option says, NULL: none; borrowed. STATUS_INVALID: it is none. */
enum status_code history_date_read(const struct arguments *arguments, const char *option, const char **date,
                                   struct status *error);

/* --suite, --device, --since and --before; borrowed. STATUS_INVALID: a date is none. */
enum status_code history_filter_read(const struct arguments *arguments, struct history_filter *filter,
                                     struct status *error);

/* Where a result goes: --output FILE, which must not be the history, or standard output. Closed by page_sink_close. */
enum status_code history_sink_open(const struct arguments *arguments, struct page_sink *sink, struct status *error);

/* "2026-11-20T02:00  1f2e3d4c  12 cases  nightly on cuda (NVIDIA H200)" and a line's end; what a terminal would obey is
 * no part of it. */
void history_run_line(struct text *lines, const char *started, const char *run_id, int case_count,
                      const char *const environment[ENVIRONMENT_COUNT]);

/* A warning if options chose something, and count, of what they chose, is 0. */
void history_nothing_tell(const struct arguments *arguments, const struct history *history, int count);

/* How a page looks there. */
struct report_style history_style(const struct arguments *arguments, const struct plot_set *plots);

#endif
