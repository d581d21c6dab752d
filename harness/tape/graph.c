/* The autograd graph and its engine: PyTorch's rules of order, of summing and of letting go.
 *
 * Order: of the nodes whose gradients have all arrived, the one made last runs first; nodes that accumulate into a leaf
 * run at once. What a node saved goes when it has run. A second gradient for the same place is added into the first
 * if nobody else holds that. Not here: what each operation's gradient is (op_*.c). */
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/tape/graph.h"
#include "harness/tape/node_queue.h"

/* -- building */

static struct node *node_alloc(struct tape *tape)
{
    struct node *node = tape->unused_nodes;
    if (node != NULL) {
        tape->unused_nodes = node->next;
        memset(node, 0, sizeof *node);
    } else {
        node = arena_alloc(&tape->arena, sizeof *node);
    }
    if (node == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a graph");
        return NULL;
    }
    node->next = tape->nodes;
    tape->nodes = node;
    return node;
}

/* The node that gradients of value go to; NULL if none are wanted. */
static struct node *value_node(struct tape *tape, struct value *value)
{
    if (!value->is_leaf) {
        return value->node;
    }
    if (value->node == NULL || value->graph != tape->graph) {
        struct node *node = node_alloc(tape);
        if (node == NULL) {
            return NULL;
        }
        node->leaf = value;
        node->module = tape->storages[value->storage].module;
        node->sequence = UINT64_MAX;
        node->output_count = 1;
        value->node = node;
        value->graph = tape->graph;
    }
    return value->node;
}

struct node *node_new(struct tape *tape, node_backward *backward, int input_count, struct value *const *inputs,
                      struct value *output)
{
    bool wanted = false;
    for (int i = 0; i < input_count; i++) {
        wanted = wanted || (inputs[i] != NULL && inputs[i]->requires_grad);
    }
    if (!wanted || !tape->gradients || tape_failed(tape) || tape->stopped) {
        return NULL;
    }
    struct node *node = node_alloc(tape);
    if (node == NULL) {
        return NULL;
    }
    node->backward = backward;
    node->sequence = ++tape->sequence;
    node->recomputation = tape->refilling ? NULL : tape->recording;
    node->input_count = input_count;
    node->module = tape->module;
    node->label =
        output != NULL ? tape->storages[output->storage].label : "linear"; /* which alone saves before it is made */
    node->output_storage = output != NULL ? output->storage : -1;
    for (int i = 0; i < input_count; i++) {
        struct value *input = inputs[i];
        node->input_storages[i] = input != NULL ? input->storage : -1;
        if (input != NULL && input->requires_grad) {
            node->edges[i] = (struct edge){value_node(tape, input), input->slot, input->shape, input->dtype};
        }
    }
    node_output(node, output, 0);
    return node;
}

void node_output(struct node *node, struct value *output, int slot)
{
    if (node == NULL || output == NULL) {
        return;
    }
    output->node = node;
    output->slot = slot;
    output->requires_grad = true;
    output->is_leaf = false;
    if (slot >= node->output_count) {
        node->output_count = slot + 1;
    }
}

void node_outputs_reserve(struct tape *tape, struct node *node, int count)
{
    if (node == NULL || count <= NODE_OUTPUTS_OWN) {
        return;
    }
    node->many = arena_alloc(&tape->arena, (size_t)count * sizeof *node->many);
    if (node->many == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a graph");
        return;
    }
    memset(node->many, 0, (size_t)count * sizeof *node->many);
}

static struct value **node_pending(struct node *node)
{
    return node->many != NULL ? node->many : node->pending;
}

static bool storage_is_counted(const struct tape *tape, int storage)
{
    enum category category = tape->storages[storage].category;
    return category != CATEGORY_WEIGHTS && category != CATEGORY_BUFFERS;
}

static enum keep node_keeps_as(const struct node *node, const struct value *value)
{
    if (value->storage == node->output_storage) {
        return KEEP_OUTPUT;
    }
    for (int i = 0; i < node->input_count; i++) {
        if (value->storage == node->input_storages[i]) {
            return KEEP_INPUT;
        }
    }
    return KEEP_STATE;
}

void node_save(struct tape *tape, struct node *node, int index, struct value *value)
{
    if (node == NULL || value == NULL) {
        return;
    }
    node->kept_as[index] = (unsigned char)node_keeps_as(node, value);
    if (!recomputation_save(tape, node, index, value)) {
        node_hold(tape, node, index, value);
    }
}

static void saved_begin(struct tape *tape, struct value *value, const char *label, enum keep kept_as)
{
    value_retain(value);
    struct storage *kept = &tape->storages[value->storage];
    if (kept->kept_by == NULL) {
        kept->kept_by = label;
        kept->kept_as = kept_as;
    }
    struct storage_state *state = &tape->states[value->storage];
    if (state->saved++ == 0 && storage_is_counted(tape, value->storage)) {
        struct storage *storage = &tape->storages[value->storage];
        tape->saved_bytes += storage->bytes;
        if (storage->category == CATEGORY_TEMPORARIES) {
            storage->category = CATEGORY_ACTIVATIONS;
        }
    }
}

static void saved_end(struct tape *tape, struct value *value)
{
    if (--tape->states[value->storage].saved == 0 && storage_is_counted(tape, value->storage)) {
        tape->saved_bytes -= tape->storages[value->storage].bytes;
    }
    value_release(tape, value);
}

void node_hold(struct tape *tape, struct node *node, int index, struct value *value)
{
    node->saved[index] = value;
    saved_begin(tape, value, node->label, (enum keep)node->kept_as[index]);
}

static void node_let_go(struct tape *tape, struct node *node)
{
    for (int i = 0; i < NODE_SAVED_MAXIMUM; i++) {
        struct value *value = node->saved[i];
        node->saved[i] = NULL;
        if (value != NULL) {
            saved_end(tape, value);
        }
    }
}

void node_keep(struct tape *tape, struct node *node, int index, struct value *value)
{
    if (node == NULL || value == NULL || tape_failed(tape) ||
        !array_grow(tape, (void **)&tape->kept, &tape->kept_capacity, tape->kept_count, sizeof *tape->kept)) {
        return;
    }
    tape->kept[tape->kept_count++] = (struct kept_entry){value, tape->graph};
    node->kept[index] = value;
    saved_begin(tape, value, node->label, node_keeps_as(node, value));
}

void kept_release(struct tape *tape, int first)
{
    for (int i = first; i < tape->kept_count; i++) {
        saved_end(tape, tape->kept[i].value);
    }
    tape->kept_count = first;
}

void tape_graphs_end(struct tape *tape)
{
    int kept_count = 0;
    for (int i = 0; i < tape->kept_count && !tape_failed(tape); i++) {
        if (tape->kept[i].graph == tape->graph) {
            tape->kept[kept_count++] = tape->kept[i];
        } else {
            saved_end(tape, tape->kept[i].value);
        }
    }
    tape->kept_count = kept_count;
}

bool node_wants(const struct node *node, int input)
{
    return node->edges[input].node != NULL;
}

struct value *value_share(struct tape *tape, struct value *a)
{
    struct value *other = value_alias(tape, a);
    if (other != NULL && a->requires_grad) {
        other->node = value_node(tape, a);
        other->slot = a->slot;
        other->requires_grad = true;
    }
    return other;
}

void gradient_pass(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    (void)node;
    in[0] = value_pass(tape, out[0]);
}

/* -- the engine */

/* Counts how many gradients each node will receive. */
static void dependencies_count(struct tape *tape, struct node_queue *stack, struct node *root, int visit)
{
    root->visit = visit;
    root->dependencies = 0;
    node_queue_push(tape, stack, root);
    while (stack->count > 0 && !tape_failed(tape)) {
        struct node *node = node_queue_pop(stack);
        for (int i = 0; i < node->input_count; i++) {
            struct node *next = node->edges[i].node;
            if (next == NULL) {
                continue;
            }
            if (next->visit != visit) {
                next->visit = visit;
                next->dependencies = 0;
                node_queue_push(tape, stack, next);
            }
            next->dependencies++;
        }
    }
}

/* PyTorch's AccumulateGrad: the gradient itself if nobody else holds it and it lies as the leaf does, else a
 * copy. */
static void leaf_accumulate(struct tape *tape, struct value *leaf, struct value *gradient)
{
    if (leaf->gradient != NULL) {
        struct value *values[] = {leaf->gradient, gradient, leaf->gradient};
        struct operation_attributes attributes = attributes_f(1.0, 0.0);
        tape_run(tape, OPCODE_ADD, &attributes, 2, 3, values);
        return;
    }
    struct value *kept = gradient;
    if (!value_is_sole(gradient) || !value_is_dense(gradient)) {
        kept = make_copy(tape, gradient, gradient->dtype, "gradient");
    }
    leaf->gradient = value_retain(kept);
    if (kept != NULL) {
        struct storage *storage = &tape->storages[kept->storage];
        storage->category = CATEGORY_GRADIENTS;
        storage->label = storage->of = tape->storages[leaf->storage].label;
        storage->module = tape->storages[leaf->storage].module;
    }
}

/* Brings gradient to the shape and dtype of the input it belongs to. */
static struct value *gradient_fit(struct tape *tape, struct value *gradient, const struct edge *edge)
{
    if (gradient != NULL && !shape_equal(&gradient->shape, &edge->shape)) {
        struct value *whole = gradient;
        gradient = make_sum_to(tape, whole, &edge->shape);
        if (gradient != whole) {
            tape_drop(tape, whole);
        }
    }
    if (gradient != NULL && gradient->dtype != edge->dtype) {
        gradient = make_copy(tape, gradient, edge->dtype, "gradient cast");
    }
    return gradient;
}

/* Adds gradient into a waiting place. */
static void gradient_arrive(struct tape *tape, struct value **place, struct value *gradient)
{
    struct value *old = *place;
    if (old == NULL) {
        *place = value_retain(gradient);
        return;
    }
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    if (old->references == 1 && !old->is_view && !value_repeats(old) && value_storage_references(tape, old) == 1 &&
        old->dtype == gradient->dtype) {
        struct value *values[] = {old, gradient, old};
        tape_run(tape, OPCODE_ADD, &attributes, 2, 3, values);
        return;
    }
    *place = value_retain(make_add(tape, old, gradient));
    value_release(tape, old);
}

static void node_deliver(struct tape *tape, struct node_queue *ready, struct node *node, struct value **gradients)
{
    for (int k = 0; k < node->input_count; k++) {
        int i = node->last_input_first ? (k + node->input_count - 1) % node->input_count : k;
        struct edge *edge = &node->edges[i];
        if (edge->node == NULL) {
            continue;
        }
        if (gradients[i] != NULL) {
            struct value *gradient = gradients[i];
            gradients[i] = NULL;
            gradient_arrive(tape, &node_pending(edge->node)[edge->slot], gradient);
            tape_drop(tape, gradient);
        }
        if (--edge->node->dependencies == 0) {
            node_queue_push(tape, ready, edge->node);
        }
    }
}

/* What the frame holds but the gradients: it goes first, then what the function was given, then what the node saved. */
static void temporaries_drop(struct tape *tape, int frame, struct value *const *gradients, int count)
{
    for (int i = frame; i < tape->frame_count && !tape_failed(tape); i++) {
        bool passed_on = false;
        for (int k = 0; k < count; k++) {
            passed_on = passed_on || tape->frame[i] == gradients[k];
        }
        if (!passed_on) {
            tape_drop(tape, tape->frame[i]);
        }
    }
}

static void node_run(struct tape *tape, struct node_queue *ready, struct node *node)
{
    int frame = tape_frame_open(tape);
    const char *outside = tape->module;
    tape->module = node->module != NULL ? node->module : outside;
    struct value **gradients_out = node_pending(node); /* nothing more arrives here */
    struct value *gradients_in[NODE_INPUTS_MAXIMUM] = {NULL};
    bool any = false;
    for (int i = 0; i < node->output_count; i++) {
        any = any || gradients_out[i] != NULL;
    }
    if (any && node->leaf != NULL) {
        leaf_accumulate(tape, node->leaf, gradients_out[0]);
        if (tape->gradient_hook != NULL && !tape_failed(tape)) {
            tape->gradient_hook(tape->gradient_hook_context, tape, node->leaf);
        }
    } else if (any) {
        recomputation_before(tape, node);
        node->backward(tape, node, gradients_out, gradients_in);
        temporaries_drop(tape, frame, gradients_in, node->input_count);
        if (node->has_place) { /* what was recomputed has no other holder than the function that has returned */
            node_let_go(tape, node);
        }
        for (int i = 0; i < node->input_count; i++) {
            if (node->edges[i].node != NULL) {
                gradients_in[i] = gradient_fit(tape, gradients_in[i], &node->edges[i]);
            }
        }
    }
    temporaries_drop(tape, frame, gradients_in, node->input_count);
    for (int i = 0; i < node->output_count; i++) {
        struct value *gradient = gradients_out[i];
        gradients_out[i] = NULL;
        value_release(tape, gradient);
    }
    node_let_go(tape, node);
    recomputation_after(tape, node);
    node_deliver(tape, ready, node, gradients_in);
    tape_frame_close(tape, frame, NULL);
    tape->module = outside;
}

/* Runs the graph from node, which receives gradient (owned by the caller). */
void engine_run(struct tape *tape, struct node *root, int slot, struct value *gradient)
{
    struct node_queue ready = {0};
    bool gradients = tape->gradients;
    tape->gradients = false;
    dependencies_count(tape, &ready, root, ++tape->visit);
    ready.count = 0;
    node_pending(root)[slot] = value_retain(gradient);
    tape_drop(tape, gradient);
    node_queue_push(tape, &ready, root);
    while (ready.count > 0 && !tape_failed(tape)) {
        node_run(tape, &ready, node_queue_pop(&ready));
    }
    free(ready.nodes);
    tape->gradients = gradients;
}

/* Lets go of what nodes that never ran have saved, and takes back the structs of all: the graph is no more. */
static void nodes_clear(struct tape *tape)
{
    while (tape->nodes != NULL) {
        struct node *node = tape->nodes;
        node_let_go(tape, node);
        recomputation_after(tape, node);
        tape->nodes = node->next;
        node->next = tape->unused_nodes;
        tape->unused_nodes = node;
    }
    tape->graph++;
}

void tape_backward(struct tape *tape, struct value *loss)
{
    if (tape_failed(tape) || loss == NULL) {
        return;
    }
    if (loss->node == NULL) {
        tape_fail(tape, STATUS_INTERNAL, "the loss has no graph");
        return;
    }
    tape->saved_for_backward_bytes = tape->saved_bytes;
    tape->in_backward = true;
    struct value *seed = value_new(tape, loss->dtype, &loss->shape, "loss gradient");
    tape_fill(tape, seed, 1.0);
    if (!tape_failed(tape)) {
        tape->one = value_retain(seed); /* held by the call for as long as it lasts */
        engine_run(tape, loss->node, loss->slot, seed);
        nodes_clear(tape);
        value_release(tape, seed);
        tape->one = NULL;
    }
    tape->in_backward = false;
}

void tape_gradient_hook_set(struct tape *tape, tape_gradient_hook *hook, void *context)
{
    tape->gradient_hook = hook;
    tape->gradient_hook_context = context;
}

struct value *tape_gradient(struct value *leaf)
{
    return leaf != NULL ? leaf->gradient : NULL;
}

void tape_gradient_drop(struct tape *tape, struct value *leaf)
{
    if (leaf != NULL && !tape_failed(tape)) {
        value_release(tape, leaf->gradient);
        leaf->gradient = NULL;
    }
}
