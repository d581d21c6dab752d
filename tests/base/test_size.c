/* Checked arithmetic at its edges, sizes as people write and read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/size.h"

static void arithmetic_refuses_what_does_not_fit(void **state)
{
    (void)state;
    int64_t result = 7;
    assert_true(size_add(INT64_MAX - 1, 1, &result));
    assert_int_equal(result, INT64_MAX);
    result = 7;
    assert_false(size_add(INT64_MAX, 1, &result));
    assert_false(size_add(-1, 5, &result));
    assert_false(size_multiply(INT64_C(1) << 32, INT64_C(1) << 31, &result));
    assert_false(size_multiply(-3, 5, &result));
    assert_false(size_multiply(3, -5, &result));
    assert_int_equal(result, 7);
    assert_true(size_multiply(INT64_C(1) << 31, INT64_C(1) << 31, &result));
    assert_int_equal(result, INT64_C(1) << 62);
    assert_true(size_multiply(0, INT64_MAX, &result));
    assert_int_equal(result, 0);
}

static void rounding_goes_up_to_the_next_multiple(void **state)
{
    (void)state;
    int64_t result = 7;
    assert_true(size_round_up(0, 512, &result));
    assert_int_equal(result, 0);
    assert_true(size_round_up(1, 512, &result));
    assert_int_equal(result, 512);
    assert_true(size_round_up(512, 512, &result));
    assert_int_equal(result, 512);
    assert_true(size_round_up(513, 512, &result));
    assert_int_equal(result, 1024);
    assert_false(size_round_up(INT64_MAX, 512, &result));
    assert_false(size_round_up(1, 0, &result));
    assert_int_equal(result, 1024);
}

static void sizes_are_written_in_binary_units(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1048575, "1.00 MiB"},
        {433249280, "413.18 MiB"},
        {433774592, "413.68 MiB"},
        {-524288, "-512.00 KiB"},
        {INT64_C(27431436288), "25.55 GiB"},
        {INT64_MIN, "-8388608.00 TiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[SIZE_TEXT_BYTES];
        assert_string_equal(size_format(rows[i].bytes, text), rows[i].text);
    }
}

static void integers_are_read_whole_or_refused(void **state)
{
    (void)state;
    int64_t value = 7;
    struct status error = {0};
    assert_int_equal(integer_parse("16", 1, 100, &value, &error), STATUS_OK);
    assert_int_equal(value, 16);
    assert_int_equal(integer_parse("-5", -10, 10, &value, &error), STATUS_OK);
    assert_int_equal(value, -5);
    assert_int_equal(integer_parse("16abc", 1, 100, &value, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'16abc' is not an integer; write digits alone, without 'abc'");
    assert_int_equal(integer_parse("010", 0, 100, &value, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'010' has a leading zero; write 10");
    assert_int_equal(integer_parse("00", 0, 100, &value, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'00' has a leading zero; write 0");
    assert_int_equal(integer_parse("1e3", 0, 100, &value, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'1e3' is not an integer; write 1000");
    static const char *const others[][2] = {
        {"1_000", "write 1000"},
        {"1,000,000", "write 1000000"},
        {"-2e1", "write -20"},
        {"16.0", "write 16"},
        {"4k", "write 4000 or 4096"},
        {"1.5", "write a whole number"},
        {"1e400", "write digits alone, without 'e400'"},
        {"12x", "write digits alone, without 'x'"},
        {"5m", "write digits alone, without 'm'"},
        {"1,00", "write one of them"},
        {"8,16", "write one of them"},
        {"8, 16", "write one of them"},
        {"1234,567", "write one of them"},
        {"1234567890_1234567890_1234567890", "write digits alone, without '_1234567890_1234567890'"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(integer_parse(others[i][0], 0, 100, &value, &error), STATUS_INVALID);
        assert_string_equal(strrchr(error.text, ';') + 2, others[i][1]);
    }
    assert_int_equal(integer_parse("", 0, 100, &value, &error), STATUS_INVALID);
    assert_int_equal(integer_parse("-", -1, 100, &value, &error), STATUS_INVALID);
    assert_int_equal(integer_parse("0", 1, 100, &value, &error), STATUS_INVALID);
    assert_string_equal(error.text, "0 is out of range; write an integer from 1 to 100");
    assert_int_equal(integer_parse("9223372036854775808", 0, INT64_MAX, &value, &error), STATUS_OVERFLOW);
    assert_int_equal(value, -5);
}

static void percentages_are_read_whole_or_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    "%",   "5",     "5 %",  "-5%",  "+5%",  "05%",          ".5%",
                                        "5.%", "5%%", "1000%", "1e1%", "nan%", "0x1%", "1.0123456789%"};
    double fraction = 7.0;
    struct status error = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(percentage_parse(wrong[i], &fraction, &error), STATUS_INVALID);
        assert_true(fraction == 7.0);
        assert_non_null(strchr(error.text, ';'));
    }
    assert_int_equal(percentage_parse("0.5%", &fraction, &error), STATUS_OK);
    assert_true(fraction == 0.005);
    assert_int_equal(percentage_parse("0%", &fraction, &error), STATUS_OK);
    assert_true(fraction == 0.0);
    assert_int_equal(percentage_parse("999.123456789%", &fraction, &error), STATUS_OK);
    assert_true(fraction > 9.99123456788 && fraction < 9.9912345679);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_refuses_what_does_not_fit),
        cmocka_unit_test(rounding_goes_up_to_the_next_multiple),
        cmocka_unit_test(sizes_are_written_in_binary_units),
        cmocka_unit_test(integers_are_read_whole_or_refused),
        cmocka_unit_test(percentages_are_read_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
