/* External estimators of a suite: programs that print JSON, and where in it the figures stand (docs/FORMAT.md). */
#ifndef ASSAY_SUITE_SUITE_EXTERNAL_H
#define ASSAY_SUITE_SUITE_EXTERNAL_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/base/text.h"
#include "harness/suite/identity.h"
#include "harness/suite/yaml_tree.h"

enum {
    EXTERNALS_MAXIMUM = 32,
    EXTERNAL_WORDS_MAXIMUM = 64,
    EXTERNAL_QUANTITIES_MAXIMUM = 32,
    EXTERNAL_SECONDS_DEFAULT = 60,
    EXTERNAL_SECONDS_MAXIMUM = 3600
};

struct external_quantity {
    const char *name;    /* "total_bytes" */
    const char *pointer; /* valid (harness/base/json_pointer.h) */
};

struct suite_external {
    const char *name;
    const char **command; /* with placeholders; ended by NULL */
    const char **version; /* a command without placeholders whose first line of output is the version; NULL: none */
    struct external_quantity *quantities;
    int quantity_count;
    int64_t unit_bytes; /* what a figure of 1 stands for */
    unsigned modes;     /* bit 1 << enum workload_mode: the modes it applies to */
    int timeout_seconds;
    int line, column;
};

/* The map below `external`; node NULL: none. Errors are those of a suite. */
enum status_code suite_externals_read(const struct yaml_tree *tree, const struct node *node, struct arena *arena,
                                      const struct suite_external **externals, int *count, struct status *error);

/* Whether it has something to say about the case: its mode is one of them, and each placeholder has a value there. */
bool suite_external_applies(const struct suite_external *external, const struct identity *identity);

/* One word of the command with its placeholders replaced: {model}, {config} (config_path) and the axes by their names;
 * {{ and }} are braces. Only for an identity to which it applies. */
void suite_external_word(const char *word, const struct identity *identity, const char *config_path, struct text *text);

/* Whether the command asks for {placeholder}: "config", "model" or another axis. */
bool suite_external_wants(const struct suite_external *external, const char *placeholder);

#endif
