/* The table of GPUs: data, and the reading of names. No driver is asked, and no figure stands here without its
 * source. */
#include "harness/tape/gpu_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/base/shell_word.h"
#include "harness/base/size_text.h"
#include "harness/base/text.h"

#define GITHUB "https://github.com/"
#define MODAL  GITHUB "modal-labs/modal-client/pull/2797"
/* Outputs of nvidia-smi and amd-smi in public repositories, several of each, by what they print. */
#define PRINTED GITHUB "search?type=code&q="

/* The multiprocessors are those of the maker's data sheets; of AMD's, whose contexts nobody looked into, 0. */
static const struct gpu gpus[] = {
    {"NVIDIA GB300", {"gb300"}, "sm_103", 284208, 148, PRINTED "284208MiB"},
    {"NVIDIA B300 SXM6 AC", {"b300"}, "sm_103", 275040, 148, PRINTED "%22NVIDIA+B300+SXM6+AC%22+275040"},
    {"NVIDIA GB200", {"gb200"}, "sm_100", 189471, 148, PRINTED "189471MiB"},
    {"NVIDIA B200", {"b200"}, "sm_100", 183359, 148, PRINTED "183359MiB"},
    {"NVIDIA GH200 480GB", {"gh200", "gh200 120gb"}, "sm_90", 97871, 132, PRINTED "97871MiB+GH200"},
    {"NVIDIA H200", {"h200"}, "sm_90", 143771, 132, PRINTED "143771MiB"},
    {"NVIDIA H100 80GB HBM3", {"h100", "h100 80gb", "h100 sxm"}, "sm_90", 81559, 132, GITHUB "NVIDIA/nccl/issues/1264"},
    {"NVIDIA H100 PCIe", {NULL}, "sm_90", 81559, 114, PRINTED "81559MiB+%22H100+PCIe%22"},
    {"NVIDIA H100 NVL", {"h100 94gb"}, "sm_90", 95830, 132, PRINTED "95830MiB"},
    {"NVIDIA H20", {"h20"}, "sm_90", 97871, 78, PRINTED "97871MiB+H20"},
    {"NVIDIA A100-SXM4-80GB", {"a100 80gb", "a100 80gb pcie", "a100 sxm 80gb"}, "sm_80", 81920, 108, MODAL},
    {"NVIDIA A100-SXM4-40GB", {"a100 40gb", "a100 pcie 40gb", "a100 sxm 40gb"}, "sm_80", 40960, 108, MODAL},
    {"NVIDIA A800-SXM4-80GB", {"a800", "a800 80gb"}, "sm_80", 81920, 108, GITHUB "dexmal/dexbotic/issues/41"},
    {"NVIDIA A40", {"a40"}, "sm_86", 46068, 84, PRINTED "46068MiB+%22NVIDIA+A40%22"},
    {"NVIDIA A10", {"a10"}, "sm_86", 23028, 72, MODAL},
    {"NVIDIA A10G", {"a10g"}, "sm_86", 23028, 80, PRINTED "23028MiB+A10G"},
    {"NVIDIA L40", {"l40"}, "sm_89", 46068, 142, PRINTED "46068MiB+%22NVIDIA+L40+%22"},
    {"NVIDIA L40S", {"l40s"}, "sm_89", 46068, 142, MODAL},
    {"NVIDIA L4", {"l4"}, "sm_89", 23034, 58, MODAL},
    {"Tesla T4", {"t4"}, "sm_75", 15360, 40, MODAL},
    {"Tesla V100-SXM2-32GB", {"v100 32gb"}, "sm_70", 32768, 80, PRINTED "32768MiB+%22Tesla+V100%22"},
    {"Tesla V100-SXM2-16GB", {"v100 16gb"}, "sm_70", 16384, 80, GITHUB "1CatAI/1Cat-vLLM/issues/85"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
     {"pro 6000", "pro 6000 blackwell", "pro 6000 blackwell server edition",
      "pro 6000 blackwell max-q workstation edition"},
     "sm_120",
     97887,
     188,
     PRINTED "97887MiB"},
    {"NVIDIA RTX 6000 Ada Generation", {"6000 ada"}, "sm_89", 49140, 142, PRINTED "%22RTX+6000+Ada%22+49140"},
    {"NVIDIA RTX A6000", {"a6000"}, "sm_86", 49140, 84, PRINTED "49140MiB+%22RTX+A6000%22"},
    {"NVIDIA RTX A4000",
     {"a4000"},
     "sm_86",
     16376,
     48,
     "https://huggingface.co/Plasmoxy/flan-t5-small-gigatrue/blame/main/nvidia_smi_early.log"},
    {"NVIDIA GeForce RTX 3060",
     {"3060", "3060 12gb"},
     "sm_86",
     12288,
     28,
     GITHUB "geerlingguy/raspberry-pi-pcie-devices/issues/790"},
    {"NVIDIA GeForce RTX 2070 SUPER", {"2070 super"}, "sm_75", 8192, 40, PRINTED "8192MiB+%22RTX+2070+SUPER%22"},
    {"NVIDIA GeForce RTX 3070", {"3070"}, "sm_86", 8192, 46, PRINTED "8192MiB+%22RTX+3070%22"},
    {"NVIDIA GeForce RTX 3090", {"3090"}, "sm_86", 24576, 82, GITHUB "noonghunna/club-3090/issues/390"},
    {"NVIDIA GeForce RTX 4060", {"4060"}, "sm_89", 8188, 24, PRINTED "8188MiB+%22RTX+4060%22"},
    {"NVIDIA GeForce RTX 4070", {"4070"}, "sm_89", 12282, 46, PRINTED "12282MiB+%22RTX+4070%22"},
    {"NVIDIA GeForce RTX 4080", {"4080"}, "sm_89", 16376, 76, PRINTED "16376MiB+%22RTX+4080%22"},
    {"NVIDIA GeForce RTX 4090", {"4090"}, "sm_89", 24564, 128, PRINTED "24564MiB"},
    {"NVIDIA GeForce RTX 5060 Ti", {"5060 ti 16gb"}, "sm_120", 16311, 36, PRINTED "%22RTX+5060+Ti%22+16311"},
    {"NVIDIA GeForce RTX 5070", {"5070"}, "sm_120", 12227, 48, PRINTED "12227MiB+%22RTX+5070%22"},
    {"NVIDIA GeForce RTX 5070 Ti", {"5070 ti"}, "sm_120", 16303, 70, PRINTED "16303MiB+%22RTX+5070+Ti%22"},
    {"NVIDIA GeForce RTX 5080", {"5080"}, "sm_120", 16303, 84, PRINTED "16303MiB+%22RTX+5080%22"},
    {"NVIDIA GeForce RTX 5090", {"5090"}, "sm_120", 32607, 170, PRINTED "32607MiB"},
    /* What their libraries take was not looked into: kernels and workspaces are those of sm_90. */
    {"AMD Instinct MI300X", {"mi300x", "mi300"}, "sm_90", 196592, 0, PRINTED "%22MI300X%22+196592"},
    {"AMD Instinct MI325X", {"mi325x", "mi325"}, "sm_90", 262128, 0, PRINTED "%22MI325X%22+262128"},
    {"AMD Instinct MI355X", {"mi355x", "mi355"}, "sm_90", 294896, 0, PRINTED "%22MI355X%22+294896"},
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

bool gpu_is_amd(const struct gpu *gpu)
{
    return strncmp(gpu->name, "AMD ", 4) == 0;
}

void gpu_memory_words(const struct gpu *gpu, struct text *text)
{
    text_format(text, "%s: %" PRId64 " MiB, %s", gpu_is_amd(gpu) ? "amd-smi" : "nvidia-smi", gpu->memory_mib,
                gpu->source);
}

/* Letters and digits alone, in lower case, without the words of the maker in front: "NVIDIA GeForce RTX 4090" ->
 * "4090". */
static const char *name_plain(const char *name, char plain[PLAIN_BYTES])
{
    static const char *const makers[] = {"nvidia", "amd", "instinct", "geforce", "tesla", "rtx"};
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

/* The bytes of a size at the beginning of text: "24GiB", "24 GB", "24g"; 0: there is none. "3090 Ti" is no size. */
static size_t size_length(const char *text)
{
    size_t digits = strspn(text, "0123456789."), gap = strspn(text + digits, " ");
    const char *unit = text + digits + gap, *end = unit;
    end += *end != '\0' && strchr("kKmMgGtT", *end) != NULL ? 1 : 0;
    bool prefixed = end > unit, binary = prefixed && (*end == 'i' || *end == 'I');
    end += binary ? 1 : 0;
    bool in_bytes = *end == 'b' || *end == 'B';
    end += in_bytes ? 1 : 0;
    bool is_unit = in_bytes || (prefixed && !(binary && strchr("tT", *unit) != NULL));
    return digits > 0 && is_unit ? (size_t)(end - text) : 0;
}

static bool is_size(const char *text)
{
    size_t length = size_length(text);
    return length > 0 && text[length] == '\0';
}

/* Of "H200 141GB" the GPUs that "H200" is or begins, if a size ends what was typed; false: there are none. */
static bool sized_append(const char *name, struct text *text)
{
    char bare[PLAIN_BYTES], buffer[PLAIN_BYTES];
    size_t end = 0;
    for (size_t i = 1; name[0] != '\0' && name[i] != '\0' && end == 0; i++) {
        end = strchr(" -_", name[i - 1]) != NULL && is_size(name + i) ? i : 0;
    }
    if (end == 0 || end >= sizeof bare) {
        return false;
    }
    snprintf(bare, sizeof bare, "%.*s", (int)end, name);
    const char *wanted = name_plain(bare, buffer);
    bool found = false;
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        if (gpu_match(wanted, &gpus[i]) != MATCH_NONE) {
            text_append(text, found ? " or " : "did you mean ");
            shell_word_append(text, gpus[i].name);
            found = true;
        }
    }
    text_append(text, found ? "? " : "");
    return found;
}

/* Whether the number of the model that was typed, the first of two digits or more, is one of name's too: a 1080 Ti is
 * no 5060 Ti, however alike they look. Of a name without one: true. */
static bool has_number(const char *name, const char *typed)
{
    static const char digits[] = "0123456789";
    size_t length = 0;
    while (*typed != '\0' && (length = strspn(typed, digits)) < 2) {
        typed += length > 0 ? length : 1;
    }
    while (*typed != '\0' && *name != '\0') {
        size_t own = strspn(name, digits);
        if (own == length && strncmp(name, typed, length) == 0) {
            return true;
        }
        name += own > 0 ? own : 1;
    }
    return *typed == '\0';
}

/* "did you mean "NVIDIA H200"? ", if a name or an alias is near, and of the same number. */
static void near_append(const char *name, struct text *text)
{
    enum { NAMES_MAXIMUM = GPU_COUNT * (GPU_ALIASES_MAXIMUM + 1) };
    const char *names[NAMES_MAXIMUM + 1] = {NULL}, *meant[NAMES_MEANT_MAXIMUM];
    char plains[NAMES_MAXIMUM][PLAIN_BYTES], buffer[PLAIN_BYTES];
    int of[NAMES_MAXIMUM], count = 0, last = -1;
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        of[count] = i;
        names[count] = name_plain(gpus[i].name, plains[count]);
        count++;
        for (int k = 0; k < GPU_ALIASES_MAXIMUM && gpus[i].aliases[k] != NULL; k++) {
            of[count] = i;
            names[count] = name_plain(gpus[i].aliases[k], plains[count]);
            count += strcmp(names[count], names[count - 1]) == 0 ? 0 : 1;
        }
        names[count] = NULL;
    }
    int found = names_meant(name_plain(name, buffer), names, meant);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < found; k++) {
            if (names[i] == meant[k] && of[i] != last && has_number(gpus[of[i]].name, name)) {
                text_append(text, last < 0 ? "did you mean " : " or ");
                shell_word_append(text, gpus[of[i]].name);
                last = of[i];
            }
        }
    }
    text_append(text, last < 0 ? "" : "? ");
}

/* "24g" is none that an option of memory takes: the two that it may be are written out. */
static enum status_code size_refuse(const char *name, const char *option, struct status *error)
{
    if (option == NULL) {
        return status_set(error, STATUS_INVALID, "'%s' is a size and no GPU; assay gpus lists the names", name);
    }
    int64_t bytes = 0;
    struct text word = {0};
    size_t number = strspn(name, "0123456789."), unit = number + strspn(name + number, " ");
    if (size_parse_memory(name, &bytes, NULL) == STATUS_OK) {
        text_append(&word, option);
        shell_word_append(&word, name);
    } else {
        int length = (int)number;
        char letter = (char)toupper((unsigned char)name[unit]);
        if (letter == 'B') {
            text_format(&word, "%s%.*sB", option, length, name);
        } else {
            text_format(&word, "%s%.*s%ciB (1024s) or %s%.*s%cB (1000s)", option, length, name, letter, option, length,
                        name, letter);
        }
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%s' is a size and no GPU; write %s", name, text_string(&word));
    text_release(&word);
    return code;
}

static enum status_code name_refuse(const char *name, const char *begun, const char *option, struct status *error)
{
    const char *size = option != NULL ? "SIZE" : "";
    if (*begun != '\0') {
        return status_set(error, STATUS_INVALID, "'%s' may be %s; write the whole name%s%s%s", name, begun,
                          option != NULL ? ", or " : "", option != NULL ? option : "", size);
    }
    if (is_size(name)) {
        return size_refuse(name, option, error);
    }
    struct text near = {0};
    if (!sized_append(name, &near)) {
        near_append(name, &near);
    }
    enum status_code code = status_set(error, STATUS_INVALID,
                                       "'%s' is no GPU whose memory is known here; %sassay gpus lists those that "
                                       "are%s%s%s",
                                       name, text_string(&near), option != NULL ? ", or write its memory as " : "",
                                       option != NULL ? option : "", size);
    text_release(&near);
    return code;
}

const char *gpu_target(const char *name)
{
    char buffer[PLAIN_BYTES];
    const char *wanted = name_plain(name, buffer), *target = NULL;
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        enum match match = gpu_is_amd(&gpus[i]) ? MATCH_NONE : gpu_match(wanted, &gpus[i]);
        if (match == MATCH_WHOLE) {
            return gpus[i].target;
        }
        match = strlen(wanted) < 3 && match == MATCH_BEGIN ? MATCH_NONE : match;
        if (match == MATCH_BEGIN && target != NULL && strcmp(target, gpus[i].target) != 0) {
            return NULL;
        }
        target = match == MATCH_BEGIN ? gpus[i].target : target;
    }
    return target;
}

enum status_code gpu_find(const char *name, const struct gpu **gpu, struct status *error)
{
    return gpu_find_typed(name, NULL, gpu, error);
}

enum status_code gpu_find_typed(const char *name, const char *option, const struct gpu **gpu, struct status *error)
{
    struct text begun = {0};
    char buffer[PLAIN_BYTES];
    const char *wanted = name_plain(name, buffer);
    int begun_rows[GPU_COUNT], count = 0;
    for (int i = 0; i < (int)GPU_COUNT; i++) {
        enum match match = gpu_match(wanted, &gpus[i]);
        if (match == MATCH_WHOLE) {
            *gpu = &gpus[i];
            return STATUS_OK;
        }
        if (match == MATCH_BEGIN) {
            begun_rows[count++] = i;
        }
    }
    for (int i = 0; i < count; i++) {
        text_append(&begun, i == 0 ? "" : i == count - 1 ? " or " : ", ");
        shell_word_append(&begun, gpus[begun_rows[i]].name);
    }
    enum status_code code = name_refuse(name, text_string(&begun), option, error);
    text_release(&begun);
    return code;
}
