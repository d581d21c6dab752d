/* Requested, allocated and reserved bytes, and the sequence they come from, are on the emulated GPU what was predicted
 * on meta, for the cases that tests/models/test_sequence_identity.c runs on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/sequence_cases.h"

static struct sequence_case cases[SEQUENCE_CASES_MAXIMUM];

static void the_gpu_is_asked_for_what_was_predicted(void **state)
{
    (void)state;
    int count = sequence_cases_make(cases);
    for (int i = 0; i < count; i++) {
        sequence_case_check(&cases[i], "cuda:0", "sm_75");
    }
    print_message("%d cases\n", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpu_is_asked_for_what_was_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
