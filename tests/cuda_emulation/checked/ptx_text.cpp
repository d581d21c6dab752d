#include "tests/cuda_emulation/checked/ptx_text.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace
{

void blanks_skip(const char **at)
{
    while (isspace((unsigned char)**at)) {
        (*at)++;
    }
}

bool taken(const char **at, char what)
{
    blanks_skip(at);
    bool is = **at == what;
    *at += is;
    return is;
}

bool number_read(const char **at, long *number)
{
    char *end = nullptr;
    blanks_skip(at);
    *number = strtol(*at, &end, 10);
    bool read = end != *at;
    *at = end;
    return read;
}

bool operand_read(const char **at, ptx_argument *argument)
{
    long number = 0;
    if (!taken(at, '%') || !number_read(at, &number)) {
        return false;
    }
    argument->operands.push_back((int)number);
    return true;
}

bool argument_read(const char **at, ptx_argument *argument)
{
    *argument = {};
    if (taken(at, '{')) {
        do {
            if (!operand_read(at, argument)) {
                return false;
            }
        } while (taken(at, ','));
        return taken(at, '}');
    }
    if (taken(at, '[')) {
        argument->address = true;
        return operand_read(at, argument) && taken(at, ']');
    }
    blanks_skip(at);
    return **at == '%' ? operand_read(at, argument) : number_read(at, &argument->number);
}

} // namespace

bool ptx_text_read(const char *text, ptx_text *statement)
{
    const char *at = text;
    *statement = {};
    blanks_skip(&at);
    size_t length = strcspn(at, " ;");
    statement->name.assign(at, length);
    at += length;
    if (statement->name.empty()) {
        return *at == '\0';
    }
    blanks_skip(&at);
    while (*at != ';') {
        statement->arguments.emplace_back();
        if (!argument_read(&at, &statement->arguments.back()) || (*at != ';' && !taken(&at, ','))) {
            return false;
        }
    }
    return at[1] == '\0';
}
