/* Placement: where each tensor of a model is kept and where each module runs, as accelerate's dispatch_model does it.
 *
 * A device map gives modules to places. A module on a device is kept and runs there; one on the host or the disk is
 * kept there and runs on the main device, to which each of its modules that owns tensors brings them for the time of
 * its own forward pass. Where a module runs, the arguments of its call are moved to (AlignDevicesHook); a module that
 * no key of the map covers has no hook, and runs where its arguments are. Source: accelerate 1.15, big_modeling.py and
 * hooks.py.
 *
 * Buffers of offloaded modules stay on the main device unless offload_buffers is set; those that are not in the state
 * dict stay there always. The state dict keeps its copy of the others: such a buffer lies in two places.
 * Tied tensors lie once in each place that the map gives them. An offloaded one whose twin lies where its module runs
 * is not brought from the host: the twin is used (tied_params_map). Two devices it cannot be given: retie_parameters
 * makes one of them. If the main device is the host, what the map gives to the host is not offloaded. */
#ifndef ASSAY_SKELETON_PLACEMENT_H
#define ASSAY_SKELETON_PLACEMENT_H

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/tape/tape.h"
#include "models/skeleton/skeleton.h"

enum place_kind {
    PLACE_DEVICE, /* a GPU, or what stands for one */
    PLACE_HOST,
    PLACE_DISK
};

struct place {
    enum place_kind kind;
    char name[16]; /* as in a device map: "0", "cpu", "disk" */
};

/* An entry of a device map: a module's path, "" for the whole model, or a parameter's. */
struct placement_entry {
    const char *path;
    int place;
};

/* Which function of accelerate places the model. */
enum placement_form {
    PLACEMENT_DISPATCH, /* dispatch_model */
    PLACEMENT_FORCED,   /* the same with force_hooks: one device has hooks, too */
    /* cpu_offload and disk_offload: hooks are where tensors are; the map gives "" to the host or the disk */
    PLACEMENT_OFFLOAD
};

struct placement_plan {
    enum placement_form form;
    struct place places[PLACE_MAXIMUM];
    int place_count;
    const struct placement_entry *entries;
    int entry_count;
    int main; /* -1: the first device that has an entry, or the host */
    bool offload_buffers;
};

struct placement {
    struct arena arena; /* owns what follows */
    const struct skeleton *skeleton;
    struct place places[PLACE_MAXIMUM];
    int place_count;
    int main, host;    /* places; the host is always there: tensors pass through it */
    int *keeps;        /* by tensor: the place it is kept in */
    int *copies;       /* by tensor: where the state dict keeps a copy of it besides; -1: nowhere */
    int *runs;         /* by module: the place its arguments are moved to; -1: they stay where they are */
    int *first;        /* by module, and one more: its first own tensor; they lie side by side */
    int *by_path;      /* module indices in the order of their paths */
    bool shares_twins; /* see placement_twin */
    bool hooks;        /* more than one place is used: otherwise the model is where it is, and nothing is moved */
};

/* skeleton outlives the placement. STATUS_INVALID if an entry names no module or parameter, a tensor has no place
 * (check_device_map), or a tied pair lies on two devices. A host is added if the plan has none. */
enum status_code placement_build(const struct skeleton *skeleton, const struct placement_plan *plan,
                                 struct placement *placement, struct status *error);
void placement_release(struct placement *placement);

/* Index of the module with this path, or -1. */
int placement_module(const struct placement *placement, const char *path);

/* The tensor that is used where this one's module runs, in its stead: a twin that lies there; else itself. */
int placement_twin(const struct placement *placement, int tensor);

/* Whether the tensor is brought to where its module runs and goes when that is done. */
bool placement_offloads(const struct placement *placement, int tensor);

#endif
