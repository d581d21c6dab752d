/* Lines for people in a terminal: folded where it is narrow, whole in a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command_run.h"

/* In a terminal, which util-linux's script is here: nothing wider than it, and no word lost. Not in a pipe. */
static void lines_fit_the_terminal(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "models",
        "models deepseek-ai/DeepSeek-V3",
        "estimators",
        "estimate --help",
        "estimate gpt2 --mode train",
        "weights tests/checkpoint/vectors/tiny-llama.gguf",
        "fit gpt2 --mode train --on H200",
        "limit tiny-gpt2 --mode infer --seq 8 --memory 64MiB --of batch",
        "plan suites/quick.yaml",
        "estimate gpt2 --mode train --batch 8,16 --precision bf16,fp32",
        "estimate gpt2 --mode train --peak backward",
        "hardware",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_the_terminal),
        cmocka_unit_test(no_word_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
