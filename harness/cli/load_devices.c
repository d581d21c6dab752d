/* Devices of a load: what stands for each place of a device map on this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/load_case.h"
#include "harness/cli/model_notes.h"

/* A budget counts tensors. Pages, and the segments of PyTorch's allocator, which takes up to 20 MiB at a time, come on
 * top: what stands for a device has room for one of these more, so that small budgets can be tried at all. */
static void host_name(const struct load_case *load, struct placement_device device, char name[LANE_NAME_BYTES])
{
    int64_t budget = load_budget(load, device), bound = 0;
    if (budget > 0 && size_round_up(budget, ALLOCATOR_LARGE_SEGMENT_BYTES, &bound) &&
        size_add(bound, ALLOCATOR_LARGE_SEGMENT_BYTES, &bound)) {
        snprintf(name, LANE_NAME_BYTES, "host:mem=%" PRId64 "B", bound);
    } else {
        snprintf(name, LANE_NAME_BYTES, "host");
    }
}

static enum status_code gpu_open(const char *asked, int place, struct load_case *load, struct status *error)
{
    struct placement_device device = load->plan.places[place].device;
    char *name = load->lane_names[place];
    bool tries_cuda = strcmp(asked, "auto") == 0 || strcmp(asked, "cuda") == 0;
    struct device **opened = &load->lanes[place].device;
    load->lanes[place].policy = ALLOCATOR_CACHING;
    if (tries_cuda) {
        snprintf(name, LANE_NAME_BYTES, "cuda:%d", device.index);
        enum status_code code = device_open(name, opened, error);
        if (code != STATUS_UNAVAILABLE || strcmp(asked, "cuda") == 0) {
            return code;
        }
    }
    host_name(load, device, name);
    load->stands = true;
    return device_open(name, opened, error);
}

static enum status_code disk_open(int place, struct load_case *load, struct status *error)
{
    snprintf(load->lane_names[place], LANE_NAME_BYTES, "disk");
    enum status_code code = offload_store_open(load->offload_folder, OFFLOAD_REPLACE, &load->store, error);
    if (code == STATUS_OK) {
        load->lanes[place].store = &load->store.store;
    }
    return code;
}

static enum status_code lane_open(const char *asked, int place, struct load_case *load, struct status *error)
{
    struct placement_device device = load->plan.places[place].device;
    bool is_meta = strcmp(asked, "meta") == 0;
    load->lanes[place].policy = device.kind == PLACEMENT_GPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN;
    if (device.kind == PLACEMENT_MPS) {
        return status_set(error, STATUS_INVALID,
                          "load: the map puts modules on mps, and Apple's GPUs are not known "
                          "here; write a number, cpu or disk in its place");
    }
    if (is_meta) {
        snprintf(load->lane_names[place], LANE_NAME_BYTES, "meta");
        return device_open("meta", &load->lanes[place].device, error);
    }
    if (device.kind == PLACEMENT_DISK) {
        return disk_open(place, load, error);
    }
    if (device.kind == PLACEMENT_GPU) {
        return gpu_open(asked, place, load, error);
    }
    host_name(load, device, load->lane_names[place]);
    return device_open(load->lane_names[place], &load->lanes[place].device, error);
}

int64_t load_budget(const struct load_case *load, struct placement_device device)
{
    for (int i = 0; i < load->place.request.budget_count; i++) {
        if (placement_device_equal(load->place.budgets[i].device, device)) {
            return load->place.budgets[i].bits / BITS_PER_BYTE;
        }
    }
    return 0;
}

enum status_code load_devices_open(const struct arguments *arguments, struct load_case *load, struct status *error)
{
    const char *given = arguments_value(arguments, "device"), *asked = given != NULL ? given : "auto";
    size_t count = (size_t)load->plan.place_count + 1;
    if (strcmp(asked, "auto") != 0 && strcmp(asked, "cuda") != 0 && strcmp(asked, "host") != 0 &&
        strcmp(asked, "meta") != 0) {
        return status_set(error, STATUS_INVALID,
                          "load: --device %s is not known; write host (GPUs of the map stand as memory of the host), "
                          "cuda, meta (nothing is loaded) or auto",
                          asked);
    }
    load->lanes = arena_alloc(&load->place.arena, count * sizeof *load->lanes);
    load->lane_names = arena_alloc(&load->place.arena, count * sizeof *load->lane_names);
    if (load->lanes == NULL || load->lane_names == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a list of devices");
    }
    enum status_code code = device_open(strcmp(asked, "meta") == 0 ? "meta" : "host", &load->host, error);
    for (int i = 0; i < load->plan.place_count && code == STATUS_OK; i++) {
        code = lane_open(asked, i, load, error);
        code = code == STATUS_OK ? gpu_locks_add(load->lanes[i].device, "assay load", &load->locks, error) : code;
    }
    if (code != STATUS_OK) {
        load_devices_close(load);
    }
    return code;
}

void load_devices_close(struct load_case *load)
{
    for (int i = 0; load->lanes != NULL && i < load->plan.place_count; i++) {
        device_close(load->lanes[i].device);
        load->lanes[i].device = NULL; /* a later check asks whether it was the disk */
    }
    if (load->store.writer != NULL) {
        offload_store_abandon(&load->store);
    }
    device_close(load->host);
    load->host = NULL;
    gpu_locks_release(&load->locks);
}
