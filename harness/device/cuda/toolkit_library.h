/* Libraries of the CUDA toolkit, opened on demand: nothing is linked, so that the plug-in loads without them and a
 * device that never multiplies does not pay for them. */
#ifndef ASSAY_DEVICE_CUDA_TOOLKIT_LIBRARY_H
#define ASSAY_DEVICE_CUDA_TOOLKIT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"

#define TOOLKIT_NUMBER_TEXT(number) #number
/* "libcublas.so.13" from "libcublas" and CUBLAS_VER_MAJOR: the major version that this was compiled with. */
#define TOOLKIT_FILE_NAME(name, major) name ".so." TOOLKIT_NUMBER_TEXT(major)

struct toolkit_symbol {
    const char *name;
    void *function_pointer; /* the address of a pointer to a function, which is filled */
};

/* Loads file_name from where the loader finds it, else from lib64 or lib of the toolkit's folder (CUDA_HOME,
 * /usr/local/cuda), else from where WSL2 has the driver's libraries (/usr/lib/wsl/lib), and fills all of symbols.
 * STATUS_UNAVAILABLE, with the reason and the remedy, where the library or one of them is missing; then nothing stays
 * open. */
enum status_code toolkit_library_open(const char *file_name, const struct toolkit_symbol *symbols, size_t symbol_count,
                                      void **library, struct status *error);

/* Loads file_name from the folder `below` the one that library lies in, "." for that itself. NULL: it is not there. */
void *toolkit_library_beside(void *library, const char *below, const char *file_name);

/* Fills function_pointer, the address of a pointer to a function; false, and untouched, where the library has no such
 * symbol. */
bool toolkit_symbol_find(void *library, const char *name, void *function_pointer);

void toolkit_library_close(void *library); /* NULL is accepted */

#endif
