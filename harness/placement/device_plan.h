/* Device plan: which module goes to which device, decided as accelerate 1.15 decides it.
 *
 * device_plan_make is get_balanced_memory followed by infer_auto_device_map, as device_map="auto" is, over a skeleton:
 * no tensor exists. The maps are the same, key for key, quirks included (docs/decisions/0020). Sizes are counted in
 * bits, because accelerate counts a boolean as an eighth of a byte and int4 as a half: eight of them are a byte. */
#ifndef ASSAY_PLACEMENT_DEVICE_PLAN_H
#define ASSAY_PLACEMENT_DEVICE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/placement/device_map.h"
#include "models/skeleton/skeleton.h"

enum { BITS_PER_BYTE = 8, PLACEMENT_DEVICES_MAXIMUM = 256 };

/* What one element takes in accelerate's count (dtype_byte_size): "float32" 32, "int8" 8, "int4" 4, "bool" 1. */
struct storage_width {
    const char *name;
    int bits;
};

/* Row number index, NULL past the end. */
const struct storage_width *storage_width_at(int index);
/* "float16", "torch.float16", "int4", "fp8": NULL if accelerate has no such type. */
const struct storage_width *storage_width_find(const char *name);

/* What a device may hold. */
struct placement_budget {
    struct placement_device device;
    int64_t bits;
    bool is_float; /* the number is a float in Python: it decides whether fallback_allocate works (device_plan_make) */
};

struct special_width {
    const char *path; /* of a parameter or a buffer */
    const struct storage_width *width;
};

enum placement_strategy {
    PLACEMENT_BALANCED,       /* get_balanced_memory, then infer_auto_device_map */
    PLACEMENT_BALANCED_LOW_0, /* the same with low_zero */
    PLACEMENT_SEQUENTIAL      /* infer_auto_device_map alone */
};

struct placement_request {
    const struct placement_budget *budgets; /* any order; each device once */
    int budget_count;
    bool budgets_are_detected;         /* no max_memory was given: a single GPU gives 90 % of its budget */
    const struct storage_width *width; /* dtype; NULL: each tensor's own */
    const struct special_width *specials;
    int special_count;
    const char *const *no_split; /* classes; NULL: those that the model itself never splits */
    int no_split_count;
    enum placement_strategy strategy;
    bool offload_buffers;
    bool fallback;    /* fallback_allocation */
    bool keeps_keys;  /* not clean_result */
    bool wants_steps; /* steps are told */
};

/* One device of the plan, in the order in which devices are filled; the disk is always the last one. */
struct placement_share {
    struct placement_device device;
    int64_t budget_bits; /* after balancing; -1: the disk, which has none */
    int64_t placed_bits; /* as the planner counts it: a module that is tied to the placed one counts whole */
    int64_t weight_bits; /* of the parameters there, a storage once */
    int64_t buffer_bits; /* of the buffers there, a storage once */
    int64_t
        /* kept free for the largest layer that was still to be placed when this device was last looked at */
        reserved_bits;
    int64_t
        minimum_bits; /* of a device that nothing could be put on: what it would have needed; -1: not such a device */
    bool is_main;     /* one of those that keep room for the largest layer */
};

struct device_plan {
    struct arena arena; /* owns everything below but the texts */
    struct placement_budget *budgets;
    int budget_count; /* after balancing, in accelerate's order: GPUs, mps, cpu, disk */
    struct placement_share *shares;
    int share_count;
    struct device_map map;
    struct text warnings; /* a line each */
    struct text steps;    /* a line each, where they are wanted */
    const char *
        *uncovered; /* tensors of the state dict that no key covers: direct buffers of a module that was split */
    int uncovered_count;
};

/* STATUS_INVALID if accelerate raises, with its exception named: a tie whose partner is not in the list any more
 * (IndexError), balanced_low_0 with a gap in the GPUs (KeyError), a disk budget while balancing (RuntimeError),
 * fallback with sizes that are no whole numbers in Python (AttributeError). STATUS_OVERFLOW if sizes do not fit. The
 * caller releases the placement; skeleton and request may go before. */
enum status_code device_plan_make(const struct skeleton *skeleton, const struct placement_request *request,
                                  struct device_plan *placement, struct status *error);
void device_plan_release(struct device_plan *placement);

/* get_balanced_memory alone: fills placement's budgets, and nothing else. */
enum status_code device_plan_balance(const struct skeleton *skeleton, const struct placement_request *request,
                                     struct device_plan *placement, struct status *error);

/* Bits as bytes, rounded up. */
static inline int64_t bits_to_bytes(int64_t bits)
{
    return bits / BITS_PER_BYTE + (bits % BITS_PER_BYTE > 0 ? 1 : 0);
}

/* convert_file_size_to_int of a text: "1.5GB", "10GiB", "0MB", "10Gb" (bits: an eighth). STATUS_INVALID with
 * accelerate's own words for what it cannot read. *is_bits: whether it was read as bits. */
enum status_code accelerate_size_parse(const char *text, int64_t *bytes, bool *is_bits, struct status *error);

#endif
