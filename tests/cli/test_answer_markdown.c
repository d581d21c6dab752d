/* --format md of estimate, fit and models: the tables of what --json says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/support/command_run.h"

static void prints(const char *const *words, int exit_code, const char *output)
{
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.output), output);
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
}

static void holds(const char *const *words, int exit_code, const char *part)
{
    struct command_result result = command_run(words, NULL);
    if (strstr(text_string(&result.output), part) == NULL && strstr(text_string(&result.error), part) == NULL) {
        fail_msg("'%s' is not in: %s%s", part, text_string(&result.output), text_string(&result.error));
    }
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
}

#define WORDS(...) ((const char *const[]){program_path(), __VA_ARGS__, "--format", "md", NULL})

/* The published table of bert-base-cased, and N/A as "-". */
static void the_table_of_a_model(void **state)
{
    (void)state;
    prints(WORDS("estimate", "bert-base-cased"), 0,
           "## bert-base-cased\n\n"
           "| dtype | largest layer | total size | training with Adam |\n|---|--:|--:|--:|\n"
           "| float32 | 86.47 MiB | 413.18 MiB | 1.61 GiB |\n| float16 | 43.23 MiB | 206.59 MiB | 826.36 MiB |\n"
           "| int8 | 21.62 MiB | 103.29 MiB | - |\n| int4 | 10.81 MiB | 51.65 MiB | - |\n");
    prints(WORDS("models", "gpt2"), 0,
           "| model | family | parameters | active | in float32 | buffers |\n|---|---|--:|--:|--:|--:|\n"
           "| gpt2 | gpt2 | 124439808 | 124439808 | 474.70 MiB | 0 B |\n");
}

static void the_estimates_of_cases(void **state)
{
    (void)state;
    holds(WORDS("estimate", "gpt2", "--mode", "load", "--head", "bare"), 0,
          "| accelerate | total\\_bytes | 474.70 MiB | 497759232 |\n");
    /* The ranges, and whose habits they are of. */
    holds(WORDS("estimate", "gpt2", "--mode", "train", "--program", "hf-trainer"), 0,
          "Predicted for sm\\_90, with the habits of the program hf-trainer.\n");
    holds(WORDS("estimate", "gpt2", "--mode", "train"), 0, "with the habits of the program plain-loop.\n");
    holds(WORDS("estimate", "gpt2", "--mode", "train", "--program", "lean-loop"), 0,
          "\n| bounds of replay | likely | from | to |\n|---|--:|--:|--:|\n"
          "| certain: tensors | 2.14 GiB | 2.14 GiB | 2.14 GiB |\n");
    holds(WORDS("estimate", "gpt2", "--mode", "train", "--program", "lean-loop"), 0,
          "| process, as in nvidia-smi | 3.13 GiB | ");
    holds(WORDS("estimate", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_8bit"), 0,
          "| replay, managed memory | bytes | 237.12 MiB | 248636928 |\n");
    holds(WORDS("estimate", "gpt2", "--mode", "infer", "--batch", "1,2"), 0,
          "| gpt2/infer/plain-loop/float32/b2/s128/use-cache/outputs-kept |");
    holds(WORDS("models", "gpt2", "--tensors"), 0, "| h.0.ln\\_1.weight | 768 | float32 | parameter |  |\n");
}

/* The exit code is that of the answer, whatever form it has. */
static void whether_it_fits(void **state)
{
    (void)state;
    holds(WORDS("fit", "gpt2", "--mode", "train", "--memory", "64GiB", "--overhead", "1GiB"), 0, "**fits**");
    holds(WORDS("fit", "gpt2", "--mode", "train", "--optimizer", "paged_adamw_8bit", "--memory", "64GiB"), 0,
          "| managed memory, in no segment | 237.12 MiB | 248636928 |\n");
    holds(WORDS("fit", "gpt2", "--mode", "train", "--memory", "1GiB", "--overhead", "1MiB"), 1, "**does not fit**");
}

static void other_formats_are_refused(void **state)
{
    (void)state;
    holds((const char *const[]){program_path(), "fit", "gpt2", "--mode", "load", "--memory", "1GiB", "--format", "csv",
                                NULL},
          2, "fit: --format: 'csv' is not a format; use table, json or md");
    holds((const char *const[]){program_path(), "models", "--json", "--format", "md", NULL}, 2,
          "models: --json and --format md are two formats; leave one out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_a_model),
        cmocka_unit_test(the_estimates_of_cases),
        cmocka_unit_test(whether_it_fits),
        cmocka_unit_test(other_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
