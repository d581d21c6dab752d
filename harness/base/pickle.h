/* Pickle: the values that a file of Python's pickle module holds, as values of JSON; nothing of it is executed.
 *
 * Read is what pickle.dump writes of plain data in the protocols 2 to 5: None, booleans, integers of 64 bits, floats,
 * texts, lists, tuples, sets (as arrays) and dictionaries with texts or integers as keys (as objects). Bytes are null.
 * What a pickle does beside that is to name functions and to call them: it is refused by its name, unread.
 *
 * The file is hostile. It is read once, from the front to the back, without recursion. A container is told before it
 * is used and does not change afterwards, so that none has itself in it; containers lie at most
 * PICKLE_DEPTH_MAXIMUM deep in each other; there are at most PICKLE_VALUES_MAXIMUM values, which shared ones are not
 * again. */
#ifndef ASSAY_BASE_PICKLE_H
#define ASSAY_BASE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/json.h"
#include "harness/base/status.h"

enum { PICKLE_DEPTH_MAXIMUM = 64, PICKLE_VALUES_MAXIMUM = 1 << 25 };

/* Whether bytes begin as a pickle of protocol 2 or later does; no JSON does. */
bool pickle_is(const char *bytes, size_t length);

/* name stands for the file in messages. STATUS_INVALID with "NAME: byte N: cause; remedy", N counted from 0. The
 * result is released by the caller. Worked: 80 02 5D 71 00 4B 07 61 2E is [7]. */
enum status_code pickle_parse(const char *name, const char *bytes, size_t length, struct json **document,
                              struct status *error);

#endif
