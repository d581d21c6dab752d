/* Disturbance: what a case line says of others. Asks no driver. */
#include "harness/run/disturbance.h"

#include <string.h>

bool line_is_disturbed(const struct json *line)
{
    const struct json *device = json_get(line, "device"), *validity = json_get(line, "validity");
    return strcmp(json_string_or(json_get(device, "kind"), ""), "cuda") == 0 &&
           (!json_boolean_or(json_get(validity, "valid"), true) ||
            json_kind(json_get(json_get(line, "context"), "process_bytes")) != JSON_KIND_INTEGER);
}
