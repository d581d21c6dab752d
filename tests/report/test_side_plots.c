/* Plots of places, transfers and searches: which figures are in them, and that the scripts of plots/ draw them. Needs
 * gnuplot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/plot_data.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

#define RECORDS "tests/report/placed.jsonl"

static struct report *report_of(const char *path)
{
    struct report *report = NULL;
    struct status error = {0};
    if (report_open(path, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return report;
}

static struct plot_page page_made(const struct report *report, enum plot_kind kind, int number)
{
    struct plot_pages pages;
    struct plot_page page;
    assert_true(plot_pages_open(report, kind, NULL, &pages));
    plot_page_make(&pages, number, &page);
    plot_pages_close(&pages);
    return page;
}

static void expect(const struct plot_page *page, const char *part)
{
    if (strstr(text_string(&page->data), part) == NULL) {
        fail_msg("no '%s' in:\n%s", part, text_string(&page->data));
    }
}

static void pages_have_the_figures(void **state)
{
    (void)state;
    struct report *report = report_of(RECORDS);
    struct plot_page places = page_made(report, PLOT_PLACES, 0);
    struct plot_page transfers = page_made(report, PLOT_TRANSFERS, 0);
    struct plot_page searches = page_made(report, PLOT_SEARCHES, 0);
    assert_int_equal(places.mark_count, 3);
    expect(&places, "disk=1GB\t1\tforward\t3.50\t206045184\t205520896\t250000000\t\n");
    expect(&places, "1=300MB\t1\tforward\t2.50\tNaN\tNaN\t300000000\toom\n");
    assert_int_equal(transfers.mark_count, 4); /* of one nothing plain is known */
    expect(&transfers, "cpu to 1\t1.95\t0.8148\t3.26 GiB/s of 4.00 GiB/s\n");
    assert_int_equal(searches.mark_count, 4);
    expect(&searches, "halve\t1.00\t0.6957\t32 of 46, 3 tries, 6.6 s, 13.5 % less\n");
    expect(&searches, "halve\t5.10\t0.0000\tnone, 3 tries, 2.5 s\n");
    plot_page_release(&places);
    plot_page_release(&transfers);
    plot_page_release(&searches);
    report_release(report);
}

static void scripts_draw_them(void **state)
{
    (void)state;
    static const char *const names[] = {"places", "transfers", "searches"};
    command_needed("gnuplot");
    struct report *report = report_of(RECORDS);
    struct plot_set set = {0};
    struct text notes = {0};
    const struct plot_place place = {
        .script_directory = "plots", .with_png = true, .is_quiet = true, .set = &set, .notes = &notes};
    assert_int_equal(report_plot(report, &place, NULL), STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        assert_non_null(plot_set_svg(&set, names[at]));
    }
    assert_non_null(strstr(text_string(plot_set_svg(&set, "places")), "-0.25 %"));
    assert_non_null(strstr(text_string(plot_set_svg(&set, "searches")), "bisect"));
    text_release(&notes);
    plot_set_release(&set);
    report_release(report);
}

/* Records without such cases have no such page, and nothing is said of it. */
static void others_have_none(void **state)
{
    (void)state;
    char *folder = folder_fixture_make(), path[128];
    struct plot_set set = {0};
    struct text notes = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_write(path, RECORDS_SMALL);
    struct report *report = report_of(path);
    const struct plot_place place = {.script_directory = "plots", .set = &set, .notes = &notes};
    for (enum plot_kind kind = PLOT_PLACES; kind <= PLOT_SEARCHES; kind++) {
        struct plot_page page = page_made(report, kind, 0);
        assert_int_equal(page.mark_count, 0);
        plot_page_release(&page);
    }
    assert_int_equal(report_plot(report, &place, NULL), STATUS_OK);
    assert_null(strstr(text_string(&notes), "places"));
    assert_null(strstr(text_string(&notes), "transfers"));
    assert_null(strstr(text_string(&notes), "searches"));
    text_release(&notes);
    plot_set_release(&set);
    report_release(report);
    folder_fixture_remove(folder);
}

/* The same cases so often that they need several pages: each is on one of them. */
static void many_cases_are_on_several_pages(void **state)
{
    (void)state;
    enum { TIMES = 20, KINDS = 3 };
    static const enum plot_kind kinds[KINDS] = {PLOT_PLACES, PLOT_TRANSFERS, PLOT_SEARCHES};
    static const int marks[KINDS] = {3 * TIMES, 4 * TIMES, 4 * TIMES};
    char *folder = folder_fixture_make(), path[128], *records = whole_file_read(RECORDS), *rest = records, *line;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *id = strstr(line, "\"id\": \"");
        bool is_case = strncmp(line, "{\"type\": \"case\"", 15) == 0;
        for (int time = 0; time < (is_case ? TIMES : strstr(line, "\"selected\"") == NULL ? 1 : 0); time++) {
            int head = is_case ? (int)(id + 7 - line) : 0;
            fprintf(file, "%.*s%s%.0d%s\n", head, line, is_case ? "n" : "", is_case ? time + 1 : 0, line + head);
        }
    }
    assert_int_equal(fclose(file), 0);
    struct report *report = report_of(path);
    for (int kind = 0; kind < KINDS; kind++) {
        int count = 0, number = 0, made;
        do {
            struct plot_page page = page_made(report, kinds[kind], number++);
            made = page.mark_count;
            count += made;
            assert_true(made <= 40);
            plot_page_release(&page);
        } while (made > 0);
        assert_int_equal(count, marks[kind]);
        assert_true(number > 2);
    }
    report_release(report);
    free(records);
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_the_figures),
        cmocka_unit_test(scripts_draw_them),
        cmocka_unit_test(others_have_none),
        cmocka_unit_test(many_cases_are_on_several_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
