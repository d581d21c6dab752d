/* GPU lanes: one question after the other, until a GPU is not here. Which lane measures which case is run.c's. */
#include "harness/run/gpu_lanes.h"

#include <string.h>

#include "harness/hardware/hardware.h"
#include "harness/run/device_claim.h"

static enum status_code memory_error(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the GPUs of a run");
}

/* The nearest cores of a GPU are only worth a rule if there are others. */
static bool cpus_keep(struct gpu_lanes *lanes, const struct hardware *hardware, const char *pci_bus_id,
                      struct gpu_lane *lane)
{
    const struct hardware_gpu *gpu = pci_bus_id != NULL ? hardware_find_gpu(hardware, pci_bus_id) : NULL;
    if (gpu == NULL || gpu->cpus.count == 0 || gpu->cpus.count >= hardware->pu_count) {
        return true;
    }
    int *numbers = arena_alloc(&lanes->arena, (size_t)gpu->cpus.count * sizeof *numbers);
    if (numbers != NULL) {
        memcpy(numbers, gpu->cpus.numbers, (size_t)gpu->cpus.count * sizeof *numbers);
        lane->cpus = numbers;
        lane->cpu_count = gpu->cpus.count;
    }
    return numbers != NULL;
}

/* The GPU that an answer is about becomes a lane. */
static bool lane_add(struct gpu_lanes *lanes, const char *spec, struct json *answer, const struct hardware *hardware)
{
    const char *uuid = json_string_or(json_get(answer, "uuid"), NULL);
    lanes->answers[lanes->count] = json_share(answer);
    struct gpu_lane *lane = &lanes->lanes[lanes->count++];
    *lane = (struct gpu_lane){.spec = spec, .uuid = uuid != NULL ? arena_copy(&lanes->arena, uuid) : NULL};
    return (uuid == NULL || lane->uuid != NULL) &&
           cpus_keep(lanes, hardware, json_string_or(json_get(answer, "pci_bus_id"), NULL), lane);
}

static enum status_code names_compare(const struct gpu_lanes *lanes, const char *first, const char *spec,
                                      const char *name, struct status *error)
{
    if (strcmp(first, name) == 0) {
        return STATUS_OK;
    }
    return status_set(
        error, STATUS_INVALID,
        "--device cuda:all: %s is '%.100s' and %s '%.100s', and where a case is measured would decide its "
        "figures; name one of them, or show those of one kind with CUDA_VISIBLE_DEVICES",
        lanes->lanes[0].spec, first, spec, name);
}

/* Until one is not here. *more false then. */
static enum status_code lane_ask(const struct device_claim_request *request, const struct hardware *hardware,
                                 const char **first_name, struct gpu_lanes *lanes, bool *more, struct status *error)
{
    struct json *answer = NULL;
    const char *spec = arena_format(&lanes->arena, "cuda:%d", lanes->count);
    enum status_code code = spec != NULL ? device_claim_ask(request, spec, &answer, error) : memory_error(error);
    if (code == STATUS_OK && answer == NULL) {
        code = status_set(error, STATUS_DEVICE,
                          "--device cuda:all: %s gives no answer, so that nobody knows how many GPUs there are; assay "
                          "doctor --device %s says why, and CUDA_VISIBLE_DEVICES leaves it out",
                          spec, spec);
    }
    const char *name = json_string_or(json_get(answer, "name"), "GPU without a name");
    *more = code == STATUS_OK && strcmp(json_string_or(json_get(answer, "kind"), ""), "cuda") == 0;
    if (*more && *first_name == NULL) {
        *first_name = arena_copy(&lanes->arena, name);
        code = *first_name != NULL ? STATUS_OK : memory_error(error);
    }
    if (*more && code == STATUS_OK) {
        code = names_compare(lanes, *first_name, spec, name, error);
    }
    if (*more && code == STATUS_OK && !lane_add(lanes, spec, answer, hardware)) {
        code = memory_error(error);
    }
    json_release(answer);
    return code;
}

enum status_code gpu_lanes_find(const struct run_options *options, const struct run_signals *signals,
                                struct gpu_lanes *lanes, struct status *error)
{
    struct arena arena = {0};
    struct hardware hardware = {0};
    const char *first_name = NULL;
    const struct device_claim_request request = {
        .options = options, .case_ = &options->suite->cases[0], .signals = signals};
    bool more = options->runner->identify != NULL;
    enum status_code code = STATUS_OK;
    *lanes = (struct gpu_lanes){0};
    if (hardware_read(NULL, &arena, &hardware, NULL) != STATUS_OK) {
        hardware = (struct hardware){0}; /* then nobody knows which cores are near */
    }
    while (more && code == STATUS_OK && lanes->count < GPU_LANES_MAXIMUM) {
        code = lane_ask(&request, &hardware, &first_name, lanes, &more, error);
    }
    arena_release(&arena);
    if (lanes->count == 1) { /* nothing to hide; and of an instance of a divided GPU the UUID may be that of the GPU */
        lanes->lanes[0].uuid = NULL;
    }
    if (code != STATUS_OK) {
        gpu_lanes_release(lanes);
    }
    return code;
}

void gpu_lanes_release(struct gpu_lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        json_release(lanes->answers[i]);
    }
    arena_release(&lanes->arena);
    *lanes = (struct gpu_lanes){0};
}
