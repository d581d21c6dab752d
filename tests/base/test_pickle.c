/* Pickles: files that Python's own module has written, in every protocol, are read as what is in them; hostile and
 * damaged ones are refused, and nothing of them is carried out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/file_content.h"
#include "harness/base/pickle.h"

static struct text content_of(const char *name)
{
    char path[256];
    struct text content = {0};
    struct status error = {0};
    snprintf(path, sizeof path, "peers/python/pickles/%s", name);
    if (file_content_read(path, "pickles", 1 << 20, &content, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return content;
}

static void expect_document(const struct json *document, const struct json *expected)
{
    struct text ours = {0}, theirs = {0};
    assert_int_equal(json_write(document, 1, &ours, NULL), STATUS_OK);
    assert_int_equal(json_write(expected, 1, &theirs, NULL), STATUS_OK);
    assert_string_equal(text_string(&ours), text_string(&theirs));
    text_release(&ours);
    text_release(&theirs);
}

static void python_writes_what_is_read(void **state)
{
    (void)state;
    static const char *const names[] = {"plain-2.pickle", "plain-3.pickle", "plain-4.pickle", "plain-5.pickle",
                                        "plain-slow.pickle"};
    struct json *expected = NULL;
    assert_int_equal(json_parse_file("peers/python/pickles/plain.json", 1 << 20, &expected, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct text content = content_of(names[i]);
        struct json *document = NULL;
        struct status error = {0};
        assert_true(pickle_is(text_string(&content), content.length));
        if (pickle_parse(names[i], text_string(&content), content.length, &document, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        expect_document(document, expected);
        json_release(document);
        text_release(&content);
    }
    json_release(expected);
}

/* A file that is cut short anywhere is refused, and one with any byte changed is read or refused. */
static void damaged_files_end_in_a_line(void **state)
{
    (void)state;
    struct text content = content_of("snapshot-4.pickle");
    char *bytes = malloc(content.length);
    assert_non_null(bytes);
    int refused = 0;
    for (size_t i = 0; i < content.length; i++) {
        struct json *document = NULL;
        struct status error = {0};
        memcpy(bytes, text_string(&content), content.length);
        assert_int_equal(pickle_parse("f", bytes, i, &document, &error), STATUS_INVALID);
        assert_true(strncmp(error.text, "f: byte ", 8) == 0);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        enum status_code code = pickle_parse("f", bytes, content.length, &document, &error);
        assert_true(code == STATUS_OK || code == STATUS_INVALID);
        refused += code != STATUS_OK;
        json_release(document);
    }
    assert_in_range(refused, 100, content.length);
    free(bytes);
    text_release(&content);
}

struct hostile {
    const char *bytes;
    size_t length;
    const char *says;
};

#define BYTES(literal) literal, sizeof(literal) - 1

static void what_reaches_out_of_it_is_refused(void **state)
{
    (void)state;
    static const struct hostile rows[] = {
        {BYTES("\x80\x02"
               "cos\nsystem\nX\x02\x00\x00\x00id\x85R."),
         "byte 2: GLOBAL, by which a pickle has Python"},
        {BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R."), "STACK_GLOBAL, by which"},
        {BYTES("\x80\x02)R."), "byte 3: REDUCE, by which"},
        {BYTES("\x80\x02}}b."), "BUILD, by which"},
        {BYTES("\x80\x02(ios\nsystem\n."), "INST, by which"},
        {BYTES("\x80\x02))\x81."), "NEWOBJ, by which"},
        {BYTES("\x80\x04)))\x92."), "NEWOBJ_EX, by which"},
        {BYTES("\x80\x02\x82\x01."), "EXT1, by which"},
        {BYTES("\x80\x02NQ."), "BINPERSID, by which"},
        {BYTES("\x80\x05\x97."), "NEXT_BUFFER, by which"},
        /* a list in itself, straight away and around a corner */
        {BYTES("\x80\x02]q\x00h\x00"
               "a."),
         "byte 7: it changes a list or a dictionary after it was used"},
        {BYTES("\x80\x02]q\x00]q\x01h\x00"
               "ah\x00h\x01"
               "a."),
         "it changes a list or a dictionary after it was used"},
        {BYTES("\x80\x02]]q\x00"
               "a]q\x01h\x00"
               "ah\x00h\x01"
               "a."),
         "it changes a list or a dictionary after it was used"},
        {BYTES("\x80\x02(]q\x00th\x00K\x01"
               "a."),
         "it changes a list or a dictionary after it was used"},
        /* more than is there */
        {BYTES("\x80\x02X\xff\xff\xff\xff"
               "ab."),
         "4294967295 bytes are announced and 3 are there"},
        {BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
               "a."),
         "18446744073709551615 bytes are announced"},
        {BYTES("\x80\x02Nr\xff\xff\xff\xff."), "it notes value 4294967295 before value 0"},
        {BYTES("\x80\x02h\x00."), "value 0 was not noted"},
        {BYTES("\x80\x02\x8a\x09\x01\x00\x00\x00\x00\x00\x00\x00\x01."), "an integer does not fit 64 bits"},
        {BYTES("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00."), "an integer does not fit 64 bits"},
        {BYTES("\x80\x02t."), "nothing is; the file is damaged"},
        {BYTES("\x80\x02"
               "a."),
         "it takes 1 values that are not there"},
        {BYTES("\x80\x02(a."), "it takes 1 values that are not there"},
        {BYTES("\x80\x02NK\x01"
               "a."),
         "it adds to what is null"},
        {BYTES("\x80\x02}(K\x01u."), "a key has no value"},
        {BYTES("\x80\x02}]K\x01s."), "a key is an array"},
        {BYTES("\x80\x02NN."), "values are left over"},
        {BYTES("\x80\x02."), "it takes 1 values that are not there"},
        {BYTES("\x80\x02N"), "byte 3: it ends before its last instruction"},
        {BYTES("\x80\x01N."), "protocol 1; 2 to 5 are read"},
        {BYTES("\x80\x06N."), "protocol 6; 2 to 5 are read"},
        {BYTES("\x80\x02I01\n."), "no instruction of a pickle of protocols 2 to 5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *document = NULL;
        struct status error = {0};
        enum status_code code = pickle_parse("f", rows[i].bytes, rows[i].length, &document, &error);
        if (code != STATUS_INVALID || strstr(error.text, rows[i].says) == NULL) {
            fail_msg("row %zu: code %d: %s", i, (int)code, error.text);
        }
    }
}

/* So many lists in each other are read, and one more is not; a million is refused before any stack is. */
static void depth_is_bounded(void **state)
{
    (void)state;
    static const int depths[] = {PICKLE_DEPTH_MAXIMUM, PICKLE_DEPTH_MAXIMUM + 1, 1000000};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        struct text bytes = {0};
        struct json *document = NULL;
        struct status error = {0};
        text_append(&bytes, "\x80\x02");
        for (int k = 0; k < depths[i]; k++) {
            text_append(&bytes, "]");
        }
        for (int k = 1; k < depths[i]; k++) {
            text_append(&bytes, "a");
        }
        text_append(&bytes, ".");
        enum status_code code = pickle_parse("f", text_string(&bytes), bytes.length, &document, &error);
        assert_int_equal(code, i == 0 ? STATUS_OK : STATUS_INVALID);
        assert_true(i == 0 || strstr(error.text, "lie more than 64 deep in each other") != NULL);
        json_release(document);
        text_release(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_writes_what_is_read),
        cmocka_unit_test(damaged_files_end_in_a_line),
        cmocka_unit_test(what_reaches_out_of_it_is_refused),
        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
