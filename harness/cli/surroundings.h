/* Surroundings: the environment variables that this program reads and the files that it knows, for its manual. Tests
 * hold the variables against the sources (tests/cli/test_surroundings_register.c). */
#ifndef ASSAY_CLI_SURROUNDINGS_H
#define ASSAY_CLI_SURROUNDINGS_H

struct surrounding {
    const char *name; /* of the variable, or the path */
    const char *what; /* one sentence or two */
};

/* Row number index, NULL past the end. */
const struct surrounding *environment_variable_at(int index); /* those that decide what the program does */
const struct surrounding *program_file_at(int index);

#endif
