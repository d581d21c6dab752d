/* Scratch store: one file, and a list of what lies where in it. No format: nobody else reads it. */
#include "harness/replay/scratch_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stored {
    char *label;
    int64_t at, bytes;
};

struct scratch_store {
    struct placed_store table;
    int file;
    int64_t end;
    struct stored *items;
    size_t count, capacity;
    char folder[PATH_MAX];
};

static struct stored *item_find(const struct scratch_store *store, const char *label)
{
    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(store->items[i].label, label) == 0) {
            return &store->items[i];
        }
    }
    return NULL;
}

static bool items_reserve(struct scratch_store *store)
{
    if (store->count < store->capacity) {
        return true;
    }
    size_t capacity = store->capacity > 0 ? 2 * store->capacity : 64;
    struct stored *items = realloc(store->items, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    store->items = items;
    store->capacity = capacity;
    return true;
}

static enum status_code item_add(struct scratch_store *store, const struct stored_tensor *tensor, struct stored **item,
                                 struct status *error)
{
    char *label = items_reserve(store) ? strdup(tensor->label) : NULL;
    if (label == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note what is on the disk");
    }
    *item = &store->items[store->count++];
    **item = (struct stored){.label = label, .at = store->end, .bytes = tensor->bytes};
    store->end += tensor->bytes;
    return STATUS_OK;
}

static enum status_code store_write(void *context, const struct stored_tensor *tensor, const void *bytes,
                                    struct status *error)
{
    struct scratch_store *store = context;
    struct stored *item = item_find(store, tensor->label);
    enum status_code code =
        item == NULL || item->bytes != tensor->bytes ? item_add(store, tensor, &item, error) : STATUS_OK;
    for (int64_t done = 0; code == STATUS_OK && done < tensor->bytes;) {
        ssize_t count =
            pwrite(store->file, (const char *)bytes + done, (size_t)(tensor->bytes - done), (off_t)(item->at + done));
        if (count <= 0 && errno != EINTR) {
            return status_set(error, STATUS_IO,
                              "%s: '%s' (%" PRId64 " bytes) cannot be written: %s; set TMPDIR to a folder with room",
                              store->folder, tensor->label, tensor->bytes, strerror(count == 0 ? ENOSPC : errno));
        }
        done += count > 0 ? count : 0;
    }
    return code;
}

static enum status_code store_read(void *context, const struct stored_tensor *tensor, void *bytes, struct status *error)
{
    struct scratch_store *store = context;
    const struct stored *item = item_find(store, tensor->label);
    if (item == NULL || item->bytes != tensor->bytes) {
        return status_set(error, STATUS_IO, "%s: '%s' (%" PRId64 " bytes) was not written", store->folder,
                          tensor->label, tensor->bytes);
    }
    for (int64_t done = 0; done < tensor->bytes;) {
        ssize_t count =
            pread(store->file, (char *)bytes + done, (size_t)(tensor->bytes - done), (off_t)(item->at + done));
        if (count <= 0 && (count == 0 || errno != EINTR)) {
            return status_set(error, STATUS_IO, "%s: '%s' cannot be read: %s", store->folder, tensor->label,
                              count == 0 ? "the file is shorter than what was written" : strerror(errno));
        }
        done += count > 0 ? count : 0;
    }
    return STATUS_OK;
}

/* A file that never had a name; where the file system knows none, one that loses it at once. */
static int nameless_open(const char *folder)
{
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[PATH_MAX];
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR) ||
        snprintf(path, sizeof path, "%s/assay-XXXXXX", folder) >= (int)sizeof path) {
        return file;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) {
        unlink(path);
    }
    return file;
}

enum status_code scratch_store_open(const char *folder, struct scratch_store **store, struct status *error)
{
    const char *wish = getenv("TMPDIR");
    const char *chosen = folder != NULL ? folder : wish != NULL && wish[0] != '\0' ? wish : "/tmp";
    struct scratch_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a store on the disk");
    }
    snprintf(made->folder, sizeof made->folder, "%s", chosen);
    made->file = nameless_open(chosen);
    if (made->file < 0) {
        int cause = errno;
        free(made);
        return status_set(error, STATUS_IO,
                          "%s: no file can be made for what lies on the disk: %s; set TMPDIR to a folder with room",
                          chosen, strerror(cause));
    }
    made->table = (struct placed_store){.write = store_write, .read = store_read, .context = made};
    *store = made;
    return STATUS_OK;
}

const struct placed_store *scratch_store_table(const struct scratch_store *store)
{
    return &store->table;
}

void scratch_store_close(struct scratch_store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < store->count; i++) {
        free(store->items[i].label);
    }
    close(store->file);
    free(store->items);
    free(store);
}
