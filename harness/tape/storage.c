/* Storages, values and frames: who holds which memory, and the events that follow. Not the graph: see graph.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/size.h"
#include "harness/tape/graph.h"

enum status_code tape_new(const struct target *target, struct tape **tape, struct status *error)
{
    struct tape *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a tape");
    }
    made->target = target;
    made->loss_operand = -1;
    made->stage = STAGE_CONTEXT;
    made->module = "";
    tape_stage(made, STAGE_LOAD);
    *tape = made;
    return STATUS_OK;
}

bool tape_failed(const struct tape *tape)
{
    return tape->error.code != STATUS_OK;
}

void tape_fail(struct tape *tape, enum status_code code, const char *format, ...)
{
    if (tape_failed(tape)) {
        return;
    }
    char text[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    status_set(&tape->error, code, "%s", text);
}

bool array_grow(struct tape *tape, void **array, int *capacity, int count, size_t element_bytes)
{
    if (count < *capacity) {
        return true;
    }
    if (*capacity > (1 << 28)) {
        tape_fail(tape, STATUS_OVERFLOW, "the tape has more than %d entries", 1 << 28);
        return false;
    }
    size_t room = (size_t)*capacity;
    void *grown = array_extend(*array, (size_t)count, &room, element_bytes);
    if (grown == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape of more than %d entries", count);
        return false;
    }
    *array = grown;
    *capacity = (int)room;
    return true;
}

void event_append(struct tape *tape, enum event_kind kind, int index)
{
    if (array_grow(tape, (void **)&tape->events, &tape->event_capacity, tape->event_count, sizeof *tape->events)) {
        tape->events[tape->event_count++] = (struct event){kind, index};
    }
}

void tape_shape(struct tape *tape, struct tape_form form, struct cycle_bounds *bounds)
{
    tape->form = form;
    tape->module = form.unplaced ? NULL : tape->module;
    tape->bounds = bounds;
}

void tape_stage(struct tape *tape, enum stage stage)
{
    if (tape->stage != stage) {
        tape_stage_again(tape, stage);
    }
}

void tape_stage_again(struct tape *tape, enum stage stage)
{
    if (!tape_failed(tape)) {
        tape->stage = stage;
        event_append(tape, EVENT_STAGE, (int)stage);
    }
}

void tape_token(struct tape *tape)
{
    if (!tape_failed(tape) && tape->form.repeats) {
        event_append(tape, EVENT_TOKEN, 0);
    }
}

void tape_gradients(struct tape *tape, bool enabled)
{
    tape->gradients = enabled;
}

void tape_tf32(struct tape *tape, bool products, bool convolutions)
{
    tape->tf32_products = products;
    tape->tf32_convolutions = convolutions;
}

void tape_cudnn_benchmark(struct tape *tape, bool searches)
{
    tape->cudnn_benchmark = searches;
}

void tape_torch(struct tape *tape, struct torch_habits habits)
{
    tape->torch = habits;
}

void tape_bitsandbytes(struct tape *tape, struct bitsandbytes_habits habits)
{
    tape->bitsandbytes = habits;
}

bool tape_gradients_enabled(const struct tape *tape)
{
    return tape->gradients;
}

bool tape_targets_gpu(const struct tape *tape)
{
    return tape->target->capability > 0;
}

void tape_training(struct tape *tape, bool training)
{
    tape->training = training;
}

/* -- shapes and values */

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->size, b->size, sizeof(int64_t) * (size_t)a->rank) == 0;
}

int64_t value_count(const struct value *value)
{
    int64_t count = 1;
    for (int i = 0; i < value->shape.rank; i++) {
        count *= value->shape.size[i]; /* checked when the storage was made; views never grow beyond operands' sizes */
    }
    return count;
}

bool value_is_dense(const struct value *value)
{
    int64_t expected = 1;
    for (int i = value->shape.rank - 1; i >= 0; i--) {
        if (value->shape.size[i] != 1 && value->stride[i] != expected) {
            return false;
        }
        expected *= value->shape.size[i];
    }
    return true;
}

enum dtype value_dtype(const struct value *value)
{
    return value != NULL ? value->dtype : DTYPE_FLOAT32;
}

int64_t value_size(const struct value *value, int dimension)
{
    if (value == NULL) {
        return 0;
    }
    int at = dimension < 0 ? value->shape.rank + dimension : dimension;
    return at >= 0 && at < value->shape.rank ? value->shape.size[at] : 0;
}

static int storage_new(struct tape *tape, enum category category, int64_t bytes, const char *label)
{
    if (!array_grow(tape, (void **)&tape->storages, &tape->storage_capacity, tape->storage_count,
                    sizeof *tape->storages) ||
        !array_grow(tape, (void **)&tape->states, &tape->state_capacity, tape->storage_count, sizeof *tape->states)) {
        return -1;
    }
    int index = tape->storage_count++;
    tape->storages[index] = (struct storage){
        .bytes = bytes, .category = category, .label = label, .module = tape->module, .place = tape->place};
    tape->states[index] = (struct storage_state){0};
    event_append(tape, EVENT_ALLOC, index);
    return index;
}

static struct value *value_take(struct tape *tape)
{
    struct value *value = tape->unused_values;
    if (value != NULL) {
        tape->unused_values = value->same;
    } else if (!tape->form.repeats || array_grow(tape, (void **)&tape->values, &tape->value_capacity, tape->value_count,
                                                 sizeof(struct value *))) {
        value = arena_alloc(&tape->arena, sizeof *value);
        if (value != NULL && tape->form.repeats) {
            tape->values[tape->value_count++] = value;
        }
    }
    return value;
}

/* Takes back the struct of a value that nothing can name any more. */
static void value_recycle(struct tape *tape, struct value *value)
{
    if (value->references == 0 && value->sharers == 0 && !value->listed) {
        value->same = tape->unused_values;
        tape->unused_values = value;
    }
}

/* A value in the open frame, with one reference: the frame's. Its members are set one by one, because a tape makes
 * thousands of values and zeroing each of them first takes longer than all else here. */
static struct value *value_frame(struct tape *tape, int storage, enum dtype dtype, const struct shape *shape,
                                 const int64_t stride[TENSOR_RANK_MAXIMUM], int64_t offset)
{
    if (tape_failed(tape) || tape->stopped ||
        !array_grow(tape, (void **)&tape->frame, &tape->frame_capacity, tape->frame_count, sizeof *tape->frame)) {
        return NULL;
    }
    struct value *value = value_take(tape);
    if (value == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape");
        return NULL;
    }
    value->storage = storage;
    value->dtype = dtype;
    value->shape = *shape;
    memcpy(value->stride, stride, sizeof value->stride);
    value->offset = offset;
    value->references = value->sharers = 1;
    value->framed = value->listed = true;
    value->requires_grad = value->is_leaf = value->is_view = false;
    value->node = NULL;
    value->slot = value->graph = 0;
    value->gradient = value->same = NULL;
    tape->states[storage].references++;
    tape->frame[tape->frame_count++] = value;
    return value;
}

struct value *value_new_in(struct tape *tape, enum category category, enum dtype dtype, const struct shape *shape,
                           const char *label)
{
    if (tape_failed(tape) || tape->stopped) {
        return NULL;
    }
    int64_t stride[TENSOR_RANK_MAXIMUM] = {0}, count = 1, bytes = dtype_bytes(dtype);
    for (int i = shape->rank - 1; i >= 0; i--) {
        stride[i] = count;
        if (!size_multiply(bytes, shape->size[i], &bytes)) {
            tape_fail(tape, STATUS_OVERFLOW, "the size of %s does not fit 63 bits", label);
            return NULL;
        }
        count *= shape->size[i]; /* no more than bytes */
    }
    const int storage = storage_new(tape, category, bytes, label);
    return storage >= 0 ? value_frame(tape, storage, dtype, shape, stride, 0) : NULL;
}

struct value *value_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label)
{
    /* Under training what is not kept for the backward pass is a temporary; node_save makes it an activation. */
    bool passing = tape->gradients || tape->in_backward || tape->stage == STAGE_STEP;
    return value_new_in(tape, passing ? CATEGORY_TEMPORARIES : CATEGORY_ACTIVATIONS, dtype, shape, label);
}

struct value *scratch_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label)
{
    struct value *scratch = value_new(tape, dtype, shape, label);
    if (scratch != NULL) {
        tape->storages[scratch->storage].is_scratch = true;
    }
    return scratch;
}

struct value *scratch_bytes_new(struct tape *tape, int64_t bytes, const char *label)
{
    struct shape shape = {.rank = 1, .size = {bytes}};
    return scratch_new(tape, DTYPE_BOOL, &shape, label);
}

struct value *value_alias(struct tape *tape, struct value *base)
{
    return base != NULL ? value_frame(tape, base->storage, base->dtype, &base->shape, base->stride, base->offset)
                        : NULL;
}

struct value *value_pass(struct tape *tape, struct value *value)
{
    struct value *other = value_alias(tape, value);
    if (other != NULL) {
        other->same = value->same != NULL ? value->same : value;
        other->same->sharers++;
        other->sharers = 0;
        other->is_view = value->is_view;
    }
    return other;
}

bool value_is_sole(const struct value *value)
{
    const struct value *object = value->same != NULL ? value->same : value;
    return object->sharers == 1;
}

struct value *value_retain(struct value *value)
{
    if (value != NULL) {
        value->references++;
    }
    return value;
}

void value_release(struct tape *tape, struct value *value)
{
    if (value == NULL || --value->references > 0) {
        return;
    }
    struct value *object = value->same != NULL ? value->same : value;
    object->sharers--;
    struct storage_state *state = &tape->states[value->storage];
    if (--state->references == 0) {
        event_append(tape, EVENT_FREE, value->storage);
    }
    value_recycle(tape, value);
    if (object != value) {
        value_recycle(tape, object);
    }
}

void value_belongs(struct tape *tape, struct value *value, const struct value *parameter)
{
    if (value != NULL && !tape_failed(tape)) {
        const struct storage *own = &tape->storages[parameter->storage];
        struct storage *storage = &tape->storages[value->storage];
        storage->of = own->label;
        storage->module = own->module;
    }
}

int value_storage_references(const struct tape *tape, const struct value *value)
{
    return tape->states[value->storage].references;
}

struct value *value_broadcast(struct tape *tape, struct value *a, const struct shape *shape)
{
    if (a == NULL || shape_equal(&a->shape, shape)) {
        return a;
    }
    struct value *view = value_alias(tape, a);
    if (view == NULL) {
        return NULL;
    }
    int shift = shape->rank - a->shape.rank;
    view->shape = *shape;
    for (int i = 0; i < shape->rank; i++) {
        bool own = i >= shift && a->shape.size[i - shift] == shape->size[i];
        if (!own && i >= shift && a->shape.size[i - shift] != 1) {
            tape_fail(tape, STATUS_INTERNAL, "a size of %lld cannot be repeated to %lld",
                      (long long)a->shape.size[i - shift], (long long)shape->size[i]);
            return NULL;
        }
        view->stride[i] = own ? a->stride[i - shift] : 0;
    }
    return view;
}

/* -- frames */

int tape_frame_open(struct tape *tape)
{
    return tape->frame_count;
}

void tape_drop(struct tape *tape, struct value *value)
{
    if (value == NULL || tape_failed(tape) || !value->framed) {
        return;
    }
    value->framed = false;
    value_release(tape, value);
}

static bool value_is_among(const struct value *value, struct value *const *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (values[i] == value) {
            return true;
        }
    }
    return false;
}

void tape_frame_close_all(struct tape *tape, int frame, struct value *const *results, int count)
{
    if (tape_failed(tape)) {
        return;
    }
    int kept = frame;
    for (int i = frame; i < tape->frame_count; i++) {
        struct value *value = tape->frame[i];
        if (value->framed && value_is_among(value, results, count)) {
            tape->frame[kept++] = value;
        } else {
            tape_drop(tape, value);
            value->listed = false;
            value_recycle(tape, value);
        }
    }
    tape->frame_count = kept;
}

struct value *tape_frame_close_with(struct tape *tape, int frame, struct value *result, struct value *also)
{
    struct value *const both[] = {result, also};
    tape_frame_close_all(tape, frame, both, 2);
    return tape_failed(tape) ? NULL : result;
}

struct value *tape_frame_close(struct tape *tape, int frame, struct value *result)
{
    tape_frame_close_all(tape, frame, &result, 1);
    return tape_failed(tape) ? NULL : result;
}

/* -- recording */

struct operation_attributes attributes_f(double f0, double f1)
{
    return (struct operation_attributes){.f = {f0, f1}};
}

struct operation_attributes attributes_i(int64_t i0, int64_t i1)
{
    return (struct operation_attributes){.i = {i0, i1}};
}

/* The operation as it stands, wherever its operands lie. */
void operation_append(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                      int input_count, int count, struct value *const *values)
{
    if (tape->form.bare || tape_failed(tape) ||
        !array_grow(tape, (void **)&tape->ops, &tape->op_capacity, tape->op_count, sizeof *tape->ops)) {
        return;
    }
    int first = tape->operand_count;
    for (int i = 0; i < count; i++) {
        const struct value *value = values[i];
        if (!array_grow(tape, (void **)&tape->operands, &tape->operand_capacity, tape->operand_count,
                        sizeof *tape->operands)) {
            return;
        }
        struct operand *operand = &tape->operands[tape->operand_count++];
        *operand = (struct operand){
            .storage = value->storage, .dtype = value->dtype, .rank = value->shape.rank, .offset = value->offset};
        memcpy(operand->size, value->shape.size, sizeof operand->size);
        memcpy(operand->stride, value->stride, sizeof operand->stride);
    }
    tape->ops[tape->op_count] = (struct op){.opcode = opcode,
                                            .first_operand = first,
                                            .input_count = input_count,
                                            .operand_count = count,
                                            .attributes = attributes != NULL ? *attributes : attributes_f(0.0, 0.0)};
    event_append(tape, EVENT_RUN, tape->op_count++);
}

void tape_run(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes, int input_count,
              int count, struct value *const *values)
{
    if (tape_failed(tape) || tape->stopped) {
        return;
    }
    for (int i = 0; i < count && !tape->form.bare; i++) {
        if (values[i] == NULL) {
            tape_fail(tape, STATUS_INTERNAL, "operand %d of %s is missing", i, opcode_name(opcode));
            return;
        }
    }
    if (!tape->has_places || places_settle(tape, opcode, count, values)) {
        operation_append(tape, opcode, attributes, input_count, count, values);
    }
}

enum status_code tape_finish(struct tape *tape, struct status *error)
{
    return tape_failed(tape) ? status_copy(error, tape->error.code, &tape->error) : STATUS_OK;
}
