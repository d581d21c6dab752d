/* What cuDNN is asked: a convolution as a graph of one operation, and which of its engines computes it. It asks as
 * PyTorch does (aten/src/ATen/native/cudnn/Conv_v8.cpp): the instant heuristic, then what there is to fall back on, in
 * that order; engines that round their factors to fewer bits are left out.
 *
 * Beyond PyTorch, engines are left out whose results are not a sum in float32 in a fixed order that is rounded once:
 * Winograd's and Fourier's forms, reductions in fewer bits, and what is not deterministic. Memory is the tape's: an
 * engine that wants more than the call's workspace is passed over. */
#ifndef ASSAY_DEVICE_CUDA_CUDNN_GRAPH_H
#define ASSAY_DEVICE_CUDA_CUDNN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/cuda/cudnn_library.h"
#include "harness/device/product_plan.h"

enum {
    CUDNN_TENSOR_ALIGNMENT_BYTES = 16, /* of image, weight and result: whole vectors of a tensor core's loads */
    CUDNN_ENGINE_DESCRIPTORS = 8,
    CUDNN_ENGINE_NONE = -1
};

/* An engine that is ready to compute. */
struct cudnn_engine {
    void *plan;                                  /* NULL: none of them fits */
    void *descriptors[CUDNN_ENGINE_DESCRIPTORS]; /* what the plan was made of, in the order in which it was made */
    int descriptor_count;
    int64_t index, workspace_bytes; /* of the plan; CUDNN_ENGINE_NONE and 0: there is none */
    /* That PyTorch would take, the first that can be made ready; the same. Where it computes on tensor cores none is
     * taken that does not: our own kernels are not slower. */
    int64_t first_index, first_workspace_bytes;
    bool first_has_cores;
    int refusal;       /* the first status that was not success, of what was refused on the way; success: none was */
    int place, passed; /* in cuDNN's lists: of what was looked at last, from 1; of what failed as it ran */
};

/* Whether it is a convolution of one dtype that cuDNN computes with sums in float32: 16 bits, and float32 whose factors
 * may be rounded to TF32. Strict float32 stays with our own kernels, whose rounding is known. */
bool cudnn_suits(const struct convolution_plan *plan);

/* The first engine for it that wants at most workspace_bytes. False: none, of which *engine tells what was named
 * first. Nothing runs. Release it in either case. */
bool cudnn_engine_find(const struct cudnn_library *cudnn, enum opcode opcode, const struct convolution_plan *plan,
                       int64_t workspace_bytes, struct cudnn_engine *engine);

/* The next one, in the same order, where the one that was found answered refusal as it ran. */
bool cudnn_engine_next(const struct cudnn_library *cudnn, enum opcode opcode, const struct convolution_plan *plan,
                       int64_t workspace_bytes, int refusal, struct cudnn_engine *engine);

/* Queues it on the default stream, with the addresses of plan. workspace: as many bytes as it wants. A status of
 * cuDNN's. */
int cudnn_engine_run(const struct cudnn_library *cudnn, const struct cudnn_engine *engine,
                     const struct convolution_plan *plan, void *workspace);

void cudnn_engine_release(const struct cudnn_library *cudnn, struct cudnn_engine *engine);

#endif
