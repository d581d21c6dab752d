/* The register of pages: each page of it in every format, of records, of none and of hostile ones; what its options
 * refuse. A page that is added is held by these tests; they fail if it needs a value that is not among those here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/report/escape.h"
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"

enum role { PART, PAGE };

static const struct option {
    const struct page_kind *page;
    enum role role;
    const char *name, *value; /* value: what stands for it in the help; NULL: it has none */
} options[] = {
#define OPTION_ROW(page, role, option, kind, value, help) {&page##_page, role, #option, value},
    REPORT_OPTION_TABLE(OPTION_ROW)
#undef OPTION_ROW
};

/* One that is right, by what stands for it in the help. */
static const char *value_of(const struct option *option)
{
    static const char *const values[][2] = {
        {"NAME", "places"}, {"FACTOR", "1.2"}, {"PERCENT", "10%"}, {"GLOB", "*"}, {"NAMES", "replay"}};
    for (size_t at = 0; option->value != NULL && at < sizeof values / sizeof values[0]; at++) {
        if (strcmp(option->value, values[at][0]) == 0) {
            return values[at][1];
        }
    }
    if (option->value != NULL) {
        fail_msg("give a %s for --%s in this test", option->value, option->name);
    }
    return "true";
}

struct records {
    char *folder;
    char path[128];
};

static int records_make(void **state)
{
    struct records *records = calloc(1, sizeof *records);
    records->folder = folder_fixture_make();
    snprintf(records->path, sizeof records->path, "%s/records.jsonl", records->folder);
    *state = records;
    return 0;
}

static int records_remove(void **state)
{
    struct records *records = *state;
    folder_fixture_remove(records->folder);
    free(records);
    return 0;
}

/* The page that an option asks for; -1: that of every case. */
static enum status_code page_open(const struct records *records, int option, enum report_format format,
                                  struct report_page *page, struct status *error)
{
    const char *const paths[] = {records->path};
    struct report_request request = {.paths = paths, .path_count = 1, .format = format};
    if (option >= 0) {
        request.values[option] = value_of(&options[option]);
    }
    return report_page_open(&request, page, error);
}

static void text_check(enum report_format format, const struct text *text)
{
    const char *string = text_string(text);
    if (format == REPORT_JSON) {
        struct json *document = NULL;
        assert_int_equal(json_parse_text("page", string, text->length, &document, NULL), STATUS_OK);
        json_release(document);
    } else {
        assert_null(strchr(string, '\x1b'));
    }
    if (format == REPORT_HTML) {
        assert_memory_equal(string, "<!DOCTYPE html>", 15);
        assert_non_null(strstr(string, "<h1>"));
        assert_string_equal(string + text->length - 8, "</html>\n");
        assert_null(strstr(string, "<script"));
    }
    for (const char *line = string, *end; format == REPORT_TABLE && (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        struct text one = {0};
        text_append_bytes(&one, line, (size_t)(end - line));
        if (width_measure(text_string(&one)) > 60) {
            fail_msg("more than 60 columns: %s", text_string(&one));
        }
        text_release(&one);
    }
}

/* In a format that it has; else it says which it has. Returns whether it has it. */
static bool page_check(const struct records *records, int option, enum report_format format)
{
    struct report_page page = {0};
    struct text text = {0}, reason = {0};
    struct status error = {0};
    enum status_code code = page_open(records, option, format, &page, &error);
    if (code == STATUS_OK) {
        assert_int_equal(report_page_render(&page, format, &(struct report_style){.width = 60}, &text, NULL),
                         STATUS_OK);
        assert_true(text.length > 0);
        text_check(format, &text);
        (void)report_page_outcome(&page, &reason);
    } else {
        assert_int_equal(code, STATUS_INVALID);
        assert_non_null(strstr(error.text, "has no such format; use table, md, "));
    }
    report_page_release(&page);
    text_release(&text);
    text_release(&reason);
    return code == STATUS_OK;
}

static void every_page_is_there_in_its_formats(void **state)
{
    static const enum records_kind kinds[] = {RECORDS_LARGE, RECORDS_EMPTY, RECORDS_HOSTILE, RECORDS_NULLS};
    static const enum report_format must[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_JSON, REPORT_HTML, REPORT_LATEX};
    const struct records *records = *state;
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        records_fixture_write(records->path, kinds[kind]);
        for (int option = -1; option < REPORT_OPTION_COUNT; option++) {
            bool has[REPORT_FORMAT_COUNT];
            for (int format = 0; (option < 0 || options[option].role == PAGE) && format < REPORT_FORMAT_COUNT;
                 format++) {
                has[format] = page_check(records, option, (enum report_format)format);
            }
            for (size_t at = 0; (option < 0 || options[option].role == PAGE) && at < sizeof must / sizeof must[0];
                 at++) {
                assert_true(has[must[at]]);
            }
        }
    }
}

/* One at a time; several folders where the page says so. */
static void pages_are_asked_for_one_at_a_time(void **state)
{
    const struct records *records = *state;
    const char *const paths[] = {records->path, records->path};
    records_fixture_write(records->path, RECORDS_SMALL);
    for (int option = 0; option < REPORT_OPTION_COUNT; option++) {
        struct report_request request = {.paths = paths, .path_count = 2};
        struct report_page page = {0};
        struct status error = {0};
        if (options[option].role != PAGE) {
            continue;
        }
        request.values[option] = value_of(&options[option]);
        enum status_code code = report_page_open(&request, &page, &error);
        assert_int_equal(code, options[option].page->takes_several ? STATUS_OK : STATUS_INVALID);
        assert_true(code == STATUS_OK || strstr(error.text, "is one operand too many; only --") != NULL);
        report_page_release(&page);
        request.path_count = 1;
        for (int other = option + 1; other < REPORT_OPTION_COUNT; other++) {
            char wanted[128];
            if (options[other].role == PAGE) {
                request.values[other] = value_of(&options[other]);
                snprintf(wanted, sizeof wanted, "report: --%s and --%s are two pages", options[option].name,
                         options[other].name);
                assert_int_equal(report_page_open(&request, &page, &error), STATUS_INVALID);
                assert_non_null(strstr(error.text, wanted));
                request.values[other] = NULL;
            }
        }
    }
}

/* A part without its page is refused, and what would be right is said. */
static void parts_belong_to_their_pages(void **state)
{
    const struct records *records = *state;
    const char *const paths[] = {records->path};
    records_fixture_write(records->path, RECORDS_SMALL);
    for (int option = 0; option < REPORT_OPTION_COUNT; option++) {
        for (int asked = -1; asked < REPORT_OPTION_COUNT; asked++) {
            struct report_request request = {.paths = paths, .path_count = 1};
            struct report_page page = {0};
            struct status error = {0};
            if (options[option].role != PART || (asked >= 0 && options[asked].role != PAGE)) {
                continue;
            }
            const struct page_kind *owner = options[option].page, *asks = asked < 0 ? &cases_page : options[asked].page;
            request.values[option] = value_of(&options[option]);
            if (asked >= 0) {
                request.values[asked] = value_of(&options[asked]);
            }
            const bool goes = owner == asks || (owner == &cases_page && !asks->takes_several);
            assert_int_equal(report_page_open(&request, &page, &error), goes ? STATUS_OK : STATUS_INVALID);
            assert_true(goes || strstr(error.text, "belongs to") != NULL);
            report_page_release(&page);
        }
    }
}

static void the_help_has_every_option(void **state)
{
    (void)state;
    struct command_result help = command_named("report", (const char *[]){"--help", NULL});
    for (int option = 0; option < REPORT_OPTION_COUNT; option++) {
        char row[64];
        const struct option *one = &options[option];
        snprintf(row, sizeof row, "  --%s%s%s ", one->name, one->value != NULL ? " " : "",
                 one->value != NULL ? one->value : "");
        assert_non_null(strstr(text_string(&help.output), row));
        assert_string_equal(report_option_name((enum report_option)option), one->name);
    }
    command_result_release(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_page_is_there_in_its_formats, records_make, records_remove),
        cmocka_unit_test_setup_teardown(pages_are_asked_for_one_at_a_time, records_make, records_remove),
        cmocka_unit_test_setup_teardown(parts_belong_to_their_pages, records_make, records_remove),
        cmocka_unit_test(the_help_has_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
