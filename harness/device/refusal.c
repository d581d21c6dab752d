/* Refusal: words looked for in a text. */
#include "harness/device/refusal.h"

#include <stddef.h>
#include <string.h>

enum refusal_source refusal_source_of(const char *text)
{
    /* In this order: a text about a segment may name what asked for it, and CUDA's own words are the most common. */
    static const struct {
        const char *words;
        enum refusal_source source;
    } rows[] = {
        {REFUSAL_WORDS_KILLED, REFUSAL_KILLED},      {REFUSAL_WORDS_GPU, REFUSAL_SEGMENT},
        {REFUSAL_WORDS_BOUND, REFUSAL_SEGMENT},      {REFUSAL_WORDS_MACHINE, REFUSAL_MACHINE},
        {REFUSAL_WORDS_CGROUP, REFUSAL_CGROUP},      {REFUSAL_WORDS_LIMIT, REFUSAL_LIMIT},
        {"CUBLAS_STATUS_", REFUSAL_CUBLAS},          /* as cublasGetStatusName spells them */
        {"cudaErrorMemoryAllocation", REFUSAL_CUDA}, /* as cudaGetErrorName does */
        {": out of memory", REFUSAL_CUDA},           /* as cudaGetErrorString does, behind what was being done */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(text, rows[i].words) != NULL) {
            return rows[i].source;
        }
    }
    return REFUSAL_PROGRAM;
}

const char *refusal_source_name(enum refusal_source source)
{
    static const char *const names[REFUSAL_SOURCE_COUNT] = {
        [REFUSAL_SEGMENT] = "segment", [REFUSAL_MACHINE] = "machine", [REFUSAL_CGROUP] = "cgroup",
        [REFUSAL_LIMIT] = "limit",     [REFUSAL_CUBLAS] = "cublas",   [REFUSAL_CUDA] = "cuda",
        [REFUSAL_KILLED] = "killed",   [REFUSAL_PROGRAM] = "program",
    };
    return names[source];
}
