/* Hub cache: paths, and reading and writing files at them. Not a transfer, and not a choice of where to look. */
#include "harness/hub/hub_cache.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/base/regular_file.h"
#include "harness/base/size.h"

/* The first line of a head: it says how much follows, so that a damaged one is known. */
static const char head_title[] = "assay-hub-head 1 ";

enum { HEAD_BYTES_MAXIMUM = 128 * 1024 * 1024, HEAD_LINE_BYTES = 80, REFERENCE_BYTES = 128, FOLDERS_OPEN_MAXIMUM = 16 };

/* FOLDER/models--OWNER--NAME/PART/COMMIT/FILE; commit or file may be NULL. False where it is too long. */
static bool cache_path(const char *folder, const char *repository, const char *part, const char *commit,
                       const char *file, char path[PATH_MAX])
{
    const char *slash = strchr(repository, '/');
    int owner = slash != NULL ? (int)(slash - repository) : 0;
    int length =
        snprintf(path, PATH_MAX, "%s/models--%.*s%s%s/%s%s%s%s%s", folder, owner, repository, slash != NULL ? "--" : "",
                 slash != NULL ? slash + 1 : repository, part, commit != NULL ? "/" : "", commit != NULL ? commit : "",
                 file != NULL ? "/" : "", file != NULL ? file : "");
    return *folder != '\0' && length > 0 && length < PATH_MAX;
}

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool hub_cache_knows(const char *folder, const char *repository)
{
    char path[PATH_MAX];
    return cache_path(folder, repository, "snapshots", NULL, NULL, path) && is_folder(path);
}

/* At most maximum bytes of a regular file; false if there are more, or it cannot be read. */
static bool file_read(const char *path, size_t maximum, struct text *content, struct stat *facts)
{
    int file = regular_file_open(path, facts);
    if (file < 0) {
        return false;
    }
    bool read_whole = (uintmax_t)facts->st_size <= maximum;
    while (read_whole) {
        char block[64 * 1024];
        ssize_t count = read(file, block, sizeof block);
        if (count == 0) {
            break;
        }
        if (count > 0) {
            text_append_bytes(content, block, (size_t)count);
        }
        read_whole = (count > 0 || errno == EINTR) && content->length <= maximum && !content->failed;
    }
    close(file);
    return read_whole;
}

static bool reference_read(const char *path, char commit[HUB_COMMIT_BYTES], int64_t *age_seconds)
{
    struct text content = {0};
    struct stat facts;
    bool known = file_read(path, REFERENCE_BYTES, &content, &facts);
    char *text = content.data;
    size_t length = known && text != NULL ? strspn(text, "0123456789abcdefABCDEF") : 0;
    known = known && length > 0 && text[length + strspn(text + length, " \r\n")] == '\0';
    if (known) {
        text[length] = '\0';
        known = hub_commit_is_whole(text);
    }
    if (known) {
        memcpy(commit, text, length + 1);
        *age_seconds = (int64_t)time(NULL) - (int64_t)facts.st_mtime;
    }
    text_release(&content);
    return known;
}

bool hub_cache_commit(const char *folder, const char *repository, const char *revision, char commit[HUB_COMMIT_BYTES],
                      int64_t *age_seconds)
{
    char path[PATH_MAX];
    int64_t age = 0;
    if (cache_path(folder, repository, "refs", revision, NULL, path) && reference_read(path, commit, &age)) {
        if (age_seconds != NULL) {
            *age_seconds = age;
        }
        return true;
    }
    if (!hub_commit_is_whole(revision) || !cache_path(folder, repository, "snapshots", revision, NULL, path) ||
        !is_folder(path)) {
        return false;
    }
    memcpy(commit, revision, strlen(revision) + 1);
    if (age_seconds != NULL) {
        *age_seconds = 0;
    }
    return true;
}

enum hub_presence hub_cache_file(const char *folder, const char *repository, const char *commit, const char *file,
                                 char path[PATH_MAX])
{
    if (cache_path(folder, repository, ".no_exist", commit, file, path) && is_file(path)) {
        return HUB_PRESENCE_ABSENT;
    }
    if (cache_path(folder, repository, "snapshots", commit, file, path) && is_file(path)) {
        return HUB_PRESENCE_HERE;
    }
    return HUB_PRESENCE_UNKNOWN;
}

/* The numbers of "assay-hub-head 1 SIZE COUNT\n"; how long the line is, 0 if it is none. */
static size_t head_line_read(const char *line, int64_t *size, int64_t *count)
{
    size_t title = sizeof head_title - 1;
    const char *end = strchr(line, '\n');
    const char *space = end != NULL && strncmp(line, head_title, title) == 0 ? strchr(line + title, ' ') : NULL;
    if (space == NULL || space > end || end - line >= HEAD_LINE_BYTES) {
        return 0;
    }
    char numbers[HEAD_LINE_BYTES] = "";
    memcpy(numbers, line + title, (size_t)(end - line) - title);
    char *second = numbers + (space - line) - title;
    *second++ = '\0';
    bool valid = integer_parse(numbers, 0, INT64_MAX, size, NULL) == STATUS_OK &&
                 integer_parse(second, 0, *size, count, NULL) == STATUS_OK;
    return valid ? (size_t)(end - line) + 1 : 0;
}

bool hub_cache_head(const char *folder, const char *repository, const char *commit, const char *file,
                    struct hub_head *head)
{
    char path[PATH_MAX];
    struct stat facts;
    struct text content = {0};
    int64_t size = 0, count = 0;
    bool known = cache_path(folder, repository, "heads", commit, file, path) &&
                 file_read(path, HEAD_BYTES_MAXIMUM + HEAD_LINE_BYTES, &content, &facts);
    size_t line = known ? head_line_read(text_string(&content), &size, &count) : 0;
    known = line > 0 && content.length - line == (size_t)count;
    if (known) {
        memmove(content.data, content.data + line, (size_t)count + 1);
        content.length = (size_t)count;
        *head = (struct hub_head){.bytes = content, .size = size};
    } else {
        text_release(&content);
    }
    return known;
}

/* The folders of a path, made if they are missing. */
static bool parents_make(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) {
            return false;
        }
    }
    return true;
}

/* line comes before bytes. */
static enum status_code file_write(char path[PATH_MAX], const char *line, const struct text *bytes,
                                   struct status *error)
{
    struct text content = {0};
    struct status cause = {0};
    if (!parents_make(path)) {
        return status_set(error, STATUS_IO, "%s: %s; let XDG_CACHE_HOME name a folder that can be written", path,
                          strerror(errno));
    }
    text_append(&content, line);
    text_append_bytes(&content, text_string(bytes), bytes->length);
    enum status_code code = file_replace(path, FILE_KEPT, &content, &cause);
    text_release(&content);
    if (code != STATUS_OK) {
        status_copy(error, code, &cause);
        status_extend(error, "; let XDG_CACHE_HOME name a folder with room that can be written");
    }
    return code;
}

static enum status_code entry_write(const char *folder, const char *repository, const char *const parts[3],
                                    const char *line, const struct text *bytes, struct status *error)
{
    char path[PATH_MAX];
    if (!cache_path(folder, repository, parts[0], parts[1], parts[2], path)) {
        return status_set(error, STATUS_IO,
                          "no folder to keep what the hub sends, or too long a path; set XDG_CACHE_HOME or HOME");
    }
    return file_write(path, line, bytes, error);
}

enum status_code hub_cache_keep_file(const char *folder, const char *repository, const char *commit, const char *file,
                                     const struct text *bytes, struct status *error)
{
    const char *const parts[] = {"snapshots", commit, file};
    return entry_write(folder, repository, parts, "", bytes, error);
}

enum status_code hub_cache_keep_absence(const char *folder, const char *repository, const char *commit,
                                        const char *file, struct status *error)
{
    const char *const parts[] = {".no_exist", commit, file};
    return entry_write(folder, repository, parts, "", &(const struct text){0}, error);
}

enum status_code hub_cache_keep_head(const char *folder, const char *repository, const char *commit, const char *file,
                                     const struct hub_head *head, struct status *error)
{
    const char *const parts[] = {"heads", commit, file};
    char line[HEAD_LINE_BYTES];
    snprintf(line, sizeof line, "%s%" PRId64 " %zu\n", head_title, head->size, head->bytes.length);
    return entry_write(folder, repository, parts, line, &head->bytes, error);
}

static int entry_forget(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)place;
    if (kind == FTW_F || kind == FTW_SL) {
        unlink(path);
    }
    return 0;
}

void hub_cache_forget_heads(const char *folder, const char *repository, const char *commit)
{
    char path[PATH_MAX];
    if (cache_path(folder, repository, "heads", commit, NULL, path)) {
        nftw(path, entry_forget, FOLDERS_OPEN_MAXIMUM, FTW_PHYS);
    }
}

enum status_code hub_cache_keep_commit(const char *folder, const char *repository, const char *revision,
                                       const char *commit, struct status *error)
{
    const char *const parts[] = {"refs", revision, NULL};
    struct text bytes = {0};
    text_append(&bytes, commit);
    enum status_code code = bytes.failed ? status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a commit")
                                         : entry_write(folder, repository, parts, "", &bytes, error);
    text_release(&bytes);
    return code;
}
