/* Answers fed by hand: headers as servers write and miswrite them, bodies in blocks of every size, and what is
 * believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/hub/hub_answer.h"

enum { PARTIAL = 206, WHOLE = 200 };

/* Feeds a body in blocks; false where the answer wanted no more. */
static bool body_feed(struct answer *answer, long status, const char *body, size_t block)
{
    size_t length = strlen(body);
    for (size_t i = 0; i < length; i += block) {
        if (!answer_body(answer, status, body + i, length - i < block ? length - i : block)) {
            return false;
        }
    }
    return true;
}

static void header_feed(struct answer *answer, const char *line)
{
    assert_true(answer_header(answer, line, strlen(line)));
}

/* Whatever the blocks: the bytes that were asked for, and no others. */
static void wanted_bytes_are_taken_in_any_blocks(void **state)
{
    (void)state;
    static const struct {
        long status;
        int64_t first, count;
        const char *range, *body, *bytes;
        bool goes_on;
    } rows[] = {
        {PARTIAL, 3, 4, "Content-Range: bytes 3-6/10\r\n", "3456", "3456", true},
        {PARTIAL, 3, 4, "content-range:bytes 3-6/10\r\n", "34567", "3456", false}, /* one more than announced */
        {PARTIAL, 8, 4, "Content-Range: bytes 8-9/10\r\n", "89", "89", true},      /* the file ends before */
        {WHOLE, 3, 4, "Content-Length: 10\r\n", "0123456789", "3456", false},
        {WHOLE, 3, 7, "Content-Length: 10\r\n", "0123456789", "3456789", true},
        {WHOLE, 20, 4, "Content-Length: 10\r\n", "0123456789", "", true},
        {PARTIAL, 3, 4, "Content-Range: bytes 2-5/10\r\n", "2345", "", false},
        {PARTIAL, 0, 4, "Content-Range: bytes\r\n", "0123", "", false},
        {PARTIAL, 0, 4, "X-Other: 1\r\n", "0123", "", false},
        {302, 0, 4, "Location: elsewhere\r\n", "moved", "", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t block = 1; block <= 11; block++) {
            const struct hub_request request = {.ranged = true, .first = rows[i].first, .count = rows[i].count};
            struct hub_response response = {.size = -1};
            struct answer answer;
            answer_begin(&answer, &request, &response);
            header_feed(&answer, rows[i].range);
            assert_int_equal(body_feed(&answer, rows[i].status, rows[i].body, block), rows[i].goes_on);
            assert_string_equal(text_string(&response.bytes), rows[i].bytes);
            text_release(&response.bytes);
        }
    }
}

static void sizes_are_believed_where_they_are_sizes(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *headers[2];
        int64_t size;
    } rows[] = {
        {PARTIAL, {"Content-Range: bytes 0-3/140000000000\r\n", "Content-Length: 4\r\n"}, 140000000000},
        {PARTIAL, {"Content-Range: bytes 0-3/*\r\n", "X-Linked-Size: 99\r\n"}, 99},
        {PARTIAL, {"Content-Range: bytes 0-3/-5\r\n", NULL}, -1},
        {PARTIAL, {"Content-Range: bytes 0-3/99999999999999999999999\r\n", NULL}, -1},
        {PARTIAL, {"Content-Range: bytes 0-3/10 or so\r\n", NULL}, -1},
        {WHOLE, {"Content-Length: 4\r\n", "X-Linked-Size: 99\r\n"}, 4},
        {WHOLE, {"Content-Length: 4x\r\n", "X-Linked-Size: 99\r\n"}, 4}, /* it came whole: four bytes */
        {416, {"Content-Range: bytes */0\r\n", NULL}, 0},
        {302, {"Content-Length: 15\r\n", "X-Linked-Size: 99\r\n"}, 99},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct hub_request request = {.ranged = true, .count = 4};
        struct hub_response response = {.size = -1};
        struct answer answer;
        answer_begin(&answer, &request, &response);
        for (int k = 0; k < 2 && rows[i].headers[k] != NULL; k++) {
            header_feed(&answer, rows[i].headers[k]);
        }
        if (rows[i].status == PARTIAL || rows[i].status == WHOLE) {
            assert_true(body_feed(&answer, rows[i].status, "0123", 4));
        }
        answer_finish(&answer, rows[i].status);
        assert_int_equal(response.size, rows[i].size);
        text_release(&response.bytes);
    }
}

/* What goes into messages and paths is what it should be, or nothing. */
static void fields_cannot_carry_anything_else(void **state)
{
    (void)state;
    static const char commit[] = "X-Repo-Commit: 0123456789abcdef0123456789abcdef01234567\r\n";
    const struct hub_request request = {.count = 4};
    struct hub_response response = {.size = -1};
    struct answer answer;
    char line[2000];
    answer_begin(&answer, &request, &response);
    header_feed(&answer, "X-Repo-Commit: ../../../../etc\r\n");
    header_feed(&answer, "X-Repo-Commit: 0123\r\n");
    assert_string_equal(response.commit, "");
    header_feed(&answer, commit);
    assert_string_equal(response.commit, "0123456789abcdef0123456789abcdef01234567");
    header_feed(&answer, "X-Error-Code: Gated\x1b[2JRepo\r\n");
    assert_string_equal(response.error_code, "Gated?[2JRepo");
    memset(line, 'a', sizeof line);
    memcpy(line, "X-Error-Message: ", 17);
    assert_true(answer_header(&answer, line, sizeof line)); /* too long to be one of ours: passed over */
    assert_string_equal(response.error_message, "");
    assert_true(answer_header(&answer, line, 900));
    assert_int_equal(strlen(response.error_message), sizeof response.error_message - 1);
    /* the headers of all lines together are bounded */
    int count = 0;
    while (answer_header(&answer, line, sizeof line)) {
        count++;
    }
    assert_int_equal(answer.end, ANSWER_HEADERS_LONG);
    assert_in_range(count, 60, HUB_HEADERS_BYTES_MAXIMUM / (int)sizeof line);
    /* the next answer of the same request begins anew, but for the commit */
    answer_begin(&answer, &request, &response);
    assert_string_equal(response.error_code, "");
    assert_string_equal(response.commit, "0123456789abcdef0123456789abcdef01234567");
}

static void whole_files_are_bounded(void **state)
{
    (void)state;
    const struct hub_request request = {.count = 4};
    struct hub_response response = {.size = -1};
    struct answer answer;
    answer_begin(&answer, &request, &response);
    assert_true(body_feed(&answer, WHOLE, "0123", 1));
    assert_false(body_feed(&answer, WHOLE, "4", 1));
    assert_int_equal(answer.end, ANSWER_TOO_LONG);
    /* one that announces too much is not begun */
    answer_begin(&answer, &request, &response);
    header_feed(&answer, "Content-Length: 5\r\n");
    assert_false(body_feed(&answer, WHOLE, "0", 1));
    assert_int_equal(answer.end, ANSWER_TOO_LONG);
    assert_int_equal(response.bytes.length, 0);
    /* and what stands far behind is not waited for */
    const struct hub_request far = {.ranged = true, .first = HUB_PART_BYTES_MAXIMUM, .count = 1};
    answer_begin(&answer, &far, &response);
    assert_false(body_feed(&answer, WHOLE, "0", 1));
    assert_int_equal(answer.end, ANSWER_TOO_LONG);
    text_release(&response.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wanted_bytes_are_taken_in_any_blocks),
        cmocka_unit_test(sizes_are_believed_where_they_are_sizes),
        cmocka_unit_test(fields_cannot_carry_anything_else),
        cmocka_unit_test(whole_files_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
