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

enum { HOLDER_BYTES = 8192 };

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
static void holder_write(int file, const char *records_folder)
{
    char since[TIME_BYTES], here[PATH_MAX] = "";
    struct text folder = {0}, line = {0};
    struct json *holder = json_object_new();
    if (records_folder[0] != '/' && getcwd(here, sizeof here) != NULL) {
        text_format(&folder, "%s/", here);
    }
    text_append(&folder, records_folder);
    bool made = json_set(holder, "pid", json_integer_new(getpid())) &&
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

enum status_code device_lock_take(const char *folder, const char *name, bool shared, const char *records_folder,
                                  struct device_lock *lock, struct status *error)
{
    struct device_lock taken = {.file = -1};
    char holder[STATUS_TEXT_BYTES];
    if (snprintf(taken.path, sizeof taken.path, "%s/assay-%s.lock", folder, name) >= (int)sizeof taken.path) {
        return status_set(error, STATUS_IO, "%s: the path of a lock is too long", folder);
    }
    taken.file = lock_file_open(taken.path);
    if (taken.file < 0) {
        return status_set(error, STATUS_IO, "%s: cannot be opened for a lock: %s", taken.path, strerror(errno));
    }
    enum status_code code = STATUS_OK;
    if (!lock_file_is_sound(taken.file, taken.path)) {
        code = status_set(error, STATUS_IO, "%s: not a regular file with one name; remove it", taken.path);
    } else if (flock(taken.file, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        int cause = errno;
        holder_describe(taken.file, holder);
        code = cause == EWOULDBLOCK
                   ? status_set(error, STATUS_DEVICE,
                                "%s is taken by %s; wait for it (--wait-device SECONDS), or start both runs with "
                                "--share-device",
                                name, holder)
                   : status_set(error, STATUS_IO, "%s: cannot be locked: %s", taken.path, strerror(cause));
    } else if (!lock_file_is_sound(taken.file, taken.path)) {
        code = status_set(error, STATUS_DEVICE, "%s: taken away while it was locked; try again", taken.path);
    }
    if (code != STATUS_OK) {
        device_lock_release(&taken);
        return code;
    }
    holder_write(taken.file, records_folder);
    *lock = taken;
    return STATUS_OK;
}

void device_lock_release(struct device_lock *lock)
{
    if (lock->file >= 0) {
        close(lock->file); /* no LOCK_UN: that would take the lock from a child that is still there */
    }
    lock->file = -1;
}
