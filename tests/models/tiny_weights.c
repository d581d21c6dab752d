/* Weights and inputs of tiny models that real PyTorch was given too. Not the figures that it got: the tests read
 * them. */
#include "tests/models/tiny_weights.h"
#include "models/config/family.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TINY_SEQ = 8 };

const char *config_path(const char *name, char path[256])
{
    bool ours = strncmp(name, "tiny-", 5) == 0;
    snprintf(path, 256, ours ? "models/catalogue/%s/config.json" : "peers/pytorch/tiny/%s/config.json", name);
    return path;
}

struct workload tiny_workload(enum mode mode)
{
    struct workload workload = workload_default(mode);
    workload.batch = 2;
    workload.seq = TINY_SEQ;
    return workload;
}

void machine_open_tiny(struct tape_machine *machine, const char *name, const struct workload *workload, int step_count,
                       double learning_rate)
{
    char path[256];
    machine_open(machine, config_path(name, path), workload, step_count, learning_rate);
}

double tiny_loss_after(const char *name, const struct workload *workload, int step_count, double learning_rate)
{
    struct tape_machine machine;
    machine_open_tiny(&machine, name, workload, step_count, learning_rate);
    machine_run_until(&machine, STAGE_GENERATE, 1); /* there is none: to the end */
    double loss = machine_loss(&machine);
    machine_close(&machine);
    return loss;
}

double mix(uint64_t k)
{
    uint32_t x = (uint32_t)k;
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    return (double)x / 4294967296.0 - 0.5;
}

static bool path_ends(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}

bool is_norm_weight(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    const char *class_name = skeleton->modules[tensor->module].class_name;
    return path_ends(tensor->path, "weight") && (strstr(class_name, "Norm") != NULL && tensor->rank == 1);
}

static void parameters_fill(struct tape_machine *machine)
{
    const struct skeleton *skeleton = &machine->skeleton;
    bool images = !machine->config.family->has_attention;
    int index = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->is_buffer || tensor->tied_to >= 0) {
            continue;
        }
        int storage = machine_find(machine, CATEGORY_WEIGHTS, tensor->path);
        assert_true(storage >= 0);
        float *values = machine_floats(machine, storage);
        for (int64_t k = 0; k < tensor->element_count; k++) {
            double value = 0.02 * sin(0.37 * (double)k + 1.3 * index) + (is_norm_weight(skeleton, tensor) ? 1.0 : 0.0);
            if (images && tensor->rank > 1) {
                value = 0.1 * mix((uint64_t)k + 1000003u * (uint64_t)index);
            }
            values[k] = (float)value;
        }
        index++;
    }
}

/* (step * k + first) modulo bound, if the model is fed such labels. */
static void labels_fill(struct tape_machine *machine, const char *name, int64_t step, int64_t first, int64_t bound)
{
    int storage = machine_find(machine, CATEGORY_INPUTS, name);
    int64_t *labels = storage >= 0 ? (int64_t *)(void *)machine_floats(machine, storage) : NULL;
    for (int64_t k = 0; labels != NULL && k < machine_bytes(machine, storage) / 8; k++) {
        labels[k] = (step * k + first) % bound;
    }
}

static void inputs_fill(struct tape_machine *machine)
{
    int ids = machine_find(machine, CATEGORY_INPUTS, "input_ids");
    int pixels = machine_find(machine, CATEGORY_INPUTS, "pixel_values");
    int labels = machine_find(machine, CATEGORY_INPUTS, "labels");
    if (ids >= 0) {
        int64_t *tokens = (int64_t *)(void *)machine_floats(machine, ids);
        for (int64_t k = 0; k < machine_bytes(machine, ids) / 8; k++) {
            tokens[k] = (7 * k + 3) % machine->config.vocab;
        }
        if (machine->skeleton.task == NULL) {
            return; /* labels are the ids, or a copy of them in which padding does not count */
        }
        labels_fill(machine, "labels", 1, 0, machine->config.labels);
        labels_fill(machine, "start_positions", 3, 1, TINY_SEQ);
        labels_fill(machine, "end_positions", 5, 2, TINY_SEQ);
        return;
    }
    assert_true(pixels >= 0 && labels >= 0);
    float *values = machine_floats(machine, pixels);
    for (int64_t k = 0; k < machine_bytes(machine, pixels) / 4; k++) {
        values[k] = (float)(!machine->config.family->has_attention ? 2.0 * mix((uint64_t)k) : sin(0.01 * (double)k));
    }
    int64_t *classes = (int64_t *)(void *)machine_floats(machine, labels);
    for (int64_t k = 0; k < machine_bytes(machine, labels) / 8; k++) {
        classes[k] = k % machine->config.classes;
    }
}

/* The first forward pass is the third such stage: inputs are made in the first, and nothing is dropped in the
 * second. */
enum { FIRST_PASS = 3 };

void machine_prepare(struct tape_machine *machine)
{
    machine_rewind(machine);
    assert_true(machine_run_until(machine, STAGE_FORWARD, FIRST_PASS));
    parameters_fill(machine);
    inputs_fill(machine);
}

double norm_of(const struct tape_machine *machine, int storage)
{
    double sum = 0.0;
    const float *values = machine_floats(machine, storage);
    for (int64_t k = 0; k < machine_bytes(machine, storage) / 4; k++) {
        sum += (double)values[k] * (double)values[k];
    }
    return sqrt(sum);
}
