/* Clock: a clock that only goes on; the difference of two readings is how long something took. */
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

#include <stdint.h>

/* For deadlines, which are added to and compared. */
int64_t clock_ns(void);

/* For figures that people see. */
double clock_seconds(void);

#endif
