/* Event sequences: what is taken and given back in one stage, in order, of a tape and of a recording of real PyTorch
 * (peers/pytorch/events). For tests that hold one against the other. */
#ifndef ASSAY_TESTS_MODELS_EVENT_SEQUENCE_H
#define ASSAY_TESTS_MODELS_EVENT_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/tape/tape.h"

enum { EVENTS_MAXIMUM = 4096, LABEL_BYTES = 96, DIFFERENCE_BYTES = 320 };

/* Positive: bytes taken; negative: bytes given back. */
struct memory_event {
    int64_t bytes;
    char label[LABEL_BYTES]; /* of what is taken: its tensor or operation, of PyTorch's side the operator; for people */
};

struct sequence {
    int count;
    struct memory_event events[EVENTS_MAXIMUM];
};

/* Nothing if bytes is 0. */
void sequence_add(struct sequence *sequence, int64_t bytes, const char *label);

/* The last occurrence of the stage in a recorded file: ["alloc", id, bytes, operator], ["free", id], ["stage", name].
 * Fails the test if the file cannot be read. */
void sequence_of_recording(const char *path, const char *stage, struct sequence *sequence);

/* The last occurrence of the stage, without what is not among PyTorch's events there: workspaces and scratch, because
 * its libraries did not run, and the tensors that the kernels of embeddings make, and of sums over other integers than
 * int64. */
void sequence_of_tape(const struct tape_view *view, enum stage stage, struct sequence *sequence);

/* One step of training, counted from 0, from its first allocation to that of the next one. The tape must have both. */
void sequence_of_step(const struct tape_view *view, int step, struct sequence *sequence);

/* What goes between one allocation and the next in order of size. A checkpointed block's second run gives back what it
 * holds all at once, and Python's order of that is not followed. */
void sequence_sort_releases(struct sequence *sequence);

/* Without what is given back behind the last allocation: the recording ends an inference without its output, a tape
 * with it. */
void sequence_cut_end(struct sequence *sequence);

/* Where they differ first, with what either side says that the memory is for. False: nowhere. */
bool sequence_difference(const struct sequence *tape, const struct sequence *recorded, char text[DIFFERENCE_BYTES]);

#endif
