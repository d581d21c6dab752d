/* The whole catalogue beside accelerate itself: what peers/estimators/accelerate_tables.py asked it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/estimate/accelerate.h"
#include "models/find/catalogue.h"
#include "tests/support/whole_file.h"

static const char catalogue_folder[] = "models/catalogue";

/* Names for which accelerate prints no table, and why: then there is nothing to be equal to. */
static const struct {
    const char *model, *refusal;
} refusals[] = {
    /* A toy of this program: its layers are an argument of the class, which create_model has from its own table. */
    {"tiny-vgg", "TypeError: timm.models.vgg.VGG() got multiple values for keyword argument 'cfg'"},
};

static const char *refusal_of(const char *model)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strcmp(refusals[i].model, model) == 0) {
            return refusals[i].refusal;
        }
    }
    return "";
}

static void bytes_check(const char *model, const char *dtype, double ours, const struct json *theirs)
{
    double wanted = json_real_or(theirs, NAN);
    if (ours != wanted) {
        fail_msg("%s %s: %.3f bytes, and accelerate says %.3f", model, dtype, ours, wanted);
    }
}

static void model_check(const struct json *line)
{
    const char *model = json_string_or(json_get(line, "model"), "");
    const struct json *rows = json_get(line, "rows");
    const struct accelerate_options options = {0};
    struct accelerate_sizes sizes;
    struct config config;
    struct status error = {0};
    assert_string_equal(json_string_or(json_get(line, "refused"), ""), refusal_of(model));
    if (rows == NULL) {
        return;
    }
    if (config_find(catalogue_folder, model, &config, &error) != STATUS_OK ||
        accelerate_sizes_of(&config, &options, &sizes, &error) != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    assert_int_equal(json_count(rows), ACCELERATE_DTYPE_COUNT);
    for (int i = 0; i < ACCELERATE_DTYPE_COUNT; i++) {
        const struct json *row = json_at(rows, (size_t)i);
        const char *dtype = accelerate_dtype_name((enum accelerate_dtype)i);
        struct accelerate_row ours = accelerate_row_of(&sizes, (enum accelerate_dtype)i, ACCELERATE_RULE_CURRENT);
        assert_string_equal(json_string_or(json_get(row, "dtype"), ""), dtype);
        bytes_check(model, dtype, ours.largest_layer_bytes, json_get(row, "largest_layer_bytes"));
        bytes_check(model, dtype, ours.total_bytes, json_get(row, "total_bytes"));
        assert_int_equal(ours.training_known, json_kind(json_get(row, "training_adam_bytes")) != JSON_KIND_NULL);
        if (ours.training_known) {
            bytes_check(model, dtype, ours.training_bytes, json_get(row, "training_adam_bytes"));
        }
    }
}

/* Behind the line of versions there is one for each name of the catalogue, in its order. */
static void test_whole_catalogue(void **state)
{
    char *text = whole_file_read("peers/estimators/accelerate_tables.jsonl");
    struct catalogue catalogue;
    int line_count = 0;
    (void)state;
    assert_int_equal(catalogue_read(catalogue_folder, &catalogue, NULL), STATUS_OK);
    for (char *line = text; *line != '\0'; line_count++) {
        struct json *document = NULL;
        size_t length = strcspn(line, "\n");
        assert_int_equal(json_parse_text("accelerate_tables.jsonl", line, length, &document, NULL), STATUS_OK);
        if (line_count == 0) {
            const struct json *versions = json_get(document, "versions");
            assert_string_equal(json_string_or(json_get(versions, "accelerate"), ""), "1.15.0");
            assert_string_equal(json_string_or(json_get(versions, "transformers"), ""), "5.23.0");
        } else {
            assert_true(line_count <= catalogue.count);
            assert_string_equal(json_string_or(json_get(document, "model"), ""), catalogue.names[line_count - 1]);
            model_check(document);
        }
        json_release(document);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    assert_int_equal(line_count, 1 + catalogue.count);
    catalogue_release(&catalogue);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
