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

#define PART(class, capability, count, threads)                                                                        \
    {                                                                                                                  \
        class ":" #count, (capability) == 90 ? WORKSPACE_HOPPER_BYTES : WORKSPACE_BYTES, LINEAR_WORKSPACE_BYTES,       \
            CONVOLUTION_WORKSPACE_BYTES, capability, count, threads                                                    \
    }

/* GPUs of a class with another number of multiprocessors than its row: H100 PCIe, H20, A10, A10G, RTX 3060, 3070,
 * A4000 and 3090, RTX 4060, 4070, L4, RTX 4080 and 4090, RTX 5060 Ti, 5070, 5070 Ti, 5080 and 5090. */
static const struct target parts[] = {
    PART("sm_90", 90, 114, 2048),  PART("sm_90", 90, 78, 2048),   PART("sm_86", 86, 72, 1536),
    PART("sm_86", 86, 80, 1536),   PART("sm_86", 86, 28, 1536),   PART("sm_86", 86, 46, 1536),
    PART("sm_86", 86, 48, 1536),   PART("sm_86", 86, 82, 1536),   PART("sm_89", 89, 24, 1536),
    PART("sm_89", 89, 46, 1536),   PART("sm_89", 89, 58, 1536),   PART("sm_89", 89, 76, 1536),
    PART("sm_89", 89, 128, 1536),  PART("sm_120", 120, 36, 1536), PART("sm_120", 120, 48, 1536),
    PART("sm_120", 120, 70, 1536), PART("sm_120", 120, 84, 1536), PART("sm_120", 120, 170, 1536),
};

enum { PART_COUNT = sizeof parts / sizeof parts[0] };

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

/* The row with exactly this name; NULL: none. */
static const struct target *target_named(const char *name)
{
    for (int i = 0; i < (int)TARGET_COUNT + (int)PART_COUNT; i++) {
        const struct target *target = i < (int)TARGET_COUNT ? &targets[i] : &parts[i - TARGET_COUNT];
        if (strcmp(target->name, name) == 0) {
            return target;
        }
    }
    return NULL;
}

const struct target *target_of_gpu(const struct gpu *gpu)
{
    const struct target *class = target_named(gpu->target);
    for (int i = 0; i < (int)PART_COUNT && !gpu_is_amd(gpu); i++) {
        if (parts[i].capability == class->capability && parts[i].multiprocessor_count == gpu->multiprocessor_count) {
            return &parts[i];
        }
    }
    return class;
}

/* The row that other words stand for; NULL: none. */
static const struct target *target_meant(const char *name)
{
    const char *known = gpu_target(name);
    const struct gpu *gpu = NULL;
    if (known != NULL && gpu_find(name, &gpu, NULL) == STATUS_OK) {
        return target_of_gpu(gpu);
    }
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
        text_format(&names, "%s%s", i > 0 ? ", " : "", targets[i].name);
    }
    const struct target *meant = target_named(name);
    meant = meant != NULL ? meant : target_meant(name);
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
