/* Code point: the characters of UTF-8 text, and which of them a terminal, a parser or the eye must not meet. */
#ifndef ASSAY_BASE_CODE_POINT_H
#define ASSAY_BASE_CODE_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the first character of a string that is not empty; *point is U+FFFD for what is not UTF-8, a byte at a
 * time. */
size_t code_point_decode(const char *string, uint32_t *point);

/* Blanks and what ends a line: ' ', tab, U+2028 and the like. */
bool code_point_is_space(uint32_t point);

/* Not seen on paper, but acts: control characters (U+009B begins a command of a terminal as ESC [ does), marks that reorder
 * or hide text (U+202E, U+200B), what is no character. */
bool code_point_is_hidden(uint32_t point);

#endif
