/* Reads the figures that stand, and asks the program for them again. It knows nothing of sources and cases: which
 * member of a plan a figure is, stands in its line. */
#include "tests/published/published_figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/command_run.h"
#include "tests/support/sanitized.h"
#include "tests/support/whole_file.h"

enum { PATH_BYTES = 256 };

enum published_change published_change(int64_t measured, int64_t stood, int64_t now)
{
    int64_t was_off = llabs(stood - measured), is_off = llabs(now - measured);
    if (now == stood) {
        return PUBLISHED_SAME;
    }
    return is_off < was_off || (is_off == was_off && now > stood) ? PUBLISHED_BETTER : PUBLISHED_WORSE;
}

struct json *published_lines(const char *path)
{
    char *text = whole_file_read(path), *rest = NULL;
    struct json *lines = json_array_new();
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        struct json *document = NULL;
        struct status error = {0};
        if (json_parse_text(path, line, strlen(line), &document, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        assert_true(json_append(lines, document));
    }
    free(text);
    return lines;
}

/* A plan as an object of its cases: id -> case. */
static struct json *plan_read(const char *suite, const char *gpu)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "peers/published/suites/%s.yaml", suite);
    const char *filter = IS_SANITIZED ? "*/train/*" : "*";
    struct command_result result =
        command_named("plan", (const char *[]){path, "--filter", filter, "--on", gpu, "--json", NULL});
    struct json *document = command_document(&result), *cases = json_get(document, "cases"), *plan = json_object_new();
    for (size_t i = 0; i < json_count(cases); i++) {
        struct json *one = json_at(cases, i);
        assert_true(json_set(plan, json_string_or(json_get(one, "id"), ""), json_share(one)));
    }
    json_release(document);
    command_result_release(&result);
    return plan;
}

bool published_is_asked(const struct json *figure)
{
    bool is_predicted = json_integer_or(json_get(figure, "predicted_bytes"), 0) != 0;
    return is_predicted && (!IS_SANITIZED || strcmp(json_string_or(json_get(figure, "mode"), ""), "train") == 0);
}

struct json *published_plans(const struct json *figures)
{
    struct json *plans = json_object_new();
    for (size_t i = 0; i < json_count(figures); i++) {
        const struct json *figure = json_at(figures, i);
        const char *suite = json_string_or(json_get(figure, "suite"), NULL);
        if (published_is_asked(figure) && suite != NULL && json_get(plans, suite) == NULL) {
            assert_true(json_set(plans, suite, plan_read(suite, json_string_or(json_get(figure, "gpu"), ""))));
        }
    }
    return plans;
}

/* The member of a case at a path like "estimates/replay/allocated_bytes_peak"; -1: there is none. */
static int64_t member_read(const struct json *value, const char *path)
{
    char key[PATH_BYTES];
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = json_get(value, key);
        path += length + (path[length] == '/');
    }
    return json_integer_or(value, -1);
}

int64_t published_prediction(const struct json *plans, const struct json *figure)
{
    const char *suite = json_string_or(json_get(figure, "suite"), ""), *id = json_string_or(json_get(figure, "id"), "");
    const struct json *planned = json_get(json_get(plans, suite), json_string_or(json_get(figure, "case"), ""));
    const struct json *paths = json_get(figure, "predicted_from");
    int64_t bytes = 0;
    if (planned == NULL || json_count(paths) == 0) {
        fail_msg("%s: suites/%s.yaml has no such case; run peers/published/predict.py --write", id, suite);
    }
    for (size_t i = 0; i < json_count(paths); i++) {
        int64_t part = member_read(planned, json_string_or(json_at(paths, i), ""));
        if (part < 0) {
            fail_msg("%s: the plan has no %s", id, json_string_or(json_at(paths, i), ""));
        }
        bytes += part;
    }
    return bytes;
}
