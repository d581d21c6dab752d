/* Size: checked arithmetic and the reading and writing of byte counts. Not a number parser for anything else:
 * no signs, no exponents, no hexadecimal. */
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t bytes;
};

static const struct unit units[] = {
    {"B", 1},
    {"KiB", INT64_C(1) << 10},
    {"MiB", INT64_C(1) << 20},
    {"GiB", INT64_C(1) << 30},
    {"TiB", INT64_C(1) << 40},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", INT64_C(1000000000000)},
};

enum { UNIT_COUNT = sizeof units / sizeof units[0], BINARY_UNIT_COUNT = 5 };

/* Six digits of fraction times a tebi still fit 63 bits. */
enum { FRACTION_DIGITS = 6 };

bool size_round_up(int64_t value, int64_t step, int64_t *result)
{
    int64_t padded = 0;
    if (step <= 0 || !size_add(value, step - 1, &padded)) {
        return false;
    }
    *result = padded / step * step;
    return true;
}

const char *size_format(int64_t bytes, char text[SIZE_TEXT_BYTES])
{
    uint64_t magnitude = bytes < 0 ? UINT64_C(0) - (uint64_t)bytes : (uint64_t)bytes;
    const char *sign = bytes < 0 ? "-" : "";
    if (magnitude < 1024) {
        snprintf(text, SIZE_TEXT_BYTES, "%s%" PRIu64 " B", sign, magnitude);
        return text;
    }
    size_t unit = 1;
    /* 1048575 bytes would print as "1024.00 KiB"; from 1023.995 on the next unit reads better */
    while (unit + 1 < BINARY_UNIT_COUNT && (double)magnitude / (double)units[unit].bytes >= 1023.995) {
        unit++;
    }
    snprintf(text, SIZE_TEXT_BYTES, "%s%.2f %s", sign, (double)magnitude / (double)units[unit].bytes, units[unit].name);
    return text;
}

/* Reads digits; false where there is none. *overflow is set where they do not fit 63 bits. */
static bool digits_read(const char **cursor, int64_t *value, int *count, bool *overflow)
{
    const char *text = *cursor;
    int64_t number = 0;
    for (*count = 0; *text >= '0' && *text <= '9'; text++, (*count)++) {
        if (!size_multiply(number, 10, &number) || !size_add(number, *text - '0', &number)) {
            *overflow = true;
            number = 0;
        }
    }
    *cursor = text;
    *value = number;
    return *count > 0;
}

static enum status_code unit_read(const char *whole, const char *name, int64_t *bytes, struct status *error)
{
    if (*name == '\0') {
        *bytes = 1;
        return STATUS_OK;
    }
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strcmp(name, units[i].name) == 0) {
            *bytes = units[i].bytes;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID,
                      "'%s' has no unit that is known here; write B, KiB, MiB, GiB, TiB (binary) or kB, MB, GB, TB "
                      "(decimal)",
                      whole);
}

enum status_code size_parse(const char *text, int64_t *bytes, struct status *error)
{
    const char *cursor = text;
    int64_t whole = 0;
    int64_t fraction = 0;
    int count = 0;
    int fraction_count = 0;
    bool overflow = false;
    bool numeric = digits_read(&cursor, &whole, &count, &overflow);
    if (numeric && *cursor == '.') {
        cursor++;
        numeric = digits_read(&cursor, &fraction, &fraction_count, &overflow);
    }
    if (!numeric) {
        return status_set(error, STATUS_INVALID, "'%s' is not a size; write a number and a unit, as in 512MiB", text);
    }
    if (fraction_count > FRACTION_DIGITS) {
        return status_set(error, STATUS_INVALID, "'%s' has more than %d digits after the point; write whole bytes",
                          text, FRACTION_DIGITS);
    }
    if (*cursor == ' ' && cursor[1] != '\0') {
        cursor++;
    }
    int64_t unit = 0;
    enum status_code code = unit_read(text, cursor, &unit, error);
    if (code != STATUS_OK) {
        return code;
    }
    int64_t scale = 1;
    for (int i = 0; i < fraction_count; i++) {
        scale *= 10;
    }
    int64_t total = 0;
    if (overflow || !size_multiply(whole, unit, &total) || !size_add(total, fraction * unit / scale, &total)) {
        return status_set(error, STATUS_OVERFLOW, "'%s' does not fit 63 bits; the largest size is 8388607TiB", text);
    }
    *bytes = total;
    return STATUS_OK;
}

enum status_code percentage_parse(const char *text, double *fraction, struct status *error)
{
    size_t whole = strspn(text, "0123456789");
    bool dotted = text[whole] == '.';
    size_t digits = dotted ? strspn(text + whole + 1, "0123456789") : 0;
    const char *end = text + whole + (dotted ? 1 + digits : 0);
    if (whole == 0 || whole > 3 || digits > 9 || (dotted && digits == 0) || strcmp(end, "%") != 0 ||
        (whole > 1 && text[0] == '0')) {
        return status_set(error, STATUS_INVALID, "'%s' is not a percentage below 1000; write one such as 0.5%%", text);
    }
    *fraction = strtod(text, NULL) / 100;
    return STATUS_OK;
}

enum status_code integer_parse(const char *text, int64_t minimum, int64_t maximum, int64_t *value, struct status *error)
{
    bool negative = *text == '-';
    const char *cursor = text + (negative ? 1 : 0);
    const char *first = cursor;
    int64_t number = 0;
    int count = 0;
    bool overflow = false;
    if (!digits_read(&cursor, &number, &count, &overflow)) {
        return status_set(error, STATUS_INVALID, "'%s' is not an integer; write decimal digits, as in 16", text);
    }
    if (*cursor != '\0') {
        return status_set(error, STATUS_INVALID, "'%s' is not an integer; write %.*s", text, (int)(cursor - text),
                          text);
    }
    if (*first == '0' && count > 1) {
        return status_set(error, STATUS_INVALID, "'%s' has a leading zero; write %s%s", text, negative ? "-" : "",
                          first + strspn(first, "0") - (first[strspn(first, "0")] == '\0' ? 1 : 0));
    }
    if (overflow) {
        return status_set(error, STATUS_OVERFLOW, "'%s' does not fit 63 bits; write at most %" PRId64, text, maximum);
    }
    number = negative ? -number : number;
    if (number < minimum || number > maximum) {
        return status_set(error, STATUS_INVALID, "%s is out of range; write an integer from %" PRId64 " to %" PRId64,
                          text, minimum, maximum);
    }
    *value = number;
    return STATUS_OK;
}
