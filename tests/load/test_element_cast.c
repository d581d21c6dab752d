/* Element cast: every number, and at any address, as the one rule for one number has it (kernels/convert.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/convert.h"
#include "harness/load/element_cast.h"

enum { HALVES = 1 << 16, FLOATS = 1 << 18, SKEW = 3, TYPES = 3 };

static const char *const names[TYPES] = {"F32", "F16", "BF16"};

static float value_of(int type, uint32_t bits)
{
    return type == 0   ? float_from_bits(bits)
           : type == 1 ? float_from_float16((uint16_t)bits)
                       : float_from_bfloat16((uint16_t)bits);
}

static uint32_t bits_of(int type, float value)
{
    return type == 0 ? float_bits(value) : type == 1 ? float_to_float16(value) : float_to_bfloat16(value);
}

static uint32_t element_bits(const char *bytes, int width, int64_t index)
{
    uint32_t bits = 0;
    memcpy(&bits, bytes + index * width, (size_t)width);
    return bits;
}

/* All halves; of float32 the bits that lie around each of them, and others from everywhere. */
static uint32_t source_bits(int type, int64_t index)
{
    uint32_t number = (uint32_t)index;
    if (type != 0) {
        return number;
    }
    return number < HALVES ? number << 16 | (number % 7 == 0   ? 0x8000u
                                             : number % 7 == 1 ? 0x1000u
                                                               : number % 5)
                           : number * 2654435761u;
}

static void pair_check(int to, int from)
{
    int64_t count = from == 0 ? FLOATS : HALVES;
    int from_width = from == 0 ? 4 : 2, to_width = to == 0 ? 4 : 2;
    char *source = malloc((size_t)(count * from_width) + SKEW), *made = malloc((size_t)(count * to_width) + SKEW);
    assert_non_null(source);
    assert_non_null(made);
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = source_bits(from, i);
        memcpy(source + SKEW + i * from_width, &bits, (size_t)from_width);
    }
    elements_cast(safetensors_type(names[to]), made + SKEW, safetensors_type(names[from]), source + SKEW, count);
    for (int64_t i = 0; i < count; i++) {
        uint32_t number = source_bits(from, i);
        uint32_t wanted = to == from ? number : bits_of(to, value_of(from, number)); /* which keeps every NaN */
        uint32_t is = element_bits(made + SKEW, to_width, i);
        if (is != wanted) {
            fail_msg("%s 0x%x becomes %s 0x%x, not 0x%x", names[from], source_bits(from, i), names[to], is, wanted);
        }
    }
    free(source);
    free(made);
}

static void every_number_is_cast_as_one_is(void **state)
{
    (void)state;
    for (int to = 0; to < TYPES; to++) {
        for (int from = 0; from < TYPES; from++) {
            pair_check(to, from);
        }
    }
}

static void doubles_are_rounded_first(void **state)
{
    (void)state;
    static const double values[] = {0.0, -0.0, 1.0, 1.0 + 1e-12, 65519.99, 65520.0, 1e300, -1e-300, 3.14159265358979};
    enum { COUNT = sizeof values / sizeof values[0] };
    for (int to = 0; to < TYPES; to++) {
        char made[4 * COUNT];
        elements_cast(safetensors_type(names[to]), made, safetensors_type("F64"), values, COUNT);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(element_bits(made, to == 0 ? 4 : 2, i), bits_of(to, (float)values[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_cast_as_one_is),
        cmocka_unit_test(doubles_are_rounded_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
