/* Fuzz targets: each feeds bytes of any kind to a reader and looks at what comes of it. What must hold is held with
 * fuzz_require, which ends the program where it does not. tests/fuzz/test_corpus.c runs them on the files of
 * tests/fuzz/corpus; `make fuzz` builds them for libFuzzer and AFL++ (tests/fuzz/README.md). */
#ifndef ASSAY_TESTS_FUZZ_FUZZ_H
#define ASSAY_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* All return 0. */
int fuzz_config(const uint8_t *data, size_t size);      /* a config.json, and the skeleton of what was read */
int fuzz_safetensors(const uint8_t *data, size_t size); /* a file, and the same bytes as an index of shards */
int fuzz_gguf(const uint8_t *data, size_t size);        /* a file, its configuration, and the two held together */
int fuzz_yaml(const uint8_t *data, size_t size);        /* a suite */
int fuzz_json_scan(const uint8_t *data, size_t size);   /* a text, held against the parser's word on it */
int fuzz_records(const uint8_t *data, size_t size);     /* a file of records, and its reports */
int fuzz_pickle(const uint8_t *data, size_t size);      /* a pickle */
int fuzz_offload(const uint8_t *data, size_t size);     /* the index.json of an offload folder, and what it names */

static inline void fuzz_require(bool holds)
{
    if (!holds) {
        __builtin_trap();
    }
}

/* A refusal is one printable line and none of our faults; success is without a word. */
void fuzz_status_check(enum status_code code, const struct status *error);

struct checkpoint;

/* Every tensor lies inside its file, and the sums are those of the tensors. */
void fuzz_checkpoint_check(const struct checkpoint *checkpoint);

/* Reads bytes as the file of that name; what it names beside itself is the file of safetensors in companion. */
enum status_code fuzz_checkpoint_read(const char *name, const uint8_t *data, size_t size,
                                      struct checkpoint **checkpoint, struct status *error);

#endif
