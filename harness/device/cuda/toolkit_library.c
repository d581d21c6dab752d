/* Toolkit libraries: finding, loading, looking up. What the functions do is known to the files that ask for them. */
#include "harness/device/cuda/toolkit_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/library_symbol.h"

static void *folder_load(const char *folder, const char *below, const char *file_name)
{
    char path[PATH_MAX];
    bool fits = snprintf(path, sizeof path, "%s/%s/%s", folder, below, file_name) < (int)sizeof path;
    return fits ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
}

/* Distributions do not always tell the loader of the toolkit's own folder, nor conda of its, nor images for WSL2 of
 * where Windows puts its driver. */
static void *library_load(const char *file_name, char *reason, size_t reason_bytes)
{
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != NULL) {
        return library;
    }
    snprintf(reason, reason_bytes, "%s", dlerror());
    const char *wish = secure_getenv("CUDA_HOME");
    const char *home = wish != NULL && *wish != '\0' ? wish : "/usr/local/cuda";
    library = folder_load(home, "lib64", file_name);
    library = library != NULL ? library : folder_load(home, "lib", file_name);
    return library != NULL ? library : folder_load("/usr/lib/wsl", "lib", file_name);
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

void *toolkit_library_beside(void *library, const char *below, const char *file_name)
{
    char folder[PATH_MAX];
    return dlinfo(library, RTLD_DI_ORIGIN, folder) == 0 ? folder_load(folder, below, file_name) : NULL;
}

void toolkit_library_close(void *library)
{
    if (library != NULL) {
        dlclose(library);
    }
}
