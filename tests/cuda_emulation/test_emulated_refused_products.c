/* Products that cuBLAS or cublasLt refuses (EMULATED_CUBLAS) are made all the same; those that fail for want of memory
 * are told apart from other failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "harness/kernels/convert.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/run/run_scene.h"

enum { ELEMENTS = 4096, WORKSPACE_BYTES = 64 * 1024, INPUTS = 5, MIB = 1024 * 1024 };

/* The emulated device reads the host's memory. */
static _Alignas(256) unsigned char workspace_bytes[WORKSPACE_BYTES];
static _Alignas(256) float numbers[INPUTS][ELEMENTS], result[ELEMENTS];

/* Multiples of 1/8 from -1 to 1: their products and sums are exact in every dtype. */
static void tensor_fill(struct tensor *tensor, float *data)
{
    tensor->data = data;
    for (int64_t i = 0; i < ELEMENTS; i++) {
        if (tensor->dtype == DTYPE_INT8) {
            ((int8_t *)data)[i] = (int8_t)(i * 7 % 17 - 8);
        } else {
            float_store(data, tensor->dtype, i, (float)(i * 7 % 17 - 8) / 8.0f);
        }
    }
}

static struct tensor dense(enum dtype dtype, int rank, const int64_t *size)
{
    struct tensor tensor = {.dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        tensor.size[d] = size[d];
        tensor.stride[d] = stride;
        stride *= size[d];
    }
    return tensor;
}

#define SIZE(...) ((const int64_t[]){__VA_ARGS__})

struct product {
    enum opcode opcode;
    int input_count;
    struct tensor inputs[INPUTS], out;
    struct operation_attributes attributes;
};

/* b of [k, n] as the rows of [n, k], along which int8 and float8 are multiplied. */
static struct tensor transposed(enum dtype dtype, int64_t k, int64_t n)
{
    struct tensor tensor = dense(dtype, 2, SIZE(n, k));
    tensor.size[0] = k;
    tensor.size[1] = n;
    tensor.stride[0] = 1;
    tensor.stride[1] = k;
    return tensor;
}

/* Through cuBLAS; in batches that do not merge; through cublasLt; int8 with an odd number of rows and of columns;
 * float8; a convolution, whose products have a quarter of the workspace. */
static int products_list(struct product *products)
{
    const enum dtype f32 = DTYPE_FLOAT32, b16 = DTYPE_BFLOAT16, f8 = DTYPE_FLOAT8_E4M3FN;
    const struct operation_attributes one = {.f = {1.0}};
    int count = 0;
    struct tensor far = dense(f32, 4, SIZE(2, 3, 4, 8));
    far.stride[0] = 128;
    products[count++] = (struct product){
        OPCODE_MATMUL, 2, {dense(f32, 2, SIZE(5, 7)), dense(f32, 2, SIZE(7, 9))}, dense(f32, 2, SIZE(5, 9)), one};
    products[count++] = (struct product){
        OPCODE_MATMUL, 2, {far, dense(f32, 4, SIZE(2, 3, 8, 4))}, dense(f32, 4, SIZE(2, 3, 4, 4)), one};
    products[count++] =
        (struct product){OPCODE_MATMUL,
                         3,
                         {dense(b16, 2, SIZE(8, 16)), dense(b16, 2, SIZE(16, 32)), dense(b16, 1, SIZE(32))},
                         dense(b16, 2, SIZE(8, 32)),
                         one};
    products[count++] = (struct product){OPCODE_INTEGER_MATMUL,
                                         2,
                                         {dense(DTYPE_INT8, 2, SIZE(5, 8)), transposed(DTYPE_INT8, 8, 7)},
                                         dense(DTYPE_INT32, 2, SIZE(5, 7)),
                                         one};
    products[count++] =
        (struct product){OPCODE_SCALED_MATMUL,
                         4,
                         {dense(f8, 2, SIZE(16, 32)), transposed(f8, 32, 16), dense(f32, 0, NULL), dense(f32, 0, NULL)},
                         dense(b16, 2, SIZE(16, 16)),
                         one};
    products[count++] =
        (struct product){OPCODE_CONVOLUTION,
                         3,
                         {dense(f32, 4, SIZE(2, 3, 6, 6)), dense(f32, 4, SIZE(4, 3, 3, 3)), dense(f32, 1, SIZE(4))},
                         dense(f32, 4, SIZE(2, 4, 4, 4)),
                         {.i = {1, 0, 0}}};
    return count;
}

/* Leaves the product in result. refusals: what cuBLAS is to refuse; NULL: nothing. */
static enum status_code product_make(struct device *device, const struct product *product, int64_t bytes,
                                     const char *refusals, struct status *error)
{
    struct operation_call call = {.opcode = product->opcode, .attributes = product->attributes};
    for (int i = 0; i < product->input_count; i++) {
        call.tensors[i] = product->inputs[i];
        tensor_fill(&call.tensors[i], numbers[i]);
    }
    call.input_count = product->input_count;
    if (bytes > 0) {
        call.tensors[call.input_count++] =
            (struct tensor){.data = workspace_bytes, .dtype = DTYPE_BOOL, .rank = 1, .size = {bytes}, .stride = {1}};
    }
    call.tensors[call.input_count] = product->out;
    call.tensors[call.input_count].data = result;
    call.tensor_count = call.input_count + 1;
    memset(result, 0, sizeof result);
    assert_int_equal(refusals != NULL ? setenv("EMULATED_CUBLAS", refusals, 1) : unsetenv("EMULATED_CUBLAS"), 0);
    enum status_code code = device->table->run(device, &call, error);
    unsetenv("EMULATED_CUBLAS");
    return code;
}

static void what_is_refused_is_made_another_way(void **state)
{
    static const char *const refusals[] = {"unsupported:1", "unsupported:2", "workspace", "rows"};
    static const int64_t workspaces[] = {0, 512, 16 * 1024 - 256, WORKSPACE_BYTES};
    static float expected[ELEMENTS];
    struct product products[8];
    struct status error = {0};
    struct device *device = NULL;
    int count = products_list(products);
    (void)state;
    assert_int_equal(device_open("cuda:1", &device, &error), STATUS_OK);
    for (int p = 0; p < count; p++) {
        for (int k = 0; k < (int)(sizeof refusals / sizeof refusals[0]) * 4; k++) {
            int64_t bytes = workspaces[k % 4];
            assert_int_equal(product_make(device, &products[p], bytes, NULL, &error), STATUS_OK);
            memcpy(expected, result, sizeof expected);
            if (product_make(device, &products[p], bytes, refusals[k / 4], &error) != STATUS_OK) {
                fail_msg("%s, workspace %d: %s", refusals[k / 4], (int)bytes, error.text);
            }
            assert_memory_equal(result, expected, sizeof expected);
        }
    }
    device_close(device);
}

/* How a case ends on a GPU of so many bytes whose second product is answered with a code of cuBLAS. */
static const char *status_of(struct scene *scene, const char *call, const char *gpu_bytes)
{
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", gpu_bytes, 1), 0);
    fault_plan(scene->folder, call);
    measure(scene, "cuda:0");
    fault_unplan();
    unsetenv("EMULATED_DEVICE_BYTES");
    return text_at(case_at(scene, 0), "status");
}

/* ALLOC_FAILED, EXECUTION_FAILED and INTERNAL_ERROR of cuBLAS and of cublasLt. */
static void a_full_gpu_is_out_of_memory_and_no_error(void **state)
{
    static const struct {
        const char *call, *with_room;
    } rows[] = {{"cublasGemm:2:3", "ok"},         {"cublasGemm:2:13", "error"},     {"cublasGemm:2:14", "error"},
                {"cublasLtMatmul:2:3", "ok"},     {"cublasLtMatmul:2:13", "error"}, {"cublasLtMatmul:2:14", "error"},
                {"cublasLtMatmul:2:700", "error"}};
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_lost = strstr(rows[i].call, ":700") != NULL; /* then nothing is told of the memory */
        assert_string_equal(status_of(scene, rows[i].call, "67108864"), is_lost ? "error" : "oom");
        assert_string_equal(status_of(scene, rows[i].call, "4294967296"), rows[i].with_room);
    }
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "67108864", 1), 0);
    assert_int_equal(setenv("EMULATED_CUBLAS", "full:67108864", 1), 0); /* from the first product on */
    measure(scene, "cuda:0");
    assert_string_equal(text_at(case_at(scene, 0), "status"), "oom");
    assert_non_null(strstr(text_at(case_at(scene, 0), "reason"), "CUBLAS_STATUS_EXECUTION_FAILED"));
    unsetenv("EMULATED_CUBLAS");
    unsetenv("EMULATED_DEVICE_BYTES");
}

/* How often the record of a case says that such a library declined a product of this operation with this word. */
static int64_t declined_count(const struct json *line, const char *operation, const char *library, const char *status)
{
    const struct json *rows = json_get(line, "declined_products");
    int64_t count = 0;
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        bool is_it = strcmp(text_at(row, "operation"), operation) == 0 &&
                     strcmp(text_at(row, "library"), library) == 0 && strcmp(text_at(row, "status"), status) == 0;
        count += is_it ? integer_at(row, "count") : 0;
    }
    return count;
}

/* The linear layers of tiny-bert have a bias, so that cublasLt is asked first; their gradients have none. */
static void the_record_says_what_was_refused(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: 4, precision: bfloat16, for: sm_80}\n");
    measure(scene, "cuda:0");
    const struct json *rows = json_get(case_at(scene, 0), "declined_products");
    assert_int_equal(json_kind(rows), JSON_KIND_ARRAY);
    assert_int_equal(json_count(rows), 0);
    assert_int_equal(setenv("EMULATED_CUBLAS", "unsupported:1", 1), 0);
    measure(scene, "cuda:0");
    unsetenv("EMULATED_CUBLAS");
    int64_t linear = declined_count(case_at(scene, 0), "MATMUL", "cublasLt", "CUBLAS_STATUS_NOT_SUPPORTED");
    int64_t all = declined_count(case_at(scene, 0), "MATMUL", "cuBLAS", "CUBLAS_STATUS_NOT_SUPPORTED");
    assert_true(linear > 0 && all > linear);
    assert_int_equal(json_count(json_get(case_at(scene, 0), "declined_products")), 2);
    measure(scene, "host");
    assert_int_equal(json_kind(json_get(case_at(scene, 0), "declined_products")), JSON_KIND_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: its children read what they are told when they open the device, and the other opens it here. */
        cmocka_unit_test_setup_teardown(a_full_gpu_is_out_of_memory_and_no_error, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(the_record_says_what_was_refused, scene_open, scene_close),
        cmocka_unit_test(what_is_refused_is_made_another_way),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
