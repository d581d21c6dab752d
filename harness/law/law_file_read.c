/* Law file: reading, and what a law says of a case. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/law/law_file.h"

enum { FILE_BYTES_MAXIMUM = 16 << 20 };

/* The lists of words, in the order of law_kind.words. */
static const char *const word_lists[] = {"precisions", "attentions", "logits", "caches"};

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

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

/* ---- a kind ---- */

static enum status_code coefficients_read(const struct law_file *file, const struct json *object, int number,
                                          struct law_kind *kind, struct status *error)
{
    for (int term = 0; term < TERM_COUNT; term++) {
        const char *key = overhead_term_key((enum overhead_term)term);
        const struct json *one = json_get(object, key);
        kind->is_known[term] = one != NULL;
        if (one != NULL && !is_number(json_get(one, "value"))) {
            return refuse(file, error, "'kinds[%d].coefficients.%s.value' must be a number", number, key);
        }
        kind->coefficients[term] = one != NULL ? json_real_or(json_get(one, "value"), 0.0) : 0.0;
    }
    return STATUS_OK;
}

static enum status_code range_read(const struct law_file *file, const struct json *object, int number,
                                   struct law_kind *kind, struct status *error)
{
    const char *wrong = NULL;
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return refuse(file, error,
                      "'kinds[%d].range' must be an object: without it no case is outside of the law; fit it again",
                      number);
    }
#define RANGE_READ(member, heading)                                                                                    \
    {                                                                                                                  \
        const struct json *pair = json_get(object, heading);                                                           \
        bool is_pair = json_count(pair) == 2 && json_kind(json_at(pair, 0)) == JSON_KIND_INTEGER &&                    \
                       json_kind(json_at(pair, 1)) == JSON_KIND_INTEGER;                                               \
        wrong = wrong == NULL && !is_pair ? heading : wrong;                                                           \
        kind->low.member = json_integer_or(json_at(pair, 0), 0);                                                       \
        kind->high.member = json_integer_or(json_at(pair, 1), 0);                                                      \
    }
    LAW_POINT_SIZES(RANGE_READ)
#undef RANGE_READ
    const struct json *tokens = json_get(object, LAW_TOKENS);
    kind->tokens_low = json_integer_or(json_at(tokens, 0), 0);
    kind->tokens_high = json_integer_or(json_at(tokens, 1), INT64_MAX);
    bool is_pair = json_count(tokens) == 2 && json_kind(json_at(tokens, 0)) == JSON_KIND_INTEGER &&
                   json_kind(json_at(tokens, 1)) == JSON_KIND_INTEGER;
    wrong = wrong == NULL && tokens != NULL && !is_pair ? LAW_TOKENS : wrong;
    return wrong == NULL
               ? STATUS_OK
               : refuse(file, error, "'kinds[%d].range.%s' must be a list of two whole numbers", number, wrong);
}

static enum status_code words_read(struct law_file *file, const struct json *one, int number, struct law_kind *kind,
                                   struct status *error)
{
    for (int list = 0; list < 4; list++) {
        const struct json *array = json_get(one, word_lists[list]);
        if (json_kind(array) != JSON_KIND_ARRAY || json_count(array) < 1 || json_count(array) >= LAW_WORDS_MAXIMUM) {
            return refuse(file, error, "'kinds[%d].%s' must be a list of 1 to %d words", number, word_lists[list],
                          LAW_WORDS_MAXIMUM - 1);
        }
        for (size_t at = 0; at < json_count(array); at++) {
            const char *word = json_string_or(json_at(array, at), NULL);
            if (word == NULL) {
                return refuse(file, error, "'kinds[%d].%s[%zu]' must be a word", number, word_lists[list], at);
            }
            kind->words[list][at] = arena_copy(&file->arena, word);
            if (kind->words[list][at] == NULL) {
                return no_memory(error);
            }
        }
    }
    return STATUS_OK;
}

/* list: "kinds". */
static enum status_code names_read(struct law_file *file, const struct json *one, const char *list, int number,
                                   const char *const keys[3], const char **const members[3], struct status *error)
{
    for (int at = 0; at < 3; at++) {
        const char *word = json_string_or(json_get(one, keys[at]), NULL);
        if (word == NULL) {
            return refuse(file, error, "'%s[%d].%s' must be a word", list, number, keys[at]);
        }
        *members[at] = arena_copy(&file->arena, word);
        if (*members[at] == NULL) {
            return no_memory(error);
        }
    }
    return STATUS_OK;
}

static enum status_code donor_read(struct law_file *file, const struct json *one, int number, struct law_kind *kind,
                                   struct status *error)
{
    const struct json *donor = json_get(one, "borrowed_from");
    if (donor == NULL || json_kind(donor) == JSON_KIND_NULL) {
        return STATUS_OK;
    }
    const char *word = json_string_or(donor, NULL);
    if (word == NULL) {
        return refuse(file, error, "'kinds[%d].borrowed_from' must be a word or null", number);
    }
    kind->borrowed_from = arena_copy(&file->arena, word);
    return kind->borrowed_from != NULL ? STATUS_OK : no_memory(error);
}

/* Only told, so that a count that cannot be is none. */
static int count_of(const struct json *value)
{
    int64_t count = json_integer_or(value, 0);
    return count >= 0 && count <= INT_MAX ? (int)count : 0;
}

static enum status_code kind_read(struct law_file *file, const struct json *one, int number, struct law_kind *kind,
                                  struct status *error)
{
    static const char *const keys[] = {"kind", "target", "program"};
    const char **const names[] = {&kind->kind, &kind->target, &kind->program};
    const struct json *context = json_get(one, "context"), *errors = json_get(one, "errors");
    if (!is_number(json_get(one, "allocator_bytes"))) {
        return refuse(file, error, "'kinds[%d].allocator_bytes' must be a number", number);
    }
    kind->allocator_bytes = json_real_or(json_get(one, "allocator_bytes"), 0.0);
    kind->context[0] = json_real_or(json_get(context, "constant_bytes"), NAN);
    kind->context[1] = json_real_or(json_get(context, "times_peak"), NAN);
    kind->model_count = count_of(json_get(one, "models"));
    kind->case_count = count_of(json_get(one, "cases"));
    kind->median = json_real_or(json_get(errors, "median"), NAN);
    kind->p99 = json_real_or(json_get(errors, "p99"), NAN);
    kind->worst = json_real_or(json_get(errors, "worst"), NAN);
    enum status_code code = names_read(file, one, "kinds", number, keys, names, error);
    code = code == STATUS_OK ? donor_read(file, one, number, kind, error) : code;
    code = code == STATUS_OK ? coefficients_read(file, json_get(one, "coefficients"), number, kind, error) : code;
    code = code == STATUS_OK ? range_read(file, json_get(one, "range"), number, kind, error) : code;
    return code == STATUS_OK ? words_read(file, one, number, kind, error) : code;
}

/* ---- a context ---- */

static enum status_code context_read(struct law_file *file, const struct json *one, int number,
                                     struct law_context *context, struct status *error)
{
    static const char *const keys[] = {"target", "program", "mode"};
    const char **const names[] = {&context->target, &context->program, &context->mode};
    const struct json *errors = json_get(one, "errors");
    if (!is_number(json_get(one, "bytes"))) {
        return refuse(file, error, "'contexts[%d].bytes' must be a number", number);
    }
    context->bytes = json_real_or(json_get(one, "bytes"), 0.0);
    context->model_count = count_of(json_get(one, "models"));
    context->case_count = count_of(json_get(one, "cases"));
    context->median = json_real_or(json_get(errors, "median"), NAN);
    context->p99 = json_real_or(json_get(errors, "p99"), NAN);
    context->worst = json_real_or(json_get(errors, "worst"), NAN);
    return names_read(file, one, "contexts", number, keys, names, error);
}

static enum status_code contexts_read(struct law_file *file, const struct json *contexts, struct status *error)
{
    enum status_code code = STATUS_OK;
    size_t count = json_count(contexts);
    if (contexts != NULL && (json_kind(contexts) != JSON_KIND_ARRAY || count > LAW_KINDS_MAXIMUM)) {
        return refuse(file, error, "'contexts' must be a list of at most %d contexts", LAW_KINDS_MAXIMUM);
    }
    file->contexts = arena_alloc(&file->arena, (count + 1) * sizeof *file->contexts);
    if (file->contexts == NULL) {
        return no_memory(error);
    }
    for (size_t at = 0; at < count && code == STATUS_OK; at++) {
        code = context_read(file, json_at(contexts, at), (int)at, &file->contexts[at], error);
    }
    file->context_count = (int)count;
    return code;
}

static enum status_code document_check(const struct law_file *file, const struct json *document, struct status *error)
{
    const struct json *schema = json_get(document, "schema");
    if (strcmp(json_string_or(json_get(schema, "name"), ""), LAW_SCHEMA_NAME) != 0) {
        return refuse(file, error, "it is no law; give a file that assay calibrate --law --output has written");
    }
    if (json_integer_or(json_get(schema, "major"), 0) != LAW_SCHEMA_MAJOR) {
        return refuse(file, error, "its format is version %" PRId64 ", and this program reads version %d; fit it again",
                      json_integer_or(json_get(schema, "major"), 0), LAW_SCHEMA_MAJOR);
    }
    const char *law = json_string_or(json_get(document, "law"), "");
    if (strcmp(law, "inference-overhead") != 0) {
        return refuse(file, error, "it is the law '%.40s'; cases are estimated by inference-overhead", law);
    }
    size_t count = json_count(json_get(document, "kinds"));
    return json_kind(json_get(document, "kinds")) == JSON_KIND_ARRAY && count > 0 && count <= LAW_KINDS_MAXIMUM
               ? STATUS_OK
               : refuse(file, error, "'kinds' must be a list of 1 to %d kinds", LAW_KINDS_MAXIMUM);
}

enum status_code law_file_read(const char *path, struct law_file *file, struct status *error)
{
    struct json *document = NULL;
    file->path = arena_copy(&file->arena, path);
    enum status_code code =
        file->path != NULL ? json_parse_file(path, FILE_BYTES_MAXIMUM, &document, error) : no_memory(error);
    code = code == STATUS_OK ? document_check(file, document, error) : code;
    if (code == STATUS_OK) {
        const struct json *kinds = json_get(document, "kinds");
        int count = (int)json_count(kinds);
        file->kinds = arena_alloc(&file->arena, (size_t)count * sizeof *file->kinds);
        code = file->kinds != NULL ? STATUS_OK : no_memory(error);
        for (int at = 0; at < count && code == STATUS_OK; at++) {
            code = kind_read(file, json_at(kinds, (size_t)at), at, &file->kinds[at], error);
        }
        file->kind_count = count;
        code = code == STATUS_OK ? contexts_read(file, json_get(document, "contexts"), error) : code;
    }
    json_release(document);
    return code;
}

void law_file_release(struct law_file *file)
{
    arena_release(&file->arena);
    *file = (struct law_file){0};
}
