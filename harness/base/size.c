/* Size: checked arithmetic, byte counts for people, and strict numbers. Sizes that people type are read in
 * size_text.c. */
#include "harness/base/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

enum { UNIT_COUNT = sizeof units / sizeof units[0] };

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
    int unit = 1;
    /* 1048575 bytes would print as "1024.00 KiB"; from 1023.995 on the next unit reads better */
    while (unit + 1 < UNIT_COUNT && ldexp((double)magnitude, -10 * unit) >= 1023.995) {
        unit++;
    }
    snprintf(text, SIZE_TEXT_BYTES, "%s%.2f %s", sign, ldexp((double)magnitude, -10 * unit), units[unit]);
    return text;
}

/* Reads digits; false if there is none. *overflow is set if they do not fit 63 bits. */
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

const char *percentage_format(double fraction, char text[SIZE_TEXT_BYTES])
{
    double percent = fraction * 100.0;
    const char *format = percent >= 1e6 || percent <= -1e6         ? "%+.0e %%"
                         : percent >= 1000.0 || percent <= -1000.0 ? "%+.0f %%"
                                                                   : "%+.2f %%";
    snprintf(text, SIZE_TEXT_BYTES, format, percent);
    return text;
}

/* "1,000,000", "1_000", "1'000": groups of three digits behind the first; "8,16" is a list. plain: without what
 * separates. */
static bool is_grouped(const char *text, char plain[24])
{
    size_t count = *text == '-' ? 1 : 0, group = 0;
    bool separated = false, whole = true;
    memcpy(plain, text, count);
    for (const char *byte = text + count; *byte != '\0' && count + 1 < 24 && whole; byte++) {
        bool is_digit = *byte >= '0' && *byte <= '9';
        whole = is_digit ? !separated || group < 3
                         : strchr("_,'", *byte) != NULL && (separated ? group == 3 : group > 0 && group <= 3);
        separated = separated || !is_digit;
        group = is_digit ? group + 1 : 0;
        if (is_digit) {
            plain[count++] = *byte;
        }
        whole = whole && (byte[1] != '\0' || group == 3);
    }
    plain[count] = '\0';
    return whole && separated && count + 1 < 24;
}

/* What is meant by digits with something behind them: 1000 by '1e3' and '1_000', 4000 or 4096 by '4k', no integer by
 * '1.5'. What nobody can tell is not guessed: '8,16' is a list, '5m' five minutes or millions. number: of the digits
 * before end. */
static enum status_code integer_refuse(const char *text, const char *end, int64_t number, struct status *error)
{
    char *after = NULL, plain[24] = "";
    double value = strtod(text, &after);
    if (*after == '\0' && fabs(value) < 0x1p53 && value == floor(value)) {
        return status_set(error, STATUS_INVALID, "'%s' is not an integer; write %.0f", text, value);
    }
    if (is_grouped(text, plain)) {
        return status_set(error, STATUS_INVALID, "'%s' is not an integer; write %s", text, plain);
    }
    if ((*end == 'k' || *end == 'K') && end[1] == '\0' && number < INT64_MAX / 1024) {
        return status_set(error, STATUS_INVALID, "'%s' is not an integer; write %" PRId64 " or %" PRId64, text,
                          number * 1000, number * 1024);
    }
    if (*end == ',' && strspn(text, "0123456789, ") == strlen(text)) {
        return status_set(error, STATUS_INVALID, "'%s' is a list and no integer; write one of them", text);
    }
    return *end == '.' ? status_set(error, STATUS_INVALID, "'%s' is not an integer; write a whole number", text)
                       : status_set(error, STATUS_INVALID, "'%s' is not an integer; write digits alone, without '%s'",
                                    text, end);
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
        return integer_refuse(text, cursor, negative ? -number : number, error);
    }
    if (*first == '0' && count > 1) {
        return status_set(error, STATUS_INVALID, "'%s' has a leading zero; write %s%s", text, negative ? "-" : "",
                          first + strspn(first, "0") - (first[strspn(first, "0")] == '\0' ? 1 : 0));
    }
    if (overflow) {
        return status_set(error, STATUS_OVERFLOW, "'%s' does not fit 63 bits; write at most %" PRId64, text, maximum);
    }
    number = negative ? -number : number;
    if (number != minimum && minimum == maximum) {
        return status_set(error, STATUS_INVALID, "%s is out of range; write %" PRId64 ", the only value", text,
                          minimum);
    }
    if (number < minimum || number > maximum) {
        return status_set(error, STATUS_INVALID, "%s is out of range; write an integer from %" PRId64 " to %" PRId64,
                          text, minimum, maximum);
    }
    *value = number;
    return STATUS_OK;
}
