/* Merge sources: which folders with records the paths of a user stand for. Opens no records. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/run/shard_merge_parts.h"

enum status_code merge_no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to merge the shards");
}

/* path itself, if it has records; *is_there says so. */
static enum status_code source_add(struct merge *merge, const char *folder, bool *is_there, struct status *error)
{
    struct stat state;
    char *path = arena_format(&merge->arena, "%s/records.jsonl", folder);
    if (path == NULL) {
        return merge_no_memory(error);
    }
    *is_there = stat(path, &state) == 0;
    if (!*is_there) {
        return STATUS_OK;
    }
    if (!S_ISREG(state.st_mode)) {
        return status_set(error, STATUS_INVALID, "%s: is no regular file; name the folders of the shards", path);
    }
    struct merge_source *sources =
        array_extend(merge->sources, merge->source_count, &merge->source_room, sizeof *sources);
    char *kept = arena_copy(&merge->arena, folder);
    if (sources == NULL || kept == NULL) {
        return merge_no_memory(error);
    }
    merge->sources = sources;
    sources[merge->source_count++] = (struct merge_source){.path = path, .folder = kept};
    return STATUS_OK;
}

/* Shard 10 comes after shard 9. */
static int names_order(const struct dirent **left, const struct dirent **right)
{
    return strverscmp((*left)->d_name, (*right)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_out(const struct merge *merge, const char *folder)
{
    struct stat state, out;
    return stat(folder, &state) == 0 && stat(merge->options->folder, &out) == 0 && state.st_dev == out.st_dev &&
           state.st_ino == out.st_ino;
}

/* What an earlier merge wrote beside the shards is none of them: it has no plan. */
static bool is_earlier_merge(struct merge *merge, const char *folder)
{
    const char *plan = arena_format(&merge->arena, "%s/" SHARD_PLAN_FILE, folder);
    return plan != NULL && is_out(merge, folder) && access(plan, F_OK) != 0;
}

static enum status_code folders_add(struct merge *merge, const char *parent, struct status *error)
{
    struct dirent **names = NULL;
    size_t before = merge->source_count;
    int count = scandir(parent, &names, is_shown, names_order);
    if (count < 0) {
        return status_set(error, STATUS_IO, "%s: cannot be read: %s; name the folders of the shards", parent,
                          strerror(errno));
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; i < count; i++) {
        bool is_there = false;
        char *folder = arena_format(&merge->arena, "%s/%s", parent, names[i]->d_name);
        if (code == STATUS_OK && folder == NULL) {
            code = merge_no_memory(error);
        }
        if (code == STATUS_OK && !is_earlier_merge(merge, folder)) {
            code = source_add(merge, folder, &is_there, error);
        }
        free(names[i]);
    }
    free(names);
    if (code == STATUS_OK && merge->source_count == before) {
        code = status_set(error, STATUS_INVALID,
                          "%s: has no records.jsonl, nor has a folder in it; name the folders of the shards, or the "
                          "one that they are in",
                          parent);
    }
    return code;
}

enum status_code merge_sources_find(struct merge *merge, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < merge->options->path_count && code == STATUS_OK; i++) {
        bool is_there = false;
        code = source_add(merge, merge->options->paths[i], &is_there, error);
        if (code == STATUS_OK && !is_there && is_out(merge, merge->options->paths[i])) {
            code = status_set(error, STATUS_INVALID,
                              "%s: is the folder that the shards are in, and with the result would be taken for one; "
                              "name a new folder with --out, as %s/all",
                              merge->options->paths[i], merge->options->paths[i]);
        } else if (code == STATUS_OK && !is_there) {
            code = folders_add(merge, merge->options->paths[i], error);
        }
    }
    return code;
}
