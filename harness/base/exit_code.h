/* Exit codes: the register of what the program ends with. cli/ alone exits; outcomes of records (harness/record) say
 * with which. */
#ifndef ASSAY_BASE_EXIT_CODE_H
#define ASSAY_BASE_EXIT_CODE_H

/* X(NAME, number, what it says). No number is given to something else later; of several that hold, the command's help
 * says which one is taken. */
#define EXIT_CODE_TABLE(X)                                                                                             \
    X(PASS, 0, "all pass")                                                                                             \
    X(FAIL, 1, "a verdict failed")                                                                                     \
    X(USAGE, 2, "usage, suite or model file is wrong, or a file cannot be read or written")                            \
    X(INCONCLUSIVE, 3, "inconclusive: a case or a figure came to no verdict")                                          \
    X(NO_GPU, 4, "a GPU was asked for, and none can be used")                                                          \
    X(BUSY, 5, "another run has the GPU")                                                                              \
    X(FIRST, 6, "a first night: there is nothing that a figure could be held against")                                 \
    X(INCOMPLETE, 7, "incomplete: cases are missing, because the run ended early or a signal came")                    \
    X(SKIPPED, 77, "every selected case was skipped")                                                                  \
    X(FAULT, 99, "a fault of the program")

enum exit_code {
#define EXIT_CODE_ENUM(name, number, what) EXIT_CODE_##name = (number),
    EXIT_CODE_TABLE(EXIT_CODE_ENUM)
#undef EXIT_CODE_ENUM
};

#endif
