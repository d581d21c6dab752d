/* The check of a call: number, dtypes and density of its tensors by the pattern of the operation, then its shapes and
 * attributes by the operation's own check, which is in one of the call_check_*.c files beside this one. */
#include "harness/kernels/call_check.h"

#include <stddef.h>
#include <string.h>

#include "harness/kernels/call_check_shape.h"

const char kernel_unknown[] = "the operation is not one of the kernels";

static shape_check *const shape_checks[OPCODE_COUNT] = {
#define KERNEL_CHECK(name, pattern, check, host, launch) (check),
#define PRODUCT_CHECK(name, pattern, kind)               NULL,
    OPERATION_TABLE(KERNEL_CHECK, PRODUCT_CHECK)
#undef KERNEL_CHECK
#undef PRODUCT_CHECK
};

bool pattern_letter_takes(char letter, enum dtype dtype)
{
    if ((unsigned)dtype >= DTYPE_COUNT) {
        return false;
    }
    switch (letter | 0x20) { /* as a small letter */
    case 'f':
        return dtype_is_floating(dtype);
    case 'n':
        return dtype_is_floating(dtype) || dtype == DTYPE_UINT8;
    case 's':
        return dtype == DTYPE_FLOAT32;
    case 'i':
        return dtype == DTYPE_INT64;
    case 'w':
        return dtype == DTYPE_INT32;
    case 'b':
        return dtype == DTYPE_BOOL;
    case 'u':
        return dtype == DTYPE_UINT8;
    case 'k':
        return dtype == DTYPE_INT8;
    case 'e':
        return dtype == DTYPE_FLOAT8_E4M3FN;
    case 'q':
        return dtype == DTYPE_INT8 || dtype == DTYPE_FLOAT8_E4M3FN || dtype == DTYPE_NF4X2;
    default:
        return letter == 'a' || letter == 'A' || letter == 'D';
    }
}

static const char *tensor_check(const struct tensor *tensor, char letter)
{
    if (!pattern_letter_takes(letter, tensor->dtype)) {
        return "a tensor has a dtype that the operation does not take";
    }
    if (tensor->rank < 0 || tensor->rank > TENSOR_RANK_MAXIMUM) {
        return "a tensor has a rank beyond the maximum";
    }
    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->size[d] < 0) {
            return "a tensor has a negative size";
        }
    }
    bool must_be_dense = letter >= 'A' && letter <= 'Z';
    if (must_be_dense && tensor_element_count(tensor) > 0 && !tensor_is_dense(tensor)) {
        return "a tensor is not dense";
    }
    if (tensor->data == NULL && tensor_element_count(tensor) > 0) {
        return "a tensor has no memory";
    }
    return NULL;
}

/* An output in which two elements share memory would be written twice. */
static bool is_broadcast(const struct tensor *tensor)
{
    for (int d = 0; d < tensor->rank && tensor_element_count(tensor) > 0; d++) {
        if (tensor->size[d] > 1 && tensor->stride[d] == 0) {
            return true;
        }
    }
    return false;
}

/* No kernel has more than one tensor that may be left out. */
static const char *pattern_check(const struct operation_call *call)
{
    int required = opcode_input_count(call->opcode), outputs = opcode_output_count(call->opcode);
    const char *pattern = opcode_pattern(call->opcode);
    bool with_optional = strchr(pattern, '(') != NULL && call->input_count == required + 1;
    if (call->input_count != call->tensor_count - outputs || (call->input_count != required && !with_optional)) {
        return "the operation has a wrong number of tensors";
    }
    int t = 0;
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c == '(' && !with_optional) {
            c += 2;
        }
        if (*c == '(' || *c == ')' || *c == '>') {
            continue;
        }
        const char *wrong = tensor_check(&call->tensors[t], *c);
        if (wrong == NULL && t >= call->input_count && is_broadcast(&call->tensors[t])) {
            wrong = "an output is a broadcast view";
        }
        if (wrong != NULL) {
            return wrong;
        }
        t++;
    }
    return NULL;
}

const char *call_check(const struct operation_call *call)
{
    if ((unsigned)call->opcode >= OPCODE_COUNT || shape_checks[call->opcode] == NULL) {
        return kernel_unknown;
    }
    const char *wrong = pattern_check(call);
    return wrong != NULL ? wrong : shape_checks[call->opcode](call);
}
