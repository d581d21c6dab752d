/* Node queue: a heap of nodes that may run, the highest sequence first. Of equals (the leaves of one product) it hands
 * out the one that libstdc++'s std::priority_queue would, which is PyTorch's queue: the order in which their gradients
 * are given back follows it. Empty at first; the owner frees nodes. */
#ifndef ASSAY_TAPE_NODE_QUEUE_H
#define ASSAY_TAPE_NODE_QUEUE_H

#include "harness/tape/graph.h"

struct node_queue {
    struct node **nodes;
    int count;
    size_t capacity;
};

/* Without host memory the tape has failed. */
void node_queue_push(struct tape *tape, struct node_queue *queue, struct node *node);
struct node *node_queue_pop(struct node_queue *queue); /* of one that is not empty */

#endif
