/* JSON place: a cursor over the characters of a file that a parser has accepted. Not a parser: what is wrong in the
 * text stops it early and is not reported. */
#include "harness/base/json_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/code_point.h"
#include "harness/base/pickle.h"
#include "harness/base/regular_file.h"

enum { KEY_BYTES = 128 };

struct json_cursor {
    FILE *file;
    int character; /* not yet passed; EOF at the end */
    struct json_place place;
};

static void cursor_step(struct json_cursor *cursor)
{
    if (cursor->character == '\n') {
        cursor->place.line++;
        cursor->place.column = 0;
    }
    cursor->character = getc(cursor->file);
    cursor->place.column += cursor->character == EOF || !code_point_goes_on((char)cursor->character) ? 1 : 0;
}

static bool cursor_pass(struct json_cursor *cursor, int character)
{
    if (cursor->character != character) {
        return false;
    }
    cursor_step(cursor);
    return true;
}

static void blanks_pass(struct json_cursor *cursor)
{
    while (cursor->character != EOF && strchr(" \t\r\n", cursor->character) != NULL) {
        cursor_step(cursor);
    }
}

/* Passes a string; its first KEY_BYTES - 1 bytes, as they are written, are put into text. */
static void string_pass(struct json_cursor *cursor, char text[KEY_BYTES])
{
    size_t length = 0;
    cursor_step(cursor);
    while (cursor->character != '"' && cursor->character != EOF) {
        bool escapes = cursor->character == '\\';
        for (int i = 0; i <= (escapes ? 1 : 0) && cursor->character != EOF; i++) {
            if (length < KEY_BYTES - 1) {
                text[length++] = (char)cursor->character;
            }
            cursor_step(cursor);
        }
    }
    text[length] = '\0';
    cursor_step(cursor);
}

static void value_pass(struct json_cursor *cursor)
{
    char ignored[KEY_BYTES];
    int depth = 0;
    do {
        if (cursor->character == '"') {
            string_pass(cursor, ignored);
            continue;
        }
        bool opens = cursor->character == '{' || cursor->character == '[';
        bool closes = cursor->character == '}' || cursor->character == ']';
        depth += opens ? 1 : closes ? -1 : 0;
        cursor_step(cursor);
        while (depth == 0 && !closes && cursor->character != EOF && strchr(",]} \t\r\n", cursor->character) == NULL) {
            cursor_step(cursor); /* the rest of a number or a word */
        }
    } while (depth > 0 && cursor->character != EOF);
}

/* Whether a key, as it is written, is that of a part of a pointer, where "~1" stands for '/' and "~0" for '~'. */
static bool key_matches(const char *key, const char *part, size_t length)
{
    const char *end = part + length;
    while (part < end && *key != '\0') {
        bool escapes = part + 1 < end && part[0] == '~' && (part[1] == '0' || part[1] == '1');
        char byte = !escapes ? part[0] : part[1] == '1' ? '/' : '~';
        if (*key++ != byte) {
            return false;
        }
        part += escapes ? 2 : 1;
    }
    return part == end && *key == '\0';
}

/* From the '{' of an object to the value of a member. */
static bool member_enter(struct json_cursor *cursor, const char *key, size_t key_length)
{
    char found[KEY_BYTES];
    bool more = cursor_pass(cursor, '{');
    while (more) {
        blanks_pass(cursor);
        if (cursor->character != '"') {
            return false;
        }
        string_pass(cursor, found);
        blanks_pass(cursor);
        if (!cursor_pass(cursor, ':')) {
            return false;
        }
        blanks_pass(cursor);
        if (key_matches(found, key, key_length)) {
            return true;
        }
        value_pass(cursor);
        blanks_pass(cursor);
        more = cursor_pass(cursor, ',');
    }
    return false;
}

/* From the '[' of an array to one of its elements. */
static bool element_enter(struct json_cursor *cursor, size_t index)
{
    bool more = cursor_pass(cursor, '[');
    blanks_pass(cursor);
    for (size_t i = 0; i < index && more; i++) {
        value_pass(cursor);
        blanks_pass(cursor);
        more = cursor_pass(cursor, ',');
        blanks_pass(cursor);
    }
    return more && cursor->character != ']' && cursor->character != EOF;
}

static struct json_place value_place(FILE *file, const char *pointer)
{
    struct json_cursor cursor = {.file = file, .character = ' ', .place = {.line = 1}};
    cursor_step(&cursor);
    if (cursor.character == 0xEF) { /* a byte order mark */
        fseek(file, 3, SEEK_SET);
        cursor.place.column = 0;
        cursor_step(&cursor);
    }
    blanks_pass(&cursor);
    struct json_place reached = cursor.place;
    while (*pointer == '/') {
        const char *token = pointer + 1;
        size_t length = strcspn(token, "/");
        bool found = cursor.character == '[' ? element_enter(&cursor, strtoul(token, NULL, 10))
                                             : member_enter(&cursor, token, length);
        if (!found) {
            break;
        }
        reached = cursor.place;
        pointer = token + length;
    }
    return reached;
}

/* A pickle, which is read as JSON is (pickle.h), has no lines. */
static bool has_lines(FILE *file)
{
    int first = getc(file);
    char byte = (char)first;
    ungetc(first, file);
    return first == EOF || !pickle_is(&byte, 1);
}

bool json_place_find(const char *path, const char *pointer, struct json_place *place)
{
    struct stat facts;
    int opened = regular_file_open(path, &facts);
    FILE *file = opened >= 0 ? fdopen(opened, "r") : NULL;
    if (file == NULL) {
        if (opened >= 0) {
            close(opened);
        }
        return false;
    }
    bool found = has_lines(file);
    if (found) {
        *place = value_place(file, pointer);
    }
    fclose(file);
    return found;
}

void json_place_add(const char *path, const char *pointer, struct status *error)
{
    struct json_place place = {0};
    if (error == NULL || error->line > 0) {
        return;
    }
    json_place_find(path, pointer, &place);
    if (error->path[0] == '\0') {
        status_place(error, (struct file_place){path, place.line, place.column});
    } else {
        error->line = place.line;
        error->column = place.column;
    }
}
