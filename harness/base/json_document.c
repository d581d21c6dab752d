/* JSON document: the members of a large object, one after the other. Not what stands in them. */
#include "harness/base/json_document.h"

void json_document_value(struct json_document *document, const char *before, struct json *value)
{
    if (document->code == STATUS_OK && value == NULL) {
        document->code = status_set(document->error, STATUS_OUT_OF_MEMORY, "no memory for %s of %d cases",
                                    document->what, document->case_count);
    }
    if (document->code == STATUS_OK) {
        text_append(document->text, before);
        document->code = json_write(value, 0, document->text, document->error);
    }
    json_release(value);
}

void json_document_member(struct json_document *document, const char *key, struct json *value)
{
    struct text before = {0};
    text_format(&before, "  \"%s\": ", key);
    json_document_value(document, text_string(&before), value);
    text_append(document->text, ",\n");
    text_release(&before);
}

struct json *json_text_or_null(const char *text)
{
    return text != NULL ? json_string_new(text) : json_null_new();
}

struct json *json_bytes_or_null(int64_t bytes)
{
    return bytes >= 0 ? json_integer_new(bytes) : json_null_new();
}
