/* The page in a real browser: figures stand below the heading of their column on a screen, and below their name on a
 * phone. Without Chromium nothing is tested here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/file_replace.h"
#include "harness/report/report.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Tells of every cell of every row: the row, the column, its right edge, whether it is seen, the name that stands above
 * it, and its words; and, of the page, the width of the screen and how far it reaches beyond. */
static const char probe[] =
    "<script>onload = () => { let said = `screen ${innerWidth} ${document.documentElement.scrollWidth - "
    "innerWidth}\\n`;"
    "document.querySelectorAll('.row').forEach((row, number) => [...row.children].forEach((cell, column) => {"
    "const box = cell.getBoundingClientRect(), above = getComputedStyle(cell, '::before').content;"
    "said += `cell ${number} ${column} ${Math.round(box.right)} ${box.width > 0 ? 1 : 0} "
    "${above.replace(/[^a-z0-9.-]/g, '') || '-'} ${cell.textContent.replace(/\\s+/g, '_')}\\n`; }));"
    "parent.postMessage(said, '*'); }</script></body>";

/* A browser has no window as narrow as a phone; a frame has any width. */
static const char frame[] = "<!DOCTYPE html><body><iframe src=page.html style='border:0;width:%dpx;height:900px'>"
                            "</iframe><script>onmessage = said => { document.body.textContent = said.data }</script>";

static void file_make(const struct scratch_scene *scene, const char *name, const struct text *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    assert_int_equal(file_replace(path, FILE_NAMED, text, NULL), STATUS_OK);
}

/* The page of records with scripts allowed, and one that tells what is to be seen. */
static void page_make(const struct scratch_scene *scene)
{
    static const char policy[] = "http-equiv=\"Content-Security-Policy\"";
    char path[128];
    struct text page = {0}, probed = {0};
    struct report *report = NULL;
    struct status error = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", scene->folder);
    records_fixture_run(path, 4);
    for (int number = 0; number < 4; number++) {
        char id[96];
        snprintf(id, sizeof id, "organisation/a-model-whose-name-is-rather-long-%d/load/float32", number);
        records_fixture_estimates(path, id, "ok", "1234567890",
                                  "{\"replay\":{\"allocated_bytes_peak\":1234567890},\"accelerate\":{\"total_bytes\":"
                                  "999999999},\"eleutherai\":{\"total_bytes\":2},\"accelerate-corrected\":"
                                  "{\"total_bytes\":3}}",
                                  "[]");
    }
    assert_int_equal(report_open(path, &report, &error), STATUS_OK);
    assert_int_equal(report_render(report, REPORT_HTML, NULL, &page, &error), STATUS_OK);
    report_release(report);
    const char *all = text_string(&page), *policy_at = strstr(all, policy), *end = strstr(all, "</body>");
    assert_true(policy_at != NULL && end != NULL);
    text_append_bytes(&probed, all, (size_t)(policy_at - all));
    text_append(&probed, "name=\"policy\"");
    text_append_bytes(&probed, policy_at + strlen(policy), (size_t)(end - policy_at) - strlen(policy));
    text_append(&probed, probe);
    file_make(scene, "page.html", &probed);
    text_release(&page);
    text_release(&probed);
}

/* What is seen at a width, as the probe tells it. */
static struct text seen_at(const struct scratch_scene *scene, int width)
{
    char profile[128], address[128];
    struct text outer = {0};
    command_needed("chromium");
    text_format(&outer, frame, width);
    file_make(scene, "frame.html", &outer);
    text_release(&outer);
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", scene->folder);
    snprintf(address, sizeof address, "file://%s/frame.html", scene->folder);
    const char *const words[] = {"chromium",
                                 "--headless",
                                 "--no-sandbox",
                                 "--disable-gpu",
                                 "--hide-scrollbars",
                                 "--window-size=1400,1000",
                                 "--virtual-time-budget=5000",
                                 profile,
                                 "--dump-dom",
                                 address,
                                 NULL};
    struct command_result result = command_run(words, NULL);
    struct text seen = {0};
    const char *begin = strstr(text_string(&result.output), "screen ");
    if (begin == NULL) {
        fail_msg("the browser ended with %d and said\n%.2000s\n%.2000s", result.exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    text_append(&seen, begin);
    command_result_release(&result);
    return seen;
}

enum { COLUMNS = 7 /* case, status, measured, and four estimators */, NAME_BYTES = 64 };

struct cell {
    int row, column, right, is_seen;
    char above[NAME_BYTES], words[NAME_BYTES];
};

/* The next cell that the probe told of; false: there is none. */
static bool cell_next(const char **at, struct cell *cell)
{
    *at = *at == NULL ? NULL : strstr(*at, "cell ");
    if (*at == NULL) {
        return false;
    }
    assert_int_equal(sscanf(*at, "cell %d %d %d %d %63s %63s", &cell->row, &cell->column, &cell->right, &cell->is_seen,
                            cell->above, cell->words),
                     6);
    *at += strlen("cell ");
    return true;
}

static void page_fits(const struct text *seen, int width)
{
    int screen = 0, beyond = 0;
    assert_int_equal(sscanf(text_string(seen), "screen %d %d", &screen, &beyond), 2);
    assert_int_equal(screen, width);
    assert_true(beyond <= 0);
}

static void figures_stand_below_the_heading_of_their_column(void **state)
{
    const struct scratch_scene *scene = *state;
    page_make(scene);
    static const int widths[] = {1280, 900};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct text seen = seen_at(scene, widths[i]);
        struct cell head[COLUMNS] = {0}, cell;
        int count = 0;
        bool is_head = false;
        page_fits(&seen, widths[i]);
        for (const char *at = text_string(&seen); cell_next(&at, &cell);) {
            is_head = cell.column == 0 ? strcmp(cell.words, "case") == 0 : is_head;
            assert_true(cell.column < COLUMNS);
            if (is_head) {
                head[cell.column] = cell;
            } else if (cell.column > 1) {
                assert_int_equal(cell.right, head[cell.column].right);
                assert_true(cell.is_seen);
                count++;
            }
        }
        assert_string_equal(head[4].words, "accelerate");
        assert_int_equal(count, 4 * (COLUMNS - 2));
        text_release(&seen);
    }
}

static void a_phone_shows_every_figure_with_its_name(void **state)
{
    const struct scratch_scene *scene = *state;
    static const char *const names[COLUMNS] = {
        NULL, NULL, "measured", "replay", "accelerate", "eleutherai", "accelerate-corrected"};
    int count = 0;
    page_make(scene);
    struct text seen = seen_at(scene, 390);
    struct cell cell;
    page_fits(&seen, 390);
    for (const char *at = text_string(&seen); cell_next(&at, &cell);) {
        if (cell.is_seen && cell.column > 1) {
            assert_string_equal(cell.above, names[cell.column]);
            assert_true(cell.right <= 390);
            count++;
        }
    }
    assert_int_equal(count, 4 * (COLUMNS - 2));
    text_release(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures_stand_below_the_heading_of_their_column, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_phone_shows_every_figure_with_its_name, scratch_scene_open,
                                        scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
