/* Offload store: tensors of a tape in the words of an offload folder. */
#include "harness/replay/offload_store.h"

#include "harness/base/wide_read.h"

static struct offload_tensor tensor_of(const struct stored_tensor *stored)
{
    return (struct offload_tensor){.name = stored->label,
                                   .type = offload_type_of_dtype(stored->dtype),
                                   .rank = stored->rank,
                                   .shape = stored->size};
}

static enum status_code store_write(void *context, const struct stored_tensor *stored, const void *bytes,
                                    struct status *error)
{
    struct offload_store *store = context;
    const struct offload_tensor tensor = tensor_of(stored);
    enum status_code code = offload_writer_begin(store->writer, &tensor, error);
    if (code == STATUS_OK) {
        code = offload_writer_take(store->writer, bytes, stored->bytes, error);
    }
    return code == STATUS_OK ? offload_writer_end(store->writer, error) : code;
}

static enum status_code store_read(void *context, const struct stored_tensor *stored, void *bytes, struct status *error)
{
    struct offload_store *store = context;
    struct offload_folder *folder = offload_writer_folder(store->writer);
    const struct offload_tensor tensor = tensor_of(stored);
    struct offload_entry entry;
    struct byte_source *source = NULL;
    enum status_code code = offload_entry_read(folder, stored->label, &entry, error);
    if (code == STATUS_OK) {
        code = offload_entry_expect(folder, &entry, &tensor, error);
    }
    if (code == STATUS_OK) {
        code = offload_source_open(folder, &entry, &source, error);
    }
    if (code == STATUS_OK) {
        offload_prefetch(folder, stored->label); /* a pass goes in the order of the index */
        code = wide_read(source, 0, bytes, (size_t)stored->bytes, error);
        byte_source_release(source);
    }
    store->read_bytes += code == STATUS_OK ? stored->bytes : 0;
    return code;
}

enum status_code offload_store_open(const char *path, enum offload_existing existing, struct offload_store *store,
                                    struct status *error)
{
    struct offload_writer *writer = NULL;
    enum status_code code = offload_writer_open(path, existing, &writer, error);
    if (code == STATUS_OK) {
        *store = (struct offload_store){.store = {.write = store_write, .read = store_read, .context = store},
                                        .writer = writer};
    }
    return code;
}

enum status_code offload_store_finish(struct offload_store *store, struct status *error)
{
    struct offload_writer *writer = store->writer;
    store->writer = NULL;
    return offload_writer_finish(writer, error);
}

void offload_store_abandon(struct offload_store *store)
{
    offload_writer_abandon(store->writer);
    store->writer = NULL;
}
