/* Answer Markdown: tables made of the documents that --json prints, so that both say the same. */
#include "harness/cli/answer_markdown.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/output.h"
#include "harness/question/bounds.h"
#include "harness/record/level.h"
#include "harness/report/escape.h"

enum status_code answer_format_read(const struct arguments *arguments, enum answer_format *format, struct status *error)
{
    const char *name = arguments_value(arguments, "format");
    bool as_json = arguments_value(arguments, "json") != NULL;
    *format = as_json ? ANSWER_JSON : ANSWER_TABLE;
    if (name == NULL) {
        return STATUS_OK;
    }
    if (strcmp(name, "md") != 0 && strcmp(name, "json") != 0 && strcmp(name, "table") != 0) {
        return status_set(error, STATUS_INVALID, "%s: --format: '%s' is not a format; use table, json or md",
                          arguments->command->name, name);
    }
    if (as_json && strcmp(name, "json") != 0) {
        return status_set(error, STATUS_INVALID, "%s: --json and --format %s are two formats; leave one out",
                          arguments->command->name, name);
    }
    *format = strcmp(name, "md") == 0 ? ANSWER_MARKDOWN : strcmp(name, "json") == 0 ? ANSWER_JSON : ANSWER_TABLE;
    return STATUS_OK;
}

enum status_code output_answer(const struct json *document, enum answer_format format, markdown_writer writer,
                               struct status *error)
{
    if (format == ANSWER_JSON || document == NULL) {
        return output_json(document, error);
    }
    struct text text = {0};
    writer(document, &text);
    enum status_code code = text.failed
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a table")
                                : output_text(&text, error);
    text_release(&text);
    return code;
}

static void word_cell(struct text *text, const char *word)
{
    text_append(text, " ");
    markdown_append(text, word);
    text_append(text, " |");
}

/* "413.18 MiB". */
static void size_cell(struct text *text, const struct json *bytes)
{
    char size[SIZE_TEXT_BYTES];
    bool known = json_kind(bytes) == JSON_KIND_INTEGER;
    text_format(text, " %s |", known ? size_format(json_integer_or(bytes, 0), size) : "-");
}

static void integer_cell(struct text *text, const struct json *value)
{
    if (json_kind(value) == JSON_KIND_INTEGER) {
        text_format(text, " %" PRId64 " |", json_integer_or(value, 0));
    } else {
        text_append(text, " - |");
    }
}

static void heading_write(struct text *text, const char *words)
{
    text_append(text, "## ");
    markdown_append(text, words);
    text_append(text, "\n\n");
}

static void notes_write(const struct json *document, struct text *text)
{
    const struct json *notes = json_get(document, "notes");
    for (size_t index = 0; index < json_count(notes); index++) {
        text_append(text, index == 0 ? "\n- " : "- ");
        markdown_append(text, json_string_or(json_at(notes, index), ""));
        text_append(text, "\n");
    }
}

static void model_row(const struct json *model, struct text *text)
{
    text_append(text, "|");
    word_cell(text, json_string_or(json_get(model, "model"), "-"));
    word_cell(text, json_string_or(json_get(model, "family"), "-"));
    integer_cell(text, json_get(model, "parameter_count"));
    integer_cell(text, json_get(model, "active_parameter_count"));
    size_cell(text, json_get(model, "parameter_bytes"));
    size_cell(text, json_get(model, "buffer_bytes"));
    text_append(text, "\n");
}

static void tensor_row(const struct json *tensor, struct text *text)
{
    const struct json *shape = json_get(tensor, "shape");
    text_append(text, "|");
    word_cell(text, json_string_or(json_get(tensor, "path"), "-"));
    text_append(text, " ");
    for (size_t index = 0; index < json_count(shape); index++) {
        text_format(text, "%s%" PRId64, index > 0 ? " × " : "", json_integer_or(json_at(shape, index), 0));
    }
    text_append(text, " |");
    word_cell(text, json_string_or(json_get(tensor, "dtype"), "-"));
    word_cell(text, json_string_or(json_get(tensor, "kind"), "-"));
    word_cell(text, json_string_or(json_get(tensor, "tied_to"), ""));
    text_append(text, "\n");
}

void models_markdown(const struct json *document, struct text *text)
{
    const struct json *models = json_get(document, "models"), *tensors = json_get(document, "tensors");
    text_append(text, "| model | family | parameters | active | in float32 | buffers |\n|---|---|--:|--:|--:|--:|\n");
    for (size_t index = 0; index < json_count(models); index++) {
        model_row(json_at(models, index), text);
    }
    if (models == NULL) {
        model_row(document, text);
    } else {
        text_append(text, "\n" MODELS_COUNT_WORDS);
    }
    if (tensors != NULL) {
        text_append(text, "\n| tensor | shape | dtype | kind | tied to |\n|---|---|---|---|---|\n");
    }
    for (size_t index = 0; index < json_count(tensors); index++) {
        tensor_row(json_at(tensors, index), text);
    }
    notes_write(document, text);
}

void rows_markdown(const struct json *document, struct text *text)
{
    const struct json *rows = json_get(document, "rows");
    heading_write(text, json_string_or(json_get(document, "model"), "-"));
    text_append(text, "| dtype | largest layer | total size | training with Adam |\n|---|--:|--:|--:|\n");
    for (size_t index = 0; index < json_count(rows); index++) {
        const struct json *row = json_at(rows, index);
        text_append(text, "|");
        word_cell(text, json_string_or(json_get(row, "dtype"), "-"));
        size_cell(text, json_get(row, "largest_layer_bytes"));
        size_cell(text, json_get(row, "total_bytes"));
        size_cell(text, json_get(row, "training_adam_bytes"));
        text_append(text, "\n");
    }
    notes_write(document, text);
}

/* Each member of an object that is a size: what it is of, the name, the size, the bytes. */
static void size_rows(const struct json *object, const char *of, const char *suffix, struct text *text)
{
    const char *key = NULL;
    while (json_kind(object) == JSON_KIND_OBJECT && (key = json_key_after(object, key)) != NULL) {
        const struct json *value = json_get(object, key);
        size_t length = strlen(key), end = strlen(suffix);
        bool is_size = length >= end && strstr(key, suffix) != NULL;
        if (!is_size || json_kind(value) != JSON_KIND_INTEGER || (end == 0 && json_integer_or(value, 0) == 0)) {
            continue;
        }
        text_append(text, "|");
        word_cell(text, of);
        word_cell(text, key);
        size_cell(text, value);
        integer_cell(text, value);
        text_append(text, "\n");
    }
}

/* A size is likely alone, a range has both ends. Nothing if there are no bounds. */
static void bounds_write(const struct json *bounds, struct text *text)
{
    const struct bounds_part *part = NULL;
    if (json_kind(bounds) != JSON_KIND_OBJECT) {
        return;
    }
    text_append(text, "\n| bounds of replay | likely | from | to |\n|---|--:|--:|--:|\n");
    for (int index = 0; (part = bounds_part_at(index)) != NULL; index++) {
        const struct json *value = json_get(bounds, part->key);
        bool is_range = json_kind(value) == JSON_KIND_OBJECT;
        if (value == NULL) { /* no managed memory */
            continue;
        }
        text_append(text, "|");
        word_cell(text, part->words);
        size_cell(text, is_range ? json_get(value, "likely_bytes") : value);
        size_cell(text, is_range ? json_get(value, "low_bytes") : value);
        size_cell(text, is_range ? json_get(value, "high_bytes") : value);
        text_append(text, "\n");
    }
}

/* "tested on 18 real measurements of GPUs: median error 0.12 %, worst 2.1 %". */
static void tested_write(const struct json *tested, const char *of, struct text *text)
{
    int64_t count = json_integer_or(json_get(tested, "cases"), 0);
    text_format(text, "tested on %" PRId64 " real measurements of GPUs%s", count, of);
    if (count > 0) {
        text_format(text, ": median error %.2f %%, worst %.1f %%",
                    100.0 * json_real_or(json_get(tested, "median"), 0.0),
                    100.0 * json_real_or(json_get(tested, "worst"), 0.0));
    }
}

static void law_origin_write(const struct json *law, struct text *text)
{
    text_append(text, "\nLaw of the calibration, ");
    markdown_append(text, json_string_or(json_get(law, "kind"), "-"));
    text_format(text, ": fitted to replay of %" PRId64 " cases of %" PRId64 " models, ",
                json_integer_or(json_get(law, "cases"), 0), json_integer_or(json_get(law, "models"), 0));
    tested_write(json_get(law, "tested_of_kind"), " of this kind", text);
    text_append(text, ", ");
    tested_write(json_get(law, "tested"), "", text);
    text_append(text, ".\n");
}

static void law_write(const struct json *law, struct text *text)
{
    const struct json *outside = json_get(law, "outside");
    if (json_kind(law) != JSON_KIND_OBJECT) {
        return;
    }
    law_origin_write(law, text);
    text_append(text, "\n| law of the calibration | size | bytes |\n|---|--:|--:|\n| allocated\\_bytes\\_peak |");
    size_cell(text, json_get(law, level_peak_key(LEVEL_ALLOCATED)));
    integer_cell(text, json_get(law, level_peak_key(LEVEL_ALLOCATED)));
    text_append(text, "\n");
    for (size_t index = 0; index < json_count(outside); index++) {
        text_append(text, index == 0 ? "\nOutside of what the law was fitted to:\n\n- " : "- ");
        markdown_append(text, json_string_or(json_at(outside, index), ""));
        text_append(text, "\n");
    }
}

static void case_write(const struct json *document, struct text *text)
{
    const struct json *estimates = json_get(document, "estimates");
    heading_write(text, json_string_or(json_get(document, "id"), "-"));
    text_append(text, "Predicted for ");
    markdown_append(text, json_string_or(json_get(document, "target"), "-"));
    const char *program = json_string_or(json_get(document, "program"), NULL);
    text_append(text, program != NULL ? ", with the habits of the program " : "");
    markdown_append(text, program != NULL ? program : "");
    text_append(text, ".\n\n| estimator | quantity | size | bytes |\n|---|---|--:|--:|\n");
    for (const char *name = NULL; (name = json_key_after(estimates, name)) != NULL;) {
        size_rows(json_get(estimates, name), name, "_bytes", text);
        size_rows(json_get(json_get(estimates, name), "categories_at_peak"), "replay, at the peak", "", text);
        size_rows(json_get(json_get(estimates, name), "managed"), "replay, managed memory", "bytes", text);
    }
    bounds_write(json_get(document, "bounds"), text);
    law_write(json_get(document, "calibration"), text);
    notes_write(document, text);
}

static void case_row(const struct json *document, struct text *text)
{
    const struct json *replay = json_get(json_get(document, "estimates"), "replay");
    const struct json *law = json_get(document, "calibration");
    text_append(text, "|");
    word_cell(text, json_string_or(json_get(document, "id"), "-"));
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        size_cell(text, json_get(replay, level_peak_key((enum level)level)));
    }
    if (law != NULL) {
        size_cell(text, json_get(law, level_peak_key(LEVEL_ALLOCATED)));
    }
    word_cell(text, json_string_or(json_get(replay, "peak_stage"), "-"));
    text_append(text, "\n");
}

void estimate_markdown(const struct json *document, struct text *text)
{
    const struct json *cases = json_get(document, "cases");
    if (cases == NULL) {
        case_write(document, text);
        return;
    }
    text_append(text, "Predicted by replay for ");
    markdown_append(text, json_string_or(json_get(json_at(cases, 0), "target"), "-"));
    text_append(text, ".\n\n| case |");
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        text_format(text, " %s |", level_name((enum level)level));
    }
    bool by_law = json_get(json_at(cases, 0), "calibration") != NULL;
    text_append(text, by_law ? " allocated by the law |" : "");
    text_append(text, " peak in |\n|---|");
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        text_append(text, "--:|");
    }
    text_append(text, by_law ? "--:|---|\n" : "---|\n");
    for (size_t index = 0; index < json_count(cases); index++) {
        case_row(json_at(cases, index), text);
    }
}

/* Of each counted level a row. */
#define LEVEL_ROW_KEY(name, stem, ...)   LEVEL_PEAK_KEY(stem),
#define LEVEL_ROW_WORDS(name, stem, ...) #stem " at the peak",

void fit_markdown(const struct json *document, struct text *text)
{
    static const char *const keys[] = {"memory_bytes",
                                       LEVEL_COUNTED_TABLE(LEVEL_ROW_KEY) /* their peaks */
                                       "bounded_reserved_bytes_peak",
                                       "margin_low_bytes",
                                       "margin_high_bytes",
                                       "left_beside_allocated_low_bytes",
                                       "left_beside_allocated_high_bytes"};
    static const char *const words[] = {"memory",
                                        LEVEL_COUNTED_TABLE(LEVEL_ROW_WORDS) /* their peaks */
                                        "after giving back",
                                        "margin, least",
                                        "margin, most",
                                        "left beside allocated, least",
                                        "left beside allocated, most"};
    enum { ALWAYS_COUNT = 4 + LEVEL_COUNTED_COUNT }; /* the others only if they are known */
    const struct json *fits = json_get(document, "fits"), *overhead = json_get(document, "overhead");
    heading_write(text, json_string_or(json_get(document, "id"), "-"));
    text_append(text, json_kind(fits) != JSON_KIND_BOOLEAN ? "**depends**"
                      : json_boolean_or(fits, false)       ? "**fits**"
                                                           : "**does not fit**");
    const char *device = json_string_or(json_get(document, "device"), NULL);
    text_append(text, device != NULL ? " on " : "");
    markdown_append(text, device != NULL ? device : "");
    text_append(text, "\n\n| | size | bytes |\n|---|--:|--:|\n");
    for (size_t index = 0; index < sizeof keys / sizeof keys[0]; index++) {
        if (index >= ALWAYS_COUNT && json_kind(json_get(document, keys[index])) != JSON_KIND_INTEGER) {
            continue;
        }
        text_format(text, "| %s |", words[index]);
        size_cell(text, json_get(document, keys[index]));
        integer_cell(text, json_get(document, keys[index]));
        text_append(text, "\n");
    }
    const struct json *managed = json_get(json_get(document, "managed"), "bytes");
    if (managed != NULL) {
        text_append(text, "| managed memory, in no segment |");
        size_cell(text, managed);
        integer_cell(text, managed);
        text_append(text, "\n");
    }
    text_append(text, "| context and libraries, least |");
    size_cell(text, json_get(overhead, "low_bytes"));
    integer_cell(text, json_get(overhead, "low_bytes"));
    text_append(text, "\n| context and libraries, most |");
    size_cell(text, json_get(overhead, "high_bytes"));
    integer_cell(text, json_get(overhead, "high_bytes"));
    text_append(text, "\n\n| | at the peak | size | bytes |\n|---|---|--:|--:|\n");
    size_rows(json_get(document, "categories_at_peak"), json_string_or(json_get(document, "peak_stage"), "-"), "",
              text);
    notes_write(document, text);
}
