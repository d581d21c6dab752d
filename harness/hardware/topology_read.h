/* Topology read: the parts of struct hardware that come from a loaded hwloc topology. Only for this folder. */
#ifndef ASSAY_HARDWARE_TOPOLOGY_READ_H
#define ASSAY_HARDWARE_TOPOLOGY_READ_H

#include <hwloc.h>

#include "harness/hardware/hardware.h"

/* Fill in their part of *hardware. STATUS_OUT_OF_MEMORY if the host has no memory. */
enum status_code processors_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware,
                                 struct status *error);
enum status_code gpus_read(hwloc_topology_t topology, struct arena *arena, struct hardware *hardware,
                           struct status *error);

/* The cpus of a set; unknown for an empty set or NULL. False if the host has no memory. */
bool cpus_read(hwloc_const_bitmap_t set, struct arena *arena, struct hardware_cpus *cpus);

#endif
