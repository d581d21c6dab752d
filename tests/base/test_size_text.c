/* Sizes typed by people: what is read, what is refused and with which words, what is said to have been meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/size_text.h"

static void sizes_are_read_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } rows[] = {
        {"512", 512},
        {"512B", 512},
        {"512 B", 512},
        {"0", 0},
        {"1.5GiB", INT64_C(1610612736)},
        {"512MiB", INT64_C(536870912)},
        {"10GB", INT64_C(10000000000)},
        {"3kB", 3000},
        {"8388607TiB", INT64_C(9223370937343148032)},
        {"10 GB", INT64_C(10000000000)},
        {"10GiB", INT64_C(10737418240)},
        {"1.5KiB", 1536},
        {"0.123456MB", 123456},
        {"2.5TB", INT64_C(2500000000000)},
        {"1.50GiB", INT64_C(1610612736)},
        {"1.0B", 1},
        {"123456", 123456},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t bytes = -1;
        assert_int_equal(size_parse(rows[i].text, &bytes, NULL), STATUS_OK);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void unclear_sizes_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {"",      "GiB",    "-1",           "+1",      "1e3", "0x10",
                                       "10gb",  "512mib", "1.GiB",        "1.5.GiB", ".5B", "1  GB",
                                       "1 GB ", " 1GB",   "1.1234567GiB", "4k",      "1 "};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t bytes = -1;
        struct status error = {0};
        assert_int_equal(size_parse(rows[i], &bytes, &error), STATUS_INVALID);
        assert_int_equal(bytes, -1);
        assert_non_null(strchr(error.text, ';')); /* a cause and a remedy */
    }
    int64_t bytes = -1;
    assert_int_equal(size_parse("8388608TiB", &bytes, NULL), STATUS_OVERFLOW);
    assert_int_equal(size_parse("99999999999999999999", &bytes, NULL), STATUS_OVERFLOW);
    assert_int_equal(bytes, -1);
}

static void what_is_not_clear_is_refused_with_both_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *error;
    } rows[] = {
        {"10gb", "'10gb' leaves open whether it counts in 1000s or in 1024s; write 10GB (1000s) or 10GiB (1024s)"},
        {"10G", "'10G' leaves open whether it counts in 1000s or in 1024s; write 10GB (1000s) or 10GiB (1024s)"},
        {"1.5t", "'1.5t' leaves open whether it counts in 1000s or in 1024s; write 1.5TB (1000s) or 1.5TiB (1024s)"},
        {"10 Gb", "'10 Gb' leaves open whether it counts in 1000s or in 1024s; write 10GB (1000s) or 10GiB (1024s)"},
        {"4k", "'4k' leaves open whether it counts in 1000s or in 1024s; write 4KB (1000s) or 4KiB (1024s)"},
        {"10gib", "'10gib' has a unit in the wrong case; write 10GiB"},
        {"10MIB", "'10MIB' has a unit in the wrong case; write 10MiB"},
        {"10gx", "'10gx' has no unit that is known here; write B, KiB, MiB, GiB, TiB (binary) or kB, MB, GB, TB "
                 "(decimal)"},
        {"0.3GiB", "'0.3GiB' is no whole number of bytes; write 322122547, or a finer unit"},
        {"0.5", "'0.5' is no whole number of bytes; write 0, or a finer unit"},
        {"all", "'all' is not a size; write a number and a unit, as in 512MiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct status error = {0};
        int64_t bytes = -1;
        assert_int_equal(size_parse(rows[i].typed, &bytes, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].error);
        assert_int_equal(bytes, -1);
    }
}

static void it_is_said_what_was_meant(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"10GB", "10GB = 9.31 GiB"},
        {"10GiB", "10GiB = 10737418240 bytes"},
        {"24 GB", "24 GB = 22.35 GiB"},
        {"8589934592", "8589934592 = 8.00 GiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        int64_t bytes = 0;
        assert_int_equal(size_parse(rows[i][0], &bytes, NULL), STATUS_OK);
        size_meant(rows[i][0], bytes, &text);
        assert_string_equal(text_string(&text), rows[i][1]);
        text_release(&text);
    }
}

/* Nobody means 24 bytes by a memory of 24. */
static void a_memory_has_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"24", "'24' has no unit; write 24GiB (1024s) or 24GB (1000s)"},
        {"800", "'800' has no unit; write 800MiB (1024s) or 800MB (1000s)"},
        {"25769803776", "'25769803776' has no unit; write 25769803776B for bytes"},
    };
    int64_t bytes = 7;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct status error = {0};
        assert_int_equal(size_parse_memory(rows[i].text, &bytes, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].error);
        assert_int_equal(bytes, 7);
    }
    assert_int_equal(size_parse_memory("0", &bytes, NULL), STATUS_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(size_parse_memory("24B", &bytes, NULL), STATUS_OK);
    assert_int_equal(bytes, 24);
    assert_int_equal(size_parse_memory("1.5GiB", &bytes, NULL), STATUS_OK);
    assert_int_equal(bytes, INT64_C(1610612736));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_exactly),
        cmocka_unit_test(unclear_sizes_are_refused),
        cmocka_unit_test(what_is_not_clear_is_refused_with_both_spellings),
        cmocka_unit_test(it_is_said_what_was_meant),
        cmocka_unit_test(a_memory_has_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
