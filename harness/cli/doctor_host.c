/* Doctor: the host and the tools around it. The GPUs are in doctor_gpu.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/cli/device_probe.h"
#include "harness/cli/doctor.h"
#include "harness/hardware/hardware.h"
#include "harness/hardware/process_limits.h"
#include "harness/hub/hub.h"
#include "harness/report/gnuplot.h"

/* Pinned memory, copies of whole segments: less makes them go through plain memory. */
#define LOCKED_BYTES_ENOUGH ((int64_t)64 << 20)

/* The largest case of suites/quick.yaml and of `make run` stays below. */
#define MEMORY_BYTES_ENOUGH ((int64_t)4 << 30)

static void cores_look(struct doctor *doctor, const struct process_limits *limits)
{
    double usable = limits->quota_cores > 0 && limits->quota_cores < limits->allowed_cores ? limits->quota_cores
                                                                                           : limits->allowed_cores;
    finding_add(doctor, AREA_HOST, usable < limits->online_cores ? FINDING_NOTE : FINDING_OK, "cores",
                usable < limits->online_cores ? "%.4g of %d may be used" : "%.4g", usable, limits->online_cores);
    if (limits->quota_cores > 0 && limits->quota_cores < limits->allowed_cores) {
        remedy_set(doctor, "the container may use %.4g cores at a time; docker run --cpus, or limits.cpu of the pod",
                   limits->quota_cores);
    } else if (limits->allowed_cores < limits->online_cores) {
        remedy_set(doctor, "taskset, Slurm's --cpus-per-task or the pod's cpuset gives this process %d",
                   limits->allowed_cores);
    }
}

static void memory_look(struct doctor *doctor, const struct process_limits *limits, const struct hardware *hardware)
{
    char total[SIZE_TEXT_BYTES], limit[SIZE_TEXT_BYTES];
    int64_t bytes = hardware->memory_bytes;
    bool limited = limits->memory_bytes > 0 && (bytes <= 0 || limits->memory_bytes < bytes);
    int64_t usable = limited ? limits->memory_bytes : bytes;
    bool enough = usable <= 0 || usable >= MEMORY_BYTES_ENOUGH;
    if (limited) {
        finding_add(doctor, AREA_HOST, enough ? FINDING_OK : FINDING_NOTE, "memory",
                    "%s, which is the limit of the container; the machine has %s",
                    size_format(limits->memory_bytes, limit), bytes > 0 ? size_format(bytes, total) : "more");
    } else {
        finding_add(doctor, AREA_HOST, enough ? FINDING_OK : FINDING_NOTE, "memory", "%s",
                    bytes > 0 ? size_format(bytes, total) : "not known");
    }
    if (!enough) {
        remedy_set(doctor, "%s",
                   limited ? "docker run --memory 8g, or limits.memory of the pod"
                           : "choose cases that fit: assay run SUITE --filter GLOB");
    }
}

static void caches_look(struct doctor *doctor, const struct hardware *hardware)
{
    char words[256] = "";
    for (int i = 0; i < hardware->cache_count; i++) {
        const struct hardware_cache *cache = &hardware->caches[i];
        char size[SIZE_TEXT_BYTES];
        size_t used = strlen(words);
        if (strcmp(cache->type, "instruction") != 0) {
            snprintf(words + used, sizeof words - used, "%sL%d %s", used > 0 ? ", " : "", cache->level,
                     size_format(cache->total_bytes, size));
        }
    }
    if (words[0] != '\0') {
        finding_add(doctor, AREA_HOST, FINDING_OK, "caches", "%s", words);
    }
}

static void locked_look(struct doctor *doctor, const struct process_limits *limits)
{
    char size[SIZE_TEXT_BYTES];
    bool enough = limits->locked_bytes < 0 || limits->locked_bytes >= LOCKED_BYTES_ENOUGH;
    finding_add(doctor, AREA_HOST, enough ? FINDING_OK : FINDING_NOTE, "ulimit -l",
                enough ? "%s"
                       : "%s of memory may be locked; where a driver counts pinned memory there, it refuses more",
                limits->locked_bytes < 0 ? "unlimited" : size_format(limits->locked_bytes, size));
    if (!enough) {
        remedy_set(doctor, "docker run --ulimit memlock=-1, or memlock in /etc/security/limits.conf");
    }
}

/* OpenBLAS is loaded, and its buffers are made, as for a case on the host. */
static void openblas_look(struct doctor *doctor)
{
    struct device_probe probe;
    device_probe("host", NULL, &probe);
    doctor->host_computes =
        probe.end == PROBE_ANSWERED && probe.opened.code == STATUS_OK && probe.identified.code == STATUS_OK;
    if (doctor->host_computes) {
        finding_add(doctor, AREA_HOST, FINDING_OK, "OpenBLAS", "%s, %d threads", probe.properties.runtime,
                    probe.properties.thread_count);
    } else {
        finding_of_status(doctor, AREA_HOST, FINDING_MISSING, "OpenBLAS",
                          probe.end == PROBE_LATE      ? "the host did not answer"
                          : probe.end == PROBE_CRASHED ? "loading it ended the process; install libopenblas0-pthread"
                          : probe.identified.code != STATUS_OK ? probe.identified.text
                                                               : probe.opened.text);
    }
}

void doctor_host_look(struct doctor *doctor)
{
    struct arena arena = {0};
    struct hardware hardware = {.memory_bytes = HARDWARE_UNKNOWN};
    struct process_limits limits;
    struct status error = {0};
    process_limits_read("", &limits);
    if (hardware_read(NULL, &arena, &hardware, &error) != STATUS_OK) {
        finding_of_status(doctor, AREA_HOST, FINDING_NOTE, "topology", error.text);
        hardware = (struct hardware){.memory_bytes = HARDWARE_UNKNOWN};
    }
    cores_look(doctor, &limits);
    memory_look(doctor, &limits, &hardware);
    caches_look(doctor, &hardware);
    locked_look(doctor, &limits);
    openblas_look(doctor);
    arena_release(&arena);
}

/* ---- tools ---- */

static void gnuplot_look(struct doctor *doctor)
{
    char version[GNUPLOT_VERSION_BYTES];
    struct status error = {0};
    doctor->plots = gnuplot_version(version, &error) == STATUS_OK;
    if (doctor->plots) {
        finding_add(doctor, AREA_TOOLS, FINDING_OK, "gnuplot", "%s", version);
    } else {
        finding_of_status(doctor, AREA_TOOLS, FINDING_NOTE, "gnuplot", error.text);
    }
}

static void hub_look(struct doctor *doctor)
{
    struct status error = {0};
    doctor->asks_hub = hub_library_check(&error) == STATUS_OK;
    if (doctor->asks_hub) {
        finding_add(doctor, AREA_TOOLS, FINDING_OK, "libcurl", "models of the hub can be asked for");
    } else {
        finding_of_status(doctor, AREA_TOOLS, FINDING_NOTE, "libcurl", error.text);
    }
}

/* Where `assay run` writes without --out: results/ here, or the folder that it would be made in. */
static void results_look(struct doctor *doctor)
{
    bool is_there = access("results", F_OK) == 0;
    doctor->writes_results = access(is_there ? "results" : ".", W_OK | X_OK) == 0;
    finding_add(doctor, AREA_TOOLS, doctor->writes_results ? FINDING_OK : FINDING_NOTE, "results",
                doctor->writes_results ? "%s can be written" : "%s cannot be written: %s",
                is_there ? "results/" : "this folder", doctor->writes_results ? "" : strerror(errno));
    if (!doctor->writes_results) {
        remedy_set(doctor, "assay run SUITE --out \"$HOME/assay-results\"");
    }
}

void doctor_tools_look(struct doctor *doctor)
{
    gnuplot_look(doctor);
    hub_look(doctor);
    results_look(doctor);
}
