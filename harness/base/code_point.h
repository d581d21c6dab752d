/* Code point: the characters of UTF-8 text, and which of them a terminal, a parser or the eye must not meet. */
#ifndef ASSAY_BASE_CODE_POINT_H
#define ASSAY_BASE_CODE_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 character takes that begins with these, at least one; 0: none begins so. What is overlong,
 * half of a pair of UTF-16 or beyond U+10FFFF is none. No byte behind the first wrong one is looked at, so that a text
 * which ends with a zero byte may be said to have more bytes than it has. */
size_t code_point_expect(const char *bytes, size_t count);

/* The bytes of the character that a text of `left` bytes starts with; 0: none that is whole. */
static inline size_t code_point_length(const char *text, size_t left)
{
    size_t length = code_point_expect(text, left);
    return length <= left ? length : 0;
}

/* The bytes of the first character of a string that is not empty; *point is U+FFFD for what is not UTF-8, a byte at a
 * time. */
size_t code_point_decode(const char *string, uint32_t *point);

enum { CODE_POINT_BYTES = 4 };

/* Writes a character of up to U+10FFFF as UTF-8; returns how many bytes it takes. */
size_t code_point_encode(uint32_t point, char bytes[CODE_POINT_BYTES]);

/* Whether a byte of UTF-8 belongs to the character before it. */
static inline bool code_point_goes_on(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* How many characters begin in so many bytes. */
int code_point_count(const char *text, size_t length);

/* Blanks and what ends a line: ' ', tab, U+2028 and the like. */
bool code_point_is_space(uint32_t point);

/* Not seen on paper, but acts: control characters (U+009B begins a command of a terminal as ESC [ does), marks that
 * reorder or hide text (U+202E, U+200B), what is no character. */
bool code_point_is_hidden(uint32_t point);

#endif
