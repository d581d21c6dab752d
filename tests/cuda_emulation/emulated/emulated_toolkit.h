/* The libraries of the toolkit, each a table of functions that ends with a NULL name. */
#ifndef ASSAY_TESTS_EMULATED_TOOLKIT_H
#define ASSAY_TESTS_EMULATED_TOOLKIT_H

struct emulated_symbol {
    const char *name;
    void *function;
};

extern const emulated_symbol emulated_cublas_symbols[];

#endif
