/* Growing text, the arena and error lines: the three that every floor builds on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

static void text_grows_and_keeps_zero_bytes(void **state)
{
    (void)state;
    struct text text = {0};
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++) {
        text_format(&text, "%d,", i % 10);
    }
    assert_int_equal(text.length, 2000);
    text_append_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 2003);
    assert_memory_equal(text.data + 2000, "a\0b", 4);
    text_append_bytes(&text, "", SIZE_MAX / 2); /* refused before anything is read */
    assert_true(text.failed);
    text_append(&text, "x");
    assert_int_equal(text.length, 2003);
    text_release(&text);
    assert_null(text.data);
    assert_false(text.failed);
}

static void arena_addresses_are_stable_aligned_and_zeroed(void **state)
{
    (void)state;
    struct arena arena = {0};
    char *first = arena_copy(&arena, "first");
    for (size_t size = 0; size < 5000; size += 37) {
        unsigned char *memory = arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xAB, size);
    }
    char *large = arena_alloc(&arena, 1 << 20);
    assert_non_null(large);
    large[(1 << 20) - 1] = 1;
    assert_string_equal(first, "first");
    assert_string_equal(arena_format(&arena, "%s-%d", first, 7), "first-7");
    assert_null(arena_alloc(&arena, SIZE_MAX));
    arena_release(&arena);
    assert_null(arena.chunks);
}

static void errors_are_one_line_and_cut_with_dots(void **state)
{
    (void)state;
    struct status error = {0};
    assert_int_equal(status_set(&error, STATUS_IO, "cannot read %s", "x"), STATUS_IO);
    status_prefix(&error, "%s", "suite.yaml");
    assert_string_equal(error.text, "suite.yaml: cannot read x");
    assert_int_equal(error.code, STATUS_IO);
    char longer[2 * STATUS_TEXT_BYTES];
    memset(longer, 'y', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    status_set(&error, STATUS_INVALID, "%s", longer);
    assert_int_equal(strlen(error.text), STATUS_TEXT_BYTES - 1);
    assert_string_equal(error.text + STATUS_TEXT_BYTES - 5, "y...");
    assert_int_equal(status_set(NULL, STATUS_DEVICE, "no place for it"), STATUS_DEVICE);
    assert_string_equal(status_code_name(STATUS_OUT_OF_MEMORY), "out of memory");
}

static void integers_are_written_whole(void **state)
{
    (void)state;
    struct text text = {0};
    static const int64_t values[] = {0, 7, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        text_integer(&text, values[i]);
        text_append(&text, " ");
    }
    assert_string_equal(text_string(&text), "0 7 -1 10 9223372036854775807 -9223372036854775808 ");
    text_release(&text);
}

/* Collects what a drain is given; takes at most `room`. */
struct collecting {
    struct text_drain drain;
    struct text all;
    size_t room;
    int piece_count;
};

static bool collect(struct text_drain *drain, const char *bytes, size_t count)
{
    struct collecting *collecting = (struct collecting *)drain;
    assert_int_equal(bytes[count - 1], '\n'); /* whole lines only */
    collecting->piece_count++;
    if (collecting->all.length + count > collecting->room) {
        status_set(&drain->error, STATUS_IO, "it is full");
        return false;
    }
    text_append_bytes(&collecting->all, bytes, count);
    return true;
}

static void a_long_text_goes_into_its_drain_line_by_line(void **state)
{
    (void)state;
    struct collecting collecting = {.drain = {.take = collect}, .room = SIZE_MAX};
    struct text text = {.drain = &collecting.drain}, whole = {0};
    for (int i = 0; i < 900000; i++) {
        text_format(i % 2 == 0 ? &text : &whole, "%d ", i / 2);
        text_format(i % 2 == 0 ? &text : &whole, "%s", i % 14 < 2 ? "\n" : "and ");
    }
    assert_true(collecting.piece_count > 1);
    assert_true(text.length < TEXT_DRAIN_BYTES);
    text_append_bytes(&collecting.all, text_string(&text), text.length);
    assert_string_equal(text_string(&collecting.all), text_string(&whole));
    assert_int_equal(text_status(&text, "it", NULL), STATUS_OK);
    text_release(&text);
    text_release(&whole);
    text_release(&collecting.all);
}

/* A line of 8 MiB in pieces of a byte: looked through a few times, not once for each piece. */
static void a_very_long_line_is_kept_until_its_end(void **state)
{
    (void)state;
    struct collecting collecting = {.drain = {.take = collect}, .room = SIZE_MAX};
    struct text text = {.drain = &collecting.drain};
    for (int i = 0; i < 8 << 20; i++) {
        text_append_bytes(&text, "x", 1);
    }
    assert_int_equal(collecting.piece_count, 0);
    for (int i = 0; i < 9 << 20; i++) {
        text_append_bytes(&text, "\n", 1);
    }
    assert_true(collecting.piece_count > 0);
    assert_int_equal(collecting.all.length + text.length, 17 << 20);
    text_release(&text);
    text_release(&collecting.all);
}

static void a_full_drain_fails_the_text_with_its_reason(void **state)
{
    (void)state;
    struct collecting collecting = {.drain = {.take = collect}, .room = 1 << 20};
    struct text text = {.drain = &collecting.drain}, cut = {.failed = true};
    struct status error = {0};
    for (int i = 0; i < 3000000; i++) {
        text_append(&text, "a\n");
    }
    assert_true(text.failed);
    assert_int_equal(collecting.piece_count, 2); /* it is not asked again */
    assert_int_equal(text_status(&text, "it", &error), STATUS_IO);
    assert_string_equal(error.text, "it is full");
    assert_int_equal(text_status(&cut, "a page", &error), STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text, "no memory for a page");
    text_release(&text);
    text_release(&collecting.all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_written_whole),
        cmocka_unit_test(a_long_text_goes_into_its_drain_line_by_line),
        cmocka_unit_test(a_very_long_line_is_kept_until_its_end),
        cmocka_unit_test(a_full_drain_fails_the_text_with_its_reason),
        cmocka_unit_test(text_grows_and_keeps_zero_bytes),
        cmocka_unit_test(arena_addresses_are_stable_aligned_and_zeroed),
        cmocka_unit_test(errors_are_one_line_and_cut_with_dots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
