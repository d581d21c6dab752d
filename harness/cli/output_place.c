/* Output place: two paths, one file? And what is it that stands there? Writes nothing. */
#include "harness/cli/output_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/cli/value_word.h"

enum { HEAD_BYTES = 65536 };

/* Options that name a file to be written, of whichever command. */
static const char *const WRITING[] = {"output", "points", "folded", "junit", "summary", NULL};

enum status_code output_place_check(const char *output, const char *input, struct status *error)
{
    struct stat written, read;
    struct text records = {0};
    if (output == NULL || stat(output, &written) != 0 || !S_ISREG(written.st_mode) || stat(input, &read) != 0) {
        return STATUS_OK; /* of a terminal or a pipe nothing is lost */
    }
    enum status_code code = STATUS_OK;
    bool is_read = !S_ISDIR(read.st_mode);
    if (!is_read) {
        text_format(&records, "%s/records.jsonl", input);
        code = text_status(&records, "a path", error);
        is_read = stat(text_string(&records), &read) == 0;
    }
    if (code == STATUS_OK && is_read && written.st_dev == read.st_dev && written.st_ino == read.st_ino) {
        code = status_set(error, STATUS_INVALID, "%s: is what is read here; name another file", output);
    }
    text_release(&records);
    return code;
}

/* ---- what stands there ---- */

/* The beginning of the file, ended by a zero, without a mark of the order of bytes. NULL: it is not there, no regular
 * file, or cannot be read. */
static char *head_read(const char *path, size_t *length)
{
    struct stat facts;
    int file = regular_file_open(path, &facts);
    char *head = file >= 0 ? malloc(HEAD_BYTES + 1) : NULL;
    *length = 0;
    for (ssize_t got = 1; head != NULL && got > 0 && *length < HEAD_BYTES;) {
        got = read(file, head + *length, HEAD_BYTES - *length);
        *length += got > 0 ? (size_t)got : 0;
    }
    if (head != NULL) {
        const size_t mark = *length >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        *length -= mark;
        memmove(head, head + mark, *length);
        head[*length] = '\0';
    }
    if (file >= 0) {
        close(file);
    }
    return head;
}

/* Eight bytes with the length of a header in JSON, and the header. */
static bool is_safetensors(const char *head, size_t length)
{
    static const char none[3] = {0};
    return length > 8 && memcmp(head + 5, none, sizeof none) == 0 && head[8] == '{';
}

/* The first line of measured records. */
static bool is_records(const char *head)
{
    struct json *line = NULL;
    size_t length = strcspn(head, "\n");
    bool is_run = json_parse_text("output", head, length, &line, NULL) == STATUS_OK &&
                  strcmp(json_string_or(json_get(line, "type"), ""), "run") == 0;
    json_release(line);
    /* a run line that is longer than what was read, too */
    return is_run || (head[length] == '\0' && strncmp(head, "{\"type\": \"run\"", strlen("{\"type\": \"run\"")) == 0);
}

static bool is_model_document(const char *head, size_t length)
{
    static const char *const keys[] = {"model_type", "architectures", "weight_map", NULL};
    struct json *document = NULL;
    bool is_model = false;
    if (json_parse_text("output", head, length, &document, NULL) == STATUS_OK) {
        for (size_t i = 0; keys[i] != NULL; i++) {
            is_model = is_model || json_get(document, keys[i]) != NULL;
        }
    }
    json_release(document);
    return is_model || (length == HEAD_BYTES && strstr(head, "\"weight_map\"") != NULL);
}

/* What stands beside the records of a part of several (plan.json): its schema comes first. */
static bool is_plan(const char *head)
{
    enum { BEGINNING = 200 };
    const char *name = head[0] == '{' ? strstr(head, "\"assay-shard-plan\"") : NULL;
    return name != NULL && name - head < BEGINNING;
}

/* Whether a line begins with this key of YAML. */
static bool has_key(const char *head, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = head; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            return true;
        }
    }
    return false;
}

/* What the file is that nobody could make anew; NULL: nothing of the kind. */
static const char *dear_words(const char *head, size_t length)
{
    static const struct {
        const char *bytes, *words;
    } rows[] = {{"SQLite format 3", "is a database, as a history is"},
                {"GGUF", "holds weights of a model"},
                {"PK\x03\x04", "is a ZIP archive, as PyTorch's weights are"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (length >= strlen(rows[i].bytes) && memcmp(head, rows[i].bytes, strlen(rows[i].bytes)) == 0) {
            return rows[i].words;
        }
    }
    bool is_yaml = has_key(head, "version");
    return is_safetensors(head, length)                                    ? "holds weights of a model"
           : is_records(head)                                              ? "holds measured records"
           : is_plan(head)                                                 ? "is the plan of a run in parts"
           : is_model_document(head, length)                               ? "is a configuration or an index of a model"
           : is_yaml && has_key(head, "cases")                             ? "is a suite"
           : is_yaml && (has_key(head, "rules") || has_key(head, "known")) ? "is a policy"
                                                                           : NULL;
}

static enum status_code content_check(const char *path, struct status *error)
{
    size_t length = 0;
    char *head = head_read(path, &length);
    const char *words = head != NULL ? dear_words(head, length) : NULL;
    free(head);
    return words == NULL ? STATUS_OK : status_set(error, STATUS_INVALID, "%s: %s; name another file", path, words);
}

/* ---- what else is named ---- */

static bool option_names_file(const struct option_row *option)
{
    enum value_source source = value_word_of_option(option).source;
    return source == VALUE_FILE || source == VALUE_FOLDER || source == VALUE_SUITE || source == VALUE_MODEL ||
           source == VALUE_CONSTANTS;
}

static bool option_writes(const struct option_row *option)
{
    bool found = false;
    for (size_t i = 0; WRITING[i] != NULL; i++) {
        found = found || strcmp(option->name, WRITING[i]) == 0;
    }
    return found && option->kind == OPTION_VALUE;
}

/* Two options that write to one file, also if it is not there yet: one page would be lost. */
static enum status_code written_once_check(const char *path, const char *other, const char *option,
                                           struct status *error)
{
    struct stat facts;
    bool is_new = strcmp(path, other) == 0 && stat(path, &facts) != 0;
    return !is_new && output_place_check(path, other, NULL) == STATUS_OK
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "%s: is what --%s writes, too; name another file", path, option);
}

/* Against every operand and the files of every other option. */
static enum status_code names_check(const struct arguments *arguments, int row, struct status *error)
{
    const struct option_row *options = arguments->command->options;
    const char *path = arguments->values[row];
    enum status_code code = STATUS_OK;
    for (int i = 0; i < arguments->operand_count && code == STATUS_OK; i++) {
        code = output_place_check(path, arguments->operands[i], error);
    }
    for (int i = 0; options[i].name != NULL && code == STATUS_OK; i++) {
        const char *other = i != row && option_names_file(&options[i]) ? arguments->values[i] : NULL;
        code = other == NULL                ? STATUS_OK
               : option_writes(&options[i]) ? written_once_check(path, other, options[i].name, error)
                                            : output_place_check(path, other, error);
    }
    for (int i = 0; i < arguments->repeated_count && code == STATUS_OK; i++) {
        code = output_place_check(path, arguments->repeated[i].value, error);
    }
    return code;
}

enum status_code output_places_check(const struct arguments *arguments, struct status *error)
{
    const struct option_row *options = arguments->command->options;
    enum status_code code = STATUS_OK;
    for (int row = 0; options[row].name != NULL && code == STATUS_OK; row++) {
        if (!option_writes(&options[row]) || arguments->values[row] == NULL) {
            continue;
        }
        code = names_check(arguments, row, error);
        code = code == STATUS_OK ? content_check(arguments->values[row], error) : code;
        if (code != STATUS_OK) {
            status_prefix(error, "%s: --%s", arguments->command->name, options[row].name);
        }
    }
    return code;
}
