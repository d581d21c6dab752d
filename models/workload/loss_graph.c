/* Loss graph: what goes when nobody has the graph of a loss any more. Not what autograd frees in the backward pass,
 * which is the tape's. */
#include "models/workload/workload_build.h"

void loss_graph_end(struct build *build, const struct forward_leaves *leaves)
{
    tape_graphs_end(build->forward.tape);
    for (int i = 0; i < leaves->count; i++) {
        tape_leaf_end(build->forward.tape, leaves->values[i]);
    }
}

void detached_graph_end(struct build *build)
{
    if (build->forward.workload->loss_detached) {
        loss_graph_end(build, &build->leaves);
        build->leaves.count = 0;
    }
}
