/* Offload disk: what a writer asks of the file system: a folder, room in it, an index in place of another. Not the
 * weights. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "harness/base/code_point.h"
#include "harness/base/file_replace.h"
#include "harness/base/size.h"
#include "harness/checkpoint/offload_folder_inside.h"

enum { INDENT = 2 };

/* Characters beyond ASCII are escaped, as Python writes them: accelerate opens the index in the encoding of the locale.
 * They stand in strings alone. */
static void ascii_append(const char *document, struct text *text)
{
    while (*document != '\0') {
        size_t plain = 0;
        while (document[plain] != '\0' && (unsigned char)document[plain] < 0x80) {
            plain++;
        }
        text_append_bytes(text, document, plain);
        document += plain;
        uint32_t point = 0;
        if (*document != '\0') {
            document += code_point_decode(document, &point);
        }
        if (point > 0xFFFF) {
            text_format(text, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((point - 0x10000) >> 10)),
                        (unsigned)(0xDC00 + ((point - 0x10000) & 0x3FF)));
        } else if (point > 0) {
            text_format(text, "\\u%04x", (unsigned)point);
        }
    }
}

enum status_code offload_index_write(const struct offload_folder *folder, const struct json *index,
                                     struct status *error)
{
    struct text document = {0}, content = {0};
    enum status_code code = json_write(index, INDENT, &document, error);
    if (code == STATUS_OK) {
        ascii_append(text_string(&document), &content);
        code = file_replace(folder->index_path, FILE_CHOSEN, &content, error);
    }
    text_release(&document);
    text_release(&content);
    return code;
}

enum status_code offload_folder_make(const struct offload_folder *folder, bool *made_here, struct status *error)
{
    char path[PATH_MAX];
    struct stat facts;
    if (snprintf(path, sizeof path, "%s", folder->path) >= PATH_MAX) {
        return status_set(error, STATUS_IO, "%s: cannot be made: %s", folder->path, strerror(ENAMETOOLONG));
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
        if (!made) {
            return status_set(error, STATUS_IO, "%s: cannot be made: %s; name another folder", path, strerror(errno));
        }
        *slash = '/';
    }
    if (mkdir(path, 0777) == 0) {
        *made_here = true;
        return STATUS_OK;
    }
    int cause = errno;
    if (cause == EEXIST && stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        return STATUS_OK;
    }
    return cause == EEXIST
               ? status_set(error, STATUS_IO, "%s: is not a folder; name one for the weights", path)
               : status_set(error, STATUS_IO, "%s: cannot be made: %s; name another folder", path, strerror(cause));
}

enum status_code offload_room_check(const struct offload_folder *folder, int64_t needed_bytes, struct status *error)
{
    struct statvfs facts;
    char needed[SIZE_TEXT_BYTES], free_text[SIZE_TEXT_BYTES];
    int64_t free_bytes = 0;
    bool known = statvfs(folder->path, &facts) == 0 &&
                 size_multiply((int64_t)facts.f_bavail, (int64_t)facts.f_frsize, &free_bytes);
    if (!known || needed_bytes <= free_bytes) {
        return STATUS_OK; /* a disk that does not tell is found out */
    }
    return status_set(error, STATUS_IO,
                      "%s: %s are to be written, and its disk has %s left; make room, or name a folder on "
                      "another disk",
                      folder->path, size_format(needed_bytes, needed), size_format(free_bytes, free_text));
}
