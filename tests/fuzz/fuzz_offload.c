/* Fuzz target: the index.json of an offload folder, beside two files of weights and one of safetensors that it may
 * name. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/checkpoint/offload_folder.h"
#include "tests/fuzz/fuzz.h"

enum { ENTRIES_LOOKED_AT = 24, BYTES_READ_MAXIMUM = 1 << 16 };

static const char safetensors[] = "\x70\0\0\0\0\0\0\0"
                                  "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                  "\"q\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[8,11]}}"
                                  "12345678abc";
_Static_assert(sizeof safetensors - 1 == 8 + 0x70 + 11, "the length that stands at its front");

static const struct neighbour {
    const char *name;
    const void *bytes;
    size_t size;
} neighbours[] = {
    {"a.dat", "12345678", 8}, {"empty.dat", "", 1}, {"s.safetensors", safetensors, sizeof safetensors - 1}};

static void file_put(const char *name, const void *bytes, size_t size)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_require(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0);
}

/* The elements: all of them are there, and nothing behind them. */
static void source_check(struct offload_folder *folder, const struct offload_entry *entry)
{
    struct status error = {0};
    struct byte_source *source = NULL;
    enum status_code code = offload_source_open(folder, entry, &source, &error);
    fuzz_status_check(code, &error);
    if (code != STATUS_OK) {
        fuzz_require(source == NULL);
        return;
    }
    fuzz_require(source->size_bytes == entry->bytes && entry->bytes <= BYTES_READ_MAXIMUM);
    unsigned char *bytes = malloc((size_t)entry->bytes + 1); /* exactly, for the sanitizer */
    fuzz_require(bytes != NULL);
    fuzz_require(byte_source_read(source, 0, bytes, (size_t)entry->bytes, NULL) == STATUS_OK);
    fuzz_require(byte_source_read(source, 0, bytes, (size_t)entry->bytes + 1, NULL) == STATUS_INVALID);
    free(bytes);
    byte_source_release(source);
}

/* What was accepted is what it says, and nothing else. */
static void entry_check(struct offload_folder *folder, const struct offload_entry *entry, const char *name)
{
    struct status error = {0};
    int64_t bytes = -1;
    struct offload_tensor tensor = {entry->name, entry->type, entry->rank, entry->shape};
    fuzz_require(strcmp(entry->name, name) == 0 && entry->type != NULL);
    fuzz_require(entry->rank >= 0 && entry->rank <= OFFLOAD_RANK_MAXIMUM);
    fuzz_require(offload_tensor_bytes("index", &tensor, &bytes, &error) == STATUS_OK && bytes == entry->bytes);
    fuzz_require(offload_entry_expect(folder, entry, &tensor, &error) == STATUS_OK);
    if (entry->rank > 0) {
        tensor.rank--;
        enum status_code code = offload_entry_expect(folder, entry, &tensor, &error);
        fuzz_require(code == STATUS_INVALID);
        fuzz_status_check(code, &error);
    }
    source_check(folder, entry);
}

static void folder_check(struct offload_folder *folder)
{
    int count = 0;
    for (const char *name = offload_folder_next(folder, NULL); name != NULL; name = offload_folder_next(folder, name)) {
        struct offload_entry entry;
        struct status error = {0};
        fuzz_require(offload_folder_has(folder, name));
        if (count++ < ENTRIES_LOOKED_AT) {
            enum status_code code = offload_entry_read(folder, name, &entry, &error);
            fuzz_status_check(code, &error);
            if (code == STATUS_OK) {
                entry_check(folder, &entry, name);
            }
            offload_prefetch(folder, name);
        }
    }
    fuzz_require(count == offload_folder_count(folder));
}

/* The folder is the current one meanwhile, so that what an index says of files beside it finds them. */
static void index_read(const uint8_t *data, size_t size)
{
    struct offload_folder *folder = NULL;
    struct status error = {0};
    for (size_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        file_put(neighbours[i].name, neighbours[i].bytes, neighbours[i].size);
    }
    file_put("index.json", data, size);
    enum status_code code = offload_folder_open(".", &folder, &error);
    fuzz_status_check(code, &error);
    if (code == STATUS_OK) {
        folder_check(folder);
        offload_folder_close(folder);
    }
    for (size_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        fuzz_require(unlink(neighbours[i].name) == 0);
    }
    fuzz_require(unlink("index.json") == 0);
}

int fuzz_offload(const uint8_t *data, size_t size)
{
    const char *place = getenv("TMPDIR");
    char path[512];
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/assay-fuzz-XXXXXX", place != NULL && place[0] == '/' ? place : "/tmp");
    fuzz_require(here >= 0 && mkdtemp(path) != NULL && chdir(path) == 0);
    index_read(data, size);
    fuzz_require(fchdir(here) == 0 && close(here) == 0 && rmdir(path) == 0);
    return 0;
}
