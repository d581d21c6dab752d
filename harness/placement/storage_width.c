/* Widths of elements as accelerate counts them, and sizes of files as it reads them. Not what a tensor occupies: a
 * boolean is a byte there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/placement/device_plan.h"

/* What torch has by these names, and CustomDtype of accelerate: fp8, int4, int2. */
static const struct storage_width widths[] = {
    {"float32", 32},
    {"float16", 16},
    {"bfloat16", 16},
    {"int8", 8},
    {"int4", 4},
    {"fp8", 8},
    {"int2", 2},
    {"float64", 64},
    {"float8_e4m3fn", 8},
    {"float8_e5m2", 8},
    {"float8_e4m3fnuz", 8},
    {"float8_e5m2fnuz", 8},
    {"float8_e8m0fnu", 8},
    {"uint8", 8},
    {"int16", 16},
    {"uint16", 16},
    {"int32", 32},
    {"uint32", 32},
    {"int64", 64},
    {"uint64", 64},
    {"bool", 1},
    {"complex32", 32},
    {"complex64", 64},
    {"complex128", 128},
};

enum { WIDTH_COUNT = sizeof widths / sizeof widths[0] };

const struct storage_width *storage_width_at(int index)
{
    return index >= 0 && index < WIDTH_COUNT ? &widths[index] : NULL;
}

const struct storage_width *storage_width_find(const char *name)
{
    static const char torch[] = "torch.";
    const char *bare = strncmp(name, torch, sizeof torch - 1) == 0 ? name + sizeof torch - 1 : name;
    for (int i = 0; i < WIDTH_COUNT; i++) {
        if (strcmp(widths[i].name, bare) == 0) {
            return &widths[i];
        }
    }
    return NULL;
}

struct size_unit {
    const char *name; /* in any case */
    double bytes;
};

static const struct size_unit units[] = {
    {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3},
};

enum { UNIT_COUNT = sizeof units / sizeof units[0], NUMBER_BYTES = 64 };

static enum status_code size_refuse(const char *text, struct status *error)
{
    return status_set(error, STATUS_INVALID,
                      "`size` %s is not in a valid format. Use an integer for bytes, or a string with an unit (like "
                      "'5.0GB').",
                      text);
}

/* As float() reads it, without its underscores, infinities and NaNs. */
static bool number_read(const char *text, size_t length, double *number)
{
    char digits[NUMBER_BYTES];
    char *end = NULL;
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789.eE+-") < length) {
        return false;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    *number = strtod(digits, &end);
    return *end == '\0' && isfinite(*number);
}

enum status_code accelerate_size_parse(const char *text, int64_t *bytes, bool *is_bits, struct status *error)
{
    size_t length = strlen(text);
    for (int i = 0; i < UNIT_COUNT; i++) {
        size_t unit = strlen(units[i].name);
        double number = 0.0;
        if (length < unit || strcasecmp(text + length - unit, units[i].name) != 0) {
            continue;
        }
        if (!number_read(text, length - unit, &number) || trunc(number * units[i].bytes) < 0) {
            return size_refuse(text, error);
        }
        number = trunc(number * units[i].bytes);
        if (number >= 0x1p63) {
            return status_set(error, STATUS_OVERFLOW, "'%s' does not fit 63 bits", text);
        }
        bool bits = unit == 2 && text[length - 1] == 'b';
        *bytes = (int64_t)number / (bits ? BITS_PER_BYTE : 1);
        *is_bits = bits;
        return STATUS_OK;
    }
    return size_refuse(text, error);
}
