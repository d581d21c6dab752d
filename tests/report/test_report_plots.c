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
        bool is_placed = kind >= PLOT_PLACES && kind <= PLOT_SEARCHES; /* test_side_plots.c draws these */
        for (size_t index = 0; index < 4 && !is_placed; index++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s.%s", plot_maker_of((enum plot_kind)kind)->name,
                     kind == PLOT_OVERHEAD ? "-bert-base-cased" : "", endings[index]);
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
    assert_null(strstr(text_string(&place->notes), "gnuplot"));
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
    expect_notes(place, "plot overhead.svg: not drawn: no case has a second length");
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

/* On a full disk gnuplot ends with 0 and leaves the beginning of an image: of a length that is no multiple of
 * anything. */
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

static struct plot_page page_made(struct place *place, enum plot_kind kind, const char *timeline, int number)
{
    struct plot_page page;
    struct plot_pages pages;
    if (place->report == NULL) {
        struct status error = {0};
        if (report_open(place->records, &place->report, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
    }
    assert_true(plot_pages_open(place->report, kind, timeline, &pages));
    plot_page_make(&pages, number, &page);
    plot_pages_close(&pages);
    return page;
}

static void page_holds(const struct plot_page *page, const char *part)
{
    if (strstr(text_string(&page->data), part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text_string(&page->data));
    }
}

/* The first row of the anatomy of one load: 433,241,088 bytes of weights, 8,192 of buffers, 524,288 of remainder; the
 * prediction is the same, so there is one bar. 438,304,768 = 433,241,088 + 8,192 + 524,288 + 4,531,200. */
static void data_are_the_figures_of_the_records(void **state)
{
    struct place *place = *state;
    records_fixture_write(place->records, RECORDS_SMALL);
    struct plot_page page = page_made(place, PLOT_ANATOMY, NULL, 0);
    assert_int_equal(page.mark_count, 2);
    page_holds(&page, "\nboth\t");
    page_holds(&page, "\t438304768\t433241088\t8192\t0\t0\t0\t0\t0\t0\t0\t0\t524288\t4531200\n");
    page_holds(&page, "\tbert-base-cased load float32\n");
    plot_page_release(&page);
    page = page_made(place, PLOT_ACCURACY, NULL, 0);
    assert_true(page.tolerance > 0.049 && page.tolerance < 0.051);
    page_holds(&page, "bert-base-cased load float32\taccelerate\t433773568\t433249280\t13983232\t9\n");
    plot_page_release(&page);
    page = page_made(place, PLOT_OVERHEAD, NULL, 0);
    assert_int_equal(page.mark_count, 0);
    plot_page_release(&page);
}

/* accelerate is vermillion (0xd55e00 is 13983232) and a triangle (9), whichever estimators stand before it in the
 * records. */
static void an_estimator_looks_the_same_in_every_figure(void **state)
{
    struct place *place = *state;
    records_fixture_run(place->records, 1);
    records_fixture_estimates(place->records, "one", "ok", "1000",
                              "{\"zz-unknown\":{\"total_bytes\":500},\"hf-mem\":{\"total_bytes\":900},"
                              "\"accelerate\":{\"total_bytes\":800},\"replay\":{\"allocated_bytes_peak\":1000}}",
                              "[]");
    struct plot_page page = page_made(place, PLOT_ACCURACY, NULL, 0);
    page_holds(&page, "\taccelerate\t1000\t800\t13983232\t9\n");
    page_holds(&page,
               "replay\t1\t29362\t7\naccelerate\t1\t13983232\t9\nhf-mem\t1\t4473924\t8\nzz-unknown\t1\t8947848\t1\n");
    plot_page_release(&page);
}

/* The verdict on the process failed by a quarter; what is drawn, and what stands in the first column, is the allocated
 * peak. */
static void replay_is_drawn_by_its_allocated_peak(void **state)
{
    struct place *place = *state;
    struct text text = {0};
    records_fixture_run(place->records, 1);
    records_fixture_estimates(
        place->records, "one", "fail", "1000", "{\"replay\":{\"allocated_bytes_peak\":1000}}",
        "[{\"estimator\":\"replay\",\"quantity\":\"process_bytes\",\"predicted\":1500,\"measured\":2000,"
        "\"signed_error_bytes\":-500,\"signed_error\":-0.25,\"tolerance\":{\"bytes\":0},\"pass\":false,\"note\":null}"
        "]");
    struct plot_page page = page_made(place, PLOT_ACCURACY, NULL, 0);
    page_holds(&page, "\treplay\t1000\t1000\t");
    assert_null(strstr(text_string(&page.data), "\t1500\t"));
    plot_page_release(&page);
    assert_int_equal(report_render(place->report, REPORT_SUMMARY, NULL, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&text), "+0.00 %"));
    assert_null(strstr(text_string(&text), "-25.00 %  one"));
    text_release(&text);
}

/* More estimators than symbols: the caption names those that have none. */
static void what_is_not_drawn_is_named(void **state)
{
    struct place *place = *state;
    records_fixture_run(place->records, 1);
    records_fixture_estimates(place->records, "one", "ok", "1000",
                              "{\"replay\":{\"allocated_bytes_peak\":1000},\"accelerate\":{\"total_bytes\":1},"
                              "\"anatomy\":{\"total_bytes\":1},\"eleutherai\":{\"total_bytes\":1},"
                              "\"weights-1.2\":{\"total_bytes\":1},\"megatron\":{\"total_bytes\":1},"
                              "\"llm.c\":{\"total_bytes\":1},\"can-it-run\":{\"total_bytes\":1},"
                              "\"hf-mem\":{\"total_bytes\":1},\"stored\":{\"total_bytes\":1}}",
                              "[]");
    struct plot_page page = page_made(place, PLOT_ACCURACY, NULL, 0);
    plot_caption_close(&page, "host; suite one");
    assert_string_equal(text_string(&page.caption),
                        "Not drawn, because they have the fewest points: hf-mem, stored.\nhost; suite one\n");
    assert_int_equal(page.caption_lines, 2);
    plot_page_release(&page);
}

/* Every figure says what it was made on, by which suite, when, by which program. */
static void a_caption_says_where_the_figures_are_from(void **state)
{
    struct place *place = *state;
    command_needed("gnuplot");
    plots_draw(place, RECORDS_LARGE);
    char path[256];
    struct text image = {0};
    snprintf(path, sizeof path, "%s/anatomy.svg", place->plots);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char bytes[4096];
    size_t count;
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0) {
        text_append_bytes(&image, bytes, count);
    }
    fclose(file);
    assert_non_null(strstr(text_string(&image), "suite "));
    assert_non_null(strstr(text_string(&image), "assay "));
    text_release(&image);
}

/* A panel for a case whose stages are not as predicted; for others only where they are asked for, by id or label. */
/* The reference: every stage is as predicted, so that a case is drawn if, and only if, it was asked for. */
static void a_timeline_is_drawn_where_it_differs_or_is_asked_for(void **state)
{
    struct place *place = *state;
    snprintf(place->records, sizeof place->records, "results/reference/host-intel-r-xeon-r-processor/records.jsonl");
    static const struct {
        const char *asked;
        int panel_count;
    } rows[] = {{NULL, 0}, {"nothing of that name", 0}, {"gpt2/infer/float32/b1/s128", 1}, {"*", 9}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plot_page page = page_made(place, PLOT_TIMELINE, rows[i].asked, 0);
        assert_int_equal(page.mark_count, rows[i].panel_count);
        plot_page_release(&page);
    }
}

/* A case of "tiny" with 1,000 bytes of weights. identity: what it says besides model, head and what is null. */
static void tiny_append(struct place *place, const char *id, const char *identity, int peak_bytes, const char *device)
{
    char line[4096];
    snprintf(line, sizeof line,
             "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"tiny\",\"precision\":\"float32\",%s,"
             "\"optimizer\":null,\"checkpointing\":null,\"accumulate\":null,\"head\":\"lm\"},\"status\":\"ok\","
             "\"reason\":null,\"stages\":{},\"allocated_bytes_peak\":%d,\"categories_at_peak\":{\"weights\":1000},"
             "\"estimates\":null,\"verdicts\":[],\"duration_s\":null,\"device\":{\"kind\":\"%s\",\"name\":\"x\","
             "\"spec\":\"x\",\"target\":\"host\",\"total_bytes\":null,\"driver\":null,\"runtime\":null,\"pci_bus_id\":"
             "null,\"uuid\":null},"
             "\"oom\":null,\"attempt\":1,\"context\":null,\"peak_stage\":null,\"causes\":null,"
             "\"saved_for_backward_bytes\":null,\"loss\":null,\"sequence_hash\":null}\n",
             id, identity, peak_bytes, device);
    records_fixture_append(place->records, line);
}

#define INFER(batch, seq, attention)                                                                                   \
    "\"mode\":\"infer\",\"batch\":" #batch ",\"seq\":" #seq ",\"attention\":\"" attention "\",\"logits\":\"all\""
#define GENERATE(seq)                                                                                                  \
    "\"mode\":\"generate\",\"batch\":1,\"seq\":" #seq ",\"new_tokens\":4,\"attention\":\"sdpa\",\"logits\":\"last\""

/* Twice as many tokens by batch and by length are two points of two lines, and eager attention has a panel of its
 * own. */
static void overhead_is_a_line_for_each_batch(void **state)
{
    struct place *place = *state;
    records_fixture_run(place->records, 7);
    tiny_append(place, "1", INFER(2, 8, "eager"), 1600, "host");
    tiny_append(place, "2", INFER(1, 16, "sdpa"), 1200, "host");
    tiny_append(place, "3", INFER(2, 16, "sdpa"), 1300, "host");
    tiny_append(place, "4", INFER(1, 8, "sdpa"), 1100, "host");
    tiny_append(place, "5", INFER(2, 8, "sdpa"), 1250, "host");
    tiny_append(place, "6", GENERATE(16), 1500, "meta");
    tiny_append(place, "7", GENERATE(8), 1400, "meta");
    struct plot_page page = page_made(place, PLOT_OVERHEAD, NULL, 0);
    assert_int_equal(page.mark_count, 2);
    page_holds(&page, "0\t8\t1100\t1000\t4456788\t7\ttiny infer float32 b1 s8\n"
                      "0\t16\t1200\t1000\t4456788\t7\ttiny infer float32 b1 s16\n\n"
                      "0\t8\t1250\t1000\t4277383\t5\ttiny infer float32 b2 s8\n"
                      "0\t16\t1300\t1000\t4277383\t5\ttiny infer float32 b2 s16\n\n"
                      "1\t8\t1600\t1000\t4277383\t5\ttiny infer float32 b2 s8 eager\n");
    page_holds(&page, "0\tfloat32\n1\tfloat32 eager\n");
    page_holds(&page, "batch 1\t4456788\t7\nbatch 2\t4277383\t5\n");
    assert_non_null(strstr(text_string(&page.caption), "Marks are measured, lines are not: "));
    plot_page_release(&page);
    page = page_made(place, PLOT_OVERHEAD, NULL, 1);
    assert_null(strstr(text_string(&page.caption), "are measured"));
    assert_non_null(strstr(text_string(&page.caption), "Lines are no predictions: "));
    page_holds(&page, "0\t8\t1400\t1000\t4456788\t6\t"); /* open: replayed */
    page_holds(&page, "0\tfloat32 +4 tokens (replayed for host)\n");
    page_holds(&page, "generation\tprompt (tokens)\ttiny\n");
    assert_non_null(strstr(text_string(&page.caption), "nothing was measured"));
    plot_page_release(&page);
    page = page_made(place, PLOT_OVERHEAD, NULL, 2);
    assert_int_equal(page.mark_count, 0);
    plot_page_release(&page);
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
        cmocka_unit_test_setup_teardown(an_estimator_looks_the_same_in_every_figure, place_make, place_remove),
        cmocka_unit_test_setup_teardown(replay_is_drawn_by_its_allocated_peak, place_make, place_remove),
        cmocka_unit_test_setup_teardown(what_is_not_drawn_is_named, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_caption_says_where_the_figures_are_from, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_timeline_is_drawn_where_it_differs_or_is_asked_for, place_make, place_remove),
        cmocka_unit_test_setup_teardown(overhead_is_a_line_for_each_batch, place_make, place_remove),
        cmocka_unit_test_setup_teardown(data_are_the_figures_of_the_records, place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
