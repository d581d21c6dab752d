/* Memory place: see the header. */
#include "tests/checkpoint/memory_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/memory_source.h"

static enum status_code memory_open(const void *context, const char *name, struct byte_source **source,
                                    struct status *error)
{
    const struct memory_place *place = context;
    for (int i = 0; i < place->count; i++) {
        if (strcmp(place->files[i].name, name) == 0) {
            *source = memory_source_new(place->files[i].name, place->files[i].bytes, place->files[i].count);
            return *source != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a test");
        }
    }
    return status_set(error, STATUS_IO, "%s: cannot be opened: No such file or directory", name);
}

enum status_code memory_read(const struct memory_file *files, int count, const char *name,
                             struct checkpoint **checkpoint, struct status *error)
{
    const struct memory_place place = {.files = files, .count = count};
    const struct checkpoint_place where = {.open = memory_open, .context = &place};
    return checkpoint_read(&where, name, checkpoint, error);
}

struct memory_file safetensors_file(const char *name, const char *header, size_t data_bytes)
{
    size_t length = strlen(header);
    unsigned char *bytes = calloc(1, 8 + length + data_bytes);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    }
    memcpy(bytes + 8, header, length);
    return (struct memory_file){.name = name, .bytes = bytes, .count = 8 + length + data_bytes};
}

void checkpoints_equal(const struct checkpoint *one, const struct checkpoint *other)
{
    assert_int_equal(one->tensor_count, other->tensor_count);
    assert_int_equal(one->stored_bytes, other->stored_bytes);
    for (int i = 0; i < one->tensor_count; i++) {
        const struct checkpoint_tensor *a = &one->tensors[i];
        const struct checkpoint_tensor *b = &other->tensors[i];
        assert_string_equal(a->name, b->name);
        assert_ptr_equal(a->type, b->type);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->shape, b->shape, (size_t)a->rank * sizeof(int64_t));
        assert_int_equal(a->bytes, b->bytes);
        assert_int_equal(a->offset, b->offset);
    }
}
