/* The tree of free blocks against a list that is searched in full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "harness/memory/block.h"
#include "harness/memory/free_tree.h"

enum { BLOCK_COUNT = 300, STEP_COUNT = 20000 };

static struct segment segment = {.position = 4096};

static uint64_t random_next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

static struct block *best_of_list(struct block *blocks, const bool *in_tree, int64_t bytes)
{
    struct block *best = NULL;
    for (int i = 0; i < BLOCK_COUNT; i++) {
        struct block *block = &blocks[i];
        bool fits = in_tree[i] && block->bytes >= bytes;
        if (fits && (best == NULL || block->bytes < best->bytes ||
                     (block->bytes == best->bytes && block->offset < best->offset))) {
            best = block;
        }
    }
    return best;
}

static void it_finds_what_a_full_search_finds(void **state)
{
    (void)state;
    static struct block blocks[BLOCK_COUNT];
    bool in_tree[BLOCK_COUNT] = {false};
    struct block *root = NULL;
    uint64_t random = 3;
    int64_t count = 0;
    for (int i = 0; i < BLOCK_COUNT; i++) {
        blocks[i] = (struct block){.segment = &segment, .offset = i * 512, .priority = random_next(&random) % 64};
        blocks[i].bytes = (int64_t)(1 + random_next(&random) % 40) * 512; /* many equal sizes */
    }
    for (int step = 0; step < STEP_COUNT; step++) {
        int i = (int)(random_next(&random) % BLOCK_COUNT);
        assert_int_equal(free_tree_contains(root, &blocks[i]), in_tree[i]);
        if (in_tree[i]) {
            free_tree_remove(&root, &blocks[i]);
        } else {
            free_tree_insert(&root, &blocks[i]);
        }
        count += in_tree[i] ? -1 : 1;
        in_tree[i] = !in_tree[i];
        assert_int_equal(free_tree_check(root), count);
        int64_t bytes = (int64_t)(random_next(&random) % 42) * 512;
        assert_ptr_equal(free_tree_best_fit(root, bytes), best_of_list(blocks, in_tree, bytes));
    }
}

static int64_t tree_depth(const struct block *root)
{
    if (root == NULL) {
        return 0;
    }
    int64_t left = tree_depth(root->left), right = tree_depth(root->right);
    return 1 + (left > right ? left : right);
}

/* Blocks that come in rising order would make a plain tree a list. */
static void it_stays_shallow_when_sizes_rise(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    struct block *blocks = calloc(MANY, sizeof *blocks);
    struct block *root = NULL;
    uint64_t random = 5;
    assert_non_null(blocks);
    for (int i = 0; i < MANY; i++) {
        blocks[i] = (struct block){.segment = &segment, .bytes = i + 1, .priority = random_next(&random)};
        free_tree_insert(&root, &blocks[i]);
    }
    assert_int_equal(free_tree_check(root), MANY);
    assert_true(tree_depth(root) < 60); /* log2 is 15; a treap has about 2.5 times that */
    free(blocks);
}

static void the_check_finds_disorder(void **state)
{
    (void)state;
    struct block a = {.segment = &segment, .bytes = 512, .priority = 1};
    struct block b = {.segment = &segment, .bytes = 1024, .priority = 2};
    struct block *root = NULL;
    free_tree_insert(&root, &a);
    free_tree_insert(&root, &b);
    assert_ptr_equal(root, &b);
    assert_int_equal(free_tree_check(root), 2);
    a.bytes = 2048;
    assert_int_equal(free_tree_check(root), -1);
    a.bytes = 512;
    a.priority = 3;
    assert_int_equal(free_tree_check(root), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_what_a_full_search_finds),
        cmocka_unit_test(it_stays_shallow_when_sizes_rise),
        cmocka_unit_test(the_check_finds_disorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
