/* Page cache: see page_cache.h. No byte of a file is read here. */
#include "harness/base/page_cache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/regular_file.h"

enum { WINDOW_BYTES = 1 << 30 }; /* of a file, whose pages are asked for together */

static void file_forget(const char *path)
{
    struct stat facts;
    int file = regular_file_open(path, &facts);
    if (file >= 0) {
        (void)fsync(file); /* what is not on the disk yet cannot be forgotten */
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }
}

void files_forget(const struct file_paths *files)
{
    for (int i = 0; i < files->count; i++) {
        file_forget(files->paths[i]);
    }
}

/* Whole pages of [at, at + bytes) of a file; -1: not told. */
static int64_t window_cached_bytes(int file, int64_t at, int64_t bytes, int64_t page_bytes)
{
    size_t page_count = (size_t)((bytes + page_bytes - 1) / page_bytes);
    unsigned char *pages = malloc(page_count);
    void *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, at); /* looked at, never read from */
    int64_t cached = -1;
    if (pages != NULL && mapped != MAP_FAILED && mincore(mapped, (size_t)bytes, pages) == 0) {
        cached = 0;
        for (size_t i = 0; i < page_count; i++) {
            cached += pages[i] & 1;
        }
        cached = cached * page_bytes < bytes ? cached * page_bytes : bytes;
    }
    if (mapped != MAP_FAILED) {
        munmap(mapped, (size_t)bytes);
    }
    free(pages);
    return cached;
}

/* The kernel calls every page of a file of somebody else's present. */
static bool file_is_told_of(const char *path, const struct stat *facts)
{
    return facts->st_uid == geteuid() || access(path, W_OK) == 0;
}

static int64_t file_cached_bytes(const char *path)
{
    struct stat facts;
    int64_t page_bytes = sysconf(_SC_PAGESIZE), cached = 0;
    int file = regular_file_open(path, &facts);
    bool known = file >= 0 && file_is_told_of(path, &facts);
    for (int64_t at = 0; known && at < facts.st_size; at += WINDOW_BYTES) {
        int64_t left = facts.st_size - at;
        int64_t here = window_cached_bytes(file, at, left < WINDOW_BYTES ? left : WINDOW_BYTES, page_bytes);
        known = here >= 0;
        cached += here;
    }
    if (file >= 0) {
        close(file);
    }
    return known ? cached : -1;
}

int64_t files_cached_bytes(const struct file_paths *files)
{
    int64_t sum = 0;
    for (int i = 0; i < files->count && sum >= 0; i++) {
        int64_t bytes = file_cached_bytes(files->paths[i]);
        sum = bytes < 0 ? -1 : sum + bytes;
    }
    return sum;
}
