/* Node queue: the heap as libstdc++ moves its elements. */
#include "harness/tape/node_queue.h"

#include "harness/base/array.h"

/* Puts node where `at` is free, or nearer to the top. */
static void queue_rise(struct node_queue *queue, int at, struct node *node)
{
    while (at > 0 && queue->nodes[(at - 1) / 2]->sequence < node->sequence) {
        queue->nodes[at] = queue->nodes[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->nodes[at] = node;
}

void node_queue_push(struct tape *tape, struct node_queue *queue, struct node *node)
{
    struct node **grown = array_extend(queue->nodes, (size_t)queue->count, &queue->capacity, sizeof *grown);
    if (grown == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for the backward pass");
        return;
    }
    queue->nodes = grown;
    queue_rise(queue, queue->count++, node);
}

struct node *node_queue_pop(struct node_queue *queue)
{
    struct node *top = queue->nodes[0];
    struct node *last = queue->nodes[--queue->count];
    int at = 0;
    /* The free place goes down to the end, and of equal children to the second; then the last node rises from there. */
    for (int child = 2; child <= queue->count; child = 2 * at + 2) {
        bool is_first = child == queue->count || queue->nodes[child]->sequence < queue->nodes[child - 1]->sequence;
        child = is_first ? child - 1 : child;
        queue->nodes[at] = queue->nodes[child];
        at = child;
    }
    queue_rise(queue, at, last);
    return top;
}
