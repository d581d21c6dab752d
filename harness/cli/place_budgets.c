/* Budgets of assay place: what --max-memory says, what GPUs that --on names have, or what is in this machine. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/place_options.h"
#include "harness/hardware/hardware.h"
#include "harness/question/overhead.h"
#include "harness/tape/gpu_table.h"

/* Reads a size as accelerate does. Sizes that accelerate cannot read (123456, 123456B, 2TiB) are read as in every other
 * option; those that it would read as bits are refused, because nobody means bits. */
static enum status_code size_read(const char *text, int64_t *bytes, struct status *error)
{
    int64_t accelerate_bytes = 0;
    bool is_bits = false;
    enum status_code code = accelerate_size_parse(text, &accelerate_bytes, &is_bits, NULL);
    if (code == STATUS_OK && is_bits) {
        int length = (int)strlen(text) - 2;
        char letter = (char)toupper((unsigned char)text[length]);
        return status_set(error, STATUS_INVALID,
                          "'%s' ends in a small b: accelerate reads bits, %" PRId64
                          " bytes, where %.*s%cB is eight times "
                          "as much; write %.*s%cB or %" PRId64 "B",
                          text, accelerate_bytes, length, text, letter, length, text, letter, accelerate_bytes);
    }
    if (code != STATUS_OK) {
        return size_parse(text, bytes, error);
    }
    *bytes = accelerate_bytes;
    return STATUS_OK;
}

static enum status_code budget_add(struct place_case *place, struct placement_device device, int64_t bytes,
                                   struct status *error)
{
    struct placement_budget *budget = &place->budgets[place->request.budget_count];
    *budget = (struct placement_budget){.device = device};
    if (place->request.budget_count == PLACEMENT_DEVICES_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: more than %d devices", place->command, PLACEMENT_DEVICES_MAXIMUM);
    }
    if (!size_multiply(bytes, BITS_PER_BYTE, &budget->bits)) {
        return status_set(error, STATUS_OVERFLOW, "%s: %" PRId64 " bytes are more than can be planned for",
                          place->command, bytes);
    }
    place->request.budget_count++;
    return STATUS_OK;
}

/* 0=10GB,cpu=50GB */
static enum status_code given_read(struct place_case *place, const char *typed, struct status *error)
{
    char *rest = arena_copy(&place->arena, typed);
    enum status_code code =
        rest == NULL ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the options")
                     : STATUS_OK;
    while (code == STATUS_OK && rest != NULL) {
        char *name = strsep(&rest, ","), *size = strchr(name, '=');
        struct placement_device device;
        int64_t bytes = 0;
        if (size == NULL) {
            return status_set(error, STATUS_INVALID,
                              "%s: --max-memory: '%s' is no DEVICE=SIZE; write 0=10GB,1=10GB,cpu=50GB", place->command,
                              name);
        }
        *size = '\0';
        if (!placement_device_from_name(name, &device)) {
            return status_set(error, STATUS_INVALID,
                              "%s: --max-memory: '%s' is no device of accelerate; write 0, 1, ... for GPUs, or mps, "
                              "cpu or disk",
                              place->command, name);
        }
        code = size_read(size + 1, &bytes, error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s: --max-memory %s", place->command, name);
        }
        code = code == STATUS_OK ? budget_add(place, device, bytes, error) : code;
    }
    return code;
}

/* What is left to tensors beside driver, context and libraries of an inference, of the most that they may take. gpu
 * NULL: one that the table does not know. */
static int64_t rest_bytes(int64_t memory_bytes, const struct gpu *gpu)
{
    const struct target *target = target_at(0);
    if (gpu != NULL && target_find(gpu->target, &target, NULL) != STATUS_OK) {
        target = target_at(0);
    }
    const struct context_program program = {.use = CONTEXT_INFERENCE};
    struct overhead overhead = overhead_of_device(NULL, gpu, target, MODE_INFER, &program);
    return overhead_rest(memory_bytes, overhead.high_bytes);
}

/* "RTX 4090 x2": so many GPUs of that name. */
static enum status_code named_read(struct place_case *place, const char *typed, struct status *error)
{
    char *name = arena_copy(&place->arena, typed);
    const struct gpu *gpu = NULL;
    int64_t count = 1;
    char *times = name != NULL ? strrchr(name, 'x') : NULL;
    if (name == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the options");
    }
    if (times != NULL && times > name && times[-1] == ' ' &&
        integer_parse(times + 1, 1, PLACEMENT_DEVICES_MAXIMUM - 3, &count, NULL) == STATUS_OK) {
        times[-1] = '\0';
    }
    enum status_code code = gpu_find_typed(name, "--max-memory 0=", &gpu, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s: --on", place->command);
        return code;
    }
    int64_t bytes = rest_bytes(gpu_memory_bytes(gpu), gpu);
    for (int i = 0; i < (int)count && code == STATUS_OK; i++) {
        code = budget_add(place, (struct placement_device){PLACEMENT_GPU, i}, bytes, error);
    }
    note_give(place->command, &place->notes,
              "budget of each %s: its memory less %" PRId64
              " bytes for driver, context and libraries, the most that they may take",
              gpu->name, gpu_memory_bytes(gpu) - bytes);
    return code;
}

/* The GPUs of this machine whose memory is known, and all of its own memory. */
static enum status_code here_read(struct place_case *place, struct status *error)
{
    struct hardware hardware;
    enum status_code code = hardware_read(NULL, &place->arena, &hardware, error);
    for (int i = 0; code == STATUS_OK && i < hardware.gpu_count; i++) {
        if (hardware.gpus[i].memory_bytes > 0) {
            struct placement_device device = {PLACEMENT_GPU, place->request.budget_count};
            const struct gpu *known = NULL;
            const char *name = hardware.gpus[i].model;
            if (name != NULL && gpu_find(name, &known, NULL) != STATUS_OK) {
                known = NULL;
            }
            code = budget_add(place, device, rest_bytes(hardware.gpus[i].memory_bytes, known), error);
        }
    }
    if (code == STATUS_OK && place->request.budget_count == 0) {
        return status_set(error, STATUS_INVALID,
                          "%s: no budget is given, and no GPU whose memory is known is here; add --max-memory "
                          "0=10GB,cpu=50GB, or --on GPU",
                          place->command);
    }
    if (code == STATUS_OK) {
        note_give(place->command, &place->notes,
                  "budgets: the memory of this machine and of its GPUs, less driver, context and libraries on each; "
                  "--max-memory gives others");
        code = budget_add(place, (struct placement_device){.kind = PLACEMENT_CPU}, hardware.memory_bytes, error);
    }
    return code;
}

enum status_code place_budgets_read(const struct arguments *arguments, struct place_case *place, struct status *error)
{
    const char *given = arguments_value(arguments, "max-memory"), *on = arguments_value(arguments, "on");
    enum status_code code = STATUS_OK;
    place->budgets = arena_alloc(&place->arena, (PLACEMENT_DEVICES_MAXIMUM + 1) * sizeof *place->budgets);
    if (place->budgets == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the options");
    }
    if (given != NULL) {
        code = given_read(place, given, error);
    }
    if (code == STATUS_OK && on != NULL) {
        code = named_read(place, on, error);
    }
    if (code == STATUS_OK && given == NULL && on == NULL) {
        code = here_read(place, error);
    }
    place->request.budgets = place->budgets;
    place->request.budgets_are_detected = given == NULL || on != NULL;
    return code;
}
