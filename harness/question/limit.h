/* Limit: the largest batch, sequence or number of new tokens with which a case runs on a device of so many bytes.
 *
 * What is claimed. The size found was replayed on a meta device of that many bytes and ran through; the next one
 * was replayed there and did not, or the model has no such size. Memory need not grow with the size: the allocator's
 * segments are made of sizes that came before, so that a larger batch may fit although a smaller one does not
 * (pytorch/pytorch#125323; resnet18 trains with a batch of 15 in 662 MiB and not with one of 14). So the sizes above
 * are replayed one by one, and if one of them runs, it is the answer and the search goes on above it. It ends when the
 * tensors of a batch alone are more than the memory, because they grow with the batch (excluded_from; not with the
 * sequence: workspaces of attention come and go); or when LIMIT_NEIGHBOURS in a row have been refused, and then a size
 * further up that would fit again is not excluded. New tokens with a growing cache need none of this: what runs for one
 * token more has run for one less before. Greedily generated ones are replayed once with the bound, as many as there
 * may be, and the token at which memory is refused is the first that does not fit. Then the size that fits is not
 * replayed without a bound. With a static cache, which is taken whole at the first pass, only beginnings are replayed
 * until two neighbours differ, and then the size that was found, to its end.
 *
 * How. Sizes are doubled until one is refused, and what lies between is cut where a straight line through the
 * reserved bytes of both ends meets the bound, and in the middle every other time. */
#ifndef ASSAY_QUESTION_LIMIT_H
#define ASSAY_QUESTION_LIMIT_H

#include "harness/question/trial.h"

enum { LIMIT_NEIGHBOURS = 64, LIMIT_REASON_BYTES = 256 };

struct limit {
    enum case_field field;
    int64_t size;       /* the largest that runs; 0: not even the smallest */
    struct trial trial; /* of size, if there is one; of new tokens, `unbounded` may be all 0 */
    int64_t next;       /* size + 1 (of 0: the smallest that there is) */
    bool next_exists;   /* false: there is no such size, for this reason */
    bool is_own_bound;  /* then: it is a bound of this program; false: of the model */
    char reason[LIMIT_REASON_BYTES];
    bool next_is_sized; /* false: its bytes leave 63 bits */
    struct trial next_trial;
    int64_t refused_below; /* a size that was refused although the answer, which is larger, runs; 0: none was seen */
    int neighbour_count;   /* sizes above that were replayed and refused, next included */
    int64_t excluded_from; /* no size from here on runs, nor any between: see above; 0: that is not known */
    int whole_count;       /* of them, or again: replayed to the end */
};

/* input->workload is the case but for the field, which is FIELD_BATCH, FIELD_SEQ or FIELD_NEW_TOKENS. STATUS_INVALID if
 * the case is wrong at every size, or the field says nothing about it. */
enum status_code limit_find(const struct estimate_input *input, enum case_field field, int64_t memory_bytes,
                            const struct look_observer *observer, struct limit *limit, struct status *error);

/* The size alone, in at most maximum, which is not more than limit_maximum: where one replay with the bound tells it,
 * as of greedily generated tokens with a growing cache, no other is made. */
enum status_code limit_size_find(const struct estimate_input *input, enum case_field field, int64_t memory_bytes,
                                 int64_t maximum, const struct look_observer *observer, int64_t *size,
                                 struct status *error);

/* Whether a case of some size of the field is the beginning of every larger one: new tokens are, unless the places of
 * all of them are taken at first, as with several beams or with a static cache. Then what runs runs for less, too. */
bool limit_begins_alike(const struct workload *workload, enum case_field field);

/* Whether the case has the field, so that it can be of another size: STATUS_INVALID if its mode or its model has
 * none. */
enum status_code limit_field_check(const struct estimate_input *input, enum case_field field, struct status *error);

/* The most of a field that a model has, whatever the memory. */
int64_t limit_maximum(const struct config *config, const struct workload *workload, enum case_field field);

/* The workload with another value of that field. */
struct workload limit_workload(const struct workload *workload, enum case_field field, int64_t size);

#endif
