/* Run progress: plain lines for logs, one moving line for terminals. Standard output stays the report's alone. */
#include "harness/cli/run_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/report/escape.h"

static void moving_line_clear(void)
{
    if (terminal_is_lively(stderr)) {
        fputs("\r\033[K", stderr);
    }
}

static void case_started(void *context, const struct suite_case *case_, int attempt, int done, int total)
{
    (void)context;
    (void)attempt;
    if (terminal_is_lively(stderr)) {
        int room = terminal_width(stderr) - 20;
        moving_line_clear();
        fprintf(stderr, "[%d/%d] %.*s", done + 1, total, room, case_->id);
        fflush(stderr);
    }
}

static void batch_tried(void *context, const struct suite_case *case_, int64_t batch, int done, int total)
{
    (void)context;
    if (terminal_is_lively(stderr)) {
        int room = terminal_width(stderr) - 40;
        moving_line_clear();
        fprintf(stderr, "[%d/%d] batch %" PRId64 " is tried: %.*s", done + 1, total, batch, room > 0 ? room : 0,
                case_->id);
        fflush(stderr);
    }
}

static void case_ended(void *context, const struct json *case_line, int done, int total)
{
    (void)context;
    const char *status = json_string_or(json_get(case_line, "status"), "?");
    const char *id = json_string_or(json_get(case_line, "id"), "?");
    const char *reason = json_string_or(json_get(case_line, "reason"), "");
    moving_line_clear();
    output_warning("[%d/%d] %-7s %6.1f s  %s", done, total, status, json_real_or(json_get(case_line, "duration_s"), 0),
                   id);
    if (reason[0] != '\0' && strcmp(status, "ok") != 0) {
        output_warning("        %s", reason);
    }
}

static void run_warned(void *context, const char *text)
{
    struct text clean = {0}; /* records that it tells of may come from anywhere */
    (void)context;
    terminal_append(&clean, text);
    output_warning("assay: run: %s", text_string(&clean));
    text_release(&clean);
}

struct run_progress run_progress_terminal(bool is_quiet)
{
    struct run_progress progress = {.warned = run_warned};
    if (!is_quiet) {
        progress.started = case_started;
        progress.tried = batch_tried;
        progress.ended = case_ended;
    }
    return progress;
}

void run_progress_end(void)
{
    moving_line_clear();
}
