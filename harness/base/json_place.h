/* JSON place: the line and column of a value in a JSON file, for errors found after it was parsed. jansson keeps no
 * places, so the file is read once more, and only then. */
#ifndef ASSAY_BASE_JSON_PLACE_H
#define ASSAY_BASE_JSON_PLACE_H

#include <stdbool.h>

#include "harness/base/status.h"

struct json_place {
    int line, column; /* from 1; a column is a character of UTF-8 */
};

/* Where the value stands that pointer leads to: "/events/3" is the fourth element of the member "events" of the
 * document (RFC 6901; json_pointer_append writes the part of a key), "" the document. Where only the first part of the
 * way exists, the place is that of the last value on it: a missing key is placed at its object. False, and place
 * untouched, where path is no regular file that can be read, or a pickle. Keys that are written with escapes are not
 * found. */
bool json_place_find(const char *path, const char *pointer, struct json_place *place);

/* Gives an error about the file its place; if that is not found, the path alone. One that has a line already stays
 * as it is. error may be NULL. */
void json_place_add(const char *path, const char *pointer, struct status *error);

#endif
