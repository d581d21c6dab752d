/* Errors as they are printed: a place for editors that jump to it, keys to those who wrote a suite, options to those
 * who gave options; and a file's name is a name, whatever it looks like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

enum { PATH_ROOM = 4096, LINE_ROOM = 8192 };

static char scratch[40];

static int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/assay-places-XXXXXX");
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

static int scratch_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(scratch);
}

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

/* The error of a command, whole. */
static void assert_refused(const char *command, const char *const *options, const char *expected)
{
    struct command_result result = command_named(command, options);
    assert_string_equal(text_string(&result.error), expected);
    assert_string_equal(text_string(&result.output), "");
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
}

#define WIDTH_FAULT "hidden_size: a string is not a whole number; write one from 1 to 1099511627776\n"

/* A folder whose name has in it what our own messages have: a key, a place, an option. */
static void a_folder_may_be_named_like_a_message(void **state)
{
    static const char *const names[] = {"cache: static", "seq: 4000", "a:1:2: b", "--head lm", "write mode train; x"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char folder[128], path[160], expected[512], suite[160], text[256];
        snprintf(folder, sizeof folder, "%s/%s", scratch, names[i]);
        snprintf(path, sizeof path, "%s/config.json", folder);
        snprintf(expected, sizeof expected, "%s:2:16: " WIDTH_FAULT, path);
        assert_int_equal(mkdir(folder, 0777), 0);
        file_write(path, "{\"model_type\": \"llama\",\n\"hidden_size\": \"x\"}");
        assert_refused("estimate", (const char *const[]){folder, NULL}, expected);
        assert_refused("estimate", (const char *const[]){folder, "--mode", "infer", NULL}, expected);
        assert_refused("explain", (const char *const[]){folder, "--mode", "infer", "--seq", "8", NULL}, expected);
        assert_refused("plan", (const char *const[]){folder, "--mode", "infer", "--batch", "1,2", NULL}, expected);

        snprintf(suite, sizeof suite, "%s/suite: 1.yaml", scratch);
        snprintf(text, sizeof text, "version: 1\nname: a\ncases:\n  - model: '%s'\n    mode: infer\n", folder);
        file_write(suite, text);
        snprintf(expected, sizeof expected, "%s:4:12: %s:2:16: " WIDTH_FAULT, suite, path);
        assert_refused("plan", (const char *const[]){suite, NULL}, expected);
    }
}

/* A command is not the option of the same name: "assay: --batch: --policy foo" was printed. */
static void a_command_may_be_named_like_a_field(void **state)
{
    (void)state;
    assert_refused("batch", (const char *const[]){"gpt2", "--mode", "train", "--policy", "foo", NULL},
                   "assay: batch: --policy foo is not known; write halve, 0.9 or bisect\n");
    assert_refused("place", (const char *const[]){"gpt2", "--max-memory", "0=1GB", "--predict", "--seq", "4000", NULL},
                   "assay: place: this map cannot run: --seq 4000 is more than the 1024 positions of gpt2; write at "
                   "most 1024\n");
}

/* The same fault of a case, for one who gave options and for one who wrote a suite. */
static const struct {
    const char *options[12];
    const char *keys;                  /* of the suite */
    const char *place;                 /* in it */
    const char *of_options, *of_suite; /* what each is told */
} faults[] = {
    {{"--mode", "infer", "--batch", "16abc"},
     "mode: infer\n    batch: 16abc\n",
     "6:12",
     "--batch: '16abc' is not an integer; write digits alone, without 'abc'",
     "batch: '16abc' is not an integer; write digits alone, without 'abc'"},
    {{"--mode", "infer", "--precision", "amp"},
     "mode: infer\n    precision: amp\n",
     "6:16",
     "--precision: 'amp': it may be two precisions; write amp-float16 or amp-bfloat16",
     "precision: 'amp': it may be two precisions; write amp-float16 or amp-bfloat16"},
    {{"--mode", "generate", "--precision", "amp-float16", "--cache-dtype", "int4"},
     "mode: generate\n    precision: amp-float16\n    cache_dtype: int4\n",
     "4:5",
     "--cache-dtype int4: autocast gives keys and values two dtypes, which is not modelled for a quantised cache; "
     "write --precision bfloat16, or --cache-dtype auto",
     "cache_dtype int4: autocast gives keys and values two dtypes, which is not modelled for a quantised cache; "
     "write precision bfloat16, or cache_dtype: auto"},
    {{"--mode", "train", "--precision", "int8"},
     "mode: train\n    precision: int8\n",
     "4:5",
     "--precision int8: quantised weights are not trained; train adapters beside them with --lora-rank 8, or write "
     "bfloat16",
     "precision int8: quantised weights are not trained; train adapters beside them with lora_rank: 8, or write "
     "bfloat16"},
    {{"--mode", "train", "--head", "bare"},
     "mode: train\n    head: bare\n",
     "4:5",
     "--head bare: training needs a loss; write --head lm",
     "head bare: training needs a loss; write head lm"},
    {{"--mode", "train", "--logits", "last"},
     "mode: train\n    logits: last\n",
     "4:5",
     "--logits last: the loss of training is taken over all; write all",
     "logits last: the loss of training is taken over all; write all"},
    {{"--mode", "train", "--release", "torch=1.13"},
     "mode: train\n    release: torch=1.13\n",
     "6:14",
     "--release: '1.13' of torch is before the releases that are known; write one from 2.1 to 2.11, or leave it "
     "out "
     "for 2.11",
     "release: '1.13' of torch is before the releases that are known; write one from 2.1 to 2.11, or leave it out "
     "for 2.11"},
    {{"--mode", "infer", "--loss", "fused"},
     "mode: infer\n    loss: fused\n",
     "6:5",
     "--loss fused: mode infer has no loss; leave it out, or write --mode train",
     "loss fused: mode infer has no loss; leave it out, or write mode train"},
    /* the argument of PyTorch's function, and of the Trainer */
    {{"--mode", "train", "--clip-grad", "1.0"},
     "mode: train\n    clip_grad: 1.0\n",
     "6:16",
     "--clip-grad: '1.0': no size depends on the norm; write foreach, the form that a GPU takes, or single",
     "clip_grad: '1.0': no size depends on the norm; write foreach, the form that a GPU takes, or single"},
    {{"--mode", "train", "--label-smoothing", "0.1"},
     "mode: train\n    label_smoothing: 0.1\n",
     "6:22",
     "--label-smoothing: '0.1': no size depends on how much is smoothed; write trainer (transformers' Trainer) or "
     "cross-entropy (torch's loss)",
     "label_smoothing: '0.1': no size depends on how much is smoothed; write trainer (transformers' Trainer) or "
     "cross-entropy (torch's loss)"},
    /* what asks for no gradient came with the program, and is named */
    {{"--mode", "train", "--program", "hf-trainer", "--optimizer-in-backward"},
     "mode: train\n    program: hf-trainer\n    optimizer_in_backward: true\n",
     "4:5",
     "--optimizer-in-backward: gradients go as soon as their parameters have stepped and are not there for the "
     "norm of all that clips them; write false, or --clip-grad none",
     "optimizer_in_backward: gradients go as soon as their parameters have stepped and are not there for the "
     "norm of all that clips them; write false, or clip_grad: none"},
};

static void a_field_is_spelled_as_its_reader_wrote_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const char *words[16] = {"gpt2"};
        char expected[512], suite[64], text[256];
        memcpy(words + 1, faults[i].options, sizeof faults[i].options);
        snprintf(expected, sizeof expected, "assay: %s\n", faults[i].of_options);
        assert_refused("explain", words, expected);
        assert_refused("plan", words, expected);
        snprintf(suite, sizeof suite, "%s/fields.yaml", scratch);
        snprintf(text, sizeof text, "version: 1\nname: a\ncases:\n  - model: gpt2\n    %s", faults[i].keys);
        file_write(suite, text);
        snprintf(expected, sizeof expected, "%s:%s: %s\n", suite, faults[i].place, faults[i].of_suite);
        assert_refused("plan", (const char *const[]){suite, NULL}, expected);
    }
}

/* A field that says nothing about a case: the remedy is spelled as its reader writes keys. */
static void a_field_that_says_nothing_has_its_remedy(void **state)
{
    static const struct {
        const char *option, *value, *key;  /* of the command line, and of a suite */
        const char *of_options, *of_suite; /* what each should write */
    } rows[] = {
        {"--group-size", "64", "group_size: 64", "--precision int4 and --quantize gptq",
         "precision: int4 and quantize: gptq"},
        {"--lora-dropout", "0.1", "lora_dropout: 0.1", "--lora-rank 8", "lora_rank: 8"},
        {"--grad-scaler", "torch", "grad_scaler: torch", "--precision amp-float16", "precision: amp-float16"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {"gpt2", "--mode", "train", rows[i].option, rows[i].value, NULL};
        char suite[64], text[256];
        snprintf(suite, sizeof suite, "%s/fields.yaml", scratch);
        snprintf(text, sizeof text, "version: 1\nname: a\ncases:\n  - model: gpt2\n    mode: train\n    %s\n",
                 rows[i].key);
        file_write(suite, text);
        struct command_result result = command_named("estimate", words);
        assert_non_null(strstr(text_string(&result.error), rows[i].of_options));
        command_result_release(&result);
        result = command_named("plan", (const char *const[]){suite, NULL});
        assert_non_null(strstr(text_string(&result.error), "says nothing about any combination of this case; remove"));
        assert_non_null(strstr(text_string(&result.error), rows[i].of_suite));
        command_result_release(&result);
    }
}

/* That there is no such thing is true of every case, in a suite as in options. */
static void what_says_no_is_taken_everywhere(void **state)
{
    static const char text[] = "version: 1\nname: a\ncases:\n  - {model: gpt2, mode: infer, checkpointing: false, "
                               "lora_dropout: 0, clip_grad: none, prepare_kbit: false}\n";
    static const char *const words[] = {"gpt2",
                                        "--mode",
                                        "infer",
                                        "--checkpointing=false",
                                        "--lora-dropout",
                                        "0",
                                        "--clip-grad",
                                        "none",
                                        "--prepare-kbit=false",
                                        "--ids",
                                        "--program=lean-loop",
                                        NULL};
    char suite[64];
    (void)state;
    snprintf(suite, sizeof suite, "%s/no.yaml", scratch);
    file_write(suite, text);
    struct command_result of_suite = command_named("plan", (const char *const[]){suite, "--ids", NULL});
    struct command_result of_options = command_named("plan", words);
    assert_string_equal(text_string(&of_suite.error), "");
    assert_int_equal(of_suite.exit_code, 0);
    assert_string_equal(text_string(&of_suite.output), text_string(&of_options.output));
    command_result_release(&of_suite);
    command_result_release(&of_options);
}

/* A path that leaves no room is cut at its beginning, and what is wrong is told whole. */
static void a_long_path_hides_nothing(void **state)
{
    char path[PATH_ROOM], expected[LINE_ROOM];
    (void)state;
    snprintf(path, sizeof path, "%s", scratch);
    for (int i = 0; i < 15; i++) {
        size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "/%0*d", 240, i);
        assert_int_equal(mkdir(path, 0777), 0);
    }
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "/suite.yaml");
    file_write(path, "version: 1\nname: a\ncases:\n  - model: gpt2\n    mode: infer\n    bach: 1\n");
    struct command_result result = command_named("plan", (const char *const[]){path, NULL});
    snprintf(expected, sizeof expected, "%014d/suite.yaml:6:5: unknown key 'bach' in a case; did you mean 'batch'?\n",
             14);
    assert_int_equal(strncmp(text_string(&result.error), "...0", 4), 0);
    command_says(&result.error, expected);
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_may_be_named_like_a_message),
        cmocka_unit_test(a_command_may_be_named_like_a_field),
        cmocka_unit_test(a_field_is_spelled_as_its_reader_wrote_it),
        cmocka_unit_test(a_field_that_says_nothing_has_its_remedy),
        cmocka_unit_test(what_says_no_is_taken_everywhere),
        cmocka_unit_test(a_long_path_hides_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
