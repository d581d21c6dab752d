/* Requested, allocated and reserved bytes, and the sequence they come from, are on the emulated GPU what was predicted
 * on meta, for a fifth of the cases that tests/models/test_sequence_identity.c runs on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/sequence_cases.h"

static struct sequence_case cases[SEQUENCE_CASES_MAXIMUM];

/* One case in five, evenly: the emulated GPU takes minutes for all. Neighbours differ in a single field. */
static void the_gpu_is_asked_for_what_was_predicted(void **state)
{
    enum { STEP = 5 };
    (void)state;
    int count = sequence_cases_make(cases);
    for (int i = 0; i < count; i += STEP) {
        sequence_case_check(&cases[i], "cuda:0", "sm_75");
    }
    print_message("one in %d of %d cases\n", STEP, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpu_is_asked_for_what_was_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
