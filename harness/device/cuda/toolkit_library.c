/* Toolkit libraries: finding, loading, looking up. What the functions do is known to the files that ask for them. */
#include "harness/device/cuda/toolkit_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/library_symbol.h"

/* Distributions do not always tell the loader of the toolkit's own folder. */
static void *library_load(const char *file_name, char *reason, size_t reason_bytes)
{
    char path[PATH_MAX];
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != NULL) {
        return library;
    }
    snprintf(reason, reason_bytes, "%s", dlerror());
    const char *home = secure_getenv("CUDA_HOME");
    snprintf(path, sizeof path, "%s/lib64/%s", home != NULL && *home != '\0' ? home : "/usr/local/cuda", file_name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

bool toolkit_symbol_find(void *library, const char *name, void *function_pointer)
{
    return symbol_find(library, name, function_pointer);
}

enum status_code toolkit_library_open(const char *file_name, const struct toolkit_symbol *symbols, size_t symbol_count,
                                      void **library, struct status *error)
{
    char reason[256] = "";
    void *opened = library_load(file_name, reason, sizeof reason);
    if (opened == NULL) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: %s cannot be loaded (%s); install the libraries of the CUDA toolkit, or set CUDA_HOME "
                          "to its folder",
                          file_name, reason);
    }
    for (size_t i = 0; i < symbol_count; i++) {
        if (!toolkit_symbol_find(opened, symbols[i].name, symbols[i].function_pointer)) {
            dlclose(opened);
            return status_set(error, STATUS_UNAVAILABLE,
                              "cuda: %s has no %s; install the libraries of the CUDA toolkit that this program was "
                              "built with",
                              file_name, symbols[i].name);
        }
    }
    *library = opened;
    return STATUS_OK;
}

void toolkit_library_close(void *library)
{
    if (library != NULL) {
        dlclose(library);
    }
}
