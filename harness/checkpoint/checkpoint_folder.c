/* Checkpoint folder: made, looked through, and measured. Not the writer of files. */
#include "harness/checkpoint/checkpoint_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "harness/base/size.h"

static const char index_name[] = "model.safetensors.index.json";
static const char whole_name[] = "model.safetensors";

static enum status_code folder_refuse(const char *path, int cause, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: cannot be made: %s; choose another folder with --out", path,
                      strerror(cause));
}

/* Makes the first `length` bytes of the path a folder, if nothing is there. */
static enum status_code part_make(struct checkpoint_folder *folder, size_t length, struct status *error)
{
    struct stat facts;
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%.*s", (int)length, folder->path);
    if (mkdir(part, 0777) == 0) {
        folder->lengths[folder->made_count++] = length;
        return STATUS_OK;
    }
    int cause = errno;
    if (cause == EEXIST && stat(part, &facts) == 0) {
        return S_ISDIR(facts.st_mode) ? STATUS_OK : folder_refuse(part, ENOTDIR, error);
    }
    return folder_refuse(part, cause, error);
}

static enum status_code folders_make(struct checkpoint_folder *folder, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (const char *slash = strchr(folder->path + 1, '/'); slash != NULL && code == STATUS_OK;
         slash = strchr(slash + 1, '/')) {
        code = part_make(folder, (size_t)(slash - folder->path), error);
    }
    return code == STATUS_OK ? part_make(folder, strlen(folder->path), error) : code;
}

static bool is_shard_name(const char *name)
{
    int number = 0, count = 0, end = 0;
    return sscanf(name, "model-%5d-of-%5d.safetensors%n", &number, &count, &end) == 2 && end > 0 && name[end] == '\0';
}

static bool is_planned(const struct checkpoint_plan *plan, const char *name)
{
    for (int i = 0; i < plan->file_count; i++) {
        if (strcmp(plan->files[i].name, name) == 0) {
            return true;
        }
    }
    return plan->file_count > 1 && strcmp(name, index_name) == 0;
}

/* What an entry of the folder means for what is to be written. */
static enum status_code entry_look(struct checkpoint_folder *folder, const struct checkpoint_plan *plan, bool is_forced,
                                   const char *name, struct status *error)
{
    if (!is_forced) {
        return status_set(
            error, STATUS_INVALID,
            "%s: is not empty ('%.100s' is there); choose another folder with --out, or write beside what "
            "is there with --force: files of the same names are replaced",
            folder->path, name);
    }
    if (is_planned(plan, name)) {
        return STATUS_OK;
    }
    if (strcmp(name, whole_name) == 0) {
        return status_set(error, STATUS_INVALID,
                          "%s: has a %s, which readers take before %d shards; move it away, choose another folder, or "
                          "allow larger files with --max-shard-size",
                          folder->path, whole_name, plan->file_count);
    }
    if (is_shard_name(name) || strcmp(name, index_name) == 0) {
        folder->left_count++;
        snprintf(folder->left_name, sizeof folder->left_name, "%s", name);
    }
    return STATUS_OK;
}

static enum status_code entries_look(struct checkpoint_folder *folder, const struct checkpoint_plan *plan,
                                     bool is_forced, struct status *error)
{
    enum status_code code = STATUS_OK;
    DIR *entries = opendir(folder->path);
    const struct dirent *entry = NULL;
    if (entries == NULL) {
        return status_set(error, STATUS_IO, "%s: cannot be read: %s; choose another folder with --out", folder->path,
                          strerror(errno));
    }
    while (code == STATUS_OK && (errno = 0, entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            code = entry_look(folder, plan, is_forced, entry->d_name, error);
        }
    }
    if (code == STATUS_OK && errno != 0) {
        code = status_set(error, STATUS_IO, "%s: cannot be read: %s", folder->path, strerror(errno));
    }
    closedir(entries);
    return code;
}

static enum status_code room_ask(struct checkpoint_folder *folder, struct status *error)
{
    struct statvfs room;
    if (statvfs(folder->path, &room) != 0) {
        return status_set(error, STATUS_IO, "%s: its free space cannot be asked for: %s", folder->path,
                          strerror(errno));
    }
    if (!size_multiply((int64_t)room.f_bavail, (int64_t)room.f_frsize, &folder->free_bytes)) {
        folder->free_bytes = INT64_MAX;
    }
    return STATUS_OK;
}

enum status_code checkpoint_folder_open(const char *path, const struct checkpoint_plan *plan, bool is_forced,
                                        struct checkpoint_folder *folder, struct status *error)
{
    size_t length = strlen(path);
    *folder = (struct checkpoint_folder){.made_count = 0};
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (length == 0 || length + 64 > sizeof folder->path) { /* room for the names in it */
        return folder_refuse(length == 0 ? "''" : "a path of that length", length == 0 ? ENOENT : ENAMETOOLONG, error);
    }
    memcpy(folder->path, path, length);
    enum status_code code = folders_make(folder, error);
    code = code == STATUS_OK ? entries_look(folder, plan, is_forced, error) : code;
    code = code == STATUS_OK ? room_ask(folder, error) : code;
    if (code != STATUS_OK) {
        checkpoint_folder_undo(folder);
    }
    return code;
}

void checkpoint_folder_undo(const struct checkpoint_folder *folder)
{
    char part[PATH_MAX];
    for (int i = folder->made_count - 1; i >= 0; i--) {
        snprintf(part, sizeof part, "%.*s", (int)folder->lengths[i], folder->path);
        rmdir(part); /* one in which somebody has put something meanwhile stays */
    }
}

bool checkpoint_folder_is(const struct checkpoint_folder *folder, const char *path)
{
    struct stat own, other;
    return stat(folder->path, &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}
