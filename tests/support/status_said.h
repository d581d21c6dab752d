/* What an error says, with its place, as it is printed and kept: for tests that hold a whole message. */
#ifndef ASSAY_TESTS_SUPPORT_STATUS_SAID_H
#define ASSAY_TESTS_SUPPORT_STATUS_SAID_H

#include "harness/base/status.h"

/* Lasts as long as the block in which it stands. */
#define STATUS_SAID(error) status_line(error, (char[STATUS_LINE_BYTES]){0})

#endif
