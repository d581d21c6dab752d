/* Case kind: the table. */
#include "harness/run/case_kind.h"

static const struct case_kind *const kinds[] = {&case_kind_search, &case_kind_checkpoint, &case_kind_placed,
                                                &case_kind_replay};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

const struct case_kind *case_kind_of(const struct workload *workload)
{
    int kind = 0;
    while (kind < KIND_COUNT - 1 && !kinds[kind]->applies(workload)) {
        kind++;
    }
    return kinds[kind];
}
