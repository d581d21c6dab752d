/* Footprint reading: what the readers of views in this folder share. With fallbacks only: what is not there, or of
 * another kind, is unknown. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_FOOTPRINT_READING_H
#define ASSAY_REPORT_FOOTPRINT_READING_H

#include "harness/report/case_view.h"

/* What fills one view. */
struct filling {
    struct report *report;
    struct case_view *view;
    bool failed; /* memory ran out */
};

/* The word that value is, kept by the report; the fallback if it is none. */
const char *word_read(struct filling *filling, const struct json *value, const char *fallback);

/* BYTES_UNKNOWN for null, nothing and negative ones. */
int64_t bytes_read(const struct json *object, const char *key);

/* NULL if the value is no boolean. */
const bool *flag_read(const struct json *value);

/* From 0; negative: not known. */
double seconds_read(const struct json *object, const char *key);

enum walk {
    WALK_WHOLE,
    WALK_CUT, /* the case did not end: the stages are there but the highest of them is no peak, because nobody knows
                      how much it would have taken */
    WALK_PREDICTED /* a whole one; of one side of a comparison nobody asks for its stages, and they are not kept */
};

/* stages and peaks; the member "stages" of object, and the totals beside it if the record has them. */
void footprint_read(struct filling *filling, const struct json *object, enum walk walk,
                    struct footprint_view *footprint);

void causes_read(const struct json *object, struct causes_view *causes);

#endif
