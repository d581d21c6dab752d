/* Targets: the table behind target.h. Nothing here asks a device. */
#include "harness/tape/target.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "harness/base/text.h"
#include "harness/tape/gpu_table.h"

enum {
    WORKSPACE_HOPPER_BYTES = 33554432,
    WORKSPACE_BYTES = 8519680,
    LINEAR_WORKSPACE_BYTES = 1048576,
    CONVOLUTION_WORKSPACE_BYTES = 67108864 /* the most that ours take; what cuDNN takes: convolution_workspace.h */
};

/* Multiprocessors of H100 SXM and H200, V100, T4, A100, A40, AGX Orin, L40S, B200, B300, Thor, RTX PRO 6000 and GB10;
 * the threads of one are the CUDA programming guide's. */
static const struct target targets[] = {
    {"sm_90", WORKSPACE_HOPPER_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 90, 132, 2048},
    {"sm_70", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 70, 80, 2048},
    {"sm_75", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 75, 40, 1024},
    {"sm_80", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 80, 108, 2048},
    {"sm_86", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 86, 84, 1536},
    {"sm_87", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 87, 16, 1536},
    {"sm_89", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 89, 142, 1536},
    {"sm_100", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 100, 148, 2048},
    {"sm_103", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 103, 148, 2048},
    {"sm_110", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 110, 20, 1536},
    {"sm_120", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 120, 188, 1536},
    {"sm_121", WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES, CONVOLUTION_WORKSPACE_BYTES, 121, 48, 1536},
    {"host", 0, 0, 0, 0, 0, 0},
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

const struct target *target_at(int index)
{
    return index >= 0 && index < (int)TARGET_COUNT ? &targets[index] : NULL;
}

/* Words for rows that people know by another name. */
static const struct {
    const char *word, *name;
} words[] = {{"cpu", "host"}, {"gpu", "sm_90"}, {"cuda", "sm_90"}, {"hopper", "sm_90"}, {"ada", "sm_89"}};

/* "sm90", "SM_90a", "compute_90", "90", "9.0": the digits of a capability. */
static bool is_capability(const char *typed, const struct target *target)
{
    char plain[24], capability[8];
    size_t count = 0;
    for (; *typed != '\0' && count + 1 < sizeof plain; typed++) {
        if (isalnum((unsigned char)*typed)) {
            plain[count++] = (char)tolower((unsigned char)*typed);
        }
    }
    plain[count] = '\0';
    const char *digits = plain + (strncmp(plain, "sm", 2) == 0 ? 2 : strncmp(plain, "compute", 7) == 0 ? 7 : 0);
    int length = snprintf(capability, sizeof capability, "%d", target->capability);
    return target->capability > 0 && strncmp(digits, capability, (size_t)length) == 0 &&
           (digits[length] == '\0' || strcmp(digits + length, "a") == 0);
}

/* The row that other words stand for; NULL: none. */
static const struct target *target_meant(const char *name)
{
    const char *known = gpu_target(name);
    for (size_t i = 0; i < sizeof words / sizeof words[0] && known == NULL; i++) {
        known = strcasecmp(words[i].word, name) == 0 ? words[i].name : NULL;
    }
    for (int i = 0; i < (int)TARGET_COUNT; i++) {
        bool same = known != NULL ? strcmp(known, targets[i].name) == 0
                                  : strcasecmp(name, targets[i].name) == 0 || is_capability(name, &targets[i]);
        if (same) {
            return &targets[i];
        }
    }
    return NULL;
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
    const struct target *meant = target_meant(name);
    enum status_code code = STATUS_OK;
    if (meant != NULL) {
        *target = meant;
    } else {
        code = status_set(error, STATUS_INVALID, "'%s' is not a device class; it is one of %s, or a GPU of assay gpus",
                          name, text_string(&names));
    }
    text_release(&names);
    return code;
}
