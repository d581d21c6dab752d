/* Whose habits a question is about if it names no program: against the loop of the documentation as PyTorch ran it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

/* The line of peers/pytorch/programs.py, which the caller releases. */
static struct json *measured(const char *id)
{
    char *text = whole_file_read("peers/pytorch/programs-torch-2.11.0-transformers-5.23.0.jsonl");
    struct json *found = NULL;
    for (char *line = text; *line != '\0' && found == NULL;) {
        size_t length = strcspn(line, "\n");
        struct json *document = NULL;
        assert_int_equal(json_parse_text("programs", line, length, &document, NULL), STATUS_OK);
        if (strcmp(json_string_or(json_get(document, "id"), ""), id) == 0) {
            found = document;
        } else {
            json_release(document);
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    free(text);
    assert_non_null(found);
    return found;
}

static int64_t measured_peak(const struct json *line)
{
    const struct json *stages = json_get(line, "stages");
    int64_t highest = 0;
    for (const char *stage = NULL; (stage = json_key_after(stages, stage)) != NULL;) {
        int64_t peak = json_integer_or(json_get(json_get(stages, stage), "requested_bytes_peak"), 0);
        highest = peak > highest ? peak : highest;
    }
    return highest;
}

/* Requested bytes at the peak, without the workspaces of libraries, which the meter of the script does not count. */
static int64_t predicted_peak(const char *model, const struct json *line, const char *option, const char *value)
{
    char batch[24], seq[24];
    snprintf(batch, sizeof batch, "%lld", (long long)json_integer_or(json_get(line, "batch"), 0));
    snprintf(seq, sizeof seq, "%lld", (long long)json_integer_or(json_get(line, "seq"), 0));
    const char *mode = json_string_or(json_get(line, "mode"), "");
    const char *precision = json_string_or(json_get(line, "precision"), "");
    const char *const words[] = {model, "--mode", mode,    "--precision", precision, "--batch", batch, "--seq",
                                 seq,   "--for",  "sm_90", "--json",      option,    value,     NULL};
    struct command_result result = command_named("estimate", words);
    struct json *document = command_document(&result);
    const struct json *replay = json_get(json_get(document, "estimates"), "replay");
    int64_t workspace = json_integer_or(json_get(json_get(replay, "categories_at_peak"), "workspace"), 0);
    int64_t peak = json_integer_or(json_get(replay, "requested_bytes_peak"), -1) - workspace;
    json_release(document);
    command_result_release(&result);
    return peak;
}

/* Without a word about the program, an inference is the one that was measured; in training the script holds its labels
 * beside the ids, eight bytes a token, and a case has one tensor for both. */
static void the_default_is_what_people_run(void **state)
{
    static const struct {
        const char *id, *model, *option, *value;
    } rows[] = {
        {"plain-loop/gpt2/infer/float32/b8/s512", "gpt2", NULL, NULL},
        {"plain-loop/gpt2/infer/float32/b8/s512/no-use_cache", "gpt2", "--use-cache", "false"},
        {"plain-loop/gpt2/infer/float32/b8/s512/outputs=dropped", "gpt2", "--outputs", "dropped"},
        {"plain-loop/llama-3.2-1b/infer/bfloat16/b8/s512", "meta-llama/Llama-3.2-1B", NULL, NULL},
        {"plain-loop/gpt2/train/float32/b8/s512", "gpt2", NULL, NULL},
        {"plain-loop/llama-3.2-1b/train/bfloat16/b4/s512", "meta-llama/Llama-3.2-1B", NULL, NULL},
        {"plain-loop/qwen2.5-0.5b/train/amp-bfloat16/b4/s512", "Qwen/Qwen2.5-0.5B", NULL, NULL},
        {"plain-loop/bert-base-cased/train/float32/b8/s512", "bert-base-cased", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *line = measured(rows[i].id);
        bool trains = strcmp(json_string_or(json_get(line, "mode"), ""), "train") == 0;
        int64_t tokens = json_integer_or(json_get(line, "batch"), 0) * json_integer_or(json_get(line, "seq"), 0);
        int64_t predicted = predicted_peak(rows[i].model, line, rows[i].option, rows[i].value);
        int64_t expected = measured_peak(line) - (trains ? 8 * tokens : 0);
        if (predicted != expected) {
            fail_msg("%s: %lld bytes, and PyTorch took %lld", rows[i].id, (long long)predicted, (long long)expected);
        }
        json_release(line);
    }
}

static void the_lean_loop_is_told_and_can_be_asked_for(void **state)
{
    static const char *const lean[] = {"gpt2", "--mode",    "infer",     "--batch", "8",        "--seq",
                                       "512",  "--program", "lean-loop", "--on",    "RTX 4090", NULL};
    static const char *const plain[] = {"gpt2",  "--mode", "infer", "--batch",  "8",
                                        "--seq", "512",    "--on",  "RTX 4090", NULL};
    char told[160], size[64];
    (void)state;
    struct command_result result = command_named("fit", lean);
    command_says(&result.output, "gpt2/infer/float32/b8/s512, predicted for sm_89:128\n"
                                 "program lean-loop: keeps nothing from pass to pass\n\n");
    const char *reserved = strstr(text_string(&result.output), "reserved at the peak");
    assert_non_null(reserved);
    assert_int_equal(sscanf(reserved, "reserved at the peak %63[0-9.] GiB", size), 1);
    command_result_release(&result);
    snprintf(told, sizeof told, "  --program lean-loop, which keeps nothing: %s GiB reserved at the peak\n", size);
    result = command_named("fit", plain);
    command_says(&result.output, "gpt2/infer/float32/b8/s512, predicted for sm_89:128\n"
                                 "program plain-loop, the default: use_cache true, outputs kept\n");
    command_says(&result.output, told);
    command_result_release(&result);
}

/* The name in an answer leaves out what the line of the program says, and nothing that was asked for. */
static void what_was_asked_for_is_named(void **state)
{
    (void)state;
    struct command_result result =
        command_named("estimate", (const char *const[]){"tiny-gpt2", "--mode", "infer", "--seq", "8", "--program",
                                                        "plain-loop", "--outputs", "kept", NULL});
    command_says(&result.output, "tiny-gpt2/infer/plain-loop/float32/b1/s8/outputs-kept, predicted for ");
    command_result_release(&result);
    static const char *const modes[] = {"load", "generate"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        result = command_named("estimate", (const char *const[]){"tiny-gpt2", "--mode", modes[i], NULL});
        assert_null(strstr(text_string(&result.output), "program "));
        command_result_release(&result);
    }
}

static void ids_check(const char *const *words, const char *ids)
{
    struct command_result result = command_named("plan", words);
    assert_string_equal(text_string(&result.output), ids);
    command_result_release(&result);
}

/* Of options; a suite that says the same measures a lean loop. */
static void a_plan_of_a_model_is_a_question_and_a_suite_is_none(void **state)
{
    const struct scratch_scene *scene = *state;
    char path[256];
    ids_check((const char *const[]){"tiny-gpt2", "--mode", "load,infer,train", "--seq", "8", "--ids", NULL},
              "tiny-gpt2/load/float32\n"
              "tiny-gpt2/infer/plain-loop/float32/b1/s8/use-cache/outputs-kept\n"
              "tiny-gpt2/train/plain-loop/float32/b1/s8/adamw-foreach/use-cache/outputs-kept\n");
    snprintf(path, sizeof path, "%s/suite.yaml", scene->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("version: 1\nname: one\ncases:\n  - {model: tiny-gpt2, mode: [load, infer, train], seq: 8}\n", file);
    assert_int_equal(fclose(file), 0);
    ids_check((const char *const[]){path, "--ids", NULL},
              "tiny-gpt2/load/float32\ntiny-gpt2/infer/float32/b1/s8\ntiny-gpt2/train/float32/b1/s8/adamw-fused\n");
}

/* A configuration may say that its class returns no keys and values, as fine-tuned models often do. */
static void a_class_that_returns_no_cache_is_asked_about_without_one(void **state)
{
    const struct scratch_scene *scene = *state;
    char folder[256], path[300], wanted[512];
    snprintf(folder, sizeof folder, "%s/quiet", scene->folder);
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"model_type\": \"gpt2\", \"vocab_size\": 96, \"n_positions\": 64, \"n_embd\": 32, \"n_layer\": 2, "
          "\"n_head\": 4, \"use_cache\": false}\n",
          file);
    assert_int_equal(fclose(file), 0);
    snprintf(wanted, sizeof wanted, "%s/infer/plain-loop/float32/b1/s8/outputs-kept\n", folder);
    ids_check((const char *const[]){folder, "--mode", "infer", "--seq", "8", "--ids", NULL}, wanted);
    struct command_result result =
        command_named("estimate", (const char *const[]){folder, "--mode", "infer", "--seq", "8", NULL});
    command_says(&result.output, "\nprogram plain-loop, the default: outputs kept\n");
    command_result_release(&result);
    result = command_named("estimate",
                           (const char *const[]){folder, "--mode", "infer", "--seq", "8", "--use-cache", "true", NULL});
    command_says(&result.output, "\nprogram plain-loop, the default: use_cache true, outputs kept\n");
    command_result_release(&result);
}

/* Classes of torchtune have no cache in training: their own loop is asked for by the classes alone. */
static void other_classes_have_no_cache(void **state)
{
    (void)state;
    struct command_result result =
        command_named("estimate", (const char *const[]){"tiny-llama", "--mode", "train", "--seq", "8", "--precision",
                                                        "bfloat16", "--model-code", "torchtune", NULL});
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "program plain-loop, the default: ");
    assert_null(strstr(text_string(&result.output), "use_cache true"));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_what_people_run),
        cmocka_unit_test(the_lean_loop_is_told_and_can_be_asked_for),
        cmocka_unit_test(what_was_asked_for_is_named),
        cmocka_unit_test_setup_teardown(a_plan_of_a_model_is_a_question_and_a_suite_is_none, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_class_that_returns_no_cache_is_asked_about_without_one, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test(other_classes_have_no_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
