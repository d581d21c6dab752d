/* Kernel files: the small texts of /proc and of cgroups, which the kernel writes when they are read. */
#ifndef ASSAY_DEVICE_KERNEL_FILE_H
#define ASSAY_DEVICE_KERNEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* The figure of a line "Name:   123 kB" in bytes; false if the file or such a line is missing. The file's first 8
 * KiB are looked at. */
bool kernel_field_read(const char *path, const char *name, int64_t *bytes);

/* The number of a line "name 123"; false if the file or such a line is missing. The file's first 32 KiB are looked
 * at. */
bool kernel_count_read(const char *path, const char *name, int64_t *count);

/* The one number that an open file consists of; false if there is another text, or file is -1. */
bool kernel_number_read(int file, int64_t *number);

#endif
