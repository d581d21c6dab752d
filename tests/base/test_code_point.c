/* Code point: every character there is goes to bytes and back, and every sequence of up to three bytes, and those of
 * four at the edges, is taken or refused as the standard's table of well-formed bytes (Unicode 15, table 3-7) says. */
#include "harness/base/code_point.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void every_character_comes_back(void **state)
{
    (void)state;
    for (uint32_t point = 1; point <= 0x10FFFF; point++) {
        char bytes[CODE_POINT_BYTES + 1] = {0};
        uint32_t back = 0;
        size_t length = code_point_encode(point, bytes);
        if (point >= 0xD800 && point <= 0xDFFF) { /* halves of a pair of UTF-16 are written, but not read */
            assert_int_equal(code_point_length(bytes, length), 0);
            continue;
        }
        assert_int_equal(length, point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
        assert_int_equal(code_point_decode(bytes, &back), length);
        assert_int_equal(back, point);
        assert_int_equal(code_point_count(bytes, length), 1);
        for (size_t left = 1; left < length; left++) {
            assert_int_equal(code_point_length(bytes, left), 0);
            assert_int_equal(code_point_expect(bytes, left), length);
        }
    }
}

static bool lies_in(unsigned char byte, unsigned first, unsigned last)
{
    return byte >= first && byte <= last;
}

/* A row of the standard's table each; the length of the sequence, or 0. */
static size_t table_length(const unsigned char b[4])
{
    bool third = lies_in(b[2], 0x80, 0xBF), fourth = lies_in(b[3], 0x80, 0xBF);
    return b[0] <= 0x7F                                                                ? 1
           : lies_in(b[0], 0xC2, 0xDF) && lies_in(b[1], 0x80, 0xBF)                    ? 2
           : b[0] == 0xE0 && lies_in(b[1], 0xA0, 0xBF) && third                        ? 3
           : lies_in(b[0], 0xE1, 0xEC) && lies_in(b[1], 0x80, 0xBF) && third           ? 3
           : b[0] == 0xED && lies_in(b[1], 0x80, 0x9F) && third                        ? 3
           : lies_in(b[0], 0xEE, 0xEF) && lies_in(b[1], 0x80, 0xBF) && third           ? 3
           : b[0] == 0xF0 && lies_in(b[1], 0x90, 0xBF) && third && fourth              ? 4
           : lies_in(b[0], 0xF1, 0xF3) && lies_in(b[1], 0x80, 0xBF) && third && fourth ? 4
           : b[0] == 0xF4 && lies_in(b[1], 0x80, 0x8F) && third && fourth              ? 4
                                                                                       : 0;
}

static void the_table_of_the_standard_holds(void **state)
{
    static const unsigned char last[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0};
    (void)state;
    for (unsigned first = 0; first < 1u << 24; first++) {
        for (size_t i = 0; i < (first >> 16 >= 0xF0 ? sizeof last : 1); i++) {
            const unsigned char bytes[] = {(unsigned char)(first >> 16), (unsigned char)(first >> 8),
                                           (unsigned char)first, last[i]};
            if (code_point_length((const char *)bytes, 4) != table_length(bytes)) {
                fail_msg("%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
            }
        }
    }
}

/* Byte by byte, as a stream gives them: the first that is wrong is the one that says so. */
static void the_first_wrong_byte_is_told(void **state)
{
    static const struct {
        const char *bytes;
        size_t wrong; /* counted from 1 */
    } rows[] = {{"\x80", 1},         {"\xC0\x80", 1},         {"\xF5", 1},         {"\xC3(", 2},
                {"\xE0\x9F\x80", 2}, {"\xED\xA0\x80", 2},     {"\xF4\x90\x80", 2}, {"\xE2\x82(", 3},
                {"\xF0\x8F", 2},     {"\xF0\x9F\x98\xC0", 4}, {"\xE2\x82", 3}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t point = 0;
        size_t count = 1;
        while (code_point_expect(rows[i].bytes, count) > 0) {
            count++;
        }
        assert_int_equal(count, rows[i].wrong);
        assert_int_equal(code_point_decode(rows[i].bytes, &point), 1);
        assert_int_equal(point, 0xFFFD);
    }
}

static void characters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(code_point_count("", 0), 0);
    assert_int_equal(code_point_count("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", 11), 5);
    assert_int_equal(code_point_count("a\xC3\xA9", 2), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_comes_back),
        cmocka_unit_test(the_table_of_the_standard_holds),
        cmocka_unit_test(the_first_wrong_byte_is_told),
        cmocka_unit_test(characters_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
