/* The committed law of inference: that of the committed points, whichever LAPACK fits it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

#define HOST_POINTS      "results/laws/host-points.tsv"
#define KINDS_POINTS     "results/laws/kinds-points.tsv"
#define PUBLISHED_POINTS "results/laws/published-points.tsv"
#define PYTORCH_POINTS   "results/laws/pytorch-h100-points.tsv"
#define LAW              "results/laws/inference-overhead.json"

static char folder[] = "/tmp/assay-law-XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static const char *law_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/law.json", folder);
    return path;
}

/* Whether the next words of both are the same, or numbers that differ by a unit of the second digit: how the last one
 * is rounded, and the sign of a zero, are the LAPACK's. Moves both behind them. */
static bool word_is_shared(const char **ours, const char **theirs)
{
    char *ends[2];
    *ours += strspn(*ours, " \n");
    *theirs += strspn(*theirs, " \n");
    double off = strtod(*ours, &ends[0]) - strtod(*theirs, &ends[1]);
    if (ends[0] != *ours && ends[1] != *theirs && off < 0.011 && off > -0.011) {
        *ours = ends[0];
        *theirs = ends[1];
    }
    size_t length = strcspn(*ours, " \n");
    bool is_shared = length == strcspn(*theirs, " \n") && strncmp(*ours, *theirs, length) == 0;
    *ours += length;
    *theirs += length;
    return is_shared;
}

/* docs/CALIBRATION.md has the table of coefficients as it is printed. */
static void docs_say(const char *output)
{
    static const char heading[] = "  kind                       a     b ";
    struct text docs = {0};
    char line[1024];
    FILE *file = fopen("docs/CALIBRATION.md", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        text_append(&docs, line);
    }
    assert_int_equal(fclose(file), 0);
    const char *table = strstr(output, heading), *there = strstr(text_string(&docs), heading);
    assert_non_null(table);
    assert_non_null(there);
    size_t length = (size_t)(strstr(table, "\n\n") - table);
    assert_true(length > 1000);
    for (const char *at = table; at < table + length;) {
        if (!word_is_shared(&at, &there)) {
            fail_msg("the table of docs/CALIBRATION.md is not the one that is printed:\n%.*s", (int)length, table);
        }
    }
    text_release(&docs);
}

/* A coefficient of both laws: its value, its interval and what tells it. A few of the 1000 resamples are at the edge
 * of what tells a coefficient, so that one LAPACK counts them and another does not, and the ends of the interval move
 * with them: by 8 % of its width where every figure that a LAPACK was given was changed in its 15th digit. */
static void coefficient_is(const struct json *ours, const struct json *theirs)
{
    double value = json_real_or(json_get(ours, "value"), 0.0), other = json_real_or(json_get(theirs, "value"), -1e9);
    const struct json *interval = json_get(ours, "interval"), *stored = json_get(theirs, "interval");
    assert_true(fabs(value - other) < 1e-6);
    assert_int_equal(json_integer_or(json_get(ours, "models"), -1), json_integer_or(json_get(theirs, "models"), -2));
    int64_t resamples = json_integer_or(json_get(theirs, "resamples"), -100);
    assert_in_range(json_integer_or(json_get(ours, "resamples"), -1) - resamples + 10, 0, 20);
    double width = json_real_or(json_at(stored, 1), 0.0) - json_real_or(json_at(stored, 0), 0.0);
    assert_int_equal(json_count(interval), json_count(stored));
    for (size_t end = 0; end < json_count(interval); end++) {
        double off = json_real_or(json_at(interval, end), 0.0) - json_real_or(json_at(stored, end), -1e9);
        assert_true(fabs(off) < 1e-4 + 0.2 * width);
    }
}

/* Fits the law with the command of results/README.md. setting: of the environment, or NULL. */
static struct command_result law_fit(const char *setting, const char *path)
{
    return command_run((const char *const[]){program_path(), "calibrate", HOST_POINTS, KINDS_POINTS, PUBLISHED_POINTS,
                                             PYTORCH_POINTS, "--law", "inference-overhead", "--resamples", "1000",
                                             "--output", path, NULL},
                       (const char *const[]){setting, NULL});
}

/* The coefficients of a law that was fitted are those of the committed one. */
static void law_is_committed(const struct json *fitted)
{
    struct json *committed = NULL;
    assert_int_equal(json_parse_file(LAW, 1 << 24, &committed, NULL), STATUS_OK);
    const struct json *kinds = json_get(fitted, "kinds"), *others = json_get(committed, "kinds");
    assert_int_equal(json_count(kinds), json_count(others));
    for (size_t at = 0; at < json_count(kinds); at++) {
        const struct json *ours = json_get(json_at(kinds, at), "coefficients");
        const struct json *theirs = json_get(json_at(others, at), "coefficients");
        for (const char *key = NULL; (key = json_key_after(ours, key)) != NULL;) {
            coefficient_is(json_get(ours, key), json_get(theirs, key));
        }
    }
    json_release(committed);
}

/* The committed law is the one of the committed points, whoever fits it; and it keeps its promise. */
static void the_committed_law_follows_from_the_committed_points(void **state)
{
    (void)state;
    const char *path = law_path();
    struct command_result result = law_fit(NULL, path);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "3428 of 3428 cases count\n");
    docs_say(text_string(&result.output));
    for (const char *at = text_string(&result.output); *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (strcspn(at, "\n") > 80) {
            fail_msg("more than 80 columns: %.*s", (int)strcspn(at, "\n"), at);
        }
    }
    command_says(&result.output, "the rule of 20 %: 1.2 x weights is unsafe in some cases and wasteful in others\n");
    command_result_release(&result);
    struct json *fitted = NULL;
    assert_int_equal(json_parse_file(path, 1 << 24, &fitted, NULL), STATUS_OK);
    const struct json *form = json_get(json_get(json_get(fitted, "forms"), "allocated"), "structural");
    const struct json *errors = json_get(form, "errors");
    assert_true(json_integer_or(json_get(errors, "cases"), 0) >= 2000);
    assert_true(json_real_or(json_get(errors, "median"), 1.0) <= 0.02);
    assert_true(json_real_or(json_get(errors, "p99"), 1.0) <= 0.05);
    form = json_get(json_get(json_get(fitted, "forms"), "footprint"), "replayed");
    errors = json_get(form, "errors");
    assert_true(json_integer_or(json_get(errors, "cases"), 0) >= 2000);
    assert_true(json_real_or(json_get(errors, "median"), 1.0) <= 0.02);
    assert_true(json_real_or(json_get(errors, "p99"), 1.0) <= 0.05);
    law_is_committed(fitted);
    json_release(fitted);
}

/* And whatever adds its numbers up: OpenBLAS has sums of its own for each kind of processor. */
static void the_committed_law_does_not_hang_on_last_digits(void **state)
{
    (void)state;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) {
        const char *path = law_path();
        struct command_result result = law_fit("OPENBLAS_CORETYPE=Sandybridge", path);
        struct json *fitted = NULL;
        assert_int_equal(result.exit_code, 0);
        docs_say(text_string(&result.output));
        assert_int_equal(json_parse_file(path, 1 << 24, &fitted, NULL), STATUS_OK);
        law_is_committed(fitted);
        json_release(fitted);
        command_result_release(&result);
        return;
    }
#endif
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_committed_law_follows_from_the_committed_points),
        cmocka_unit_test(the_committed_law_does_not_hang_on_last_digits),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
