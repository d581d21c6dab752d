/* What others measured: every prediction of peers/published/figures.jsonl is made again, by the program as it is, and
 * held against the one that stands. A figure that became worse fails; one that became better fails too, because
 * docs/PUBLISHED.md then says less than is true.
 *
 * The measurements themselves are not judged here: they are what their sources say (peers/published/rows). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/text.h"
#include "tests/published/published_figures.h"
#include "tests/support/whole_file.h"

enum { LISTED = 12, LINE_BYTES = 512 };

static const char figures_path[] = "peers/published/figures.jsonl";
static const char remedy[] = "run peers/published/predict.py --write and look at what changed in docs/PUBLISHED.md";

static double error_percent(int64_t predicted, int64_t measured)
{
    return 100.0 * ((double)predicted / (double)measured - 1.0);
}

static void a_change_is_judged_by_its_distance(void **state)
{
    (void)state;
    assert_int_equal(published_change(100, 90, 90), PUBLISHED_SAME);
    assert_int_equal(published_change(100, 90, 95), PUBLISHED_BETTER);
    assert_int_equal(published_change(100, 90, 89), PUBLISHED_WORSE);
    assert_int_equal(published_change(100, 90, 111), PUBLISHED_WORSE);
    assert_int_equal(published_change(100, 100, 101), PUBLISHED_WORSE);
    assert_int_equal(published_change(100, 110, 90), PUBLISHED_WORSE); /* too little is worse than too much */
    assert_int_equal(published_change(100, 90, 110), PUBLISHED_BETTER);
}

static void no_prediction_became_worse_and_the_page_is_fresh(void **state)
{
    struct json *figures = published_lines(figures_path), *plans = published_plans(figures);
    int counts[PUBLISHED_CHANGE_COUNT] = {0};
    struct text worse = {0};
    (void)state;
    for (size_t i = 0; i < json_count(figures); i++) {
        const struct json *figure = json_at(figures, i);
        if (!published_is_asked(figure)) {
            continue;
        }
        int64_t stood = json_integer_or(json_get(figure, "predicted_bytes"), 0);
        int64_t measured = json_integer_or(json_get(figure, "measured_bytes"), 0);
        int64_t now = published_prediction(plans, figure);
        enum published_change change = published_change(measured, stood, now);
        if (change == PUBLISHED_WORSE && counts[PUBLISHED_WORSE] < LISTED) {
            text_format(&worse, "%s %s: %+.2f %%, was %+.2f %%\n", json_string_or(json_get(figure, "id"), ""),
                        json_string_or(json_get(figure, "quantity"), ""), error_percent(now, measured),
                        error_percent(stood, measured));
        }
        counts[change]++;
    }
    json_release(plans);
    json_release(figures);
    if (counts[PUBLISHED_WORSE] > 0) {
        fail_msg("%d predictions of what others measured became worse, %d better:\n%sif that is right, %s",
                 counts[PUBLISHED_WORSE], counts[PUBLISHED_BETTER], text_string(&worse), remedy);
    }
    if (counts[PUBLISHED_BETTER] > 0) {
        fail_msg("%d predictions of what others measured became better, and the page does not say so; %s",
                 counts[PUBLISHED_BETTER], remedy);
    }
    text_release(&worse);
    assert_true(counts[PUBLISHED_SAME] > 100); /* the file is not empty by accident */
}

/* Figures are those of the rows: of each row in turn, each quantity that was measured. */
static void each_figure_is_one_of_its_row(void **state)
{
    struct json *figures = published_lines(figures_path), *lines = NULL;
    char source[LINE_BYTES] = "", path[LINE_BYTES];
    (void)state;
    for (size_t i = 0; i < json_count(figures); i++) {
        const struct json *figure = json_at(figures, i);
        const char *id = json_string_or(json_get(figure, "id"), "");
        int length = (int)strcspn(id, "/");
        if (strncmp(source, id, (size_t)length + 1) != 0) {
            snprintf(source, sizeof source, "%.*s/", length, id);
            snprintf(path, sizeof path, "peers/published/rows/%.*s.jsonl", length, id);
            json_release(lines);
            lines = published_lines(path);
        }
        bool found = false;
        for (size_t row = 1; row < json_count(lines) && !found; row++) {
            const struct json *line = json_at(lines, row), *measured = json_get(line, "measured");
            for (size_t k = 0; strcmp(id, json_string_or(json_get(line, "id"), "")) == 0 && k < json_count(measured);
                 k++) {
                const struct json *one = json_at(measured, k);
                found = found || (strcmp(json_string_or(json_get(one, "quantity"), ""),
                                         json_string_or(json_get(figure, "quantity"), "?")) == 0 &&
                                  json_integer_or(json_get(one, "bytes"), -1) ==
                                      json_integer_or(json_get(figure, "measured_bytes"), 0));
            }
        }
        if (!found) {
            fail_msg("%s: %s has no such figure; %s", id, path, remedy);
        }
    }
    json_release(lines);
    json_release(figures);
}

static int smaller_first(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Count and median of |error| of the figures of quality A and B of these quantities, as the page prints them. */
static void summary_of(const struct json *figures, const char *const *quantities, size_t *count, double *median)
{
    double *errors = calloc(json_count(figures), sizeof *errors);
    *count = 0;
    for (size_t i = 0; i < json_count(figures); i++) {
        const struct json *figure = json_at(figures, i);
        int64_t predicted = json_integer_or(json_get(figure, "predicted_bytes"), 0);
        bool is_good = strchr("AB", json_string_or(json_get(figure, "quality"), "?")[0]) != NULL;
        for (size_t k = 0; quantities[k] != NULL && predicted > 0 && is_good; k++) {
            if (strcmp(quantities[k], json_string_or(json_get(figure, "quantity"), "")) == 0) {
                int64_t measured = json_integer_or(json_get(figure, "measured_bytes"), 1);
                errors[(*count)++] = fabs(error_percent(predicted, measured));
            }
        }
    }
    qsort(errors, *count, sizeof *errors, smaller_first);
    *median = *count == 0 ? 0 : (errors[(*count - 1) / 2] + errors[*count / 2]) / 2;
    free(errors);
}

static void page_and_readme_say_the_medians(void **state)
{
    static const struct {
        const char *name;
        const char *const quantities[4];
    } groups[] = {{"allocated or active", {"allocated", "active"}},
                  {"reserved", {"reserved"}},
                  {"device, training", {"device", "device-process", "device-growth"}}};
    struct json *figures = published_lines(figures_path);
    char *page = whole_file_read("docs/PUBLISHED.md"), *readme = whole_file_read("README.md"), said[LINE_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        size_t count;
        double median;
        summary_of(figures, groups[i].quantities, &count, &median);
        snprintf(said, sizeof said, "| %s | %zu | %.2f %% |", groups[i].name, count, median);
        if (strstr(page, said) == NULL) {
            fail_msg("docs/PUBLISHED.md does not say \"%s\"; %s", said, remedy);
        }
        snprintf(said, sizeof said, "%s %.2f %% (%zu figures)", groups[i].name, median, count);
        if (strstr(readme, said) == NULL) {
            fail_msg("README.md does not say \"%s\"; %s", said, remedy);
        }
    }
    free(page);
    free(readme);
    json_release(figures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_judged_by_its_distance),
        cmocka_unit_test(no_prediction_became_worse_and_the_page_is_fresh),
        cmocka_unit_test(each_figure_is_one_of_its_row),
        cmocka_unit_test(page_and_readme_say_the_medians),
    };
    return cmocka_run_group_tests_name("published", tests, NULL, NULL);
}
