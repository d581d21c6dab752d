/* Case options: each is handed to workload_set under its own name, so that command line and suite accept the same. */
#include "harness/cli/case_options.h"

#include <stddef.h>

static const char *const keys[] = {"precision",     "batch",      "seq",    "attention", "optimizer",
                                   "checkpointing", "accumulate", "logits", "head"};

enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

bool case_options_given(const struct arguments *arguments)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (arguments_value(arguments, keys[i]) != NULL) {
            return true;
        }
    }
    return arguments_value(arguments, "mode") != NULL;
}

enum status_code case_options_read(const struct arguments *arguments, struct workload *workload, struct status *error)
{
    const char *mode = arguments_value(arguments, "mode");
    if (mode == NULL) {
        return status_set(error, STATUS_INVALID, "%s: the case has no mode; add --mode load, infer or train",
                          arguments->command->name);
    }
    struct workload result = workload_default(MODE_LOAD);
    enum status_code code = workload_set(&result, "mode", mode, error);
    if (code == STATUS_OK) {
        result = workload_default(result.mode);
    }
    for (int i = 0; i < KEY_COUNT && code == STATUS_OK; i++) {
        const char *value = arguments_value(arguments, keys[i]);
        if (value != NULL) {
            code = workload_set(&result, keys[i], value, error);
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
