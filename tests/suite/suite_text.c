/* Suites written as text: reading and ids. What is expected of them is in the tests. */
#include "tests/suite/suite_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum status_code suite_text_read(const char *text, struct suite *suite, struct status *error)
{
    return suite_read_text("s.yaml", text, strlen(text), SUITE_CATALOGUE, suite, error);
}

struct suite suite_text_open(const char *text)
{
    struct suite suite;
    struct status error;
    if (suite_text_read(text, &suite, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return suite;
}

void suite_ids_check(const struct suite *suite, const char *const *ids, int count)
{
    for (int i = 0; i < suite->case_count && i < count; i++) {
        assert_string_equal(suite->cases[i].id, ids[i]);
    }
    assert_int_equal(suite->case_count, count);
}
