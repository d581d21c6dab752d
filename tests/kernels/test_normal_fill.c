/* Numbers for files: any stretch of them is the same as that stretch of the whole, on every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/hash.h"
#include "harness/kernels/normal_fill.h"

enum { COUNT = 5003 };

static const struct normal_numbers numbers = {.seed = 12345678901234567, .deviation = 0.02f};

/* From places on both sides of 2^33, where the high half of the counter changes; pieces begin at even and at odd
 * places. */
static void pieces_are_those_of_the_whole(void **state)
{
    static const enum dtype dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    static const int64_t firsts[] = {0, 1, (INT64_C(1) << 33) - 2501};
    (void)state;
    for (int d = 0; d < 3; d++) {
        for (int f = 0; f < 3; f++) {
            size_t bytes = (size_t)dtype_bytes(dtypes[d]);
            unsigned char *whole = malloc(COUNT * bytes), *pieces = malloc(COUNT * bytes);
            assert_non_null(whole);
            assert_non_null(pieces);
            normal_fill(&numbers, firsts[f], COUNT, dtypes[d], whole);
            for (int64_t done = 0, length = 1; done < COUNT; done += length, length = length * 2 + 1) {
                length = length < COUNT - done ? length : COUNT - done;
                normal_fill(&numbers, firsts[f] + done, length, dtypes[d], pieces + (size_t)done * bytes);
            }
            assert_memory_equal(whole, pieces, COUNT * bytes);
            free(whole);
            free(pieces);
        }
    }
}

/* The sum that gcc and clang, with and without optimisation, with narrow and wide vectors, agree on. */
static void numbers_are_the_same_everywhere(void **state)
{
    static float floats[100003];
    static uint16_t halves[100003];
    static const struct {
        enum dtype dtype;
        int64_t first;
    } rows[] = {{DTYPE_FLOAT32, 0}, {DTYPE_FLOAT16, 1}, {DTYPE_BFLOAT16, INT64_C(4294967295) * 2 - 50001}};
    uint64_t hash = HASH_START;
    (void)state;
    for (int i = 0; i < 3; i++) {
        void *out = rows[i].dtype == DTYPE_FLOAT32 ? (void *)floats : (void *)halves;
        normal_fill(&numbers, rows[i].first, 100003, rows[i].dtype, out);
        hash = hash_bytes(hash, out, 100003 * (size_t)dtype_bytes(rows[i].dtype));
    }
    assert_true(hash == UINT64_C(0x11307600020e161d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_those_of_the_whole),
        cmocka_unit_test(numbers_are_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
