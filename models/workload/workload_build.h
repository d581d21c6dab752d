/* A workload's tape under construction: for workload_tape.c, workload_load.c and workload_chain.c alone. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_BUILD_H
#define ASSAY_WORKLOAD_WORKLOAD_BUILD_H

#include "models/forward/forward.h"
#include "models/workload/model_output.h"
#include "models/workload/workload_tape.h"

struct build {
    struct forward forward;
    struct training_plan plan;
    struct quantized *quantized;
    struct packing packing;             /* of weights that come packed */
    struct value **parameters;          /* as the model has them, which is what clips gradients and zeroes them */
    struct value **stepped;             /* the same, group by group, as the optimizer has them */
    struct optimizer_state *states;     /* by stepped */
    int parameter_count, decayed_count; /* of the first group; all, if there is one */
    struct value **averages;            /* of the weights, by tensor of the skeleton; NULL: none, or tied to another */
    struct loss_scaler scaler;          /* of a case that has one (workload_is_scaled) */
    bool zeroes_before_backward;        /* the micro-batch that is built calls zero_grad() between its passes */
    struct forward_leaves leaves;
    struct model_output output; /* what the program's name for the last output keeps; all zero: nothing */
    int near_tensor;
};

/* The workload with what the model does not take left out. */
struct workload workload_as_taken(const struct config *config, const struct workload *workload);

/* forward's config, skeleton, workload and placement are set, the rest is zero. build_release follows, also on
 * failure. */
enum status_code build_open(struct build *build, struct tape *tape, struct status *error);
void build_release(struct build *build);

/* What the model is fed, held. */
void inputs_make(struct build *build);

/* What goes with the graph of a loss, besides what the backward pass lets go: the leaves that a pass has made. */
void loss_graph_end(struct build *build, const struct forward_leaves *leaves);
/* That of the last backward pass, if the case detaches its losses: what comes first behind that pass calls it. */
void detached_graph_end(struct build *build);

/* Every parameter and buffer, in the order of module.to(device): taken where it is kept, and filled. */
void tensors_load(struct build *build);

#endif
