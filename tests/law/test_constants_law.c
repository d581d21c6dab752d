/* The constants of a device as a law: the figures of the committed records, and their uncertainty. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/constants_law.h"
#include "harness/report/calibration.h"

static void a_chance_follows_from_the_number_of_readings(void **state)
{
    (void)state;
    assert_true(constants_confidence(0) == 0.0);
    assert_true(constants_confidence(1) == 0.0);
    assert_true(constants_confidence(2) == 0.5);
    assert_true(fabs(constants_confidence(10) - 0.998046875) < 1e-12);
}

static void the_constants_of_the_reference_are_told(void **state)
{
    (void)state;
    const char *const paths[] = {"results/reference/host-intel-r-xeon-r-processor/calibrate"};
    struct constants constants;
    struct status error = {0};
    struct text text = {0};
    if (calibration_make(paths, 1, NULL, &constants, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    constants_law_append(&text, &constants);
    assert_non_null(strstr(text_string(&text), "on host 'Intel(R) Xeon(R) Processor' with 2 threads\n10 cases; "));
    assert_non_null(strstr(text_string(&text), "  context   process "));
    assert_non_null(strstr(text_string(&text), "    10     99.8 %\n"));
    assert_non_null(strstr(text_string(&text), "     3     75.0 %\n"));
    struct json *document = constants_law_json(&constants, "0");
    const struct json *confidence = json_get(document, "confidence");
    assert_true(json_real_or(json_get(json_get(confidence, "context"), "process_bytes"), 0.0) > 0.99);
    assert_int_equal(json_kind(json_get(json_get(confidence, "context"), "device_bytes")), JSON_KIND_NULL);
    assert_int_equal(
        json_integer_or(
            json_get(json_get(json_get(json_get(document, "constants"), "context"), "process_bytes"), "median"), 0),
        constants.context.process.median);
    json_release(document);
    constants.context.process.count = 1;
    text_release(&text);
    constants_law_append(&text, &constants);
    assert_non_null(strstr(text_string(&text), "     1  one reading: no uncertainty is known\n"));
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chance_follows_from_the_number_of_readings),
        cmocka_unit_test(the_constants_of_the_reference_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
