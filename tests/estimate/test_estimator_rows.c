/* Estimators: what each row of harness/record/estimator_table.h has beside its rule. docs/ADDING.md goes through it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/estimate/estimate.h"
#include "tests/support/whole_file.h"

/* Whether the file has the name where a name stands: alone between characters that no name has. */
static bool file_names(const char *path, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    char *text = whole_file_read(path);
    bool found = false;
    for (const char *at = text; !found && (at = strstr(at, name)) != NULL; at++) {
        bool begins = at == text || strchr(letters, at[-1]) == NULL;
        found = begins && (at[strlen(name)] == '\0' || strchr(letters, at[strlen(name)]) == NULL);
    }
    free(text);
    return found;
}

static void every_estimator_has_a_worked_number(void **state)
{
    const struct estimator *estimator;
    (void)state;
    for (int i = 0; (estimator = estimator_at(i)) != NULL; i++) {
        if (!file_names("docs/NUMBERS.md", estimator->name)) {
            fail_msg("%s has no worked number in docs/NUMBERS.md; work one by hand and hold the rule to it in "
                     "tests/estimate/test_published_rules.c",
                     estimator->name);
        }
    }
}

static void every_estimator_says_what_it_is(void **state)
{
    const struct estimator *estimator;
    (void)state;
    for (int i = 0; (estimator = estimator_at(i)) != NULL; i++) {
        if (estimator->what == NULL || estimator->source == NULL || estimator->applies == NULL ||
            estimator->compute == NULL) {
            fail_msg("%s lacks what, source, applies or compute", estimator->name);
        }
        if (!file_names("tests/cli/golden/estimators.txt", estimator->name)) {
            fail_msg("%s is not in tests/cli/golden/estimators.txt, which assay estimators says", estimator->name);
        }
        assert_ptr_equal(estimator_find(estimator->name), estimator);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_estimator_has_a_worked_number),
        cmocka_unit_test(every_estimator_says_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
