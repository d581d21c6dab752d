/* JSON document: an object written member by member, so that a document of 100,000 parts is never a tree in memory.
 *
 * Failures are remembered: a caller writes all of it and looks at `code` once. Worked: with text "{\n", the members
 * "a" = 1 and a last value 2 behind "  \"b\": " give "{\n  \"a\": 1,\n  \"b\": 2". */
#ifndef ASSAY_BASE_JSON_DOCUMENT_H
#define ASSAY_BASE_JSON_DOCUMENT_H

#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

struct json_document {
    struct text *text;
    struct status *error;
    const char *what;      /* for the error that memory ran out: "the comparison of 12 cases" is what and case_count */
    int case_count;        /* the same */
    enum status_code code; /* STATUS_OK until the first fault */
};

/* Writes a value behind `before`, and releases it; NULL: memory ran out. */
void json_document_value(struct json_document *document, const char *before, struct json *value);

/* The same on a line of its own, with its key before it and a comma behind it. */
void json_document_member(struct json_document *document, const char *key, struct json *value);

/* A text, null for NULL; a size in bytes, null for a negative one, which stands for one that nobody knows. */
struct json *json_text_or_null(const char *text);
struct json *json_bytes_or_null(int64_t bytes);

#endif
