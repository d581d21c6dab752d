/* Free tree: free blocks in order of (bytes, position), so that the best fit is found in logarithmic time. */
#ifndef ASSAY_MEMORY_FREE_TREE_H
#define ASSAY_MEMORY_FREE_TREE_H

#include <stdbool.h>
#include <stdint.h>

struct block;

void free_tree_insert(struct block **root, struct block *block);

/* The block must be in the tree. */
void free_tree_remove(struct block **root, struct block *block);

/* The smallest block of at least bytes, of equals that with the lowest position; NULL if there is none. */
struct block *free_tree_best_fit(struct block *root, int64_t bytes);

bool free_tree_contains(const struct block *root, const struct block *block);

/* The number of blocks, or -1 where order or priorities are broken. */
int64_t free_tree_check(const struct block *root);

#endif
