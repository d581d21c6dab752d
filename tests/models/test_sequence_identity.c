/* Requested, allocated and reserved bytes, and the sequence they come from, are the same on meta and on the host.
 * test_sequence_on_gpu.c asks the same of a GPU, tests/cuda_emulation/test_emulated_sequence.c of the emulated one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/sequence_cases.h"
#include "tests/support/sanitized.h"

static struct sequence_case cases[SEQUENCE_CASES_MAXIMUM];

static void the_host_is_asked_for_what_was_predicted(void **state)
{
    enum { STEP = IS_SANITIZED ? 7 : 1 }; /* neighbours differ in a single field */
    (void)state;
    int count = sequence_cases_make(cases);
    assert_true(count > 250);
    for (int i = 0; i < count; i += STEP) {
        sequence_case_check(&cases[i], "host", "sm_75");
    }
    print_message("one in %d of %d cases\n", STEP, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_is_asked_for_what_was_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
