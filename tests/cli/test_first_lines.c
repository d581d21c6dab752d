/* What is read first: answers before what they are made of, and lists that are asked for in part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"

enum { WORDS_MAXIMUM = 8 };

static struct command_result assay(const char *const *words)
{
    const char *all[WORDS_MAXIMUM + 2] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        all[i + 1] = words[i];
    }
    return command_run(all, NULL);
}

/* The verdict and what nvidia-smi will show come before all that they are made of. */
static void the_answer_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM], *first, *shown, *behind;
    } rows[] = {
        {{"fit", "gpt2", "--mode", "infer", "--on", "RTX 4090"},
         "\nfits: ",
         "\n  nvidia-smi will show ",
         "\nreserved at the peak"},
        {{"estimate", "gpt2", "--mode", "infer"}, "\nnvidia-smi will show ", "nvidia-smi will show ", "\nreplay: "},
        {{"estimate", "gpt2", "--mode", "infer", "--on", "RTX 4090"},
         "\nfits; nvidia-smi will show ",
         "nvidia-smi will show ",
         "\nreplay: "},
        {{"estimate", "gpt2", "--mode", "train", "--memory", "64MiB"},
         "\ndoes not fit\n",
         "does not fit",
         "\nreplay: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay(rows[i].words);
        const char *text = text_string(&result.output), *first = strstr(text, rows[i].first);
        const char *shown = strstr(text, rows[i].shown), *behind = strstr(text, rows[i].behind);
        if (first == NULL || shown == NULL || behind == NULL || first > shown + 2 || shown > behind) {
            fail_msg("'%s' is not first in: %s%s", rows[i].first, text, text_string(&result.error));
        }
        command_result_release(&result);
    }
}

/* A part of a name, of an alias or of a class, as assay models takes a part of a name. */
static void gpus_are_asked_for_by_a_part_of_their_name(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"4090", "NVIDIA GeForce RTX 4090", "H100"}, {"rtx 40", "RTX 4060", "H200"}, {"*A100*40*", "A100", "80GB"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = assay((const char *const[]){"gpus", rows[i][0], NULL});
        assert_int_equal(result.exit_code, 0);
        assert_non_null(strstr(text_string(&result.output), rows[i][1]));
        assert_null(strstr(text_string(&result.output), rows[i][2]));
        command_result_release(&result);
    }
    struct command_result result = assay((const char *const[]){"gpus", "4090", "--json", NULL});
    struct json *document = command_document(&result);
    assert_true(json_count(json_get(document, "gpus")) >= 1 && json_count(json_get(document, "gpus")) <= 3);
    json_release(document);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_comes_first),
        cmocka_unit_test(gpus_are_asked_for_by_a_part_of_their_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
