/* The memory of a suite: a bound that is no part of a case's identity, inherited like the other settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/suite/suite.h"
#include "tests/suite/suite_text.h"
#include "tests/support/status_said.h"

static void the_innermost_memory_decides_and_ids_do_not_name_it(void **state)
{
    (void)state;
    struct suite suite;
    assert_int_equal(suite_text_read("version: 1\nname: t\nmemory: 24GiB\ncases:\n"
                                     "  - {model: tiny-bert, mode: load}\n"
                                     "  - {model: tiny-bert, mode: infer, memory: 1.5GiB}\n",
                                     &suite, NULL),
                     STATUS_OK);
    assert_int_equal(suite.case_count, 2);
    assert_int_equal(suite.cases[0].settings->memory_bytes, INT64_C(25769803776));
    assert_int_equal(suite.cases[1].settings->memory_bytes, INT64_C(1610612736));
    assert_string_equal(suite.cases[0].id, "tiny-bert/load/float32");
    suite_release(&suite);
    assert_int_equal(suite_text_read("version: 1\nname: t\ncases:\n  - {model: tiny-bert, mode: load}\n", &suite, NULL),
                     STATUS_OK);
    assert_int_equal(suite.cases[0].settings->memory_bytes, 0);
    suite_release(&suite);
}

static void wrong_memories_say_where_they_are(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"24", "s.yaml:3:9: memory: '24' has no unit; write 24GiB (1024s) or 24GB (1000s)"},
        {"0", "s.yaml:3:9: memory: 0 holds nothing; write a size such as 24GiB, or remove the key"},
        {"H100", "s.yaml:3:9: memory: 'H100' is not a size; write a number and a unit, as in 512MiB"},
        {"[1GiB, 2GiB]", "s.yaml:3:9: memory must be a single value, not a list"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        struct suite suite;
        struct status error;
        snprintf(text, sizeof text, "version: 1\nname: t\nmemory: %s\ncases:\n  - {model: tiny-bert, mode: load}\n",
                 rows[i][0]);
        assert_int_equal(suite_text_read(text, &suite, &error), STATUS_INVALID);
        assert_string_equal(STATUS_SAID(&error), rows[i][1]);
    }
}

/* Device, target and values have the names that records keep, whatever the suite calls them; equal cases are one. */
static void what_people_call_things_becomes_what_records_keep(void **state)
{
    (void)state;
    struct suite suite;
    assert_int_equal(suite_text_read("version: 1\nname: t\ndevice: CPU\nfor: h100\ncases:\n"
                                     "  - {model: tiny-bert, mode: training, precision: [bf16, fp32], optimizer: AdamW,"
                                     " exclude: [{precision: half}, {precision: float}]}\n",
                                     &suite, NULL),
                     STATUS_INVALID); /* half excludes nothing */
    assert_int_equal(suite_text_read("version: 1\nname: t\ndevice: CPU\nfor: h100\ncases:\n"
                                     "  - {model: tiny-bert, mode: training, precision: [bf16, fp32], optimizer: AdamW,"
                                     " exclude: [{precision: float}]}\n",
                                     &suite, NULL),
                     STATUS_OK);
    assert_int_equal(suite.case_count, 1);
    assert_string_equal(suite.cases[0].id, "tiny-bert/train/bfloat16/b1/s128/adamw-foreach");
    assert_string_equal(suite.cases[0].settings->device, "host");
    assert_string_equal(suite.cases[0].settings->target, "sm_90");
    suite_release(&suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_memory_decides_and_ids_do_not_name_it),
        cmocka_unit_test(wrong_memories_say_where_they_are),
        cmocka_unit_test(what_people_call_things_becomes_what_records_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
