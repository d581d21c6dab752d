/* JSON as Python's json module writes and reads it: NaN, Infinity and -Infinity are numbers, which jansson does not
 * have. */
#ifndef ASSAY_BASE_JSON_PYTHON_H
#define ASSAY_BASE_JSON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/text.h"

/* Whether such a word stands where a value may stand. */
bool json_python_has_words(const char *text, size_t length);

/* Appends text with other numbers in the place of these words. With stand_ins: with those that json_python_number knows
 * again. Else with zeros as long as the words, so that what is wrong elsewhere keeps its place. */
void json_python_replace(const char *text, size_t length, bool stand_ins, struct text *replaced);

/* The number that a real of a parsed document means: not a number or an infinity for the three stand-ins, which are
 * finite numbers next to the largest one. */
double json_python_number(double value);

#endif
