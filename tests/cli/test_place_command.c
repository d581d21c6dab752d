/* assay place: the device map of accelerate, what people and scripts see of it, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_file.h"

#define PLACE(...) command_named("place", (const char *const[]){__VA_ARGS__, NULL})

/* gpt2 has 163,037,184 bytes of embeddings and 28,351,488 in a block: the half and 1.25 blocks is GPU 0's part. */
static void json_has_accelerates_keys(void **state)
{
    struct command_result result =
        PLACE("gpt2", "--max-memory", "0=300MB,1=300MB,cpu=1GiB", "--json", "--precision", "float32");
    struct json *document = command_document(&result);
    const struct json *memory = json_get(document, "max_memory"), *map = json_get(document, "device_map");
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(json_integer_or(json_get(memory, "0"), -1), 497759232 / 2 + 28351488 / 4 * 5);
    assert_int_equal(json_integer_or(json_get(memory, "1"), -1), 300000000);
    assert_int_equal(json_integer_or(json_get(memory, "cpu"), -1), INT64_C(1) << 30);
    assert_int_equal(json_integer_or(json_get(map, "transformer.wte"), -1), 0);
    assert_int_equal(json_integer_or(json_get(map, "lm_head"), -1), 0);
    assert_int_equal(json_integer_or(json_get(map, "transformer.h.11"), -1), 1);
    json_release(document);
    command_result_release(&result);
    result = PLACE("gpt2", "--max-memory", "0=200MB,cpu=10MB", "--json");
    document = command_document(&result);
    assert_string_equal(json_string_or(json_get(json_get(document, "device_map"), "transformer.ln_f"), ""), "disk");
    json_release(document);
    command_result_release(&result);
}

static void the_table_folds_and_the_map_can_be_pasted(void **state)
{
    struct command_result result = PLACE("gpt2", "--max-memory", "0=300MB,1=300MB", "--verbose");
    const char *text = text_string(&result.output);
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text, "transformer.wte, lm_head, transformer.wpe, transformer.drop, transformer.h.0-2\n"));
    assert_non_null(strstr(text, "transformer.h.3-11, transformer.ln_f\n"));
    assert_non_null(strstr(text, "device_map = {\n    \"transformer.wte\": 0, \"lm_head\": 0,"));
    assert_non_null(strstr(text, "put transformer.wte (147.24 MiB) on 0 with what is tied to it: lm_head"));
    assert_non_null(strstr(text, "leave 0 for 1: transformer.h.3 (27.04 MiB) stays whole"));
    command_result_release(&result);
}

static void classes_that_stay_whole_are_the_models_own_or_named(void **state)
{
    struct command_result own = PLACE("gpt2", "--max-memory", "0=170MB", "--json", "--sequential");
    struct command_result none =
        PLACE("gpt2", "--max-memory", "0=170MB", "--json", "--sequential", "--no-split", "none");
    struct command_result named =
        PLACE("gpt2", "--max-memory", "0=170MB", "--json", "--sequential", "--no-split", "GPT2Block");
    struct command_result wrong =
        PLACE("gpt2", "--max-memory", "0=170MB", "--json", "--sequential", "--no-split", "GPT2block");
    (void)state;
    assert_string_equal(text_string(&own.output), text_string(&named.output));
    assert_string_not_equal(text_string(&own.output), text_string(&none.output));
    assert_int_equal(wrong.exit_code, 0);
    assert_non_null(strstr(text_string(&wrong.error), "did you mean GPT2Block?"));
    command_result_release(&own);
    command_result_release(&none);
    command_result_release(&named);
    command_result_release(&wrong);
}

static void wrong_options_are_refused_with_a_remedy(void **state)
{
    (void)state;
    command_refused(PLACE("gpt2", "--max-memory", "0=10Gb"), "accelerate reads bits, 1250000000 bytes");
    command_refused(PLACE("gpt2", "--max-memory", "0=10gb"), "write 10GB or 1250000000B");
    command_refused(PLACE("gpt2", "--max-memory", "cuda=10GB"), "'cuda' is no device of accelerate");
    command_refused(PLACE("gpt2", "--max-memory", "10GB"), "write 0=10GB,1=10GB,cpu=50GB");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB,0=2GB"), "0 has two budgets");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--special-dtypes", "lm_head.weigth=float16"),
                    "did you mean lm_head.weight?");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--special-dtypes", "lm_head.weight=flot16"),
                    "did you mean float16?");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--precision", "amp-float16"), "write float32");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--balanced", "--sequential"), "keep one");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--no-split", "none", "GPT2Block"), "keep one");
}

/* Where accelerate raises, its exception is named, and no map is made up. */
static void what_accelerate_raises_is_named(void **state)
{
    (void)state;
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB,disk=4GB"), "RuntimeError");
    command_refused(PLACE("gpt2", "--max-memory", "0=100MB,2=1GB,3=1GB", "--balanced-low-0"), "KeyError: 1");
    command_refused(PLACE("gpt2", "--max-memory", "0=1MB", "--precision", "int4", "--fallback"), "AttributeError");
    command_refused(PLACE("FacebookAI/xlm-roberta-base", "--max-memory", "0=700MB,cpu=1GB"), "IndexError");
}

static void sizes_may_be_bytes(void **state)
{
    struct command_result plain = PLACE("gpt2", "--max-memory", "0=600000000", "--json");
    struct command_result unit = PLACE("gpt2", "--max-memory", "0=600000000B", "--json");
    struct command_result decimal = PLACE("gpt2", "--max-memory", "0=0.6GB", "--json");
    (void)state;
    assert_int_equal(plain.exit_code, 0);
    assert_string_equal(text_string(&plain.output), text_string(&unit.output));
    assert_string_equal(text_string(&plain.output), text_string(&decimal.output));
    assert_non_null(strstr(text_string(&plain.output), "\"\": 0"));
    command_result_release(&plain);
    command_result_release(&unit);
    command_result_release(&decimal);
}

static void gpus_may_be_named(void **state)
{
    struct command_result two = PLACE("gpt2", "--on", "RTX 4090 x2", "--max-memory", "cpu=1GB", "--json");
    struct json *document = command_document(&two);
    (void)state;
    assert_int_equal(two.exit_code, 0);
    assert_int_equal(json_count(json_get(document, "max_memory")), 3);
    json_release(document);
    command_result_release(&two);
    command_refused(PLACE("gpt2", "--on", "RTX 4090 x2", "--max-memory", "1=1GB"), "1 has two budgets");
}

static void file_write(const char *text)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_device_map_is_checked(void **state)
{
    (void)state;
    file_write("{\"transformer.wte\": 0, \"transformer.h\": \"cpu\", \"nowhere\": \"disk\"}");
    struct command_result result = PLACE("gpt2", "--check", scratch_file_path);
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text_string(&result.output), "4 tensors have no device"));
    assert_non_null(strstr(text_string(&result.output), "  transformer.ln_f.weight\n"));
    assert_non_null(strstr(text_string(&result.output), "  lm_head.weight\n"));
    assert_non_null(strstr(text_string(&result.error), "nowhere"));
    command_result_release(&result);
    file_write("{\"device_map\": {\"\": \"cuda:0\"}}");
    result = PLACE("gpt2", "--check", scratch_file_path);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    file_write("{\n  \"lm_head\": 0,\n  \"transformer\": \"gpu\"}");
    command_refused(PLACE("gpt2", "--check", scratch_file_path), ":3:18: transformer has no device of accelerate");
    file_write("{\"device_map\": {\"lm_head\": -1}}");
    command_refused(PLACE("gpt2", "--check", scratch_file_path), ":1:28: lm_head has no device of accelerate");
    file_write("{\"\": 0, \"a\\u001b[31m\": 1}");
    result = PLACE("gpt2", "--check", scratch_file_path);
    assert_int_equal(result.exit_code, 0);
    assert_null(strchr(text_string(&result.error), '\x1b'));
    command_result_release(&result);
    file_write("[1]");
    command_refused(PLACE("gpt2", "--check", scratch_file_path), "a device map is an object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_accelerates_keys),
        cmocka_unit_test(the_table_folds_and_the_map_can_be_pasted),
        cmocka_unit_test(classes_that_stay_whole_are_the_models_own_or_named),
        cmocka_unit_test(wrong_options_are_refused_with_a_remedy),
        cmocka_unit_test(what_accelerate_raises_is_named),
        cmocka_unit_test(sizes_may_be_bytes),
        cmocka_unit_test(gpus_may_be_named),
        cmocka_unit_test(a_device_map_is_checked),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
