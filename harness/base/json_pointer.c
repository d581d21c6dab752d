/* JSON pointer: walking a document part by part. Nothing is changed or made. */
#include "harness/base/json_pointer.h"

#include <string.h>

#include "harness/base/size.h"

enum status_code json_pointer_check(const char *text, struct status *error)
{
    if (text[0] != '\0' && text[0] != '/') {
        return status_set(error, STATUS_INVALID, "'%.60s' is no JSON pointer; begin it with '/': '/%.60s'", text, text);
    }
    for (const char *tilde = strchr(text, '~'); tilde != NULL; tilde = strchr(tilde + 1, '~')) {
        if (tilde[1] != '0' && tilde[1] != '1') {
            return status_set(error, STATUS_INVALID,
                              "'%.60s' is no JSON pointer: write ~0 for '~' and ~1 for '/' (RFC 6901)", text);
        }
    }
    return STATUS_OK;
}

/* One part, its escapes undone. */
static void part_append(const char *part, size_t length, struct text *key)
{
    for (size_t i = 0; i < length; i++) {
        bool escaped = part[i] == '~' && i + 1 < length;
        char byte = part[i];
        if (escaped) {
            byte = part[++i] == '1' ? '/' : '~';
        }
        text_append_bytes(key, &byte, 1);
    }
}

static struct json *child_get(struct json *value, const char *key)
{
    int64_t index = 0;
    if (json_kind(value) == JSON_KIND_OBJECT) {
        return json_get(value, key);
    }
    bool is_index = json_kind(value) == JSON_KIND_ARRAY && key[0] >= '0' && key[0] <= '9' &&
                    integer_parse(key, 0, INT64_MAX, &index, NULL) == STATUS_OK;
    return is_index && (uint64_t)index < json_count(value) ? json_at(value, (size_t)index) : NULL;
}

struct json *json_pointer_get(struct json *document, const char *pointer)
{
    struct json *value = document;
    while (value != NULL && *pointer == '/') {
        struct text key = {0};
        size_t length = strcspn(pointer + 1, "/");
        part_append(pointer + 1, length, &key);
        value = key.failed ? NULL : child_get(value, text_string(&key));
        text_release(&key);
        pointer += 1 + length;
    }
    return value;
}

void json_pointer_append(const char *key, struct text *pointer)
{
    text_append(pointer, "/");
    for (; *key != '\0'; key++) {
        if (*key == '/' || *key == '~') {
            text_append(pointer, *key == '/' ? "~1" : "~0");
        } else {
            text_append_bytes(pointer, key, 1);
        }
    }
}
