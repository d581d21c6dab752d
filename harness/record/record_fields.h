/* Record fields: the members of each type of line, as tables. record_schema.c checks lines against them. */
#ifndef ASSAY_RECORD_RECORD_FIELDS_H
#define ASSAY_RECORD_RECORD_FIELDS_H

#include <stdbool.h>

#include "harness/base/json.h"

enum kinds {
    KIND_NULL = 1 << JSON_KIND_NULL,
    KIND_BOOLEAN = 1 << JSON_KIND_BOOLEAN,
    KIND_INTEGER = 1 << JSON_KIND_INTEGER,
    KIND_NUMBER = 1 << JSON_KIND_INTEGER | 1 << JSON_KIND_REAL,
    KIND_STRING = 1 << JSON_KIND_STRING,
    KIND_ARRAY = 1 << JSON_KIND_ARRAY,
    KIND_OBJECT = 1 << JSON_KIND_OBJECT
};

/* A path of member names; '*' is every member of an object, '#' every element of an array. A path of NULL ends a table.
 * What is a part of something stands right behind it, and is not looked at where that is absent or null. Integers of
 * records are sizes and counts: never negative, but for the signed error and for what items leave over. */
struct field {
    const char *path;
    unsigned kinds;
    bool required;
};

extern const struct field RECORD_RUN_FIELDS[], RECORD_CASE_FIELDS[], RECORD_END_FIELDS[], RECORD_SELECTED_FIELDS[];

#endif
