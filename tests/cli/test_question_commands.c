/* The commands that answer questions, as their callers see them: exit codes, refusals word by word, JSON. */
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
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

enum { WORDS_MAXIMUM = 16 };

static struct command_result assay(const char *const *words)
{
    const char *all[WORDS_MAXIMUM + 2] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        all[i + 1] = words[i];
    }
    return command_run(all, NULL);
}

static const struct {
    const char *words[WORDS_MAXIMUM];
    const char *error;
} refusals[] = {
    {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "10gb"},
     "assay: fit: --memory: '10gb' leaves open whether it counts in 1000s or in 1024s; write 10GB (1000s) or 10GiB "
     "(1024s)\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "1GiB", "--margin", "some"},
     "assay: fit: --margin: 'some' is no percentage; write 0 to 1000, as 5%\n"},
    {{"fit", "tiny-gpt2", "--mode", "load"}, "assay: fit: no device is named; add --on GPU or --memory SIZE\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "0"},
     "assay: fit: --memory 0 holds nothing; write a size such as 24GiB\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "1GiB", "--on", "H200"},
     "assay: fit: --on and --memory name two devices; leave one out\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--on", "A100"},
     "assay: fit: --on: 'A100' may be \"NVIDIA A100-SXM4-80GB\" or \"NVIDIA A100-SXM4-40GB\"; write the whole "
     "name, or "
     "--memory "
     "SIZE\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--on", "H200", "--for", "sm_80"},
     "assay: fit: --for sm_80, but the device is of class sm_90; leave --for out\n"},
    {{"fit", "tiny-gpt2", "--memory", "1GiB"},
     "assay: fit: the case has no mode; add --mode load, infer, generate or train\n"},
    {{"limit", "tiny-gpt2", "--mode", "infer", "--memory", "1GiB"},
     "assay: limit: --of is missing; add --of batch, seq or new_tokens\n"},
    {{"limit", "tiny-gpt2", "--mode", "infer", "--memory", "1GiB", "--of", "beams"},
     "assay: limit: --of beams is not known; write batch, seq or new_tokens\n"},
    {{"limit", "tiny-gpt2", "--mode", "infer", "--memory", "1GiB", "--of", "batch", "--batch", "3"},
     "assay: limit: --batch is what assay looks for; leave it out\n"},
    {{"limit", "tiny-gpt2", "--mode", "load", "--memory", "1GiB", "--of", "batch"},
     "assay: a case of tiny-gpt2 in mode load has no batch; choose another\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer"},
     "assay: peaks: --over is missing; add --over seq=128..4096, or --over batch=1..64 seq=128..4096\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq"},
     "assay: peaks: --over 'seq' has no '=' behind a field; write batch=A..B, seq=A..B or new-tokens=A..B\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "sequence=1..8"},
     "assay: peaks: --over 'sequence=1..8': there is no such field; write batch=A..B, seq=A..B or "
     "new-tokens=A..B\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=8..4"},
     "assay: peaks: --over seq=8..4 ends before it begins; write seq=4..8\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=1..8:0"},
     "assay: peaks: --over seq=1..8:0: ':0' is too much: the sizes between are found by halving, not by a step; "
     "write seq=1..8\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=1...8"},
     "assay: peaks: --over seq=1...8 has more than two points; write seq=1..8\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=8"},
     "assay: peaks: --over seq=8 is no range; write seq=A..B, as in seq=1..64\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "batch=..8"},
     "assay: peaks: --over batch=..8 has no beginning; write batch=A..B, as in batch=1..64\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=8.."},
     "assay: peaks: --over seq=8.. has no end; write seq=A..B, as in seq=1..64\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=a..8"},
     "assay: peaks: --over seq=a..8: 'a' is not an integer; write decimal digits, as in 16\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=0..8"},
     "assay: peaks: --over seq=0..8: 0 is out of range; write an integer from 1 to 1048576\n"},
    {{"peaks", "gpt2", "--mode", "infer", "--over", "seq=1..4000"},
     "assay: peaks: --over: seq: 4000 is more than the 1024 positions of gpt2; write at most 1024\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=1..8,batch=1..8,batch=1..8"},
     "assay: peaks: --over has 3 ranges; give one or two, as in --over batch=1..64 seq=128..4096\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--on", "80 GB"},
     "assay: fit: --on: '80 GB' is a size and no GPU; write --memory \"80 GB\"\n"},
    {{"fit", "tiny-gpt2", "--mode", "load", "--precision", "amp", "--memory", "1GiB"},
     "assay: --precision: 'amp': it may be two precisions; write amp-float16 or amp-bfloat16\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--over", "seq=1..8", "seq=1..9"},
     "assay: peaks: --over has two ranges of seq; leave one out\n"},
    {{"peaks", "tiny-gpt2", "--mode", "infer", "--seq", "3", "--over", "seq=1..8"},
     "assay: peaks: --over gives seq a range; leave the option out\n"},
    {{"explain", "tiny-gpt2", "--mode", "load", "--by", "layer"},
     "assay: explain: --by: 'layer' is not known; use tensor, module, category, stage or dtype\n"},
    {{"explain", "tiny-gpt2", "--mode", "load", "--at", "context"},
     "assay: explain: --at: 'context' is no stage; use load, forward, backward, step, generate or highest\n"},
    {{"explain", "tiny-gpt2", "--mode", "load", "--at", "step"}, "assay: the case has no stage step; it has load\n"},
};

static void refusals_say_what_would_be_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct command_result result = assay(refusals[i].words);
        assert_string_equal(text_string(&result.error), refusals[i].error);
        assert_string_equal(text_string(&result.output), "");
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
}

static struct json *document_of(const struct command_result *result)
{
    struct json *document = NULL;
    struct status error = {0};
    const char *text = text_string(&result->output);
    if (json_parse_text("output", text, strlen(text), &document, &error) != STATUS_OK) {
        fail_msg("%s: %s", error.text, text_string(&result->error));
    }
    return document;
}

/* Loading tiny-gpt2 takes one segment of 2 MiB: 0, 1 and 3 are what the command makes of enough, too little, and enough
 * only with the least overhead of a T4 (harness/tape/context_table.h). */
static void exit_codes_follow_the_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        int exit_code;
        enum json_kind fits;
        int64_t margin_low_bytes, margin_high_bytes;
    } rows[] = {
        {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "2MiB", "--json"}, 0, JSON_KIND_BOOLEAN, 0, 0},
        {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "2097151B", "--json"}, 1, JSON_KIND_BOOLEAN, -1, -1},
        {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "3MiB", "--overhead", "1MiB", "--json"},
         0,
         JSON_KIND_BOOLEAN,
         0,
         0},
        {{"fit", "gpt2", "--mode", "infer", "--on", "T4", "--batch", "425", "--json", "--program", "lean-loop"},
         3,
         JSON_KIND_NULL,
         -1,
         1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        struct json *document = document_of(&result);
        assert_int_equal(result.exit_code, rows[i].exit_code);
        assert_int_equal(json_kind(json_get(document, "fits")), rows[i].fits);
        int64_t low = json_integer_or(json_get(document, "margin_low_bytes"), 0);
        int64_t high = json_integer_or(json_get(document, "margin_high_bytes"), 0);
        if (rows[i].fits == JSON_KIND_NULL) {
            assert_true(low < 0 && high >= 0);
        } else {
            assert_int_equal(low, rows[i].margin_low_bytes);
            assert_int_equal(high, rows[i].margin_high_bytes);
        }
        json_release(document);
        command_result_release(&result);
    }
}

/* Each verdict says of which replay its bytes are, and none contradicts itself. */
static void a_verdict_says_what_is_missing_or_left(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM], *says[3];
    } rows[] = {
        {{"fit", "gpt2", "--mode", "infer", "--on", "T4", "--batch", "425", "--program", "lean-loop"},
         {"\ndepends: if it takes the most that it may, ", " too little", "; if it takes the least, "}},
        {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "2097151B"},
         {"\ndoes not fit: 1 B too little (", "while 0 B are held", NULL}},
        {{"fit", "gpt2", "--mode", "train", "--memory", "2558525440B", "--program", "lean-loop"},
         {"\ndepends: if it takes the most", "  segments may be ", "--margin 0 takes them as predicted\n"}},
        {{"fit", "gpt2", "--mode", "train", "--memory", "2558525440B", "--margin", "0", "--program", "lean-loop"},
         {"\nfits: 0 B left (", NULL}},
        {{"fit", "gpt2", "--mode", "train", "--memory", "4GiB", "--for", "RTX 4060", "--overhead", "published"},
         {" left (up to 296.32 MiB taken off for context and libraries, from published figures)\n", NULL}},
        {{"fit", "tiny-gpt2", "--mode", "load", "--memory", "2MiB", "--overhead", "3MiB"},
         {"devices: any number is too few: the overhead alone, 3.00 MiB, is as large as the memory or larger\n", NULL}},
        {{"fit", "SmolLM2-135M", "--mode", "generate", "--batch", "64", "--new-tokens", "4000", "--precision", "bf16",
          "--memory", "7GiB"},
         {" left beside what is allocated (", "gives them back when memory is short\n", "has no bound"}},
        {{"limit", "tiny-gpt2", "--mode", "train", "--seq", "32", "--memory", "80MiB", "--of", "batch"},
         {" does not fit: in ", " wants ", " are held\n"}},
        {{"fit", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_32bit", "--memory", "4GiB"},
         {"\nfits: ", "\nmanaged memory: 948.47 MiB in 100 states of the optimizer, outside of all segments\n",
          "  beside the rest the GPU has room for all of it\n"}},
        {{"fit", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_32bit", "--memory", "1800MiB"},
         {"\nfits: ", "so they keep no case from fitting",
          "  beside the rest the GPU has no room for all of it: each step moves some\n"}},
        {{"limit", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_32bit", "--memory", "2GiB", "--of", "batch"},
         {"\nmanaged memory: 948.47 MiB in 100 states", NULL}},
        {{"explain", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_8bit"},
         {"\nmanaged memory: 237.12 MiB in 100 states", "\n  range: managed memory", NULL}},
        {{"estimate", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_8bit"},
         {"managed memory: bytes", " 248636928 bytes\n", "\n  range: managed memory"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        for (int k = 0; k < 3 && rows[i].says[k] != NULL; k++) {
            if (strstr(text_string(&result.output), rows[i].says[k]) == NULL) {
                fail_msg("'%s' is not in: %s%s", rows[i].says[k], text_string(&result.output),
                         text_string(&result.error));
            }
        }
        command_result_release(&result);
    }
}

static void a_limit_is_told_with_the_next_size(void **state)
{
    (void)state;
    static const char *const words[] = {"limit", "tiny-gpt2", "--mode", "train", "--seq", "32",     "--memory",
                                        "80MiB", "--of",      "batch",  "--for", "host",  "--json", NULL};
    struct command_result result = assay(words);
    struct json *document = document_of(&result);
    const struct json *found = json_get(document, "found"), *next = json_get(document, "next");
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(json_integer_or(json_get(found, "size"), -1), json_integer_or(json_get(document, "limit"), -2));
    assert_int_equal(json_integer_or(json_get(next, "size"), -1), json_integer_or(json_get(document, "limit"), -2) + 1);
    assert_true(json_integer_or(json_get(found, "reserved_bytes_peak"), INT64_MAX) <= 80 << 20);
    assert_true(json_integer_or(json_get(next, "reserved_bytes_peak"), 0) > 80 << 20);
    assert_true(json_boolean_or(json_get(found, "fits"), false));
    assert_false(json_boolean_or(json_get(next, "fits"), true));
    assert_string_equal(json_string_or(json_get(document, "bounded_by"), ""), "memory");
    assert_int_equal(json_integer_or(json_get(json_get(document, "case"), "batch"), 0),
                     json_integer_or(json_get(document, "limit"), -1));
    json_release(document);
    command_result_release(&result);
}

/* As many positions as nobody has, in one layer, so that all of them are replayed in two seconds. */
static const char endless_config[] =
    "{\"model_type\":\"gpt2\",\"architectures\":[\"GPT2LMHeadModel\"],\"vocab_size\":32,\"n_embd\":16,\"n_layer\":1,"
    "\"n_head\":1,\"n_positions\":4000000,\"n_ctx\":4000000}\n";

static void expect_bound(const char *model, const char *word, int64_t limit)
{
    const char *const words[] = {"limit",    model,  "--mode", "generate",   "--seq",  "1",
                                 "--memory", "4TiB", "--of",   "new_tokens", "--json", NULL};
    struct command_result result = assay(words);
    struct json *document = document_of(&result);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(json_string_or(json_get(document, "bounded_by"), ""), word);
    assert_int_equal(json_integer_or(json_get(document, "limit"), -1), limit);
    assert_int_equal(json_kind(json_get(document, "next")), JSON_KIND_NULL);
    json_release(document);
    command_result_release(&result);
}

/* Not memory: the model's positions, or what assay replays. Who reads "model" may believe that no larger size
 * exists. */
static void a_bound_that_is_no_memory_says_whose_it_is(void **state)
{
    (void)state;
    char path[] = "/tmp/assay-endless-XXXXXX.json";
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    assert_int_equal(write(file, endless_config, sizeof endless_config - 1), sizeof endless_config - 1);
    close(file);
    expect_bound("tiny-gpt2", "model", 64);
    expect_bound(path, "program", 1 << 20);
    unlink(path);
}

static void nothing_that_fits_exits_with_1(void **state)
{
    (void)state;
    static const char *const words[] = {"limit", "gpt2", "--mode", "train",  "--memory",
                                        "1MiB",  "--of", "batch",  "--json", NULL};
    struct command_result result = assay(words);
    struct json *document = document_of(&result);
    assert_int_equal(result.exit_code, 1);
    assert_int_equal(json_kind(json_get(document, "limit")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(document, "found")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(json_get(document, "next"), "size"), 0), 1);
    json_release(document);
    command_result_release(&result);
}

static void peaks_are_told_by_range_and_as_a_grid(void **state)
{
    (void)state;
    static const char *const line[] = {"peaks",     "tiny-gpt2", "--mode", "generate", "--new-tokens", "20", "--over",
                                       "seq=1..44", "--for",     "host",   NULL};
    static const char *const grid[] = {"peaks",         "tiny-gpt2", "--mode",     "train",     "--optimizer",
                                       "adamw-foreach", "--over",    "batch=1..6", "seq=4..64", "--for",
                                       "host",          "--program", "lean-loop",  NULL};
    struct command_result result = assay(line);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.output),
                        "tiny-gpt2/generate/float32/b1/s44/n20, predicted for host\n"
                        "\n"
                        "       seq         load      prefill       decode  highest\n"
                        "         1   126.00 KiB   136.50 KiB   147.00 KiB  decode\n"
                        "         4   126.00 KiB   142.50 KiB   149.50 KiB  decode\n"
                        "         5   126.00 KiB   149.50 KiB   149.50 KiB  prefill\n"
                        "        44   126.00 KiB   272.50 KiB   174.50 KiB  prefill\n"
                        "\n"
                        "the last step adds 3.28 KiB (3360 bytes) of tensors at the peak\n");
    command_result_release(&result);
    result = assay(grid);
    assert_string_equal(text_string(&result.output),
                        "tiny-gpt2/train/float32/b6/s64/adamw-foreach, predicted for host\n"
                        "program lean-loop: keeps nothing from pass to pass\n"
                        "\n"
                        "     batch  highest stage by seq\n"
                        "         1  step 4..25, backward 26..64\n"
                        "         2  step 4..12, backward 13..64\n"
                        "         4  step 4..6, backward 7..64\n"
                        "         6  step 4..4, backward 5..64\n");
    command_result_release(&result);
}

static int64_t stacks_sum(const char *path)
{
    char *stacks = whole_file_read(path);
    int64_t sum = 0;
    for (const char *line = stacks; *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *number = memrchr(line, ' ', (size_t)(end - line));
        sum += strtoll(number, NULL, 10);
        line = end + 1;
    }
    free(stacks);
    return sum;
}

/* A table of 80 columns at most, the folded stacks beside it, and both sum to the same. */
static void an_explanation_is_a_table_and_stacks(void **state)
{
    (void)state;
    char path[] = "/tmp/assay-stacks-XXXXXX", last[64];
    assert_int_equal(close(mkstemp(path)), 0);
    const char *const words[] = {"explain", "gpt2", "--mode", "train", "--seq", "64", "--folded", path, NULL};
    struct command_result result = assay(words);
    const char *output = text_string(&result.output);
    assert_int_equal(result.exit_code, 0);
    for (const char *line = output; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_true(strcspn(line, "\n") <= 80);
    }
    snprintf(last, sizeof last, " together, %lld bytes\n", (long long)stacks_sum(path));
    assert_non_null(strstr(output, last));
    assert_int_equal(unlink(path), 0);
    command_result_release(&result);
}

/* Two ranges as people write them. */
static void ranges_are_words_or_parts_or_given_again(void **state)
{
    static const char *const spellings[][4] = {{"--over", "batch=1..4", "seq=1..64"},
                                               {"--over", "batch=1..4,seq=1..64"},
                                               {"--over=batch=1..4", "--over=seq=1..64"}};
    struct text first = {0};
    (void)state;
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        const char *words[10] = {program_path(), "peaks", "tiny-gpt2", "--mode", "infer"};
        memcpy(&words[5], spellings[i], sizeof spellings[i]);
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        if (i == 0) {
            text_append(&first, text_string(&result.output));
        }
        assert_string_equal(text_string(&result.output), text_string(&first));
        command_result_release(&result);
    }
    text_release(&first);
}

static bool says(const char *const *words, const char *part)
{
    struct command_result result = assay(words);
    bool said = strstr(text_string(&result.output), part) != NULL;
    command_result_release(&result);
    return said;
}

/* An option and a field are one name, with '-' or '_', in any case. */
static void a_field_has_the_spelling_of_its_option_too(void **state)
{
    (void)state;
    static const char *const spellings[] = {"new_tokens=1..4", "new-tokens=1..4", "New-Tokens=1..4"};
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        const char *const words[] = {"peaks", "tiny-gpt2", "--mode",     "generate", "--seq",
                                     "8",     "--over",    spellings[i], NULL};
        assert_true(says(words, "tiny-gpt2/generate/float32/b1/s8/n4, predicted for sm_90\n"));
    }
}

/* Of a size whether it fits, of an explanation what does not: both as fit says. */
static void peaks_and_explanations_take_a_device(void **state)
{
    (void)state;
    static const char *const peaks[] = {"peaks",  "gpt2",        "--mode",   "train", "--program", "lean-loop",
                                        "--over", "batch=1..16", "--memory", "4GiB",  NULL};
    static const char *const peaks_json[] = {"peaks",  "gpt2",        "--mode",   "train", "--program", "lean-loop",
                                             "--over", "batch=1..16", "--memory", "4GiB",  "--json",    NULL};
    static const char *const fit[] = {"fit", "gpt2", "--mode", "train", "--memory", "2GiB", "--json", NULL};
    static const char *const explain[] = {"explain", "gpt2", "--mode", "train", "--memory", "2GiB", "--json", NULL};
    static const char *const on[] = {"explain", "gpt2", "--mode", "train", "--on", "L4", NULL};
    assert_true(says(peaks, "  backward\n"));
    assert_true(says(peaks, "  backward, does not fit\n"));
    assert_true(says(on, "predicted for sm_89:58\n"));
    assert_true(says(on, "on NVIDIA L4 with 21.24 GiB for segments: up to 1.25 GiB taken off"));
    struct command_result result = assay(peaks_json);
    struct json *document = document_of(&result);
    const struct json *span = json_at(json_get(json_at(json_get(document, "rows"), 0), "spans"), 0);
    assert_true(json_boolean_or(json_get(json_get(span, "first"), "fits"), false));
    assert_false(json_boolean_or(json_get(json_get(span, "last"), "fits"), true));
    json_release(document);
    command_result_release(&result);
    result = assay(fit);
    struct command_result other = assay(explain);
    struct json *verdict = document_of(&result), *explanation = document_of(&other);
    const struct json *a = json_get(verdict, "refusal"), *b = json_get(json_get(explanation, "peak"), "refusal");
    struct text first = {0}, second = {0};
    assert_int_equal(json_kind(a), JSON_KIND_OBJECT);
    json_write(a, 0, &first, NULL);
    json_write(b, 0, &second, NULL);
    assert_string_equal(text_string(&first), text_string(&second));
    text_release(&first);
    text_release(&second);
    json_release(verdict);
    json_release(explanation);
    command_result_release(&other);
    command_result_release(&result);
}

/* "not even batch 1 fits" is said once. */
static void what_does_not_fit_is_said_once(void **state)
{
    (void)state;
    static const char *const words[] = {"limit", "gpt2",  "--mode",    "train",     "--memory", "1GiB",
                                        "--of",  "batch", "--program", "lean-loop", NULL};
    struct command_result result = assay(words);
    assert_non_null(
        strstr(text_string(&result.output),
               "\nnot even batch 1 fits (nothing is taken off for context and libraries; --overhead SIZE does that)\n"
               "  in backward, transformer.h.2.mlp.c_fc.weight wants 9.00 MiB while 1.00 GiB are held\n"));
    assert_null(strstr(text_string(&result.output), "does not fit"));
    assert_null(strstr(text_string(&result.output), "no larger one"));
    command_result_release(&result);
}

static void constants_that_are_not_there_list_those_that_are(void **state)
{
    (void)state;
    static const char *const words[] = {"estimate", "tiny-gpt2", "--mode", "load", "--constants", "host", NULL};
    struct command_result result = assay(words);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error),
                           "give a file that assay calibrate has written, or a name of results/reference: "));
    assert_non_null(strstr(text_string(&result.error), "host-intel-r-xeon-r-processor"));
    command_result_release(&result);
    static const char *const file[] = {"estimate", "tiny-gpt2", "--mode", "load", "--constants", "gone.json", NULL};
    result = assay(file);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "--constants gone.json: gone.json: cannot be opened"));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_words_or_parts_or_given_again),
        cmocka_unit_test(refusals_say_what_would_be_right),
        cmocka_unit_test(exit_codes_follow_the_verdict),
        cmocka_unit_test(a_verdict_says_what_is_missing_or_left),
        cmocka_unit_test(a_limit_is_told_with_the_next_size),
        cmocka_unit_test(a_bound_that_is_no_memory_says_whose_it_is),
        cmocka_unit_test(nothing_that_fits_exits_with_1),
        cmocka_unit_test(peaks_are_told_by_range_and_as_a_grid),
        cmocka_unit_test(an_explanation_is_a_table_and_stacks),
        cmocka_unit_test(a_field_has_the_spelling_of_its_option_too),
        cmocka_unit_test(peaks_and_explanations_take_a_device),
        cmocka_unit_test(what_does_not_fit_is_said_once),
        cmocka_unit_test(constants_that_are_not_there_list_those_that_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
