/* Library symbol: see library_symbol.h. Each library's own file opens it, because what a user is to install is its
 * own. */
#include "harness/base/library_symbol.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* dlsym returns an object pointer; POSIX lets its bytes be a function pointer. */
bool symbol_find(void *library, const char *name, void *function_pointer)
{
    void *symbol = dlsym(library, name);
    if (symbol != NULL) {
        memcpy(function_pointer, &symbol, sizeof symbol);
    }
    return symbol != NULL;
}
