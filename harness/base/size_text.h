/* Sizes as people type them: 80GiB, 10GB, 1.5GiB, 123456. */
#ifndef ASSAY_BASE_SIZE_TEXT_H
#define ASSAY_BASE_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

/* Reads "512", "512B", "1.5GiB", "512MiB" (binary: 1024), "10GB" (decimal: 1000), whole text, no sign, no space except
 * one before the unit. Exact or refused: 0.3GiB is no whole number of bytes. A unit in lower case or cut short ("10gb",
 * "10G") is refused, because half of those who write it mean 1000s and half mean 1024s: 10GB is 9.31 GiB.
 * STATUS_INVALID with the reason and what would be right; STATUS_OVERFLOW beyond 63 bits. */
enum status_code size_parse(const char *text, int64_t *bytes, struct status *error);

/* As size_parse, but a number other than 0 has its unit: whoever writes 24 for a memory means 24 GiB or 24 GB, and none
 * means 24 bytes. */
enum status_code size_parse_memory(const char *text, int64_t *bytes, struct status *error);

/* Whether text is a whole number from 1 to 999 alone: as a figure of memory it is meant in another unit, or as a
 * percentage. */
bool size_lacks_unit(const char *text);

/* Appends what was meant by a typed size, so that nobody is surprised: "10GB = 9.31 GiB", "24GiB = 25769803776 bytes".
 * bytes: what size_parse made of typed. */
void size_meant(const char *typed, int64_t bytes, struct text *text);

#endif
