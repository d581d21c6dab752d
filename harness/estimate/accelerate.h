/* accelerate: what `accelerate estimate-memory` says, to the same two decimals.
 *
 * total = bytes of parameters and buffers of the model without a head, in float32 (a boolean is one eighth of a byte, a
 * tied parameter counts once); other types are that number divided, buffers included. largest layer = the largest
 * module that is a leaf or is never split. Training with Adam, current rule (since 0.29): the highest of four stages;
 * model B, gradients B or 1.5 B, optimizer 2 B, step 4 B (float32) or 2 B (float16); int8 and int4: none. Rule 0.23: 4
 * times the total of every type.
 *
 * Worked number: bert-base-cased: 4 * 108,310,272 + 8,192 = 433,249,280 bytes = 413.18 MB; largest layer, the
 * embeddings: 90,669,056 = 86.47 MB; training 1,732,997,120 = 1.61 GB in float32 and 866,498,560 = 826.36 MB in
 * float16. Its units are binary, whatever they are called. */
#ifndef ASSAY_ESTIMATE_ACCELERATE_H
#define ASSAY_ESTIMATE_ACCELERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "models/config/config.h"
#include "models/skeleton/skeleton.h"

enum accelerate_rule { ACCELERATE_RULE_CURRENT, ACCELERATE_RULE_0_23, ACCELERATE_RULE_COUNT };

enum accelerate_dtype {
    ACCELERATE_FLOAT32,
    ACCELERATE_FLOAT16,
    ACCELERATE_INT8,
    ACCELERATE_INT4,
    ACCELERATE_DTYPE_COUNT
};

struct accelerate_options {
    enum accelerate_rule rule;
    const char *transformers;    /* the release whose classes count: "4.31", "current", ACCELERATE_RELEASE_OF_FILE: the
                                 one that wrote the configuration; NULL: current */
    bool splits_blocks;          /* largest layer as before transformers named its blocks: leaves alone */
    const struct skeleton *bare; /* of the configuration, with HEAD_BARE, if the caller has it; NULL: built */
};

#define ACCELERATE_RELEASE_OF_FILE "file"

/* Of the whole model in float32. total_bytes: parameters, once each, buffers, and tied_bytes, which are copies of
 * parameters that accelerate alone has (framework_buffers.h). */
struct accelerate_sizes {
    int64_t parameter_count, buffer_bytes, tied_bytes, total_bytes, largest_layer_bytes;
    bool layer_is_unknown; /* largest_layer_bytes is then 0 */
};

/* One line of the table. Divisions are those of Python, so bytes may have a fraction. */
struct accelerate_row {
    enum accelerate_dtype dtype;
    enum accelerate_rule rule;
    double largest_layer_bytes, total_bytes;
    bool layer_is_unknown; /* "-" and null: see accelerate_sizes */
    bool training_known;   /* false: N/A; the rest is then 0 */
    double training_bytes;
    int64_t model_bytes, gradients_bytes, optimizer_bytes, step_bytes; /* the stages of the current rule */
};

const char *accelerate_dtype_name(enum accelerate_dtype dtype); /* "float32", "float16", "int8", "int4" */

/* STATUS_INVALID lists what is known. */
enum status_code accelerate_dtype_find(const char *name, enum accelerate_dtype *dtype, struct status *error);
enum status_code accelerate_rule_find(const char *name, enum accelerate_rule *rule, struct status *error);

/* How a skeleton is weighed: what a tensor counts, and bytes that no tensor of it has. */
struct accelerate_sizing {
    const struct skeleton *skeleton;
    int64_t (*tensor_bytes)(const struct skeleton_tensor *tensor, const void *context);
    const void *context;
    int64_t block_bytes, model_bytes; /* in each block that is never split; beside the blocks */
    bool splits_blocks;
};

/* The sum, and the largest module that is a leaf or is never split. */
enum status_code accelerate_measure(const struct accelerate_sizing *sizing, int64_t *total_bytes,
                                    int64_t *largest_layer_bytes, struct status *error);

/* Whether the table says something of such a case: loading, and training of the whole model with Adam. */
bool accelerate_has_case(const struct workload *workload);

/* The row in which weights of this precision stand. */
enum accelerate_dtype accelerate_storage_of(enum precision precision);

/* STATUS_INVALID if options->transformers is no release, or the configuration names none that could be meant. */
enum status_code accelerate_sizes_of(const struct config *config, const struct accelerate_options *options,
                                     struct accelerate_sizes *sizes, struct status *error);

struct checkpoint;

/* The same of the tensors that a file stores, if nothing says what the model is: floating ones in float32, others as
 * they are; parameter_count is that of all elements, buffer_bytes 0. The largest layer is told by names: a numbered
 * block ("h.3") as a module that is never split, or a module beside the blocks; if no modules are numbered it is
 * unknown. */
enum status_code accelerate_sizes_of_file(const struct checkpoint *checkpoint, struct accelerate_sizes *sizes,
                                          struct status *error);

struct accelerate_row accelerate_row_of(const struct accelerate_sizes *sizes, enum accelerate_dtype dtype,
                                        enum accelerate_rule rule);

/* A size as its table spells it: "413.18 MB". */
enum { ACCELERATE_CELL_BYTES = 40 };
void accelerate_bytes_format(double bytes, bool is_integer, char cell[ACCELERATE_CELL_BYTES]);

/* Its box, each line ended by a newline; model is what the user typed. STATUS_OUT_OF_MEMORY. */
enum status_code accelerate_table(const char *model, const struct accelerate_row *rows, int count, struct text *table,
                                  struct status *error);

/* {"model", "family", "parameter_count", "buffer_bytes", "rows": [{"dtype", "largest_layer_bytes", "total_bytes",
 * "training_adam_bytes"}]}; bytes are rounded to whole ones. config NULL: family and buffer_bytes are null. NULL if
 * memory ran out. */
struct json *accelerate_to_json(const char *model, const struct config *config, const struct accelerate_sizes *sizes,
                                const struct accelerate_row *rows, int count);

#endif
