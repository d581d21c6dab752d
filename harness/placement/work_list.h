/* Work list: the modules and tensors that are still to be placed, in order (modules_to_treat), each node at most once.
 * What is asked of it: first, insert before, replace by children, and which element a path lies below. */
#ifndef ASSAY_PLACEMENT_WORK_LIST_H
#define ASSAY_PLACEMENT_WORK_LIST_H

#include "harness/placement/module_tree.h"

struct work_list {
    const struct module_tree *tree;
    int *next, *previous; /* node_count is the end */
    bool *holds;
};

/* Empty. Memory is the arena's; STATUS_OUT_OF_MEMORY. */
enum status_code work_list_make(const struct module_tree *tree, struct arena *arena, struct work_list *list,
                                struct status *error);
void work_list_copy(struct work_list *list, const struct work_list *from); /* of the same tree */

int work_list_first(const struct work_list *list); /* -1: empty */
int work_list_next(const struct work_list *list, int node);
void work_list_insert(struct work_list *list, int node, int before); /* before -1: at the end */
void work_list_remove(struct work_list *list, int node);

/* Puts the parameters and children of a module where `before` stands, -1: at the end; of the root (with_buffers) its
 * buffers behind them. Buffers of other modules are left out, as accelerate does. */
void work_list_insert_parts(struct work_list *list, int module, int before, bool with_buffers);

/* The element that node lies below; -1: none. An element is not below itself. */
int work_list_around(const struct work_list *list, int node);

/* The largest layer of a list (get_max_layer_size): its size, and every layer of that size. */
struct largest_layer {
    int64_t bits;
    bool is_float;
    int *names;
    int count;
};

/* modules_only: tensors that stand in the list do not count. names has room for every node. */
void largest_layer_find(const struct work_list *list, bool modules_only, struct largest_layer *largest);
/* Takes a node, and what is below it, out of the names. */
void largest_layer_drop(const struct module_tree *tree, int node, struct largest_layer *largest);

/* What placing a node costs together with what it is tied to (get_module_size_with_ties): for every parameter that is
 * tied to one inside the node and lies outside, the whole element of the list around it. */
struct tied_cost {
    int64_t bits;
    bool is_float;
    int *parameters; /* room for every tied parameter */
    int *owners;     /* the element around each, by parameter */
    int count;
    char *dotted; /* room for the path of the node */
};

enum status_code tied_cost_make(const struct module_tree *tree, struct arena *arena, struct tied_cost *cost,
                                struct status *error);
/* STATUS_INVALID if an owner is not in the list, for which accelerate raises IndexError. */
enum status_code tied_cost_find(const struct work_list *list, int node, struct tied_cost *cost, struct status *error);

/* fallback_allocate: the first module or parameter that fits, searched depth first from the elements of list,
 * into *found; -1: nothing fits. It is taken out of the list, its parents in the list being replaced by their parts.
 * search: another list of the same tree. */
struct fallback_search {
    struct work_list *search;
    struct tied_cost *cost;
    int64_t limit_bits;
};
enum status_code fallback_find(const struct fallback_search *fallback, struct work_list *list, int *found,
                               struct status *error);

#endif
