/* Loading on a tape: every tensor of the skeleton where it is kept, with the numbers that a real initialisation gives
 * it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tape/packed.h"
#include "models/forward/own_code.h"
#include "models/forward/prepare_kbit.h"
#include "models/skeleton/quantization.h"
#include "models/workload/era_buffers.h"
#include "models/workload/parameter_groups.h"
#include "models/workload/workload_build.h"

/* Numbers of a table of frequencies, half of those of a head that turn; no model has more than some hundred. */
enum { FREQUENCIES_MAXIMUM = 1 << 14 };

/* theta^(-k/n), one number at a time: the table is short. */
static void frequencies_fill(struct build *build, struct value *value, const struct skeleton_tensor *tensor)
{
    struct tape *tape = build->forward.tape;
    if (tensor->element_count > FREQUENCIES_MAXIMUM) {
        tape_fail(tape, STATUS_INVALID, "'%s' has %lld frequencies, more than a tape holds; write heads of at most %d",
                  tensor->path, (long long)tensor->element_count, 2 * FREQUENCIES_MAXIMUM);
        return;
    }
    for (int64_t k = 0; k < tensor->element_count; k++) {
        int frame = tape_frame_open(tape);
        double exponent = -(double)k / (double)tensor->element_count;
        tape_fill(tape, tape_slice(tape, value, 0, k, 1), pow(tensor->init_constant, exponent));
        tape_frame_close(tape, frame, NULL);
    }
}

static void tensor_fill(struct build *build, struct value *value, const struct skeleton_tensor *tensor)
{
    struct tape *tape = build->forward.tape;
    switch (tensor->initial) {
    case INITIAL_CONSTANT:
        tape_fill(tape, value, tensor->init_constant);
        break;
    case INITIAL_NORMAL:
        tape_init_normal(tape, value, 0.0, tensor->init_deviation);
        break;
    case INITIAL_SEQUENCE:
        tape_sequence(tape, value, 0);
        break;
    case INITIAL_INVERSE_FREQUENCY:
        frequencies_fill(build, value, tensor);
        break;
    case INITIAL_WINDOW:
        tape_fill_window(tape, value, (int64_t)tensor->init_constant);
        break;
    }
}

/* Whether gradients are wanted of a tensor. Under autocast inference a parameter is told by this from an activation. */
static bool tensor_learns(const struct build *build, const struct skeleton_tensor *tensor)
{
    const struct workload *workload = build->forward.workload;
    bool learns = workload->mode == MODE_TRAIN || workload_is_autocast(workload);
    return learns && !tensor->is_buffer && (tensor->is_adapter || workload->lora_rank == 0);
}

/* The tape's own place becomes that in which the tensor is made: where it is kept or the state dict has it, or the host
 * for what goes to the disk. Returns the one before. */
static int tensor_place_open(struct build *build, int index)
{
    const struct placement *placement = build->forward.placement;
    if (placement == NULL) {
        return tape_place_now(build->forward.tape);
    }
    int place = placement->copies[index] >= 0 ? placement->copies[index] : placement->keeps[index];
    place = placement->places[place].kind == PLACE_DISK ? placement->host : place;
    return tape_place(build->forward.tape, place);
}

/* value where it is kept; what the state dict has besides stays for good. */
static struct value *tensor_settle(struct build *build, int index, struct value *value)
{
    const struct placement *placement = build->forward.placement;
    if (placement == NULL) {
        return value;
    }
    if (placement->copies[index] >= 0) {
        tape_hold(build->forward.tape, tape_move(build->forward.tape, value, placement->copies[index]));
    }
    return tape_move(build->forward.tape, value, placement->keeps[index]);
}

static void tensor_load(struct build *build, int index)
{
    const struct workload *workload = build->forward.workload;
    struct tape *tape = build->forward.tape;
    const struct skeleton_tensor *own = &build->forward.skeleton->tensors[index];
    enum dtype dtype = workload_dtype(workload);
    dtype = own->stays_float32 && dtype == DTYPE_FLOAT16 ? DTYPE_FLOAT32 : dtype;
    int before = tensor_place_open(build, index);
    int frame = tape_frame_open(tape);
    struct value *value = tape_leaf(tape, own->is_buffer ? CATEGORY_BUFFERS : CATEGORY_WEIGHTS,
                                    own->rounds_with_model ? dtype : own->dtype, own->rank, own->size,
                                    tensor_learns(build, own), own->path);
    tensor_fill(build, value, own);
    build->forward.values[index] = tape_hold(tape, tensor_settle(build, index, value));
    tape_frame_close(tape, frame, NULL);
    if (build->forward.placement != NULL) {
        tape_place(tape, before);
    }
}

/* Of a checkpoint that stores the head although it is tied: a tensor of its own until tie_weights, which comes last
 * (transformers, modeling_utils.py: _load_state_dict_into_meta_model takes every stored name, from_pretrained ties when
 * all have come). NULL: the case has none. */
static struct value *stored_head_load(struct build *build)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    for (int i = 0; build->forward.workload->stored_head && i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *own = &skeleton->tensors[i];
        if (own->tied_to >= 0 && module_is_output_embedding(&skeleton->modules[own->module])) {
            return tape_leaf(build->forward.tape, CATEGORY_WEIGHTS, workload_dtype(build->forward.workload), own->rank,
                             own->size, false, own->path);
        }
    }
    return NULL;
}

/* As transformers loads for bitsandbytes: the 16-bit tensor comes to the device, is quantised there, and goes. */
static void tensor_load_quantized(struct build *build, int index, enum quantized_form form)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    struct tape *tape = build->forward.tape;
    const struct skeleton_tensor *own = &skeleton->tensors[index];
    int frame = tape_frame_open(tape);
    struct value *whole = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BFLOAT16, own->rank, own->size, false, own->path);
    tensor_fill(build, whole, own);
    struct value *stored = tensor_is_turned(skeleton, index) ? tape_transpose(tape, whole, 0, 1) : whole;
    struct quantized *quantized = &build->quantized[index];
    *quantized = build->forward.workload->double_quant ? tape_quantize_twice(tape, stored, own->path)
                                                       : tape_quantize(tape, form, stored, own->path);
    tape_quantized_hold(tape, quantized);
    tape_frame_close(tape, frame, NULL);
}

static bool weight_has_bias(const struct skeleton *skeleton, const char *path)
{
    char bias[256];
    size_t front = strlen(path) - strlen("weight");
    int length = snprintf(bias, sizeof bias, "%.*sbias", (int)front, path);
    return length > 0 && (size_t)length < sizeof bias && skeleton_find(skeleton, bias) >= 0;
}

/* A checkpoint that GPTQ or AWQ has made: its buffers come to the device as they are stored. */
static void tensor_load_packed(struct build *build, int index)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    struct tape *tape = build->forward.tape;
    const struct skeleton_tensor *own = &skeleton->tensors[index];
    bool turned = tensor_is_turned(skeleton, index);
    int64_t outputs = own->size[turned ? 1 : 0], inputs = own->size[turned ? 0 : 1];
    const char *why;
    if (!packing_fits(&build->packing, outputs, inputs, &why)) {
        tape_fail(tape, STATUS_INVALID,
                  "group_size %lld: %s ('%s', %lld inputs, %lld outputs); write another group_size",
                  (long long)build->packing.group, why, own->path, (long long)inputs, (long long)outputs);
        return;
    }
    int frame = tape_frame_open(tape);
    struct quantized *packed = &build->quantized[index];
    if (build->packing.always_biased && !weight_has_bias(skeleton, own->path)) {
        packed->bias = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT16, 1, &outputs, false, "bias of zeros");
    }
    struct value *bias = tape_hold(tape, packed->bias);
    *packed = tape_packed_make(tape, &build->packing, outputs, inputs, own->path);
    packed->bias = bias;
    struct value *const buffers[] = {packed->codes, packed->zeros, packed->scales, packed->groups};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        tape_hold(tape, buffers[i]);
    }
    tape_frame_close(tape, frame, NULL);
}

/* What the library makes of them when all have come. */
static void packed_prepare(struct build *build)
{
    int count = build->forward.skeleton->tensor_count;
    struct quantized **all = calloc((size_t)count + 1, sizeof *all);
    if (all == NULL) {
        tape_fail(build->forward.tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a list of %d weights", count);
        return;
    }
    for (int i = 0; i < count; i++) {
        all[i] = &build->quantized[i];
    }
    tape_packed_prepare(build->forward.tape, &build->packing, all, count);
    free(all);
}

/* The value of a tensor that is tied to owner, or owner's own: there is one in each place that these are kept in. */
static struct value *tied_value(struct build *build, int index, int owner)
{
    const struct placement *placement = build->forward.placement;
    const struct skeleton *skeleton = build->forward.skeleton;
    struct value *value = build->forward.values[owner];
    if (placement == NULL || placement->keeps[index] == placement->keeps[owner]) {
        return value;
    }
    for (int i = owner; i < skeleton->tensor_count; i++) {
        bool same = skeleton->tensors[i].tied_to == owner && build->forward.values[i] != NULL;
        if (same && placement->keeps[i] == placement->keeps[index]) {
            return build->forward.values[i];
        }
    }
    return tape_hold(build->forward.tape, tape_move(build->forward.tape, value, placement->keeps[index]));
}

/* Whether a parameter is that of an nn.Embedding, or of a class that is derived from it, under any of its names. */
static bool is_embedded(const struct skeleton *skeleton, int index)
{
    static const char ending[] = "Embedding";
    for (int i = index; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        const char *class_name = skeleton->modules[tensor->module].class_name;
        size_t length = strlen(class_name);
        bool is_it = i == index || tensor->tied_to == index;
        if (is_it && length >= strlen(ending) && strcmp(class_name + length - strlen(ending), ending) == 0) {
            return true;
        }
    }
    return false;
}

/* What learns, and the groups of it. */
static void parameters_list(struct build *build)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    bool divides = build->forward.workload->parameter_groups == PARAMETER_GROUPS_DECAY;
    int count = 0;
    for (int group = 0; group < 2; group++) {
        for (int i = 0; i < skeleton->tensor_count; i++) {
            const struct skeleton_tensor *tensor = &skeleton->tensors[i];
            if (!tensor_learns(build, tensor) || tensor->tied_to >= 0 || build->forward.values[i] == NULL) {
                continue;
            }
            if (group == 0) {
                build->parameters[build->parameter_count++] = build->forward.values[i];
            }
            if ((group == 1) == (divides && !parameter_decays(skeleton, tensor))) {
                build->states[count].stays_float32 =
                    build->forward.workload->embedding_states == EMBEDDING_STATES_FLOAT32 && is_embedded(skeleton, i);
                build->stepped[count++] = build->forward.values[i];
            }
        }
        build->decayed_count = group == 0 ? count : build->decayed_count;
    }
}

void tensors_load(struct build *build)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    const struct workload *workload = build->forward.workload;
    struct era_buffers older = era_buffers_of(build);
    enum quantized_form form = QUANTIZED_INT8;
    bool quantizes = precision_is_quantized(workload->precision, &form);
    bool prepares = workload->prepare_kbit;
    build->packing = packing_of(workload, build->forward.config->model_type);
    struct value *head = stored_head_load(build);
    for (int i = 0; i < skeleton->tensor_count; i++) {
        int index = skeleton->load_order[i];
        const struct skeleton_tensor *tensor = &skeleton->tensors[index];
        if (era_lacks(&older, tensor)) {
            continue;
        }
        if (prepares && tensor->is_adapter) { /* the first: adapters come last */
            prepare_kbit(&build->forward);
            prepares = false;
        }
        int owner = tensor->tied_to >= 0 ? tensor->tied_to : index;
        const char *outside =
            tape_module_open(build->forward.tape, skeleton->modules[skeleton->tensors[owner].module].path);
        if (build->forward.values[owner] == NULL && build->quantized[owner].codes == NULL) {
            if (quantizes && tensor_is_quantized(skeleton, owner, workload->quantize)) {
                workload_is_packed(workload) ? tensor_load_packed(build, owner)
                                             : tensor_load_quantized(build, owner, form);
            } else {
                tensor_load(build, owner);
            }
        }
        tape_module_close(build->forward.tape, outside);
        build->forward.values[index] = tied_value(build, index, owner);
        build->quantized[index] = build->quantized[owner];
        era_load_behind(&older, build, i);
    }
    era_load_last(&older, build);
    own_code_tables(&build->forward);
    tape_drop(build->forward.tape, head);
    if (workload_is_packed(workload)) {
        packed_prepare(build);
    }
    parameters_list(build);
}
