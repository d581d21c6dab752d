/* Verdict words: what was compared, both sizes, the stage, the signed error, the tolerance; and what is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/record/verdict_words.h"

static void words_check(const char *verdict, const char *basis, const char *expected)
{
    struct json *object = NULL;
    struct text text = {0};
    assert_int_equal(json_parse_text("verdict", verdict, strlen(verdict), &object, NULL), STATUS_OK);
    const struct verdict_words words = verdict_words_read(object, basis);
    verdict_words_append(&text, &words);
    assert_string_equal(text_string(&text), expected);
    text_release(&text);
    json_release(object);
}

static void a_failure_says_what_was_compared_and_how_far_it_was_off(void **state)
{
    (void)state;
    words_check(
        "{\"estimator\": \"accelerate\", \"quantity\": \"total_bytes\", \"predicted\": 327650304, \"measured\": "
        "381667328, \"stage\": \"backward\", \"tolerance\": {\"fraction\": 0.05}, \"pass\": false, \"note\": null}",
        BASIS_MEASURED,
        "accelerate: total 312.47 MiB predicted, allocated peak 363.99 MiB measured in backward: -14.15 % "
        "(-51.51 MiB), tolerance 5 %");
    words_check(
        "{\"estimator\": \"replay\", \"quantity\": \"reserved_bytes_peak\", \"predicted\": 381667328, \"measured\": "
        "327650304, \"stage\": \"step\", \"tolerance\": {\"bytes\": 2097152}, \"pass\": false, \"note\": null}",
        BASIS_REPLAYED,
        "replay: reserved peak 363.99 MiB predicted, 312.47 MiB replayed in step: +16.49 % (+51.51 MiB), "
        "tolerance 2.00 MiB");
}

/* Sizes that round to the same text, a measurement of 0, one of no stage, a tolerance of a part of a percent. */
static void small_and_odd_figures_stay_readable(void **state)
{
    (void)state;
    words_check("{\"estimator\": \"replay\", \"quantity\": \"allocated_bytes_peak\", \"predicted\": 433774080, "
                "\"measured\": 433773568, \"stage\": \"load\", \"tolerance\": {\"bytes\": 0}}",
                BASIS_MEASURED,
                "replay: allocated peak 413.68 MiB predicted, 413.68 MiB measured in load: +0.00 % (+512 B), tolerance "
                "0 B");
    words_check("{\"estimator\": \"replay\", \"quantity\": \"device_bytes\", \"predicted\": 512, \"measured\": 0, "
                "\"stage\": \"load\", \"tolerance\": {\"fraction\": 0.005}}",
                BASIS_MEASURED, "replay: device 512 B predicted, 0 B measured in load: +512 B, tolerance 0.5 %");
    words_check("{\"estimator\": \"replay\", \"quantity\": \"saved_for_backward_bytes\", \"predicted\": 1024, "
                "\"measured\": 2048, \"stage\": null, \"tolerance\": null}",
                BASIS_MEASURED,
                "replay: saved for backward 1.00 KiB predicted, 2.00 KiB measured: -50.00 % (-1.00 KiB)");
}

static void what_is_not_known_is_said_with_its_reason(void **state)
{
    (void)state;
    words_check(
        "{\"estimator\": \"replay\", \"quantity\": \"footprint_bytes\", \"predicted\": null, \"measured\": "
        "457179136, \"stage\": \"load\", \"tolerance\": {\"fraction\": 0.1}, \"note\": \"no constants\"}",
        BASIS_MEASURED,
        "replay: footprint not predicted, 436.00 MiB measured in load, tolerance 10 %: not judged, no constants");
    words_check(
        "{\"estimator\": \"expected\", \"quantity\": \"process_bytes\", \"predicted\": 1024, \"measured\": null, "
        "\"tolerance\": {\"bytes\": 0}}",
        BASIS_REPLAYED, "expected: process 1.00 KiB predicted, not replayed, tolerance 0 B");
    words_check("{}", BASIS_MEASURED, "(no estimator): (no quantity) not predicted, not measured");
}

static void only_a_device_without_memory_replays(void **state)
{
    (void)state;
    assert_string_equal(basis_of_device("meta"), "replayed");
    assert_string_equal(basis_of_device("host"), "measured");
    assert_string_equal(basis_of_device("cuda"), "measured");
    assert_string_equal(basis_of_device(NULL), "measured");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_says_what_was_compared_and_how_far_it_was_off),
        cmocka_unit_test(small_and_odd_figures_stay_readable),
        cmocka_unit_test(what_is_not_known_is_said_with_its_reason),
        cmocka_unit_test(only_a_device_without_memory_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
