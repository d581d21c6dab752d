/* Fuzz checks: what the targets share. */
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory_source.h"

void fuzz_status_check(enum status_code code, const struct status *error)
{
    char line[STATUS_LINE_BYTES];
    fuzz_require(code != STATUS_INTERNAL);
    if (code == STATUS_OK) {
        return;
    }
    fuzz_require(error->code == code && error->text[0] != '\0');
    for (const char *c = status_line(error, line); *c != '\0'; c++) {
        fuzz_require(*c != '\n' && *c != '\r' && *c != '\033');
    }
}

void fuzz_checkpoint_check(const struct checkpoint *checkpoint)
{
    int64_t sum = 0;
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int64_t end = 0;
        fuzz_require(tensor->file >= 0 && tensor->file < checkpoint->file_count);
        fuzz_require(size_add(tensor->offset, tensor->bytes, &end));
        fuzz_require(end <= checkpoint->files[tensor->file].size_bytes);
        fuzz_require(size_add(sum, tensor->bytes, &sum));
        fuzz_require(checkpoint_find(checkpoint, tensor->name) == tensor);
    }
    fuzz_require(sum == checkpoint->stored_bytes);
}

struct bytes {
    const char *name;
    const uint8_t *data;
    size_t size;
};

static enum status_code bytes_open(const void *context, const char *name, struct byte_source **source,
                                   struct status *error)
{
    static const char companion[] = "\x36\0\0\0\0\0\0\0"
                                    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"
                                    "12345678";
    const struct bytes *bytes = context;
    bool own = strcmp(name, bytes->name) == 0;
    _Static_assert(sizeof companion - 1 == 8 + 0x36 + 8, "the length that stands at its front");
    *source = memory_source_new(own ? bytes->name : "companion.safetensors",
                                own ? (const void *)bytes->data : companion, own ? bytes->size : sizeof companion - 1);
    return *source != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory");
}

enum status_code fuzz_checkpoint_read(const char *name, const uint8_t *data, size_t size,
                                      struct checkpoint **checkpoint, struct status *error)
{
    const struct bytes bytes = {.name = name, .data = data, .size = size};
    const struct checkpoint_place place = {.open = bytes_open, .context = &bytes};
    return checkpoint_read(&place, name, checkpoint, error);
}
