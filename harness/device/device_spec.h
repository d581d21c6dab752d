/* Device specs: the text by which a user names a device, read whole. */
#ifndef ASSAY_DEVICE_DEVICE_SPEC_H
#define ASSAY_DEVICE_DEVICE_SPEC_H

#include <stdint.h>

#include "harness/base/status.h"

enum device_kind { DEVICE_KIND_AUTO, DEVICE_KIND_META, DEVICE_KIND_HOST, DEVICE_KIND_CUDA };

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

/* Checks the text and gives it in the words that records keep: "cuda:1" for "GPU:1". */
enum status_code device_spec_words(const char *text, char words[DEVICE_SPEC_BYTES], struct status *error);

#endif
