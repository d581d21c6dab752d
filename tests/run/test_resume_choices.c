/* --resume with each option that chooses cases: alone it goes on with what the run chose, with the same options too,
 * and with others it is refused (the table of docs/FORMAT.md, Records). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

enum { WORDS_MAXIMUM = 8, PATH_BYTES = 128 };

static char folder[64], suite[PATH_BYTES], out[PATH_BYTES], records[PATH_BYTES + 16];

/* Five cases. The first two fail as long as so many bytes are expected of them, and 0 are not. */
static void suite_write(const char *expected)
{
    FILE *file = fopen(suite, "we");
    assert_non_null(file);
    fprintf(file,
            "version: 1\nname: t\ncases:\n"
            "  - {model: [tiny-bert, tiny-gpt2], mode: load, tolerances: {replay: {requested_bytes_peak: 0}}, "
            "expect: {requested_bytes_peak: %s}}\n"
            "  - {model: [tiny-llama, tiny-bert, tiny-gpt2], mode: infer, seq: 8}\n",
            expected);
    assert_int_equal(fclose(file), 0);
}

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-choices-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(suite, sizeof suite, "%s/suite.yaml", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(records, sizeof records, "%s/records.jsonl", out);
    suite_write("1MiB");
    return 0;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_WORDS   ((const char *const[]){NULL})

/* assay run SUITE --device meta --out OUT --records-only and these words ends with this code, and says this. */
static void run_check(const char *const *more, int exit_code, const char *says)
{
    const char *words[8 + WORDS_MAXIMUM] = {program_path(), "run",   suite, "--device",
                                            "meta",         "--out", out,   "--records-only"};
    for (size_t i = 0; more[i] != NULL; i++) {
        assert_true(i + 1 < WORDS_MAXIMUM);
        words[8 + i] = more[i];
    }
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != exit_code || strstr(text_string(&result.error), says) == NULL) {
        fail_msg("exit code %d, not %d with \"%s\":\n%s%s", result.exit_code, exit_code, says,
                 text_string(&result.error), text_string(&result.output));
    }
    command_result_release(&result);
}

/* As a kill leaves the last run: its run line, its `selected` line if wanted, and so many cases. */
static void killed(bool with_selection, int cases)
{
    char *text = whole_file_read(records), *at = text, *last = NULL;
    for (char *line = text; line != NULL; line = strstr(line + 1, "{\"type\": \"run\"")) {
        last = line;
    }
    at = strchr(last, '\n') + 1;
    for (int i = 0; i < (with_selection ? 1 : 0) + cases; i++) {
        at = strchr(at, '\n') + 1;
    }
    assert_int_equal(truncate(records, at - text), 0);
    free(text);
}

/* The folder has so many runs, and the last one these cases, in this order, and is finished. */
static void records_check(int runs, const char *const *ids)
{
    struct record_file file = {0};
    assert_int_equal(record_file_read(out, &file, NULL), STATUS_OK);
    assert_int_equal(file.run_count, runs);
    const struct record_run *run = &file.runs[runs - 1];
    int count = 0;
    for (; ids[count] != NULL; count++) {
        assert_true(count < run->case_count);
        assert_string_equal(json_string_or(json_get(run->cases[count], "id"), ""), ids[count]);
    }
    assert_int_equal(run->case_count, count);
    assert_non_null(run->end);
    assert_false(json_boolean_or(json_get(run->end, "interrupted"), true));
    record_file_release(&file);
}

#define BERT_LOAD   "tiny-bert/load/float32"
#define GPT2_LOAD   "tiny-gpt2/load/float32"
#define LLAMA_INFER "tiny-llama/infer/float32/b1/s8"
#define BERT_INFER  "tiny-bert/infer/float32/b1/s8"
#define GPT2_INFER  "tiny-gpt2/infer/float32/b1/s8"

struct row {
    const char *begun[WORDS_MAXIMUM], *other[WORDS_MAXIMUM]; /* other: options that choose something else */
    const char *ids[WORDS_MAXIMUM];                          /* of all its attempts */
    const char *says;
    int exit_code;
};

static const struct row ROWS[] = {
    {{"--filter", "tiny-gpt2/*"},
     {"--filter", "tiny-bert/*"},
     {GPT2_LOAD, GPT2_INFER},
     "(of its cases: tiny-gpt2/*) goes on: 1 of 2 attempts are there",
     1},
    {{"--not", "*/load/*"},
     {"--not", "*/infer/*"},
     {LLAMA_INFER, BERT_INFER, GPT2_INFER},
     "(of its cases: not */load/*) goes on: 1 of 3 attempts are there",
     0},
    {{"--filter", "tiny-llama/*", "--repeat", "3"},
     {"--filter", "tiny-llama/*"},
     {LLAMA_INFER, LLAMA_INFER, LLAMA_INFER},
     "goes on: 1 of 3 attempts are there",
     0},
    {{"--repeat", "2", "--not", "*/load/*", "--not", "tiny-gpt2/*"},
     {"--repeat", "1", "--not", "*/load/*", "--not", "tiny-gpt2/*"},
     {LLAMA_INFER, LLAMA_INFER, BERT_INFER, BERT_INFER},
     "goes on: 1 of 4 attempts are there",
     0},
    {{"--not", "*/load/*", "--shard", "1/1"},
     {"--shard", "1/1"},
     {LLAMA_INFER, BERT_INFER, GPT2_INFER},
     "(of its cases: not */load/*, shard 1 of 1) goes on: 1 of 3 attempts are there",
     0},
};

/* The words of a row, and --resume behind them. */
static void resumed(const char *const *options, int exit_code, const char *says)
{
    const char *words[WORDS_MAXIMUM] = {NULL};
    int count = 0;
    for (; options[count] != NULL; count++) {
        words[count] = options[count];
    }
    words[count] = "--resume";
    run_check(words, exit_code, says);
}

static void the_same_cases_go_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        for (int with_options = 0; with_options < 2; with_options++) {
            char plan[PATH_BYTES + 16];
            unlink(records);
            snprintf(plan, sizeof plan, "%s/plan.json", out);
            unlink(plan);
            run_check(ROWS[i].begun, ROWS[i].exit_code, "");
            killed(true, 1);
            resumed(ROWS[i].other, 2, "without --filter, --not, --repeat, --shard and --last-failed it goes on with");
            resumed(with_options ? ROWS[i].begun : NO_WORDS, ROWS[i].exit_code, ROWS[i].says);
            records_check(1, ROWS[i].ids);
            resumed(NO_WORDS, ROWS[i].exit_code, " is finished");
        }
    }
}

/* The plan of a part is there before the records: it says what was chosen, even if no line does. */
static void a_part_goes_on_by_its_plan(void **state)
{
    (void)state;
    run_check(WORDS("--not", "*/load/*", "--shard", "1/1"), 0, "");
    killed(false, 0);
    resumed(NO_WORDS, 0, "shard 1 of 1) goes on: 0 of 3 attempts are there");
    records_check(1, ROWS[4].ids);
    killed(true, 1);
    char plan[PATH_BYTES + 16];
    snprintf(plan, sizeof plan, "%s/plan.json", out);
    assert_int_equal(unlink(plan), 0);
    resumed(NO_WORDS, 2, "plan.json: ");
    resumed(WORDS("--not", "*/load/*", "--shard", "1/1"), 0, "goes on: 1 of 3");
}

/* Killed in the moment between its run line and the list of its cases. */
static void what_it_chose_and_did_not_write_has_to_be_said_again(void **state)
{
    (void)state;
    run_check(WORDS("--filter", "tiny-gpt2/*"), 1, "");
    killed(false, 0);
    resumed(NO_WORDS, 2, "what --filter, --not, --shard and --last-failed choose was tiny-gpt2/*, and is not set");
    resumed(WORDS("--filter", "tiny-gpt2/*"), 1, "goes on: 0 of 2 attempts are there");
    killed(true, 1); /* behind a list that was written by the second part of the run */
    resumed(NO_WORDS, 1, "goes on: 1 of 2 attempts are there");
}

static void a_run_that_stopped_goes_on_with_all_or_to_the_next_bound(void **state)
{
    (void)state;
    run_check(WORDS("--max-failures", "1", "--not", "tiny-llama/*"), 1, "stopped early");
    resumed(WORDS("--max-failures", "1"), 1, "has as many failed cases as --max-failures allows; give more");
    resumed(WORDS("--max-failures", "2"), 1, "(of its cases: not tiny-llama/*) goes on: 1 of 4 attempts are there");
    resumed(NO_WORDS, 1, "goes on: 2 of 4 attempts are there");
    records_check(1, WORDS(BERT_LOAD, GPT2_LOAD, BERT_INFER, GPT2_INFER));
}

/* ---- --last-failed ---- */

static void what_failed_goes_on(void **state)
{
    static const char *const options[][2] = {{NULL}, {"--last-failed"}};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        unlink(records);
        suite_write("1MiB");
        run_check(NO_WORDS, 1, "");
        run_check(WORDS("--last-failed"), 1, "[2/2] fail");
        killed(true, 1);
        resumed(options[i], 1, "(of its cases: last failed) goes on: 1 of 2 attempts are there");
        records_check(2, WORDS(BERT_LOAD, GPT2_LOAD));
        resumed(options[i], 1, "(of its cases: last failed) is finished");
        records_check(2, WORDS(BERT_LOAD, GPT2_LOAD));
    }
}

/* With other options it is a part of what failed. */
static void what_failed_of_a_part_goes_on(void **state)
{
    static const char *const part[] = {"--filter", "tiny-gpt2/*", "--repeat", "2", "--last-failed", NULL};
    (void)state;
    run_check(NO_WORDS, 1, "");
    run_check(part, 1, "[2/2] fail");
    killed(true, 1);
    resumed(WORDS("--filter", "tiny-bert/*", "--last-failed"), 2,
            "chose 'tiny-gpt2/*, last failed', and is asked for 'tiny-bert/*, last failed'; leave --filter");
    resumed(WORDS("--filter", "tiny-gpt2/*", "--last-failed"), 2, "the number of attempts was 2, and is 1");
    resumed(WORDS("--filter", "tiny-gpt2/*"), 2, "choose was tiny-gpt2/*, last failed, and is tiny-gpt2/*");
    resumed(part, 1, "goes on: 1 of 2 attempts are there");
    killed(false, 0); /* the second part of the run, which has no list */
    resumed(WORDS("--last-failed"), 1, "goes on: 1 of 2 attempts are there");
    records_check(2, WORDS(GPT2_LOAD, GPT2_LOAD));
}

/* A job that is started again and again with both options: first what failed begins, then it goes on. */
static void both_options_begin_what_failed_behind_a_finished_run(void **state)
{
    (void)state;
    run_check(WORDS("--last-failed", "--resume"), 2, "has no results; run without it first");
    run_check(NO_WORDS, 1, "");
    run_check(WORDS("--last-failed", "--resume"), 1, "is finished; one of what failed begins");
    records_check(2, WORDS(BERT_LOAD, GPT2_LOAD));
}

/* Then nothing begins, and nobody says that it does. */
static void both_options_do_nothing_where_nothing_failed(void **state)
{
    (void)state;
    run_check(WORDS("--not", "*/load/*"), 0, "");
    const char *const words[] = {suite, "--device", "meta", "--out", out, "--last-failed", "--resume", NULL};
    struct command_result result = command_named("run", words);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.error, "; nothing was measured");
    assert_null(strstr(text_string(&result.error), "begins"));
    command_result_release(&result);
    records_check(1, WORDS(LLAMA_INFER, BERT_INFER, GPT2_INFER));
}

static void an_interrupted_run_of_other_cases_has_to_be_finished_first(void **state)
{
    (void)state;
    run_check(NO_WORDS, 1, "");
    killed(true, 3);
    run_check(WORDS("--last-failed", "--resume"), 2,
              "was interrupted and is of other cases; finish it with --resume alone, or leave --resume out");
    resumed(NO_WORDS, 1, "goes on: 3 of 5 attempts are there");
    run_check(WORDS("--last-failed", "--resume"), 1, "one of what failed begins");
}

/* Which cases it had chosen is lost, and so all may be those. */
static void what_failed_begins_anew_if_its_choice_was_not_written(void **state)
{
    (void)state;
    run_check(NO_WORDS, 1, "");
    run_check(WORDS("--last-failed"), 1, "[2/2] fail");
    killed(false, 0);
    run_check(WORDS("--last-failed", "--resume"), 1,
              "was killed before it had written which cases it takes; one of what failed begins");
    records_check(3, WORDS(BERT_LOAD, GPT2_LOAD, LLAMA_INFER, BERT_INFER, GPT2_INFER));
}

/* A pattern that ends like the rule is none. */
static void words_that_look_like_the_rule_are_not_it(void **state)
{
    (void)state;
    run_check(WORDS("--not", "xlast failed"), 1, "");
    killed(true, 1);
    run_check(WORDS("--last-failed", "--resume"), 2, "is of other cases");
}

/* Records of another suite, or such as no program wrote, choose nothing. */
static void a_list_that_is_not_of_the_suite_is_refused(void **state)
{
    (void)state;
    run_check(NO_WORDS, 1, "");
    killed(true, 1);
    char *text = whole_file_read(records);
    FILE *file = fopen(suite, "ae");
    assert_non_null(file);
    fprintf(file, "  - {model: tiny-bert, mode: infer, seq: 9}\n");
    assert_int_equal(fclose(file), 0);
    resumed(NO_WORDS, 2, "the hash of the suite's cases was ");
    suite_write("1MiB");
    char *attempts = strstr(text, "\"attempts\": [1, 1, 1, 1, 1]");
    assert_non_null(attempts);
    memcpy(attempts, "\"attempts\": [0, 1, 1, 1, 2]", strlen("\"attempts\": [0, 1, 1, 1, 2]"));
    file = fopen(records, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    free(text);
    resumed(NO_WORDS, 1, "goes on: 1 of 5 attempts are there");
    records_check(1, WORDS(BERT_LOAD, GPT2_LOAD, LLAMA_INFER, BERT_INFER, GPT2_INFER));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_cases_go_on),
        TEST(a_part_goes_on_by_its_plan),
        TEST(what_it_chose_and_did_not_write_has_to_be_said_again),
        TEST(a_run_that_stopped_goes_on_with_all_or_to_the_next_bound),
        TEST(what_failed_goes_on),
        TEST(what_failed_of_a_part_goes_on),
        TEST(both_options_begin_what_failed_behind_a_finished_run),
        TEST(both_options_do_nothing_where_nothing_failed),
        TEST(an_interrupted_run_of_other_cases_has_to_be_finished_first),
        TEST(what_failed_begins_anew_if_its_choice_was_not_written),
        TEST(words_that_look_like_the_rule_are_not_it),
        TEST(a_list_that_is_not_of_the_suite_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
