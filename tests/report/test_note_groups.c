/* Note groups: what is said of several cases is said once, and no case is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/note_groups.h"
#include "harness/report/page_format.h"
#include "harness/report/report.h"
#include "tests/report/records_fixture.h"

static void notes_write(const struct note_groups *notes, struct text *text)
{
    struct page page = {0};
    note_groups_describe(notes, "Times", MEDIUM_DOCUMENT, &page);
    page_markdown_write(&page, NULL, text);
    assert_false(page.failed);
    page_release(&page);
}

static void equal_notes_share_a_line(void **state)
{
    (void)state;
    struct note_groups notes = {0};
    struct text text = {0};
    note_groups_add(&notes, "one", "late");
    note_groups_add(&notes, "two", "early");
    note_groups_add(&notes, "three", "");
    note_groups_add(&notes, "four", "late");
    note_groups_add(&notes, "five|six", "late");
    notes_write(&notes, &text);
    assert_string_equal(text_string(&text), "## Times\n\n- one, four and five\\|six: late\n- two: early\n");
    text_release(&text);
    note_groups_release(&notes);
    notes_write(&notes, &text);
    assert_string_equal(text_string(&text), "");
    text_release(&text);
}

static void many_cases_are_counted(void **state)
{
    (void)state;
    struct note_groups notes = {0};
    struct text text = {0};
    for (int at = 1; at <= 178; at++) {
        char title[16];
        snprintf(title, sizeof title, "c%d", at);
        note_groups_add(&notes, title, "late");
    }
    notes_write(&notes, &text);
    assert_string_equal(text_string(&text), "## Times\n\n"
                                            "- c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12 and 166 more: late\n");
    text_release(&text);
    note_groups_release(&notes);
}

/* No section of a page says the same on two lines. */
static void a_page_does_not_repeat_itself(void **state)
{
    (void)state;
    char *folder = folder_fixture_make(), path[128];
    struct report *report = NULL;
    struct text text = {0};
    int line_count = 0;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_write(path, RECORDS_LARGE);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, REPORT_MARKDOWN, &(struct report_style){0}, &text, NULL), STATUS_OK);
    const char *section = strstr(text_string(&text), "\n## From requested to reserved");
    assert_non_null(section);
    const char *end = strstr(section + 1, "\n## ");
    end = end != NULL ? end : section + strlen(section);
    for (const char *line = section; (line = strstr(line, "\n- ")) != NULL && line < end; line++) {
        const char *words = strstr(line, ": ");
        size_t length = strcspn(words, "\n");
        for (const char *other = line + 1; (other = strstr(other, "\n- ")) != NULL && other < end; other++) {
            const char *others = strstr(other, ": ");
            assert_false(strcspn(others, "\n") == length && strncmp(words, others, length) == 0);
        }
        line_count++;
    }
    assert_true(line_count > 0);
    text_release(&text);
    report_release(report);
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_notes_share_a_line),
        cmocka_unit_test(many_cases_are_counted),
        cmocka_unit_test(a_page_does_not_repeat_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
