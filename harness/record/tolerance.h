/* Tolerances: how far two figures of the same thing may be apart. Which figures, and what follows, is for the
 * caller. */
#ifndef ASSAY_RECORD_TOLERANCE_H
#define ASSAY_RECORD_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/record/level.h"

enum tolerance_kind { TOLERANCE_BYTES, TOLERANCE_FRACTION };

struct tolerance {
    enum tolerance_kind kind;
    int64_t bytes;   /* TOLERANCE_BYTES */
    double fraction; /* TOLERANCE_FRACTION: 0.05 for "5%" */
};

/* Reads "512", "1MiB" (size_text.h) and "0.5%" (size.h). STATUS_INVALID with the reason and what would be right. */
enum status_code tolerance_parse(const char *text, struct tolerance *tolerance, struct status *error);

/* STATUS_INVALID with the spellings for what has no unit and is no plausible number of bytes: 5 may be meant as 5% and
 * as 5MiB, and 0.05 is meant as 5%. tolerance_parse looks at this too. */
enum status_code tolerance_unit_check(const char *text, struct status *error);

/* Whether |difference| <= bytes, or <= fraction * of_bytes. difference is between two figures that are not negative. */
bool tolerance_holds(const struct tolerance *tolerance, int64_t difference, int64_t of_bytes);

/* "4.00 MiB", "2 %", "0 B": returns text. */
enum { TOLERANCE_TEXT_BYTES = 32 };
const char *tolerance_format(const struct tolerance *tolerance, char text[TOLERANCE_TEXT_BYTES]);

/* {"bytes": 0} or {"fraction": 0.05}; null for NULL. NULL where memory ran out. */
struct json *tolerance_json(const struct tolerance *tolerance);

/* False, and *tolerance untouched, where value is no such object. */
bool tolerance_from_json(const struct json *value, struct tolerance *tolerance);

/* ---- for each level ---- */

enum level_rule_kind {
    LEVEL_RULE_ABSENT,    /* nobody said anything */
    LEVEL_RULE_TOLERATED, /* judged with a tolerance */
    LEVEL_RULE_NONE       /* not judged by wish */
};

struct level_rule {
    enum level_rule_kind kind;
    struct tolerance tolerance; /* LEVEL_RULE_TOLERATED */
};

/* All zero: nobody said anything. */
struct level_rules {
    struct level_rule of[LEVEL_COUNT];
};

/* Reads "4MiB", "2%" or "none". STATUS_INVALID with the reason and what would be right. */
enum status_code level_rule_parse(const char *text, struct level_rule *rule, struct status *error);

/* Reads "device=2%,process=none". STATUS_INVALID for a level that does not exist, or stands twice. */
enum status_code level_rules_parse(const char *text, struct level_rules *rules, struct status *error);

/* {"device": {"bytes": 4194304}, "process": "none"}: the levels that somebody said something about; null where nobody
 * did. NULL where memory ran out. */
struct json *level_rules_json(const struct level_rules *rules);

/* What that object says; a member that is not understood counts as absent. */
struct level_rules level_rules_from_json(const struct json *object);

#endif
