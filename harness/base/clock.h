/* Clock: seconds of a clock that only goes on; the difference of two readings is how long something took. */
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

double clock_seconds(void);

#endif
