/* Question progress: on a terminal, one line on standard error that says what is looked at now. */
#ifndef ASSAY_CLI_QUESTION_PROGRESS_H
#define ASSAY_CLI_QUESTION_PROGRESS_H

#include <stdbool.h>

/* {.command = "limit"} */
struct question_progress {
    const char *command;
    double pause_seconds; /* between two lines; what comes sooner is not shown. 0: all are */
    bool is_shown;        /* there is a line to be taken away */
    double last_seconds;  /* when it was written */
};

/* Writes the line anew, cut to the terminal's width. Nothing if standard error is no terminal or
 * TERM is "dumb". */
__attribute__((format(printf, 2, 3))) void question_progress_show(struct question_progress *progress,
                                                                  const char *format, ...);

/* Takes the line away. Before anything else is written to standard error, and at the end, also of a failure. */
void question_progress_end(struct question_progress *progress);

#endif
