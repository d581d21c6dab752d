/* Memory place: model files that a test has in memory, as a place where checkpoints are. */
#ifndef ASSAY_TESTS_CHECKPOINT_MEMORY_PLACE_H
#define ASSAY_TESTS_CHECKPOINT_MEMORY_PLACE_H

#include "harness/checkpoint/checkpoint.h"

struct memory_file {
    const char *name;
    const void *bytes;
    size_t count;
};

struct memory_place {
    const struct memory_file *files;
    int count;
};

/* Reads the file of that name among them. */
enum status_code memory_read(const struct memory_file *files, int count, const char *name,
                             struct checkpoint **checkpoint, struct status *error);

/* A file of safetensors: the length of the header, the header, so many bytes of data. Released with free. */
struct memory_file safetensors_file(const char *name, const char *header, size_t data_bytes);

/* Fails the running test unless both list the same tensors in the same order, whatever their files are called. */
void checkpoints_equal(const struct checkpoint *one, const struct checkpoint *other);

#endif
