/* Case suite: options as YAML, so that the code of suites handles lists, axes that say nothing, and ids. */
#include "harness/cli/case_suite.h"

#include <string.h>
#include <unistd.h>

#include "harness/base/arena.h"
#include "harness/base/shell_word.h"
#include "harness/base/text.h"
#include "harness/case/program.h"
#include "harness/cli/resource_path.h"
#include "models/find/catalogue.h"

/* The characters that a value of a case may have: none of them means anything to YAML. */
static bool is_plain(const char *value)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+=, ";
    return value[strspn(value, letters)] == '\0';
}

/* Whether one of the modes, a list with commas, has the program that people write. */
static bool has_program(const char *modes)
{
    bool has = false;
    for (const char *word = modes; *word != '\0';) {
        char name[16] = "";
        struct case_value mode;
        word += strspn(word, ", ");
        size_t length = strcspn(word, ", ");
        memcpy(name, word, length < sizeof name ? length : sizeof name - 1);
        has = has || (case_value_parse(FIELD_MODE, name, &mode, NULL) == STATUS_OK &&
                      program_of_questions((enum mode)mode.number) == PROGRAM_PLAIN_LOOP);
        word += length;
    }
    return has;
}

/* What questions take where nothing is said and suites take otherwise: the program, and the class's own use_cache. */
static void defaults_write(const struct arguments *arguments, const char *catalogue_dir, struct text *yaml)
{
    const char *name = arguments->operands[0];
    struct config config;
    if (!has_program(arguments_value(arguments, "mode"))) {
        return;
    }
    if (arguments_value(arguments, case_field_key(FIELD_PROGRAM)) == NULL) {
        text_format(yaml, "    program: %s\n", program_name(PROGRAM_PLAIN_LOOP));
    }
    if (arguments_value(arguments, case_field_key(FIELD_USE_CACHE)) == NULL &&
        config_find(catalogue_dir, name, &config, NULL) == STATUS_OK && !config.use_cache) {
        text_append(yaml, "    use_cache: false\n");
    }
}

static enum status_code options_write(const struct arguments *arguments, const char *catalogue_dir, struct text *yaml,
                                      struct status *error)
{
    text_append(yaml, "version: 1\nname: options\ncases:\n  - model: '");
    for (const char *byte = arguments->operands[0]; *byte != '\0'; byte++) {
        text_append(yaml, *byte == '\'' ? "''" : (const char[]){*byte, '\0'});
    }
    text_append(yaml, "'\n");
    for (int field = FIELD_MODE; field < FIELD_COUNT; field++) {
        const char *key = case_field_key((enum case_field)field), *value = arguments_value(arguments, key);
        if (value == NULL) {
            continue;
        }
        if (!is_plain(value)) {
            return status_set(error, STATUS_INVALID, "plan: %s: '%s' is no value, and no list of values with commas",
                              workload_key_words(error, (enum case_field)field).text, value);
        }
        bool is_list = strchr(value, ',') != NULL;
        text_format(yaml, "    %s: %s%s%s\n", key, is_list ? "[" : "", value, is_list ? "]" : "");
    }
    defaults_write(arguments, catalogue_dir, yaml);
    return STATUS_OK;
}

enum status_code case_suite_read(const struct arguments *arguments, const char *catalogue_dir, struct suite *suite,
                                 struct status *error)
{
    struct text yaml = {0};
    const char *name = arguments->operands[0];
    size_t length = strlen(name);
    if (length > 5 && (strcmp(name + length - 5, ".yaml") == 0 || strcmp(name + length - 4, ".yml") == 0)) {
        return status_set(error, STATUS_INVALID,
                          "plan: %s is a suite, which names its own cases; leave the options of a case out, or name a "
                          "model",
                          name);
    }
    if (arguments_value(arguments, "mode") == NULL) {
        return status_set(error, STATUS_INVALID,
                          "plan: the cases have no mode; add --mode load, infer, generate or train");
    }
    enum status_code code = options_write(arguments, catalogue_dir, &yaml, error);
    if (code == STATUS_OK) {
        code = suite_read_text("", text_string(&yaml), yaml.length, catalogue_dir, suite, error);
    }
    text_release(&yaml);
    return code;
}

static bool has_mode(const struct option_row *options)
{
    while (options->name != NULL && strcmp(options->name, "mode") != 0) {
        options++;
    }
    return options->name != NULL;
}

void suite_hint(const struct arguments *arguments, struct status *error)
{
    const char *name = arguments->operands[0];
    struct arena arena = {0};
    struct text hint = {0};
    const char *file = arena_format(&arena, "suites/%s.yaml", name);
    const char *path = file != NULL ? suite_path(&arena, file) : NULL;
    if (access(name, F_OK) == 0) { /* the file is there, and wrong for another reason */
        arena_release(&arena);
        return;
    }
    if (path != NULL && strchr(name, '/') == NULL && access(path, F_OK) == 0) {
        text_append(&hint, ", as ");
        shell_word_append(&hint, file);
    } else if (has_mode(arguments->command->options) && strstr(name, ".y") == NULL) { /* no .yaml, no .yml */
        text_append(&hint, ", or a model with the options of a case, as --mode load");
    }
    status_extend(error, "%s", text_string(&hint));
    text_release(&hint);
    arena_release(&arena);
}
