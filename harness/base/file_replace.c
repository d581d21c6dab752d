/* File replace: a nameless file (or one with a name of its own), written in pieces, synchronised, and moved to its
 * name. Not a writer that appends: earlier lines of records are never rewritten (harness/record). */
#include "harness/base/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/regular_file.h"

enum { AHEAD_BYTES = 8 << 20 }; /* that are written before the disk is asked to begin with them */
enum { LINKS_MAXIMUM = 40, NAMES_TRIED_MAXIMUM = 100, BESIDE_NAME_BYTES = 24, DESCRIPTOR_PATH_BYTES = 32 };

/* Where the content goes in the end. */
struct target {
    char path[PATH_MAX]; /* of a file, links followed where they may be */
    int descriptor;      /* of ours, which path only stands for; -1: path is a file */
    bool is_direct;      /* there is something that cannot be replaced, such as a pipe */
};

/* The file beside the target. */
struct beside {
    int folder, file;
    char name[BESIDE_NAME_BYTES]; /* in the folder; "": it has none yet */
};

/* The number of a descriptor that a path of /dev/fd or /proc stands for; -1: it is none of those. */
static int descriptor_of(const char *path)
{
    char own[DESCRIPTOR_PATH_BYTES];
    snprintf(own, sizeof own, "/proc/%ld/fd/", (long)getpid());
    const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", own};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t length = strlen(folders[i]);
        size_t digits = strncmp(path, folders[i], length) == 0 ? strspn(path + length, "0123456789") : 0;
        if (digits > 0 && digits < 9 && path[length + digits] == '\0') {
            return (int)strtol(path + length, NULL, 10);
        }
    }
    return -1;
}

/* Replaces path by what the link at it says. 0, or the errno. */
static int link_follow(char path[PATH_MAX])
{
    char content[PATH_MAX], followed[PATH_MAX];
    ssize_t length = readlink(path, content, sizeof content - 1);
    if (length < 0) {
        return errno;
    }
    content[length] = '\0';
    const char *slash = content[0] == '/' ? NULL : strrchr(path, '/');
    int bytes = slash == NULL ? snprintf(followed, sizeof followed, "%s", content)
                              : snprintf(followed, sizeof followed, "%.*s/%s", (int)(slash - path), path, content);
    if (bytes < 0 || bytes >= PATH_MAX) {
        return ENAMETOOLONG;
    }
    memcpy(path, followed, (size_t)bytes + 1);
    return 0;
}

/* Follows links that may be followed and looks at what is at their end. 0, or the errno. */
static int target_find(const char *path, enum file_role role, struct target *target)
{
    struct stat facts = {0};
    *target = (struct target){.descriptor = -1};
    if (snprintf(target->path, sizeof target->path, "%s", path) >= PATH_MAX) {
        return ENAMETOOLONG;
    }
    for (int links = 0; links < LINKS_MAXIMUM; links++) {
        target->descriptor = role == FILE_NAMED ? descriptor_of(target->path) : -1;
        if (target->descriptor >= 0) {
            return 0;
        }
        if (lstat(target->path, &facts) != 0) {
            return errno == ENOENT || errno == ENOTDIR ? 0 : errno; /* nothing is there, or no folder either */
        }
        if (!S_ISLNK(facts.st_mode) || role == FILE_KEPT) {
            target->is_direct = !S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode);
            return !target->is_direct && role != FILE_KEPT ? (access(target->path, W_OK) == 0 ? 0 : errno) : 0;
        }
        if (role == FILE_CHOSEN) {
            return ELOOP;
        }
        int cause = link_follow(target->path);
        if (cause != 0) {
            return cause;
        }
    }
    return ELOOP;
}

static int beside_name(struct beside *beside)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
        return errno;
    }
    snprintf(beside->name, sizeof beside->name, ".assay-%016" PRIx64, number);
    return 0;
}

/* Without a name where the file system can do that: a program that is killed then leaves nothing behind. */
static int beside_open(struct beside *beside)
{
    char itself[DESCRIPTOR_PATH_BYTES];
    beside->file = openat(beside->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (beside->file >= 0) {
        snprintf(itself, sizeof itself, "/proc/self/fd/%d", beside->file);
        if (access(itself, F_OK) == 0) {
            return 0;
        }
        close(beside->file); /* without /proc it cannot be given a name */
        beside->file = -1;
    }
    int cause = EEXIST;
    for (int tried = 0; cause == EEXIST && tried < NAMES_TRIED_MAXIMUM; tried++) {
        cause = beside_name(beside);
        if (cause == 0) {
            beside->file =
                openat(beside->folder, beside->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
            cause = beside->file < 0 ? errno : 0;
        }
    }
    if (cause != 0) {
        beside->name[0] = '\0';
    }
    return cause;
}

/* The permissions of the file that it takes the place of. Where they are the same nothing is asked for: some file
 * systems of a network have no others and refuse. 0, or the errno. */
static int beside_allow(const struct beside *beside, const char *target)
{
    struct stat old, made;
    bool replaces = fstatat(beside->folder, target, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode);
    bool differs = replaces && (fstat(beside->file, &made) != 0 || ((old.st_mode ^ made.st_mode) & 0777) != 0);
    return differs && fchmod(beside->file, old.st_mode & 0777) != 0 ? errno : 0;
}

/* Gives the file beside the name of the target. */
static int beside_move(struct beside *beside, const char *target)
{
    char itself[DESCRIPTOR_PATH_BYTES];
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", beside->file);
    int cause = beside->name[0] != '\0' ? 0 : EEXIST;
    for (int tried = 0; cause == EEXIST && tried < NAMES_TRIED_MAXIMUM; tried++) {
        cause = beside_name(beside);
        if (cause == 0 && linkat(AT_FDCWD, itself, beside->folder, beside->name, AT_SYMLINK_FOLLOW) != 0) {
            cause = errno;
            beside->name[0] = '\0';
        }
    }
    return cause == 0 && renameat(beside->folder, beside->name, beside->folder, target) != 0 ? errno : cause;
}

struct file_replacement {
    struct text_drain drain; /* first, so that one is the other */
    const char *path;        /* as the caller names it */
    struct target target;
    struct beside beside;               /* of a target that is a file */
    int output;                         /* what the content is written to */
    int64_t written_bytes, begun_bytes; /* so far; of those, the disk was asked to begin with */
};

/* The last part of a path. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* 0, or the errno. */
static int replacement_begin(struct file_replacement *made)
{
    struct target *target = &made->target;
    char folder[PATH_MAX];
    if (target->descriptor >= 0 || target->is_direct) {
        made->output =
            target->descriptor >= 0 ? target->descriptor : open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return made->output < 0 ? errno : 0;
    }
    const char *name = name_of(target->path);
    snprintf(folder, sizeof folder, "%.*s", name != target->path ? (int)(name - target->path) : 1,
             name != target->path ? target->path : ".");
    made->beside.folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int cause = made->beside.folder < 0 ? errno : name[0] == '\0' ? EISDIR : beside_open(&made->beside);
    made->output = made->beside.file;
    return cause != 0 ? cause : beside_allow(&made->beside, name);
}

static bool is_file(const struct file_replacement *made)
{
    return made->target.descriptor < 0 && !made->target.is_direct;
}

/* Asks the system to begin with the bytes from `from` on, 0: with all that follow, so that the disk is not idle until
 * the end. A hint. */
static void disk_begin(int file, int64_t from, int64_t bytes)
{
    (void)sync_file_range(file, from, bytes, SYNC_FILE_RANGE_WRITE);
}

/* All of it is written. settles: and on the disk, before it has its name. 0, or the errno. */
static int replacement_end(struct file_replacement *made, bool settles)
{
    if (made->target.descriptor >= 0) {
        return 0;
    }
    if (made->target.is_direct) {
        int output = made->output;
        made->output = -1;
        return close(output) != 0 ? errno : 0;
    }
    int cause = settles && fsync(made->output) != 0 && errno != EINVAL ? errno : 0;
    if (!settles) {
        disk_begin(made->output, 0, 0);
    }
    cause = cause != 0 ? cause : beside_move(&made->beside, name_of(made->target.path));
    if (cause == 0) {
        made->beside.name[0] = '\0'; /* it has the name that it was made for */
    }
    return cause;
}

static bool replacement_take(struct text_drain *drain, const char *bytes, size_t count)
{
    struct file_replacement *made = (struct file_replacement *)drain;
    int cause = drain->error.code == STATUS_OK ? bytes_write(made->output, bytes, count) : EIO;
    made->written_bytes += (int64_t)count;
    if (cause == 0 && is_file(made) && made->written_bytes - made->begun_bytes >= AHEAD_BYTES) {
        disk_begin(made->output, made->begun_bytes, made->written_bytes - made->begun_bytes);
        made->begun_bytes = made->written_bytes;
    }
    if (cause != 0 && drain->error.code == STATUS_OK) {
        status_set(&drain->error, STATUS_IO, "%s: cannot be written: %s", made->path, strerror(cause));
    }
    return cause == 0;
}

struct text_drain *file_replacement_drain(struct file_replacement *replacement)
{
    return &replacement->drain;
}

static enum status_code replacement_refuse(const struct file_replacement *made, int cause, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: cannot be written: %s", made->path, strerror(cause));
}

enum status_code file_replacement_skip(struct file_replacement *replacement, int64_t count, struct status *error)
{
    static const char zeros[4096];
    if (is_file(replacement)) {
        replacement->written_bytes += count;
        off_t end = lseek(replacement->output, count, SEEK_CUR);
        return end >= 0 && ftruncate(replacement->output, end) == 0 ? STATUS_OK
                                                                    : replacement_refuse(replacement, errno, error);
    }
    for (int64_t left = count; left > 0; left -= (int64_t)sizeof zeros) {
        size_t piece = left < (int64_t)sizeof zeros ? (size_t)left : sizeof zeros;
        if (!replacement_take(&replacement->drain, zeros, piece)) {
            return status_copy(error, STATUS_IO, &replacement->drain.error);
        }
    }
    return STATUS_OK;
}

enum status_code file_replacement_settle(struct file_replacement *replacement, struct status *error)
{
    if (replacement->drain.error.code != STATUS_OK) {
        return status_copy(error, STATUS_IO, &replacement->drain.error);
    }
    return is_file(replacement) && fsync(replacement->output) != 0 && errno != EINVAL
               ? replacement_refuse(replacement, errno, error)
               : STATUS_OK;
}

void file_replacement_abandon(struct file_replacement *replacement)
{
    if (replacement == NULL) {
        return;
    }
    if (replacement->beside.name[0] != '\0') {
        unlinkat(replacement->beside.folder, replacement->beside.name, 0);
    }
    if (replacement->output >= 0 && replacement->target.descriptor < 0) {
        close(replacement->output); /* it is on the disk, or not wanted: nothing can fail any more */
    }
    if (replacement->beside.folder >= 0) {
        close(replacement->beside.folder);
    }
    free(replacement);
}

static enum status_code target_prepare(const char *path, enum file_role role, struct target *target,
                                       struct status *error)
{
    int cause = target_find(path, role, target);
    if (cause == ELOOP && role == FILE_CHOSEN) {
        return status_set(error, STATUS_IO,
                          "%s: is a symbolic link, and this file is not written through one; remove the link, or name "
                          "another folder",
                          path);
    }
    if (cause == 0 && target->is_direct && role != FILE_NAMED) {
        return status_set(error, STATUS_IO,
                          "%s: is not a regular file, so it is not replaced; move it away, or name another folder",
                          path);
    }
    return cause == 0 ? STATUS_OK : status_set(error, STATUS_IO, "%s: cannot be written: %s", path, strerror(cause));
}

enum status_code file_replace_check(const char *path, enum file_role role, struct status *error)
{
    struct target target;
    return target_prepare(path, role, &target, error);
}

enum status_code file_replacement_open(const char *path, enum file_role role, struct file_replacement **made,
                                       struct status *error)
{
    struct file_replacement *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its content", path);
    }
    opened->drain.take = replacement_take;
    opened->path = path;
    opened->beside.folder = opened->beside.file = opened->output = -1;
    enum status_code code = target_prepare(path, role, &opened->target, error);
    int cause = code == STATUS_OK ? replacement_begin(opened) : 0;
    if (cause != 0) {
        code = status_set(error, STATUS_IO, "%s: cannot be written: %s", path, strerror(cause));
    }
    if (code != STATUS_OK) {
        file_replacement_abandon(opened);
        return code;
    }
    *made = opened;
    return STATUS_OK;
}

/* code: of what was done before; the end comes only where that went well. */
static enum status_code replacement_close(struct file_replacement *replacement, enum status_code code, bool settles,
                                          struct status *error)
{
    int cause = code == STATUS_OK ? replacement_end(replacement, settles) : 0;
    if (cause != 0) {
        code = status_set(error, STATUS_IO, "%s: cannot be written: %s", replacement->path, strerror(cause));
    }
    file_replacement_abandon(replacement);
    return code;
}

enum status_code file_replacement_finish(struct file_replacement *replacement, const struct text *content,
                                         struct status *error)
{
    enum status_code code = text_status(content, "the content of a file", error);
    if (code == STATUS_OK && !replacement_take(&replacement->drain, text_string(content), content->length)) {
        code = status_copy(error, STATUS_IO, &replacement->drain.error);
    }
    return replacement_close(replacement, code, true, error);
}

enum status_code file_replacement_name(struct file_replacement *replacement, struct status *error)
{
    const struct status *taken = &replacement->drain.error;
    enum status_code code = taken->code == STATUS_OK ? STATUS_OK : status_copy(error, taken->code, taken);
    return replacement_close(replacement, code, false, error);
}

enum status_code file_settle(const char *path, struct status *error)
{
    struct stat facts;
    int file = regular_file_open(path, &facts);
    int cause = file < 0 ? (errno != 0 ? errno : EINVAL) : fsync(file) != 0 && errno != EINVAL ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    return cause == 0 ? STATUS_OK : status_set(error, STATUS_IO, "%s: cannot be written: %s", path, strerror(cause));
}

enum status_code file_replace(const char *path, enum file_role role, const struct text *content, struct status *error)
{
    struct file_replacement *made = NULL;
    if (content->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its content", path);
    }
    enum status_code code = file_replacement_open(path, role, &made, error);
    return code == STATUS_OK ? file_replacement_finish(made, content, error) : code;
}
