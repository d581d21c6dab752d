/* Names from this plug-in's own file: its table of symbols says which kernel it is, its lines say where an access
 * stands. */
#include <cstdio>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "tests/cuda_emulation/checked/access.h"

namespace
{

struct plugin_file {
    std::string path;
    uintptr_t base;
    std::map<uintptr_t, std::string> functions; /* mangled, by offset */
};

void functions_read(const std::vector<char> &bytes, std::map<uintptr_t, std::string> *functions)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)bytes.data();
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes.data() + head->e_shoff);
    for (int k = 0; k < head->e_shnum; k++) {
        const Elf64_Sym *symbols = (const Elf64_Sym *)(bytes.data() + sections[k].sh_offset);
        const char *names = bytes.data() + sections[sections[k].sh_link].sh_offset;
        size_t count = sections[k].sh_type == SHT_SYMTAB ? sections[k].sh_size / sizeof *symbols : 0;
        for (size_t s = 0; s < count; s++) {
            if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC && symbols[s].st_value != 0) {
                (*functions)[symbols[s].st_value] = names + symbols[s].st_name;
            }
        }
    }
}

const plugin_file &plugin()
{
    static plugin_file file;
    Dl_info info;
    if (file.base == 0 && dladdr((const void *)&functions_read, &info) != 0) {
        std::ifstream stream(info.dli_fname, std::ios::binary);
        std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
        file.path = info.dli_fname;
        file.base = (uintptr_t)info.dli_fbase;
        if (bytes.size() > sizeof(Elf64_Ehdr)) {
            functions_read(bytes, &file.functions);
        }
    }
    return file;
}

/* "void one::two<3>(int, float)" without what it returns, its namespace and its parameters. */
std::string short_of(std::string name)
{
    const char none[] = "(anonymous namespace)::";
    for (size_t at = name.find(none); at != std::string::npos; at = name.find(none)) {
        name.erase(at, sizeof none - 1);
    }
    int depth = 0;
    for (size_t k = name.size(); k-- > 0;) {
        depth += name[k] == ')' ? 1 : name[k] == '(' ? -1 : 0;
        if (name[k] == '(' && depth == 0) {
            name.erase(k);
            break;
        }
    }
    return name.rfind("void ", 0) == 0 ? name.substr(5) : name;
}

/* The last part of a path and its line. */
std::string base_of(const char *line)
{
    const char *slash = strrchr(line, '/');
    std::string base = slash != nullptr ? slash + 1 : line;
    size_t made = base.find(".cu.cpp:"); /* by the Makefile, of the file without .cpp, line by line */
    base.erase(made != std::string::npos ? made + 3 : base.size(), 4);
    return base.substr(0, base.find_first_of(" \n"));
}

} // namespace

std::string kernel_name(const void *kernel)
{
    const plugin_file &file = plugin();
    auto found = file.functions.find((uintptr_t)kernel - file.base);
    if (found == file.functions.end()) {
        return "a kernel";
    }
    int status = 0;
    char *plain = abi::__cxa_demangle(found->second.c_str(), nullptr, nullptr, &status);
    std::string name = short_of(plain != nullptr ? plain : found->second);
    free(plain);
    return name;
}

std::string code_place(const void *place)
{
    char command[512], line[512];
    if (place == nullptr) {
        return "in what the emulation does for it";
    }
    const plugin_file &file = plugin();
    unsigned long offset = (unsigned long)((uintptr_t)place - file.base);
    snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%lx 2>/dev/null", file.path.c_str(), offset - 1);
    FILE *lines = popen(command, "r");
    std::string text;
    for (int k = 0; lines != nullptr && k < 4 && fgets(line, sizeof line, lines) != nullptr; k++) {
        text += (k > 0 ? " in " : "") + base_of(line);
    }
    if (lines != nullptr) {
        pclose(lines);
    }
    snprintf(line, sizeof line, "offset 0x%lx", offset);
    return text.empty() ? line : text;
}
