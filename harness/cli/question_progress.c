/* Question progress: see question_progress.h. It counts nothing: what is said is the caller's. */
#include "harness/cli/question_progress.h"

#include <stdarg.h>
#include <stdio.h>

#include "harness/base/clock.h"
#include "harness/cli/output.h"

void question_progress_show(struct question_progress *progress, const char *format, ...)
{
    char line[256];
    double now_seconds = clock_seconds();
    if (!terminal_is_lively(stderr) ||
        (progress->is_shown && now_seconds - progress->last_seconds < progress->pause_seconds)) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    char whole[sizeof line + 32];
    snprintf(whole, sizeof whole, "assay: %s: %s", progress->command, line);
    fprintf(stderr, "\r\033[K%.*s", terminal_width(stderr) - 1, whole);
    fflush(stderr);
    progress->is_shown = true;
    progress->last_seconds = now_seconds;
}

void question_progress_end(struct question_progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->is_shown = false;
    }
}
