/* suites/calibrate.yaml: few enough cases, every mode, and none that another suite would judge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <string.h>

#include "harness/record/constants.h"
#include "harness/suite/suite.h"

static const char path[] = "suites/calibrate.yaml";

static struct suite suite_of(const char *file)
{
    struct suite suite;
    struct status error;
    if (suite_read(file, "models/catalogue", &suite, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return suite;
}

static void it_has_few_cases_of_every_mode(void **state)
{
    (void)state;
    struct suite suite = suite_of(path);
    int counts[MODE_COUNT] = {0};
    assert_in_range(suite.case_count, 1, CONSTANTS_CASES_MAXIMUM);
    for (int i = 0; i < suite.case_count; i++) {
        counts[suite.cases[i].identity.workload.mode]++;
        assert_true(suite_case_matches(&suite.cases[i], "calibrate"));
        assert_true(strlen(suite.cases[i].id) < CONSTANTS_ID_BYTES);
    }
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        assert_true(counts[mode] >= 2); /* one reading has no spread */
    }
    suite_release(&suite);
}

static void no_other_suite_has_a_case_of_it(void **state)
{
    (void)state;
    glob_t files = {0};
    struct suite suite = suite_of(path);
    assert_int_equal(glob("suites/*.yaml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 2);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (strcmp(files.gl_pathv[i], path) == 0) {
            continue;
        }
        struct suite other = suite_of(files.gl_pathv[i]);
        for (int j = 0; j < other.case_count; j++) {
            for (int k = 0; k < suite.case_count; k++) {
                assert_string_not_equal(other.cases[j].id, suite.cases[k].id);
            }
        }
        suite_release(&other);
    }
    globfree(&files);
    suite_release(&suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_few_cases_of_every_mode),
        cmocka_unit_test(no_other_suite_has_a_case_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
