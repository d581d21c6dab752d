/* Random configurations beside the real classes: peers/transformers/random_configs.py wrote what transformers makes of
 * keys that are left out, null, under other names, foreign, or derived by the class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "models/skeleton/skeleton.h"
#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"

static void weight_check(const struct config *config, enum head head, const struct json *real, struct text *faults)
{
    struct skeleton skeleton;
    struct status error = {0};
    if (skeleton_build(config, head, &skeleton, &error) != STATUS_OK) {
        text_format(faults, "%s\n", error.text);
        return;
    }
    long long parameters = (long long)json_integer_or(json_get(real, "parameters"), -1);
    long long buffer_bytes = (long long)json_integer_or(json_get(real, "buffer_bytes"), -1);
    if (skeleton.parameter_count != parameters || skeleton.buffer_bytes != buffer_bytes) {
        text_format(faults, "%s: %lld parameters and %lld B of buffers, the real one has %lld and %lld\n",
                    json_string_or(json_get(real, "class"), "?"), (long long)skeleton.parameter_count,
                    (long long)skeleton.buffer_bytes, parameters, buffer_bytes);
    }
    skeleton_release(&skeleton);
}

static bool is_listed(const struct json *layers, int64_t layer)
{
    for (size_t i = 0; i < json_count(layers); i++) {
        if (json_integer_or(json_at(layers, i), -1) == layer) {
            return true;
        }
    }
    return false;
}

static void line_check(const char *line, struct text *faults)
{
    struct json *document = NULL;
    struct text file = {0};
    struct config config;
    struct status error = {0};
    assert_int_equal(json_parse_text("configs", line, strlen(line), &document, NULL), STATUS_OK);
    assert_int_equal(json_write(json_get(document, "config"), 0, &file, NULL), STATUS_OK);
    size_t before = faults->length;
    if (text_read(text_string(&file), &config, &error) != STATUS_OK) {
        text_format(faults, "%s\n", error.text);
    } else {
        const struct json *sliding = json_get(document, "sliding");
        weight_check(&config, HEAD_BARE, json_get(document, "bare"), faults);
        weight_check(&config, HEAD_LM, json_get(document, "head"), faults);
        for (int64_t i = 0; json_kind(sliding) == JSON_KIND_ARRAY && i < config.layers; i++) {
            if (config_layer_slides(&config, i) != is_listed(sliding, i)) {
                text_format(faults, "layer %lld slides or does not\n", (long long)i);
            }
        }
    }
    if (faults->length > before) {
        text_format(faults, "  of %s\n", text_string(&file));
    }
    text_release(&file);
    json_release(document);
}

static void files_weigh_what_the_classes_weigh(void **state)
{
    char line[16384];
    int count = -1; /* the first line has versions */
    struct text faults = {0};
    FILE *file = fopen("tests/models/golden/random_configs.jsonl", "r");
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (count++ >= 0) {
            line_check(line, &faults);
        }
    }
    fclose(file);
    assert_true(count >= 240);
    if (faults.length > 0) {
        fail_msg("%s", text_string(&faults));
    }
    text_release(&faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_weigh_what_the_classes_weigh)};
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
