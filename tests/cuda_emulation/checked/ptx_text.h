/* A statement of PTX taken apart: "ldmatrix.sync.x4 {%0,%1}, [%4];" has a name with words behind points, and arguments,
 * each a list of operands or a number. */
#ifndef ASSAY_TESTS_CHECKED_PTX_TEXT_H
#define ASSAY_TESTS_CHECKED_PTX_TEXT_H

#include <string>
#include <vector>

struct ptx_argument {
    bool address;              /* in brackets */
    std::vector<int> operands; /* %n; several in braces */
    long number;               /* where there are no operands */
};

struct ptx_text {
    std::string name; /* with its words: "cp.async.commit_group" */
    std::vector<ptx_argument> arguments;
};

/* False where it is not one statement that ends with a semicolon. The empty text is one without a name. */
bool ptx_text_read(const char *text, ptx_text *statement);

#endif
