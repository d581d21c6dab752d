/* Load case: the question of assay load: a checkpoint, its model, the device of each part, and the devices. */
#ifndef ASSAY_CLI_LOAD_CASE_H
#define ASSAY_CLI_LOAD_CASE_H

#include "harness/cli/gpu_locks.h"
#include "harness/cli/place_options.h"
#include "harness/load/load_run.h"
#include "harness/replay/offload_store.h"

enum { LANE_NAME_BYTES = 48 };

/* Stays where it is while it is open. */
struct load_case {
    struct place_case
        place;             /* the model, its skeleton (the one that is loaded), budgets, notes, and the arena of all */
    struct skeleton other; /* the model with the other head */
    struct load_files files;
    struct checkpoint_names names;
    struct json *map_document; /* NULL: the map is planned, or that of one device */
    struct device_plan device_plan;
    struct device_map map;
    struct load_request request;
    struct load_plan plan;
    struct replay_lane *lanes;           /* by place of the plan */
    char (*lane_names)[LANE_NAME_BYTES]; /* what each lane is: "host:mem=1073741824", "cuda:0", "disk" */
    struct gpu_locks locks;              /* of these, while they are open */
    struct device *host;                 /* through which everything passes; among the lanes, or not */
    const char *offload_folder;          /* NULL: none */
    struct offload_store store;          /* open while weights are written */
    bool stands;                         /* GPUs are memory of the host */
};

/* Reads the operand and the options. On failure nothing is open. */
enum status_code load_case_open(const struct arguments *arguments, struct load_case *load, struct status *error);
void load_case_close(struct load_case *load);

/* The budget of --max-memory, in bytes; 0: there is none. */
int64_t load_budget(const struct load_case *load, struct placement_device device);

/* Opens the devices of the plan's places, GPUs for this load alone: load_devices.c. */
enum status_code load_devices_open(const struct arguments *arguments, struct load_case *load, struct status *error);
void load_devices_close(struct load_case *load);

#endif
