/* Header JSON: the JSON of a model file's header, read token by token as it streams by. Internal to harness/checkpoint.
 *
 * A header may have 100 MB, and a tree of it takes eight times as much; here it takes the window and one string. Strict
 * as RFC 8259: no comments, no trailing commas, UTF-8 without zero characters. The first fault is kept and later calls
 * do nothing, so that a reader can ask for many tokens and look once; loops over members end at a fault. */
#ifndef ASSAY_CHECKPOINT_HEADER_JSON_H
#define ASSAY_CHECKPOINT_HEADER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/checkpoint/byte_window.h"

enum { HEADER_STRING_BYTES = 1 << 16, HEADER_DEPTH_MAXIMUM = 64 };

struct header_json {
    struct byte_window window;
    struct status *error;
    enum status_code code; /* STATUS_OK until the first fault */
    bool first;            /* no member of the innermost object or array has been read */
    char string[HEADER_STRING_BYTES];
    size_t length; /* of string; what did not fit is counted, and is_cut says so */
    bool is_cut;
};

void header_begin(struct header_json *json, struct byte_source *source, int64_t offset, int64_t end,
                  struct status *error);

/* Sets the fault: "FILE: byte OFFSET: cause", at the next byte. */
__attribute__((format(printf, 2, 3))) void header_fault(struct header_json *json, const char *format, ...);

/* The next character that is no blank, not passed; -1 at the end or after a fault. */
int header_next(struct header_json *json);

/* Into an object or an array: '{' or '['. Then header_more until it is false, which has passed the closing one; before
 * each value of an object stands header_key, whose text is in json->string. */
void header_open(struct header_json *json, char bracket);
bool header_more(struct header_json *json, char closing);
void header_key(struct header_json *json);

void header_string(struct header_json *json);     /* into json->string, ended by a zero */
int64_t header_integer(struct header_json *json); /* 0 to INT64_MAX, else a fault */
void header_skip(struct header_json *json);       /* any value, nested at most HEADER_DEPTH_MAXIMUM deep */

/* Nothing but blanks may follow. */
void header_end(struct header_json *json);

#endif
