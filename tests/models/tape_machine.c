/* A tape on a device for tests: see tape_machine.h. */
#include "tests/models/tape_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/convert.h"
#include "models/find/config_file.h"

static void require(enum status_code code, const struct status *error)
{
    if (code != STATUS_OK) {
        fail_msg("%s", error->text);
    }
}

void machine_open_on(struct tape_machine *machine, const char *device_spec, const char *target_name, const char *path,
                     const struct workload *workload, int step_count, double learning_rate)
{
    struct status error = {0};
    const struct target *target = NULL;
    *machine = (struct tape_machine){0};
    require(config_read(path, path, &machine->config, &error), &error);
    require(workload_skeleton(&machine->config, workload, &machine->skeleton, &error), &error);
    require(target_find(target_name, &target, &error), &error);
    struct training_plan plan = {.step_count = step_count, .learning_rate = learning_rate};
    require(
        workload_tape_planned(&machine->config, &machine->skeleton, workload, target, &plan, &machine->tape, &error),
        &error);
    machine->view = tape_view(machine->tape);
    require(device_open(device_spec, &machine->device, &error), &error);
    machine->memory = calloc((size_t)machine->view.storage_count + 1, sizeof *machine->memory);
    assert_non_null(machine->memory);
}

void machine_open_for(struct tape_machine *machine, const char *target_name, const char *path,
                      const struct workload *workload, int step_count, double learning_rate)
{
    machine_open_on(machine, "host", target_name, path, workload, step_count, learning_rate);
}

void machine_open(struct tape_machine *machine, const char *path, const struct workload *workload, int step_count,
                  double learning_rate)
{
    machine_open_for(machine, "host", path, workload, step_count, learning_rate);
}

/* On the host a storage is malloc's, so that sanitizers see its ends. */
static bool machine_is_on_host(const struct tape_machine *machine)
{
    return strcmp(machine->device->table->kind, "host") == 0;
}

/* A storage may be empty; a segment may not. */
static int64_t segment_bytes(const struct tape_machine *machine, int storage)
{
    return machine_bytes(machine, storage) + 64;
}

static void storage_take(struct tape_machine *machine, int storage)
{
    struct status error = {0};
    int64_t bytes = segment_bytes(machine, storage);
    const struct device_table *table = machine->device->table;
    unsigned char *poison = malloc((size_t)bytes);
    assert_non_null(poison);
    memset(poison, 0xff, (size_t)bytes); /* NaN, in every floating dtype */
    if (machine_is_on_host(machine)) {
        machine->memory[storage] = poison;
        return;
    }
    require(table->segment_alloc(machine->device, bytes, &machine->memory[storage], &error), &error);
    require(table->copy_from_host(machine->device, machine->memory[storage], poison, bytes, &error), &error);
    free(poison);
}

static void storage_drop(struct tape_machine *machine, int storage)
{
    struct status error = {0};
    void *memory = machine->memory[storage];
    if (machine_is_on_host(machine)) {
        free(memory);
    } else if (memory != NULL) {
        int64_t bytes = segment_bytes(machine, storage);
        require(machine->device->table->segment_free(machine->device, memory, bytes, &error), &error);
    }
    machine->memory[storage] = NULL;
}

void machine_read(const struct tape_machine *machine, int storage, void *bytes)
{
    struct status error = {0};
    const struct device_table *table = machine->device->table;
    require(table->synchronize(machine->device, &error), &error);
    require(
        table->copy_to_host(machine->device, bytes, machine->memory[storage], machine_bytes(machine, storage), &error),
        &error);
}

void machine_write(const struct tape_machine *machine, int storage, const void *bytes)
{
    struct status error = {0};
    require(machine->device->table->copy_from_host(machine->device, machine->memory[storage], bytes,
                                                   machine_bytes(machine, storage), &error),
            &error);
}

void machine_rewind(struct tape_machine *machine)
{
    for (int i = 0; i < machine->view.storage_count; i++) {
        storage_drop(machine, i);
    }
    machine->position = 0;
    machine->stage = STAGE_CONTEXT;
}

void machine_close(struct tape_machine *machine)
{
    machine_rewind(machine);
    free(machine->memory);
    device_close(machine->device);
    tape_release(machine->tape);
    skeleton_release(&machine->skeleton);
}

static void operation_run(struct tape_machine *machine, const struct op *op)
{
    struct status error = {0};
    struct operation_call call = {.opcode = op->opcode,
                                  .input_count = op->input_count,
                                  .tensor_count = op->operand_count,
                                  .attributes = op->attributes};
    for (int i = 0; i < op->operand_count; i++) {
        const struct operand *operand = &machine->view.operands[op->first_operand + i];
        struct tensor *tensor = &call.tensors[i];
        assert_non_null(machine->memory[operand->storage]);
        tensor->data = (char *)machine->memory[operand->storage] + operand->offset * dtype_bytes(operand->dtype);
        tensor->dtype = operand->dtype;
        tensor->rank = operand->rank;
        memcpy(tensor->size, operand->size, sizeof tensor->size);
        memcpy(tensor->stride, operand->stride, sizeof tensor->stride);
    }
    require(machine->device->table->run(machine->device, &call, &error), &error);
}

bool machine_run_until(struct tape_machine *machine, enum stage stage, int occurrence)
{
    for (; machine->position < machine->view.event_count; machine->position++) {
        struct event event = machine->view.events[machine->position];
        if (event.kind == EVENT_STAGE) {
            if ((enum stage)event.index == stage && --occurrence == 0) {
                return true;
            }
            machine->stage = (enum stage)event.index;
        } else if (event.kind == EVENT_ALLOC) {
            storage_take(machine, event.index);
        } else if (event.kind == EVENT_FREE) {
            storage_drop(machine, event.index);
        } else {
            operation_run(machine, &machine->view.ops[event.index]);
        }
    }
    return false;
}

int machine_find(const struct tape_machine *machine, enum category category, const char *label)
{
    for (int i = 0; i < machine->view.storage_count; i++) {
        const struct storage *storage = &machine->view.storages[i];
        if (machine->memory[i] != NULL && storage->category == category && strcmp(storage->label, label) == 0) {
            return i;
        }
    }
    return -1;
}

int64_t machine_bytes(const struct tape_machine *machine, int storage)
{
    return machine->view.storages[storage].bytes;
}

float *machine_floats(const struct tape_machine *machine, int storage)
{
    return machine->memory[storage];
}

double machine_loss(const struct tape_machine *machine)
{
    const struct operand *operand = &machine->view.operands[machine->view.loss_operand];
    unsigned char bytes[sizeof(int64_t)] = {0};
    assert_non_null(machine->memory[operand->storage]);
    assert_in_range(machine_bytes(machine, operand->storage), dtype_bytes(operand->dtype), sizeof bytes);
    machine_read(machine, operand->storage, bytes);
    return (double)float_load(bytes, operand->dtype, 0);
}
