/* Bounds: what of a prediction is certain, what is a rule, and what is a range.
 *
 *   certain   the tensors that the list of operations makes
 *   rule      what libraries and the allocator are known to add: workspaces, rounding, fragments, cached segments
 *   managed   states of a paged optimizer, which are in no segment: the driver moves them between device and host
 *   range     what only a GPU takes: kernels and handles (libraries), the context, what the driver keeps; and the part
 *             of the segments that no rule explains, because cuDNN chooses among engines or a program has habits
 *
 * process and device are sums of all of them, as nvidia-smi shows them. They are of a program of PyTorch, whatever GPU
 * it is, and need no constants. */
#ifndef ASSAY_QUESTION_BOUNDS_H
#define ASSAY_QUESTION_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/case/workload.h"
#include "harness/tape/context_table.h"
#include "harness/tape/tape.h"
#include "models/config/config.h"

/* By how much segments may differ from the predicted ones without a rule that says so, in thousandths: at least 1 -
 * less, at most 1 + more. 0 and 0: every byte is explained. */
struct doubt {
    int less_permille, more_permille;
};

/* So many bytes less and more, as the doubt has it. */
int64_t doubt_least(struct doubt doubt, int64_t bytes);
int64_t doubt_most(struct doubt doubt, int64_t bytes);

/* {"less_fraction", "more_fraction"}. NULL if memory ran out. */
struct json *doubt_to_json(struct doubt doubt);

/* What measurements by others and ours left unexplained, by mode and kind of network; the table is in bounds.c. */
struct doubt doubt_of(const struct config *config, const struct workload *workload);

struct bounds {
    int64_t certain_bytes;        /* requested at the peak, without workspaces */
    int64_t rule_bytes;           /* reserved at the peak, less those */
    struct byte_range segments;   /* reserved, with the doubt; at most what the search takes */
    int64_t search_bytes;         /* reserved in the first pass, which tries cuDNN's engines; 0: it tries none */
    struct context_ranges beside; /* driver, context, libraries */
    struct byte_range process;    /* segments, context and libraries */
    struct byte_range device;     /* and what an idle device shows: nvidia-smi's used memory, CUDA's total less free */
    struct byte_range nvml;       /* and the driver's: pynvml's nvmlDeviceGetMemoryInfo(handle).used */
    /* What of managed memory the device has: in device and nvml, and in no process's figure. None of it where the
     * driver has moved all to the host; likely all that the rest of the GPU has room for, because each step fetches it;
     * at most the same in whole pages. */
    struct byte_range resident;
    struct managed_memory managed;
};

/* What estimate asks about: a class of devices, and a GPU of it if one is named (else NULL). */
struct bounds_device {
    const struct target *target;
    const struct gpu *gpu;
};

/* Of a replay, at its peak: tensors without workspaces, segments, what its first pass reserves while it tries cuDNN's
 * engines (0: it tries none), and what is in no segment. */
struct bounds_figures {
    int64_t certain_bytes, reserved_bytes, search_bytes;
    struct managed_memory managed;
};

/* The class is a GPU. */
struct bounds bounds_make(const struct bounds_figures *figures, const struct bounds_device *device,
                          const struct config *config, const struct workload *workload);

/* replay: the object of that estimator. False, and *bounds untouched, if it has no peaks (the case does not fit, or is
 * not modelled) or the class is no GPU. */
bool bounds_find(const struct json *replay, const struct bounds_device *device, const struct config *config,
                 const struct workload *workload, struct bounds *bounds);

/* {"certain_bytes", "rule_bytes", "segments", "libraries", "context", "driver", "process_bytes", "device_bytes",
 * "nvml_bytes"}, the last seven ranges; of a paged optimizer "managed", a range, too, and "search_bytes" if the first
 * pass searches. null if bounds is NULL. NULL if memory ran out. */
struct json *bounds_to_json(const struct bounds *bounds);

/* Of a paged optimizer, lines for people with the size, and what it is to an answer; else nothing. */
void managed_line(const struct managed_memory *managed, struct text *text);

/* {"bytes", "pages_bytes", "tensor_count"}, as in the figures of replay. NULL if memory ran out. */
struct json *managed_json(const struct managed_memory *managed);

/* Of the members of that object what people read, in the order of the lines: "segments" and its words; an object
 * may lack the member. NULL past the last. */
struct bounds_part {
    const char *key, *words;
};
const struct bounds_part *bounds_part_at(int index);

/* Lines for people: the ranges beside the segments, and their sums. */
void bounds_beside_lines(const struct bounds *bounds, struct text *text);

/* "nvidia-smi will show 2.80 GiB: 2.61 GiB to 3.02 GiB", what most want to know first. */
void bounds_shown_words(const struct bounds *bounds, struct text *text);

/* The same below what is certain and a rule, with a heading. */
void bounds_lines(const struct bounds *bounds, struct text *text);

#endif
