/* Operations: names and counts from the one table. What they compute is in the kernels beside this file. */
#include "harness/kernels/operation.h"

static const struct {
    const char *name;
    int inputs;
    int outputs;
} operations[OPCODE_COUNT] = {
#define OPERATION_ROW(name, inputs, outputs) [OPCODE_##name] = {#name, inputs, outputs},
    OPERATION_TABLE(OPERATION_ROW)
#undef OPERATION_ROW
};

const char *opcode_name(enum opcode opcode)
{
    return operations[opcode].name;
}

int opcode_input_count(enum opcode opcode)
{
    return operations[opcode].inputs;
}

int opcode_output_count(enum opcode opcode)
{
    return operations[opcode].outputs;
}

int64_t tensor_element_count(const struct tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count *= tensor->size[i];
    }
    return count;
}

bool tensor_is_dense(const struct tensor *tensor)
{
    int64_t expected = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->size[i] != 1 && tensor->stride[i] != expected) {
            return false;
        }
        expected *= tensor->size[i];
    }
    return true;
}
