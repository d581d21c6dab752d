/* Device specs: the text by which a user names a device, read whole. */
#ifndef ASSAY_DEVICE_DEVICE_SPEC_H
#define ASSAY_DEVICE_DEVICE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

/* What may follow the word of a kind: nothing, ":mem=SIZE", ":NUMBER". */
enum device_option { DEVICE_OPTION_NONE, DEVICE_OPTION_MEMORY, DEVICE_OPTION_INDEX };

/* The register of kinds: X(NAME, word, what people say for it too or NULL, option). WORD_spec_open and
 * WORD_spec_identify in registry.c open it; docs/ADDING.md says how a device is added. */
#define DEVICE_KIND_TABLE(X)                                                                                           \
    X(AUTO, auto, NULL, DEVICE_OPTION_NONE) /* the first GPU that opens, else the host */                              \
    X(META, meta, NULL, DEVICE_OPTION_MEMORY)                                                                          \
    X(HOST, host, "cpu", DEVICE_OPTION_MEMORY)                                                                         \
    X(CUDA, cuda, "gpu", DEVICE_OPTION_INDEX)

enum device_kind {
#define DEVICE_KIND_ENUM(name, ...) DEVICE_KIND_##name,
    DEVICE_KIND_TABLE(DEVICE_KIND_ENUM)
#undef DEVICE_KIND_ENUM
        DEVICE_KIND_COUNT
};

struct device_spec {
    enum device_kind kind;
    int64_t memory_bytes; /* meta, host: the bound; 0: none */
    int index;            /* cuda: the device's number as CUDA counts, from 0 */
};

enum { DEVICE_SPEC_BYTES = 64 };

/* Reads "auto", "meta", "meta:mem=80GiB", "host", "host:mem=512MiB", "cuda", "cuda:1". "cpu" is host and "gpu" is
 * cuda, in any case. STATUS_INVALID with the reason and what would be right; *spec is then untouched. Touches no
 * device. */
enum status_code device_spec_parse(const char *text, struct device_spec *spec, struct status *error);

/* "cuda"; and whether a bound may follow it. */
const char *device_kind_word(enum device_kind kind);
bool device_kind_takes_bound(enum device_kind kind);

/* Checks the text and gives it in the words that records keep: "cuda:1" for "GPU:1". */
enum status_code device_spec_words(const char *text, char words[DEVICE_SPEC_BYTES], struct status *error);

#endif
