/* What shells are offered: held against the help of every command, and typed into bash, zsh and fish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "tests/support/command_run.h"
#include "tests/support/sanitized.h"

enum { WORDS_MAXIMUM = 12 };

/* What is offered for words, ended by NULL. */
static struct command_result offered(const char *const *words)
{
    const char *all[WORDS_MAXIMUM + 5] = {program_path(), "completion", "words", "--"};
    for (int i = 0; words[i] != NULL; i++) {
        all[i + 4] = words[i];
    }
    struct command_result result = command_run(all, NULL);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "");
    return result;
}

/* The words alone, each with a blank behind it: "files|gpt2 gpt2-large ". */
static void words_take(const struct command_result *result, struct text *text)
{
    const char *line = text_string(&result->output);
    text_format(text, "%.*s|", (int)strcspn(line, "\n"), line);
    for (line += strcspn(line, "\n") + 1; *line != '\0'; line += strcspn(line, "\n") + 1) {
        text_format(text, "%.*s ", (int)strcspn(line, "\t"), line);
    }
}

static void words_are_offered_where_the_cursor_is(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAXIMUM];
        const char *expected;
    } rows[] = {
        {{"ru"}, "words|run "},
        {{"--v"}, "words|--version "},
        {{"help", "compl"}, "words|completion "},
        {{"nothing", "x"}, "words|"},
        {{"run", "x", "--note"}, "words|--note-calibrated "},
        {{"run", "x", "--note-calibrated", "--note"}, "words|"}, /* given once, it is not offered again */
        {{"run", "x", "--device", "ho"}, "words|host host:mem= "},
        {{"run", "x", "--device=ho"}, "words|--device=host --device=host:mem= "},
        {{"lock", "--device", "h"}, "words|"}, /* its help names GPUs alone */
        {{"estimate", "gpt2-x"}, "files|gpt2-xl "},
        {{"estimate", "GPT2-X"}, "files|gpt2-xl "}, /* in any case where nothing begins so */
        {{"estimate", "gpt2", "--on", "RTX 409"}, "words|RTX 4090 "},
        {{"estimate", "gpt2", "--on", "NVIDIA H2"}, "words|NVIDIA H200 NVIDIA H20 "},
        {{"estimate", "gpt2", "--precision", "amp-"}, "words|amp-float16 amp-bfloat16 "},
        {{"place", "gpt2", "--precision", "a"}, "words|"}, /* which has fewer of them */
        {{"estimate", "gpt2", "--head", ""},
         "words|bare lm causal-lm masked-lm seq2seq-lm image sequence token question encoder embedding "},
        {{"estimate", "gpt2", "--dtypes", "float32", "int"}, "words|int8 int4 "},
        {{"estimate", "gpt2", "--padding", "t"}, "words|true "},
        {{"place", "--run", "host", "gpt2-x"}, "files|gpt2-xl "}, /* host is the option's, not the model */
        {{"place", "--run", "gpt2", "gpt2-x"}, "words|"},         /* gpt2 is the model, and there is no other */
        {{"run", "x", "--out", ""}, "folders|"},
        {{"report", ""}, "files|"},
        {{"run", "x", "--jobs", ""}, "words|"},
        {{"run", "--", "--dev"}, "files|"},
        {{"compare", "x", "--format", "l"}, "words|latex "},
        {{"estimate", "gpt2", "--format", ""}, "words|table md json "},
        {{"explain", "gpt2", "--by", "s"}, "words|stage "},
        {{"run", "x", "--constants", "no"}, "files|none "},
        {{"completion", "f"}, "words|fish "},
        {{"man", "loc"}, "words|lock "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = offered(rows[i].words);
        struct text text = {0};
        words_take(&result, &text);
        if (strcmp(text_string(&text), rows[i].expected) != 0) {
            fail_msg("row %zu: '%s' is not '%s'", i, text_string(&text), rows[i].expected);
        }
        text_release(&text);
        command_result_release(&result);
    }
}

/* What is typed at a moment may be anything. */
static void unfinished_lines_are_no_errors(void **state)
{
    (void)state;
    static const char *const rows[][WORDS_MAXIMUM] = {
        {NULL},
        {""},
        {"-"},
        {"run", "-"},
        {"run", "--"},
        {"run", "--=", ""},
        {"run", "--quiet="},
        {"run", "--nothing=x"},
        {"run", "--nothing", "x", "--", "--", ""},
        {"run", "a\tb\nc"},
        {"estimate", "\xff\xfe"},
        {"estimate", "--dtypes"},
        {"compare", "a", "b", "c", "d", ""},
        {"completion", "words", "--", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = offered(rows[i]);
        const char *line = text_string(&result.output);
        assert_true(strncmp(line, "words\n", 6) == 0 || strncmp(line, "files\n", 6) == 0);
        command_result_release(&result);
    }
}

/* Of an option's value sanitizers see one in three: the others come to the same lines of the program. */
static void help_is_held_against_what_is_offered(const char *command)
{
    enum { STEP = IS_SANITIZED ? 3 : 1 };
    const char *const help_words[] = {program_path(), command, "--help", NULL};
    const char *const operand_words[] = {command, "", NULL};
    struct command_result help = command_run(help_words, NULL);
    const char *const option_words[] = {command, "--", NULL};
    struct command_result options = offered(option_words);
    int count = 0;
    for (const char *line = strstr(text_string(&help.output), "\n  --"); line != NULL; line = strstr(line, "\n  --")) {
        char name[64];
        line += 3;
        snprintf(name, sizeof name, "\n%.*s\t", (int)strcspn(line, " \n"), line);
        if (strstr(text_string(&options.output), name) == NULL) {
            fail_msg("%s: completion does not offer%s", command, name);
        }
        if (count++ % STEP != 0) {
            continue;
        }
        name[strlen(name) - 1] = '\0';
        const char *const value_words[] = {command, name + 1, "", NULL};
        struct command_result value = offered(value_words);
        if (strncmp(text_string(&value.output), "unknown", 7) == 0) {
            fail_msg("%s: what stands for the value of %s is not in harness/cli/value_word.c; give it a row there, or "
                     "use a word that has one",
                     command, name + 1);
        }
        command_result_release(&value);
    }
    struct command_result operand = offered(operand_words);
    if (strncmp(text_string(&operand.output), "unknown", 7) == 0) {
        fail_msg("%s: its operand is not in harness/cli/value_word.c; give it a row there", command);
    }
    assert_true(count > 0);
    command_result_release(&operand);
    command_result_release(&options);
    command_result_release(&help);
}

static void every_option_of_every_command_is_offered(void **state)
{
    (void)state;
    static const char *const nothing[] = {"", NULL};
    struct command_result commands = offered(nothing);
    int count = 0;
    for (char *line = commands.output.data + strcspn(commands.output.data, "\n") + 1; *line != '\0'; count++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "\t"), line);
        if (strcmp(name, "help") != 0 && strcmp(name, "version") != 0) {
            help_is_held_against_what_is_offered(name);
        }
        line += strcspn(line, "\n") + 1;
    }
    assert_true(count > 25);
    command_result_release(&commands);
}

/* Typed into a terminal, with the tabulator behind each; the last column is what then stands there. */
static const char *const typed[][2] = {
    {"assay estimat", "assay estimat"}, /* estimate, estimators */
    {"assay expl", "assay explain "},
    {"assay estimate --on \"RTX 409", "assay estimate --on \"RTX 4090\" "},
    {"assay estimate --on RTX\\ 409", "assay estimate --on RTX\\ 4090 "},
    {"assay estimate --on=RTX\\ 409", "assay estimate --on=RTX\\ 4090 "},
    {"assay estimate --on 'RTX 409", "assay estimate --on 'RTX 4090' "},
    {"assay run --device host:m", "assay run --device host:mem="},
    {"assay run --device=host:m", "assay run --device=host:mem="},
    {"assay run suites/qui", "assay run suites/quick.yaml "},
    {"assay run \"suite of", "assay run \"suite of mine.yaml\" "},
    {"assay run suite\\ o", "assay run suite\\ of\\ mine.yaml "},
    {"assay run --out a", "assay run --out a\\ folder/"},
    {"assay run --out=a", "assay run --out=a\\ folder/"},
    {"assay estimate EleutherAI/pythia-4", "assay estimate EleutherAI/pythia-410m "},
    {"assay place gpt2 --run h", "assay place gpt2 --run host "},
    {"assay estimate gpt2 --precision bf", "assay estimate gpt2 --precision bfloat16 "},
    {"assay estimate gpt2 --new-t", "assay estimate gpt2 --new-tokens "},
};
enum { TYPED_COUNT = sizeof typed / sizeof typed[0] };

static void shell_completes(const char *shell)
{
    const char *words[TYPED_COUNT + 4] = {"tests/cli/completion/typed.sh", program_path(), shell};
    struct text expected = {0};
    command_needed(shell);
    command_needed("script");
    for (int i = 0; i < TYPED_COUNT; i++) {
        words[i + 3] = typed[i][0];
        text_format(&expected, "%s\n", typed[i][1]);
    }
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.error), "");
    assert_string_equal(text_string(&result.output), text_string(&expected));
    text_release(&expected);
    command_result_release(&result);
}

static void bash_completes(void **state)
{
    (void)state;
    shell_completes("bash");
}

static void zsh_completes(void **state)
{
    (void)state;
    shell_completes("zsh");
}

static void fish_completes(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"assay expl", "explain\n"},
        {"assay estimate --on \"RTX 409", "RTX 4090\n"},
        {"assay estimate --on RTX\\ 409", "RTX 4090\n"},
        {"assay run --device host:m", "host:mem=\n"},
        {"assay run --device=host:m", "--device=host:mem=\n"},
        {"assay run suites/qui", "suites/quick.yaml\n"},
        {"assay run --out=tests/cli/comp", "--out=tests/cli/completion/\n"},
        {"assay estimate EleutherAI/pythia-4", "EleutherAI/pythia-410m\n"},
        {"assay estimate gpt2 --precision=bf", "--precision=bfloat16\n"},
    };
    enum { COUNT = sizeof lines / sizeof lines[0] };
    const char *words[COUNT + 5] = {"fish", "--no-config", "tests/cli/completion/offered.fish", NULL};
    struct text expected = {0};
    char *program = realpath(program_path(), NULL);
    command_needed("fish");
    words[3] = program;
    for (int i = 0; i < COUNT; i++) {
        words[i + 4] = lines[i][0];
        text_format(&expected, "== %s\n%s", lines[i][0], lines[i][1]);
    }
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.output), text_string(&expected));
    free(program);
    text_release(&expected);
    command_result_release(&result);
}

static void scripts_are_printed(void **state)
{
    (void)state;
    static const char *const shells[][2] = {
        {"bash", "complete -F _assay assay\n"}, {"zsh", "#compdef assay\n"}, {"fish", "complete -c assay "}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        const char *const words[] = {program_path(), "completion", shells[i][0], NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        command_says(&result.output, shells[i][1]);
        command_result_release(&result);
    }
    const char *const wrong[] = {program_path(), "completion", "tcsh", NULL};
    command_refused(command_run(wrong, NULL), "completion: 'tcsh' is not known; write bash, zsh or fish");
    const char *const more[] = {program_path(), "completion", "bash", "x", NULL};
    command_refused(command_run(more, NULL), "'x' is one operand too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_offered_where_the_cursor_is),
        cmocka_unit_test(unfinished_lines_are_no_errors),
        cmocka_unit_test(every_option_of_every_command_is_offered),
        cmocka_unit_test(bash_completes),
        cmocka_unit_test(zsh_completes),
        cmocka_unit_test(fish_completes),
        cmocka_unit_test(scripts_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
