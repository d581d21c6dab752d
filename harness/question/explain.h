/* Explain: every byte that a device holds when a case needs the most: its module, its tensor, and the rule that put it
 * there.
 *
 * The moment is that of harness/replay/moment.h, and all lines add up to its reserved bytes: the tensors' requested
 * bytes, and what the allocator adds (rounding, unsplit remainders, fragments of segments in use, segments that are
 * free). */
#ifndef ASSAY_QUESTION_EXPLAIN_H
#define ASSAY_QUESTION_EXPLAIN_H

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/estimate/estimate.h"
#include "harness/replay/moment.h"

struct explain_row {
    const char *module; /* "encoder.layer.0.output.dense"; "": of none */
    const char *tensor; /* "weight", "LAYERNORM", "cuBLAS workspace" */
    const char
        *rule; /* "parameter, 768*3072*4 bytes", "exp_avg, ...", "kept for the backward of linear, its input, ..." */
    const char *dtype; /* "float32"; "unknown" if no operation looks at it as a whole */
    enum category category;
    enum stage taken_in;
    bool is_scratch; /* an operator's own or a library's, not a tensor of the program */
    int64_t bytes;   /* requested */
};

struct explanation {
    struct arena arena; /* owns the rows and their texts */
    struct moment moment;
    struct explain_row *rows; /* one for each storage that is held, in the order in which they were made */
    int row_count;
    struct managed_memory managed; /* in no segment, and so in no row */
    int64_t search_bytes;          /* reserved by the first pass while it tries cuDNN's engines; 0: it tries none */
    const char *wanted;            /* the tensor that was refused (moment.is_refused); NULL: none was */
};

/* stage: STAGE_COUNT for the highest of all. Within input->memory_bytes, if that is not 0, as moment_find_bounded
 * has it. Errors of workload_tape and moment_find_bounded. Released with explanation_release. */
enum status_code explain_find(const struct estimate_input *input, enum stage stage, struct explanation *explanation,
                              struct status *error);
void explanation_release(struct explanation *explanation);

/* Requested bytes of the program's tensors alone: certain, where scratch is a rule. */
int64_t explain_certain_bytes(const struct explanation *explanation);

/* The property by which rows are put together. */
enum explain_by { EXPLAIN_TENSOR, EXPLAIN_MODULE, EXPLAIN_CATEGORY, EXPLAIN_STAGE, EXPLAIN_DTYPE, EXPLAIN_BY_COUNT };

const char *explain_by_name(enum explain_by by); /* "tensor", "module", ... */

struct explain_group {
    const char *name;     /* of by tensor: "module tensor: rule"; of the allocator's: "rounding to 512 bytes" */
    const char *category; /* of by tensor and of the allocator's ("allocator"); else "" */
    int64_t bytes;
    int count; /* of tensors; 0: the allocator's */
};

/* All rows in groups, the largest first, with the allocator's own that are not 0: together the reserved bytes. numbers:
 * whether parts of a path that are numbers tell modules apart ("h.0" and "h.1"), or all stand as "h.*". The groups live
 * in the explanation's arena. STATUS_OUT_OF_MEMORY. */
enum status_code explain_group(struct explanation *explanation, enum explain_by by, bool numbers,
                               struct explain_group **groups, int *group_count, struct status *error);

/* Folded stacks, as flamegraph.pl and speedscope read them: "transformer;h;0;mlp;c_fc;weight;gradient, ... 9437184" a
 * line, the allocator's under "allocator". Their sum is the reserved bytes. */
void explain_folded(const struct explanation *explanation, struct text *text);

/* {"stage", "reserved_bytes", "allocated_bytes", "requested_bytes", "refusal" (null, or of fit's), "allocator":
 * {"rounding_bytes", "unsplit_remainder_bytes", "fragment_bytes", "free_segment_bytes"}, "tensors": [{"module",
 * "tensor", "rule", "category", "dtype", "stage", "bytes"}]}; NULL if memory ran out. */
struct json *explain_to_json(const struct explanation *explanation);

#endif
