/* Child tell: the lines of the pipe, one object each. Keeps nothing: the record is made of the same lines later. */
#include "harness/run/child_tell.h"

#include <string.h>

#include "harness/base/clock.h"

void child_tell(struct child *child, const struct suite_case *case_, const struct run_progress *progress)
{
    if (progress->told == NULL) {
        return;
    }
    const char *line = text_string(&child->output) + child->told_bytes, *end = NULL;
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        struct json *object = NULL;
        if (json_parse_text("child", line, (size_t)(end - line), &object, NULL) == STATUS_OK &&
            json_kind(object) == JSON_KIND_OBJECT) {
            progress->told(progress->context, case_, object, (double)(clock_ns() - child->started_ns) / 1e9);
        }
        json_release(object);
    }
    child->told_bytes = (size_t)(line - text_string(&child->output));
}
