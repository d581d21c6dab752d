/* Share: its text and its number. Not a percentage, which is harness/base/size.h's. */
#include "harness/case/share.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 6 }; /* of SHARE_WHOLE */

enum status_code share_parse(const char *text, int64_t *millionths, struct status *error)
{
    size_t whole = strspn(text, "0123456789");
    bool has_point = text[whole] == '.';
    const char *behind = text + whole + (has_point ? 1 : 0);
    size_t digits = has_point ? strspn(behind, "0123456789") : 0;
    if (whole + digits == 0 || behind[digits] != '\0') {
        return status_set(error, STATUS_INVALID, "'%s' is no decimal number; write one from 0 to below 1, as in 0.05",
                          text);
    }
    if (strspn(text, "0") < whole) {
        return status_set(error, STATUS_INVALID, "%s is out of range; write a number from 0 to below 1, as in 0.05",
                          text);
    }
    if (digits > DIGITS) {
        return status_set(error, STATUS_INVALID, "%s has more than %d digits behind the point; write fewer", text,
                          DIGITS);
    }
    int64_t made = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        made = 10 * made + (i < digits ? behind[i] - '0' : 0);
    }
    *millionths = made;
    return STATUS_OK;
}

const char *share_format(int64_t millionths, char text[SHARE_TEXT_BYTES])
{
    snprintf(text, SHARE_TEXT_BYTES, "0.%06d", (int)(millionths % SHARE_WHOLE));
    for (size_t length = strlen(text); length > 1 && (text[length - 1] == '0' || text[length - 1] == '.'); length--) {
        text[length - 1] = '\0';
    }
    return text;
}

double share_of(int64_t millionths)
{
    return (double)millionths / (double)SHARE_WHOLE;
}

int64_t share_millionths(double share)
{
    return llround(share * (double)SHARE_WHOLE);
}
