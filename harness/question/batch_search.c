/* Batch search: arithmetic on batches. It does not know what refuses memory, or what a batch is for. */
#include "harness/question/batch_search.h"

#include "harness/case/workload.h"

const char *const batch_zero_text = "No executable batch size found, reached zero.";

const char *batch_policy_name(enum batch_policy policy)
{
    return find_batch_name((enum find_batch)(FIND_BATCH_HALVE + policy));
}

struct batch_search batch_search_begin(enum batch_policy policy, int64_t start)
{
    return (struct batch_search){.policy = policy, .batch = start, .stride = start};
}

static int64_t smaller(enum batch_policy policy, int64_t batch)
{
    /* Python's int(batch * 0.9): a product of doubles, cut. */
    return policy == BATCH_HALVE ? batch / 2 : (int64_t)((double)batch * 0.9);
}

/* The hint, if it lies above what was found and has not been tried. */
static int64_t hint_take(struct batch_search *search)
{
    bool is_new = search->hint > search->found && search->hint != search->refused && !search->hint_is_tried;
    search->hint_is_tried = search->hint_is_tried || is_new;
    return is_new ? search->hint : 0;
}

static int64_t bisect_next(struct batch_search *search)
{
    if (search->refused == 0) {
        int64_t room = BATCH_MAXIMUM - search->found;
        return room > 0 ? search->found + (search->stride < room ? search->stride : room) : 0;
    }
    if (search->refused - search->found > 1) {
        return search->found + (search->refused - search->found) / 2;
    }
    return hint_take(search);
}

static void bisect_tell(struct batch_search *search, bool runs)
{
    int64_t batch = search->batch;
    search->hint_is_tried = search->hint_is_tried || batch == search->hint;
    if (runs) {
        /* From the start the batch is doubled; beyond a batch that was refused (the hint) one is added, then two,
         * four. */
        bool is_beyond = search->refused > 0 && batch > search->refused;
        search->stride = search->refused == 0 ? search->stride * (search->found > 0 ? 2 : 1) : 1;
        search->refused = is_beyond ? 0 : search->refused;
        search->found = batch;
    } else if (search->refused == 0 || batch < search->refused) {
        search->refused = batch;
    }
    search->batch = bisect_next(search);
}

void batch_search_tell(struct batch_search *search, bool runs)
{
    if (search->policy == BATCH_BISECT) {
        bisect_tell(search, runs);
        return;
    }
    search->found = runs ? search->batch : 0;
    search->batch = runs ? 0 : smaller(search->policy, search->batch);
}
