/* What reports say of a run that was cut short and went on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/report/report.h"
#include "tests/run/run_scene.h"
#include "tests/support/whole_file.h"

/* Cuts the file of records behind its first lines. */
static void records_cut(const struct scene *scene, int line_count)
{
    char *text = whole_file_read(scene->file), *end = text;
    for (int i = 0; i < line_count; i++) {
        end = strchr(end, '\n');
        assert_non_null(end);
        end++;
    }
    assert_int_equal(truncate(scene->file, end - text), 0);
    free(text);
}

/* Whoever reads a report sees that the run was cut short, how often and where it went on last; names are escaped. */
static void reports_say_that_a_run_went_on(void **state)
{
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_HTML, REPORT_LATEX,
                                                 REPORT_JUNIT};
    struct scene *scene = *state;
    struct report *report = NULL;
    const struct report_style style = {.width = 200};
    suite_set(scene, "batch: [1, 16, 17]");
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    for (int number = 1; number <= 2; number++) {
        records_cut(scene, 3 + number - 1);
        options.resume = true;
        assert_int_equal(run_with(scene, &options), RUN_PASS);
    }
    assert_int_equal(report_open(scene->folder, &report, &scene->error), STATUS_OK);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct text text = {0};
        assert_int_equal(report_render(report, formats[i], &style, &text, &scene->error), STATUS_OK);
        assert_non_null(strstr(text_string(&text), "; a run was cut short, and went on 2 times, last at 20"));
        text_release(&text);
    }
    struct text text = {0};
    struct json *document = NULL;
    assert_int_equal(report_render(report, REPORT_JSON, &style, &text, &scene->error), STATUS_OK);
    assert_int_equal(json_parse_text("report", text_string(&text), text.length, &document, NULL), STATUS_OK);
    const struct json *list = json_get(document, "resumptions");
    assert_int_equal(json_count(list), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(text_at(json_at(list, i), "run_id"), scene->result.run_id);
        assert_int_equal(integer_at(json_at(list, i), "number"), (int64_t)i + 1);
        assert_int_equal(strncmp(text_at(json_at(list, i), "started"), "20", 2), 0);
    }
    json_release(document);
    text_release(&text);
    report_release(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_say_that_a_run_went_on, scene_open, scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
