/* Where in the sources a place of this plug-in's code lies. */
#ifndef ASSAY_TESTS_WATCHED_CODE_PLACE_H
#define ASSAY_TESTS_WATCHED_CODE_PLACE_H

#include <cstdint>
#include <string>

extern const uintptr_t code_place_start; /* of the plug-in */

/* Counted from there. */
static inline uint64_t code_place_number(const void *code)
{
    return (uintptr_t)code - code_place_start;
}

/* "body.h:79 in launch_rows.cu:40", or the number where addr2line is missing. */
std::string code_place(uint64_t number);

#endif
