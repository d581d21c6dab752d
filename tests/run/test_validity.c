/* Which sequences of readings make a row invalid, and what is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/run/validity.h"

/* A reading that nothing disturbs. */
static struct device_reading quiet_reading(void)
{
    return (struct device_reading){.device_valid = true,
                                   .device_bytes = 1000,
                                   .process_valid = true,
                                   .process_bytes = 900,
                                   .disturbance = {.foreign_valid = true,
                                                   .ecc_mode = DEVICE_MODE_ON,
                                                   .mig_mode = DEVICE_MODE_OFF,
                                                   .swap_valid = true,
                                                   .swapped_out_valid = true,
                                                   .swapped_out_bytes = 4096}};
}

/* "valid", "null", or the reasons, one behind the other. */
static const char *reasons_of(const struct validity *validity, char reasons_text[1024])
{
    struct json *object = validity_json(validity);
    assert_non_null(object);
    const struct json *reasons = json_get(object, "reasons");
    struct text text = {0};
    if (json_kind(object) == JSON_KIND_NULL) {
        text_append(&text, "null");
    } else if (json_boolean_or(json_get(object, "valid"), false)) {
        assert_int_equal(json_count(reasons), 0);
        text_append(&text, "valid");
    }
    for (size_t i = 0; i < json_count(reasons); i++) {
        text_append(&text, i > 0 ? "; " : "");
        text_append(&text, json_string_or(json_at(reasons, i), "?"));
    }
    json_release(object);
    snprintf(reasons_text, 1024, "%s", text_string(&text));
    text_release(&text);
    return reasons_text;
}

static void expect(struct device_reading first, struct device_reading second, const char *reasons)
{
    char text[1024];
    struct validity validity = {0};
    validity_add(&validity, STAGE_CONTEXT, &first);
    validity_add(&validity, STAGE_LOAD, &second);
    assert_string_equal(reasons_of(&validity, text), reasons);
}

static void what_nobody_disturbed_is_valid(void **state)
{
    (void)state;
    char text[1024];
    struct validity validity = {0};
    assert_string_equal(reasons_of(&validity, text), "null");
    expect(quiet_reading(), quiet_reading(), "valid");
    expect((struct device_reading){0}, (struct device_reading){0}, "valid"); /* nothing could be looked at */
    expect((struct device_reading){0}, quiet_reading(), "valid");            /* it began to answer */
}

static void each_disturbance_has_its_sentence(void **state)
{
    (void)state;
    struct device_reading quiet = quiet_reading(), other = quiet;
    other.disturbance.ecc_mode = DEVICE_MODE_OFF;
    other.disturbance.mig_mode = DEVICE_MODE_ON;
    expect(quiet, other,
           "ECC was switched off before the end of stage load; MIG was switched on before the end of stage load");
    other.disturbance.ecc_mode = other.disturbance.mig_mode = DEVICE_MODE_UNKNOWN;
    expect(quiet, other, "valid");
    expect(other, quiet, "valid");

    other = quiet;
    other.disturbance.swap_bytes = 8192;
    expect(quiet, other,
           "8192 bytes (8.00 KiB) of the process were swapped out at the end of stage load, and are missing in what is "
           "resident");
    other = quiet;
    other.disturbance.swapped_out_bytes = 12288;
    expect(quiet, other,
           "the machine swapped out 8192 bytes (8.00 KiB) up to the end of stage load, perhaps of this process");
    expect(other, quiet, "valid"); /* a counter that falls is no swapping */
    other.disturbance.swapped_out_valid = false;
    expect(quiet, other, "valid");
    expect(other, quiet, "valid");

    other = quiet;
    other.device_valid = other.process_valid = false;
    expect(quiet, other,
           "the bytes used on the device could not be read at the end of stage load, as they were before; the bytes of "
           "the process could not be read at the end of stage load, as they were before");
}

static void foreigners_are_told_with_what_is_known_of_them(void **state)
{
    (void)state;
    struct device_reading quiet = quiet_reading(), other = quiet;
    other.disturbance.foreign_count = 3;
    other.disturbance.foreign_pid = 42;
    other.disturbance.foreign_bytes = 2048;
    expect(quiet, other,
           "3 other processes (42 is one) held 2048 bytes (2.00 KiB) of the GPU at the end of stage load");
    other.disturbance.foreign_pid = other.disturbance.foreign_bytes = -1;
    expect(quiet, other, "3 other processes held bytes of the GPU, how many is not told, at the end of stage load");
    other.disturbance.foreign_valid = false;
    expect(quiet, other, "valid");
    other = quiet;
    other.disturbance.foreign_gone_count = 2;
    expect(other, quiet,
           "2 of the processes that were on the GPU before the context was made had left at the end of stage context");
}

/* Stages of training come again; a failure is noticed however long ago the last success was. */
static void the_first_of_several_is_told_and_none_is_forgotten(void **state)
{
    (void)state;
    char text[1024];
    struct validity validity = {0};
    struct device_reading quiet = quiet_reading(), other = quiet;
    other.disturbance.foreign_count = 1;
    other.disturbance.foreign_pid = 42;
    other.disturbance.foreign_bytes = 0;
    validity_add(&validity, STAGE_CONTEXT, &quiet);
    validity_add(&validity, STAGE_FORWARD, &other);
    other.disturbance.foreign_pid = 43;
    validity_add(&validity, STAGE_BACKWARD, &other);
    validity_add(&validity, STAGE_FORWARD, &quiet);
    static const char first[] = "another process (42) held 0 bytes (0 B) of the GPU at the end of stage forward";
    assert_string_equal(reasons_of(&validity, text), first);

    struct device_reading silent = quiet;
    silent.disturbance = (struct device_disturbance){0};
    validity = (struct validity){0};
    validity_add(&validity, STAGE_CONTEXT, &quiet);
    validity_add(&validity, STAGE_LOAD, &silent);
    assert_string_equal(reasons_of(&validity, text), "valid");
    quiet.disturbance.ecc_mode = DEVICE_MODE_OFF;
    validity_add(&validity, STAGE_FORWARD, &quiet);
    assert_string_equal(reasons_of(&validity, text), "ECC was switched off before the end of stage forward");
}

/* Cases that share a device by wish are each other's others. */
static void who_shares_a_device_has_no_foreigners(void **state)
{
    (void)state;
    char text[1024];
    struct validity validity = {.shared = true};
    struct device_reading other = quiet_reading();
    other.disturbance.foreign_count = 1;
    validity_add(&validity, STAGE_CONTEXT, &other);
    assert_string_equal(reasons_of(&validity, text), "valid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_disturbed_is_valid),
        cmocka_unit_test(each_disturbance_has_its_sentence),
        cmocka_unit_test(foreigners_are_told_with_what_is_known_of_them),
        cmocka_unit_test(the_first_of_several_is_told_and_none_is_forgotten),
        cmocka_unit_test(who_shares_a_device_has_no_foreigners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
