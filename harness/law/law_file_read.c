/* Law file: reading. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/law/law_file.h"

enum { FILE_BYTES_MAXIMUM = 16 << 20 };

__attribute__((format(printf, 3, 4))) static enum status_code refuse(const struct law_file *file, struct status *error,
                                                                     const char *format, ...)
{
    char cause[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    return status_set_at(error, STATUS_INVALID, (struct file_place){file->path, 0, 0}, "%s", cause);
}

static bool is_number(const struct json *value)
{
    return json_kind(value) == JSON_KIND_INTEGER || json_kind(value) == JSON_KIND_REAL;
}

/* Only told, so that a count that cannot be is none. */
static int count_of(const struct json *value)
{
    int64_t count = json_integer_or(value, 0);
    return count >= 0 && count <= INT_MAX ? (int)count : 0;
}

static struct error_summary summary_of(const struct json *errors)
{
    return (struct error_summary){.count = count_of(json_get(errors, "cases")),
                                  .median = json_real_or(json_get(errors, "median"), NAN),
                                  .p90 = json_real_or(json_get(errors, "p90"), NAN),
                                  .worst = json_real_or(json_get(errors, "worst"), NAN),
                                  .under = json_real_or(json_get(errors, "under"), NAN)};
}

static enum status_code coefficients_read(const struct law_file *file, const struct json *object, int number,
                                          struct law_kind *kind, struct status *error)
{
    for (int term = 0; term < TERM_COUNT; term++) {
        const char *key = overhead_term_words((enum overhead_term)term)->key;
        const struct json *one = json_get(object, key);
        bool is_identified = json_boolean_or(json_get(one, "identified"), false);
        const char *member = is_identified ? "value" : "used";
        const struct json *value = json_get(one, member);
        if (one != NULL && (!is_number(value) || !(json_real_or(value, -1.0) >= 0.0))) {
            return refuse(file, error, "'kinds[%d].coefficients.%s.%s' must be a number, and not negative", number, key,
                          member);
        }
        kind->terms[term] = (struct overhead_coefficient){
            .value = json_real_or(value, 0.0), .is_seen = one != NULL, .is_identified = is_identified};
    }
    return STATUS_OK;
}

/* False: no list of two whole numbers. */
static bool pair_read(const struct json *pair, int64_t *low, int64_t *high)
{
    *low = json_integer_or(json_at(pair, 0), 0);
    *high = json_integer_or(json_at(pair, 1), 0);
    return json_count(pair) == 2 && json_kind(json_at(pair, 0)) == JSON_KIND_INTEGER &&
           json_kind(json_at(pair, 1)) == JSON_KIND_INTEGER;
}

static enum status_code range_read(const struct law_file *file, const struct json *object, int number,
                                   struct law_kind *kind, struct status *error)
{
    const char *wrong = NULL;
#define RANGE_READ(member, heading)                                                                                    \
    if (!pair_read(json_get(object, heading), &kind->low.member, &kind->high.member) && wrong == NULL) {               \
        wrong = heading;                                                                                               \
    }
    LAW_POINT_SIZES(RANGE_READ)
#undef RANGE_READ
    if (!pair_read(json_get(object, LAW_TOKENS), &kind->tokens_low, &kind->tokens_high)) {
        wrong = LAW_TOKENS;
    }
    return wrong == NULL ? STATUS_OK
                         : refuse(file, error,
                                  "'kinds[%d].range.%s' must be a list of two whole numbers; without it no case is "
                                  "outside of the law",
                                  number, wrong);
}

static enum status_code kind_read(struct law_file *file, const struct json *one, int number, struct law_kind *kind,
                                  struct status *error)
{
    const char *name = json_string_or(json_get(one, "kind"), NULL);
    if (name == NULL) {
        return refuse(file, error, "'kinds[%d].kind' must be a word", number);
    }
    if (!is_number(json_get(one, "rounding_bytes"))) {
        return refuse(file, error, "'kinds[%d].rounding_bytes' must be a number", number);
    }
    kind->kind = arena_copy(&file->arena, name);
    if (kind->kind == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    kind->rounding_bytes = json_real_or(json_get(one, "rounding_bytes"), 0.0);
    kind->model_count = count_of(json_get(one, "models"));
    kind->case_count = count_of(json_get(one, "cases"));
    kind->tested = summary_of(json_get(one, "tested"));
    enum status_code code = coefficients_read(file, json_get(one, "coefficients"), number, kind, error);
    return code == STATUS_OK ? range_read(file, json_get(one, "range"), number, kind, error) : code;
}

static enum status_code schema_check(const struct law_file *file, const struct json *document, struct status *error)
{
    const struct json *schema = json_get(document, "schema");
    const char *law = json_string_or(json_get(document, "law"), NULL);
    int64_t major = json_integer_or(json_get(schema, "major"), 0);
    if (strcmp(json_string_or(json_get(schema, "name"), ""), LAW_SCHEMA_NAME) != 0 || law == NULL) {
        return refuse(file, error, "it is no law; assay calibrate --law inference-overhead --output FILE writes one");
    }
    if (strcmp(law, "inference-overhead") != 0) {
        return refuse(file, error, "it is the law '%.60s'; cases are estimated by inference-overhead", law);
    }
    if (major != LAW_SCHEMA_MAJOR) {
        return refuse(file, error, "its version is %" PRId64 ", and this program reads %d; %s", major, LAW_SCHEMA_MAJOR,
                      major > LAW_SCHEMA_MAJOR ? "take a newer program" : "fit the law again from its points");
    }
    return STATUS_OK;
}

static enum status_code kinds_read(struct law_file *file, const struct json *kinds, struct status *error)
{
    size_t count = json_count(kinds);
    if (json_kind(kinds) != JSON_KIND_ARRAY || count < 1 || count > LAW_KINDS_MAXIMUM) {
        return refuse(file, error, "'kinds' must be a list of 1 to %d objects", LAW_KINDS_MAXIMUM);
    }
    file->kinds = arena_alloc(&file->arena, count * sizeof *file->kinds);
    enum status_code code = file->kinds != NULL
                                ? STATUS_OK
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    for (size_t at = 0; at < count && code == STATUS_OK; at++) {
        file->kinds[at] = (struct law_kind){0};
        code = kind_read(file, json_at(kinds, at), (int)at, &file->kinds[at], error);
        file->kind_count++;
    }
    return code;
}

enum status_code law_file_read(const char *path, struct law_file *file, struct status *error)
{
    struct json *document = NULL;
    enum status_code code = json_parse_file(path, FILE_BYTES_MAXIMUM, &document, error);
    file->path = path;
    code = code == STATUS_OK ? schema_check(file, document, error) : code;
    if (code == STATUS_OK) {
        const struct json *errors = json_get(json_get(document, "tested"), "errors");
        file->tested = summary_of(json_get(errors, overhead_form_key(FORM_STRUCTURAL)));
        code = kinds_read(file, json_get(document, "kinds"), error);
    }
    json_release(document);
    return code;
}

void law_file_release(struct law_file *file)
{
    arena_release(&file->arena);
    *file = (struct law_file){0};
}
