/* Contracts read from the patterns of the kernels' check. Shapes have no part in it. */
#include "tests/conformance/contract.h"

#include <string.h>

#include "harness/kernels/body_check.h"

static const char *pattern_of(enum opcode opcode)
{
    switch (opcode) {
    case OPCODE_MATMUL:
        return "ff(f)(B)f";
    case OPCODE_INTEGER_MATMUL:
        return "kkw";
    case OPCODE_SCALED_MATMUL:
        return "eeSS(f)(B)f";
    case OPCODE_CONVOLUTION:
        return "FF(F)(B)F";
    case OPCODE_CONVOLUTION_BACKWARD_INPUT:
    case OPCODE_CONVOLUTION_BACKWARD_WEIGHT:
        return "FF(B)F";
    default:
        return call_pattern(opcode);
    }
}

static bool letter_takes(char letter, enum dtype dtype)
{
    const struct tensor empty = {.dtype = dtype, .rank = 1};
    return tensor_check(&empty, letter) == NULL;
}

bool contract_of(enum opcode opcode, struct contract *contract)
{
    bool optional = false;
    *contract = (struct contract){0};
    for (const char *letter = pattern_of(opcode); *letter != '\0'; letter++) {
        if (*letter == '(' || *letter == ')') {
            optional = *letter == '(';
            continue;
        }
        int at = contract->operand_count++;
        contract->operands[at].optional = optional;
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            contract->operands[at].takes[dtype] = letter_takes(*letter, (enum dtype)dtype);
            contract->operands[at].choice_count += contract->operands[at].takes[dtype];
        }
        if (*letter == 'D') { /* whatever the first tensor has: nothing is left to choose */
            memcpy(contract->operands[at].takes, contract->operands[0].takes, sizeof contract->operands[at].takes);
            contract->operands[at].choice_count = 1;
        }
    }
    return contract->operand_count > 0;
}

void contract_operands(const struct contract *contract, const struct operation_call *call,
                       int operands[OPERATION_TENSORS_MAXIMUM])
{
    int missing = contract->operand_count - call->tensor_count, optional_left = 0, t = 0;
    for (int operand = 0; operand < contract->operand_count; operand++) {
        optional_left += contract->operands[operand].optional;
    }
    for (int operand = 0; operand < contract->operand_count && t < call->tensor_count; operand++) {
        bool optional = contract->operands[operand].optional;
        bool fits = contract->operands[operand].takes[call->tensors[t].dtype];
        if (optional && missing > 0 && (!fits || optional_left == missing)) {
            missing--;
        } else {
            operands[t++] = operand;
        }
        optional_left -= optional;
    }
}

const char *class_name(int class)
{
    return class == CLASS_MIXED ? "mixed" : dtype_name((enum dtype) class);
}

int contract_class(const struct contract *contract, const struct operation_call *call)
{
    int found = -1, operands[OPERATION_TENSORS_MAXIMUM] = {0};
    contract_operands(contract, call, operands);
    for (int t = 0; t < call->tensor_count; t++) {
        int dtype = (int)call->tensors[t].dtype;
        if (contract->operands[operands[t]].choice_count < 2) {
            continue;
        }
        if (!letter_takes('f', call->tensors[t].dtype)) {
            return dtype;
        }
        found = found < 0 || found == dtype ? dtype : CLASS_MIXED;
    }
    return found >= 0 ? found : (int)call->tensors[call->tensor_count - 1].dtype;
}

bool contract_has_class(const struct contract *contract, int class)
{
    int free_count = 0, taking = 0, floating = 0;
    for (int operand = 0; operand < contract->operand_count; operand++) {
        bool is_free = contract->operands[operand].choice_count > 1;
        free_count += is_free;
        taking += is_free && class < DTYPE_COUNT && contract->operands[operand].takes[class];
        floating += is_free && contract->operands[operand].takes[DTYPE_FLOAT32];
    }
    if (class == CLASS_MIXED) {
        return floating > 1 && floating == free_count; /* else the class is that of one that cannot be floating */
    }
    if (free_count == 0) {
        return contract->operands[contract->operand_count - 1].takes[class];
    }
    return letter_takes('f', (enum dtype) class) ? taking == free_count : taking > 0;
}
