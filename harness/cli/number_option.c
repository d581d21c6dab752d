/* Options that are numbers: reading alone. What they mean is known to the commands. */
#include "harness/cli/number_option.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"

enum status_code number_option_read(const struct arguments *arguments, const char *name, int64_t minimum,
                                    int64_t maximum, int *number, struct status *error)
{
    const char *text = arguments_value(arguments, name);
    int64_t value = 0;
    if (text == NULL) {
        return STATUS_OK;
    }
    enum status_code code = integer_parse(text, minimum, maximum, &value, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s: --%s", arguments->command->name, name);
        return code;
    }
    *number = (int)value;
    return STATUS_OK;
}

enum status_code seconds_option_read(const struct arguments *arguments, const char *name, int64_t maximum, int *seconds,
                                     struct status *error)
{
    static const struct {
        char unit;
        int seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    const char *text = arguments_value(arguments, name);
    size_t digits = text != NULL ? strspn(text, "0123456789") : 0;
    int64_t value = 0;
    for (size_t i = 0; digits > 0 && i < sizeof units / sizeof units[0]; i++) {
        char number[16];
        if (text[digits] != units[i].unit || text[digits + 1] != '\0' || digits >= sizeof number) {
            continue;
        }
        snprintf(number, sizeof number, "%.*s", (int)digits, text);
        enum status_code code = integer_parse(number, 0, maximum / units[i].seconds, &value, error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s: --%s %s", arguments->command->name, name, text);
            return code;
        }
        *seconds = (int)value * units[i].seconds;
        return STATUS_OK;
    }
    return number_option_read(arguments, name, 0, maximum, seconds, error);
}
