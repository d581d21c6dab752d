/* Record texts for tests: one piece of a text exchanged, and the trace that a text makes. */
#ifndef ASSAY_TESTS_RECORD_TEXT_H
#define ASSAY_TESTS_RECORD_TEXT_H

#include "harness/memory/trace.h"

/* A copy in which the one place where find stands reads replace. Fails the running test where find is not there, or
 * twice. Released with free. */
char *record_text_exchange(const char *text, const char *find, const char *replace);

/* Parses text as a file "t.json". STATUS_INVALID too where it is no JSON. */
enum status_code record_text_parse(const char *text, int64_t device, struct trace *trace, struct status *error);

#endif
