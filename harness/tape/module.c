/* The module that takes what is taken: its path, kept once for the whole tape. A name for people; no event depends on
 * it. */
#include "harness/tape/graph.h"

const char *tape_module_open(struct tape *tape, const char *path)
{
    const char *before = tape->module;
    if (tape->form.unplaced || tape_failed(tape)) {
        return before;
    }
    const char *kept = name_table_keep(&tape->modules, &tape->arena, path);
    if (kept == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for the name of a module");
        return before;
    }
    tape->module = kept;
    return before;
}

void tape_module_close(struct tape *tape, const char *before)
{
    tape->module = before;
}
