/* Record texts: edited in memory. */
#include "tests/memory/record_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

char *record_text_exchange(const char *text, const char *find, const char *replace)
{
    const char *found = strstr(text, find);
    if (found == NULL || strstr(found + 1, find) != NULL) {
        fail_msg("'%s' must stand once in the text", find);
    }
    struct text made = {0};
    text_append_bytes(&made, text, (size_t)(found - text));
    text_append(&made, replace);
    text_append(&made, found + strlen(find));
    assert_false(made.failed);
    return made.data;
}

enum status_code record_text_parse(const char *text, int64_t device, struct trace *trace, struct status *error)
{
    struct json *document = NULL;
    enum status_code code = json_parse_text("t.json", text, strlen(text), &document, error);
    if (code == STATUS_OK) {
        code = trace_from_json("t.json", document, device, trace, error);
    }
    json_release(document);
    return code;
}
