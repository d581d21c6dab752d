/* How batch normalisation is launched, and what it moves. Plain C, see traffic.h.
 *
 * A channel whose elements fit into the registers of a block is read once. Of others the sums are made first and the
 * result in a second reading. Where few channels would leave processors idle, a channel is cut into parts of some
 * images, each with a block of its own; what the parts have to tell each other lies in the memory of the result before
 * the result does. */
#ifndef ASSAY_KERNELS_PLAN_BATCHNORM_H
#define ASSAY_KERNELS_PLAN_BATCHNORM_H

#include "harness/kernels/body_batchnorm.h"
#include "harness/kernels/plan_rows.h"

enum {
    CHANNEL_LANES_MAXIMUM = 512, /* of a block that keeps what it reads */
    CHANNEL_GROUPS = 7,          /* that a lane keeps of a tensor, forward */
    CHANNEL_PAIRS = 3,           /* and of two, backward */
    CHANNEL_BLOCKS_WANTED = 264,
    CHANNEL_BLOCKS_FEW = 132,
    CHANNEL_SCRATCH_PLANE = 4 /* elements that hold two floats, whatever they are */
};

enum channel_form { CHANNEL_KEPT, CHANNEL_PASSES, CHANNEL_PARTS, CHANNEL_APPLIED };

struct batchnorm_plan {
    struct planes planes;
    int64_t plane_packets, packets; /* of a plane, and of all planes of a channel */
    int64_t parts, part_packets;    /* of a channel; packets of a part: those of some images */
    enum channel_form form;
    unsigned blocks, lanes;
    bool alike; /* the large tensors are of one dtype */
};

/* Groups that a lane keeps. Each place costs registers too, and packets of one element have eight in a group. */
static inline int groups_kept(int unit, bool backward)
{
    return backward ? (unit == 1 ? 1 : CHANNEL_PAIRS) : (unit == 1 ? 2 : CHANNEL_GROUPS);
}

/* Whether the elements of the batch are summed up, or only scaled. */
static inline bool batchnorm_sums(const struct operation_call *call)
{
    return call->opcode == OPCODE_BATCHNORM_BACKWARD ||
           (call->opcode == OPCODE_BATCHNORM && call->attributes.i[0] == 1);
}

static inline struct batchnorm_plan batchnorm_plan_of(const struct operation_call *call, int unit)
{
    struct batchnorm_plan plan = {.planes = planes_of(&call->tensors[0]), .parts = 1};
    int64_t channels = plan.planes.channels, elements = plan.planes.images * plan.planes.plane, images = 1;
    bool backward = call->opcode == OPCODE_BATCHNORM_BACKWARD;
    int kept = groups_kept(unit, backward);
    const struct tensor *t = call->tensors;
    plan.alike = t[0].dtype == t[5].dtype && (!backward || t[0].dtype == t[1].dtype);
    bool sums = batchnorm_sums(call);
    bool fits = plan.alike && elements > 0 && elements <= CHANNEL_LANES_MAXIMUM * GROUP_ELEMENTS * kept;
    bool cuts = channels < CHANNEL_BLOCKS_FEW && channels > 0 && plan.planes.images > 1 &&
                plan.planes.plane >= CHANNEL_SCRATCH_PLANE;
    plan.plane_packets = plan.planes.plane / unit;
    plan.packets = plan.planes.images * plan.plane_packets;
    plan.form = !sums ? CHANNEL_APPLIED : fits ? CHANNEL_KEPT : cuts ? CHANNEL_PARTS : CHANNEL_PASSES;
    plan.part_packets = plan.packets;
    if (cuts && (plan.form == CHANNEL_PARTS || plan.form == CHANNEL_APPLIED)) {
        int64_t wanted = (CHANNEL_BLOCKS_WANTED + channels - 1) / channels;
        images = (plan.planes.images + wanted - 1) / wanted;
        plan.parts = (plan.planes.images + images - 1) / images;
        plan.part_packets = images * plan.plane_packets;
    }
    plan.blocks = grid_blocks(channels * plan.parts, 1);
    plan.lanes = row_lanes(plan.part_packets);
    if (plan.form == CHANNEL_KEPT) {
        plan.lanes = elements <= 128 * GROUP_ELEMENTS * (kept < 2 ? kept : 2)   ? 128
                     : elements <= 256 * GROUP_ELEMENTS * (kept < 3 ? kept : 3) ? 256
                                                                                : CHANNEL_LANES_MAXIMUM;
    }
    return plan;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* One reading of the large inputs, and writing of the large output if it writes. */
static inline struct launch_traffic *channels_traffic(const struct operation_call *call, const char *kernel,
                                                      struct batchnorm_plan plan, int readings, bool writes,
                                                      struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, kernel);
    double large = operand_bytes(&call->tensors[0]), elements = (double)tensor_element_count(&call->tensors[0]);
    large += call->opcode == OPCODE_BATCHNORM_BACKWARD ? operand_bytes(&call->tensors[1]) : 0;
    launch->blocks = plan.blocks;
    launch->lanes = plan.lanes;
    launch->read_bytes = readings * large;
    launch->written_bytes =
        writes ? operand_bytes(&call->tensors[5]) : (double)(plan.planes.channels * plan.parts * SECTOR_BYTES);
    launch->touched_bytes = large + launch->written_bytes;
    launch->again_bytes = readings > 1 ? large / (double)plan.planes.channels * plan.blocks : 0;
    launch->instructions = elements * (readings + (writes ? 1 : 0)) * 6;
    launch->rounds = (double)(plan.planes.channels * plan.parts) / launch->blocks *
                     (1 + readings * elements / (double)(plan.planes.channels * plan.parts) / plan.lanes / 16);
    return launch;
}

static inline void batchnorm_traffic(const struct operation_call *call, struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(call->tensors[0].dtype), plane = planes_of(&call->tensors[0]).plane;
    int unit = plane % 8 == 0 && bytes == 2 ? 8 : plane % 4 == 0 ? 4 : 1;
    struct batchnorm_plan plan = batchnorm_plan_of(call, unit);
    bool backward = call->opcode == OPCODE_BATCHNORM_BACKWARD;
    if (plan.form == CHANNEL_PARTS) {
        channels_traffic(call, backward ? "batchnorm_backward_sum_kernel" : "batchnorm_sum_kernel", plan, 1, false,
                         traffic);
        channels_traffic(call, backward ? "batchnorm_backward_apply_kernel" : "batchnorm_apply_kernel", plan, 1, true,
                         traffic);
        struct launch_traffic *launch =
            traffic_add(traffic, backward ? "batchnorm_backward_join_kernel" : "batchnorm_join_kernel");
        launch->blocks = grid_blocks(plan.planes.channels, 1);
        launch->lanes = WARP_LANES;
        launch->read_bytes = (double)(plan.planes.channels * (2 * plan.parts + (backward ? 0 : 2)) * SECTOR_BYTES);
        launch->written_bytes = (double)(plan.planes.channels * (2 * plan.parts + (backward ? 2 : 4)) * SECTOR_BYTES);
        launch->touched_bytes = launch->read_bytes;
        launch->rounds = 3;
    } else if (plan.form == CHANNEL_PASSES) {
        channels_traffic(call, backward ? "batchnorm_backward_kernel" : "batchnorm_kernel", plan, 2, true, traffic);
    } else {
        channels_traffic(call,
                         plan.form == CHANNEL_APPLIED ? "batchnorm_apply_kernel"
                         : backward                   ? "batchnorm_backward_kept_kernel"
                                                      : "batchnorm_kept_kernel",
                         plan, 1, true, traffic);
    }
    traffic->needed_bytes = operands_bytes(call, 0, call->tensor_count);
    traffic->needed_operations = (double)tensor_element_count(&call->tensors[0]) * 6;
}

#endif
#endif
