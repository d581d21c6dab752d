/* JSON place: a walk over the characters of a file that a parser has accepted. Not a parser: what is wrong in the text
 * ends the walk early and is not reported. */
#include "harness/base/json_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/code_point.h"
#include "harness/base/regular_file.h"

enum { KEY_BYTES = 128 };

struct walk {
    FILE *file;
    int character; /* not yet passed; EOF at the end */
    struct json_place place;
};

static void walk_step(struct walk *walk)
{
    if (walk->character == '\n') {
        walk->place.line++;
        walk->place.column = 0;
    }
    walk->character = getc(walk->file);
    walk->place.column += walk->character == EOF || !code_point_goes_on((char)walk->character) ? 1 : 0;
}

static bool walk_pass(struct walk *walk, int character)
{
    if (walk->character != character) {
        return false;
    }
    walk_step(walk);
    return true;
}

static void blanks_pass(struct walk *walk)
{
    while (walk->character != EOF && strchr(" \t\r\n", walk->character) != NULL) {
        walk_step(walk);
    }
}

/* Passes a string; its first KEY_BYTES - 1 bytes, as they are written, are put into text. */
static void string_pass(struct walk *walk, char text[KEY_BYTES])
{
    size_t length = 0;
    walk_step(walk);
    while (walk->character != '"' && walk->character != EOF) {
        bool escapes = walk->character == '\\';
        for (int i = 0; i <= (escapes ? 1 : 0) && walk->character != EOF; i++) {
            if (length < KEY_BYTES - 1) {
                text[length++] = (char)walk->character;
            }
            walk_step(walk);
        }
    }
    text[length] = '\0';
    walk_step(walk);
}

static void value_pass(struct walk *walk)
{
    char ignored[KEY_BYTES];
    int depth = 0;
    do {
        if (walk->character == '"') {
            string_pass(walk, ignored);
            continue;
        }
        bool opens = walk->character == '{' || walk->character == '[';
        bool closes = walk->character == '}' || walk->character == ']';
        depth += opens ? 1 : closes ? -1 : 0;
        walk_step(walk);
        while (depth == 0 && !closes && walk->character != EOF && strchr(",]} \t\r\n", walk->character) == NULL) {
            walk_step(walk); /* the rest of a number or a word */
        }
    } while (depth > 0 && walk->character != EOF);
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
static bool member_enter(struct walk *walk, const char *key, size_t key_length)
{
    char found[KEY_BYTES];
    bool more = walk_pass(walk, '{');
    while (more) {
        blanks_pass(walk);
        if (walk->character != '"') {
            return false;
        }
        string_pass(walk, found);
        blanks_pass(walk);
        if (!walk_pass(walk, ':')) {
            return false;
        }
        blanks_pass(walk);
        if (key_matches(found, key, key_length)) {
            return true;
        }
        value_pass(walk);
        blanks_pass(walk);
        more = walk_pass(walk, ',');
    }
    return false;
}

/* From the '[' of an array to one of its elements. */
static bool element_enter(struct walk *walk, size_t index)
{
    bool more = walk_pass(walk, '[');
    blanks_pass(walk);
    for (size_t i = 0; i < index && more; i++) {
        value_pass(walk);
        blanks_pass(walk);
        more = walk_pass(walk, ',');
        blanks_pass(walk);
    }
    return more && walk->character != ']' && walk->character != EOF;
}

static struct json_place value_place(FILE *file, const char *pointer)
{
    struct walk walk = {.file = file, .character = ' ', .place = {.line = 1}};
    walk_step(&walk);
    if (walk.character == 0xEF) { /* a byte order mark */
        fseek(file, 3, SEEK_SET);
        walk.place.column = 0;
        walk_step(&walk);
    }
    blanks_pass(&walk);
    struct json_place reached = walk.place;
    while (*pointer == '/') {
        const char *token = pointer + 1;
        size_t length = strcspn(token, "/");
        bool found =
            walk.character == '[' ? element_enter(&walk, strtoul(token, NULL, 10)) : member_enter(&walk, token, length);
        if (!found) {
            break;
        }
        reached = walk.place;
        pointer = token + length;
    }
    return reached;
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
    *place = value_place(file, pointer);
    fclose(file);
    return true;
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
