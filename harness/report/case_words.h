/* Case words: the fields of a recorded case, read and told. Raw text: callers escape it. Not for anybody outside this
 * folder. */
#ifndef ASSAY_REPORT_CASE_WORDS_H
#define ASSAY_REPORT_CASE_WORDS_H

#include "harness/report/case_view.h"
#include "harness/report/footprint_reading.h"

/* Fills the fields of the view from the identity of a record. */
void case_fields_read(struct filling *filling, const struct json *identity);

enum { CASE_WORD_BYTES = 24 };

/* A field in a word: "bfloat16", "8", "true"; NULL: the record says nothing. buffer may be used for the result. */
const char *case_field_said(const struct case_view *view, enum case_field field, char buffer[CASE_WORD_BYTES]);

/* Whether a label names the field: it is one of the mode, and has an unusual value, or is named in ids always. */
bool case_field_is_told(const struct case_view *view, enum case_field field);

/* Appends a field as labels spell it, with a space before it if it is not the first; nothing if it is not
 * told. */
void case_field_append(struct text *text, const struct case_view *view, enum case_field field);

/* Appends "bert-base-cased train float32 b8 s512 adam-foreach place-0=300MB": all fields that are told, in the order of
 * an id, but those that records leave out if they are usual, which are the last; without one of them (FIELD_MODEL:
 * with all). */
void case_label_append(struct text *text, const struct case_view *view, enum case_field without);

#endif
