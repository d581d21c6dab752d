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

/* Reads "auto", "meta", "meta:mem=80GiB", "host", "host:mem=512MiB", "cuda", "cuda:1". STATUS_INVALID with the reason and what would be
 * right; *spec is then untouched. Touches no device. */
enum status_code device_spec_parse(const char *text, struct device_spec *spec, struct status *error);

#endif
