/* Files that are given as records and are none, or not whole: what they are, and the remedy. Files that were joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/record/record_lines.h"
#include "tests/support/status_said.h"

#define NAME_REMEDY "; name the records.jsonl that `assay run` wrote, or its folder"
#define NO_RECORDS  ":1:1: this is no file of records: it is "
#define SEVERAL_LINES                                                                                                  \
    "a JSON document of several lines, as a configuration, a file of constants or a report in JSON is" NAME_REMEDY
#define FIRST_CUT "the first line is cut short, and what follows has no run without it: copy the file again"

struct content {
    const char *bytes;
    size_t length;
    const char *message; /* what follows the path */
};

#define CONTENT(bytes, message)                                                                                        \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, message                                                                              \
    }

static const struct content FOREIGN[] = {
    CONTENT("\x1f\x8b\x08\0\n", NO_RECORDS "compressed with gzip; unpack it first, with gunzip"),
    CONTENT("\xff\xfe{\0\"\0\n\0", NO_RECORDS "text in UTF-16; save it as UTF-8, with iconv -f UTF-16 -t UTF-8"),
    CONTENT("{\0\"\0t\0\n\0", NO_RECORDS "text in UTF-16; save it as UTF-8, with iconv -f UTF-16 -t UTF-8"),
    CONTENT("\x89PNG\r\n\x1a\n", NO_RECORDS "a PNG picture" NAME_REMEDY),
    CONTENT("\1\2\0\3", NO_RECORDS "binary data" NAME_REMEDY),
    CONTENT("<!doctype html>\n<html>", NO_RECORDS "an HTML page" NAME_REMEDY),
    CONTENT("<?xml version=\"1.0\"?>\n", NO_RECORDS "XML, as JUnit reports and SVG pictures are" NAME_REMEDY),
    CONTENT("# a suite\n\nversion: 1\nname: a\n", NO_RECORDS "YAML, as a suite is" NAME_REMEDY),
    CONTENT("cases:\n", NO_RECORDS "YAML, as a suite is" NAME_REMEDY),
    CONTENT("# quick on host\n\n## Cases\n", NO_RECORDS "text, as a report in Markdown is" NAME_REMEDY),
    CONTENT("id,model,mode\r\na,b,c\r\n", NO_RECORDS "CSV" NAME_REMEDY),
    CONTENT("{\n  \"runs\": []\n}\n", NO_RECORDS SEVERAL_LINES),
    CONTENT("\xef\xbb\xbf{\"runs\": [\n1]}\n", NO_RECORDS SEVERAL_LINES),
    CONTENT("Predicted against measured\nmore of it\n", ":1:1: this is no file of records" NAME_REMEDY),
    CONTENT("Predicted", ":1:1: this is no file of records" NAME_REMEDY),
};

static const struct content CUT[] = {
    CONTENT("{\"type\": \"run\", \"schema\": {\"na",
            ":1:30: the line is cut short and nothing follows it: its run was killed before its first case, or a copy "
            "broke off; copy the file again, or run the suite again into this folder"),
    CONTENT("{\"type\": \"run\", \"schema\": {\"na\n" CASE_LINE("a"), ":1:30: " FIRST_CUT),
    CONTENT("el\": \"m\"}}\n" CASE_LINE("a"), ":1:1: the beginning of the file is missing: copy the whole file"),
    CONTENT(CASE_LINE("a"),
            ":1:1: a line outside a run; a run begins with a line of type \"run\", which is not here: copy "
            "the whole file"),
    CONTENT(
        RUN_LINE "{\"type\": \"case\", \"id\n" CASE_LINE("a"),
        ":2:20: the line is cut short, and no run begins behind it, so that it is not what a killed run leaves: copy "
        "the file again, or remove the line"),
    CONTENT(RUN_LINE "{\"type\": \"case\", \"id\"; 1}\n" CASE_LINE("a"),
            ":2:22: ':' expected near ';'; correct the JSON there"),
};

static void content_write(const char *path, const struct content *content)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content->bytes, 1, content->length, file), content->length);
    assert_int_equal(fclose(file), 0);
}

static void refusals_check(const struct content *rows, size_t count)
{
    char path[] = "/tmp/assay-foreign-XXXXXX", message[512];
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t i = 0; i < count; i++) {
        struct record_file file;
        struct status error;
        content_write(path, &rows[i]);
        assert_int_equal(record_file_read(path, &file, &error), STATUS_INVALID);
        snprintf(message, sizeof message, "%s%s", path, rows[i].message);
        assert_string_equal(STATUS_SAID(&error), message);
    }
    unlink(path);
}

static void other_files_are_told_as_what_they_are(void **state)
{
    (void)state;
    refusals_check(FOREIGN, sizeof FOREIGN / sizeof FOREIGN[0]);
}

static void what_is_cut_is_told_with_its_true_cause(void **state)
{
    (void)state;
    refusals_check(CUT, sizeof CUT / sizeof CUT[0]);
}

/* Reads content, which is good but for what its notes say. */
static struct record_file good_read(const struct content *content, const char *notes)
{
    char path[] = "/tmp/assay-foreign-XXXXXX", expected[512] = "";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct record_file file = {0};
    content_write(path, content);
    assert_int_equal(record_file_read(path, &file, NULL), STATUS_OK);
    unlink(path);
    if (notes[0] != '\0') {
        snprintf(expected, sizeof expected, "%s%s\n", path, notes);
    }
    assert_string_equal(text_string(&file.notes), expected);
    return file;
}

/* Of either file, as they are when two of an editor's are joined. */
static void byte_order_marks_are_passed_over(void **state)
{
    (void)state;
    static const struct content content =
        CONTENT("\xef\xbb\xbf" RUN_LINE CASE_LINE("a") END_LINE "\xef\xbb\xbf" RUN_LINE CASE_LINE("b"), NULL);
    struct record_file file = good_read(&content, "");
    assert_int_equal(file.run_count, 2);
    assert_int_equal(file.runs[1].case_count, 1);
    record_file_release(&file);
}

/* cat of a file that does not end with a newline, whole or cut, and of another. */
static void joined_files_are_read_as_two(void **state)
{
    (void)state;
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%.*s%s%s", RUN_LINE, (int)strlen(CASE_LINE("a")) - 1, CASE_LINE("a"), RUN_LINE,
             CASE_LINE("b"));
    const struct content joined = {whole, strlen(whole), NULL};
    struct record_file file = good_read(&joined, "");
    assert_int_equal(file.run_count, 2);
    assert_int_equal(file.runs[0].case_count, 1);
    assert_int_equal(file.runs[1].case_count, 1);
    assert_int_equal(file.damaged_line_count, 0);
    record_file_release(&file);
    static const struct content cut =
        CONTENT(RUN_LINE CASE_LINE("a") "{\"type\": \"case\", \"id\": \"{" RUN_LINE CASE_LINE("b"), NULL);
    static const char note[] = ":3: cut short, probably by a killed run; this line is left out";
    file = good_read(&cut, note);
    assert_int_equal(file.run_count, 2);
    assert_int_equal(file.runs[0].case_count, 1);
    assert_string_equal(json_string_or(json_get(file.runs[1].cases[0], "id"), ""), "b");
    assert_int_equal(file.damaged_line_count, 1);
    record_file_release(&file);
}

/* The second line once more, from where it stands in the file. */
static void a_line_behind_a_joint_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/assay-foreign-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    static const struct content content = CONTENT("{\"type\": \"ru" RUN_LINE CASE_LINE("b"), NULL);
    content_write(path, &content);
    struct record_stream *stream = NULL;
    struct record_line line, next;
    const char *again = NULL;
    assert_int_equal(record_stream_open(path, &stream, NULL), STATUS_OK);
    assert_int_equal(record_stream_next(stream, &line, NULL), STATUS_OK);
    assert_int_equal(line.type, RECORD_LINE_RUN);
    assert_int_equal(line.place.offset, strlen("{\"type\": \"ru"));
    assert_int_equal(record_stream_next(stream, &next, NULL), STATUS_OK);
    assert_int_equal(next.type, RECORD_LINE_CASE);
    assert_int_equal(record_stream_again(stream, &line.place, &again, NULL), STATUS_OK);
    assert_int_equal(strlen(again), strlen(RUN_LINE) - 1);
    assert_memory_equal(again, RUN_LINE, strlen(again));
    record_stream_close(stream);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_told_as_what_they_are),
        cmocka_unit_test(what_is_cut_is_told_with_its_true_cause),
        cmocka_unit_test(byte_order_marks_are_passed_over),
        cmocka_unit_test(joined_files_are_read_as_two),
        cmocka_unit_test(a_line_behind_a_joint_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
