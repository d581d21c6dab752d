/* Device lock: a file in a folder where anybody may have put anything. Which GPUs are locked is decided in
 * device_claim.c. */
#include "harness/run/device_lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/run/run_line.h"

enum {
    HOLDER_BYTES = 8192,
    FILES_INHERITED_MAXIMUM = 256 /* the descriptors among which one is looked for; a shell's have one digit */
};

const char *device_lock_folder(void)
{
    static const char *const folders[] = {"/run/lock", "/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct stat state;
        /* Asked of the folder and not of this user: all users must come to the same one. */
        if (stat(folders[i], &state) == 0 && S_ISDIR(state.st_mode) && (state.st_mode & S_IWOTH) != 0 &&
            (state.st_mode & S_ISVTX) != 0) {
            return folders[i];
        }
    }
    return NULL;
}

bool device_lock_name(const char *uuid, const char *pci_bus_id, char name[DEVICE_LOCK_NAME_BYTES])
{
    const char *source = uuid[0] != '\0' ? uuid : pci_bus_id;
    size_t length = 0;
    for (; *source != '\0' && length < DEVICE_LOCK_NAME_BYTES - 1; source++) {
        name[length++] = isalnum((unsigned char)*source) ? *source : '-';
    }
    name[length] = '\0';
    return length > 0;
}

/* fs.protected_regular refuses O_CREAT on a file of another user in a sticky folder, even if it could be opened: so
 * the file is opened, and made only if there is none. Links are not followed, and a FIFO is not waited for. */
static int lock_file_open(const char *path)
{
    static const int common = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int file = open(path, common);
    if (file >= 0 || errno != ENOENT) {
        return file;
    }
    file = open(path, common | O_CREAT | O_EXCL, 0666);
    if (file >= 0) {
        fchmod(file, 0666); /* whatever the umask: the next user must be able to lock it */
        return file;
    }
    return errno == EEXIST ? open(path, common) : -1;
}

/* A file of our own kind, and still the one at path: a cleaner of /tmp may have taken it away before it was locked. */
static bool lock_file_is_sound(int file, const char *path)
{
    struct stat opened, named;
    return fstat(file, &opened) == 0 && lstat(path, &named) == 0 && S_ISREG(opened.st_mode) && opened.st_nlink == 1 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Control characters of a text that anybody may have written must not reach a terminal. */
static void text_tame(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
    }
}

/* "process 123 since 2026-11-21T02:00:00Z, records in /x" */
static void holder_describe(int file, char text[STATUS_TEXT_BYTES])
{
    char bytes[HOLDER_BYTES];
    ssize_t count = pread(file, bytes, sizeof bytes, 0);
    struct json *holder = NULL;
    if (count <= 0 || json_parse_text("holder", bytes, (size_t)count, &holder, NULL) != STATUS_OK) {
        snprintf(text, STATUS_TEXT_BYTES, "a run that has left no name");
        return;
    }
    int64_t pid = json_integer_or(json_get(holder, "pid"), 0);
    bool gone = pid <= 0 || pid > INT_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
    snprintf(
        text, STATUS_TEXT_BYTES, "process %" PRId64 "%s since %.40s, records in %.400s", pid,
        gone ? " (not to be seen from here: it has left a child behind, shared with one, or is in another container)"
             : "",
        json_string_or(json_get(holder, "since"), "?"), json_string_or(json_get(holder, "folder"), "?"));
    text_tame(text);
    json_release(holder);
}

/* Best effort: a lock whose holder could not be written down is a lock all the same. */
static void holder_write(int file, pid_t pid, const char *records_folder)
{
    char since[TIME_BYTES], here[PATH_MAX] = "";
    struct text folder = {0}, line = {0};
    struct json *holder = json_object_new();
    if (records_folder[0] != '/' && getcwd(here, sizeof here) != NULL) {
        text_format(&folder, "%s/", here);
    }
    text_append(&folder, records_folder);
    bool made = json_set(holder, "pid", json_integer_new(pid)) &&
                json_set(holder, "since", json_string_new(time_text(since))) &&
                json_set(holder, "folder", json_string_new(text_string(&folder)));
    if (made && json_write(holder, 0, &line, NULL) == STATUS_OK && ftruncate(file, 0) == 0) {
        ssize_t written = pwrite(file, text_string(&line), line.length, 0);
        (void)written;
    }
    json_release(holder);
    text_release(&folder);
    text_release(&line);
}

bool device_lock_path(const char *folder, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/assay-%s.lock", folder, name) < PATH_MAX;
}

/* The lock file, opened and known to be one of ours; not locked. */
static enum status_code lock_open(const char *folder, const char *name, struct device_lock *lock, struct status *error)
{
    struct device_lock opened = {.file = -1};
    if (!device_lock_path(folder, name, opened.path)) {
        return status_set(error, STATUS_IO, "%s: the path of a lock is too long", folder);
    }
    opened.file = lock_file_open(opened.path);
    if (opened.file < 0) {
        return status_set(error, STATUS_IO, "%s: cannot be opened for a lock: %s", opened.path, strerror(errno));
    }
    if (!lock_file_is_sound(opened.file, opened.path)) {
        device_lock_release(&opened);
        return status_set(error, STATUS_IO, "%s: not a regular file with one name; remove it", opened.path);
    }
    *lock = opened;
    return STATUS_OK;
}

/* What flock said of the lock file, with its holder. */
static enum status_code lock_refuse(const struct device_lock *lock, const char *name, int cause, struct status *error)
{
    char holder[STATUS_TEXT_BYTES];
    if (cause != EWOULDBLOCK) {
        return status_set(error, STATUS_IO, "%s: cannot be locked: %s", lock->path, strerror(cause));
    }
    holder_describe(lock->file, holder);
    return status_set(error, STATUS_BUSY, "%s is taken by %s", name, holder);
}

/* Whether who started this program has the lock for itself and for us: one of the descriptors that came with exec (our
 * own close there) is of the lock file, and locks it alone. To ask so changes nothing if it does. */
static bool lock_is_inherited(const struct device_lock *lock)
{
    struct stat wanted, found;
    bool held = false;
    if (fstat(lock->file, &wanted) != 0) {
        return false;
    }
    for (int file = STDERR_FILENO + 1; file < FILES_INHERITED_MAXIMUM && !held; file++) {
        int flags = fcntl(file, F_GETFD);
        held = flags >= 0 && (flags & FD_CLOEXEC) == 0 && fstat(file, &found) == 0 && found.st_dev == wanted.st_dev &&
               found.st_ino == wanted.st_ino && flock(file, LOCK_EX | LOCK_NB) == 0;
    }
    return held;
}

enum status_code device_lock_take(const char *folder, const char *name, bool shared, const char *records_folder,
                                  struct device_lock *lock, struct status *error)
{
    struct device_lock taken;
    enum status_code code = lock_open(folder, name, &taken, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (flock(taken.file, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        int cause = errno;
        if (cause == EWOULDBLOCK && lock_is_inherited(&taken)) {
            *lock = taken; /* its holder stays who others are told of */
            return STATUS_OK;
        }
        code = lock_refuse(&taken, name, cause, error);
    } else if (!lock_file_is_sound(taken.file, taken.path)) {
        code = status_set(error, STATUS_BUSY, "%s: taken away while it was locked; try again", taken.path);
    }
    if (code != STATUS_OK) {
        device_lock_release(&taken);
        return code;
    }
    holder_write(taken.file, getpid(), records_folder);
    *lock = taken;
    return STATUS_OK;
}

enum status_code device_lock_make(const char *folder, const char *name, char path[PATH_MAX], struct status *error)
{
    struct device_lock lock;
    enum status_code code = lock_open(folder, name, &lock, error);
    if (code == STATUS_OK) {
        snprintf(path, PATH_MAX, "%s", lock.path);
        device_lock_release(&lock);
    }
    return code;
}

enum status_code device_lock_hold(const char *folder, const char *name, int file, const char *records_folder,
                                  struct status *error)
{
    struct device_lock lock;
    enum status_code code = lock_open(folder, name, &lock, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (!lock_file_is_sound(file, lock.path)) {
        code = status_set(error, STATUS_INVALID, "descriptor %d is not %s; open it before: exec %d<%s", file, lock.path,
                          file, lock.path);
    } else if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        code = lock_refuse(&lock, name, errno, error);
    } else {
        holder_write(lock.file, getppid(), records_folder); /* theirs may be for reading alone */
    }
    device_lock_release(&lock);
    return code;
}

void device_lock_release(struct device_lock *lock)
{
    if (lock->file >= 0) {
        close(lock->file); /* no LOCK_UN: that would take the lock from a child that is still there */
    }
    lock->file = -1;
}
