/* What newcomers type: words of other tools, help and version in every place, and suggestions that are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

enum { WORDS_MAXIMUM = 14 };

static struct command_result assay(const char *const *words)
{
    const char *all[WORDS_MAXIMUM + 2] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        all[i + 1] = words[i];
    }
    const char *const environment[] = {"COLUMNS=100", "NO_COLOR=1", "HF_HUB_OFFLINE=1", NULL};
    return command_run(all, environment);
}

static void help_works_in_every_place(void **state)
{
    (void)state;
    static const struct {
        const char *golden; /* a file of tests/cli/golden */
        const char *words[WORDS_MAXIMUM];
    } rows[] = {
        {"estimate-help.txt", {"help", "estimate"}},
        {"estimate-help.txt", {"estimate", "-h"}},
        {"estimate-help.txt", {"estimate", "gpt2", "--mode", "-h"}},
        {"estimate-help.txt", {"--help", "estimate"}},
        {"program-help.txt", {"help"}},
        {"program-help.txt", {"help", "help"}},
        {"program-help.txt", {"-h"}},
        {"program-help.txt", {"--help"}},
        {"gpus.txt", {"gpus"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        char path[128];
        snprintf(path, sizeof path, "tests/cli/golden/%s", rows[i].golden);
        char *expected = whole_file_read(path);
        assert_string_equal(text_string(&result.output), expected);
        assert_string_equal(text_string(&result.error), "");
        assert_int_equal(result.exit_code, 0);
        free(expected);
        command_result_release(&result);
    }
}

/* With the revision that the build noted, which is another one at each commit, and none in a release. */
static void the_version_works_in_every_place(void **state)
{
    (void)state;
    static const char *const rows[][WORDS_MAXIMUM] = {
        {"--version"}, {"-V"}, {"version"}, {"estimate", "gpt2", "-V"}, {"run", "--version"}};
    const char *const asked[WORDS_MAXIMUM] = {"version", "--json"};
    struct command_result result = assay(asked);
    struct json *document = NULL;
    assert_int_equal(json_parse_text("version", text_string(&result.output), result.output.length, &document, NULL), 0);
    assert_string_equal(json_string_or(json_get(document, "name"), ""), "assay");
    assert_string_equal(json_string_or(json_get(document, "version"), ""), "0.1.0");
    const char *revision = json_string_or(json_get(document, "revision"), NULL);
    char expected[256], note[PATH_MAX];
    snprintf(expected, sizeof expected, revision != NULL ? "assay 0.1.0 (%s)\n" : "assay 0.1.0\n", revision);
    snprintf(note, sizeof note, "%.*s/revision", (int)(strrchr(program_path(), '/') - program_path()), program_path());
    char *noted = whole_file_read(note);
    noted[strcspn(noted, "\n")] = '\0';
    assert_string_equal(noted, revision != NULL ? revision : "");
    free(noted);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result said = assay(rows[i]);
        assert_string_equal(text_string(&said.output), expected);
        assert_string_equal(text_string(&said.error), "");
        assert_int_equal(said.exit_code, 0);
        command_result_release(&said);
    }
    json_release(document);
    command_result_release(&result);
}

static const struct {
    const char *words[WORDS_MAXIMUM];
    const char *error;
} suggestions[] = {
    {{"list"}, "assay: unknown command 'list'; did you mean models?\n"},
    {{"estimate-memory", "gpt2"}, "assay: unknown command 'estimate-memory'; did you mean estimate?\n"},
    {{"help", "modles"}, "assay: unknown command 'modles'; did you mean models?\n"},
    {{"plot"}, "assay: unknown command 'plot'; assay --help lists them\n"},
    {{"estimate", "gpt2", "--lora", "8"},
     "assay: estimate: unknown option '--lora'; did you mean --lora-rank, --lora-targets or --lora-dropout?\n"},
    {{"estimate", "gpt2", "--batch-size", "8"},
     "assay: estimate: unknown option '--batch-size'; did you mean --batch?\n"},
    {{"estimate", "gpt2", "--max_new_tokens=8"},
     "assay: estimate: unknown option '--max_new_tokens'; did you mean --new-tokens?\n"},
    {{"estimate", "gpt2", "--dtype", "bf16"},
     "assay: estimate: unknown option '--dtype'; did you mean --precision or --dtypes?\n"},
    {{"estimate", "gpt2", "--quantum", "8"},
     "assay: estimate: unknown option '--quantum'; assay estimate --help lists them\n"},
    {{"fit", "gpt2", "--gpu", "h100"}, "assay: fit: unknown option '--gpu'; did you mean --on?\n"},
    {{"run", "suites/quick.yaml", "--wait-device", "5d"},
     "assay: run: --wait-device: '5d' is not an integer; write digits alone, without 'd'\n"},
    {{"run", "suites/quick.yaml", "--wait-device", "8000h"},
     "assay: run: --wait-device 8000h: 8000 is out of range; write an integer from 0 to 168\n"},
    {{"fit", "gpt2", "--mode", "load", "--on", "24GiB"},
     "assay: fit: --on: '24GiB' is a size and no GPU; write --memory 24GiB\n"},
    {{"fit", "gpt2", "--mode", "load", "--memory", "24"},
     "assay: fit: --memory: '24' has no unit; write 24GiB (1024s) or 24GB (1000s)\n"},
    {{"fit", "gpt2", "--mode", "load", "--memory", "24GiB", "--overhead", "800"},
     "assay: fit: --overhead: '800' has no unit; write 800MiB (1024s) or 800MB (1000s)\n"},
    {{"fit", "gpt2", "--mode", "load", "--memory", "80G"},
     "assay: fit: --memory: '80G' leaves open whether it counts in 1000s or in 1024s; write 80GB (1000s) or 80GiB "
     "(1024s)\n"},
    {{"estimate", "gpt2", "--mode", "train", "--batch", "8", "16"},
     "assay: estimate: '16' is one operand too many; write lists with commas: 8,16\n"},
    {{"estimate", "gpt2", "training"}, "assay: estimate: 'training' is one operand too many; write --mode train\n"},
    {{"fit", "gpt2", "h200"}, "assay: fit: 'h200' is one operand too many; write --on \"NVIDIA H200\"\n"},
    {{"limit", "gpt2", "--mode", "train", "--memory", "24GiB", "--of", "batch_size"},
     "assay: limit: --of batch_size is not known; did you mean batch?\n"},
    {{"fit", "gpt2", "--mode", "load", "--memory", "24GB,16GB"},
     "assay: fit: --memory: '24GB,16GB' is more than one size; write one, as in 24GiB\n"},
    {{"fit", "gpt2", "--mode", "load", "--memory", "24 GB GB"},
     "assay: fit: --memory: '24 GB GB' is more than one size; write one, as in 24GiB\n"},
    {{"fit", "gpt2", "--mode", "load", "--memory", "24,5GiB"},
     "assay: fit: --memory: '24,5GiB' has a comma in its number; write 24.5GiB\n"},
    {{"estimate", "gpt2", "--mode", "infer", "--batch", "99999999999999999999"},
     "assay: --batch: '99999999999999999999' does not fit 63 bits; write at most 1048576\n"},
    {{"estimate", "gpt2", "--mode", "infer", "--padding", "yes"},
     "assay: estimate: --padding: 'yes' is not known; write true or false\n"},
    {{"gpus", "voodoo"},
     "assay: gpus: no name and no class of a GPU has 'voodoo' in it; assay gpus lists all of them\n"},
    {{"run", "quick"},
     "assay: quick: cannot be opened: No such file or directory; name a suite file, as suites/quick.yaml\n"},
    {{"estimate", "suites/placement.yaml"},
     "assay: suites/placement.yaml is a suite, and no model; assay plan predicts its cases, and assay run measures "
     "them\n"},
    {{"plan", "gpt2"},
     "assay: gpt2: cannot be opened: No such file or directory; name a suite file, or a model with the options of "
     "a "
     "case, as --mode load\n"},
    {{"report", "results/reference/host-intel-r-xeon-r-processor", "--rule", "1.2", "--wasteful", "10"},
     "assay: report: --wasteful: '10' is not a percentage below 1000; write one such as 0.5%\n"},
    {{"estimate", "gpt2", "--mode", "infer", "--for", "sm_999"},
     "assay: estimate: --for: 'sm_999' is not a device class; it is one of sm_90, sm_70, sm_75, sm_80, sm_86, "
     "sm_87, sm_89, sm_100, sm_103, sm_110, sm_120, sm_121, host, or a GPU of assay gpus\n"},
    {{"fit", "gpt2", "--mode", "load", "--on", "507"},
     "assay: fit: --on: '507' may be \"NVIDIA GeForce RTX 5070\" or \"NVIDIA GeForce RTX 5070 Ti\"; write the "
     "whole "
     "name, or --memory SIZE\n"},
    {{"fit", "gpt2", "--mode", "load", "--on", "1080 ti"},
     "assay: fit: --on: '1080 ti' is no GPU whose memory is known here; assay gpus lists those that are, or write "
     "its memory as --memory SIZE\n"},
    {{"factor", "gpt2", "--on", "RTX 9999"},
     "assay: factor: --on: 'RTX 9999' is no GPU whose memory is known here; assay gpus lists those that are\n"},
    {{"factor", "gpt2", "--on", "24GiB"},
     "assay: factor: --on: '24GiB' is a size and no GPU; assay gpus lists the names\n"},
    {{"factor", "gpt2", "--on", "507"},
     "assay: factor: --on: '507' may be \"NVIDIA GeForce RTX 5070\" or \"NVIDIA GeForce RTX 5070 Ti\"; write the "
     "whole name\n"},
    {{"place", "gpt2", "--on", "24GiB"},
     "assay: place: --on: '24GiB' is a size and no GPU; write --max-memory 0=24GiB\n"},
    {{"chain", "gpt2", "--on", "RTX 9999"},
     "assay: chain: --on: 'RTX 9999' is no GPU whose memory is known here; assay gpus lists those that are, or write "
     "its memory as --max-memory 0=SIZE\n"},
    {{"estimate", "gpt2", "--mode", "infer", "--seq", "4k"},
     "assay: --seq: '4k' is not an integer; write 4000 or 4096\n"},
};

static void suggestions_are_right_or_there_are_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof suggestions / sizeof suggestions[0]; i++) {
        struct command_result result = assay(suggestions[i].words);
        assert_string_equal(text_string(&result.error), suggestions[i].error);
        assert_string_equal(text_string(&result.output), "");
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

/* The id is printed with the values' own names. */
static void words_of_other_tools_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *first_line;
    } rows[] = {
        {{"estimate", "tiny-gpt2", "--mode", "training", "--precision", "BF16", "--optimizer", "AdamW", "--for", "cpu",
          "--seq", "64"},
         "tiny-gpt2/train/bfloat16/b1/s64/adamw-foreach, predicted for host\n"},
        {{"estimate", "tiny-gpt2", "--mode", "inference", "--precision", "half", "--attention", "flash_attention_2",
          "--for", "a100", "--seq", "64"},
         "tiny-gpt2/infer/float16/b1/s64, predicted for sm_80\n"},
        {{"fit", "tiny-gpt2", "--mode", "load", "--precision", "fp32", "--on", "rtx4090"},
         "tiny-gpt2/load/float32, predicted for sm_89:128\n"},
        {{"fit", "tiny-gpt2", "--mode", "load", "--on", "h100"}, "tiny-gpt2/load/float32, predicted for sm_90\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        assert_string_equal(text_string(&result.error), "");
        assert_ptr_equal(strstr(text_string(&result.output), rows[i].first_line), text_string(&result.output));
        command_result_release(&result);
    }
}

static void models_are_filtered_by_a_part_of_a_name(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *has, *lacks;
    } rows[] = {
        {{"models", "llama"}, "meta-llama/Llama-3.1-8B ", "gpt2"},
        {{"models", "BLOOM-5"}, "bigscience/bloom-560m ", "Llama"},
        {{"models", "*-3.2-?b"}, "meta-llama/Llama-3.2-1B ", "Llama-3.1"},
        {{"models", "resnet", "--json"}, "\"timm/resnet50.a1_in1k\"", "vgg"},
        {{"models", "gpt2"}, "gpt2 ", "gpt2-xl"}, /* a model's own name is that model */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        assert_int_equal(result.exit_code, 0);
        assert_non_null(strstr(text_string(&result.output), rows[i].has));
        assert_null(strstr(text_string(&result.output), rows[i].lacks));
        command_result_release(&result);
    }
}

/* No class of devices describes AMD's: what is taken instead is said, wherever such a GPU is named. */
static void what_stands_in_for_a_gpu_is_said(void **state)
{
    (void)state;
    static const char *const commands[][WORDS_MAXIMUM] = {
        {"fit", "tiny-gpt2", "--mode", "load", "--on", "mi300x"},
        {"estimate", "tiny-gpt2", "--mode", "infer", "--seq", "8,16", "--on", "MI300X"},
        {"plan", "tests/cli/data/small-suite.yaml", "--filter", "*/load/*", "--on", "AMD Instinct MI300X"}};
    for (size_t i = 0; i < 3; i++) {
        char note[200];
        snprintf(note, sizeof note,
                 "assay: %s: kernels and workspaces of AMD Instinct MI300X are not modelled; those of sm_90 are taken, "
                 "and its memory\n",
                 commands[i][0]);
        struct command_result result = assay(commands[i]);
        assert_string_equal(text_string(&result.error), note);
        command_result_release(&result);
    }
}

static void a_twin_is_said_to_be_one(void **state)
{
    (void)state;
    static const char *const words[] = {"models", "Llama-3.1-8B-Instruct", NULL};
    struct command_result result = assay(words);
    assert_string_equal(text_string(&result.error), "assay: models: Llama-3.1-8B-Instruct is taken for "
                                                    "meta-llama/Llama-3.1-8B of the catalogue, whose sizes are the "
                                                    "same\n");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_works_in_every_place),
        cmocka_unit_test(the_version_works_in_every_place),
        cmocka_unit_test(suggestions_are_right_or_there_are_none),
        cmocka_unit_test(words_of_other_tools_are_understood),
        cmocka_unit_test(models_are_filtered_by_a_part_of_a_name),
        cmocka_unit_test(what_stands_in_for_a_gpu_is_said),
        cmocka_unit_test(a_twin_is_said_to_be_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
