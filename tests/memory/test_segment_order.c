/* Segment order: which of two equal free blocks is taken, by the way the source's positions run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/memory/allocator.h"

enum { MIB = 1 << 20 };

static struct block *taken(struct allocator *allocator, int64_t bytes)
{
    struct block *block = NULL;
    assert_int_equal(allocator_alloc(allocator, bytes, &block, NULL), STATUS_OK);
    return block;
}

/* Two segments with a free block of 5 MiB each, as in vectors/README.md: that of the later one where positions
 * descend. */
static void of_equal_blocks_the_lower_one_is_taken(void **state)
{
    (void)state;
    for (int descends = 0; descends < 2; descends++) {
        struct segment_source source = segment_source_virtual;
        struct allocator *allocator = NULL;
        source.descends = descends == 1;
        assert_int_equal(allocator_open(ALLOCATOR_CACHING, source, &allocator, NULL), STATUS_OK);
        struct block *first = taken(allocator, 5 * MIB);
        taken(allocator, 15 * MIB);
        struct block *second = taken(allocator, 5 * MIB);
        taken(allocator, 15 * MIB);
        assert_int_equal(allocator_counters(allocator)->live_segment_count, 2);
        assert_int_equal(block_position(second) < block_position(first), descends);
        assert_true(block_position(first) >= 0 && block_position(second) >= 0);
        allocator_free(allocator, first, NULL);
        allocator_free(allocator, second, NULL);
        assert_ptr_equal(taken(allocator, 5 * MIB), descends == 1 ? second : first);
        assert_int_equal(allocator_close(allocator, NULL), STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_equal_blocks_the_lower_one_is_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
