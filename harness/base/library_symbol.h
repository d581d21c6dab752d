/* Library symbol: a function of a library that was opened while the program runs. */
#ifndef ASSAY_BASE_LIBRARY_SYMBOL_H
#define ASSAY_BASE_LIBRARY_SYMBOL_H

#include <stdbool.h>

/* library: what dlopen returned. Fills function_pointer, the address of a pointer to a function; false, and untouched,
 * where the library has no such symbol. */
bool symbol_find(void *library, const char *name, void *function_pointer);

#endif
