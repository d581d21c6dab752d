/* Lines for people in a terminal: folded where it is narrow, whole in a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* In a terminal, which util-linux's script is here: nothing wider than it, and no word lost. Not in a pipe. */
static void lines_fit_the_terminal(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "models",
        "models deepseek-ai/DeepSeek-V3",
        "estimators",
        "estimate --help",
        "run --help",
        "estimate gpt2 --mode train",
        "weights tests/checkpoint/vectors/tiny-llama.gguf",
        "fit gpt2 --mode train --on H200",
        "limit tiny-gpt2 --mode infer --seq 8 --memory 64MiB --of batch",
        "plan suites/quick.yaml",
        "estimate gpt2 --mode train --batch 8,16 --precision bf16,fp32",
        "estimate gpt2 --mode train --peak backward",
        "hardware",
        "peaks gpt2 --mode train --over batch=1..40",
        "explain gpt2 --mode train",
        "peaks gpt2 --mode generate --over new-tokens=1..64 --on L4",
        "compare results/reference/host-intel-r-xeon-r-processor results/reference/host-intel-r-xeon-r-processor",
    };
    static const int widths[] = {60, 80, 100};
    enum { WIDTH_COUNT = sizeof widths / sizeof widths[0] };
    command_needed("script");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0] * WIDTH_COUNT; i++) {
        char command[256];
        snprintf(command, sizeof command, "stty cols %d; NO_COLOR=1 %s %s", widths[i % WIDTH_COUNT], program_path(),
                 commands[i / WIDTH_COUNT]);
        const char *const words[] = {"script", "-qec", command, "/dev/null", NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        assert_true(result.output.length > 100);
        char *rest = result.output.data, *line;
        while ((line = strsep(&rest, "\r\n")) != NULL) {
            if (strlen(line) > (size_t)widths[i % WIDTH_COUNT]) {
                fail_msg("assay %s: %d columns: %s", commands[i / WIDTH_COUNT], widths[i % WIDTH_COUNT], line);
            }
        }
        command_result_release(&result);
    }
}

/* In 60 columns a figure is below no other column than its own: stages stand in words, and exact bytes in one line. */
static void narrow_tables_are_made_for_it(void **state)
{
    (void)state;
    static const struct {
        const char *command, *part;
    } rows[] = {
        {"peaks gpt2 --mode train --program lean-loop --over batch=1..40 --memory 8GiB",
         "     batch  highest\r\n"
         "         1  backward 2.21 GiB\r\n"
         "            load 475.46 MiB, forward 1.66 GiB, step 1.92 GiB\r\n"
         "        40  backward 9.41 GiB, does not fit\r\n"},
        {"explain gpt2 --mode train --program lean-loop --memory 2GiB",
         "\r\nreserved in segments       1.99 GiB     2136997888 bytes\r\n"},
        {"explain gpt2 --mode train --program lean-loop --memory 2GiB",
         "1 x transformer.wte weight:\r\n               gradient, 50257*768*4 bytes\r\n"},
    };
    command_needed("script");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[256];
        snprintf(command, sizeof command, "stty cols 60; NO_COLOR=1 %s %s", program_path(), rows[i].command);
        const char *const words[] = {"script", "-qec", command, "/dev/null", NULL};
        struct command_result result = command_run(words, NULL);
        if (strstr(text_string(&result.output), rows[i].part) == NULL) {
            fail_msg("'%s' is not in:\n%s", rows[i].part, text_string(&result.output));
        }
        command_result_release(&result);
    }
}

/* Names of modules that go on in another line stand below the first. */
static void names_of_modules_are_aligned(void **state)
{
    (void)state;
    command_needed("script");
    char command[256], part[192];
    snprintf(command, sizeof command, "stty cols 100; NO_COLOR=1 %s place gpt2 --max-memory 0=300MB,1=300MB",
             program_path());
    const char *const words[] = {"script", "-qec", command, "/dev/null", NULL};
    struct command_result result = command_run(words, NULL);
    snprintf(part, sizeof part,
             "  transformer.wte, lm_head, transformer.wpe,\r\n%*stransformer.drop, transformer.h.0-2\r\n", 56, "");
    if (strstr(text_string(&result.output), part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text_string(&result.output));
    }
    command_result_release(&result);
}

/* The words of a table of lines are the same in both, and a pipe has each line whole. */
static void no_word_is_lost(void **state)
{
    (void)state;
    command_needed("script");
    const char *const words[] = {"sh", "-c",
                                 "a=$(script -qec \"stty cols 80; $0 estimators\" /dev/null | tr -s ' \\r\\n' '\\n'); "
                                 "b=$($0 estimators | tr -s ' \\n' '\\n'); test \"$a\" = \"$b\"; echo $?; "
                                 "$0 estimators | wc -L",
                                 program_path(), NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(strncmp(text_string(&result.output), "0\n1", 3), 0); /* more than a hundred columns */
    command_result_release(&result);
}

/* Paragraphs of the help are folded as a whole: no line of a few words between full ones. In a pipe they stand as they
 * were written. */
static void help_is_folded_by_paragraph(void **state)
{
    (void)state;
    command_needed("script");
    char command[256];
    snprintf(command, sizeof command, "stty cols 60; %s run --help", program_path());
    const char *const words[] = {"script", "-qec", command, "/dev/null", NULL};
    struct command_result result = command_run(words, NULL);
    assert_non_null(
        strstr(text_string(&result.output), "is appended to DIR/records.jsonl;\r\n  the report and its plots"));
    command_result_release(&result);
    const char *const piped[] = {program_path(), "run", "--help", NULL};
    result = command_run(piped, NULL);
    assert_non_null(strstr(text_string(&result.output), "is appended to\nDIR/records.jsonl; the report"));
    command_result_release(&result);
}

/* What is longer than the room beside its figures goes to the line below, near the margin; errors are folded too. */
static void long_names_go_below_and_errors_fold(void **state)
{
    (void)state;
    command_needed("script");
    static const struct {
        const char *command, *part;
    } rows[] = {
        {"plan suites/quick.yaml", "  224.01 MiB\r\n  timm/resnet18.a1_in1k/train/float32/b1/sgd-momentum\r\n"},
        {"peaks gpt2", "assay: peaks: --over is missing; add --over seq=128..4096,\r\n  or --over "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[256];
        snprintf(command, sizeof command, "stty cols 60; NO_COLOR=1 %s %s", program_path(), rows[i].command);
        const char *const words[] = {"script", "-qec", command, "/dev/null", NULL};
        struct command_result result = command_run(words, NULL);
        assert_non_null(strstr(text_string(&result.output), rows[i].part));
        command_result_release(&result);
    }
}

/* The case that is running stands on one line, which each next word takes the place of; a log has whole lines alone,
 * and with --quiet there is nothing of either. */
static void a_run_has_a_moving_line_in_a_terminal_alone(void **state)
{
    (void)state;
    static const char run[] =
        "run tests/cli/data/small-suite.yaml --filter '*/load/*' --device meta --records-only --out";
    static const char begun[] = "[1/", cleared[] = "\r\033[K";
    char folder[] = "/tmp/assay-progress-XXXXXX", command[512];
    command_needed("script");
    assert_non_null(mkdtemp(folder));
    for (int quiet = 0; quiet < 2; quiet++) {
        snprintf(command, sizeof command, "stty cols 80; TERM=xterm %s %s %s%s >/dev/null", program_path(), run, folder,
                 quiet ? " --quiet" : "");
        struct command_result live =
            command_run((const char *const[]){"script", "-qec", command, "/dev/null", NULL}, NULL);
        const char *first = strstr(text_string(&live.output), begun);
        assert_true((first != NULL) == (quiet == 0));
        if (first != NULL) {
            assert_true(first - text_string(&live.output) >= 4 && memcmp(first - 4, cleared, 4) == 0);
            assert_null(memchr(first, '\n', strcspn(first, "\r"))); /* the moving line has no end of its own */
            const char *ended = strstr(first + 1, begun);           /* and the ended case stands in its place */
            assert_non_null(ended);
            assert_memory_equal(ended - 4, cleared, 4);
            assert_non_null(strstr(ended, " s  "));
        }
        command_result_release(&live);
        snprintf(command, sizeof command, "%s %s %s%s 2>&1 >/dev/null", program_path(), run, folder,
                 quiet ? " --quiet" : "");
        struct command_result log = command_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
        assert_null(strchr(text_string(&log.output), '\r'));
        assert_null(strchr(text_string(&log.output), '\033'));
        assert_true((strstr(text_string(&log.output), begun) == text_string(&log.output)) == (quiet == 0));
        command_result_release(&log);
    }
    assert_int_equal(scratch_folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_the_terminal),
        cmocka_unit_test(narrow_tables_are_made_for_it),
        cmocka_unit_test(names_of_modules_are_aligned),
        cmocka_unit_test(no_word_is_lost),
        cmocka_unit_test(help_is_folded_by_paragraph),
        cmocka_unit_test(long_names_go_below_and_errors_fold),
        cmocka_unit_test(a_run_has_a_moving_line_in_a_terminal_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
