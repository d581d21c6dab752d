/* Reads and writes offload folders for offload.py to hold against accelerate.
 *   answer_offload read DIR     a line of JSON for each entry: {"name", "dtype", "shape", "hex"}, or {"name", "error"}
 *   answer_offload write DIR    writes the tensors of such lines on standard input into a new folder, or into one that
 *                               is there
 * Not a test: it knows nothing of what is right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/checkpoint/offload_write.h"

static void json_line(struct json *row)
{
    struct text line = {0};
    json_write(row, 0, &line, NULL);
    puts(text_string(&line));
    text_release(&line);
    json_release(row);
}

static struct json *entry_row(struct offload_folder *folder, const struct offload_entry *entry, struct status *error)
{
    struct byte_source *source = NULL;
    struct text hex = {0};
    if (offload_source_open(folder, entry, &source, error) != STATUS_OK) {
        return NULL;
    }
    unsigned char *bytes = malloc((size_t)entry->bytes + 1);
    bool read = bytes != NULL && byte_source_read(source, 0, bytes, (size_t)entry->bytes, error) == STATUS_OK;
    for (int64_t i = 0; i < entry->bytes && read; i++) {
        text_format(&hex, "%02x", bytes[i]);
    }
    struct json *row = json_object_new(), *shape = json_array_new();
    for (int i = 0; i < entry->rank; i++) {
        json_append(shape, json_integer_new(entry->shape[i]));
    }
    json_set(row, "name", json_string_new(entry->name));
    json_set(row, "dtype", json_string_new(entry->type->name));
    json_set(row, "shape", shape);
    json_set(row, "hex", json_string_new(text_string(&hex)));
    text_release(&hex);
    free(bytes);
    byte_source_release(source);
    return json_made(row, read);
}

static int folder_read(const char *path)
{
    struct status error = {0};
    struct offload_folder *folder = NULL;
    if (offload_folder_open(path, &folder, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        return 2;
    }
    for (const char *name = offload_folder_next(folder, NULL); name != NULL; name = offload_folder_next(folder, name)) {
        struct offload_entry entry;
        struct json *row = NULL;
        if (offload_entry_read(folder, name, &entry, &error) == STATUS_OK) {
            row = entry_row(folder, &entry, &error);
        }
        if (row == NULL) {
            row = json_object_new();
            json_set(row, "name", json_string_new(name));
            json_set(row, "error", json_string_new(status_line(&error, (char[STATUS_LINE_BYTES]){0})));
        }
        json_line(row);
    }
    offload_folder_close(folder);
    return 0;
}

static enum status_code row_write(struct offload_writer *writer, const struct json *row, struct status *error)
{
    int64_t shape[OFFLOAD_RANK_MAXIMUM];
    const struct json *sizes = json_get(row, "shape");
    const char *hex = json_string_or(json_get(row, "hex"), "");
    struct offload_tensor tensor = {.name = json_string_or(json_get(row, "name"), ""),
                                    .type = offload_type_named(json_string_or(json_get(row, "dtype"), "")),
                                    .rank = (int)json_count(sizes),
                                    .shape = shape};
    for (int i = 0; i < tensor.rank; i++) {
        shape[i] = json_integer_or(json_at(sizes, (size_t)i), -1);
    }
    size_t count = strlen(hex) / 2;
    unsigned char *bytes = malloc(count + 1);
    for (size_t i = 0; i < count && bytes != NULL; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    enum status_code code = tensor.type == NULL || bytes == NULL ? status_set(error, STATUS_INVALID, "no such dtype")
                                                                 : offload_writer_begin(writer, &tensor, error);
    code = code == STATUS_OK ? offload_writer_take(writer, bytes, (int64_t)count, error) : code;
    code = code == STATUS_OK ? offload_writer_end(writer, error) : code;
    free(bytes);
    return code;
}

static int folder_write(const char *path)
{
    struct status error = {0};
    struct offload_writer *writer = NULL;
    char *line = NULL;
    size_t size = 0;
    ssize_t length = 0;
    enum status_code code = offload_writer_open(path, OFFLOAD_KEEP, &writer, &error);
    while (code == STATUS_OK && (length = getline(&line, &size, stdin)) > 0) {
        struct json *row = NULL;
        code = json_parse_text("standard input", line, (size_t)length, &row, &error);
        code = code == STATUS_OK ? row_write(writer, row, &error) : code;
        json_release(row);
    }
    free(line);
    if (code == STATUS_OK) {
        code = offload_writer_finish(writer, &error);
    } else {
        offload_writer_abandon(writer);
    }
    if (code != STATUS_OK) {
        fprintf(stderr, "%s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
    }
    return code == STATUS_OK ? 0 : 2;
}

int main(int count, char **words)
{
    if (count != 3) {
        fputs("usage: answer_offload read|write DIR\n", stderr);
        return 2;
    }
    return strcmp(words[1], "read") == 0 ? folder_read(words[2]) : folder_write(words[2]);
}
