/* Peak: which tensors are alive when a stage needs the most, by name. What one holds against PyTorch's own list where
 * the two differ. */
#ifndef ASSAY_REPLAY_PEAK_H
#define ASSAY_REPLAY_PEAK_H

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/tape/tape.h"

/* Tensors that nothing tells apart: the same name, category and size (the 12 outputs of 12 equal linear layers). */
struct peak_tensor {
    const char *name; /* the label of their storages; borrowed from the tape */
    enum category category;
    int64_t bytes; /* requested, of each */
    int count;
};

struct peak {
    enum stage stage;
    int64_t requested_bytes;     /* all of them together: the stage's requested_bytes_peak */
    struct peak_tensor *tensors; /* in descending order of bytes * count */
    int tensor_count;
};

/* What is alive at the first moment of the highest requested bytes of a stage, of a stage that occurs several times in
 * its last occurrence; STAGE_COUNT: of the stage that is the highest. The moment is that of requested bytes, as that of
 * categories_at_peak is: the highest allocated bytes may be an allocation away. tape: one that replays. Released with
 * peak_release. STATUS_INVALID if the tape has no such stage, STATUS_OUT_OF_MEMORY. Worked: at the end of loading
 * bert-base-cased the largest is the word embedding, 28,996 * 768 * 4 = 89,075,712 bytes, and the 24 feed-forward
 * matrices have 9,437,184 bytes each, a name and a row each. */
enum status_code peak_find(const struct tape_view *tape, enum stage stage, struct peak *peak, struct status *error);

void peak_release(struct peak *peak); /* an empty one is accepted */

/* {"stage": ..., "requested_bytes": ..., "tensors": [{"name", "category", "bytes", "count"}, ...]}; NULL if memory
 * ran out. */
struct json *peak_to_json(const struct peak *peak);

#endif
