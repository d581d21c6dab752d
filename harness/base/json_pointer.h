/* JSON pointer (RFC 6901): a text that leads to one value of a document. "/a/0/b" is the member b of the first element
 * of the member a; "" is the document; in a part "~1" stands for '/' and "~0" for '~'. */
#ifndef ASSAY_BASE_JSON_POINTER_H
#define ASSAY_BASE_JSON_POINTER_H

#include "harness/base/json.h"
#include "harness/base/status.h"

/* STATUS_INVALID with the reason and what would be right, if text is no pointer. */
enum status_code json_pointer_check(const char *text, struct status *error);

/* The value, borrowed from document; NULL if the pointer leads nowhere. An index is written without zeros in front;
 * "-", the element behind the last, is nowhere. The pointer is valid. */
struct json *json_pointer_get(struct json *document, const char *pointer);

/* Appends "/" and the part that stands for a member of this key: its '~' and '/' are escaped. */
void json_pointer_append(const char *key, struct text *pointer);

#endif
