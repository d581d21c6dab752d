/* Writes what this program makes of one training step of a model, for model_check.py to hold against PyTorch:
 *   model_export CONFIG_JSON PRECISION ATTENTION DEVICE SEED FILE
 * FILE is in the safetensors format: 8 bytes, the header's length; a JSON header with dtype, shape and place of each
 * tensor; the tensors. weight.* is the state dict before the step, input.* the batch, gradient.* and loss the outcome.
 * Not a test: it knows nothing of what is right. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "models/find/config_file.h"
#include "tests/models/model_step.h"

enum { TEXT_BATCH = 3, TEXT_SEQ = 13, IMAGE_BATCH = 8 };

/* A file under construction. */
struct export_file {
    struct text header, data;
};

static const char *dtype_code(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT32 ? "F32" : dtype == DTYPE_FLOAT16 ? "F16" : dtype == DTYPE_BFLOAT16 ? "BF16" : "I64";
}

static void tensor_export(struct export_file *made, const char *kind, const char *name, enum dtype dtype, int rank,
                          const int64_t *size, const void *bytes, int64_t byte_count)
{
    text_format(&made->header, "%s\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", made->header.length > 0 ? "," : "{", kind,
                name, dtype_code(dtype));
    for (int d = 0; d < rank; d++) {
        text_format(&made->header, "%s%" PRId64, d > 0 ? "," : "", size[d]);
    }
    text_format(&made->header, "],\"data_offsets\":[%zu,%zu]}", made->data.length,
                made->data.length + (size_t)byte_count);
    text_append_bytes(&made->data, bytes, (size_t)byte_count);
}

static void storage_export(struct export_file *made, const struct tape_machine *machine, int storage, const char *kind,
                           const char *name, enum precision precision, int rank, const int64_t *size)
{
    int64_t bytes = machine_bytes(machine, storage), count = 1;
    char *elements = malloc((size_t)bytes + 1);
    if (elements == NULL) {
        made->data.failed = true;
        return;
    }
    for (int d = 0; d < rank; d++) {
        count *= size[d];
    }
    machine_read(machine, storage, elements);
    tensor_export(made, kind, name, model_step_dtype(machine, storage, count, precision), rank, size, elements, bytes);
    free(elements);
}

/* What a state dict holds: parameters, tied ones under each of their names, and persistent buffers. */
static void weights_export(struct export_file *made, const struct tape_machine *machine, enum precision precision)
{
    const struct skeleton *skeleton = &machine->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        const char *owner = tensor->tied_to >= 0 ? skeleton->tensors[tensor->tied_to].path : tensor->path;
        int storage = machine_find(machine, tensor->is_buffer ? CATEGORY_BUFFERS : CATEGORY_WEIGHTS, owner);
        if (storage >= 0 && (!tensor->is_buffer || tensor->persistent)) {
            storage_export(made, machine, storage, "weight.", tensor->path, precision, tensor->rank, tensor->size);
        }
    }
}

static void inputs_export(struct export_file *made, const struct tape_machine *machine, const struct workload *workload)
{
    const struct config *config = &machine->config;
    const int64_t pixels[] = {workload->batch, config->channels, config->image, config->image};
    const int64_t ids[] = {workload->batch, workload->seq};
    const struct {
        const char *name;
        int rank;
        const int64_t *size;
    } rows[] = {{"input_ids", 2, ids}, {"pixel_values", 4, pixels}, {"labels", 1, ids}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int storage = machine_find(machine, CATEGORY_INPUTS, rows[i].name);
        if (storage >= 0) {
            storage_export(made, machine, storage, "input.", rows[i].name, workload->precision, rows[i].rank,
                           rows[i].size);
        }
    }
}

static void gradients_export(struct export_file *made, const struct tape_machine *machine, enum precision precision)
{
    for (int i = 0; i < machine->skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &machine->skeleton.tensors[i];
        int storage = machine_find(machine, CATEGORY_GRADIENTS, tensor->path);
        if (storage >= 0 && tensor->tied_to < 0) {
            storage_export(made, machine, storage, "gradient.", tensor->path, precision, tensor->rank, tensor->size);
        }
    }
}

static bool export_write(struct export_file *made, const char *path)
{
    FILE *file = fopen(path, "wb");
    unsigned char length[8];
    text_append(&made->header, "}");
    while (made->header.length % 8 != 0) {
        text_append(&made->header, " ");
    }
    for (int i = 0; i < 8; i++) {
        length[i] = (unsigned char)((uint64_t)made->header.length >> (8 * i));
    }
    bool whole = file != NULL && !made->header.failed && !made->data.failed &&
                 fwrite(length, 1, sizeof length, file) == sizeof length &&
                 fwrite(made->header.data, 1, made->header.length, file) == made->header.length &&
                 fwrite(made->data.data, 1, made->data.length, file) == made->data.length;
    if (file != NULL && fclose(file) != 0) {
        whole = false;
    }
    text_release(&made->header);
    text_release(&made->data);
    return whole;
}

int main(int count, char **arguments)
{
    struct status error = {0};
    struct config config;
    struct tape_machine machine;
    struct export_file made = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    if (count != 7) {
        fprintf(stderr, "usage: model_export CONFIG_JSON PRECISION ATTENTION DEVICE SEED FILE\n");
        return 2;
    }
    if (workload_set(&workload, "precision", arguments[2], &error) != STATUS_OK ||
        workload_set(&workload, "attention", arguments[3], &error) != STATUS_OK ||
        config_read(arguments[1], arguments[1], &config, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        return 2;
    }
    bool images = config.vocab == 0;
    workload.batch = images ? IMAGE_BATCH : TEXT_BATCH;
    workload.seq = images ? 0 : TEXT_SEQ;
    model_step_begin(&machine, arguments[4], arguments[1], &workload, DTYPE_FLOAT32, strtoull(arguments[5], NULL, 10));
    weights_export(&made, &machine, workload.precision);
    inputs_export(&made, &machine, &workload);
    model_step_finish(&machine);
    gradients_export(&made, &machine, workload.precision);
    float loss = (float)machine_loss(&machine);
    tensor_export(&made, "", "loss", DTYPE_FLOAT32, 0, NULL, &loss, sizeof loss);
    machine_close(&machine);
    if (!export_write(&made, arguments[6])) {
        fprintf(stderr, "%s cannot be written\n", arguments[6]);
        return 2;
    }
    return 0;
}
