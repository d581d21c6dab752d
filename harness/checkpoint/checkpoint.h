/* Checkpoint: what the headers of model files say is stored. The tensors themselves are never read.
 *
 * Formats: safetensors (one file), its index of shards (*.safetensors.index.json), GGUF versions 2 and 3, whole or
 * split. A header that lies is refused: every size is the product of its shape in checked arithmetic, lies inside its
 * file, and overlaps with no other. Whatever a header claims, the memory that a reader takes is in proportion to the
 * bytes that are there: CHECKPOINT_MEMORY_FACTOR times the size of each file, CHECKPOINT_FILE_MEMORY_MAXIMUM at most,
 * and CHECKPOINT_SPARE_BYTES for all of them; checkpoint_builder.h keeps that account. The factor is what the shortest
 * descriptions take that the formats allow (a scalar with a name of one letter, an empty entry), so that no file is
 * refused for being small and having many tensors. */
#ifndef ASSAY_CHECKPOINT_CHECKPOINT_H
#define ASSAY_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/byte_source.h"
#include "harness/base/status.h"
#include "harness/checkpoint/storage_type.h"

enum { CHECKPOINT_SPARE_BYTES = 1 << 20, CHECKPOINT_MEMORY_FACTOR = 32, CHECKPOINT_FILE_MEMORY_MAXIMUM = 1 << 29 };

struct checkpoint_tensor {
    const char *name; /* as the file has it: UTF-8, any character */
    const struct storage_type *type;
    const int64_t *shape; /* rank sizes, the slowest first (GGUF writes the fastest first) */
    int64_t bytes;
    int64_t offset; /* of its first byte in its file */
    int rank;
    int file; /* index into files */
};

struct checkpoint_file {
    const char *name;   /* for people: the path or the address */
    int64_t size_bytes; /* of the whole file */
    int64_t data_bytes; /* of its tensors */
};

enum checkpoint_value_kind {
    CHECKPOINT_VALUE_INTEGER,
    CHECKPOINT_VALUE_REAL,
    CHECKPOINT_VALUE_BOOLEAN, /* integer is 0 or 1 */
    CHECKPOINT_VALUE_TEXT,
    CHECKPOINT_VALUE_LIST, /* count elements; integers where all fit and there are at most CHECKPOINT_LIST_MAXIMUM */
    CHECKPOINT_VALUE_LARGE /* not kept: a text of more than CHECKPOINT_TEXT_MAXIMUM bytes, an integer beyond 63 bits */
};

/* Files of one model: published ones have up to some 200. Each costs a request where it is asked for at a hub. */
enum { CHECKPOINT_FILES_MAXIMUM = 1000 };

enum { CHECKPOINT_LIST_MAXIMUM = 10000, CHECKPOINT_TEXT_MAXIMUM = 4096 };

/* One entry of the metadata: of __metadata__ in safetensors, a key of GGUF. */
struct checkpoint_entry {
    const char *key;
    int file; /* index into files */
    enum checkpoint_value_kind kind;
    int64_t integer;
    double real;
    const char *text;
    int64_t count;
    const int64_t *integers; /* NULL: not kept */
};

enum checkpoint_format {
    CHECKPOINT_SAFETENSORS,
    CHECKPOINT_SAFETENSORS_INDEX,
    CHECKPOINT_GGUF,
    CHECKPOINT_FORMAT_COUNT
};

const char *checkpoint_format_name(enum checkpoint_format format); /* "safetensors", "safetensors index", "GGUF" */

struct checkpoint {
    struct arena arena; /* owns everything below */
    enum checkpoint_format format;
    const char *name; /* of the file that was asked for */
    struct checkpoint_tensor *tensors;
    int tensor_count;
    struct checkpoint_file *files;
    int file_count;
    struct checkpoint_entry *entries;
    int entry_count;
    int64_t stored_bytes;        /* of all tensors */
    int64_t element_count;       /* of all tensors */
    int64_t claimed_total_bytes; /* total_size of an index; -1: it does not say */
    int *slots;                  /* hash of the names: slot_count indices into tensors, -1: free */
    int slot_count;              /* a power of two */
};

/* Where files that stand beside each other are: a folder, or a revision of a repository. */
struct checkpoint_place {
    /* Opens the file of this name, which has no slash in it and goes after the call. */
    enum status_code (*open)(const void *context, const char *name, struct byte_source **source, struct status *error);
    const void *context;
};

/* Whether the name ends as those do that checkpoint_read knows: .safetensors, .safetensors.index.json, .gguf. */
bool checkpoint_is_named(const char *name);

/* Reads the headers of the file of that name at place, and of the shards that it names. Every fault is STATUS_INVALID
 * with "FILE: byte OFFSET: cause; remedy" or "FILE: tensor 'NAME': cause; remedy"; STATUS_IO and others if a file
 * does not open or cannot be read. The caller releases the checkpoint. */
enum status_code checkpoint_read(const struct checkpoint_place *place, const char *name, struct checkpoint **checkpoint,
                                 struct status *error);

/* The same for a path: the file in its folder. */
enum status_code checkpoint_open(const char *path, struct checkpoint **checkpoint, struct status *error);

void checkpoint_release(struct checkpoint *checkpoint); /* NULL is accepted */

/* The tensor or the entry of that name; NULL if there is none. */
const struct checkpoint_tensor *checkpoint_find(const struct checkpoint *checkpoint, const char *name);
const struct checkpoint_entry *checkpoint_entry(const struct checkpoint *checkpoint, const char *key);

#endif
