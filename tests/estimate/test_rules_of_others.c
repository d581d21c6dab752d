/* Rules held against the calculators that have them: peers/estimators/rules.json is what their own code answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/estimate/subject.h"

enum { FILE_BYTES_MAXIMUM = 1 << 20 };

static struct workload workload_read(const struct json *fields)
{
    struct status error = {0};
    struct workload mode = {0};
    assert_int_equal(workload_set(&mode, "mode", json_string_or(json_get(fields, "mode"), ""), &error), STATUS_OK);
    struct workload workload = workload_default(mode.mode);
    for (const char *key = NULL; (key = json_key_after(fields, key)) != NULL;) {
        char number[32];
        const struct json *value = json_get(fields, key);
        snprintf(number, sizeof number, "%lld", (long long)json_integer_or(value, -1));
        if (workload_set(&workload, key, json_string_or(value, number), &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
    }
    return workload;
}

static struct parallel parallel_read(const struct json *degrees)
{
    return (struct parallel){.data = json_integer_or(json_get(degrees, "data"), 0),
                             .tensor = json_integer_or(json_get(degrees, "tensor"), 0),
                             .pipeline = json_integer_or(json_get(degrees, "pipeline"), 0),
                             .expert = json_integer_or(json_get(degrees, "expert"), 0),
                             .zero = json_integer_or(json_get(degrees, "zero"), -1),
                             .fsdp = json_boolean_or(json_get(degrees, "fsdp"), true)};
}

/* Theirs are floating-point numbers cut off, ours are whole ones: a division may fall on either side. */
static void row_check(const struct json *row)
{
    const char *estimator = json_string_or(json_get(row, "estimator"), "");
    const char *model = json_string_or(json_get(row, "model"), "");
    const struct json *expected = json_get(row, "expected");
    struct parallel parallel = parallel_read(json_get(row, "parallel"));
    struct subject *subject = subject_new(model, workload_read(json_get(row, "workload")));
    struct status error = {0};
    if (parallel_check(&parallel, &subject->config, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    struct estimate estimate = subject_estimate(estimator, subject, &parallel);
    assert_true(json_count(expected) > 0);
    for (const char *name = NULL; (name = json_key_after(expected, name)) != NULL;) {
        const struct estimate_quantity *quantity = estimate_get(&estimate, name);
        int64_t wanted = json_integer_or(json_get(expected, name), -1);
        int64_t parts = strcmp(name, "total_bytes") == 0 ? 3 : 1;
        if (quantity == NULL || !quantity->known || quantity->value < wanted - parts ||
            quantity->value > wanted + parts) {
            fail_msg("%s of %s: %s is %lld, theirs %lld", estimator, model, name,
                     quantity != NULL && quantity->known ? (long long)quantity->value : -1LL, (long long)wanted);
        }
    }
    subject_release(subject);
}

static void test_rows(void **state)
{
    struct json *document = NULL;
    struct status error = {0};
    (void)state;
    if (json_parse_file("peers/estimators/rules.json", FILE_BYTES_MAXIMUM, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct json *rows = json_get(document, "rows");
    assert_true(json_count(rows) > 40);
    for (size_t i = 0; i < json_count(rows); i++) {
        row_check(json_at(rows, i));
    }
    json_release(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
