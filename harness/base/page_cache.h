/* Page cache: what the kernel keeps of files in memory, so that two readers of the same files can be compared. */
#ifndef ASSAY_BASE_PAGE_CACHE_H
#define ASSAY_BASE_PAGE_CACHE_H

#include <stdint.h>

/* Borrowed: what is at these paths, as a list. */
struct file_paths {
    const char *const *paths;
    int count;
};

/* Writes to the disk what is not there yet, and asks the kernel to forget what it keeps of the files. A hint: nothing
 * fails, and file systems in memory keep everything; files_cached_bytes tells what came of it. */
void files_forget(const struct file_paths *files);

/* How many bytes of the files the page cache has, in whole pages, at most their sizes; -1 where a file cannot be looked
 * at (the kernel tells it of files that this user owns or may write). */
int64_t files_cached_bytes(const struct file_paths *files);

#endif
