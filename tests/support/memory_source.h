/* Memory source: bytes of a test as a byte source. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_MEMORY_SOURCE_H
#define ASSAY_TESTS_SUPPORT_MEMORY_SOURCE_H

#include "harness/base/byte_source.h"

/* The bytes stay the caller's and outlive it. Like a file it refuses nothing inside. NULL where there is no memory. */
struct byte_source *memory_source_new(const char *name, const void *bytes, size_t count);

#endif
