/* Entry: the name by which libFuzzer and AFL++ call a target. FUZZ_TARGET is given on the command line of the
 * compiler. */
#include "tests/fuzz/fuzz.h"

#ifndef FUZZ_TARGET
#define FUZZ_TARGET fuzz_config
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return FUZZ_TARGET(data, size);
}
