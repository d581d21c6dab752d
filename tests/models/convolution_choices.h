/* Convolution choices: what cuDNN's heuristic names for a convolution on each of four GPUs, from
 * peers/pytorch/convolution_choice.txt. */
#ifndef ASSAY_TESTS_MODELS_CONVOLUTION_CHOICES_H
#define ASSAY_TESTS_MODELS_CONVOLUTION_CHOICES_H

#include <stdint.h>

#include "harness/tape/convolution_workspace.h"

enum { CHOICE_DEVICE_COUNT = 4 };

struct convolution_choice {
    const char *form; /* tf32, bfloat16 or float32 */
    int pass;         /* 0 forward, 1 towards the image, 2 towards the weight */
    enum opcode opcode;
    struct convolution_shape shape;
    struct {
        char word[16];
        int64_t bytes, largest_bytes; /* workspaces of the first engine that is named, and of the largest */
    } devices[CHOICE_DEVICE_COUNT];   /* in the order of the file */
};

/* Calls check for each line whose form is not float32, which is without TF32. Fails the test if a line is none. */
void convolution_choices_each(void (*check)(const struct convolution_choice *choice));

#endif
