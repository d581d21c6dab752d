/* Case options: each is handed to workload_set under its own name, so that command line and suite accept the same. */
#include "harness/cli/case_options.h"

#include <stddef.h>

bool case_options_given(const struct arguments *arguments)
{
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (arguments_value(arguments, workload_field_key((enum workload_field)field)) != NULL) {
            return true;
        }
    }
    return false;
}

enum status_code case_options_read(const struct arguments *arguments, struct workload *workload, struct status *error)
{
    const char *mode = arguments_value(arguments, "mode");
    if (mode == NULL) {
        return status_set(error, STATUS_INVALID, "%s: the case has no mode; add --mode load, infer, generate or train",
                          arguments->command->name);
    }
    struct workload result = workload_default(MODE_LOAD);
    enum status_code code = workload_set(&result, "mode", mode, error);
    if (code == STATUS_OK) {
        result = workload_default(result.mode);
    }
    for (int field = FIELD_MODE + 1; field < FIELD_COUNT && code == STATUS_OK; field++) {
        const char *key = workload_field_key((enum workload_field)field);
        const char *value = arguments_value(arguments, key);
        if (value != NULL) {
            code = workload_set(&result, key, value, error);
        }
    }
    if (code == STATUS_OK) {
        code = workload_check(&result, error);
    }
    if (code == STATUS_OK) {
        *workload = result;
    }
    return code;
}
