/* 8-bit Adam against bitsandbytes itself: its maps, and five steps of its Adam8bit (peers/bitsandbytes/adam_8bit.py,
 * which says how the numbers are made). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/kernels/body_adam_8bit.h"
#include "harness/kernels/kernel_host.h"

enum { COUNT = 5000, BLOCKS = 20, CODES = 256 };

static const char peer_path[] = "peers/bitsandbytes/adam_8bit.json";

struct optimizer {
    float maps[2][CODES], parameter[COUNT], gradient[COUNT], scales[2][BLOCKS];
    uint8_t codes[2][COUNT];
};

static void assert_near(double got, double expected, double allowed)
{
    if (!(fabs(got - expected) <= allowed)) {
        fail_msg("%.9g instead of %.9g, %.3g allowed", got, expected, allowed);
    }
}

static struct tensor line(void *data, enum dtype dtype, int64_t count)
{
    return (struct tensor){.data = data, .dtype = dtype, .rank = 1, .size = {count}, .stride = {1}};
}

static void maps_make(struct optimizer *optimizer)
{
    for (int i = 0; i < 2; i++) {
        struct operation_call call = {.opcode = OPCODE_DYNAMIC_MAP, .tensor_count = 1, .attributes.i = {i == 0}};
        call.tensors[0] = line(optimizer->maps[i], DTYPE_FLOAT32, CODES);
        assert_null(kernel_host_run(&call));
    }
}

static void adam_run(struct optimizer *optimizer, struct operation_attributes attributes)
{
    struct operation_call call = {
        .opcode = OPCODE_ADAM_8BIT, .input_count = 3, .tensor_count = 8, .attributes = attributes};
    call.tensors[0] = line(optimizer->gradient, DTYPE_FLOAT32, COUNT);
    call.tensors[1] = line(optimizer->maps[0], DTYPE_FLOAT32, CODES);
    call.tensors[2] = line(optimizer->maps[1], DTYPE_FLOAT32, CODES);
    call.tensors[3] = line(optimizer->parameter, DTYPE_FLOAT32, COUNT);
    for (int i = 0; i < 2; i++) {
        call.tensors[4 + i] = line(optimizer->codes[i], DTYPE_UINT8, COUNT);
        call.tensors[6 + i] = line(optimizer->scales[i], DTYPE_FLOAT32, BLOCKS);
    }
    assert_null(kernel_host_run(&call));
}

static void step_run(struct optimizer *optimizer, int step)
{
    for (int64_t k = 0; k < COUNT; k++) {
        double value = (double)((7919 * k + 104729 * step) % 2003 - 1001) / 2003.0;
        optimizer->gradient[k] = (float)ldexp(value, -(int)(k % 11));
    }
    adam_run(optimizer, (struct operation_attributes){.f = {0.01, 0.9, 0.999, 1e-8}, .i = {1, step}});
}

/* A code may be off by one where a number is half-way between two but for the last bit: in few places. */
static void codes_compare(const uint8_t *ours, const struct json *theirs, int64_t allowed)
{
    int64_t unequal = 0;
    assert_int_equal(json_count(theirs), COUNT);
    for (size_t k = 0; k < COUNT; k++) {
        int64_t difference = ours[k] - json_integer_or(json_at(theirs, k), -1000);
        assert_in_range(difference + 1, 0, 2);
        unequal += difference != 0;
    }
    assert_in_range(unequal, 0, allowed);
}

static void state_compare(const struct optimizer *optimizer, const struct json *step)
{
    static const char *const codes[] = {"state1", "state2"}, *const scales[] = {"absmax1", "absmax2"};
    for (int i = 0; i < 2; i++) {
        codes_compare(optimizer->codes[i], json_get(step, codes[i]), COUNT / 500);
        for (size_t block = 0; block < BLOCKS; block++) {
            double expected = json_real_or(json_at(json_get(step, scales[i]), block), NAN);
            assert_near(optimizer->scales[i][block], expected, 1e-5 * expected);
        }
    }
    double sum = 0.0, squares = 0.0;
    for (int k = 0; k < COUNT; k++) {
        sum += optimizer->parameter[k];
        squares += (double)optimizer->parameter[k] * optimizer->parameter[k];
    }
    assert_near(sum, json_real_or(json_get(step, "sum"), NAN), 1e-4);
    assert_near(squares, json_real_or(json_get(step, "sum_of_squares"), NAN), 1e-3);
}

static struct json *peer_read(void)
{
    struct json *document = NULL;
    struct status error = {0};
    if (json_parse_file(peer_path, 1 << 20, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return document;
}

static void test_the_maps_are_those_of_bitsandbytes(void **state)
{
    (void)state;
    struct json *peer = peer_read();
    struct optimizer optimizer = {0};
    maps_make(&optimizer);
    for (size_t i = 0; i < 2; i++) {
        const struct json *theirs = json_at(json_get(peer, "maps"), i);
        assert_int_equal(json_count(theirs), CODES);
        for (size_t code = 0; code < CODES; code++) {
            double expected = json_real_or(json_at(theirs, code), NAN);
            assert_near(optimizer.maps[i][code], expected, 3e-7 * fabs(expected));
        }
    }
    json_release(peer);
}

static void test_steps_are_those_of_bitsandbytes(void **state)
{
    (void)state;
    struct json *peer = peer_read();
    struct optimizer optimizer = {0};
    maps_make(&optimizer);
    for (int64_t k = 0; k < COUNT; k++) {
        optimizer.parameter[k] = (float)((double)(31 * k % 97 - 48) / 97.0);
    }
    size_t next = 0;
    for (int step = 1; step <= 5; step++) {
        step_run(&optimizer, step);
        const struct json *expected = json_at(json_get(peer, "steps"), next);
        if (json_integer_or(json_get(expected, "step"), 0) == step) {
            state_compare(&optimizer, expected);
            next++;
        }
    }
    assert_int_equal(next, 2);
    json_release(peer);
}

/* Ascending maps: both dynamic ones, even steps (many numbers within a small power of two), and powers that come closer
 * to 0 than any of the dynamic maps. */
static void map_make(int kind, float *map)
{
    for (int code = 0; code < CODES; code++) {
        float even = (float)(code - CODES / 2) / 4096.0f;
        float power = code < 128 ? -ldexpf(1.0f, -code) : code == 128 ? 0.0f : ldexpf(1.0f, code - CODES + 1);
        map[code] = kind < 2 ? dynamic_map_number(code, kind == 0) : kind == 2 ? even : power;
    }
}

/* The midpoints of a map and their neighbours, in blocks whose first element makes the scale 1. */
static void midpoints_make(const float *map, float *values)
{
    int next = 0;
    for (int k = 0; k < COUNT; k++) {
        int code = next / 3 % (CODES - 1);
        float midpoint = 0.5f * (map[code] + map[code + 1]);
        float away = next % 3 == 0 ? midpoint : nextafterf(midpoint, next % 3 == 1 ? -2.0f : 2.0f);
        values[k] = k % CODE_BLOCK == 0 ? 1.0f : away;
        next += k % CODE_BLOCK != 0;
    }
}

/* With both decays 0 the moments are the gradient and its square, whatever they were. A parameter that is NaN makes the
 * gradient one by its decay. */
static void test_codes_are_those_of_the_nearest_numbers(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct optimizer optimizer = {0};
        map_make(kind, optimizer.maps[0]);
        map_make(kind, optimizer.maps[1]);
        midpoints_make(optimizer.maps[0], optimizer.gradient);
        optimizer.parameter[1] = NAN;
        adam_run(&optimizer, (struct operation_attributes){.f = {0.01, 0.0, 0.0, 1e-8, 0.5}, .i = {0, 1}});
        for (int k = 0; k < COUNT; k++) {
            float m = k == 1 ? NAN : optimizer.gradient[k];
            assert_int_equal(optimizer.codes[0][k], moment_code(optimizer.maps[0], m, 1.0f));
            assert_int_equal(optimizer.codes[1][k], moment_code(optimizer.maps[1], m * m, 1.0f));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_maps_are_those_of_bitsandbytes),
        cmocka_unit_test(test_steps_are_those_of_bitsandbytes),
        cmocka_unit_test(test_codes_are_those_of_the_nearest_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
