/* Targets: the table behind target.h. Nothing here asks a device. */
#include "harness/tape/target.h"

#include <stddef.h>
#include <string.h>

#include "harness/base/text.h"

enum {
    WORKSPACE_HOPPER_BYTES = 33554432,
    WORKSPACE_BYTES = 8519680,
    LINEAR_WORKSPACE_BYTES = 1048576,
    CONVOLUTION_WORKSPACE_BYTES = 67108864 /* ours: PyTorch's is cuDNN's choice, which no formula gives */
};

static const struct target targets[] = {
    {"sm_90", WORKSPACE_HOPPER_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_CUDNN,
     ATTENTION_EFFICIENT},
    {"sm_75", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_EFFICIENT,
     ATTENTION_EFFICIENT},
    {"sm_80", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"sm_86", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"sm_87", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"sm_89", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"sm_100", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_CUDNN,
     ATTENTION_EFFICIENT},
    {"sm_103", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_CUDNN,
     ATTENTION_EFFICIENT},
    {"sm_110", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"sm_120", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"sm_121", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, ATTENTION_FLASH,
     ATTENTION_EFFICIENT},
    {"host", 0, 0, 0, ATTENTION_NATIVE, ATTENTION_NATIVE},
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

const struct target *target_at(int index)
{
    return index >= 0 && index < (int)TARGET_COUNT ? &targets[index] : NULL;
}

enum status_code target_find(const char *name, const struct target **target, struct status *error)
{
    struct text names = {0};
    for (int i = 0; i < (int)TARGET_COUNT; i++) {
        if (strcmp(targets[i].name, name) == 0) {
            *target = &targets[i];
            text_release(&names);
            return STATUS_OK;
        }
        text_format(&names, "%s%s", i > 0 ? ", " : "", targets[i].name);
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%s' is not a device class; it is one of %s", name, text_string(&names));
    text_release(&names);
    return code;
}
