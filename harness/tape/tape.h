/* The tape: what happens, in order. Memory is taken, operations run, memory is given back.
 *
 * A tape is built once (harness/tape/build.h) and then only read. It is a flat list of events over three arrays:
 * storages (a span of bytes with one lifetime), operations, and operands (how an operation looks at a storage). The
 * events say when each storage is taken and given back, so every device sees the identical allocation sequence.
 *
 * A tape may tell a repetition once (struct repeat): a generation repeats its steps, a training step its micro-batches.
 * Such a tape says the same sequence as one that has every repetition recorded; harness/tape/tape_cursor.h goes through
 * either. */
#ifndef ASSAY_TAPE_TAPE_H
#define ASSAY_TAPE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/kernels/operation.h"
#include "harness/tape/attention_choice.h"

/* X(NAME, name in records) */
#define CATEGORY_TABLE(X)                                                                                              \
    X(WEIGHTS, "weights")                                                                                              \
    X(BUFFERS, "buffers")                                                                                              \
    X(GRADIENTS, "gradients")                                                                                          \
    X(OPTIMIZER, "optimizer")                                                                                          \
    X(MASTER_WEIGHTS, "master_weights")                                                                                \
    X(ACTIVATIONS, "activations")                                                                                      \
    X(TEMPORARIES, "temporaries")                                                                                      \
    X(KV_CACHE, "kv_cache")                                                                                            \
    X(WORKSPACE, "workspace")                                                                                          \
    X(INPUTS, "inputs")

#define STAGE_TABLE(X)                                                                                                 \
    X(CONTEXT, "context")                                                                                              \
    X(LOAD, "load")                                                                                                    \
    X(FORWARD, "forward")                                                                                              \
    X(BACKWARD, "backward")                                                                                            \
    X(STEP, "step")                                                                                                    \
    X(GENERATE, "generate")

enum category {
#define CATEGORY_ENUM(name, text) CATEGORY_##name,
    CATEGORY_TABLE(CATEGORY_ENUM)
#undef CATEGORY_ENUM
        CATEGORY_COUNT
};

enum stage {
#define STAGE_ENUM(name, text) STAGE_##name,
    STAGE_TABLE(STAGE_ENUM)
#undef STAGE_ENUM
        STAGE_COUNT
};

const char *category_name(enum category category);
const char *stage_name(enum stage stage);
bool stage_find(const char *name, enum stage *stage); /* false if no stage has the name */

/* What a storage is to the operation that kept it for its backward pass. */
enum keep { KEEP_NOTHING, KEEP_INPUT, KEEP_OUTPUT, KEEP_STATE };

/* Memories that a tape may speak of: GPUs, the host's, the disk. Which is which is models/skeleton/placement.h's. */
enum { PLACE_MAXIMUM = 18 };

struct storage {
    int64_t bytes;
    enum category category;
    const char *label; /* what it is, for people: "encoder.layer.0.output.dense.weight", "LAYERNORM"; never NULL */
    /* Where it is from, for people too. */
    const char *module;  /* path of the module that took it, "encoder.layer.0"; "": none; NULL: not told */
    const char *of;      /* label of the parameter whose gradient, moment or copy it is; NULL: of none */
    const char *kept_by; /* label of the operation that first kept it for its backward pass; NULL: none did */
    enum keep kept_as;
    int place; /* the memory it lies in, below PLACE_MAXIMUM; 0 if there is one */
    /* A library takes it inside of one operation and gives it back at once: an operand as its workspace alone, and no
     * tensor that PyTorch's dispatcher sees. */
    bool is_scratch;
    /* Whoever takes it does with less: if it cannot be had, half of it is asked for, and so on. */
    bool gives_way;
    /* Of a body that is repeated: by how many bytes each repetition's storage is larger than that of the one before. */
    int64_t growth_bytes;
};

/* How one operation looks at one storage. */
struct operand {
    int storage;
    enum dtype dtype;
    int rank;
    int64_t offset; /* in elements, from the start of the storage */
    int64_t size[TENSOR_RANK_MAXIMUM];
    int64_t stride[TENSOR_RANK_MAXIMUM];
};

struct op {
    enum opcode opcode;
    int first_operand; /* operands[first_operand ..): inputs, then outputs, as kernels/operation.h lists them */
    int input_count;
    int operand_count;
    struct operation_attributes attributes;
};

enum event_kind {
    EVENT_ALLOC, /* index: storage */
    EVENT_FREE,  /* index: storage */
    EVENT_RUN,   /* index: op */
    EVENT_STAGE, /* index: enum stage; the stage begins here and ends at the next such event or at the end */
    EVENT_TRIM,  /* index: place; what its allocator caches is given back, as by torch.cuda.empty_cache() */
    EVENT_TOKEN, /* index: 0; a generation has one more token. Only on tapes that tell repetitions once */
    EVENT_REPEAT /* index: repeat; the events before it are carried out again */
};

struct event {
    enum event_kind kind;
    int index;
};

/* Events that are carried out `count` more times: the body, which ends where the EVENT_REPEAT stands. Each repetition
 * takes storages of its own, under the numbers that those of the recorded body have. Before it begins, what the last
 * one has left alive is carried over to the numbers of the body before that (carries), if the events of the body
 * expect it; so a body that gives the cache of its predecessor back does so in every repetition. In repetition i (1 to
 * count) a storage of the body has bytes + i * growth_bytes. After the last one the numbers stand for what it has
 * left. */
struct repeat {
    int first_event, event_count;
    int64_t count;
    int first_storage, storage_count;
    int first_carry, carry_count;
    int operand_count; /* of the body: the same operand of the body before it lies so many before its own */
};

struct carry {
    int from, to; /* storages */
};

/* Memory that no allocator hands out: cudaMallocManaged gives it, and the driver moves it between device and host. It
 * is made by the first step of an optimizer and stays. */
enum { MANAGED_PAGE_BYTES = 2 << 20 }; /* the largest piece of a device's memory that the driver moves */
struct managed_memory {
    int64_t bytes;        /* asked for */
    int64_t pages_bytes;  /* the same, each tensor in whole pieces: the most that they may take of a device */
    int64_t tensor_count; /* 0: a tape without such memory */
};

struct tape; /* opaque; made by build.h */

struct tape_view {
    const struct storage *storages;
    const struct op *ops;
    const struct operand *operands;
    const struct event *events;
    const struct repeat *repeats;
    const struct carry *carries;
    int storage_count, op_count, operand_count, event_count, repeat_count, carry_count;
    /* Distinct storages that the last forward pass kept for the backward pass; parameters and buffers not counted. */
    int64_t saved_for_backward_bytes;
    /* Of the optimizer's states: no storages of the tape. */
    struct managed_memory managed;
    /* The scalar loss of the last step, to be read back after the run: an index into operands, or -1. */
    int loss_operand;
    /* What the tape has storages of, and no arithmetic: it is predicted, and refused by devices that compute. Static;
     * NULL: it runs anywhere. */
    const char *not_run;
    /* Which kernel of attention its calls follow. */
    enum attention_backend attention_backend;
    /* Its first passes try cuDNN's engines (harness/tape/cudnn_search.h), and so have other peaks than later ones. */
    bool searches;
};

/* The arrays of a finished tape. Valid until tape_release. */
struct tape_view tape_view(const struct tape *tape);

void tape_release(struct tape *tape); /* NULL is accepted */

#endif
