/* Takes the place of harness/device/cuda/toolkit_library.c: the emulated libraries instead of those of the machine. */
#include <cstdio>
#include <cstring>

#include "tests/cuda_emulation/emulated/emulated_toolkit.h"

extern "C" {
#include "harness/device/cuda/toolkit_library.h"
}

namespace
{

const struct {
    const char *prefix;
    const emulated_symbol *symbols;
} libraries[] = {{"libcublas.so.", emulated_cublas_symbols}};

} // namespace

extern "C" enum status_code toolkit_library_open(const char *file_name, const struct toolkit_symbol *symbols,
                                                 size_t symbol_count, void **library, struct status *error)
{
    const emulated_symbol *known = nullptr;
    for (const auto &row : libraries) {
        known = strncmp(file_name, row.prefix, strlen(row.prefix)) == 0 ? row.symbols : known;
    }
    for (size_t i = 0; i < symbol_count; i++) {
        const emulated_symbol *found = known;
        while (found != nullptr && found->name != nullptr && strcmp(found->name, symbols[i].name) != 0) {
            found++;
        }
        if (found == nullptr || found->name == nullptr) {
            return status_set(error, STATUS_UNAVAILABLE, "the emulation has no %s of %s", symbols[i].name, file_name);
        }
        memcpy(symbols[i].function_pointer, &found->function, sizeof found->function);
    }
    *library = const_cast<emulated_symbol *>(known);
    return STATUS_OK;
}

extern "C" void toolkit_library_close(void *)
{
}
