/* Free bins: two levels of bits over an array of trees. */
#include "harness/memory/free_bins.h"

#include <stddef.h>

#include "harness/memory/block.h"

static int bin_of(int64_t bytes)
{
    return (int)((uint64_t)(bytes - 1) / ALLOCATOR_UNIT_BYTES);
}

void free_bins_insert(struct free_bins *bins, struct block *block)
{
    int bin = bin_of(block->bytes);
    struct block **tree = &bins->trees[bin];
    if (*tree != NULL) {
        free_tree_insert(tree, block);
        return;
    }
    block->left = block->right = NULL;
    *tree = block;
    bins->bits[bin / 64] |= UINT64_C(1) << (bin % 64);
    bins->words |= UINT64_C(1) << (bin / 64);
}

void free_bins_remove(struct free_bins *bins, struct block *block)
{
    int bin = bin_of(block->bytes);
    struct block **tree = &bins->trees[bin];
    if (*tree != block || block->left != NULL || block->right != NULL) {
        free_tree_remove(tree, block);
    } else { /* most sizes have one block */
        *tree = NULL;
        bins->bits[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
        if (bins->bits[bin / 64] == 0) {
            bins->words &= ~(UINT64_C(1) << (bin / 64));
        }
    }
}

struct block *free_bins_best_fit(const struct free_bins *bins, int64_t bytes)
{
    int bin = bin_of(bytes);
    if (bin >= FREE_BIN_COUNT) {
        return NULL;
    }
    int word = bin / 64;
    uint64_t found = bins->bits[word] >> (bin % 64) << (bin % 64);
    if (found == 0) {
        uint64_t later = word < 63 ? bins->words >> (word + 1) << (word + 1) : 0;
        if (later == 0) {
            return NULL;
        }
        word = __builtin_ctzll(later);
        found = bins->bits[word];
    }
    struct block *first = bins->trees[word * 64 + __builtin_ctzll(found)];
    while (first->left != NULL) {
        first = first->left;
    }
    return first;
}

bool free_bins_contains(const struct free_bins *bins, const struct block *block)
{
    int bin = bin_of(block->bytes);
    return bin >= 0 && bin < FREE_BIN_COUNT && free_tree_contains(bins->trees[bin], block);
}

int64_t free_bins_check(const struct free_bins *bins)
{
    int64_t count = 0;
    for (int bin = 0; bin < FREE_BIN_COUNT; bin++) {
        const struct block *tree = bins->trees[bin];
        bool has_bit = (bins->bits[bin / 64] >> (bin % 64) & 1) != 0;
        bool has_word = (bins->words >> (bin / 64) & 1) == (bins->bits[bin / 64] != 0);
        int64_t in_tree = free_tree_check(tree);
        if (has_bit != (tree != NULL) || !has_word || in_tree < 0 || (tree != NULL && bin_of(tree->bytes) != bin)) {
            return -1;
        }
        count += in_tree;
    }
    return count;
}
