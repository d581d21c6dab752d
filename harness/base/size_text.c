/* Sizes typed by people: one reader, and what it says to those who left open what they meant. Not a number parser for
 * anything else: no signs, no exponents, no hexadecimal. */
#include "harness/base/size_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "harness/base/size.h"

struct unit {
    const char *name;
    int64_t bytes;
    bool decimal;
};

static const struct unit units[] = {
    {"B", 1, false},
    {"KiB", INT64_C(1) << 10, false},
    {"MiB", INT64_C(1) << 20, false},
    {"GiB", INT64_C(1) << 30, false},
    {"TiB", INT64_C(1) << 40, false},
    {"kB", 1000, true},
    {"KB", 1000, true},
    {"MB", 1000000, true},
    {"GB", 1000000000, true},
    {"TB", INT64_C(1000000000000), true},
};

enum { UNIT_COUNT = sizeof units / sizeof units[0] };

/* Six digits of fraction times a tebi still fit 63 bits. */
enum { FRACTION_DIGITS = 6 };

static const char digits[] = "0123456789";

struct decimal {
    size_t length; /* of its text */
    int64_t whole, fraction, scale;
    bool overflow;
};

static int64_t digits_value(const char *text, size_t length, bool *overflow)
{
    int64_t number = 0;
    for (size_t i = 0; i < length && !*overflow; i++) {
        *overflow = !size_multiply(number, 10, &number) || !size_add(number, text[i] - '0', &number);
    }
    return number;
}

static enum status_code decimal_read(const char *text, struct decimal *number, struct status *error)
{
    size_t whole = strspn(text, digits);
    bool dotted = whole > 0 && text[whole] == '.';
    size_t fraction = dotted ? strspn(text + whole + 1, digits) : 0;
    struct decimal read = {.length = whole + (dotted ? 1 + fraction : 0), .scale = 1};
    if (whole == 0 || (dotted && fraction == 0)) {
        return status_set(error, STATUS_INVALID, "'%s' is not a size; write a number and a unit, as in 512MiB", text);
    }
    if (fraction > FRACTION_DIGITS) {
        return status_set(error, STATUS_INVALID, "'%s' has more than %d digits after the point; write whole bytes",
                          text, FRACTION_DIGITS);
    }
    read.whole = digits_value(text, whole, &read.overflow);
    read.fraction = digits_value(text + whole + 1, fraction, &read.overflow);
    for (size_t i = 0; i < fraction; i++) {
        read.scale *= 10;
    }
    *number = read;
    return STATUS_OK;
}

/* 'G' for what may mean GB or GiB: "g", "gb", "G", "Gb", "gB"; 'i' beside it where it can only be binary: "gib", "GIB".
 * 0: it is neither. */
static char unit_meant(const char *name, bool *binary)
{
    static const char letters[] = "kKmMgGtT", meant[] = "KKMMGGTT";
    const char *letter = name[0] != '\0' ? strchr(letters, name[0]) : NULL;
    if (letter == NULL) {
        return '\0';
    }
    const char *rest = name + 1;
    if (strcasecmp(name, "ti") == 0) { /* of a GPU's name, as in 3090 Ti */
        return '\0';
    }
    *binary = *rest == 'i' || *rest == 'I';
    rest += *binary ? 1 : 0;
    rest += *rest == 'b' || *rest == 'B' ? 1 : 0;
    return *rest == '\0' ? meant[letter - letters] : '\0';
}

/* NULL: there is none of this name. */
static const struct unit *unit_find(const char *name)
{
    if (*name == '\0') {
        return &units[0];
    }
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strcmp(name, units[i].name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* Whether a unit ends before a blank, a comma or a sign, and something follows: "GB,16GB", "GiB 8GiB". */
static bool is_several(const char *name)
{
    size_t length = strcspn(name, " ,;+/");
    bool found = false;
    for (size_t i = 0; i < UNIT_COUNT && length > 0 && name[length] != '\0'; i++) {
        found = found || (strlen(units[i].name) == length && strncasecmp(units[i].name, name, length) == 0);
    }
    return found;
}

static enum status_code unit_refuse(const char *text, const struct decimal *number, const char *name,
                                    struct status *error)
{
    bool binary = false;
    int length = (int)number->length;
    char letter = unit_meant(name, &binary);
    if (letter == '\0' && is_several(name)) {
        return status_set(error, STATUS_INVALID, "'%s' is more than one size; write one, as in 24GiB", text);
    }
    size_t comma = *name == ',' ? strspn(name + 1, digits) : 0;
    if (comma > 0 && unit_find(name + 1 + comma) != NULL) {
        return status_set(error, STATUS_INVALID, "'%s' has a comma in its number; write %.*s.%s", text, length, text,
                          name + 1);
    }
    if (letter == '\0') {
        return status_set(error, STATUS_INVALID,
                          "'%s' has no unit that is known here; write B, KiB, MiB, GiB, TiB (binary) or kB, MB, GB, TB "
                          "(decimal)",
                          text);
    }
    if (binary) {
        return status_set(error, STATUS_INVALID, "'%s' has a unit in the wrong case; write %.*s%ciB", text, length,
                          text, letter);
    }
    return status_set(
        error, STATUS_INVALID,
        "'%s' leaves open whether it counts in 1000s or in 1024s; write %.*s%cB (1000s) or %.*s%ciB (1024s)", text,
        length, text, letter, length, text, letter);
}

/* Of a text whose number was read. */
static const char *unit_name(const char *text, const struct decimal *number)
{
    const char *name = text + number->length;
    return *name == ' ' && name[1] != '\0' ? name + 1 : name;
}

enum status_code size_parse(const char *text, int64_t *bytes, struct status *error)
{
    struct decimal number;
    enum status_code code = decimal_read(text, &number, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct unit *unit = unit_find(unit_name(text, &number));
    if (unit == NULL) {
        return unit_refuse(text, &number, unit_name(text, &number), error);
    }
    int64_t total = 0;
    if (number.overflow || !size_multiply(number.whole, unit->bytes, &total) ||
        !size_add(total, number.fraction * unit->bytes / number.scale, &total)) {
        return status_set(error, STATUS_OVERFLOW, "'%s' does not fit 63 bits; the largest size is 8388607TiB", text);
    }
    if (number.fraction * unit->bytes % number.scale != 0) {
        return status_set(error, STATUS_INVALID, "'%s' is no whole number of bytes; write %" PRId64 ", or a finer unit",
                          text, total);
    }
    *bytes = total;
    return STATUS_OK;
}

/* The letter of the unit that was probably left out; 0 where it is a number of bytes. */
static char unit_left_out(int64_t number)
{
    enum { GIGABYTES_MOST = 512, MEGABYTES_MOST = 1 << 20 };
    return number <= GIGABYTES_MOST ? 'G' : number <= MEGABYTES_MOST ? 'M' : '\0';
}

enum status_code size_parse_memory(const char *text, int64_t *bytes, struct status *error)
{
    int64_t read = 0;
    enum status_code code = size_parse(text, &read, error);
    if (code == STATUS_OK && read > 0 && text[strspn(text, "0123456789")] == '\0') {
        char letter = unit_left_out(read);
        return letter != '\0'
                   ? status_set(error, STATUS_INVALID, "'%s' has no unit; write %s%ciB (1024s) or %s%cB (1000s)", text,
                                text, letter, text, letter)
                   : status_set(error, STATUS_INVALID, "'%s' has no unit; write %sB for bytes", text, text);
    }
    if (code == STATUS_OK) {
        *bytes = read;
    }
    return code;
}

bool size_lacks_unit(const char *text)
{
    size_t length = strspn(text, digits);
    return length > 0 && length <= 3 && text[length] == '\0' && text[0] != '0';
}

void size_meant(const char *typed, int64_t bytes, struct text *text)
{
    struct decimal number;
    char size[SIZE_TEXT_BYTES];
    const struct unit *unit =
        decimal_read(typed, &number, NULL) == STATUS_OK ? unit_find(unit_name(typed, &number)) : NULL;
    if (unit != NULL && (unit->decimal || unit->bytes == 1)) {
        text_format(text, "%s = %s", typed, size_format(bytes, size));
    } else {
        text_format(text, "%s = %" PRId64 " bytes", typed, bytes);
    }
}
