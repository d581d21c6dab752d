/* Worker: a process of its own that has one device open and conforms operations there, so that an operation that loses
 * the device (an illegal address is one for all that the process still asks of a GPU), ends the process or never
 * returns costs no other. The process that asks opens no device: CUDA does not outlive a fork. */
#ifndef ASSAY_TESTS_CONFORMANCE_CONFORM_WORKER_H
#define ASSAY_TESTS_CONFORMANCE_CONFORM_WORKER_H

#include <sys/types.h>

#include "tests/conformance/conformance.h"

struct conform_worker {
    char spec[32], name[128]; /* of the device; its own name once it was open */
    pid_t process;
    int channel; /* to the process; -1: there is none, and the next request makes one */
};

/* What device_open says, and the first memory on the device. The caller closes the worker if it is STATUS_OK. */
enum status_code conform_worker_open(struct conform_worker *worker, const char *spec, struct status *error);
void conform_worker_close(struct conform_worker *worker);

/* operation_conform in the worker's process; request->site is not looked at. That the process ended, with what, or did
 * not answer in limit_s seconds, stands in the report. What request and conformance point to must be as it was when the
 * worker was opened, and stay so. */
void worker_conform(struct conform_worker *worker, const struct conformance_request *request, int limit_s,
                    struct conformance *conformance);

#endif
