/* accelerate's figures: those that it and the documents about it have published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/estimate/accelerate.h"
#include "harness/estimate/framework_buffers.h"
#include "models/find/catalogue.h"

static struct config config_of(const char *model)
{
    struct config config;
    struct status error = {0};
    if (config_find("models/catalogue", model, &config, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return config;
}

static struct accelerate_sizes sizes_of(const char *model, struct accelerate_options options)
{
    struct config config = config_of(model);
    struct accelerate_sizes sizes;
    struct status error = {0};
    if (accelerate_sizes_of(&config, &options, &sizes, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return sizes;
}

/* Published tables belong to the release that wrote the model's configuration. */
static const struct accelerate_options as_published = {.transformers = ACCELERATE_RELEASE_OF_FILE};

static void test_published_sizes(void **state)
{
    static const struct {
        const char *model;
        int64_t parameter_count, buffer_bytes, total_bytes, largest_layer_bytes;
    } published[] = {
        {"bert-base-cased", 108310272, 8192, 433249280, 90669056},
        {"timm/resnet18.a1_in1k", 11689512, 38560, 46796608, 9437184},
        {"timm/resnet34.a1_in1k", 21797672, 68384, 87259072, 9437184},
        {"timm/resnet50.a1_in1k", 25557032, 212904, 102441032, 9437184},
        {"timm/resnet101.a1_in1k", 44549160, 422208, 178618848, 9437184},
        {"timm/resnet152.a1_in1k", 60192808, 606936, 241378168, 9437184},
        {"Llama-2-7b", 6607343616, 134225920, 26563600384, 813728000},
        {"Llama-2-70b-chat", 68714504192, 335564800, 275193581568, 3426812160},
    };
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct accelerate_sizes sizes =
            sizes_of(published[i].model, (struct accelerate_options){.transformers = "4.31"});
        assert_int_equal(sizes.parameter_count, published[i].parameter_count);
        assert_int_equal(sizes.buffer_bytes, published[i].buffer_bytes);
        assert_int_equal(sizes.total_bytes, published[i].total_bytes);
        assert_int_equal(sizes.largest_layer_bytes, published[i].largest_layer_bytes);
    }
}

/* Before blocks were named in transformers the largest leaf was printed. */
static void test_split_blocks(void **state)
{
    const struct accelerate_options options = {.transformers = "file", .splits_blocks = true};
    (void)state;
    struct accelerate_sizes sizes = sizes_of("togethercomputer/LLaMA-2-7B-32K", options);
    assert_int_equal(sizes.buffer_bytes, 1073750016);
    assert_int_equal(sizes.total_bytes, 27503124480);
    assert_int_equal(sizes.largest_layer_bytes, 524288000);
    assert_int_equal(sizes_of("bert-base-cased", options).largest_layer_bytes, 28996 * 768 * 4);
    /* The module of all experts has a child, its activation function: accelerate looks at that and passes its matrices
     * over. The embedding is left. */
    assert_int_equal(sizes_of("mistralai/Mixtral-8x7B-v0.1", options).largest_layer_bytes, 32000 * 4096 * 4);
}

/* One decoder layer of idefics-80b is a Llama layer: hidden 8192, inner 22016, 2048 positions; published 3.02 GB, and
 * 721,420,288 bytes where blocks are split. */
static void test_idefics_layer(void **state)
{
    struct accelerate_sizes sizes;
    struct config config = config_of("Llama-2-7b");
    struct accelerate_options options = as_published;
    (void)state;
    config.hidden = 8192;
    config.heads = config.kv_heads = 64;
    config.head_dim = 128;
    config.ffn = 22016;
    config.positions = 2048;
    config.vocab = 1024;
    assert_int_equal(accelerate_sizes_of(&config, &options, &sizes, NULL), STATUS_OK);
    assert_int_equal(sizes.largest_layer_bytes, 3240165632);
    options.splits_blocks = true;
    assert_int_equal(accelerate_sizes_of(&config, &options, &sizes, NULL), STATUS_OK);
    assert_int_equal(sizes.largest_layer_bytes, 721420288);
}

static void test_releases(void **state)
{
    static const struct {
        const char *model, *release;
        int64_t buffer_bytes;
    } rows[] = {
        {"Llama-2-7b", "current", 512},
        {"Llama-2-7b", "5.23.0", 512},
        {"Llama-2-7b", "4.57", 256},
        {"Llama-2-7b", "4.45.2", 33 * 256},
        {"Llama-2-7b", "4.42.4", 32 * 256},
        {"Llama-2-7b", "4.40", 134225920},
        {"Llama-2-7b", "4.38.2", 134225920 + 4096 * 4096 / 8},
        {"Mistral-7B-v0.1", "4.36", 32 * (256 + 2 * 32768 * 128 * 4)},
        {"Qwen/Qwen2-7B", "4.45", 29 * 256},
        {"gpt2", "4.31", 12 * (1024 * 1024 / 8 + 4)},
        {"gpt2", "current", 0},
        {"gpt2", NULL, 0},
        {"Llama-2-7b", NULL, 512},
        {"Llama-2-7b", "file", 134225920}, /* 4.31.0.dev0 */
        {"bert-base-cased", "4.31", 8192},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct accelerate_options options = {.transformers = rows[i].release};
        assert_int_equal(sizes_of(rows[i].model, options).buffer_bytes, rows[i].buffer_bytes);
    }
    struct config config = config_of("gpt2");
    struct accelerate_options wrong = {.transformers = "new"};
    struct accelerate_sizes sizes = {.total_bytes = -1};
    struct status error = {0};
    assert_int_equal(accelerate_sizes_of(&config, &wrong, &sizes, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'new' is not a release of transformers; write one like 4.31, current, or file");
    assert_int_equal(sizes.total_bytes, -1);
    config = config_of("t5-small");
    assert_int_equal(accelerate_sizes_of(&config, &as_published, &sizes, &error), STATUS_INVALID);
    assert_string_equal(error.text, "the configuration of google-t5/t5-small does not say which release of "
                                    "transformers wrote it; write a release like 4.31, or current");
    assert_int_equal(sizes.total_bytes, -1);
}

/* transformers 5 registers the embeddings of T5 three times and ties them; accelerate's building unties them. Releases
 * before it shared one module. */
static void test_tied(void **state)
{
    const struct accelerate_options before = {.transformers = "4.57"};
    const int64_t matrix = INT64_C(32128) * 512 * 4;
    struct accelerate_sizes now = sizes_of("t5-small", (struct accelerate_options){0});
    struct accelerate_sizes then = sizes_of("t5-small", before);
    (void)state;
    assert_int_equal(then.tied_bytes, 0);
    assert_int_equal(now.tied_bytes, 2 * matrix);
    assert_int_equal(now.total_bytes, then.total_bytes + 2 * matrix);
    assert_int_equal(now.parameter_count, then.parameter_count);
    assert_int_equal(now.buffer_bytes, then.buffer_bytes);
}

static void table_check(const char *model, struct accelerate_options options, int count, const char *expected)
{
    struct accelerate_sizes sizes = sizes_of(model, options);
    struct accelerate_row rows[ACCELERATE_DTYPE_COUNT];
    struct text table = {0};
    for (int i = 0; i < count; i++) {
        rows[i] = accelerate_row_of(&sizes, (enum accelerate_dtype)i, options.rule);
    }
    assert_int_equal(accelerate_table(model, rows, count, &table, NULL), STATUS_OK);
    assert_string_equal(text_string(&table), expected);
    text_release(&table);
}

static void test_tables(void **state)
{
    const struct accelerate_options current = {0};
    const struct accelerate_options old = {.rule = ACCELERATE_RULE_0_23};
    (void)state;
    table_check("bert-base-cased", current, 4,
                "┌────────────────────────────────────────────────────┐\n"
                "│     Memory Usage for loading `bert-base-cased`     │\n"
                "├───────┬─────────────┬──────────┬───────────────────┤\n"
                "│ dtype │Largest Layer│Total Size│Training using Adam│\n"
                "├───────┼─────────────┼──────────┼───────────────────┤\n"
                "│float32│   86.47 MB  │413.18 MB │      1.61 GB      │\n"
                "│float16│   43.23 MB  │206.59 MB │     826.36 MB     │\n"
                "│  int8 │   21.62 MB  │103.29 MB │        N/A        │\n"
                "│  int4 │   10.81 MB  │ 51.65 MB │        N/A        │\n"
                "└───────┴─────────────┴──────────┴───────────────────┘\n");
    table_check("timm/resnet50.a1_in1k", old, 4,
                "┌────────────────────────────────────────────────────┐\n"
                "│  Memory Usage for loading `timm/resnet50.a1_in1k`  │\n"
                "├───────┬─────────────┬──────────┬───────────────────┤\n"
                "│ dtype │Largest Layer│Total Size│Training using Adam│\n"
                "├───────┼─────────────┼──────────┼───────────────────┤\n"
                "│float32│    9.0 MB   │ 97.7 MB  │     390.78 MB     │\n"
                "│float16│    4.5 MB   │ 48.85 MB │     195.39 MB     │\n"
                "│  int8 │   2.25 MB   │ 24.42 MB │      97.7 MB      │\n"
                "│  int4 │   1.12 MB   │ 12.21 MB │      48.85 MB     │\n"
                "└───────┴─────────────┴──────────┴───────────────────┘\n");
}

/* Cells that were published, by the row that prints them. */
static void cell_check(const char *model, struct accelerate_options options, enum accelerate_dtype dtype,
                       const char *cells)
{
    struct accelerate_sizes sizes = sizes_of(model, options);
    struct accelerate_row row = accelerate_row_of(&sizes, dtype, options.rule);
    struct text table = {0};
    char compact[256];
    size_t length = 0;
    assert_int_equal(accelerate_table(model, &row, 1, &table, NULL), STATUS_OK);
    const char *line = strstr(text_string(&table), "┼");
    line = strchr(line, '\n') + 1;
    for (; *line != '\n'; line++) { /* without padding: two spaces or a space beside a bar */
        bool padding = *line == ' ' && (line[1] == ' ' || (unsigned char)line[1] >= 0x80 ||
                                        (length > 0 && ((unsigned char)compact[length - 1] >= 0x80)));
        if (!padding) {
            compact[length++] = *line;
        }
    }
    compact[length] = '\0';
    assert_string_equal(compact, cells);
    text_release(&table);
}

static void test_published_cells(void **state)
{
    const struct accelerate_options current = as_published;
    const struct accelerate_options old = {.rule = ACCELERATE_RULE_0_23, .transformers = "file"};
    const struct accelerate_options split = {.transformers = "file", .splits_blocks = true};
    const struct accelerate_options split_old = {
        .rule = ACCELERATE_RULE_0_23, .transformers = "file", .splits_blocks = true};
    (void)state;
    cell_check("Llama-2-7b", current, ACCELERATE_FLOAT16, "│float16│388.02 MB│12.37 GB│49.48 GB│");
    cell_check("LLaMA-2-7B-32K", split, ACCELERATE_FLOAT32, "│float32│500.0 MB│25.61 GB│102.46 GB│");
    cell_check("LLaMA-2-7B-32K", split, ACCELERATE_FLOAT16, "│float16│250.0 MB│12.81 GB│51.23 GB│");
    cell_check("Llama-2-70b-chat", old, ACCELERATE_FLOAT32, "│float32│3.19 GB│256.29 GB│1.0 TB│");
    cell_check("Llama-2-70b-chat", old, ACCELERATE_FLOAT16, "│float16│1.6 GB│128.15 GB│512.59 GB│");
    cell_check("Llama-2-70b-chat", old, ACCELERATE_INT8, "│int8│817.02 MB│64.07 GB│256.29 GB│");
    cell_check("Llama-2-70b-chat", old, ACCELERATE_INT4, "│int4│408.51 MB│32.04 GB│128.15 GB│");
    cell_check("bert-base-cased", split_old, ACCELERATE_FLOAT32, "│float32│84.95 MB│413.18 MB│1.61 GB│");
    cell_check("bert-base-cased", split_old, ACCELERATE_INT4, "│int4│10.62 MB│51.65 MB│206.59 MB│");
    /* Published as float16 before 0.34, when a bfloat16 configuration was halved twice. */
    cell_check("meta-llama/Llama-3.1-70B", current, ACCELERATE_INT8, "│int8│1002.0 MB│64.73 GB│N/A│");
}

/* Models of other families, by their published counts: rules and spelling only. */
static void totals_check(int64_t total, enum accelerate_dtype dtype, const char *expected)
{
    struct accelerate_sizes sizes = {.total_bytes = total, .largest_layer_bytes = total};
    struct accelerate_row row = accelerate_row_of(&sizes, dtype, ACCELERATE_RULE_CURRENT);
    struct text table = {0};
    assert_int_equal(accelerate_table("m", &row, 1, &table, NULL), STATUS_OK);
    if (strstr(text_string(&table), expected) == NULL) {
        fail_msg("'%s' is not in\n%s", expected, text_string(&table));
    }
    text_release(&table);
}

static void test_spelling(void **state)
{
    (void)state;
    totals_check(10033078272, ACCELERATE_FLOAT32, "37.38 GB"); /* gemma-2b */
    totals_check(10033078272, ACCELERATE_FLOAT16, "18.69 GB");
    totals_check(15284318208, ACCELERATE_FLOAT16, "28.47 GB");      /* Phi-3.5-mini */
    totals_check(15284318208, ACCELERATE_FLOAT32, "56.94 GB");      /* "57 GB" */
    totals_check(512, ACCELERATE_FLOAT32, "│512 bytes │");          /* a Python int */
    totals_check(512, ACCELERATE_FLOAT16, "256.0 bytes");           /* a Python float */
    totals_check(512, ACCELERATE_FLOAT16, "│       1.0 KB      │"); /* twice 512, over 1024 */
    totals_check(9437184, ACCELERATE_FLOAT32, "9.0 MB");
    totals_check(INT64_C(1) << 58, ACCELERATE_FLOAT32, "1024.0 PB"); /* the last unit */
}

static void test_stages(void **state)
{
    struct accelerate_sizes sizes = sizes_of("Llama-2-7b", as_published);
    struct accelerate_row row = accelerate_row_of(&sizes, ACCELERATE_FLOAT16, ACCELERATE_RULE_CURRENT);
    (void)state;
    assert_int_equal(row.model_bytes, 26563600384);         /* 24.74 GB */
    assert_int_equal(row.gradients_bytes, 39845400576);     /* 37.11 GB */
    assert_int_equal(row.optimizer_bytes, 2 * 26563600384); /* 49.48 GB */
    assert_int_equal(row.step_bytes, 2 * 26563600384);
    row = accelerate_row_of(&sizes, ACCELERATE_INT8, ACCELERATE_RULE_CURRENT);
    assert_false(row.training_known);
}

/* A name longer than the columns widens the last one, by twice what is missing, as the original does. */
static void test_long_title(void **state)
{
    struct accelerate_sizes sizes = {.total_bytes = 1024, .largest_layer_bytes = 1024};
    struct accelerate_row row = accelerate_row_of(&sizes, ACCELERATE_INT4, ACCELERATE_RULE_CURRENT);
    struct text table = {0};
    (void)state;
    assert_int_equal(accelerate_table("an-owner/a-name-that-is-longer-than-é", &row, 1, &table, NULL), STATUS_OK);
    assert_string_equal(text_string(&table),
                        "┌─────────────────────────────────────────────────────────────────────────┐\n"
                        "│     Memory Usage for loading `an-owner/a-name-that-is-longer-than-é`    │\n"
                        "├─────┬─────────────┬───────────┬─────────────────────────────────────────┤\n"
                        "│dtype│Largest Layer│ Total Size│           Training using Adam           │\n"
                        "├─────┼─────────────┼───────────┼─────────────────────────────────────────┤\n"
                        "│ int4│ 128.0 bytes │128.0 bytes│                   N/A                   │\n"
                        "└─────┴─────────────┴───────────┴─────────────────────────────────────────┘\n");
    text_release(&table);
}

static void test_json(void **state)
{
    struct config config = config_of("bert-base-cased");
    struct accelerate_sizes sizes = sizes_of("bert-base-cased", (struct accelerate_options){0});
    struct accelerate_row rows[] = {accelerate_row_of(&sizes, ACCELERATE_FLOAT32, ACCELERATE_RULE_CURRENT),
                                    accelerate_row_of(&sizes, ACCELERATE_INT4, ACCELERATE_RULE_CURRENT)};
    struct text text = {0};
    (void)state;
    struct json *document = accelerate_to_json("bert-base-cased", &config, &sizes, rows, 2);
    assert_int_equal(json_write(document, 0, &text, NULL), STATUS_OK);
    assert_string_equal(
        text_string(&text),
        "{\"model\": \"bert-base-cased\", \"family\": \"bert\", \"parameter_count\": 108310272, "
        "\"buffer_bytes\": 8192, \"rows\": [{\"dtype\": \"float32\", \"largest_layer_bytes\": 90669056, "
        "\"total_bytes\": 433249280, \"training_adam_bytes\": 1732997120}, {\"dtype\": \"int4\", "
        "\"largest_layer_bytes\": 11333632, \"total_bytes\": 54156160, \"training_adam_bytes\": null}]}");
    text_release(&text);
    json_release(document);
}

static void test_names(void **state)
{
    enum accelerate_dtype dtype = ACCELERATE_INT8;
    enum accelerate_rule rule = ACCELERATE_RULE_CURRENT;
    struct status error = {0};
    (void)state;
    assert_int_equal(accelerate_dtype_find("bfloat16", &dtype, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "accelerate's table has no row for 'bfloat16'; write float16, which takes as many bytes");
    assert_int_equal(dtype, ACCELERATE_INT8);
    assert_int_equal(accelerate_dtype_find("int4", &dtype, NULL), STATUS_OK);
    assert_int_equal(dtype, ACCELERATE_INT4);
    assert_int_equal(accelerate_rule_find("0.24", &rule, &error), STATUS_INVALID);
    assert_string_equal(error.text, "rule '0.24' is not known; write one of: current, 0.23");
    assert_int_equal(accelerate_rule_find("0.23", &rule, NULL), STATUS_OK);
    assert_int_equal(rule, ACCELERATE_RULE_0_23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_sizes),
        cmocka_unit_test(test_split_blocks),
        cmocka_unit_test(test_idefics_layer),
        cmocka_unit_test(test_releases),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_published_cells),
        cmocka_unit_test(test_spelling),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_long_title),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
