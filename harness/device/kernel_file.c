/* Kernel files: reading and scanning them. What the figures mean is known to those who ask. */
#include "harness/device/kernel_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/base/status.h"

enum { FIELD_FILE_BYTES = 8192, COUNT_FILE_BYTES = 32768 };

static bool content_read(const char *path, char *content, size_t capacity)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(content, 1, capacity - 1, file);
    fclose(file);
    content[length] = '\0';
    return true;
}

/* What follows name and separator at the start of a line; NULL if there is no such line. */
static const char *line_find(const char *content, const char *name, char separator)
{
    size_t name_length = strlen(name);
    for (const char *line = content; line != NULL && *line != '\0';) {
        if (strncmp(line, name, name_length) == 0 && line[name_length] == separator) {
            return line + name_length + 1;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

bool kernel_field_read(const char *path, const char *name, int64_t *bytes)
{
    char content[FIELD_FILE_BYTES];
    int64_t kibibytes = 0;
    const char *rest = content_read(path, content, sizeof content) ? line_find(content, name, ':') : NULL;
    return rest != NULL && sscanf(rest, "%" SCNd64 " kB", &kibibytes) == 1 && size_multiply(kibibytes, 1024, bytes);
}

/* A whole decimal number up to the end of its line. */
static bool number_scan(const char *text, int64_t *number)
{
    char digits[24];
    size_t length = strcspn(text, "\n");
    if (length >= sizeof digits) {
        return false;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    return integer_parse(digits, 0, INT64_MAX, number, NULL) == STATUS_OK;
}

bool kernel_count_read(const char *path, const char *name, int64_t *count)
{
    char content[COUNT_FILE_BYTES];
    const char *rest = content_read(path, content, sizeof content) ? line_find(content, name, ' ') : NULL;
    return rest != NULL && number_scan(rest, count);
}

bool kernel_number_read(int file, int64_t *number)
{
    char content[32];
    ssize_t length = file >= 0 ? pread(file, content, sizeof content - 1, 0) : -1;
    if (length <= 0) {
        return false;
    }
    content[length] = '\0';
    return number_scan(content, number);
}
