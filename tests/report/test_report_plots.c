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
#include <unistd.h>

#include "harness/report/plot_data.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"

struct place {
    char *folder;
    char records[128], plots[128];
    struct report *report;
    struct plot_set set;
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
    plot_set_release(&place->set);
    text_release(&place->notes);
    folder_fixture_remove(place->folder);
    free(place);
    return 0;
}

static void scripts_draw(struct place *place, enum records_kind kind, const char *scripts)
{
    struct status error = {0};
    const struct plot_place target = {
        .script_directory = scripts, .with_png = true, .set = &place->set, .notes = &place->notes};
    records_fixture_write(place->records, kind);
    report_release(place->report);
    plot_set_release(&place->set);
    text_release(&place->notes);
    assert_int_equal(report_open(place->records, &place->report, &error), STATUS_OK);
    assert_int_equal(report_plot(place->report, &target, &error), STATUS_OK);
}

/* Draws, and saves where plots_draw always did. */
static void plots_draw(struct place *place, enum records_kind kind)
{
    scripts_draw(place, kind, "plots");
    assert_int_equal(plot_set_save(&place->set, place->plots, &place->notes, NULL), STATUS_OK);
}

/* A gnuplot of one's own in front of the real one; released by path_restore. */
static char *path_shadow(struct place *place, const char *body)
{
    char *path = strdup(getenv("PATH")), *shadowed = NULL;
    assert_true(asprintf(&shadowed, "%s:%s", place->folder, path) > 0);
    script_write(place->folder, "gnuplot", body);
    assert_int_equal(setenv("PATH", shadowed, 1), 0);
    free(shadowed);
    return path;
}

static void path_restore(char *path)
{
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

static void expect_notes(const struct place *place, const char *words)
{
    if (strstr(text_string(&place->notes), words) == NULL) {
        fail_msg("'%s' is not in: %s", words, text_string(&place->notes));
    }
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
}

static void a_page_holds_the_plots(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    struct text page = {0};
    plots_draw(place, RECORDS_HOSTILE);
    assert_string_equal(text_string(&place->notes), "");
    const struct report_style style = {.plots = &place->set};
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

/* What an earlier report has left stays, but no page shows it. */
static void files_of_an_earlier_report_stay_and_are_not_shown(void **state)
{
    struct place *place = *state;
    struct text page = {0};
    command_needed("gnuplot");
    plots_draw(place, RECORDS_LARGE);
    long accuracy_bytes = file_bytes(place, "accuracy.svg"), second_bytes = file_bytes(place, "anatomy-2.png");
    plots_draw(place, RECORDS_EMPTY);
    expect_notes(place, "plot accuracy.svg: not drawn: no case has a prediction");
    expect_notes(place, "plot overhead.svg: not drawn: no case has mode infer");
    expect_notes(place, "/accuracy.tsv and ");
    expect_notes(place, " more files there are of an earlier report, not of this one; remove what nobody needs\n");
    assert_true(accuracy_bytes > 100 && second_bytes > 100);
    assert_int_equal(file_bytes(place, "accuracy.svg"), accuracy_bytes);
    assert_int_equal(file_bytes(place, "anatomy-2.png"), second_bytes);
    const struct report_style style = {.plots = &place->set};
    assert_int_equal(report_render(place->report, REPORT_HTML, &style, &page, NULL), STATUS_OK);
    assert_null(strstr(text_string(&page), "<svg"));
    text_release(&page);
}

static void unknown_figures_do_not_stop_a_plot(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    plots_draw(place, RECORDS_NULLS);
    assert_null(strstr(text_string(&place->notes), "gnuplot"));
}

static void without_gnuplot_the_data_are_written_and_the_pictures_stay(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    plots_draw(place, RECORDS_SMALL);
    long accuracy_bytes = file_bytes(place, "accuracy.svg"), data_bytes = file_bytes(place, "accuracy.tsv");
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", place->folder, 1), 0);
    plots_draw(place, RECORDS_LARGE);
    path_restore(path);
    expect_notes(place, "plots: not drawn: gnuplot is not installed; install it");
    assert_null(strstr(strstr(text_string(&place->notes), "is not installed") + 1, "is not installed")); /* said once */
    expect_notes(place, "of an earlier report");
    assert_true(accuracy_bytes > 100);
    assert_int_equal(file_bytes(place, "accuracy.svg"), accuracy_bytes);
    assert_true(file_bytes(place, "accuracy.tsv") > data_bytes);
    assert_null(plot_set_svg(&place->set, "accuracy"));
}

/* On a full disk gnuplot ends with 0 and leaves the beginning of an image: of a length that is no multiple of anything. */
static void half_an_image_is_none(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    plots_draw(place, RECORDS_SMALL);
    long svg_bytes = file_bytes(place, "accuracy.svg"), png_bytes = file_bytes(place, "accuracy.png");
    char *path = path_shadow(place, "real=$(PATH=${PATH#*:} command -v gnuplot)\n\"$real\" \"$@\" || exit 1\n"
                                    "truncate -s 1001 \"$5\"");
    plots_draw(place, RECORDS_LARGE);
    path_restore(path);
    expect_notes(place, "plot accuracy.svg: not drawn: gnuplot left the image unfinished, at 1001 bytes\n");
    assert_null(plot_set_svg(&place->set, "accuracy"));
    path = path_shadow(place, "real=$(PATH=${PATH#*:} command -v gnuplot)\n\"$real\" \"$@\" || exit 1\n"
                              "[ \"$6\" = svg ] || truncate -s 1001 \"$5\"");
    plots_draw(place, RECORDS_SMALL);
    path_restore(path);
    expect_notes(place, "plot accuracy.png: not drawn: gnuplot left the image unfinished, at 1001 bytes\n");
    assert_int_equal(file_bytes(place, "accuracy.svg"), svg_bytes);
    assert_int_equal(file_bytes(place, "accuracy.png"), png_bytes);
}

/* Variables that gnuplot obeys: a window system that is not there, a log file, options for libraries. */
static void the_environment_of_gnuplot_is_not_the_users(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    assert_int_equal(setenv("GNUTERM", "qt", 1), 0);
    assert_int_equal(setenv("FIT_LOG", "/nonexistent/fit.log", 1), 0);
    assert_int_equal(setenv("GNUPLOT_LIB", "/nonexistent", 1), 0);
    plots_draw(place, RECORDS_SMALL);
    assert_null(strstr(text_string(&place->notes), "gnuplot"));
    assert_true(file_bytes(place, "accuracy.svg") > 100);
    char *path = path_shadow(place, "env | grep -c '^GNUTERM=dumb$\\|^FIT_\\|^GNUPLOT_\\|^GDFONTPATH='; exit 1");
    plots_draw(place, RECORDS_SMALL);
    path_restore(path);
    expect_notes(place, "plot accuracy.svg: not drawn: gnuplot failed: 1\n"); /* the one that the program itself sets */
    unsetenv("GNUTERM");
    unsetenv("FIT_LOG");
    unsetenv("GNUPLOT_LIB");
}

/* A folder that somebody sent: names of before that a picture went to, and the name of a picture itself. */
static void links_in_the_folder_lead_nowhere(void **state)
{
    struct place *place = *state;
    char link[256], precious[160];
    struct status error = {0};
    command_needed("gnuplot");
    plots_draw(place, RECORDS_SMALL);
    snprintf(precious, sizeof precious, "%s/precious", place->folder);
    snprintf(link, sizeof link, "%s/accuracy.svg.part", place->plots);
    script_write(place->folder, "precious", "kept");
    assert_int_equal(symlink(precious, link), 0);
    plots_draw(place, RECORDS_SMALL);
    assert_int_equal(file_bytes(place, "../precious"), 15);
    snprintf(link, sizeof link, "%s/accuracy.svg", place->plots);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(precious, link), 0);
    assert_int_equal(plot_set_save(&place->set, place->plots, &place->notes, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/accuracy.svg: is a symbolic link, and this file is not written through one"));
    assert_int_equal(file_bytes(place, "../precious"), 15);
}

static void without_scripts_the_data_remain(void **state)
{
    struct place *place = *state;
    scripts_draw(place, RECORDS_SMALL, "/nonexistent");
    assert_int_equal(plot_set_save(&place->set, place->plots, &place->notes, NULL), STATUS_OK);
    expect_notes(place, "/nonexistent/accuracy.gp: cannot be opened");
    assert_true(file_bytes(place, "accuracy.tsv") > 100);
}

static void a_folder_that_cannot_be_made_is_an_error(void **state)
{
    struct place *place = *state;
    struct status error = {0};
    scripts_draw(place, RECORDS_SMALL, "/nonexistent");
    assert_int_equal(plot_set_save(&place->set, "/dev/null/plots", &place->notes, &error), STATUS_IO);
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
        cmocka_unit_test_setup_teardown(files_of_an_earlier_report_stay_and_are_not_shown, place_make, place_remove),
        cmocka_unit_test_setup_teardown(unknown_figures_do_not_stop_a_plot, place_make, place_remove),
        cmocka_unit_test_setup_teardown(without_gnuplot_the_data_are_written_and_the_pictures_stay, place_make,
                                        place_remove),
        cmocka_unit_test_setup_teardown(half_an_image_is_none, place_make, place_remove),
        cmocka_unit_test_setup_teardown(the_environment_of_gnuplot_is_not_the_users, place_make, place_remove),
        cmocka_unit_test_setup_teardown(links_in_the_folder_lead_nowhere, place_make, place_remove),
        cmocka_unit_test_setup_teardown(without_scripts_the_data_remain, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_is_an_error, place_make, place_remove),
        cmocka_unit_test_setup_teardown(data_are_the_figures_of_the_records, place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
