/* Product cases: the table, and what each case counts as. */
#include "tests/bench/product_case.h"

const struct product_case product_cases[] = {
    {"MATMUL float32 1024 x 1024 x 1024", OPCODE_MATMUL, DTYPE_FLOAT32, false, 1, 1024, 1024, 1024, 0, 0},
    {"MATMUL float32, linear layer 2048 x 3072 x 768", OPCODE_MATMUL, DTYPE_FLOAT32, true, 1, 2048, 3072, 768, 0, 0},
    {"MATMUL float32, scores of 48 heads 512 x 512 x 64", OPCODE_MATMUL, DTYPE_FLOAT32, true, 48, 512, 512, 64, 0, 0},
    {"MATMUL bfloat16, linear layer 2048 x 3072 x 768", OPCODE_MATMUL, DTYPE_BFLOAT16, true, 1, 2048, 3072, 768, 0, 0},
    {"INTEGER_MATMUL int8, linear layer 2048 x 3072 x 768", OPCODE_INTEGER_MATMUL, DTYPE_INT8, true, 1, 2048, 3072, 768,
     0, 0},
    {"SCALED_MATMUL float8, linear layer 2048 x 3072 x 768", OPCODE_SCALED_MATMUL, DTYPE_FLOAT8_E4M3FN, true, 1, 2048,
     3072, 768, 0, 0},
    {"ATTENTION float32, 4 x 12 heads 512 x 512 x 64", OPCODE_ATTENTION, DTYPE_FLOAT32, false, 4, 512, 512, 64, 12, 0},
    {"ATTENTION float32, the same, dropout", OPCODE_ATTENTION, DTYPE_FLOAT32, false, 4, 512, 512, 64, 12, 0.1},
    {"ATTENTION_BACKWARD float32, the same, dropout", OPCODE_ATTENTION_BACKWARD, DTYPE_FLOAT32, false, 4, 512, 512, 64,
     12, 0.1},
    {"ATTENTION bfloat16, the same", OPCODE_ATTENTION, DTYPE_BFLOAT16, false, 4, 512, 512, 64, 12, 0},
    {"ATTENTION_BACKWARD bfloat16, the same", OPCODE_ATTENTION_BACKWARD, DTYPE_BFLOAT16, false, 4, 512, 512, 64, 12, 0},
    {"CONVOLUTION float32, 8 images 28 x 28, 128 to 128 channels", OPCODE_CONVOLUTION, DTYPE_FLOAT32, false, 8, 784,
     128, 128, 0, 0},
    {"CONVOLUTION_BACKWARD_INPUT float32, the same", OPCODE_CONVOLUTION_BACKWARD_INPUT, DTYPE_FLOAT32, false, 8, 784,
     128, 128, 0, 0},
    {"CONVOLUTION_BACKWARD_WEIGHT float32, the same", OPCODE_CONVOLUTION_BACKWARD_WEIGHT, DTYPE_FLOAT32, false, 8, 784,
     128, 128, 0, 0},
};

const int product_case_count = sizeof product_cases / sizeof product_cases[0];

bool product_is_plain(enum opcode opcode)
{
    return opcode == OPCODE_MATMUL || opcode == OPCODE_INTEGER_MATMUL || opcode == OPCODE_SCALED_MATMUL;
}

bool product_is_convolution(enum opcode opcode)
{
    return opcode == OPCODE_CONVOLUTION || opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT ||
           opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
}

double product_operation_count(const struct product_case *product)
{
    double count = 2.0 * product->batch * product->m * product->n * product->k;
    switch (product->opcode) {
    case OPCODE_ATTENTION:
        return 2 * count * product->heads;
    case OPCODE_ATTENTION_BACKWARD:
        return 5 * count * product->heads;
    default:
        return product_is_convolution(product->opcode) ? 9 * count : count;
    }
}
