/* The table of GPUs: data, and the reading of names. No driver is asked, and no figure stands here without its source. */
#include "harness/question/gpu_table.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/base/text.h"

#define GITHUB "https://github.com/"
#define MODAL  GITHUB "modal-labs/modal-client/pull/2797"

static const struct gpu gpus[] = {
    {"NVIDIA H200", {"h200"}, "sm_90", 143771, "https://thundergolfer.com/blog/nvidia-gpu-memory-capacity"},
    {"NVIDIA H100 80GB HBM3", {"h100 80gb", "h100 sxm"}, "sm_90", 81559, GITHUB "NVIDIA/nccl/issues/1264"},
    {"NVIDIA H100 NVL", {"h100 94gb"}, "sm_90", 95830, GITHUB "NVIDIA/gpu-admin-tools/issues/4"},
    {"NVIDIA A100-SXM4-80GB", {"a100 80gb", "a100 80gb pcie", "a100 sxm 80gb"}, "sm_80", 81920, MODAL},
    {"NVIDIA A100-SXM4-40GB", {"a100 40gb", "a100 pcie 40gb", "a100 sxm 40gb"}, "sm_80", 40960, MODAL},
    {"NVIDIA A800-SXM4-80GB", {"a800", "a800 80gb"}, "sm_80", 81920, GITHUB "dexmal/dexbotic/issues/41"},
    {"NVIDIA A10", {"a10"}, "sm_86", 23028, MODAL},
    {"NVIDIA L40S", {"l40s"}, "sm_89", 46068, MODAL},
    {"NVIDIA L4", {"l4"}, "sm_89", 23034, MODAL},
    {"Tesla T4", {"t4"}, "sm_75", 15360, MODAL},
    {"Tesla V100-SXM2-16GB", {"v100 16gb"}, "sm_70", 16384, GITHUB "1CatAI/1Cat-vLLM/issues/85"},
    {"NVIDIA RTX A4000",
     {"a4000"},
     "sm_86",
     16376,
     "https://huggingface.co/Plasmoxy/flan-t5-small-gigatrue/blame/main/nvidia_smi_early.log"},
    {"NVIDIA GeForce RTX 3090", {"3090"}, "sm_86", 24576, GITHUB "noonghunna/club-3090/issues/390"},
    {"NVIDIA GeForce RTX 4090", {"4090"}, "sm_89", 24564, GITHUB "RLinf/RLinf/issues/255"},
    {"NVIDIA GeForce RTX 5090", {"5090"}, "sm_120", 32607, GITHUB "noonghunna/club-3090/issues/1261"},
};

enum { GPU_COUNT = sizeof gpus / sizeof gpus[0], PLAIN_BYTES = 64 };

const struct gpu *gpu_at(int index)
{
    return index >= 0 && index < (int)GPU_COUNT ? &gpus[index] : NULL;
}

int64_t gpu_memory_bytes(const struct gpu *gpu)
{
    return gpu->memory_mib * (1 << 20);
}

/* Letters and digits alone, in lower case, without the words of the maker in front: "NVIDIA GeForce RTX 4090" -> "4090". */
static const char *name_plain(const char *name, char plain[PLAIN_BYTES])
{
    static const char *const makers[] = {"nvidia", "geforce", "tesla", "rtx"};
    size_t length = 0;
    for (; *name != '\0' && length + 1 < PLAIN_BYTES; name++) {
        if (isalnum((unsigned char)*name)) {
            plain[length++] = (char)tolower((unsigned char)*name);
        }
    }
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        size_t maker = strlen(makers[i]);
        plain += strncmp(plain, makers[i], maker) == 0 ? maker : 0;
    }
    return plain;
}

enum match { MATCH_NONE, MATCH_BEGIN, MATCH_WHOLE };

static enum match name_match(const char *wanted, const char *name)
{
    char buffer[PLAIN_BYTES];
    const char *plain = name_plain(name, buffer);
    return strcmp(wanted, plain) == 0                               ? MATCH_WHOLE
           : strncmp(wanted, plain, strlen(wanted)) == 0 && *wanted ? MATCH_BEGIN
                                                                    : MATCH_NONE;
}

static enum match gpu_match(const char *wanted, const struct gpu *gpu)
{
    enum match best = name_match(wanted, gpu->name);
    for (int i = 0; i < GPU_ALIASES_MAXIMUM && gpu->aliases[i] != NULL; i++) {
        enum match match = name_match(wanted, gpu->aliases[i]);
        best = match > best ? match : best;
    }
    return best;
}

static enum status_code name_refuse(const char *name, const char *begun, struct status *error)
{
    const char *names[GPU_COUNT + 1] = {NULL};
    char plains[GPU_COUNT][PLAIN_BYTES], buffer[PLAIN_BYTES];
    if (*begun != '\0') {
        return status_set(error, STATUS_INVALID, "'%s' may be %s; write the whole name, or --memory SIZE", name, begun);
    }
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        names[i] = name_plain(gpus[i].name, plains[i]);
    }
    const char *nearest = name_nearest(name_plain(name, buffer), names);
    struct text known = {0};
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        text_format(&known, "%s%s", i > 0 ? ", " : "", gpus[i].name);
        nearest = names[i] == nearest ? gpus[i].name : nearest;
    }
    enum status_code code = status_set(error, STATUS_INVALID,
                                       "'%s' is no GPU whose memory is known here; the nearest is %s, known are %s; "
                                       "write one of these, or its memory as --memory SIZE",
                                       name, nearest, text_string(&known));
    text_release(&known);
    return code;
}

enum status_code gpu_find(const char *name, const struct gpu **gpu, struct status *error)
{
    struct text begun = {0};
    char buffer[PLAIN_BYTES];
    const char *wanted = name_plain(name, buffer);
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        enum match match = gpu_match(wanted, &gpus[i]);
        if (match == MATCH_WHOLE) {
            *gpu = &gpus[i];
            text_release(&begun);
            return STATUS_OK;
        }
        if (match == MATCH_BEGIN) {
            text_format(&begun, "%s%s", begun.length > 0 ? " or " : "", gpus[i].name);
        }
    }
    enum status_code code = name_refuse(name, text_string(&begun), error);
    text_release(&begun);
    return code;
}
