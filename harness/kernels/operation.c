/* Operations: names, patterns and counts from the one table. What they compute is in the kernels beside this file. */
#include "harness/kernels/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *pattern;
    enum product_kind product;
} operations[OPCODE_COUNT] = {
#define KERNEL_ROW(name, pattern, check, host, launch) {#name, (pattern), PRODUCT_NONE},
#define PRODUCT_ROW(name, pattern, kind)               {#name, (pattern), (kind)},
    OPERATION_TABLE(KERNEL_ROW, PRODUCT_ROW)
#undef KERNEL_ROW
#undef PRODUCT_ROW
};

const char operation_list[] =
#define KERNEL_WORDS(name, pattern, check, host, launch) #name " " pattern "\n"
#define PRODUCT_WORDS(name, pattern, kind)               #name " " pattern "\n"
    OPERATION_TABLE(KERNEL_WORDS, PRODUCT_WORDS);
#undef KERNEL_WORDS
#undef PRODUCT_WORDS

const char *opcode_name(enum opcode opcode)
{
    return operations[opcode].name;
}

const char *opcode_pattern(enum opcode opcode)
{
    return operations[opcode].pattern;
}

enum product_kind opcode_product(enum opcode opcode)
{
    return (unsigned)opcode < OPCODE_COUNT ? operations[opcode].product : PRODUCT_NONE;
}

int opcode_input_count(enum opcode opcode)
{
    int count = 0;
    for (const char *c = operations[opcode].pattern; *c != '>'; c++) {
        count += *c == '(' ? -1 : *c != ')'; /* the letter in brackets does not count */
    }
    return count;
}

int opcode_output_count(enum opcode opcode)
{
    return (int)strlen(strchr(operations[opcode].pattern, '>') + 1);
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

const char *call_describe(const struct operation_call *call, char text[CALL_TEXT_BYTES])
{
    int used = snprintf(text, CALL_TEXT_BYTES, "%s", opcode_name(call->opcode));
    for (int i = 0; i < call->tensor_count && used < CALL_TEXT_BYTES; i++) {
        const struct tensor *tensor = &call->tensors[i];
        used += snprintf(text + used, (size_t)(CALL_TEXT_BYTES - used), "%s %s [", i == call->input_count ? " ->" : "",
                         dtype_name(tensor->dtype));
        for (int d = 0; d < tensor->rank && used < CALL_TEXT_BYTES; d++) {
            used += snprintf(text + used, (size_t)(CALL_TEXT_BYTES - used), "%s%" PRId64, d > 0 ? ", " : "",
                             tensor->size[d]);
        }
        if (used < CALL_TEXT_BYTES) {
            used += snprintf(text + used, (size_t)(CALL_TEXT_BYTES - used), "]");
        }
    }
    return text;
}
