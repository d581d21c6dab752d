/* Command examples: one line or two for each command, for its manual page. A test runs all of them, in their order, in
 * one empty folder (tests/cli/test_manual.c), so a line may use what one before it has left there. */
#ifndef ASSAY_CLI_COMMAND_EXAMPLES_H
#define ASSAY_CLI_COMMAND_EXAMPLES_H

#include <stdbool.h>

struct command_example {
    const char *command; /* whose page it is on */
    const char *line;    /* for a shell */
    const char *what;    /* what it is for, a sentence */
    bool needs_gpu;      /* ends with 77 where there is none */
};

/* Row number index, NULL past the end. */
const struct command_example *command_example_at(int index);

#endif
