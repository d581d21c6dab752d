/* Range source: a file on the hub as a byte source. Its beginning is kept as far as it was read, one piece without
 * gaps, and read ahead in growing steps: a header takes one request or two. What is read elsewhere is fetched and
 * forgotten. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/hub/hub_repository.h"

struct range_source {
    struct byte_source base;
    struct hub_repository *repository;
    struct hub_head head;
    size_t kept_bytes; /* of the head, that our cache has */
    char file[HUB_FILE_BYTES];
    char name[HUB_REPOSITORY_BYTES + HUB_FILE_BYTES + 8]; /* base.name */
    char direct[HUB_ADDRESS_BYTES];                       /* where redirects led to; "": not known */
};

/* One request for the range. A redirect is gone through once: the address behind it serves until it no longer does. */
static enum status_code range_ask(struct range_source *self, int64_t first, int64_t count,
                                  struct hub_response *response, bool *absent, struct status *error)
{
    struct hub_request request = {
        .address = self->direct[0] != '\0' ? self->direct : NULL, .ranged = true, .first = first, .count = count};
    enum status_code code = repository_ask(self->repository, self->file, &request, response, absent, error);
    if (code != STATUS_OK && self->direct[0] != '\0') {
        self->direct[0] = '\0';
        request.address = NULL;
        code = repository_ask(self->repository, self->file, &request, response, absent, error);
    }
    const char *endpoint = self->repository->settings.endpoint;
    if (code == STATUS_OK && strncmp(response->address, endpoint, strlen(endpoint)) != 0) {
        snprintf(self->direct, sizeof self->direct, "%s", response->address);
    }
    return code;
}

/* Exactly count bytes from first on, all within the file. The caller releases *bytes. */
static enum status_code range_fetch(struct range_source *self, int64_t first, int64_t count, struct text *bytes,
                                    struct status *error)
{
    struct hub_response response = {0};
    bool absent = false;
    enum status_code code = range_ask(self, first, count, &response, &absent, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s", self->base.name);
        return code;
    }
    bool changed = absent || (response.size >= 0 && response.size != self->base.size_bytes);
    if (changed || response.bytes.length != (size_t)count) {
        text_release(&response.bytes);
        return status_set(error, STATUS_IO,
                          changed ? "%s: it changed while it was read; try again"
                                  : "%s: the server sends less than it announces; try again",
                          self->base.name);
    }
    *bytes = response.bytes;
    return STATUS_OK;
}

/* Makes the head reach to end at least. */
static enum status_code head_extend(struct range_source *self, int64_t end, struct status *error)
{
    struct text bytes = {0};
    int64_t first = (int64_t)self->head.bytes.length;
    int64_t ahead = first > HUB_FIRST_READ_BYTES ? first : HUB_FIRST_READ_BYTES;
    ahead = first + (ahead < HUB_READ_AHEAD_BYTES_MAXIMUM ? ahead : HUB_READ_AHEAD_BYTES_MAXIMUM);
    ahead = ahead < HUB_PART_BYTES_MAXIMUM ? ahead : HUB_PART_BYTES_MAXIMUM;
    ahead = ahead < self->base.size_bytes ? ahead : self->base.size_bytes;
    end = end > ahead ? end : ahead;
    enum status_code code = range_fetch(self, first, end - first, &bytes, error);
    if (code == STATUS_OK) {
        text_append_bytes(&self->head.bytes, text_string(&bytes), bytes.length);
        text_release(&bytes);
        if (self->head.bytes.failed) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its header", self->base.name);
        }
    }
    return code;
}

static enum status_code range_source_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                          struct status *error)
{
    struct range_source *self = (struct range_source *)source;
    int64_t end = offset + (int64_t)count; /* within the file: byte_source_read has looked */
    if ((int64_t)count > HUB_PART_BYTES_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: %zu bytes at once are wanted of it, but at most %d are taken",
                          source->name, count, HUB_PART_BYTES_MAXIMUM);
    }
    int64_t head_end = (int64_t)self->head.bytes.length;
    if (end > head_end && offset <= head_end && end <= HUB_PART_BYTES_MAXIMUM) {
        enum status_code code = head_extend(self, end, error);
        if (code != STATUS_OK) {
            return code;
        }
        head_end = (int64_t)self->head.bytes.length;
    }
    if (end <= head_end) {
        memcpy(bytes, self->head.bytes.data + offset, count);
        return STATUS_OK;
    }
    struct text fetched = {0};
    enum status_code code = range_fetch(self, offset, (int64_t)count, &fetched, error);
    if (code == STATUS_OK) {
        memcpy(bytes, fetched.data, count);
    }
    text_release(&fetched);
    return code;
}

/* The head is kept for the next time; that it cannot be costs that time a request. */
static void range_source_release(struct byte_source *source)
{
    struct range_source *self = (struct range_source *)source;
    const struct hub_repository *repository = self->repository;
    if (self->head.bytes.length > self->kept_bytes && !self->head.bytes.failed) {
        hub_cache_keep_head(repository->own_folder, repository->name.repository, repository->commit, self->file,
                            &self->head, NULL);
    }
    text_release(&self->head.bytes);
    free(self);
}

static const struct byte_source_table range_source_table = {.read = range_source_read, .release = range_source_release};

/* The first bytes and the size, from our cache or from the hub. */
static enum status_code head_begin(struct range_source *self, bool *absent, struct status *error)
{
    const struct hub_repository *repository = self->repository;
    struct hub_response response = {0};
    if (repository->commit[0] != '\0' && hub_cache_head(repository->own_folder, repository->name.repository,
                                                        repository->commit, self->file, &self->head)) {
        self->kept_bytes = self->head.bytes.length;
        return STATUS_OK;
    }
    enum status_code code = range_ask(self, 0, HUB_FIRST_READ_BYTES, &response, absent, error);
    if (code != STATUS_OK || *absent) {
        text_release(&response.bytes);
        return code;
    }
    if (response.size < 0 && response.bytes.length < HUB_FIRST_READ_BYTES) {
        response.size = (int64_t)response.bytes.length;
    }
    if (response.size < (int64_t)response.bytes.length) {
        text_release(&response.bytes);
        return status_set(error, STATUS_INVALID, "%s: the server does not tell how large it is", self->base.name);
    }
    self->head = (struct hub_head){.bytes = response.bytes, .size = response.size};
    return STATUS_OK;
}

enum status_code range_source_open(struct hub_repository *repository, const char *file, struct byte_source **source,
                                   struct status *error)
{
    struct range_source *self = calloc(1, sizeof *self);
    bool absent = false;
    if (self == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory to read %s", file);
    }
    self->repository = repository;
    snprintf(self->file, sizeof self->file, "%s", file);
    snprintf(self->name, sizeof self->name, "%s/%s", repository->name.repository, file);
    self->base = (struct byte_source){.table = &range_source_table, .name = self->name};
    enum status_code code = head_begin(self, &absent, error);
    if (code != STATUS_OK || absent) {
        text_release(&self->head.bytes);
        free(self);
        if (code == STATUS_OK) {
            *source = NULL;
        }
        return code;
    }
    self->base.size_bytes = self->head.size;
    *source = &self->base;
    return STATUS_OK;
}
