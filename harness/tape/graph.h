/* The inside of a tape under construction: values, storages' reference counts, and the autograd graph.
 * For the files of harness/tape only. */
#ifndef ASSAY_TAPE_GRAPH_H
#define ASSAY_TAPE_GRAPH_H

#include "harness/base/arena.h"
#include "harness/base/name_table.h"
#include "harness/tape/build.h"
#include "harness/tape/convolution_shape.h"

enum {
    NODE_INPUTS_MAXIMUM = 5,
    NODE_OUTPUTS_OWN = 4,
    NODE_SAVED_MAXIMUM = 8,
    NODE_KEPT_MAXIMUM = 6,
    RECOMPUTATION_CONTEXT_BYTES = 256
};

struct shape {
    int rank;
    int64_t size[TENSOR_RANK_MAXIMUM];
};

/* A tensor object: PyTorch's TensorImpl. */
struct value {
    int storage;
    enum dtype dtype;
    struct shape shape;
    int64_t stride[TENSOR_RANK_MAXIMUM];
    int64_t offset;
    int references;
    bool framed; /* one of the references is a frame's */
    bool listed; /* a frame's list still names it, held or not */
    bool requires_grad;
    bool is_leaf;      /* a parameter or an input: gradients end here */
    struct node *node; /* what made it; for leaves: the node that accumulates its gradient, made when first used */
    int slot;          /* which output of node */
    int graph;         /* of leaves: the graph that `node` belongs to */
    struct value *gradient;
    struct value *same; /* of a passed gradient: the value whose tensor object this is; else NULL */
    int sharers;        /* how many live values are this tensor object; 0 of a passed gradient */
    bool is_view;       /* PyTorch's view, which keeps its base: its storage has a second holder as long as it lives */
};

/* Where the gradient of one input of a node goes. node NULL: not wanted. */
struct edge {
    struct node *node;
    int slot;
    struct shape shape; /* of the input: the gradient is summed to it */
    enum dtype dtype;   /* of the input: the gradient is cast to it */
};

/* Makes the gradients of the inputs that are wanted from the gradients of the outputs, as values of the open frame.
 * gradients_in[k] is left NULL if it is not wanted; a gradient that passes through unchanged is handed on by
 * value_pass. A gradient that never arrived is NULL in gradients_out. */
struct node;
typedef void node_backward(struct tape *tape, struct node *node, struct value **gradients_out,
                           struct value **gradients_in);

struct node {
    node_backward *backward; /* NULL: accumulates into leaf */
    struct value *leaf;
    uint64_t sequence; /* later nodes run first; accumulating ones at once */
    int input_count, output_count;
    struct edge edges[NODE_INPUTS_MAXIMUM];
    bool last_input_first; /* PyTorch's function names the last input before the others: its gradient goes out first */
    struct value *saved[NODE_SAVED_MAXIMUM];
    struct value *kept[NODE_KEPT_MAXIMUM]; /* by the tape's list */
    struct operation_attributes attributes;
    struct value *pending[NODE_OUTPUTS_OWN]; /* gradients that have arrived, one for each output */
    struct value **many; /* the same in place of pending, of a node with more outputs; in the arena */
    int dependencies;
    int visit;         /* of which engine run `dependencies` counts */
    struct node *next; /* list of all nodes of a step, to release what was never run; or of the unused ones */
    struct recomputation *recomputation;
    bool has_place;                            /* in it: something that the second run must fill */
    const char *label, *module;                /* of its result */
    int input_storages[NODE_INPUTS_MAXIMUM];   /* -1: none */
    int output_storage;                        /* -1: not made yet */
    unsigned char kept_as[NODE_SAVED_MAXIMUM]; /* enum keep, by index of saved */
};

struct storage_state {
    int references;
    int saved;        /* how often the graph holds it */
    bool is_argument; /* of recomputed blocks, by position: saved with them */
    bool is_settled;  /* its place is known: it is a leaf, or an operation has used it */
};

/* What the products of one thread have taken; NULL: nothing so far. */
struct workspaces {
    struct value *product, *linear;
};

/* A convolution as cuDNN is asked for it. */
struct searched_convolution {
    enum opcode opcode;
    struct convolution_shape shape;
};

struct cast_entry {
    struct value *from, *to;
};

/* What a function keeps as an attribute of its own, where neither the engine nor a recomputation finds it. */
struct kept_entry {
    struct value *value;
    int graph;
};

/* A value that outlives a lap of a cycle, and how it looks then. */
struct snapshot_value {
    struct value *value;
    struct value form;
};

/* Something that an operation depends on has this size, and the operation does the same up to the most. */
struct size_limit {
    int64_t size, most;
};

/* What a lap leaves alive of its own storages, and the limits that its operations have noted. */
struct snapshot {
    struct snapshot_value *values;
    int value_count, value_capacity;
    bool *alive; /* by storage of the lap */
    int alive_capacity;
    struct size_limit *limits;
    int limit_count, limit_capacity;
};

void snapshot_release(struct snapshot *snapshot);

struct tape {
    struct arena arena;
    struct status error;
    const struct target *target;
    struct storage *storages;
    struct storage_state *states;
    struct op *ops;
    struct operand *operands;
    struct event *events;
    int storage_count, storage_capacity, state_capacity;
    int op_count, op_capacity, operand_count, operand_capacity, event_count, event_capacity;
    struct value **frame;
    int frame_count, frame_capacity;
    struct value *unused_values; /* linked by same; structs are used again, for the caches' sake */
    struct node *nodes, *unused_nodes;
    struct cast_entry *casts;
    int cast_count, cast_capacity;
    struct kept_entry *kept; /* in the order of keeping */
    int kept_count, kept_capacity;
    bool gradients, training, autocast, autocast_uncached, in_backward;
    bool tf32_products, tf32_convolutions; /* allowed */
    bool cudnn_benchmark;
    struct searched_convolution *searched; /* each form, once its engines were tried */
    int searched_count, searched_capacity;
    struct torch_habits torch;
    struct bitsandbytes_habits bitsandbytes;
    struct recomputation *recording; /* the block whose places are being noted, or filled */
    bool refilling;                  /* filled */
    bool stopped;                    /* all places are filled: nothing more is recorded until the block returns */
    enum dtype autocast_dtype;
    enum stage stage;
    int64_t seed;
    uint64_t sequence;
    int graph, visit;
    int64_t saved_bytes, saved_for_backward_bytes;
    struct workspaces forward_workspaces[PLACE_MAXIMUM], backward_workspaces;
    int place;                         /* the tape's own: of what is made of nothing */
    bool has_places;                   /* tape_place was called: otherwise nobody asks where a storage lies */
    struct value *scale_map;           /* of scales that are quantised; NULL until it is needed */
    struct value *moment_maps[2];      /* of 8-bit Adam, signed and unsigned; NULL until it is needed */
    struct value *one;                 /* the gradient of the loss itself, while its graph runs */
    tape_gradient_hook *gradient_hook; /* NULL: none */
    void *gradient_hook_context;
    const char *not_run; /* what has storages here and no arithmetic: static; NULL: nothing */
    struct managed_memory managed;
    int loss_operand;
    enum attention_backend attention_backend;
    const char *module;        /* that takes what is taken; "" outside of all */
    struct name_table modules; /* their paths, in the arena */
    /* -- repetitions (cycle.c) */
    struct tape_form form;
    struct cycle_bounds *bounds; /* borrowed; NULL: repetitions are recorded */
    struct repeat *repeats;
    struct carry *carries;
    int repeat_count, repeat_capacity, carry_count, carry_capacity;
    struct value **values; /* all structs that were ever made, if form.repeats */
    int value_count, value_capacity;
    struct snapshot before, now; /* of the last two laps */
    struct size_limit *limits;   /* of the lap that runs */
    int limit_count, limit_capacity;
    int cycle_count;   /* opened so far */
    int64_t size_step; /* sizes are rounded up to whole multiples of as many elements; 0: none is */
};

/* -- memory (storage.c) */

/* Makes room for one more element of an array that tape_release frees; false after a failure. */
bool array_grow(struct tape *tape, void **array, int *capacity, int count, size_t element_bytes);

/* A new dense value over a new storage; NULL after an error. Held by the open frame. */
struct value *value_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label);
struct value *value_new_in(struct tape *tape, enum category category, enum dtype dtype, const struct shape *shape,
                           const char *label);
/* What a library takes for itself while one operation runs, to be dropped behind it: a value that no operation reads,
 * unless that one takes it as its scratch. Of bytes: as a workspace has them, bool, and what the operation may be given
 * as one. */
struct value *scratch_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label);
struct value *scratch_bytes_new(struct tape *tape, int64_t bytes, const char *label);
/* Another view of the storage of base, with base's dtype, shape, strides and offset to be changed by the caller. */
struct value *value_alias(struct tape *tape, struct value *base);
/* The same tensor object under another name, as when a gradient is handed on unchanged to several places. */
struct value *value_pass(struct tape *tape, struct value *value);
/* Whether nobody else holds this tensor object (others may hold its storage). */
bool value_is_sole(const struct value *value);
struct value *value_retain(struct value *value);
void value_release(struct tape *tape, struct value *value); /* NULL is accepted */
int64_t value_count(const struct value *value);
bool value_is_dense(const struct value *value);
bool shape_equal(const struct shape *a, const struct shape *b);
/* How often the storage of value is held. */
int value_storage_references(const struct tape *tape, const struct value *value);
/* A view of a with stride 0 if it is repeated to fill shape (right-aligned). Not an autograd operation. */
struct value *value_broadcast(struct tape *tape, struct value *a, const struct shape *shape);

/* The place of a storage: its own label and the parameter that it belongs to. NULL is accepted for value. */
void value_belongs(struct tape *tape, struct value *value, const struct value *parameter);

/* -- recording (storage.c) */
void event_append(struct tape *tape, enum event_kind kind, int index);
/* A size that follows a length is rounded up to a whole multiple of so many elements: turns of a cycle differ
 * (cycle.c). */
void size_step_note(struct tape *tape, int64_t step);
/* What is recorded now would not be the same if this size were beyond `most`: no turn is passed over that would take it
 * there. */
void size_limit_note(struct tape *tape, int64_t size, int64_t most);
/* Appends opcode over count values: the first input_count are read. attributes may be NULL. */
void tape_run(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes, int input_count,
              int count, struct value *const *values);
/* The same wherever the operands lie, none of them NULL: for tape_run, and for copies from one place to another. */
void operation_append(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                      int input_count, int count, struct value *const *values);
struct operation_attributes attributes_f(double f0, double f1);
struct operation_attributes attributes_i(int64_t i0, int64_t i1);

/* An operation over these storages: what it makes lies where the rest does. False after an error (place.c). */
bool places_settle(struct tape *tape, enum opcode opcode, int count, struct value *const *values);

/* -- the graph (graph.c) */
/* A node over these inputs; output becomes its result. NULL if none of them needs a gradient, gradients are off, or
 * nothing is recorded: after an error, or once a recomputed block is filled. Only then is an output missing, so that
 * nobody has to look before calling. */
struct node *node_new(struct tape *tape, node_backward *backward, int input_count, struct value *const *inputs,
                      struct value *output);
void node_output(struct node *node, struct value *output, int slot); /* a further output */
/* Room for so many outputs, before the first further one; NODE_OUTPUTS_OWN need no call. node NULL: nothing happens. */
void node_outputs_reserve(struct tape *tape, struct node *node, int count);
/* Another name for a, as when an operation of PyTorch returns its argument. */
struct value *value_share(struct tape *tape, struct value *a);
/* Keeps value until the node has run. node NULL: nothing happens. */
void node_save(struct tape *tape, struct node *node, int index, struct value *value);
/* Keeps value for as long as the graph has a name (tape_graphs_end): a recomputation does not give it up, nor does the
 * node when it has run. That of a second run of a recomputed block goes with that run. node NULL: nothing happens. */
void node_keep(struct tape *tape, struct node *node, int index, struct value *value);
/* Lets go of all that was kept from an entry on. */
void kept_release(struct tape *tape, int first);
bool node_wants(const struct node *node, int input);
/* The backward function of an operation that changes no element: the engine fits shape and dtype to the input's. */
node_backward gradient_pass;

/* Products without a graph of their own (op_product.c). a with all dimensions but the last joined: [rows, columns]. */
struct value *make_rows(struct tape *tape, struct value *a);
/* A view with the last two dimensions exchanged. */
struct value *value_turned(struct tape *tape, struct value *matrix);
struct value *make_product(struct tape *tape, struct value *a, struct value *b, struct value *bias, const char *label);
/* The workspace of one product: cublasLt's for a linear layer with a bias, else cuBLAS's; NULL if the target has
 * none. What the thread lacks is taken: getting a handle takes cuBLAS's, so a biased layer takes both. */
struct value *workspace_take(struct tape *tape, bool biased_linear);
/* cuBLAS's, if this thread has taken it already; else NULL. */
/* Behind the product: gives a workspace back that was taken for it alone. */
void workspace_leave(struct tape *tape, struct value *workspace);
struct value *workspace_held(const struct tape *tape);

/* log_softmax over the last dimension, in the dtype of a, with its graph; nll_loss of it, the mean (op_norm.c). */
struct value *make_log_softmax(struct tape *tape, struct value *a);
struct value *tape_nll_loss(struct tape *tape, struct value *logp, struct value *targets);
/* tape_sum with a result of that dtype (op_grouped.c). */
struct value *tape_sum_in(struct tape *tape, struct value *a, int dimension, bool keeps, enum dtype dtype);

/* The gradient through an operation that has no graph of its own (used by backward functions): plain operations that
 * allocate their result in the open frame. */
struct value *make_add(struct tape *tape, struct value *a, struct value *b);
struct shape shape_join(struct tape *tape, const struct shape *a,
                        const struct shape *b); /* of two that are broadcast */
struct value *make_multiply(struct tape *tape, struct value *a, struct value *b);
struct value *make_scale(struct tape *tape, struct value *a, double factor, double summand);
struct value *make_copy(struct tape *tape, struct value *a, enum dtype dtype, const char *label);
/* OPCODE_SUM of a into sum, which has a's rank and size 1 in each dimension that is summed, each times factor, with the
 * scratch that PyTorch takes (reduction_scratch.h), which is the workspace of the operation. NULL is accepted. */
void sum_run(struct tape *tape, struct value *a, struct value *sum, double factor);
/* The same with other attributes; and in a workspace that is there, NULL: in none. */
void sum_run_with(struct tape *tape, struct value *a, struct value *sum, const struct operation_attributes *attributes);
void sum_run_in(struct tape *tape, struct value *a, struct value *sum, const struct operation_attributes *attributes,
                struct value *workspace);
/* That scratch alone, to be dropped behind the operation; of a tensor that is halved only that of the last part, those
 * before it are taken and given back. */
struct reduction;
struct sum_scratch {
    struct value *partial, *counters; /* NULL: none is taken */
};
struct sum_scratch sum_scratch_take(struct tape *tape, const struct reduction *reduction);
void sum_scratch_drop(struct tape *tape, struct sum_scratch scratch);
/* a itself if it is dense, else a copy. */
struct value *make_dense(struct tape *tape, struct value *a);
struct value *make_sum_to(struct tape *tape, struct value *a, const struct shape *shape);
struct value *make_reshape(struct tape *tape, struct value *a, const struct shape *shape);
struct value *make_binary(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                          struct value *a, struct value *b);
struct value *make_unary(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                         struct value *a);

/* Runs the graph from one output of root, which receives gradient (a value of the open frame; it is dropped). */
void engine_run(struct tape *tape, struct node *root, int slot, struct value *gradient);

/* -- recomputation of blocks (recomputation.c) */
/* True if the recomputation took the value over: the node must not keep it. */
bool recomputation_save(struct tape *tape, struct node *node, int index, struct value *value);
/* Called before a node runs, and after it has let go. */
void recomputation_before(struct tape *tape, struct node *node);
void recomputation_after(struct tape *tape, struct node *node);
/* The graph's own part of saving: value is held by node->saved[index] and counted. */
void node_hold(struct tape *tape, struct node *node, int index, struct value *value);

/* -- attention (op_attention_math.c): inputs are q, k and v; mask is to be added, or NULL */
struct value *attention_math(struct tape *tape, struct value **inputs, struct value *mask,
                             const struct attention_settings *settings);
/* -- views (op_view.c): a part, without a graph */
struct value *value_slice(struct tape *tape, struct value *a, int dimension, int64_t first, int64_t count);
/* Whether elements of it are one in memory, as those of an expanded sum are. */
bool value_repeats(const struct value *value);
/* A copy with count zeros behind the last dimension. */
struct value *tape_pad_last(struct tape *tape, struct value *a, int64_t count);

/* -- autocast (autocast.c): the value as an operation of that kind wants it under autocast */
struct value *autocast_lower(struct tape *tape, struct value *value);
/* All arguments of a call, the last first: the order in which the compiler of PyTorch's wheels evaluates them. */
void autocast_lower_all(struct tape *tape, struct value **values, int count);
struct value *autocast_float32(struct tape *tape, struct value *value);

/* A state of zeros that belongs to the parameter and is held for all steps (optimizer_state.c). */
struct value *optimizer_state_new(struct tape *tape, const struct value *parameter, enum dtype dtype,
                                  const struct shape *shape, const char *label);

/* -- Adafactor (optimizer_adafactor.c): transformers' or torch's. transformers' makes its states as it goes. */
void adafactor_state_make(struct tape *tape, bool transformers, const struct value *parameter,
                          struct optimizer_state *state);
void adafactor_run(struct tape *tape, bool transformers, int count, struct value *const *parameters,
                   struct optimizer_state *states);

/* -- Adam of bitsandbytes (optimizer_bitsandbytes.c) */
void bitsandbytes_state_make(struct tape *tape, const struct optimizer_settings *settings,
                             const struct value *parameter, struct optimizer_state *state);
/* attributes: those of OPCODE_ADAM. */
void bitsandbytes_run(struct tape *tape, const struct operation_attributes *attributes, struct value *parameter,
                      const struct optimizer_state *state, struct value *found);

enum dtype dtype_promote(enum dtype a, enum dtype b);

#endif
