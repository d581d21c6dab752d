/* Placed plain: which plain transfer stands beside which. How one is made is harness/load/plain_transfer.c's. */
#include "harness/run/placed_plain.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/arena.h"
#include "harness/base/array.h"
#include "harness/load/plain_transfer.h"

static const int64_t most_bytes = (int64_t)PLACED_PLAIN_MIB << 20;
static const int64_t least_bytes = 1 << 20; /* less tells of calls, and not of a bus */

static int64_t bytes_of(const struct placed_result *result, int from, int to)
{
    int64_t bytes = result->copied_bytes[from][to];
    return bytes < most_bytes ? bytes : most_bytes;
}

static void plain_keep(const char *what, const struct plain_transfer *made, struct transfer_plain *plain)
{
    if (made->bytes > 0 && made->seconds > 0.0) {
        *plain = (struct transfer_plain){.what = what, .bytes = made->bytes, .seconds = made->seconds};
    }
}

/* -- the disk */

struct listing {
    struct arena arena;
    const char **paths;
    int count;
    size_t room;
};

static bool is_weights(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".dat") == 0;
}

static bool path_add(struct listing *listing, const char *path)
{
    const char **grown = array_extend(listing->paths, (size_t)listing->count, &listing->room, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    listing->paths = grown;
    listing->paths[listing->count++] = path;
    return true;
}

/* The files of the folder, as long as they are not more than the bound. */
static void folder_list(const char *folder, struct listing *listing)
{
    DIR *list = opendir(folder);
    const struct dirent *entry = NULL;
    int64_t bytes = 0;
    bool made = list != NULL;
    while (made && bytes < most_bytes && (entry = readdir(list)) != NULL) {
        struct stat state;
        const char *path =
            is_weights(entry->d_name) ? arena_format(&listing->arena, "%s/%s", folder, entry->d_name) : NULL;
        if (path != NULL && lstat(path, &state) == 0 && S_ISREG(state.st_mode)) {
            bytes += state.st_size;
            made = path_add(listing, path);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
}

/* Neither reader empties the page cache: what was written just before is read from where the kernel keeps it, by
 * both. */
static void read_measure(const struct placed_lanes *lanes, struct transfer_plain *plain)
{
    struct listing listing = {0};
    struct plain_transfer made = {0};
    folder_list(lanes->folder, &listing);
    const struct file_paths files = {.paths = listing.paths, .count = listing.count};
    if (listing.count > 0 && plain_read(&files, NULL, &made, NULL) == STATUS_OK) {
        plain_keep("sequential read", &made, plain);
    }
    free(listing.paths);
    arena_release(&listing.arena);
}

/* -- devices */

static void copy_measure(struct device *device, enum plain_direction direction, int64_t bytes,
                         struct transfer_plain *plain)
{
    struct plain_transfer made = {0};
    if (plain_copy(device, direction, bytes, &made, NULL) == STATUS_OK) {
        plain_keep("copy", &made, plain);
    }
}

void placed_plain_measure(const struct placed_trial *trial, const struct placed_lanes *lanes,
                          struct placed_transfers *transfers)
{
    const struct placed_tape *placed = &trial->placed;
    const struct placed_result *result = &trial->measured.result;
    for (int i = 0; i < placed->place_count * placed->place_count; i++) {
        int from = i / placed->place_count, to = i % placed->place_count;
        enum placement_device_kind source = placed->devices[from].kind, target = placed->devices[to].kind;
        struct transfer_plain *plain = &transfers->plain[from][to];
        if (result->copied_bytes[from][to] < least_bytes || result->copy_seconds[from][to] <= 0.0) {
            continue;
        }
        if (source == PLACEMENT_DISK) {
            read_measure(lanes, plain);
        } else if (source == PLACEMENT_CPU && target == PLACEMENT_GPU) {
            copy_measure(lanes->lanes[to].device, PLAIN_TO_DEVICE, bytes_of(result, from, to), plain);
        } else if (source == PLACEMENT_GPU && target == PLACEMENT_CPU) {
            copy_measure(lanes->lanes[from].device, PLAIN_FROM_DEVICE, bytes_of(result, from, to), plain);
        }
    }
}
