/* Free tree: a treap over the blocks themselves. Not a general container: it holds free blocks and allocates nothing.
 *
 * A treap is ordered by key from left to right and by random priority from the root down, so its depth is logarithmic
 * without any balancing code. */
#include "harness/memory/free_tree.h"

#include <stddef.h>

#include "harness/memory/block.h"

static bool block_is_before(const struct block *a, const struct block *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : block_position(a) < block_position(b);
}

void free_tree_insert(struct block **root, struct block *block)
{
    while (*root != NULL && (*root)->priority >= block->priority) {
        root = block_is_before(block, *root) ? &(*root)->left : &(*root)->right;
    }
    struct block *rest = *root;
    struct block **before = &block->left;
    struct block **after = &block->right;
    while (rest != NULL) { /* the subtree is cut into what lies before and after the new block */
        if (block_is_before(rest, block)) {
            *before = rest;
            before = &rest->right;
            rest = rest->right;
        } else {
            *after = rest;
            after = &rest->left;
            rest = rest->left;
        }
    }
    *before = NULL;
    *after = NULL;
    *root = block;
}

void free_tree_remove(struct block **root, struct block *block)
{
    while (*root != block) {
        root = block_is_before(block, *root) ? &(*root)->left : &(*root)->right;
    }
    struct block *left = block->left;
    struct block *right = block->right;
    while (left != NULL && right != NULL) {
        if (left->priority >= right->priority) {
            *root = left;
            root = &left->right;
            left = left->right;
        } else {
            *root = right;
            root = &right->left;
            right = right->left;
        }
    }
    *root = left != NULL ? left : right;
    block->left = NULL;
    block->right = NULL;
}

struct block *free_tree_best_fit(struct block *root, int64_t bytes)
{
    struct block *best = NULL;
    while (root != NULL) {
        if (root->bytes >= bytes) {
            best = root;
            root = root->left;
        } else {
            root = root->right;
        }
    }
    return best;
}

bool free_tree_contains(const struct block *root, const struct block *block)
{
    while (root != NULL && root != block) {
        root = block_is_before(block, root) ? root->left : root->right;
    }
    return root != NULL;
}

int64_t free_tree_check(const struct block *root)
{
    if (root == NULL) {
        return 0;
    }
    if ((root->left != NULL && root->left->priority > root->priority) ||
        (root->right != NULL && root->right->priority > root->priority)) {
        return -1;
    }
    /* The neighbours in order are the rightmost of the left and the leftmost of the right subtree. */
    for (const struct block *before = root->left; before != NULL; before = before->right) {
        if (!block_is_before(before, root)) {
            return -1;
        }
    }
    for (const struct block *after = root->right; after != NULL; after = after->left) {
        if (!block_is_before(root, after)) {
            return -1;
        }
    }
    int64_t left = free_tree_check(root->left);
    int64_t right = free_tree_check(root->right);
    return left < 0 || right < 0 ? -1 : left + right + 1;
}
