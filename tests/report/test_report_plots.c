/* Plots: drawn with the scripts in plots/; and what is said where they cannot be. Needs gnuplot, except where its
 * absence is the case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/report/plot_data.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"

struct place {
    char *folder;
    char records[128], plots[128];
    struct report *report;
    struct text notes;
};

static int place_make(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->folder = folder_fixture_make();
    snprintf(place->records, sizeof place->records, "%s/records.jsonl", place->folder);
    snprintf(place->plots, sizeof place->plots, "%s/plots", place->folder);
    *state = place;
    return 0;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    report_release(place->report);
    text_release(&place->notes);
    folder_fixture_remove(place->folder);
    free(place);
    return 0;
}

static void plots_draw(struct place *place, enum records_kind kind)
{
    struct status error = {0};
    records_fixture_write(place->records, kind);
    report_release(place->report);
    assert_int_equal(report_open(place->records, &place->report, &error), STATUS_OK);
    assert_int_equal(report_plot(place->report, "plots", place->plots, &place->notes, &error), STATUS_OK);
}

/* -1: not there. */
static long file_bytes(const struct place *place, const char *name)
{
    char path[256];
    struct stat file;
    snprintf(path, sizeof path, "%s/%s", place->plots, name);
    return stat(path, &file) == 0 ? (long)file.st_size : -1;
}

static void every_plot_is_drawn(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    plots_draw(place, RECORDS_LARGE);
    assert_string_equal(text_string(&place->notes), "");
    for (int kind = 0; kind < PLOT_COUNT; kind++) {
        static const char *const endings[] = {"tsv", "gp", "svg", "png"};
        for (size_t index = 0; index < 4; index++) {
            char name[64];
            snprintf(name, sizeof name, "%s.%s", plot_name((enum plot_kind)kind), endings[index]);
            assert_true(file_bytes(place, name) > 100);
        }
    }
    assert_true(file_bytes(place, "anatomy-2.svg") > 100);
    assert_int_equal(file_bytes(place, "accuracy-2.svg"), -1);
    assert_int_equal(file_bytes(place, "accuracy.svg.part"), -1);
}

static void a_page_holds_the_plots(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    struct text page = {0};
    plots_draw(place, RECORDS_HOSTILE);
    assert_string_equal(text_string(&place->notes), "");
    const struct report_style style = {.plot_directory = place->plots};
    assert_int_equal(report_render(place->report, REPORT_HTML, &style, &page, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&page), "<svg"));
    assert_null(strcasestr(text_string(&page), "<script"));
    assert_null(strstr(text_string(&page), "<?xml"));
    const char *title = strstr(text_string(&page), "<title>"); /* the page's own, and none of a plot */
    assert_non_null(title);
    assert_null(strstr(title + 1, "<title>"));
    assert_null(strstr(text_string(&page), "http-equiv=\"refresh\""));
    text_release(&page);
}

static void without_data_there_is_no_picture(void **state)
{
    struct place *place = *state;
    plots_draw(place, RECORDS_LARGE);
    plots_draw(place, RECORDS_EMPTY); /* the pictures of before must not stay */
    assert_non_null(strstr(text_string(&place->notes), "accuracy.svg: not drawn: no case has a prediction"));
    assert_non_null(strstr(text_string(&place->notes), "overhead.svg: not drawn: no case has mode infer"));
    assert_int_equal(file_bytes(place, "accuracy.svg"), -1);
    assert_int_equal(file_bytes(place, "anatomy-2.png"), -1);
    assert_int_equal(file_bytes(place, "timeline.tsv"), -1);
}

static void unknown_figures_do_not_stop_a_plot(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    plots_draw(place, RECORDS_NULLS);
    assert_null(strstr(text_string(&place->notes), "gnuplot"));
}

static void without_gnuplot_the_data_remain(void **state)
{
    struct place *place = *state;
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", place->folder, 1), 0);
    plots_draw(place, RECORDS_LARGE);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    assert_non_null(strstr(text_string(&place->notes), "gnuplot is not installed; install it"));
    assert_true(file_bytes(place, "accuracy.tsv") > 100);
    assert_int_equal(file_bytes(place, "accuracy.svg"), -1);
}

static void without_scripts_the_data_remain(void **state)
{
    struct place *place = *state;
    records_fixture_write(place->records, RECORDS_SMALL);
    assert_int_equal(report_open(place->records, &place->report, NULL), STATUS_OK);
    assert_int_equal(report_plot(place->report, "/nonexistent", place->plots, &place->notes, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&place->notes), "/nonexistent/accuracy.gp: cannot be opened"));
    assert_true(file_bytes(place, "accuracy.tsv") > 100);
}

static void a_folder_that_cannot_be_made_is_an_error(void **state)
{
    struct place *place = *state;
    struct status error = {0};
    records_fixture_write(place->records, RECORDS_SMALL);
    assert_int_equal(report_open(place->records, &place->report, NULL), STATUS_OK);
    assert_int_equal(report_plot(place->report, "plots", "/dev/null/plots", &place->notes, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/dev/null/plots"));
}

/* The first row of the anatomy of one load: 433,241,088 bytes of weights, 8,192 of buffers, 524,288 of remainder. */
static void data_are_the_figures_of_the_records(void **state)
{
    struct place *place = *state;
    struct plot_page page = {0};
    records_fixture_write(place->records, RECORDS_SMALL);
    assert_int_equal(report_open(place->records, &place->report, NULL), STATUS_OK);
    plot_page_make(place->report, PLOT_ANATOMY, 0, &page);
    assert_int_equal(page.mark_count, 2);
    assert_non_null(strstr(text_string(&page.data),
                           "bert-base-cased load float32\tmeasured\t433241088\t8192\t0\t0\t0\t0\t0"
                           "\t0\t0\t0\t524288\t4531200\n"));
    text_release(&page.data);
    plot_page_make(place->report, PLOT_ACCURACY, 0, &page);
    assert_true(page.tolerance > 0.049 && page.tolerance < 0.051);
    assert_non_null(
        strstr(text_string(&page.data),
               "bert-base-cased load float32\tallocated_bytes_peak\t433773568\tNaN\t433249280\tNaN\tNaN\n"));
    text_release(&page.data);
    plot_page_make(place->report, PLOT_OVERHEAD, 0, &page);
    assert_int_equal(page.mark_count, 0);
    text_release(&page.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_plot_is_drawn, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_page_holds_the_plots, place_make, place_remove),
        cmocka_unit_test_setup_teardown(without_data_there_is_no_picture, place_make, place_remove),
        cmocka_unit_test_setup_teardown(unknown_figures_do_not_stop_a_plot, place_make, place_remove),
        cmocka_unit_test_setup_teardown(without_gnuplot_the_data_remain, place_make, place_remove),
        cmocka_unit_test_setup_teardown(without_scripts_the_data_remain, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_is_an_error, place_make, place_remove),
        cmocka_unit_test_setup_teardown(data_are_the_figures_of_the_records, place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
