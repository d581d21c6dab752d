/* Steps: where a series of sizes, one a night, went from one level to another, and where it drifts.
 *
 * Two kinds of series have two kinds of rules. Bytes that tape and allocator decide are the same each night: every
 * change of an exact series is a step, and none can be an accident. Readings of a driver or a kernel differ a little
 * each night: there a step is what the nights before and after it cannot be explained without.
 *
 * Of a reading the nights are fitted, by least squares, with a plateau, a ramp and a second plateau. A ramp of one
 * night is a jump, one of at least DRIFT_NIGHTS_LEAST a drift; what is left of it and right of it is looked at in the
 * same way. Single nights that stick out are drawn in first (to the median of five nights and three standard
 * deviations), the noise is taken from the differences of neighbouring nights, of which the largest fifth is left out.
 * A drift must besides be one to the test of Mann and Kendall, and its slope is that of Theil and Sen.
 *
 * Of 1,000 steady series of normal noise and 15 to 365 nights at most 1 has a step (tests/history/test_steps). A jump
 * of 6 standard deviations that has lasted 7 nights, with as many before it, is found at its night or beside it.
 * Example: 20 nights at 400 MiB and 10 at 412 MiB are one jump with from 19 and to 20. */
#ifndef ASSAY_HISTORY_STEPS_H
#define ASSAY_HISTORY_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"

enum step_kind {
    STEP_JUMP,      /* one level before, another after */
    STEP_EXCURSION, /* of an exact series: another level for one or two nights, and then the old one again */
    STEP_DRIFT      /* a little each night */
};

const char *step_kind_name(enum step_kind kind); /* "jump", "excursion", "drift" */

enum {
    JUMP_SIDE_NIGHTS = 3, /* of a reading that a jump needs before it and after it */
    DRIFT_NIGHTS_LEAST = 7,
    EXCURSION_NIGHTS_MOST = 2
};

struct step {
    enum step_kind kind;
    /* Places in the series. Of a jump: the last night before it, and the first after it. Of a drift: its first night
     * and its last. Of an excursion: the last night before it, and the last within it. */
    int from, to;
    int64_t before_bytes, after_bytes; /* of readings medians; of a drift the ends of its line; of an excursion before
                                          and within it */
    double bytes_per_night;            /* of a drift */
};

/* What is known of the series before its figures are looked at. */
struct step_rule {
    bool is_exact;       /* decided by tape and allocator */
    int64_t noise_bytes; /* of a reading: noise that is there whatever the nights say: pages are not split */
    int64_t least_bytes; /* of a reading: a change of less is no step */
};

/* For the levels that are counted, and for readings: 16 KiB of noise are four pages, and five runs on an unchanged
 * busy host differed by 254 KB (harness/report/difference.h), so a change below 256 KiB says nothing. */
#define STEP_RULE_EXACT   ((struct step_rule){.is_exact = true, .noise_bytes = 512, .least_bytes = 512})
#define STEP_RULE_READING ((struct step_rule){.noise_bytes = 16 << 10, .least_bytes = 256 << 10})

struct step_list {
    struct step *steps; /* in the order of the nights */
    int count;
    /* An exact series that changes in more than a quarter of its nights is told by the rules of readings. */
    bool is_unsteady;
};

/* Finds the steps of bytes[0 .. count), each at least 0. The list is in arena. False if memory ran out. */
bool steps_find(const int64_t *bytes, int count, const struct step_rule *rule, struct arena *arena,
                struct step_list *list);

#endif
