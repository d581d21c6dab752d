/* Verdict words: one comparison of a prediction with a measurement as a sentence, the same in the progress of a run, in
 * records and in every report. Raw text: callers escape it. */
#ifndef ASSAY_RECORD_VERDICT_WORDS_H
#define ASSAY_RECORD_VERDICT_WORDS_H

#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/text.h"

/* Where the figure that predictions are held against comes from. On a device that holds no memory (meta) nothing is
 * measured: the allocator replays the operations. */
#define BASIS_MEASURED "measured"
#define BASIS_REPLAYED "replayed"

/* The basis of what was found on a device of that kind; NULL, the device did not open, counts as measured. */
const char *basis_of_device(const char *kind);

struct verdict_words {
    const char *estimator, *quantity;
    const char *basis; /* BASIS_MEASURED or BASIS_REPLAYED */
    const char *stage; /* that the measured figure is of; NULL: not known, or of none */
    const char *place; /* of a placed case, that both figures are of; NULL: of the case */
    const char *note;  /* why it is not judged although that was asked for; NULL: it is, or nobody knows */
    int64_t predicted_bytes, measured_bytes; /* negative: not known */
    int64_t tolerance_bytes;                 /* negative: none */
    double tolerance_fraction;               /* negative: none */
};

/* Of an element of "verdicts" of a case line. Texts are borrowed from it. */
struct verdict_words verdict_words_read(const struct json *verdict, const char *basis);

/* "accelerate: total 312.47 MiB predicted, allocated peak 363.99 MiB measured in backward: -14.15 % (-51.51 MiB),
 * tolerance 5 %"; where a figure is not known: "replay: footprint not predicted, 435.98 MiB measured in load, tolerance
 * 10 %: not judged, there are no constants of this device". Of one place of a placed case "measured in forward on place
 * 1". */
void verdict_words_append(struct text *text, const struct verdict_words *words);

#endif
