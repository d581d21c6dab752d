/* Load fixture: a small checkpoint in a scratch folder, its plan, and devices for the places of a map. */
#ifndef ASSAY_TESTS_LOAD_LOAD_FIXTURE_H
#define ASSAY_TESTS_LOAD_LOAD_FIXTURE_H

#include "harness/load/load_run.h"
#include "tests/load/checkpoint_files.h"

enum { FIXTURE_PLACES = 4 };

/* A disk that keeps what it is given in memory. */
struct kept_tensor {
    char name[128];
    enum dtype dtype;
    int64_t bytes;
    void *data;
};

struct kept_disk {
    struct kept_tensor tensors[512];
    int count;
    int fails_at; /* the number of the write that fails; -1: none does */
};

struct load_fixture {
    char folder[64];
    struct config config;
    struct skeleton bare, headed;
    struct load_files files;
    struct checkpoint_names names;
    struct load_plan plan;
    struct kept_disk disk;
    struct placed_store store;
    struct device *devices[FIXTURE_PLACES];
    struct replay_lane lanes[FIXTURE_PLACES];
};

/* vocab: of the model, 0 for its own. Writes the files that files describes, whose skeleton is set here, and opens
 * them. */
void fixture_open(struct load_fixture *fixture, const char *model, int64_t vocab, struct files_request *files);
/* Fails the running test where the plan is not made. specs: a device for each place, "disk" for the disk; ended by
 * NULL. */
void fixture_plan(struct load_fixture *fixture, const struct device_map *map, const struct storage_type *type,
                  const char *const *specs);
void fixture_close(struct load_fixture *fixture);

/* Element `index` of what a target holds, wherever it lies. */
double fixture_value(const struct load_fixture *fixture, const struct loaded *loaded, int target, int64_t index);

#endif
