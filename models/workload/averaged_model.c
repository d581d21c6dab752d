/* Averaged model: when which tensors are averaged, of torch 2.11's AveragedModel with get_ema_multi_avg_fn, and of
 * timm 1.0.31's ModelEmaV3 and ModelEmaV2 as their constructors are called without further words. What that takes for
 * one tensor is the tape's matter (harness/tape/weight_average.c). Not here: averages on the host, and for some steps
 * only.
 *
 * Each is copy.deepcopy of the model: all parameters and buffers, tied ones once. AveragedModel copies at its first
 * update and then asks how often it has done so, an int64 of the host's that is brought to the device for each dtype
 * (8 bytes). timm's walk the state dict, where tied weights stand twice and buffers that are not persistent do not.
 * ModelEmaV2 makes each average anew: of the old one and the weight by their shares, and their sum, three tensors for a
 * moment. ModelEmaV3 writes where it reads; of bfloat16 it rounds by chance, in chunks of 4,194,304 elements that are
 * joined, made float32, and given random bits. */
#include "models/workload/averaged_model.h"

#include <stdlib.h>

static const double decay = 0.999;

static int owner_of(const struct build *build, int index)
{
    int tied = build->forward.skeleton->tensors[index].tied_to;
    return tied >= 0 ? tied : index;
}

void averaged_model_begin(struct build *build)
{
    struct tape *tape = build->forward.tape;
    if (build->forward.workload->weight_average == WEIGHT_AVERAGE_NONE) {
        return;
    }
    for (int i = 0; i < build->forward.skeleton->tensor_count && !tape_failed(tape); i++) {
        int owner = owner_of(build, i);
        if (build->averages[owner] == NULL && build->forward.values[owner] != NULL) {
            int frame = tape_frame_open(tape);
            build->averages[owner] = tape_average_new(tape, build->forward.values[owner]);
            tape_frame_close(tape, frame, NULL);
        }
    }
}

/* AveragedModel.update_parameters */
static void torch_update(struct build *build, bool is_first)
{
    struct tape *tape = build->forward.tape;
    const struct skeleton *skeleton = build->forward.skeleton;
    int64_t one = 1;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        struct value *count = NULL;
        for (int i = 0; i < skeleton->tensor_count; i++) {
            struct value *value = build->forward.values[i], *average = build->averages[i];
            if (average == NULL || skeleton->tensors[i].is_buffer || value_dtype(value) != (enum dtype)dtype) {
                continue;
            }
            if (is_first) {
                tape_copy_into(tape, value, average);
                continue;
            }
            if (count == NULL) {
                count = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 0, &one, false, "n_averaged");
            }
            tape_average_lerp(tape, average, value, decay);
        }
        tape_drop(tape, count);
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        if (build->averages[i] != NULL && skeleton->tensors[i].is_buffer) {
            tape_copy_into(tape, build->forward.values[i], build->averages[i]);
        }
    }
}

/* ModelEmaV3.update: what is rounded by chance is put aside, and comes first. */
static void timm_v3_update(struct build *build, struct value **averages, struct value **values)
{
    struct tape *tape = build->forward.tape;
    const struct skeleton *skeleton = build->forward.skeleton;
    int rounded = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        struct value *value = build->forward.values[owner_of(build, i)], *average = build->averages[owner_of(build, i)];
        if (average == NULL || !skeleton->tensors[i].persistent) {
            continue;
        }
        if (value_dtype(value) == DTYPE_BFLOAT16) {
            averages[rounded] = average;
            values[rounded++] = value;
        } else if (dtype_is_floating(value_dtype(value))) {
            tape_average_lerp(tape, average, value, decay);
        } else {
            tape_copy_into(tape, value, average);
        }
    }
    tape_average_round(tape, rounded, averages, values, decay);
}

static void timm_v2_update(struct build *build)
{
    const struct skeleton *skeleton = build->forward.skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        struct value *average = build->averages[owner_of(build, i)];
        if (average != NULL && skeleton->tensors[i].persistent) {
            tape_average_add(build->forward.tape, average, build->forward.values[owner_of(build, i)], decay);
        }
    }
}

void averaged_model_update(struct build *build, int update)
{
    struct tape *tape = build->forward.tape;
    size_t count = (size_t)build->forward.skeleton->tensor_count + 1;
    struct value **lists = NULL;
    int frame = tape_frame_open(tape);
    switch (build->forward.workload->weight_average) {
    case WEIGHT_AVERAGE_AVERAGED_MODEL:
        torch_update(build, update == 1);
        break;
    case WEIGHT_AVERAGE_TIMM_EMA:
        lists = calloc(2 * count, sizeof *lists);
        if (lists == NULL) {
            tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a list of averages");
        } else {
            timm_v3_update(build, lists, lists + count);
        }
        free(lists);
        break;
    case WEIGHT_AVERAGE_TIMM_EMA_V2:
        timm_v2_update(build);
        break;
    case WEIGHT_AVERAGE_NONE:
    case WEIGHT_AVERAGE_COUNT:
        break;
    }
    tape_frame_close(tape, frame, NULL);
}
