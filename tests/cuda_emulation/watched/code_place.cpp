/* Asks addr2line, which reads the lines that the compiler has noted (-g). */
#include "tests/cuda_emulation/watched/code_place.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace
{

const Dl_info &own()
{
    static Dl_info info;
    static const int found = dladdr((const void *)&code_place, &info);
    (void)found;
    return info;
}

std::string without_folder(const std::string &line)
{
    std::string name = line.substr(line.rfind('/') + 1);
    return name.substr(0, name.find_first_of(" \n"));
}

} // namespace

const uintptr_t code_place_start = (uintptr_t)own().dli_fbase;

std::string code_place(uint64_t number)
{
    char command[4096 + 64], line[4096];
    std::string places;
    /* A call returns behind itself. */
    snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%llx 2>/dev/null", own().dli_fname,
             (unsigned long long)number - 1);
    FILE *lines = popen(command, "r");
    while (lines != nullptr && fgets(line, sizeof line, lines) != nullptr) {
        /* What is inlined from the emulation and the standard library says nothing. */
        if (strstr(line, "harness/") != nullptr || strstr(line, "planted/") != nullptr) {
            std::string place = without_folder(line);
            places += (places.empty() ? "" : " in ") + place;
        }
    }
    if (lines != nullptr) {
        pclose(lines);
    }
    return places.empty() ? "code " + std::to_string(number) : places;
}
