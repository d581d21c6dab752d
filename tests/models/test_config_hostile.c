/* Configurations from a hostile hand: thousands of damaged files. Whatever stands in one, it is read or refused with a
 * message that names it, and what was read gives a skeleton or an overflow. The damage is the same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/estimate/accelerate.h"
#include "models/config/config.h"
#include "models/find/config_file.h"
#include "models/skeleton/skeleton.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"

enum { TEXT_BYTES = 8192, ROUNDS = 150 };

static const char *const seeds[] = {
    "models/catalogue/tiny-mixtral/config.json",     "models/catalogue/tiny-qwen2-moe/config.json",
    "models/catalogue/tiny-deepseek-v2/config.json", "models/catalogue/tiny-deepseek-v3/config.json",
    "models/catalogue/tiny-bert/config.json",        "models/catalogue/tiny-gpt2/config.json",
    "models/catalogue/tiny-llama/config.json",       "models/catalogue/tiny-qwen2/config.json",
    "models/catalogue/tiny-roberta/config.json",     "models/catalogue/tiny-distilbert/config.json",
    "models/catalogue/tiny-opt/config.json",         "models/catalogue/tiny-bloom/config.json",
    "models/catalogue/tiny-falcon/config.json",      "models/catalogue/tiny-vit/config.json",
    "models/catalogue/tiny-resnet/config.json",      "models/catalogue/tiny-vgg/config.json",
    "models/catalogue/tiny-timm-vit/config.json",    "models/catalogue/tiny-gpt-neo/config.json",
    "models/catalogue/tiny-t5/config.json",          "models/catalogue/tiny-convnext/config.json",
    "models/catalogue/tiny-regnet/config.json",
};

static uint32_t random_next(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

static size_t text_load(const char *file_path, char text[TEXT_BYTES])
{
    FILE *file = fopen(file_path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, TEXT_BYTES / 2, file);
    fclose(file);
    return length;
}

/* Puts another value behind a colon, the rest of the old one staying there or not. */
static size_t value_replace(char *text, size_t length, size_t place, uint32_t choice)
{
    static const char *const values[] = {"99999999999", "-1",    "0",    "null",  "[]",
                                         "{}",          "1e300", "true", "\"x\"", "1099511627776"};
    const char *value = values[choice % (sizeof values / sizeof values[0])];
    char *colon = memchr(text + place, ':', length - place);
    if (colon == NULL) {
        return length;
    }
    size_t start = (size_t)(colon - text) + 1;
    size_t end = start;
    while (end < length && text[end] != ',' && text[end] != '\n') {
        end++;
    }
    memmove(text + start + strlen(value), text + end, length - end);
    memcpy(text + start, value, strlen(value));
    return length - (end - start) + strlen(value);
}

static size_t text_damage(char *text, size_t length, uint32_t *random)
{
    size_t place = random_next(random) % length;
    switch (random_next(random) % 6) {
    case 0:
        text[place] = (char)random_next(random);
        return length;
    case 1:
        text[place] = "0123456789-.eE\"{}[],:n"[random_next(random) % 22];
        return length;
    case 2:
        return place + 1;
    default:
        return value_replace(text, length, place, random_next(random));
    }
}

static void damaged_check(const char *text, size_t length)
{
    struct config config;
    struct skeleton skeleton;
    struct accelerate_sizes sizes;
    struct status error = {0};
    const struct accelerate_options options = {0};
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    enum status_code code = config_read(scratch_file_path, "damaged", &config, &error);
    if (code != STATUS_OK) {
        assert_int_equal(code, STATUS_INVALID);
        assert_memory_equal(STATUS_SAID(&error), scratch_file_path, strlen(scratch_file_path));
        return;
    }
    for (enum head head = HEAD_BARE; head <= HEAD_LM; head++) {
        code = skeleton_build(&config, head, &skeleton, &error);
        assert_true(code == STATUS_OK || code == STATUS_OVERFLOW);
        if (code == STATUS_OK) {
            assert_true(skeleton.parameter_count > 0);
            skeleton_release(&skeleton);
        }
    }
    code = accelerate_sizes_of(&config, &options, &sizes, &error);
    assert_true(code == STATUS_OK || code == STATUS_OVERFLOW);
}

static void test_damaged_files(void **state)
{
    uint32_t random = 20240601;
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        char original[TEXT_BYTES];
        size_t original_length = text_load(seeds[i], original);
        for (int round = 0; round < ROUNDS; round++) {
            char text[TEXT_BYTES];
            size_t length = original_length;
            memcpy(text, original, length);
            for (uint32_t count = 1 + random_next(&random) % 3; count > 0; count--) {
                length = text_damage(text, length, &random);
            }
            damaged_check(text, length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
