/* Contracts read from the patterns of the table of operations. Shapes have no part in them. */
#include "tests/conformance/contract.h"

#include <string.h>

#include "harness/kernels/call_check.h"

void contract_of(enum opcode opcode, struct contract *contract)
{
    bool optional = false;
    *contract = (struct contract){0};
    for (const char *letter = opcode_pattern(opcode); *letter != '\0'; letter++) {
        if (*letter == '(' || *letter == ')' || *letter == '>') {
            optional = *letter == '(';
            continue;
        }
        int at = contract->operand_count++;
        contract->operands[at].optional = optional;
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            contract->operands[at].takes[dtype] = pattern_letter_takes(*letter, (enum dtype)dtype);
            contract->operands[at].choice_count += contract->operands[at].takes[dtype];
        }
        if (*letter == 'D') { /* whatever the first tensor has: nothing is left to choose */
            memcpy(contract->operands[at].takes, contract->operands[0].takes, sizeof contract->operands[at].takes);
            contract->operands[at].choice_count = 1;
        }
    }
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
        if (!pattern_letter_takes('f', call->tensors[t].dtype)) {
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
    return pattern_letter_takes('f', (enum dtype) class) ? taking == free_count : taking > 0;
}
