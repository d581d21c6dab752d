/* Device use: a device by its spec, as tests want it. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_DEVICE_USE_H
#define ASSAY_TESTS_SUPPORT_DEVICE_USE_H

#include "harness/replay/replay.h"

/* The GPU that tests use: what ASSAY_TEST_DEVICE names ("cuda:1"), else "cuda:0". No other is opened by a test that is
 * not about several. tests/cuda_emulation asks for its own. */
const char *test_gpu(void);

/* Skips the running test, with the reason, where the device is not there; fails it where it does not open. */
struct device *device_open_or_skip(const char *spec);

/* What a tape comes to on a device that is opened for it alone. Fails the running test where either fails. */
struct replay_result replay_on(const struct tape_view *tape, const char *spec);

#endif
