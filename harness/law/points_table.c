/* Table of points: tab-separated, so that a spreadsheet, gnuplot and pandas read it too. It comes from outside: every
 * field is checked. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/law/law_points.h"
#include "harness/record/line_source.h"

#define TABLE_MARK "# assay law points 1"

/* What stands where a number is not known: of bytes POINT_BYTES_UNKNOWN; of a model that it is looked up. */
#define UNKNOWN_WORD "-"

bool points_table_begins(const char *bytes, size_t length)
{
    return length > strlen(TABLE_MARK) && strncmp(bytes, TABLE_MARK, strlen(TABLE_MARK)) == 0;
}

static const char *const headings[] = {
#define POINT_HEADING(member, heading) heading,
    LAW_POINT_TEXTS(POINT_HEADING) LAW_POINT_NUMBERS(POINT_HEADING)
#undef POINT_HEADING
};

enum { HEADING_COUNT = sizeof headings / sizeof headings[0] };

static void headings_append(struct text *text)
{
    for (int at = 0; at < HEADING_COUNT; at++) {
        text_format(text, "%s%s", at > 0 ? "\t" : "", headings[at]);
    }
}

enum status_code points_table_write(const struct law_points *points, struct text *text, struct status *error)
{
    text_append(text, TABLE_MARK "\n");
    headings_append(text);
    text_append(text, "\n");
    for (int at = 0; at < points->count; at++) {
        const struct law_point *point = &points->all[at];
        const char *lead = "";
#define POINT_TEXT_WRITE(member, heading)                                                                              \
    text_format(text, "%s%s", lead, point->member);                                                                    \
    lead = "\t";
        LAW_POINT_TEXTS(POINT_TEXT_WRITE)
#undef POINT_TEXT_WRITE
#define POINT_NUMBER_WRITE(member, heading)                                                                            \
    text_append(text, "\t");                                                                                           \
    point->member == POINT_BYTES_UNKNOWN ? text_append(text, UNKNOWN_WORD) : text_integer(text, point->member);
        LAW_POINT_NUMBERS(POINT_NUMBER_WRITE)
#undef POINT_NUMBER_WRITE
        text_append(text, "\n");
    }
    return text_status(text, "a table of points", error);
}

/* One row, cut into its fields, and where it stands. */
struct row {
    const char *path;
    int line;
    const char *fields[HEADING_COUNT + 1];
    int count;
    int wanted; /* fields of every line: as many as there are names; 0: the names come first */
};

/* Tables of assay 0.1.0 have one name more, the last, of which nothing is read. */
static const char older_heading[] = "replayed";

static enum status_code row_cut(char *bytes, struct row *row, struct status *error)
{
    int most = row->wanted > 0 ? row->wanted : HEADING_COUNT + 1;
    row->count = 0;
    for (char *at = bytes; at != NULL && row->count <= most;) {
        char *end = strchr(at, '\t');
        if (row->count < most) {
            row->fields[row->count] = at;
        }
        row->count++;
        if (end != NULL) {
            *end = '\0';
        }
        at = end != NULL ? end + 1 : NULL;
    }
    bool is_right =
        row->wanted > 0 ? row->count == row->wanted : row->count == HEADING_COUNT || row->count == HEADING_COUNT + 1;
    return is_right
               ? STATUS_OK
               : status_set_at(error, STATUS_INVALID, (struct file_place){row->path, row->line, 1},
                               "%s%d fields; there must be %d, parted by tabs", row->count > most ? "more than " : "",
                               row->count > most ? most : row->count, row->wanted > 0 ? row->wanted : HEADING_COUNT);
}

static enum status_code text_read(const struct row *row, int field, const char **text, struct status *error)
{
    const char *word = row->fields[field];
    const struct file_place place = {row->path, row->line, (int)(word - row->fields[0]) + 1};
    if (word[0] == '\0' || strlen(word) > POINT_TEXT_BYTES_MAXIMUM) {
        return status_set_at(error, STATUS_INVALID, place, "'%s' must have 1 to %d bytes", headings[field],
                             POINT_TEXT_BYTES_MAXIMUM);
    }
    *text = word;
    return STATUS_OK;
}

static enum status_code number_read(const struct row *row, int field, int64_t *number, struct status *error)
{
    const char *word = row->fields[field];
    const struct file_place place = {row->path, row->line, (int)(word - row->fields[0]) + 1};
    *number = POINT_BYTES_UNKNOWN;
    if (strcmp(word, UNKNOWN_WORD) == 0) {
        return STATUS_OK;
    }
    *number = 0;
    size_t length = strspn(word, "0123456789");
    bool fine = length > 0 && length <= 18 && word[length] == '\0';
    for (size_t at = 0; fine && at < length; at++) {
        *number = *number * 10 + (word[at] - '0');
    }
    return fine ? STATUS_OK
                : status_set_at(error, STATUS_INVALID, place,
                                "'%s' is '%.40s'; it must be a whole number below 10^18, or - if it is not known",
                                headings[field], word);
}

static enum status_code row_read(const struct row *row, struct law_point *point, struct status *error)
{
    enum status_code code = STATUS_OK;
    int field = 0;
#define POINT_TEXT_READ(member, heading)                                                                               \
    code = code == STATUS_OK ? text_read(row, field, &point->member, error) : code;                                    \
    field++;
    LAW_POINT_TEXTS(POINT_TEXT_READ)
#undef POINT_TEXT_READ
#define POINT_NUMBER_READ(member, heading)                                                                             \
    code = code == STATUS_OK ? number_read(row, field, &point->member, error) : code;                                  \
    field++;
    LAW_POINT_NUMBERS(POINT_NUMBER_READ)
#undef POINT_NUMBER_READ
    return code;
}

/* All 0: of a model that no moment has terms for. */
static bool has_no_terms(const struct law_point *point)
{
    return point->hidden == 0 && point->width == 0 && point->cached_width == 0 && point->heads == 0 &&
           point->layers == 0 && point->ffn == 0 && point->vocab == 0 && point->image_values >= 0 &&
           strcmp(point->kind, UNKNOWN_WORD) != 0;
}

static bool numbers_are_given(const struct law_point *point)
{
    return point->hidden > 0 && point->width > 0 && point->cached_width > 0 && point->heads > 0 && point->layers > 0 &&
           point->ffn > 0 && point->vocab >= 0 && point->image_values >= 0 && strcmp(point->kind, UNKNOWN_WORD) != 0;
}

static enum status_code point_check(const struct row *row, const struct law_point *point, struct status *error)
{
    const struct file_place place = {row->path, row->line, 1};
    const char *cause = NULL;
    if (law_element_bytes(point->precision) == 0) {
        cause = "'precision' must be float32, float16 or bfloat16";
    } else if (strcmp(point->mode, "infer") != 0 && strcmp(point->mode, "generate") != 0) {
        cause = "'mode' must be infer or generate";
    } else if (point->batch < 1 || point->seq < 0 || point->new_tokens < 0 || point->batch > POINT_BATCH_MAXIMUM ||
               point->seq > POINT_TOKENS_MAXIMUM || point->new_tokens > POINT_TOKENS_MAXIMUM) {
        cause = "'batch' must be 1 to 2^24, and 'seq' and 'new_tokens' at most 2^28";
    } else if (point->weights_bytes <= 0 || point->allocated_bytes <= 0) {
        cause = "'weights' and 'allocated' must be known, and more than 0";
    }
    return cause == NULL ? STATUS_OK : status_set_at(error, STATUS_INVALID, place, "%s", cause);
}

static enum status_code row_add(const struct row *row, const struct point_places *places, struct law_points *points,
                                struct status *error)
{
    struct law_point point = {0};
    enum point_reason reason = POINT_COUNTED;
    enum status_code code = row_read(row, &point, error);
    if (code == STATUS_OK && has_no_terms(&point)) {
        points->reasons[POINT_NO_TERMS]++;
        return STATUS_OK;
    }
    point.source = row->path;
    code = code == STATUS_OK ? point_check(row, &point, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    if (!numbers_are_given(&point) &&
        !law_points_model(points, places, point.model, point.attention, &point, &reason)) {
        points->reasons[reason]++;
        return STATUS_OK;
    }
    return law_points_add(points, &point, error);
}

static enum status_code headings_check(const struct row *row, struct status *error)
{
    const struct file_place place = {row->path, row->line, 1};
    for (int at = 0; at < row->count; at++) {
        const char *heading = at < HEADING_COUNT ? headings[at] : older_heading;
        if (strcmp(row->fields[at], heading) != 0) {
            return status_set_at(error, STATUS_INVALID, place, "name %d is '%.40s'; it must be '%s'", at + 1,
                                 row->fields[at], heading);
        }
    }
    return STATUS_OK;
}

enum status_code points_table_read(struct line_source *lines, const char *path, const struct point_places *places,
                                   struct law_points *points, struct status *error)
{
    struct source_line line;
    bool more = true;
    struct row row = {.path = path};
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && (code = line_source_next(lines, &line, &more, error)) == STATUS_OK && more) {
        row.line++;
        if (line.length == 0 || line.bytes[0] == '#') {
            continue;
        }
        if (line.too_long || strlen(line.bytes) != line.length) {
            return status_set_at(error, STATUS_INVALID, (struct file_place){path, row.line, 1},
                                 "no line of a table of points: it has a zero byte or more than 16 MiB");
        }
        code = row_cut(line.bytes, &row, error);
        if (code == STATUS_OK) {
            code = row.wanted > 0 ? row_add(&row, places, points, error) : headings_check(&row, error);
            row.wanted = row.count;
        }
    }
    return code;
}
