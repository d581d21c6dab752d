/* Quantised storage against bitsandbytes and torchao: which bytes stand for each parameter, which codes stand for the
 * elements of a matrix, and what those are worth. The other side is peers/quantization/stored.jsonl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/kernels/kernel_host.h"
#include "models/find/config_file.h"
#include "models/workload/workload_tape.h"
#include "tests/support/whole_file.h"

static const char stored_path[] = "peers/quantization/stored.jsonl";

enum { LINES_MAXIMUM = 64 };

static struct json *lines[LINES_MAXIMUM];
static int line_count;

static int lines_read(void **state)
{
    (void)state;
    char *text = whole_file_read(stored_path);
    size_t length = 0;
    for (const char *line = text; *line != '\0'; line += length + (line[length] == '\n' ? 1 : 0)) {
        struct status error = {0};
        length = strcspn(line, "\n");
        assert_true(line_count < LINES_MAXIMUM);
        if (json_parse_text(stored_path, line, length, &lines[line_count++], &error) != STATUS_OK) {
            print_error("%s\n", error.text);
            return -1;
        }
    }
    free(text);
    return 0;
}

static int lines_release(void **state)
{
    (void)state;
    while (line_count > 0) {
        json_release(lines[--line_count]);
    }
    return 0;
}

static const char *text_of(const struct json *line, const char *key)
{
    return json_string_or(json_get(line, key), "");
}

/* What is held of a path when a load has ended. */
static int64_t held_bytes(const struct tape_view *view, const char *path)
{
    int64_t bytes = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        bool memory = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
        if (memory && strcmp(view->storages[event.index].label, path) == 0) {
            bytes += event.kind == EVENT_ALLOC ? view->storages[event.index].bytes : -view->storages[event.index].bytes;
        }
    }
    return bytes;
}

static void model_check(const struct json *line)
{
    struct status error = {0};
    struct config config;
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    char path[128];
    struct workload workload = workload_default(MODE_LOAD);
    snprintf(path, sizeof path, "peers/pytorch/tiny/%s/config.json", text_of(line, "model"));
    assert_int_equal(workload_set(&workload, "precision", text_of(line, "precision"), &error), STATUS_OK);
    assert_int_equal(workload_set(&workload, "head", text_of(line, "head"), &error), STATUS_OK);
    assert_int_equal(config_read(path, text_of(line, "model"), &config, &error), STATUS_OK);
    assert_int_equal(skeleton_build(&config, workload.head, &skeleton, &error), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, &error), STATUS_OK);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_OK);
    struct tape_view view = tape_view(tape);
    const struct json *stored = json_get(line, "stored");
    assert_true(json_count(stored) > 0);
    for (const char *name = json_key_after(stored, NULL); name != NULL; name = json_key_after(stored, name)) {
        const struct json *parts = json_get(stored, name);
        int64_t wanted = json_integer_or(json_get(parts, "weight"), -1) + json_integer_or(json_get(parts, "SCB"), 0) +
                         json_integer_or(json_get(parts, "absmax"), 0) + json_integer_or(json_get(parts, "code"), 0);
        if (held_bytes(&view, name) != wanted) {
            fail_msg("%s %s %s: %s: %lld bytes, the library %lld", text_of(line, "model"), text_of(line, "head"),
                     text_of(line, "precision"), name, (long long)held_bytes(&view, name), (long long)wanted);
        }
    }
    tape_release(tape);
    skeleton_release(&skeleton);
}

static void every_parameter_takes_the_bytes_of_the_library(void **state)
{
    (void)state;
    int models = 0;
    for (int i = 0; i < line_count; i++) {
        if (json_get(lines[i], "model") != NULL) {
            assert_true(json_boolean_or(json_get(lines[i], "tables_are_apart"), false));
            model_check(lines[i]);
            models++;
        }
    }
    assert_int_equal(models, 6 * 2 * 2);
}

/* The elements of an array of whole numbers as little-endian integers of that size; released with free. */
static void *bits_of(const struct json *line, const char *key, size_t size)
{
    const struct json *array = json_get(line, key);
    size_t count = json_count(array);
    unsigned char *bits = malloc(count * size + 1);
    assert_non_null(bits);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        int64_t value = json_integer_or(json_at(array, i), 0);
        memcpy(bits + i * size, &value, size); /* two's complement, little-endian: what the libraries run on too */
    }
    return bits;
}

static const struct json *values_of(const char *precision)
{
    for (int i = 0; i < line_count; i++) {
        if (strcmp(text_of(lines[i], "values"), precision) == 0) {
            return lines[i];
        }
    }
    fail_msg("%s has no values of %s", stored_path, precision);
    return NULL;
}

enum { ROWS = 6, COLUMNS = 128, ELEMENTS = ROWS * COLUMNS };

static struct tensor dense(void *data, enum dtype dtype, int64_t count)
{
    return (struct tensor){.data = data, .dtype = dtype, .rank = 1, .size = {count}, .stride = {1}};
}

struct value_case {
    const char *precision;
    enum dtype codes, worth; /* of the storage, and of what the library gives back */
    int64_t code_count, scale_count, block;
};

/* bitsandbytes quantises the float16 matrix to int8, and the bfloat16 one to NF4. */
static void values_check(const struct value_case *values)
{
    const struct json *line = values_of(values->precision);
    static uint8_t codes[ELEMENTS];
    static uint16_t half[ELEMENTS];
    static float scales[ELEMENTS], worth[ELEMENTS];
    size_t worth_bytes = (size_t)ELEMENTS * (size_t)dtype_bytes(values->worth);
    uint16_t *weight = bits_of(line, "weight", sizeof *weight);
    struct operation_call copy = {
        .opcode = OPCODE_COPY,
        .input_count = 1,
        .tensor_count = 2,
        .tensors = {dense(weight, DTYPE_BFLOAT16, ELEMENTS), dense(half, DTYPE_FLOAT16, ELEMENTS)}};
    struct operation_call quantize = {.opcode = OPCODE_QUANTIZE,
                                      .input_count = 1,
                                      .tensor_count = 3,
                                      .tensors = {values->codes == DTYPE_INT8 ? copy.tensors[1] : copy.tensors[0],
                                                  dense(codes, values->codes, values->code_count),
                                                  dense(scales, DTYPE_FLOAT32, values->scale_count)},
                                      .attributes = {.i = {values->block}}};
    struct operation_call dequantize = {
        .opcode = OPCODE_DEQUANTIZE,
        .input_count = 2,
        .tensor_count = 3,
        .tensors = {quantize.tensors[1], quantize.tensors[2], dense(worth, values->worth, ELEMENTS)},
        .attributes = quantize.attributes};
    assert_null(kernel_host_run(&copy));
    assert_null(kernel_host_run(&quantize));
    assert_null(kernel_host_run(&dequantize));
    uint8_t *wanted_codes = bits_of(line, "codes", 1);
    float *wanted_scales = bits_of(line, "scales", sizeof *wanted_scales);
    void *wanted_worth = bits_of(line, "dequantized", (size_t)dtype_bytes(values->worth));
    assert_int_equal(json_count(json_get(line, "codes")), values->code_count);
    assert_int_equal(json_count(json_get(line, "scales")), values->scale_count);
    assert_memory_equal(codes, wanted_codes, (size_t)values->code_count);
    assert_memory_equal(scales, wanted_scales, (size_t)values->scale_count * sizeof *scales);
    assert_memory_equal(worth, wanted_worth, worth_bytes);
    free(weight);
    free(wanted_codes);
    free(wanted_scales);
    free(wanted_worth);
}

static void codes_scales_and_values_are_those_of_the_library(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {"int8", DTYPE_INT8, DTYPE_FLOAT32, ELEMENTS, ROWS, COLUMNS},
        {"int4", DTYPE_NF4X2, DTYPE_BFLOAT16, ELEMENTS / 2, ELEMENTS / 64, 64},
        {"fp8", DTYPE_FLOAT8_E4M3FN, DTYPE_FLOAT32, ELEMENTS, 1, ELEMENTS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        values_check(&cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_takes_the_bytes_of_the_library),
        cmocka_unit_test(codes_scales_and_values_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, lines_read, lines_release);
}
