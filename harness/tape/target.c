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
    {"sm_90", WORKSPACE_HOPPER_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 90},
    {"sm_70", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 70},
    {"sm_75", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 75},
    {"sm_80", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 80},
    {"sm_86", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 86},
    {"sm_87", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 87},
    {"sm_89", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 89},
    {"sm_100", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 100},
    {"sm_103", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 103},
    {"sm_110", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 110},
    {"sm_120", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 120},
    {"sm_121", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 121},
    {"host", 0, 0, 0, 0},
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
