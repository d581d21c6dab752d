/* Record damage: what a line or a file is that cannot be read as records, so that its true cause can be told. Reads no
 * JSON and decides nothing: what is done about it stands in record_reader.c. Not for anybody outside this folder. */
#ifndef ASSAY_RECORD_RECORD_DAMAGE_H
#define ASSAY_RECORD_RECORD_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"

/* STATUS_INVALID with "this is no file of records: it is compressed with gzip; unpack it first, with gunzip", where the
 * first bytes of a file tell what else it is. */
enum status_code foreign_file_check(const char *bytes, size_t length, struct status *error);

enum record_damage {
    RECORD_DAMAGE_OTHER, /* what the parser says of it is the best that can be said */
    RECORD_DAMAGE_CUT,   /* begins as a line of records does, and ends inside of its object */
    RECORD_DAMAGE_TAIL   /* does not begin as one: the end of a line, or no record at all */
};

/* Of a line that cannot be read. */
enum record_damage record_damage_of(const char *bytes, size_t length);

enum record_follower { RECORD_FOLLOWER_NONE, RECORD_FOLLOWER_LINE /* of records */, RECORD_FOLLOWER_OTHER };

/* The cause and the remedy of such a line that cannot be left out. is_first: no run was seen before it. NULL: what the
 * parser says. */
const char *record_damage_words(enum record_damage damage, bool is_first, enum record_follower follower);

/* Where a run line begins inside of a line, behind what another run left there: files were joined, and the first did
 * not end with a newline. 0: nowhere. */
size_t line_joint(const char *bytes, size_t length);

#endif
