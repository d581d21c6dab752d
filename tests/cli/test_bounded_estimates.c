/* Predictions on a device of a given memory, lists of cases, and that a plan says what a run on that device would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

enum { WORDS_MAXIMUM = 20 };

static struct command_result assay(const char *const *words)
{
    const char *all[WORDS_MAXIMUM + 2] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        all[i + 1] = words[i];
    }
    const char *const environment[] = {"COLUMNS=200", "NO_COLOR=1", "HF_HUB_OFFLINE=1", NULL};
    return command_run(all, environment);
}

static struct json *document_of(const char *const *words, int exit_code)
{
    struct json *document = NULL;
    struct status error = {0};
    struct command_result result = assay(words);
    assert_int_equal(result.exit_code, exit_code);
    assert_int_equal(json_parse_text("output", text_string(&result.output), result.output.length, &document, &error),
                     STATUS_OK);
    command_result_release(&result);
    return document;
}

static const struct json *replay_of(const struct json *document)
{
    return json_get(json_get(document, "estimates"), "replay");
}

static int64_t figure(const struct json *replay, const char *name)
{
    return json_integer_or(json_get(replay, name), -1);
}

/* In the same words, so that a difference is seen. */
static void assert_same(const struct json *a, const struct json *b)
{
    struct text left = {0}, right = {0};
    assert_int_equal(json_write(a, 0, &left, NULL), STATUS_OK);
    assert_int_equal(json_write(b, 0, &right, NULL), STATUS_OK);
    assert_string_equal(text_string(&left), text_string(&right));
    text_release(&left);
    text_release(&right);
}

#define GROWING "estimate", "gpt2", "--mode", "generate", "--batch", "64", "--seq", "16", "--new-tokens", "200"

/* A cache that grows by copying leaves a segment of every size behind; on a device they are given back. */
static void a_bound_makes_the_allocator_give_back(void **state)
{
    (void)state;
    static const char *const unbounded[] = {GROWING, "--json", NULL}, *const text[] = {GROWING, NULL};
    static const char *const bounded[] = {GROWING, "--memory", "2GiB", "--json", NULL};
    static const char *const too_small[] = {GROWING, "--memory", "600MiB", "--overhead", "100MiB", "--json", NULL};
    struct json *free_document = document_of(unbounded, 0), *document = document_of(bounded, 0);
    int64_t allocated = figure(replay_of(free_document), "allocated_bytes_peak");
    assert_true(figure(replay_of(free_document), "reserved_bytes_peak") > 2 * allocated);
    assert_null(json_get(replay_of(free_document), "fits"));
    assert_true(figure(replay_of(document), "reserved_bytes_peak") <= INT64_C(2147483648));
    assert_true(figure(replay_of(document), "reserved_bytes_peak") >= allocated);
    assert_int_equal(figure(replay_of(document), "allocated_bytes_peak"), allocated);
    assert_string_equal(json_string_or(json_get(replay_of(document), "fits"), ""), "yes");
    assert_int_equal(figure(document, "memory_bytes"), INT64_C(2147483648));
    json_release(document);
    json_release(free_document);
    document = document_of(too_small, 0);
    assert_int_equal(figure(replay_of(document), "memory_bytes"), INT64_C(524288000));
    assert_string_equal(json_string_or(json_get(replay_of(document), "fits"), ""), "no");
    assert_int_equal(json_kind(json_get(replay_of(document), "reserved_bytes_peak")), JSON_KIND_NULL);
    assert_non_null(
        strstr(json_string_or(json_get(replay_of(document), "note"), ""), "it does not fit 500.00 MiB: in "));
    json_release(document);
    struct command_result result = assay(text);
    assert_non_null(strstr(text_string(&result.output), "times allocated: without a limit the allocator keeps every "
                                                        "segment; --memory SIZE or --on GPU"));
    command_result_release(&result);
}

static void a_list_has_a_row_and_a_document_for_each_case(void **state)
{
    (void)state;
    static const char *const rows[] = {"estimate", "tiny-gpt2",   "--mode",    "train",       "--seq",
                                       "32",       "--precision", "bf16,fp32", "--batch=1,4", NULL};
    static const char *const json[] = {"estimate",    "tiny-gpt2", "--mode",      "train",  "--seq", "32",
                                       "--precision", "bf16,fp32", "--batch=1,4", "--json", NULL};
    static const char *const single[] = {"estimate",    "tiny-gpt2", "--mode",    "train",  "--seq", "32",
                                         "--precision", "fp32",      "--batch=1", "--json", NULL};
    static const char *const ids[] = {"tiny-gpt2/train/plain-loop/bfloat16/b1/s32/adamw-foreach/use-cache/outputs-kept",
                                      "tiny-gpt2/train/plain-loop/bfloat16/b4/s32/adamw-foreach/use-cache/outputs-kept",
                                      "tiny-gpt2/train/plain-loop/float32/b1/s32/adamw-foreach/use-cache/outputs-kept",
                                      "tiny-gpt2/train/plain-loop/float32/b4/s32/adamw-foreach/use-cache/outputs-kept"};
    /* A row leaves out what the line above the table says of all. */
    static const char *const names[] = {
        "tiny-gpt2/train/bfloat16/b1/s32/adamw-foreach\n", "tiny-gpt2/train/bfloat16/b4/s32/adamw-foreach\n",
        "tiny-gpt2/train/float32/b1/s32/adamw-foreach\n", "tiny-gpt2/train/float32/b4/s32/adamw-foreach\n"};
    struct command_result result = assay(rows);
    struct json *document = document_of(json, 0), *one = document_of(single, 0);
    const struct json *cases = json_get(document, "cases");
    const char *place =
        strstr(text_string(&result.output), "\nprogram plain-loop, the default: use_cache true, outputs kept\n\n");
    assert_non_null(place);
    assert_int_equal(json_count(cases), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(json_string_or(json_get(json_at(cases, i), "id"), ""), ids[i]);
        place = strstr(place, names[i]);
        assert_non_null(place);
    }
    assert_same(json_at(cases, 2), one);
    json_release(one);
    json_release(document);
    command_result_release(&result);
    static const char *const wrong[][10] = {{"estimate", "tiny-gpt2", "--mode", "load,", NULL},
                                            {"estimate", "tiny-gpt2", "--mode", "infer", "--batch", "1,000", NULL},
                                            {"estimate", "tiny-gpt2", "--mode", "infer", "--seq", "8,x", NULL}};
    static const char *const errors[] = {
        "assay: estimate: --mode load, has an empty value; write one between two commas\n",
        "assay: --batch: '1,000' is not an integer; write 1000\n",
        "assay: --seq: 'x' is not an integer; write decimal digits, as in 16\n"};
    for (size_t i = 0; i < 3; i++) {
        result = assay(wrong[i]);
        assert_string_equal(text_string(&result.error), errors[i]);
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

static const char suite[] = "version: 1\nname: agree\ncases:\n"
                            "  - {model: tiny-gpt2, mode: [infer, train], batch: [1, 4], seq: 32}\n"
                            "  - {model: tiny-llama, mode: generate, seq: 8, new_tokens: 8, memory: 64MiB}\n"
                            "  - {model: tiny-resnet, mode: train, batch: 2}\n";

/* Field by field, for all that estimators say. Constants of the machine are left out: a plan knows no machine. */
static void a_plan_for_the_host_says_what_a_run_on_it_predicts(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-bounded-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[512], out[512], records[600];
    snprintf(path, sizeof path, "%s/agree.yaml", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(records, sizeof records, "%s/records.jsonl", out);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(suite, 1, sizeof suite - 1, file), sizeof suite - 1);
    fclose(file);
    const char *const plan[] = {"plan", path, "--for", "cpu", "--json", NULL};
    const char *const run[] = {"run",  path,      "--device",       "cpu", "--out", out, "--constants",
                               "none", "--quiet", "--records-only", NULL};
    struct json *planned = document_of(plan, 0);
    struct command_result result = assay(run);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    char *text = whole_file_read(records);
    size_t index = 0;
    for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct json *record = NULL;
        assert_int_equal(json_parse_text("line", line, strcspn(line, "\n"), &record, NULL), STATUS_OK);
        if (strcmp(json_string_or(json_get(record, "type"), ""), "case") == 0) {
            const struct json *row = json_at(json_get(planned, "cases"), index++);
            assert_string_equal(json_string_or(json_get(row, "id"), ""), json_string_or(json_get(record, "id"), ""));
            assert_string_equal(json_string_or(json_get(row, "target"), ""), "host");
            assert_same(json_get(row, "estimates"), json_get(record, "estimates"));
        }
        json_release(record);
    }
    assert_int_equal(index, 6);
    assert_int_equal(figure(replay_of(json_at(json_get(planned, "cases"), 4)), "memory_bytes"), 67108864);
    free(text);
    json_release(planned);
    scratch_folder_remove(folder);
}

/* The first case line of a run of one tiny case under `memory: 1MiB`, less than a segment; the caller releases it. */
static struct json *tiny_record(const char *device, int exit_code)
{
    char folder[] = "/tmp/assay-bounded-XXXXXX", path[512], out[512], records[600];
    struct json *record = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tiny.yaml", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(records, sizeof records, "%s/records.jsonl", out);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("version: 1\nname: tiny\nmemory: 1MiB\ncases:\n  - {model: tiny-gpt2, mode: load}\n", file);
    fclose(file);
    const char *const run[] = {"run", path, "--device", device, "--out", out, "--quiet", "--records-only", NULL};
    struct command_result result = assay(run);
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
    char *text = whole_file_read(records);
    const char *line = strstr(text, "{\"type\": \"case\"");
    assert_non_null(line);
    assert_int_equal(json_parse_text("line", line, strcspn(line, "\n"), &record, NULL), STATUS_OK);
    free(text);
    scratch_folder_remove(folder);
    return record;
}

/* What bounds the prediction bounds the device, and a bound that was asked for goes before it. */
static void the_memory_of_a_suite_bounds_host_and_meta(void **state)
{
    (void)state;
    static const struct {
        const char *device, *status, *fits, *spec;
        int exit_code;
    } rows[] = {
        {"host", "oom", "no", "host:mem=1048576B", 3},
        {"meta", "oom", "no", "meta:mem=1048576B", 3},
        {"host:mem=64MiB", "ok", "yes", "host:mem=64MiB", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *record = tiny_record(rows[i].device, rows[i].exit_code);
        assert_string_equal(json_string_or(json_get(record, "status"), ""), rows[i].status);
        assert_string_equal(json_string_or(json_get(replay_of(record), "fits"), ""), rows[i].fits);
        assert_string_equal(json_string_or(json_get(json_get(record, "device"), "spec"), ""), rows[i].spec);
        json_release(record);
    }
}

static void a_plan_names_its_target(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *heading;
    } rows[] = {
        {{"plan", "tests/cli/data/small-suite.yaml", "--filter", "*/load/*"}, ", predicted for sm_90\n"},
        {{"plan", "tests/cli/data/small-suite.yaml", "--filter", "*/load/*", "--for", "cpu"}, ", predicted for host\n"},
        {{"plan", "tests/cli/data/small-suite.yaml", "--filter", "*/load/*", "--on", "L4", "--overhead", "34MiB"},
         ", predicted for sm_89:58 with 22.46 GiB for segments\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        assert_non_null(strstr(text_string(&result.output), rows[i].heading));
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
    }
}

/* A model with lists is a suite that nobody wrote: what says nothing about a case is no case twice. */
static void a_plan_of_a_model_multiplies_lists(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *output, *error;
        int exit_code;
    } rows[] = {
        {{"plan", "tiny-gpt2", "--mode", "load,infer", "--seq", "8,16", "--precision=bf16", "--ids"},
         "tiny-gpt2/load/bfloat16\ntiny-gpt2/infer/plain-loop/bfloat16/b1/s8/use-cache/outputs-kept\n"
         "tiny-gpt2/infer/plain-loop/bfloat16/b1/s16/use-cache/outputs-kept\n",
         "",
         0},
        {{"plan", "tiny-gpt2", "--mode", "infer", "--release", "transformers=4.51,transformers=4.46+torch=2.4", "--ids",
          "--program", "lean-loop"},
         "tiny-gpt2/infer/float32/b1/s128/transformers=4.51\n"
         "tiny-gpt2/infer/float32/b1/s128/transformers=4.46+torch=2.4\n",
         "",
         0},
        {{"plan", "tiny-gpt2", "--mode", "infer", "--seq", "8,64k"},
         "",
         "assay: --seq: '64k' is not an integer; write 64000 or 65536\n",
         2},
        {{"plan", "tests/cli/data/small-suite.yaml", "--batch", "8"},
         "",
         "assay: plan: tests/cli/data/small-suite.yaml is a suite, which names its own cases; leave the options of a "
         "case out, or name a model\n",
         2},
        {{"plan", "tiny-gpt2", "--mode", "infer", "--batch", "{8: x}"},
         "",
         "assay: plan: --batch: '{8: x}' is no value, and no list of values with commas\n",
         2},
        {{"plan", "tiny-gpt2", "--seq", "8"},
         "",
         "assay: plan: the cases have no mode; add --mode load, infer, generate or train\n",
         2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        assert_string_equal(text_string(&result.error), rows[i].error);
        assert_string_equal(text_string(&result.output), rows[i].output);
        assert_int_equal(result.exit_code, rows[i].exit_code);
        command_result_release(&result);
    }
}

static void cases_that_do_not_fit_are_counted(void **state)
{
    (void)state;
    static const char *const words[] = {"plan",     "tiny-gpt2", "--mode", "infer", "--seq", "8",
                                        "--memory", "1MiB",      "--for",  "host",  NULL};
    struct command_result result = assay(words);
    assert_non_null(
        strstr(text_string(&result.output),
               "           -  tiny-gpt2/infer/plain-loop/float32/b1/s8/use-cache/outputs-kept: does not fit\n\n"
               "1 of 1 cases do not fit\n"));
    assert_string_equal(text_string(&result.error), "");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* The answer's own line says what was taken off, and --memory alone says how to take it off. */
static void answers_say_what_was_taken_off(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *line;
    } rows[] = {
        {{"limit", "tiny-gpt2", "--mode", "infer", "--seq", "8", "--of", "batch", "--memory", "64MiB"},
         " (nothing is taken off for context and libraries; --overhead SIZE does that)\n"},
        {{"limit", "tiny-gpt2", "--mode", "infer", "--seq", "8", "--of", "batch", "--memory", "64MiB", "--overhead",
          "4MiB"},
         " (4.00 MiB taken off for context and libraries, --overhead)\n"},
        {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "64MiB"},
         " left (nothing is taken off for context and libraries; --overhead SIZE does that)\n"},
        {{"fit", "tiny-gpt2", "--mode", "load", "--on", "RTX 4090"},
         " left (up to 1010.32 MiB taken off for context and libraries, from published figures)\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        assert_non_null(strstr(text_string(&result.output), rows[i].line));
        command_result_release(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_makes_the_allocator_give_back),
        cmocka_unit_test(a_list_has_a_row_and_a_document_for_each_case),
        cmocka_unit_test(a_plan_for_the_host_says_what_a_run_on_it_predicts),
        cmocka_unit_test(the_memory_of_a_suite_bounds_host_and_meta),
        cmocka_unit_test(a_plan_names_its_target),
        cmocka_unit_test(answers_say_what_was_taken_off),
        cmocka_unit_test(a_plan_of_a_model_multiplies_lists),
        cmocka_unit_test(cases_that_do_not_fit_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
