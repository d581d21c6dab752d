/* Record damage: looked at character by character, because what is damaged has no other form. */
#include "harness/record/record_damage.h"

#include <string.h>

#include "harness/base/file_kind.h"

#define RECORDS_REMEDY "name the records.jsonl that `assay run` wrote, or its folder"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* How far bytes are as wish says, but for blanks before each of its characters. *matched: of wish. */
static size_t wish_pass(const char *bytes, size_t length, const char *wish, size_t *matched)
{
    size_t at = 0, seen = 0;
    while (at < length && wish[seen] != '\0') {
        if (bytes[at] == wish[seen]) {
            seen++;
        } else if (!is_blank(bytes[at])) {
            break;
        }
        at++;
    }
    *matched = seen;
    return at;
}

/* {"type": "...; a shorter line as far as it goes. */
static bool begins_as_record(const char *bytes, size_t length)
{
    static const char wish[] = "{\"type\":\"";
    size_t matched = 0;
    size_t passed = wish_pass(bytes, length, wish, &matched);
    return matched == sizeof wish - 1 || (matched > 0 && passed == length);
}

/* Whether a line ends inside of the object or array that it begins with. */
static bool is_cut(const char *bytes, size_t length)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t at = 0; at < length; at++) {
        char c = bytes[at];
        if (in_string) {
            at += c == '\\' ? 1 : 0;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && (depth == 0 || --depth == 0)) {
            return false;
        }
        if (depth == 0 && !is_blank(c)) {
            return false;
        }
    }
    return depth > 0;
}

enum record_damage record_damage_of(const char *bytes, size_t length)
{
    return !begins_as_record(bytes, length) ? RECORD_DAMAGE_TAIL
           : is_cut(bytes, length)          ? RECORD_DAMAGE_CUT
                                            : RECORD_DAMAGE_OTHER;
}

const char *record_damage_words(enum record_damage damage, bool is_first, enum record_follower follower)
{
    if (damage == RECORD_DAMAGE_CUT && is_first && follower == RECORD_FOLLOWER_NONE) {
        return "the line is cut short and nothing follows it: its run was killed before its first case, or a copy "
               "broke "
               "off; copy the file again, or run the suite again into this folder";
    }
    if (damage == RECORD_DAMAGE_CUT) {
        return is_first ? "the first line is cut short, and what follows has no run without it: copy the file again"
                        : "the line is cut short, and no run begins behind it, so that it is not what a killed run "
                          "leaves: copy the file again, or remove the line";
    }
    if (damage == RECORD_DAMAGE_TAIL && is_first) {
        return follower == RECORD_FOLLOWER_LINE ? "the beginning of the file is missing: copy the whole file"
                                                : "this is no file of records; " RECORDS_REMEDY;
    }
    return NULL;
}

size_t line_joint(const char *bytes, size_t length)
{
    static const char wish[] = "{\"type\":\"run\"";
    size_t found = 0, matched = 0;
    for (size_t at = 1; at < length; at++) {
        const char *brace = memchr(bytes + at, '{', length - at);
        at = brace != NULL ? (size_t)(brace - bytes) : length;
        if (at < length) {
            wish_pass(bytes + at, length - at, wish, &matched);
            found = matched == sizeof wish - 1 ? at : found;
        }
    }
    return found;
}

/* Words of a table of the report, of Markdown and of CSV are names that no JSON begins with. */
static const char *text_words(const char *bytes, size_t length)
{
    if (memchr(bytes, '\0', length < FILE_KIND_BYTES ? length : FILE_KIND_BYTES) != NULL) {
        return "binary data";
    }
    size_t at = 0, end;
    bool commented = false;
    for (;; at = end + 1) { /* behind comments and empty lines */
        const char *newline = at < length ? memchr(bytes + at, '\n', length - at) : NULL;
        end = newline != NULL ? (size_t)(newline - bytes) : length;
        size_t blanks = at;
        while (blanks < end && is_blank(bytes[blanks])) {
            blanks++;
        }
        bool is_comment = blanks < end && bytes[blanks] == '#';
        if (newline == NULL || (blanks < end && !is_comment)) {
            break;
        }
        commented = commented || is_comment;
    }
    size_t key = at;
    while (key < end && ((bytes[key] >= 'a' && bytes[key] <= 'z') || bytes[key] == '_')) {
        key++;
    }
    if (key > at && key < end && bytes[key] == ':' && (key + 1 == end || is_blank(bytes[key + 1])) &&
        bytes[end - 1] != '}') {
        return "YAML, as a suite is";
    }
    return commented ? "text, as a report in Markdown is" : key > at && key < end && bytes[key] == ',' ? "CSV" : NULL;
}

/* A document over several lines: the first holds an opening bracket alone, and no line of records follows, or ends
 * inside. */
static bool is_long_document(const char *bytes, size_t length, size_t line_length)
{
    size_t end = line_length, next = line_length + 1;
    while (end > 0 && is_blank(bytes[end - 1])) {
        end--;
    }
    if (line_length == length || end == 0 || (bytes[0] != '{' && bytes[0] != '[')) {
        return false;
    }
    while (next < length && (is_blank(bytes[next]) || bytes[next] == '\n')) {
        next++;
    }
    return end > 1 ? is_cut(bytes, end) : next < length && (bytes[0] == '[' || bytes[next] != '{');
}

enum status_code foreign_file_check(const char *bytes, size_t length, struct status *error)
{
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        bytes += 3;
        length -= 3;
    }
    const char *newline = memchr(bytes, '\n', length);
    size_t line_length = newline != NULL ? (size_t)(newline - bytes) : length;
    if (line_length > 1 && begins_as_record(bytes, line_length)) {
        return STATUS_OK;
    }
    const struct file_kind *kind = file_kind_of(bytes, length);
    const char *words = kind != NULL ? kind->words
                        : is_long_document(bytes, length, line_length)
                            ? "a JSON document of several lines, as a configuration, a "
                              "file of constants or a report in JSON is"
                            : text_words(bytes, length);
    if (words == NULL) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID, "this is no file of records: it is %s; %s", words,
                      kind != NULL && kind->remedy != NULL ? kind->remedy : RECORDS_REMEDY);
}
