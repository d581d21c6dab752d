/* Headings of the weights rule: what parts two series stands in their titles. Figures and pages:
 * test_weights_rule.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/report/weights_rule_view.h"
#include "tests/report/counted_rows.h"

static void titles_check(const struct counted_row *rows, int count, const char *const *titles)
{
    struct report *report = counted_rows_report(rows, count);
    struct weights_rule *rule = NULL;
    assert_int_equal(weights_rule_make(&report, 1, 1.2, 0.1, &rule, NULL), STATUS_OK);
    assert_int_equal(rule->series_count, count);
    for (int at = 0; at < count; at++) {
        assert_string_equal(rule->series[at].title, titles[at]);
    }
    weights_rule_release(rule);
    report_release(report);
}

/* Two devices that measured one model are two series, each with its device (both have one name here); one device is
 * no news. */
static void measured_series_name_their_device_when_there_are_several(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "a", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 110},
        {.id = "b", .device = "cuda", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 110},
    };
    titles_check(rows, 2, (const char *const[]){"model float32 on a device", "model float32 on a device"});
    titles_check(rows, 1, (const char *const[]){"model float32"});
}

/* Whatever the register of case fields has, but batch and lengths. */
static void headings_name_the_fields_that_part_series(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "a", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 110},
        {.id = "b", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 110, .tf32 = true},
    };
    titles_check(rows, 2, (const char *const[]){"model float32", "model float32 tf32"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_series_name_their_device_when_there_are_several),
        cmocka_unit_test(headings_name_the_fields_that_part_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
