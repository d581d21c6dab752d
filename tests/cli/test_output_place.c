/* What a command writes never replaces what is dear: records, a history, a suite, a policy, a model, or what it reads
 * itself, whichever command and option it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

enum { PATHS_MAXIMUM = 512, PATH_BYTES = 160 };

static char folder[64], paths[PATHS_MAXIMUM][PATH_BYTES];
static int path_count;

static const char *path_of(const char *name)
{
    assert_true(path_count < PATHS_MAXIMUM);
    snprintf(paths[path_count], PATH_BYTES, "%s/%s", folder, name);
    return paths[path_count++];
}

static void file_put(const char *name, const char *bytes, size_t length)
{
    struct text text = {0};
    text_append_bytes(&text, bytes, length);
    assert_int_equal(file_replace(path_of(name), FILE_NAMED, &text, NULL), STATUS_OK);
    text_release(&text);
}

#define SUITE_TEXT "version: 1\nname: t\ncases:\n  - {model: tiny-bert, mode: load}\n"

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-places-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    file_put("suite.yaml", SUITE_TEXT, strlen(SUITE_TEXT));
    const char *const words[] = {path_of("suite.yaml"), "--device", "meta",           "--out",
                                 path_of("r"),          "--quiet",  "--records-only", NULL};
    struct command_result result = command_named("run", words);
    int exit_code = result.exit_code;
    command_result_release(&result);
    return exit_code;
}

static int folder_remove(void **state)
{
    (void)state;
    path_count = 0;
    return scratch_folder_remove(folder);
}

struct dear {
    const char *name, *bytes;
    size_t length; /* 0: a text */
    const char *says;
};

static const struct dear DEAR[] = {
    {"other.yaml", "# a suite\nversion: 1\ncases: []\n", 0, "is a suite"},
    {"marked.yaml", "\xEF\xBB\xBFversion: 1\ncases: []\n", 0, "is a suite"},
    {"policy.yaml", "version: 1\nrules: []\n", 0, "is a policy"},
    {"history.db", "SQLite format 3\0\0\0\0\0", 20, "is a database, as a history is"},
    {"m.gguf", "GGUF\3\0\0\0\0\0", 10, "holds weights of a model"},
    {"m.safetensors", "\2\0\0\0\0\0\0\0{}", 10, "holds weights of a model"},
    {"model.bin", "PK\3\4...", 0, "is a ZIP archive, as PyTorch's weights are"},
    {"config.json", "{\"model_type\": \"bert\"}", 0, "is a configuration or an index of a model"},
    {"model.safetensors.index.json", "{\"weight_map\": {}}", 0, "is a configuration or an index of a model"},
    {"plan.json", "{\n  \"schema\": {\"name\": \"assay-shard-plan\", \"major\": 1}}", 0,
     "is the plan of a run in parts"},
    {"torn.jsonl", "{\"type\": \"run\", \"schema\": {\"name\": \"assay-record\"", 0, "holds measured records"},
};

/* Each option that writes a file, of each command; FILE stands for it. */
enum { WORDS_MAXIMUM = 12 };
struct writer {
    const char *words[WORDS_MAXIMUM]; /* ended by NULL */
};

static const struct writer WRITERS[] = {
    {{"report", "R", "--format", "json", "--output", "FILE"}},
    {{"report", "R", "--league", "--output", "FILE"}},
    {{"compare", "R", "R", "--output", "FILE"}},
    {{"calibrate", "R", "--output", "FILE"}},
    {{"calibrate", "R", "--law", "inference-overhead", "--output", "FILE"}},
    {{"calibrate", "R", "--law", "inference-overhead", "--points", "FILE"}},
    {{"gate", "R", "--output", "FILE"}},
    {{"gate", "R", "--summary", "FILE"}},
    {{"history", "show", "--output", "FILE"}},
    {{"explain", "tiny-bert", "--mode", "load", "--folded", "FILE"}},
    {{"run", "S", "--device", "meta", "--out", "N", "--junit", "FILE"}},
};

/* Runs it with a file in its place, which stays as it is. */
static void refused_check(const struct writer *writer, const char *file, const char *says)
{
    const char *words[WORDS_MAXIMUM] = {NULL};
    for (size_t i = 0; writer->words[i] != NULL; i++) {
        const char *word = writer->words[i];
        words[i] = strcmp(word, "FILE") == 0 ? file
                   : strcmp(word, "R") == 0  ? path_of("r")
                   : strcmp(word, "S") == 0  ? path_of("suite.yaml")
                   : strcmp(word, "N") == 0  ? path_of("new")
                                             : word;
    }
    char *before = whole_file_read(file);
    struct command_result result = command_named(words[0], words + 1);
    if (result.exit_code != 2 || result.output.length > 0 || strstr(text_string(&result.error), says) == NULL ||
        strstr(text_string(&result.error), "; name another file") == NULL) {
        fail_msg("assay %s over %s: exit code %d: %s", words[0], file, result.exit_code, text_string(&result.error));
    }
    command_result_release(&result);
    char *after = whole_file_read(file);
    assert_string_equal(after, before);
    free(before);
    free(after);
}

static void nothing_dear_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof DEAR / sizeof DEAR[0]; i++) {
        file_put(DEAR[i].name, DEAR[i].bytes, DEAR[i].length > 0 ? DEAR[i].length : strlen(DEAR[i].bytes));
    }
    for (size_t k = 0; k < sizeof WRITERS / sizeof WRITERS[0]; k++) {
        path_count = 0;
        refused_check(&WRITERS[k], path_of("r/records.jsonl"), "r/records.jsonl: ");
        for (size_t i = 0; i < sizeof DEAR / sizeof DEAR[0]; i++) {
            refused_check(&WRITERS[k], path_of(DEAR[i].name), DEAR[i].says);
        }
    }
    assert_int_equal(access(path_of("new"), F_OK), -1); /* before anything is made */
}

/* By whatever name. */
static void what_a_command_reads_is_not_replaced(void **state)
{
    static const struct writer junit = {
        {"run", "S", "--device", "meta", "--out", "N", "--constants", "FILE", "--junit", "FILE"}};
    static const struct writer twice = {{"gate", "R", "--summary", "FILE", "--output", "FILE"}};
    (void)state;
    file_put("constants.json", "{}", 2);
    assert_int_equal(link(path_of("constants.json"), path_of("hard.json")), 0);
    assert_int_equal(symlink("suite.yaml", path_of("soft.yaml")), 0);
    refused_check(&junit, path_of("constants.json"), "--junit: ");
    refused_check(&twice, path_of("constants.json"), "constants.json: is what --summary writes, too");
    const char *const new[] = {path_of("r"), "--output", path_of("new.md"), "--summary", path_of("new.md"), NULL};
    command_refused(command_named("gate", new), "new.md: is what --summary writes, too; name another file");
    assert_int_equal(access(path_of("new.md"), F_OK), -1);
    const struct writer by_link = {{"run", path_of("soft.yaml"), "--junit", "FILE"}};
    refused_check(&by_link, path_of("suite.yaml"), "suite.yaml: is what is read here");
    const struct writer by_name = {{"run", "S", "--constants", path_of("hard.json"), "--junit", "FILE"}};
    refused_check(&by_name, path_of("constants.json"), "constants.json: is what is read here");
}

/* What this program wrote before is written again, and what no file of ours is. */
static void results_are_replaced(void **state)
{
    (void)state;
    static const char *const formats[] = {"md", "json", "csv", "html", "junit", "latex"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        for (int again = 0; again < 2; again++) {
            const char *const words[] = {path_of("r"), "--format", formats[i], "--output", path_of("page"), NULL};
            struct command_result result = command_named("report", words);
            assert_int_equal(result.exit_code, 0);
            command_result_release(&result);
        }
    }
    file_put("page", "version: of nothing\n{\"type\": \"run\"}\n", 37);
    const char *const words[] = {path_of("r"), "--output", path_of("page"), NULL};
    struct command_result result = command_named("report", words);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* As on standard output, in every format, and with the same exit code. */
static void a_comparison_goes_to_a_file(void **state)
{
    static const char *const formats[] = {"table", "md", "json", "html", "latex"};
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const char *const plain[] = {path_of("r"), path_of("r"), "--format", formats[i], "--only-changed=false", NULL};
        const char *const words[] = {path_of("r"),           path_of("r"), "--format",      formats[i],
                                     "--only-changed=false", "--output",   path_of("page"), NULL};
        struct command_result file = command_named("compare", words), output = command_named("compare", plain);
        char *page = whole_file_read(path_of("page"));
        assert_int_equal(file.exit_code, 0);
        assert_int_equal(output.exit_code, 0);
        assert_int_equal(file.output.length, 0);
        assert_true(output.output.length > 0);
        assert_string_equal(page, text_string(&output.output));
        free(page);
        command_result_release(&file);
        command_result_release(&output);
    }
    const char *const nowhere[] = {path_of("r"), path_of("r"), "--output", path_of("absent/page"), NULL};
    command_refused(command_named("compare", nowhere), "absent/page: cannot be written");
}

/* A page that is called x.html is one. */
static void the_ending_of_a_report_is_its_format(void **state)
{
    static const char *const rows[][3] = {{"page.html", NULL, "<!DOCTYPE html>"},
                                          {"page.CSV", NULL, "id,model,"},
                                          {"page.tex", NULL, "% Run LaTeX twice"},
                                          {"page.txt", NULL, "Predicted against"},
                                          {"page.html", "csv", "id,model,"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {
            path_of("r"), "--exit-zero", "--output", path_of(rows[i][0]), rows[i][1] != NULL ? "--format" : NULL,
            rows[i][1],   NULL};
        struct command_result result = command_named("report", words);
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
        char *page = whole_file_read(path_of(rows[i][0]));
        if (strncmp(page, rows[i][2], strlen(rows[i][2])) != 0) {
            fail_msg("%s does not begin with '%s' but %.40s", rows[i][0], rows[i][2], page);
        }
        free(page);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_dear_is_replaced),    TEST(what_a_command_reads_is_not_replaced), TEST(results_are_replaced),
        TEST(a_comparison_goes_to_a_file), TEST(the_ending_of_a_report_is_its_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
