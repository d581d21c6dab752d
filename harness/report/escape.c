/* Escape: one function per format over one decoder of UTF-8 (code_point.h). Knows nothing about reports. */
#include "harness/report/escape.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "harness/base/code_point.h"

/* What stands instead of a character; NULL: itself. */
static const char *other_of(uint32_t point, const char *(*replace)(uint32_t), const char *hidden)
{
    return code_point_is_space(point)    ? " "
           : code_point_is_hidden(point) ? hidden
           : point == 0xFFFD             ? "\xEF\xBF\xBD"
           : replace != NULL             ? replace(point)
                                         : NULL;
}

/* What `replace` returns of a character that the format cannot show: its number stands there, so that two names stay
 * two. */
static const char numbered[] = "";

static void other_append(struct text *text, const char *other, uint32_t point)
{
    if (other == numbered) {
        text_format(text, "\xE2\x80\xB9U+%04" PRIX32 "\xE2\x80\xBA", point);
    } else {
        text_append(text, other);
    }
}

/* Appends string; characters that `replace` names are written as it says, hidden ones as `hidden`. What stays as it is
 * goes in one piece. */
static void string_append(struct text *text, const char *string, const char *(*replace)(uint32_t), const char *hidden)
{
    const char *begin = string;
    while (*string != '\0') {
        uint32_t point = (unsigned char)*string;
        const size_t length = point < 0x80 ? 1 : code_point_decode(string, &point);
        const char *other = point < ' ' || point >= 0x7F ? other_of(point, replace, hidden)
                            : replace != NULL            ? replace(point)
                                                         : NULL;
        if (other != NULL) {
            text_append_bytes(text, begin, (size_t)(string - begin));
            other_append(text, other, point);
            begin = string + length;
        }
        string += length;
    }
    text_append_bytes(text, begin, (size_t)(string - begin));
}

static bool command_begins(const char *string, size_t at)
{
    if (string[at] == '#') {
        return strncmp(string + at, "##[", 3) == 0;
    }
    bool may_begin_line = at == 0 || (unsigned char)string[at - 1] <= ' ' || (unsigned char)string[at - 1] > 0x7E;
    return may_begin_line && string[at] == ':' && string[at + 1] == ':';
}

void command_break_append(struct text *text, const char *string)
{
    size_t begin = 0, at = 0;
    for (; string[at] != '\0'; at++) {
        if (command_begins(string, at)) {
            text_append_bytes(text, string + begin, at + 1 - begin);
            text_append(text, " ");
            begin = at + 1;
        }
    }
    text_append_bytes(text, string + begin, at - begin);
}

void terminal_append(struct text *text, const char *string)
{
    struct text broken = {0};
    if (strstr(string, "::") == NULL && strstr(string, "##[") == NULL) {
        string_append(text, string, NULL, "?");
        return;
    }
    command_break_append(&broken, string);
    string_append(text, text_string(&broken), NULL, "?");
    text->failed = text->failed || broken.failed;
    text_release(&broken);
}

static const char *markdown_replace(uint32_t point)
{
    switch (point) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '@':
        return "&#64;";
    case '|':
        return "\\|";
    case '\\':
        return "\\\\";
    case '`':
        return "\\`";
    case '*':
        return "\\*";
    case '_':
        return "\\_";
    case '[':
        return "\\[";
    case ']':
        return "\\]";
    case '~':
        return "\\~";
    case '#':
        return "\\#";
    case '$': /* two of them are a formula to GitHub, escaped or not */
        return "&#36;";
    default:
        return NULL;
    }
}

void markdown_append(struct text *text, const char *string)
{
    string_append(text, string, markdown_replace, "");
}

static const char *csv_replace(uint32_t point)
{
    return point == '"' ? "\"\"" : NULL;
}

/* Whether a cell is what stands in it, as most are. */
static bool is_plain_cell(const char *string)
{
    const char *at = string;
    while (*at >= ' ' && *at < 0x7F && *at != '"' && *at != ',') {
        at++;
    }
    return *at == '\0' && (*string == '\0' || strchr(" =+-@", *string) == NULL);
}

void csv_append(struct text *text, const char *string)
{
    if (is_plain_cell(string)) {
        text_append(text, string);
        return;
    }
    struct text cell = {0};
    string_append(&cell, string, csv_replace, "");
    const char *clean = text_string(&cell);
    const char *start = clean + strspn(clean, " ");
    bool formula = start[0] != '\0' && strchr("=+-@", start[0]) != NULL;
    bool quoted = formula || start != clean || strpbrk(clean, ",\"") != NULL;
    text_append(text, quoted ? "\"" : "");
    text_append(text, formula ? "'" : "");
    text_append(text, clean);
    text_append(text, quoted ? "\"" : "");
    text->failed = text->failed || cell.failed;
    text_release(&cell);
}

static const char *xml_replace(uint32_t point)
{
    switch (point) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void xml_append(struct text *text, const char *string)
{
    string_append(text, string, xml_replace, "");
}

static const char *column_replace(uint32_t point)
{
    switch (point) {
    case '<':
        return "\xE2\x80\xB9"; /* single angle quotation marks */
    case '>':
        return "\xE2\x80\xBA";
    case '&':
        return "\xE2\x80\xB9"
               "and"
               "\xE2\x80\xBA";
    case '"':
    case '`':
        return "'";
    case '\\':
        return "/";
    default:
        /* Beyond Latin, Greek, Cyrillic and punctuation a font may lack the glyph, and what stands in for it can cover
         * the whole picture. */
        return point < 0x530 || (point >= 0x2010 && point <= 0x205F) ? NULL : numbered;
    }
}

void column_append(struct text *text, const char *string)
{
    string_append(text, *string != '\0' ? string : "-", column_replace, "");
}

void link_append(struct text *text, const char *path)
{
    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                     strchr("/-_.~", byte) != NULL;
        text_format(text, plain ? "%c" : "%%%02X", byte);
    }
}

static int point_width(uint32_t point)
{
    bool combining = (point >= 0x300 && point <= 0x36F) || (point >= 0xFE00 && point <= 0xFE0F);
    bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
                (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
                (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
                (point >= 0x1F300 && point <= 0x1FAFF) || (point >= 0x20000 && point <= 0x3FFFD);
    return combining ? 0 : wide ? 2 : 1;
}

int width_measure(const char *string)
{
    int width = 0;
    while (*string != '\0') {
        uint32_t point;
        string += code_point_decode(string, &point);
        width += point_width(point);
    }
    return width;
}

static void blanks_append(struct text *text, int count)
{
    for (int index = 0; index < count; index++) {
        text_append(text, " ");
    }
}

/* As many characters as fit into width columns; returns the columns taken. */
static int prefix_append(struct text *text, const char *string, int width)
{
    int taken = 0;
    while (*string != '\0') {
        uint32_t point;
        size_t length = code_point_decode(string, &point);
        if (taken + point_width(point) > width) {
            break;
        }
        text_append_bytes(text, string, length);
        taken += point_width(point);
        string += length;
    }
    return taken;
}

void cell_append(struct text *text, const char *string, int width, bool to_the_right)
{
    int needed = width_measure(string);
    if (needed > width) {
        int taken = prefix_append(text, string, width - 1);
        text_append(text, "\xE2\x80\xA6");
        blanks_append(text, width - 1 - taken);
        return;
    }
    blanks_append(text, to_the_right ? width - needed : 0);
    text_append(text, string);
    blanks_append(text, to_the_right ? 0 : width - needed);
}

/* The bytes of the next word; a number keeps its unit. */
static size_t word_measure(const char *string)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " %"};
    size_t length = strcspn(string, " ");
    for (size_t index = 0; length > 0 && index < sizeof units / sizeof units[0]; index++) {
        size_t unit = strlen(units[index]);
        bool number = strspn(string, "(+-.0123456789") == length;
        if (number && strncmp(string + length, units[index], unit) == 0) {
            return length + unit + strcspn(string + length + unit, " ");
        }
    }
    return length;
}

/* The bytes up to and with the last comma of a word that so many columns have room for; 0: there is none, or the word
 * is none that anybody reads. */
static size_t piece_measure(const struct text *word, int columns)
{
    enum { WORD_BYTES_MAXIMUM = 4096 };
    size_t found = 0;
    struct text piece = {0};
    bool fits = word->length <= WORD_BYTES_MAXIMUM;
    for (size_t at = 0; fits && at + 1 < word->length; at++) {
        text_append_bytes(&piece, word->data + at, 1);
        fits = word->data[at] != ',' || width_measure(text_string(&piece)) <= columns;
        found = fits && word->data[at] == ',' ? at + 1 : found;
    }
    text_release(&piece);
    return found;
}

void paragraph_append(struct text *text, const char *string, int width, int indent, int column)
{
    bool first = true;
    while (*string != '\0') {
        size_t length = word_measure(string);
        struct text word = {0};
        text_append_bytes(&word, string, length);
        int needed = width_measure(text_string(&word));
        if (!first && column + 1 + needed > width) {
            text_append(text, "\n");
            blanks_append(text, indent);
            column = indent;
            first = true;
        }
        text_append(text, first ? "" : " ");
        column += first ? 0 : 1;
        size_t piece = needed > width - column ? piece_measure(&word, width - column) : 0;
        if (piece > 0) {
            text_append_bytes(text, string, piece);
            text_append(text, "\n");
            blanks_append(text, indent);
            column = indent;
            first = true;
            string += piece;
            text_release(&word);
            continue;
        }
        if (needed > width - column) {
            cell_append(text, text_string(&word), width - column, false);
            column = width;
        } else {
            text_append(text, text_string(&word));
            column += needed;
        }
        first = length == 0 && first;
        text_release(&word);
        string += length;
        string += strspn(string, " ");
    }
    text_append(text, "\n");
}

void outside_cell_append(struct text *text, const char *string, int width, bool to_the_right)
{
    struct text clean = {0};
    terminal_append(&clean, string);
    cell_append(text, text_string(&clean), width, to_the_right);
    text_release(&clean);
}

void outside_paragraph_append(struct text *text, const char *string, int width, int indent, int column)
{
    struct text clean = {0};
    terminal_append(&clean, string);
    paragraph_append(text, text_string(&clean), width, indent, column);
    text_release(&clean);
}

void line_end_append(struct text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == ' ') {
        text->data[--text->length] = '\0';
    }
    text_append(text, "\n");
}
