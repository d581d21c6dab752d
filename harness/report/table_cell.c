/* Table cell: figures and words of tables as people read them. Not their escapes, and not the tables. */
#include "harness/report/table_cell.h"

#include <math.h>
#include <stdio.h>

#include "harness/base/size.h"
#include "harness/report/wording.h"

_Static_assert((int)CELL_TEXT_BYTES == (int)WORDING_BYTES, "a cell takes what wording.h writes");

struct cell cell_word(const char *word)
{
    return (struct cell){.known = word != NULL, .word = word};
}

struct cell cell_flag(const bool *flag)
{
    return (struct cell){.known = flag != NULL, .number = flag != NULL && *flag ? 1 : 0};
}

struct cell cell_count(int64_t count)
{
    return (struct cell){.known = count >= 0, .number = count};
}

struct cell cell_bytes(int64_t bytes)
{
    return (struct cell){.known = bytes != BYTES_UNKNOWN, .number = bytes};
}

struct cell cell_difference(int64_t left_bytes, int64_t right_bytes)
{
    bool known = left_bytes != BYTES_UNKNOWN && right_bytes != BYTES_UNKNOWN;
    return (struct cell){.known = known, .number = known ? left_bytes - right_bytes : 0};
}

struct cell cell_real(double value)
{
    return (struct cell){.known = value >= 0.0, .real = value};
}

struct cell cell_error(bool known, double error)
{
    return (struct cell){.known = known, .real = error};
}

struct cell cell_part(int64_t number, int64_t whole)
{
    return (struct cell){.known = whole > 0, .number = number, .whole = whole};
}

/* "1.23 GiB/s" */
static void rate_word(double rate, char text[CELL_TEXT_BYTES])
{
    char size[SIZE_TEXT_BYTES];
    bool fits = rate < 9e18;
    snprintf(text, CELL_TEXT_BYTES, "%s/s", fits ? size_format((int64_t)rate, size) : "> 8 EiB");
}

/* "4.0 us", "0.40 ms", "62.0 ms", "0.62 s", "6.60 s", "16.9 s" */
static void seconds_word(double seconds, char text[CELL_TEXT_BYTES])
{
    if (seconds < 0.0001) {
        snprintf(text, CELL_TEXT_BYTES, "%.1f us", 1e6 * seconds);
    } else if (seconds < 0.1) {
        snprintf(text, CELL_TEXT_BYTES, seconds < 0.01 ? "%.2f ms" : "%.1f ms", 1000.0 * seconds);
    } else {
        snprintf(text, CELL_TEXT_BYTES, seconds < 10.0 ? "%.2f s" : "%.1f s", seconds);
    }
}

/* Three digits that count: "0.06 %", "12.9 %", "1234 %". */
static const char *percent_text(double fraction, const char *sign, char text[CELL_TEXT_BYTES])
{
    double percent = fabs(fraction) * 100.0;
    if (percent >= 1e5) {
        snprintf(text, CELL_TEXT_BYTES, "%s%.0e %%", sign, percent);
    } else {
        snprintf(text, CELL_TEXT_BYTES, "%s%.*f %%", sign, percent < 9.995 ? 2 : percent < 99.95 ? 1 : 0, percent);
    }
    return text;
}

static const char *part_text(const struct cell *cell, enum cell_kind kind, char text[CELL_TEXT_BYTES])
{
    if (kind == CELL_PART) {
        snprintf(text, CELL_TEXT_BYTES, "%lld/%lld", (long long)cell->number, (long long)cell->whole);
    } else {
        snprintf(text, CELL_TEXT_BYTES, "%.0f %%", 100.0 * (double)cell->number / (double)cell->whole);
    }
    return text;
}

static const char *number_text(const struct cell *cell, enum cell_kind kind, char text[CELL_TEXT_BYTES])
{
    char figure[SIZE_TEXT_BYTES];
    if (kind == CELL_COUNT) {
        snprintf(text, CELL_TEXT_BYTES, "%lld", (long long)cell->number);
    } else {
        const char *sign = kind == CELL_DIFFERENCE && cell->number > 0 ? "+" : "";
        snprintf(text, CELL_TEXT_BYTES, "%s%s", sign, size_format(cell->number, figure));
    }
    return text;
}

bool cell_is_word(enum cell_kind kind)
{
    return kind == CELL_WORD || kind == CELL_QUANTITY || kind == CELL_FLAG;
}

const char *cell_text(const struct cell *cell, enum cell_kind kind, char text[CELL_TEXT_BYTES])
{
    if (kind == CELL_WORD || kind == CELL_MARK || !cell->known) {
        return cell->word != NULL ? cell->word : "-";
    }
    switch (kind) {
    case CELL_QUANTITY:
        return quantity_word(cell->word, text);
    case CELL_FLAG:
        return cell->number != 0 ? "yes" : "no";
    case CELL_SECONDS:
        seconds_word(cell->real, text);
        return text;
    case CELL_RATE:
        rate_word(cell->real, text);
        return text;
    case CELL_SPEED:
        snprintf(text, CELL_TEXT_BYTES, cell->real < 100.0 ? "%.2f" : "%.0f", cell->real);
        return text;
    case CELL_ERROR:
        return error_word(true, cell->real, text);
    case CELL_SIGNED:
        return percent_text(cell->real, cell->real < 0.0 ? "-" : "+", text);
    case CELL_MAGNITUDE:
        return percent_text(cell->real, "", text);
    case CELL_PERCENT:
    case CELL_PART:
        return part_text(cell, kind, text);
    case CELL_SHARE:
        snprintf(text, CELL_TEXT_BYTES, "%.1f %%", 100.0 * cell->real);
        return text;
    case CELL_RATIO:
    case CELL_JUDGED:
        snprintf(text, CELL_TEXT_BYTES, "%.2f", cell->real);
        return text;
    default:
        return number_text(cell, kind, text);
    }
}
