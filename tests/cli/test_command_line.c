/* The command line as its callers see it: exit code, standard output against golden files, standard error whole. A
 * golden file is changed by hand, together with the line of the change log that announces it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/report/report.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

enum { WORDS_MAXIMUM = 12 };

static struct command_result assay(const char *const *words)
{
    const char *all[WORDS_MAXIMUM + 2] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        all[i + 1] = words[i];
    }
    const char *const environment[] = {"COLUMNS=100", "NO_COLOR=1", NULL};
    return command_run(all, environment);
}

struct golden_row {
    const char *golden; /* a file of tests/cli/golden */
    const char *words[WORDS_MAXIMUM];
};

static void expect_golden(const struct golden_row *rows, size_t count, int exit_code)
{
    for (size_t i = 0; i < count; i++) {
        struct command_result result = assay(rows[i].words);
        char path[128];
        snprintf(path, sizeof path, "tests/cli/golden/%s", rows[i].golden);
        char *expected = whole_file_read(path);
        assert_string_equal(text_string(&result.output), expected);
        assert_string_equal(text_string(&result.error), "");
        assert_int_equal(result.exit_code, exit_code);
        free(expected);
        command_result_release(&result);
    }
}

static void output_equals_golden_files(void **state)
{
    (void)state;
    static const struct golden_row rows[] = {
        {"models-help.txt", {"models", "--help"}},
        {"estimate-help.txt", {"estimate", "--help"}},
        {"estimate-bert.txt", {"estimate", "bert-base-cased"}},
        {"estimate-bert.json", {"estimate", "bert-base-cased", "--json"}},
        {"estimate-bert-0.23.txt", {"estimate", "bert-base-cased", "--dtypes", "float32", "int8", "--rule", "0.23"}},
        {"estimate-resnet50.txt", {"estimate", "timm/resnet50.a1_in1k"}},
        {"estimators.txt", {"estimators"}},
        {"estimate-bert-load.txt", {"estimate", "bert-base-cased", "--mode", "load"}},
        {"estimate-tiny-gpt2-peak.txt",
         {"estimate", "tiny-gpt2", "--mode=generate", "--seq=8", "--new-tokens=4", "--for=host", "--peak=highest"}},
        {"plan-small-ids.txt", {"plan", "tests/cli/data/small-suite.yaml", "--ids"}},
        {"run-help.txt", {"run", "--help"}},
        {"plan-small-ids.txt",
         {"plan", "tests/cli/data/small-suite.yaml", "--ids", "--filter=*/load/*", "--filter", "*/train/*", "--not",
          "no case of these"}},
        {"plan-small-load.txt", {"plan", "tests/cli/data/small-suite.yaml", "--not", "*/train/*"}},
        {"plan-small-load.txt", {"plan", "--filter", "*/load/*", "tests/cli/data/small-suite.yaml"}},
        {"hardware-4gpu.txt", {"hardware", "--topology", "tests/hardware/hwloc-4gpu.xml"}},
        {"replay-help.txt", {"replay", "-h"}},
        {"models-gpt2.txt", {"models", "gpt2"}},
        {"weights-help.txt", {"weights", "--help"}},
        {"weights-tiny-gguf.txt", {"weights", "tests/checkpoint/vectors/tiny-llama.gguf"}},
        {"weights-tiny-gguf.json", {"weights", "tests/checkpoint/vectors/tiny-llama.gguf", "--json"}},
        {"estimate-tiny-gguf-load.txt",
         {"estimate", "tests/checkpoint/vectors/tiny-llama.gguf", "--mode", "load", "--precision", "float32"}},
        {"models-gpt2.json", {"models", "--json", "gpt2"}},
        {"models-tiny-gpt2-tensors.txt", {"models", "tiny-gpt2", "--tensors", "--head", "lm"}},
        {"models-tiny-mistral-tensors.json", {"models", "--tensors", "--json", "tiny-mistral"}},
        {"replay-small.txt", {"replay", "tests/cli/data/small-trace.json"}},
        {"replay-small.json", {"replay", "tests/cli/data/small-trace.json", "--json"}},
        {"replay-small-plain.txt", {"replay", "--allocator=plain", "--", "tests/cli/data/small-trace.json"}},
        {"replay-record.txt", {"replay", "tests/memory/vectors/record-events.json"}},
        {"replay-record-peak.txt", {"replay", "tests/memory/vectors/record-events.json", "--peak", "load"}},
        {"replay-snapshot.txt", {"replay", "--device", "0", "tests/memory/vectors/record-snapshot.json"}},
        {"replay-record-plain.txt", {"replay", "--allocator", "plain", "tests/memory/vectors/record-events.json"}},
    };
    expect_golden(rows, sizeof rows / sizeof rows[0], 0);
}

static void a_replay_unlike_its_record_exits_with_1(void **state)
{
    (void)state;
    static const struct golden_row rows[] = {
        {"replay-differing.txt", {"replay", "tests/cli/data/differing-trace.json"}},
        {"replay-differing.json", {"replay", "--json", "tests/cli/data/differing-trace.json"}},
    };
    expect_golden(rows, sizeof rows / sizeof rows[0], 1);
}

struct wrong_words {
    const char *words[WORDS_MAXIMUM];
    const char *error;
};

static void expect_errors(const struct wrong_words *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct command_result result = assay(rows[i].words);
        assert_string_equal(text_string(&result.error), rows[i].error);
        assert_string_equal(text_string(&result.output), "");
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

static void wrong_words_are_answered_in_one_line(void **state)
{
    (void)state;
    static const struct wrong_words rows[] = {
        {{NULL}, "assay: a command is missing; assay --help lists them\n"},
        {{"modles"}, "assay: unknown command 'modles'; did you mean models?\n"},
        {{"--jsn"}, "assay: unknown option '--jsn'; before a command stand --help and --version alone\n"},
        {{"models", "--jsn"}, "assay: models: unknown option '--jsn'; did you mean --json?\n"},
        {{"models", "--jsn=1"}, "assay: models: unknown option '--jsn'; did you mean --json?\n"},
        {{"models", "-v"}, "assay: models: unknown option '-v'; assay models --help lists them\n"},
        {{"models", "--head="}, "assay: models: --head needs a value; write --head bare|lm\n"},
        {{"models", "--head", ""}, "assay: models: --head needs a value; write --head bare|lm\n"},
        {{"measure"}, "assay: unknown command 'measure'; did you mean run?\n"},
        {{"models", "--json=yes"}, "assay: models: --json takes no value; write --json\n"},
        {{"models", "--json", "--json"}, "assay: models: --json is given twice; keep one\n"},
        {{"models", "gpt2", "--head", "tail"},
         "assay: --head: 'tail' is not known; write one of: bare, lm, causal-lm, masked-lm, "
         "seq2seq-lm, image, sequence, token, question, encoder, embedding\n"},
        {{"models", "gpt2", "bert-base-cased"},
         "assay: models: 'bert-base-cased' is one operand too many; write assay models [MODEL]\n"},
        {{"models", "--tensors"},
         "assay: models: --tensors and --head are for one model; write assay models MODEL --tensors\n"},
        {{"estimate"}, "assay: estimate: an operand is missing; write assay estimate MODEL\n"},
        {{"estimate", "gpt2", "--dtypes"},
         "assay: estimate: --dtypes needs at least one value; assay estimate --help lists them\n"},
        {{"estimate", "gpt2", "--batch", "8"},
         "assay: estimate: the case has no mode; add --mode load, infer, generate or train\n"},
        {{"estimate", "gpt2", "--mode", "load", "--peak", "backwards"},
         "assay: estimate: --peak: 'backwards' is no stage; use load, forward, backward, step, generate or highest\n"},
        {{"estimate", "gpt2", "--mode", "load", "--peak", "step"},
         "assay: estimate: --peak: the case has no stage step\n"},
        {{"estimate", "gpt2", "--mode", "load", "--rule", "0.23"},
         "assay: estimate: --rule belongs to the table without --mode; leave one out\n"},
        {{"estimate", "gpt2", "--mode", "infer", "--checkpointing"},
         "assay: --checkpointing: mode infer has no backward pass; write false, or --mode train\n"},
        {{"estimate", "gpt2", "--mode", "train", "--tensor-parallel", "5"},
         "assay: tensor degree 5 does not divide the 12 heads of gpt2; write 4\n"},
        {{"estimate", "gpt2", "--mode", "train", "--pipeline-parallel", "5"},
         "assay: pipeline degree 5 does not divide the 12 layers of gpt2; write 4\n"},
        {{"estimate", "gpt2", "--mode", "train", "--data-parallel", "1e3"},
         "assay: --data-parallel: '1e3' is not an integer; write 1000\n"},
        {{"estimate", "gpt2", "--mode", "load", "--data-parallel", "2", "--peak", "load"},
         "assay: estimate: --peak is about one device with the whole model; leave it or the degrees out\n"},
        {{"replay"}, "assay: replay: an operand is missing; write assay replay TRACE.json\n"},
        {{"replay", "--allocator", "best", "x"}, "assay: replay: 'best' is not an allocator; write caching or plain\n"},
        {{"replay", "--device", "x", "x"},
         "assay: replay: --device: 'x' is not an integer; write decimal digits, as in 16\n"},
        {{"replay", "--device=0", "tests/cli/data/small-trace.json"},
         "tests/cli/data/small-trace.json:1:1: it has no \"device_traces\" to choose a device from; leave --device "
         "out\n"},
        {{"replay", "--device=1", "tests/memory/vectors/record-snapshot.json"},
         "tests/memory/vectors/record-snapshot.json:1:1: device 1 has no events among the 2 devices of the snapshot\n"},
    };
    expect_errors(rows, sizeof rows / sizeof rows[0]);
}

static void wrong_files_are_answered_with_the_place(void **state)
{
    (void)state;
    static const struct wrong_words rows[] = {
        {{"plan", "tests/cli/data/absent.yaml"},
         "assay: tests/cli/data/absent.yaml: cannot be opened: No such file or directory; name a suite file\n"},
        {{"plan", "tests/cli/data/unknown-key-suite.yaml"},
         "tests/cli/data/unknown-key-suite.yaml:6:5: unknown key 'bach' in a case; did you mean 'batch'?\n"},
        {{"plan", "tests/cli/data/wrong-type-suite.yaml"},
         "tests/cli/data/wrong-type-suite.yaml:6:12: batch: '4k' is not an integer; write 4000 or 4096\n"},
        {{"plan", "tests/cli/data/empty-suite.yaml"},
         "tests/cli/data/empty-suite.yaml:1:1: the suite expands to nothing: every combination is excluded; "
         "shorten 'exclude'\n"},
        {{"plan", "tests/cli/data/million-suite.yaml"},
         "tests/cli/data/million-suite.yaml:4:5: this case expands to more than 1000000 combinations; shorten "
         "its "
         "lists\n"},
        {{"plan", "tests/cli/data/unknown-estimator-suite.yaml"},
         "tests/cli/data/unknown-estimator-suite.yaml:4:3: there is no estimator 'reply'; did you mean "
         "'replay'?\n"},
        {{"plan", "tests/cli/data/small-suite.yaml", "--filter", "x"},
         "assay: plan: no case of tests/cli/data/small-suite.yaml matches 'x'; assay plan "
         "tests/cli/data/small-suite.yaml --ids lists them\n"},
        {{"plan", "tests/cli/data/small-suite.yaml", "--filter", "*", "--filter", "x"},
         "assay: plan: no case of tests/cli/data/small-suite.yaml matches 'x'; assay plan "
         "tests/cli/data/small-suite.yaml --ids lists them\n"},
        {{"plan", "tests/cli/data/small-suite.yaml", "--filter=!*/load/*"},
         "assay: plan: --filter !*/load/*: to leave cases out, write --not \"*/load/*\"\n"},
        {{"run", "tests/cli/data/small-suite.yaml", "--filter", "*", "--not"},
         "assay: run: --not needs a value; write --not GLOB\n"},
        {{"run", "tests/cli/data/small-suite.yaml", "--repeat", "0"},
         "assay: run: --repeat: 0 is out of range; write an integer from 1 to 1000\n"},
        {{"hardware", "--topology", "tests/cli/data/small-suite.yaml"},
         "assay: tests/cli/data/small-suite.yaml: not a topology in hwloc's XML of version 2; write one with lstopo "
         "--of xml\n"},
        {{"report", "tests/cli/data", "--format", "pdf"},
         "assay: 'pdf' is not a format; use " REPORT_FORMAT_WORDS "\n"},
        {{"report", "tests/cli/data/absent"},
         "assay: tests/cli/data/absent: cannot be opened: No such file or directory; name a folder that a run has "
         "written\n"},
        {{"compare", "tests/cli/data/absent", "tests/cli/data/absent"},
         "assay: tests/cli/data/absent: cannot be opened: No such file or directory; name a folder that a run has "
         "written\n"},
        {{"compare", "tests/cli/data/absent"}, "assay: compare: an operand is missing; write assay compare BASE NEW\n"},
        {{"replay", "tests/cli/data/absent.json"},
         "assay: tests/cli/data/absent.json: cannot be opened: No such file or directory\n"},
        {{"replay", "tests/cli/data/cut-trace.json"},
         "tests/cli/data/cut-trace.json:2:1: ']' expected near end of file; the document is cut short; fetch or "
         "write the file again\n"},
    };
    expect_errors(rows, sizeof rows / sizeof rows[0]);
}

static void wrong_models_exit_with_2_and_a_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        const char *error; /* part of it */
    } rows[] = {
        {"bert-base-casd", "nearest names: 'bert-base-cased'"},
        {"tests/cli/data/absent.json", "absent.json': No such file or directory"},
        {"tests/cli/data/cut-config.json", "cut-config.json:3:1: "},
        {"tests/cli/data/zero-heads-config.json", "zero-heads-config.json:1:219: num_attention_heads: "},
        {"tests/cli/data/undivided-config.json", "undivided-config.json:1:219: "},
        {"tests/cli/data/overflow-config.json", "63 bits"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {"models", rows[i].model, NULL};
        struct command_result result = assay(words);
        if (strstr(text_string(&result.error), rows[i].error) == NULL) {
            print_error("%s: %s", rows[i].model, text_string(&result.error));
        }
        assert_non_null(strstr(text_string(&result.error), rows[i].error));
        assert_ptr_equal(strchr(text_string(&result.error), '\n'),
                         text_string(&result.error) + result.error.length - 1); /* one line */
        assert_string_equal(text_string(&result.output), "");
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

static void wrong_fields_of_a_case_exit_with_2_and_a_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value;
        const char *error; /* part of it */
    } rows[] = {
        {"--batch", "16abc", "'16abc' is not an integer; write digits alone, without 'abc'"},
        {"--batch", "0", "0 is out of range"},
        {"--seq", "1e3", "'1e3' is not an integer"},
        {"--seq", "010", "'010' has a leading zero; write 10"},
        {"--batch", "99999999999999999999", "does not fit 63 bits"},
        {"--precision", "float7", "write one of: float32"},
        {"--optimizer", "adamz", "adam-foreach"},
        {"--optimizer", "lion", "it is not modelled; sgd-momentum has one state of each parameter, too"},
        {"--for", "sm_1", "sm_90"},
        {"--checkpointing=perhaps", NULL, "--checkpointing: 'perhaps' is not known; write one of: false, true"},
        /* a suite's words become options where options were given */
        {"--head", "bare", "head bare: training needs a loss; write --head lm"},
        {"--precision", "int8", "with --lora-rank 8, or write bfloat16"},
        {"--seq", "4000", "--seq 4000 is more than the 1024 positions of gpt2; write at most 1024"},
        {"--prepare-kbit", NULL, "assay: --prepare-kbit: mode train in float32 trains no adapters"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {"estimate", "gpt2", "--mode", "train", rows[i].option, rows[i].value, NULL};
        struct command_result result = assay(words);
        if (strstr(text_string(&result.error), rows[i].error) == NULL) {
            print_error("%s %s: %s", rows[i].option, rows[i].value, text_string(&result.error));
        }
        assert_non_null(strstr(text_string(&result.error), rows[i].error));
        assert_string_equal(text_string(&result.output), "");
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

/* As in suites: an option that says nothing about the case is a slip, and not passed over. */
static void options_that_say_nothing_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *error; /* part of it */
    } rows[] = {
        {{"estimate", "timm/resnet18.a1_in1k", "--mode", "infer", "--seq", "8"},
         "assay: estimate: --seq says nothing about timm/resnet18.a1_in1k in mode infer, float32; leave it out\n"},
        {{"estimate", "timm/resnet18.a1_in1k", "--mode", "infer", "--padding"}, "--padding says nothing about"},
        {{"estimate", "timm/resnet18.a1_in1k", "--mode", "infer", "--attention", "eager"}, "--attention says nothing"},
        {{"estimate", "timm/resnet18.a1_in1k", "--mode", "train", "--lora-rank", "8"}, "--lora-rank says nothing"},
        {{"estimate", "gpt2", "--mode", "train", "--new-tokens", "8"}, "leave it out, or write --mode generate\n"},
        {{"estimate", "gpt2", "--mode", "infer", "--cache", "dynamic"}, "leave it out, or write --mode generate\n"},
        {{"estimate", "gpt2", "--mode", "load", "--new-tokens", "8"},
         "--new-tokens says nothing about gpt2 in mode load"},
        {{"estimate", "gpt2", "--mode", "load", "--batch", "8"}, "--batch says nothing about gpt2 in mode load"},
        {{"estimate", "gpt2", "--mode", "infer", "--quantize", "all"}, "or write --precision int8, int4 or fp8\n"},
        {{"explain", "gpt2", "--mode", "train", "--lora-targets", "linear"}, "leave it out, or add --lora-rank 8\n"},
        {{"fit", "gpt2", "--mode", "load", "--seq", "8", "--memory", "1GiB"},
         "assay: fit: --seq says nothing about gpt2"},
        {{"peaks", "gpt2", "--mode", "train", "--over", "new_tokens=1..8"},
         "assay: peaks: --over: a case of gpt2 in mode train has no new_tokens; choose another\n"},
        {{"peaks", "gpt2", "--mode", "load", "--over", "batch=1..8"}, "a case of gpt2 in mode load has no batch"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        if (strstr(text_string(&result.error), rows[i].error) == NULL) {
            fail_msg("%s %s: %s", rows[i].words[0], rows[i].words[4], text_string(&result.error));
        }
        assert_string_equal(text_string(&result.output), "");
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

/* What says no is true of every case, and what a remedy asks for is taken: "write 1", "write --cache-dtype auto". */
static void options_that_say_no_are_taken(void **state)
{
    (void)state;
    static const char *const rows[][WORDS_MAXIMUM] = {
        {"estimate", "timm/resnet18.a1_in1k", "--mode", "train", "--padding=false", "--lora-rank=0"},
        {"estimate", "timm/resnet18.a1_in1k", "--mode", "train", "--logits", "all"},
        {"estimate", "tiny-llama", "--mode", "infer", "--accumulate", "1", "--beams", "1", "--cache-dtype", "auto"},
        {"estimate", "tiny-llama", "--mode", "generate", "--cache", "static", "--cache-dtype", "auto"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i]);
        assert_string_equal(text_string(&result.error), "");
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
    }
}

/* What a configuration says of its file and is not modelled is told, once, and what is modelled instead. */
static void weights_in_fp8_are_told(void **state)
{
    (void)state;
    static const char told[] = ": the weights of deepseek-ai/DeepSeek-V3 are published in fp8, with scales "
                               "(quantization_config); they are weighed in the precision that is asked for, as "
                               "transformers gives them with dequantize\n";
    static const char *const commands[][WORDS_MAXIMUM] = {
        {"estimate", "deepseek-ai/DeepSeek-V3"},
        {"fit", "deepseek-ai/DeepSeek-V3", "--mode", "load", "--memory", "1TiB", "--precision", "bfloat16"},
        {"plan", "tests/cli/data/fp8-suite.yaml"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char expected[512];
        snprintf(expected, sizeof expected, "assay: %s%s", commands[i][0], told);
        struct command_result result = assay(commands[i]);
        assert_string_equal(text_string(&result.error), expected);
        command_result_release(&result);
    }
    const char *const words[] = {"estimate", "deepseek-ai/DeepSeek-V2", NULL};
    struct command_result result = assay(words);
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
}

/* The other cases are planned; the exit code is the one that a run would end with. */
static void a_case_that_cannot_be_predicted_is_told(void **state)
{
    (void)state;
    const char *const words[] = {"plan", "tests/cli/data/long-sequence-suite.yaml", NULL};
    struct command_result result = assay(words);
    assert_string_equal(text_string(&result.error),
                        "assay: plan: tiny-bert/infer/float32/b1/s4096 cannot be predicted: seq: 4096 is "
                        "more than the 64 positions of tiny-bert; write at most 64\n"
                        "assay: plan: exit code 3: INCONCLUSIVE: 1 of 2 cases cannot be predicted\n");
    assert_non_null(strstr(text_string(&result.output), " MiB  tiny-bert/infer/float32/b1/s16\n"));
    assert_non_null(strstr(text_string(&result.output), "           -  tiny-bert/infer/float32/b1/s4096\n"));
    assert_int_equal(result.exit_code, 3);
    command_result_release(&result);
}

static void json_is_one_document(void **state)
{
    (void)state;
    static const char *const rows[][WORDS_MAXIMUM] = {
        {"models", "--json"},
        {"hardware", "--json"},
        {"plan", "--json", "tests/cli/data/small-suite.yaml"},
        {"estimate", "--json", "gpt2"},
        {"estimate", "--json", "tiny-bert", "--mode", "train", "--seq=8"},
        {"models", "--json", "bert-base-cased", "--tensors"},
        {"replay", "--json", "tests/cli/data/small-trace.json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i]);
        struct json *document = NULL;
        struct status error = {0};
        assert_int_equal(result.exit_code, 0);
        assert_int_equal(
            json_parse_text("output", text_string(&result.output), result.output.length, &document, &error), STATUS_OK);
        assert_int_equal(json_kind(document), JSON_KIND_OBJECT);
        json_release(document);
        command_result_release(&result);
    }
}

static void help_names_every_command_and_each_answers(void **state)
{
    (void)state;
    const char *const words[] = {"--help", NULL};
    struct command_result result = assay(words);
    assert_int_equal(result.exit_code, 0);
    static const char *const names[] = {"hardware", "models", "weights", "estimate",  "estimators", "plan",
                                        "run",      "report", "compare", "calibrate", "replay"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %s ", names[i]);
        assert_non_null(strstr(text_string(&result.output), line));
        const char *const command_words[] = {names[i], "--unknown", "--help", NULL};
        struct command_result help = assay(command_words);
        snprintf(line, sizeof line, "usage: assay %s ", names[i]);
        assert_int_equal(strncmp(text_string(&help.output), line, strlen(line)), 0);
        assert_int_equal(help.exit_code, 0);
        command_result_release(&help);
    }
    command_result_release(&result);
}

static void a_full_disk_is_not_success(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "exec %s models --json >/dev/full", program_path());
    const char *const words[] = {"sh", "-c", command, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 2);
    assert_string_equal(text_string(&result.error),
                        "assay: the result could not be written to standard output: No space left on device\n");
    command_result_release(&result);
}

/* The program as it is called from the root of the file system. */
static struct command_result assay_from_root(const char *words_text)
{
    char here[4096];
    char command[8192];
    assert_non_null(getcwd(here, sizeof here));
    const char *program = program_path();
    snprintf(command, sizeof command, "cd / && exec %s%s%s %s", program[0] == '/' ? "" : here,
             program[0] == '/' ? "" : "/", program, words_text);
    const char *const words[] = {"sh", "-c", command, NULL};
    return command_run(words, NULL);
}

static void resources_are_found_from_any_folder(void **state)
{
    (void)state;
    struct command_result result = assay_from_root("models gpt2");
    assert_string_equal(text_string(&result.error), "");
    assert_non_null(strstr(text_string(&result.output), "124439808"));
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    result = assay_from_root("plan suites/selftest.yaml --ids");
    assert_string_equal(text_string(&result.output), "tiny-bert/load/float32\ntiny-gpt2/load/float32\n");
    command_result_release(&result);
    result = assay_from_root("plan selftest.yaml");
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_equals_golden_files),
        cmocka_unit_test(a_replay_unlike_its_record_exits_with_1),
        cmocka_unit_test(wrong_words_are_answered_in_one_line),
        cmocka_unit_test(wrong_files_are_answered_with_the_place),
        cmocka_unit_test(wrong_models_exit_with_2_and_a_remedy),
        cmocka_unit_test(wrong_fields_of_a_case_exit_with_2_and_a_remedy),
        cmocka_unit_test(options_that_say_nothing_are_refused),
        cmocka_unit_test(options_that_say_no_are_taken),
        cmocka_unit_test(weights_in_fp8_are_told),
        cmocka_unit_test(a_case_that_cannot_be_predicted_is_told),
        cmocka_unit_test(json_is_one_document),
        cmocka_unit_test(help_names_every_command_and_each_answers),
        cmocka_unit_test(a_full_disk_is_not_success),
        cmocka_unit_test(resources_are_found_from_any_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
