/* The register of case fields has no holes: each field goes from a suite through id and record to the columns of a
 * report, has an option with help, and is refused where it says nothing. No field has a line of its own here, but those
 * that have no option. What single fields mean is in test_workload.c, test_identity.c and test_suite.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/workload.h"
#include "harness/record/record.h"
#include "harness/report/case_view.h"
#include "harness/suite/suite.h"
#include "tests/record/record_lines.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

enum { WORD_BYTES = 32 };

/* Cases in which fields can be said; each field says something in one of them at least. */
static const char *const grounds[] = {
    "model: tiny-llama, mode: load",
    "model: tiny-llama, mode: infer",
    "model: tiny-llama, mode: generate",
    "model: tiny-llama, mode: train",
    "model: tiny-llama, mode: train, precision: amp-bfloat16",
    "model: tiny-llama, mode: train, precision: bfloat16",
    "model: tiny-llama, mode: train, loss: chunked",
    "model: tiny-llama, mode: train, precision: amp-float16",
    "model: tiny-llama, mode: train, accumulate: 2",
    "model: tiny-llama, mode: train, optimizer: adam-8bit",
    "model: tiny-llama, mode: train, lora_rank: 8",
    "model: tiny-llama, mode: train, lora_rank: 8, checkpointing: true",
    "model: tiny-llama, mode: train, lora_rank: 8, precision: int8",
    "model: tiny-llama, mode: load, precision: int8",
    "model: tiny-llama, mode: load, precision: int4",
    "model: tiny-llama, mode: load, precision: int4, quantize: gptq",
    "model: tiny-resnet, mode: infer",
};

/* Values of texts: one of them is right for each field that is a text. */
static const char *const texts[] = {"cpu-offload", "single", "transformers=4.46+torch=2.1"};

static void hole(enum case_field field, const char *what)
{
    fail_msg("%s (harness/case/case_field.h): %s", case_field_key(field), what);
}

static bool is_usual(enum case_field field, const char *text, enum mode mode)
{
    struct workload workload = workload_default(mode);
    assert_int_equal(workload_set(&workload, case_field_key(field), text, NULL), STATUS_OK);
    workload.head = workload_head(&workload);
    return workload_field_is_usual(&workload, field);
}

/* A value that is not the usual one of the mode. */
static const char *unusual_value(enum case_field field, enum mode mode, char buffer[WORD_BYTES])
{
    const struct case_field_row *row = case_field_row(field);
    struct case_value value;
    for (int i = row->lowest; i < row->word_count; i++) {
        if (!is_usual(field, row->words[i], mode)) {
            return row->words[i];
        }
    }
    for (size_t i = 0; row->kind == FIELD_KIND_TEXT && i < sizeof texts / sizeof texts[0]; i++) {
        if (case_value_parse(field, texts[i], &value, NULL) == STATUS_OK) {
            return texts[i];
        }
    }
    if (row->kind == FIELD_KIND_SHARE) {
        return is_usual(field, "0.05", mode) ? "0.125" : "0.05";
    }
    if (row->kind != FIELD_KIND_COUNT) {
        hole(field, "no value of it is unusual, or none of texts[] is one of it");
    }
    snprintf(buffer, WORD_BYTES, "%d", is_usual(field, "7", mode) ? 9 : 7);
    return buffer;
}

static enum status_code suite_make(const char *ground, enum case_field field, const char *value, struct suite *suite,
                                   struct status *error)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml, "version: 1\nname: t\ncases:\n  - {%s, %s: %s}\n", ground, case_field_key(field),
             value);
    return suite_read_text("s.yaml", yaml, strlen(yaml), "models/catalogue", suite, error);
}

static enum mode ground_mode(const char *ground)
{
    int mode = 0;
    while (mode < MODE_COUNT && strstr(ground, mode_name((enum mode)mode)) == NULL) {
        mode++;
    }
    return (enum mode)mode;
}

/* A suite of one case with an unusual value of the field. */
static void case_of(enum case_field field, struct suite *suite, char value[WORD_BYTES])
{
    char key[WORD_BYTES];
    snprintf(key, sizeof key, " %s:", case_field_key(field));
    for (size_t i = 0; i < sizeof grounds / sizeof grounds[0]; i++) {
        char buffer[WORD_BYTES];
        const char *text = unusual_value(field, ground_mode(grounds[i]), buffer);
        if (strstr(grounds[i], key) == NULL && suite_make(grounds[i], field, text, suite, NULL) == STATUS_OK) {
            snprintf(value, WORD_BYTES, "%s", text);
            return;
        }
    }
    hole(field, "it says something in no case of grounds[]; add one");
}

static struct json *line_of(const struct suite *suite)
{
    static const char line[] = CASE_LINE("x");
    struct json *made = NULL;
    assert_int_equal(json_parse_text("line", line, strlen(line), &made, NULL), STATUS_OK);
    assert_true(json_set(made, "id", json_string_new(suite->cases[0].id)));
    assert_true(json_set(made, "identity", identity_json(&suite->cases[0].identity)));
    return made;
}

/* The cell of a column in the first row. */
static void cell_check(const char *csv, const char *column, const char *expected)
{
    const char *row = strchr(csv, '\n') + 1;
    size_t length = strlen(column);
    for (; strncmp(csv, column, length) != 0 || csv[length] != ','; csv += strcspn(csv, ",") + 1) {
        assert_true(csv < row);
        row += strcspn(row, ",\r") + 1;
    }
    size_t cell = strcspn(row, ",\r");
    if (cell != strlen(expected) || strncmp(row, expected, cell) != 0) {
        fail_msg("the column %s has '%.*s', and should have '%s'", column, (int)cell, row, expected);
    }
}

static void spelling_check(enum case_field field, const char *in, char before, const char *spelling, const char *value)
{
    struct text text = {0};
    const char separator[] = {before, '\0'};
    text_append(&text, separator);
    case_field_spell(spelling, value, &text);
    if (strstr(in, text_string(&text)) == NULL) {
        fail_msg("%s: '%s' lacks '%s'", case_field_key(field), in, text_string(&text));
    }
    text_release(&text);
}

static void report_check(enum case_field field, const struct json *line, const char *value)
{
    const struct case_field_row *row = case_field_row(field);
    char *folder = folder_fixture_make(), path[256];
    struct text text = {0};
    struct report *report = NULL;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    assert_int_equal(json_write(line, 0, &text, NULL), STATUS_OK);
    text_append(&text, "\n");
    records_fixture_append(path, RUN_LINE);
    records_fixture_append(path, text_string(&text));
    records_fixture_append(path, END_LINE);
    text_release(&text);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, REPORT_CSV, NULL, &text, NULL), STATUS_OK);
    cell_check(text_string(&text), row->key, value);
    spelling_check(field, report_case(report, 0)->label, ' ', row->label != NULL ? row->label : row->spelling, value);
    text_release(&text);
    report_release(report);
    folder_fixture_remove(folder);
}

static void every_field_goes_from_a_suite_to_the_columns_of_a_report(void **state)
{
    (void)state;
    for (enum case_field field = FIELD_PRECISION; field < FIELD_COUNT; field++) {
        struct suite suite;
        char value[WORD_BYTES], member[64];
        case_of(field, &suite, value);
        spelling_check(field, suite.cases[0].id, '/', case_field_row(field)->spelling, value);
        struct json *line = line_of(&suite);
        struct status error = {0};
        assert_int_equal(record_line_check(line, &error), STATUS_OK);
        report_check(field, line, value);
        assert_true(json_set(json_get(line, "identity"), case_field_key(field), json_array_new()));
        assert_int_equal(record_line_check(line, &error), STATUS_INVALID);
        snprintf(member, sizeof member, "'identity.%s' is an array", case_field_key(field));
        assert_non_null(strstr(STATUS_SAID(&error), member));
        json_release(line);
        suite_release(&suite);
    }
}

/* In a mode that has none, a suite with a value of its own is refused, and the field is named. */
static void a_field_is_refused_in_the_modes_that_have_none(void **state)
{
    (void)state;
    for (enum case_field field = FIELD_PRECISION; field < FIELD_COUNT; field++) {
        for (enum mode mode = MODE_LOAD; mode < MODE_COUNT; mode++) {
            if ((case_field_row(field)->modes >> mode & 1U) != 0) {
                continue;
            }
            struct suite suite;
            struct status error = {0};
            char ground[64], buffer[WORD_BYTES];
            const char *value = unusual_value(field, mode, buffer);
            snprintf(ground, sizeof ground, "model: tiny-llama, mode: %s", mode_name(mode));
            assert_int_equal(suite_make(ground, field, value, &suite, &error), STATUS_INVALID);
            assert_non_null(strstr(STATUS_SAID(&error), case_field_key(field)));
            struct workload workload = workload_default(mode);
            assert_int_equal(workload_set(&workload, case_field_key(field), value, NULL), STATUS_OK);
            enum status_code code = workload_check(&workload, &error);
            if (case_field_row(field)->refusal != NULL && code != STATUS_INVALID) {
                hole(field, "its refusal is not said");
            }
        }
    }
}

/* "(default: 32)" in the help of a count is its usual value. */
static void default_check(enum case_field field, const char *help)
{
    const char *said = strstr(help, "default: ");
    struct workload usual = workload_default(MODE_GENERATE);
    if (said == NULL || case_field_kind(field) != FIELD_KIND_COUNT) {
        return;
    }
    if (strtoll(said + strlen("default: "), NULL, 10) != workload_field_value(&usual, field)) {
        hole(field, "its help names another default than it has");
    }
}

static void every_field_has_an_option_with_help(void **state)
{
    static const char *const without[] = {"place", "checkpoint", "find_batch"}; /* other commands have theirs */
    (void)state;
    struct command_result help = command_named("help", (const char *const[]){"estimate", NULL});
    assert_int_equal(help.exit_code, 0);
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        const struct case_field_row *row = case_field_row(field);
        bool has_none = false;
        for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
            has_none = has_none || strcmp(row->key, without[i]) == 0;
        }
        if (has_none != (row->option == NULL)) {
            hole(field, "it has no option and is not named here, or the other way round");
        }
        if (has_none) {
            continue;
        }
        char name[WORD_BYTES];
        snprintf(name, sizeof name, "  --%s ", row->key);
        for (char *byte = name; *byte != '\0'; byte++) {
            *byte = *byte == '_' ? '-' : *byte;
        }
        const char *option = strstr(text_string(&help.output), name);
        if (option == NULL || strncmp(row->option, name + 4, strlen(row->option)) != 0) {
            hole(field, "its option is not its key with '-' for '_', or assay estimate does not have it");
        }
        option += strlen(name);
        if (*option == ' ' || row->help == NULL || row->help[0] == '\0') {
            hole(field, "its option has no help, or no word for its value");
        }
        const char *told = strstr(option, row->help);
        if (told == NULL || told > option + 60) {
            hole(field, "its help does not stand beside its option");
        }
        default_check(field, row->help);
    }
    command_result_release(&help);
}

/* What an id says of one field no other field says: ids can be read. Counts end in a number, and differ before it. */
static void no_two_fields_are_spelled_the_same(void **state)
{
    char said[256][64];
    size_t count = 0;
    (void)state;
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        const struct case_field_row *row = case_field_row(field);
        assert_true(row->kind != FIELD_KIND_TEXT || row->check != NULL);
        int words = row->kind == FIELD_KIND_NAME ? row->word_count : row->lowest + 1;
        for (int i = row->lowest; i < words; i++) {
            struct text text = {0};
            case_field_spell(row->spelling, row->kind == FIELD_KIND_NAME ? row->words[i] : "7", &text);
            for (size_t before = 0; before < count; before++) {
                if (strcmp(said[before], text_string(&text)) == 0) {
                    fail_msg("%s is spelled '%s' in an id, as another value is", row->key, text_string(&text));
                }
            }
            assert_true(count < sizeof said / sizeof said[0]);
            snprintf(said[count++], sizeof said[0], "%s", text_string(&text));
            text_release(&text);
        }
    }
}

static void the_format_is_documented_for_every_field(void **state)
{
    char *page = whole_file_read("docs/FORMAT.md"), *table = strstr(page, "\n| axis |");
    assert_non_null(table);
    strstr(table, "\n\n")[0] = '\0'; /* the end of the table */
    (void)state;
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        char key[WORD_BYTES];
        snprintf(key, sizeof key, "`%s`", case_field_key(field));
        const char *row = table;
        while (row != NULL && (row[1] != '|' || strstr(row, key) == NULL || strstr(row, key) > strchr(row + 2, '|'))) {
            row = strchr(row + 1, '\n');
        }
        if (row == NULL) {
            hole(field, "no first cell of the table of axes of docs/FORMAT.md names it");
        }
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_goes_from_a_suite_to_the_columns_of_a_report),
        cmocka_unit_test(a_field_is_refused_in_the_modes_that_have_none),
        cmocka_unit_test(every_field_has_an_option_with_help),
        cmocka_unit_test(no_two_fields_are_spelled_the_same),
        cmocka_unit_test(the_format_is_documented_for_every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
