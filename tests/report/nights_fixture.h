/* Nights: records of one suite, measured again under circumstances that a test chooses. Figures are small and round. */
#ifndef ASSAY_TESTS_REPORT_NIGHTS_FIXTURE_H
#define ASSAY_TESTS_REPORT_NIGHTS_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/text.h"
#include "harness/report/difference.h"

/* What a night was like; all zero is the usual night: driver 570.124.06 on an H200, two cases, one attempt at each. */
struct night {
    const char *driver, *kernel, *device, *plan_hash, *libraries; /* NULL: as usual; libraries: JSON, usually none */
    const char *variables;                                        /* of the environment, JSON; NULL: not recorded */
    const char *compare;                                          /* of the suite, JSON; NULL: null */
    int64_t context_bytes;                                        /* more in every reading of device and process */
    int64_t forward_bytes;                                        /* more in the process at the end of forward alone */
    int64_t allocated_bytes;                                      /* more in every allocated figure */
    int64_t total_bytes;                                          /* more in accelerate's prediction */
    const char *disturbance;  /* JSON of the reasons of the second case; NULL: valid */
    bool shared;              /* no readings of the whole device */
    bool unread;              /* no readings of the process either */
    int attempts;             /* 0: one */
    int64_t attempt_bytes;    /* what each further attempt has more of the process than the one before */
    int64_t attempt_reserved; /* the same of reserved bytes */
    const char *status;       /* of the second case; NULL: ok */
    const char *load_status;  /* of the first case; NULL: ok */
    bool second_missing;
    const char *run_id;    /* NULL: 90 */
    bool listed;           /* a `selected` line names both cases, whether they are there or not */
    int selected_attempts; /* in it; 0: one */
    bool killed;           /* no `end` line */
};

/* Writes the records of a night to path, over what was there. */
void night_write(const char *path, const struct night *night);

/* Two of them in a folder of their own, which nights_make makes as cmocka's state and nights_remove removes. */
struct nights {
    char *folder;
    char base[128], other[128];
};

int nights_make(void **state);
int nights_remove(void **state);

/* Their comparison. rules: as --tolerance has them, or NULL. The caller releases the text. */
struct text nights_compared(const struct nights *nights, const char *rules, const struct difference_style *style,
                            enum run_outcome *outcome);

/* Writes both nights and compares them; the parts must stand in the table in this order. */
void night_check(const struct nights *nights, const struct night *base, const struct night *other, const char *rules,
                 enum run_outcome expected, const char *const *parts);

#endif
