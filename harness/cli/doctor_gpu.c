/* Doctor: the GPUs, from the files of the driver up to a context. The host is in doctor_host.c. */
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/cli/device_probe.h"
#include "harness/cli/doctor.h"
#include "harness/cli/program_revision.h"
#include "harness/hardware/gpu_nodes.h"
#include "harness/hardware/hardware.h"
#include "harness/hardware/nvidia_smi.h"
#include "harness/hardware/process_limits.h"

enum { GPUS_MAXIMUM = 16 };

/* What others may hold before it is worth a word: a display, a server without work. */
#define USED_BYTES_OF_NOTE ((int64_t)256 << 20)

/* What is known before CUDA is asked. */
struct surroundings {
    struct gpu_nodes nodes;
    struct nvidia_smi smi;
    bool is_container;
    bool is_wanted; /* there is a GPU by the driver's files, or a device was named: then a GPU is not for later */
};

/* ---- files and variables ---- */

static bool pci_has_nvidia(void)
{
    struct arena arena = {0};
    struct hardware hardware;
    struct status error;
    bool found = false;
    if (hardware_read(NULL, &arena, &hardware, &error) == STATUS_OK) {
        for (int i = 0; i < hardware.gpu_count; i++) {
            const char *vendor = hardware.gpus[i].vendor;
            found = found || (vendor != NULL && strcmp(vendor, "NVIDIA") == 0);
        }
    }
    arena_release(&arena);
    return found;
}

static void nothing_found(struct doctor *doctor, const struct surroundings *around)
{
    bool on_bus = pci_has_nvidia();
    finding_add(doctor, AREA_GPU, around->is_wanted ? FINDING_MISSING : FINDING_NOTE, "GPU", "%s",
                on_bus              ? "one of NVIDIA's is on the bus, and no driver shows it here: no /dev/nvidia0"
                : around->is_wanted ? "none here, and --device names one"
                                    : "none here: what needs one is skipped, and the host measures");
    if (on_bus) {
        remedy_set(doctor, "%s",
                   around->is_container ? "start the container with it: docker run --gpus all"
                                        : "install NVIDIA's driver (Ubuntu: sudo ubuntu-drivers install), and restart");
    } else if (around->is_wanted) {
        remedy_set(doctor, "%s",
                   around->is_container ? "docker run --gpus all, on a machine with one of NVIDIA's"
                                        : "use a machine with one of NVIDIA's; assay doctor alone asks about the host");
    }
}

static void permission_look(struct doctor *doctor, const struct gpu_nodes *nodes)
{
    struct stat file;
    struct group row, *group = NULL;
    char text[4096]; /* of the names in row; a group with more members than fit is remedied as if it had no name */
    if (nodes->closed_count == 0) {
        return;
    }
    finding_add(doctor, AREA_GPU, FINDING_MISSING, "permission", "%s may not be opened by this user%s", nodes->closed,
                nodes->closed_count > 1 ? ", nor may others of its kind" : "");
    bool has_group = stat(nodes->closed, &file) == 0 && getgrgid_r(file.st_gid, &row, text, sizeof text, &group) == 0;
    if (has_group && group != NULL && file.st_gid != 0 && (file.st_mode & S_IWGRP) != 0) {
        remedy_set(doctor, "sudo usermod -aG %s \"$USER\", and log in again", group->gr_name);
    } else {
        remedy_set(doctor, "sudo chmod a+rw %s", nodes->closed);
    }
}

static void nodes_look(struct doctor *doctor, const struct surroundings *around)
{
    const struct gpu_nodes *nodes = &around->nodes;
    if (nodes->is_wsl) {
        finding_add(doctor, AREA_GPU, FINDING_OK, "WSL2", "the driver is that of Windows (/dev/dxg)");
    } else if (nodes->gpu_count > 0 && !nodes->has_uvm) {
        finding_add(doctor, AREA_GPU, FINDING_MISSING, "unified",
                    "there is no /dev/nvidia-uvm, which CUDA begins with");
        remedy_set(doctor, "%s",
                   around->is_container ? "start the container with it: docker run --gpus all"
                                        : "sudo nvidia-modprobe -u -c=0");
    }
    permission_look(doctor, nodes);
}

static void variables_look(struct doctor *doctor, const struct gpu_nodes *nodes)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *loading = getenv("CUDA_MODULE_LOADING");
    if (visible != NULL) {
        finding_add(doctor, AREA_GPU, nodes->is_hidden ? FINDING_NOTE : FINDING_OK, "variables",
                    "CUDA_VISIBLE_DEVICES=%s%s", visible, nodes->is_hidden ? " hides every GPU" : "");
    }
    if (visible != NULL && nodes->is_hidden) {
        remedy_set(doctor, "unset CUDA_VISIBLE_DEVICES");
    }
    if (loading != NULL && strcmp(loading, "EAGER") == 0) {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, "variables",
                    "CUDA_MODULE_LOADING=EAGER: a context takes more than constants and predictions know");
        remedy_set(doctor, "unset CUDA_MODULE_LOADING");
    }
}

/* ---- the plug-in ---- */

static bool nvcc_is_here(void)
{
    const char *path = getenv("PATH"), *rest = path != NULL ? path : "";
    bool found = access("/usr/local/cuda/bin/nvcc", X_OK) == 0;
    while (!found && *rest != '\0') {
        char name[PATH_MAX];
        size_t length = strcspn(rest, ":");
        snprintf(name, sizeof name, "%.*s/nvcc", (int)length, rest);
        found = access(name, X_OK) == 0;
        rest += length + (rest[length] == ':' ? 1 : 0);
    }
    return found;
}

/* The note that the build leaves beside the plug-in: "75 90". */
static void architectures_append(const char *plugin, char *words, size_t bytes)
{
    char path[PATH_MAX + 32], line[128] = "";
    const char *slash = strrchr(plugin, '/');
    snprintf(path, sizeof path, "%.*s/cuda/architectures", slash != NULL ? (int)(slash - plugin) : 0, plugin);
    FILE *file = fopen(path, "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(words, bytes, ", for %s", line + strspn(line, " "));
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* "9.0" -> "90" of the first GPU; "" if nobody told. */
static void capability_find(const struct nvidia_smi *smi, char digits[16])
{
    size_t used = 0;
    const char *capability = smi->gpu_count > 0 ? smi->gpus[0].capability : "";
    for (; *capability != '\0' && used < 15; capability++) {
        if (*capability >= '0' && *capability <= '9') {
            digits[used++] = *capability;
        }
    }
    digits[used] = '\0';
}

static void plugin_look(struct doctor *doctor, const struct surroundings *around)
{
    char path[PATH_MAX], made_for[192] = "", digits[16];
    const char *revision = program_revision();
    struct status error = {0};
    if (device_plugin_find(path, sizeof path)) {
        architectures_append(path, made_for, sizeof made_for);
        if (device_plugin_check(&error) == STATUS_OK) {
            finding_add(doctor, AREA_GPU, FINDING_OK, "plug-in", "%s%s, of the sources of this program%s%s%s", path,
                        made_for, revision != NULL ? " (" : "", revision != NULL ? revision : "",
                        revision != NULL ? ")" : "");
        } else {
            finding_of_status(doctor, AREA_GPU, around->is_wanted ? FINDING_MISSING : FINDING_NOTE, "plug-in",
                              error.text);
        }
        return;
    }
    capability_find(&around->smi, digits);
    finding_add(doctor, AREA_GPU, around->is_wanted ? FINDING_MISSING : FINDING_NOTE, "plug-in",
                "no libassay_cuda.so in %s%s", path, around->is_wanted ? "" : "; only a GPU needs it");
    if (around->is_wanted) {
        remedy_set(doctor, "%smake%s%s",
                   nvcc_is_here() ? "" : "install the CUDA toolkit (nvcc of 12.0 or newer, cuBLAS's headers), then ",
                   digits[0] != '\0' ? " CUDA_ARCHS=" : "", digits);
    }
}

/* ---- what the driver says ---- */

static const struct smi_gpu *smi_find(const struct nvidia_smi *smi, const struct device_identity *identity)
{
    for (int i = 0; i < smi->gpu_count; i++) {
        if (strcmp(smi->gpus[i].uuid, identity->uuid) == 0) {
            return &smi->gpus[i];
        }
    }
    return NULL;
}

static void modes_look(struct doctor *doctor, const struct smi_gpu *gpu)
{
    if (gpu->persistence == SMI_MODE_OFF) {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, "persistence",
                    "off on GPU %d: its driver starts anew whenever nobody uses it", gpu->index);
        remedy_set(doctor, "sudo nvidia-smi -i %d -pm 1", gpu->index);
    } else if (gpu->persistence == SMI_MODE_ON) {
        finding_add(doctor, AREA_GPU, FINDING_OK, "persistence", "on on GPU %d", gpu->index);
    }
    if (strcmp(gpu->compute_mode, "Prohibited") == 0) {
        finding_add(doctor, AREA_GPU, FINDING_MISSING, "compute mode", "GPU %d lets nobody compute", gpu->index);
        remedy_set(doctor, "sudo nvidia-smi -i %d -c DEFAULT", gpu->index);
    } else if (strncmp(gpu->compute_mode, "Exclusive", 9) == 0) {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, "compute mode", "GPU %d is for one process at a time", gpu->index);
        remedy_set(doctor, "leave it, or share it: sudo nvidia-smi -i %d -c DEFAULT", gpu->index);
    }
    if (gpu->mig == SMI_MODE_ON) {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, "MIG", "GPU %d is divided, and CUDA shows one instance of it",
                    gpu->index);
        remedy_set(doctor, "name one that nvidia-smi -L lists: export CUDA_VISIBLE_DEVICES=MIG-...");
    }
}

/* Without a plug-in nothing else says which GPUs there are. */
static void listed_look(struct doctor *doctor, const struct nvidia_smi *smi)
{
    for (int i = 0; doctor->has_gpu && i < smi->gpu_count; i++) {
        const struct smi_gpu *gpu = &smi->gpus[i];
        finding_add(doctor, AREA_GPU, FINDING_OK, "driver", "GPU %d is an %s of capability %s; driver %s", gpu->index,
                    gpu->name, gpu->capability, gpu->driver);
        modes_look(doctor, gpu);
    }
}

static void smi_look(struct doctor *doctor, const struct surroundings *around)
{
    const struct nvidia_smi *smi = &around->smi;
    if (smi->answered || (!doctor->has_gpu && !smi->is_there)) {
        return;
    }
    finding_add(doctor, AREA_GPU, FINDING_NOTE, "nvidia-smi", "%s%s; persistence, compute mode and MIG are not known",
                smi->is_there ? "it gives no answer: " : "it is not on PATH", smi->is_there ? smi->complaint : "");
    remedy_set(doctor, "%s",
               smi->is_there          ? "nvidia-smi; after a new driver, restart the machine"
               : around->nodes.is_wsl ? "export PATH=\"$PATH:/usr/lib/wsl/lib\""
               : around->is_container ? "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                                      : "install what belongs to the driver (Ubuntu: nvidia-utils)");
}

static void cudnn_look(struct doctor *doctor, const char *name)
{
    struct device_probe probe;
    device_probe_cudnn(name, &probe);
    const char *library = probe.identity.convolution_library;
    if (probe.end != PROBE_ANSWERED) {
        finding_add(doctor, AREA_GPU, FINDING_MISSING, "cuDNN", "%s",
                    probe.end == PROBE_LATE ? "cuDNN gives no answer"
                                            : "asking cuDNN ended the process, as it would end a run");
        remedy_set(doctor,
                   "export ASSAY_CUDNN=no; or install it anew: pip install nvidia-cudnn-cu13 (cu12 for CUDA 12)");
    } else if (library[0] != '\0') {
        finding_add(doctor, AREA_GPU, FINDING_OK, "cuDNN", "%s", library);
    } else {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, "cuDNN", "convolutions are computed without it, and load less: %s",
                    probe.identity.convolution_note);
        remedy_set(doctor, "unset ASSAY_CUDNN; or pip install nvidia-cudnn-cu13 (cu12 for CUDA 12), and "
                           "LD_LIBRARY_PATH=.../nvidia/cudnn/lib");
    }
}

static void libraries_look(struct doctor *doctor, const char *name, const struct device_identity *identity)
{
    if (identity->libraries[0] != '\0') {
        finding_add(doctor, AREA_GPU, FINDING_OK, "cuBLAS", "%s", identity->libraries);
    } else {
        finding_add(doctor, AREA_GPU, FINDING_MISSING, "cuBLAS", "the loader does not find libcublas of this plug-in");
        remedy_set(doctor, "export CUDA_HOME=FOLDER of the toolkit; or pip install nvidia-cublas, and "
                           "LD_LIBRARY_PATH=.../nvidia/cublas/lib");
    }
    cudnn_look(doctor, name);
    if (identity->free_valid) {
        finding_add(doctor, AREA_GPU, FINDING_OK, "NVML", "tells the memory of the GPU");
    } else {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, "NVML",
                    "tells nothing (libnvidia-ml.so.1): bytes of the process, and who disturbs, stay unknown");
        remedy_set(doctor, "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility; else the driver's libraries");
    }
}

static void gpu_tell(struct doctor *doctor, const char *name, const struct device_probe *probe)
{
    const struct device_identity *identity = &probe->identity;
    char total[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES];
    int64_t used = identity->free_valid ? identity->total_bytes - identity->free_bytes : 0;
    finding_add(doctor, AREA_GPU, FINDING_OK, name, "%s, %s, %s%s%s; driver %s, %s", identity->name, identity->target,
                size_format(identity->total_bytes, total), identity->free_valid ? ", free " : "",
                identity->free_valid ? size_format(identity->free_bytes, left) : "",
                identity->driver[0] != '\0' ? identity->driver : "unknown", identity->runtime);
    if (used > USED_BYTES_OF_NOTE && !probe->is_taken) {
        finding_add(doctor, AREA_GPU, FINDING_NOTE, name, "others hold %s of it, which disturbs a measurement",
                    size_format(used, left));
        remedy_set(doctor, "nvidia-smi shows who; end it, or use another GPU");
    }
}

/* Whether the GPU could be asked which it is. */
static bool gpu_look(struct doctor *doctor, const char *name, const struct device_probe *probe,
                     const struct nvidia_smi *smi, bool is_wanted)
{
    if (probe->end != PROBE_ANSWERED) {
        finding_add(doctor, AREA_GPU, FINDING_MISSING, name, "%s",
                    probe->end == PROBE_LATE ? "the driver gives no answer" : "asking the driver ended the process");
        remedy_set(doctor, "sudo dmesg | grep NVRM; restart the machine");
        return false;
    }
    if (probe->identified.code != STATUS_OK) {
        finding_of_status(doctor, AREA_GPU, is_wanted ? FINDING_MISSING : FINDING_NOTE, name, probe->identified.text);
        return false;
    }
    const struct smi_gpu *told = smi_find(smi, &probe->identity);
    doctor->has_gpu = true;
    gpu_tell(doctor, name, probe);
    if (probe->is_taken) {
        finding_of_status(doctor, AREA_GPU, FINDING_NOTE, "lock", probe->opened.text);
        remedy_set(doctor, "wait for it: assay run --wait-device 10m, make gpu GPU_OPTIONS=\"--wait-device 600\"");
    } else if (probe->opened.code != STATUS_OK) {
        finding_of_status(doctor, AREA_GPU, FINDING_MISSING, name, probe->opened.text);
    }
    doctor->usable_gpus += probe->is_taken || probe->opened.code == STATUS_OK ? 1 : 0;
    if (told != NULL) {
        modes_look(doctor, told);
    }
    return true;
}

static void devices_look(struct doctor *doctor, const char *device, const char *lock_folder,
                         const struct surroundings *around)
{
    for (int i = 0; i < (device != NULL ? 1 : GPUS_MAXIMUM); i++) {
        struct device_probe probe;
        char spec[GPU_NAME_BYTES];
        snprintf(spec, sizeof spec, "cuda:%d", i);
        const char *name = arena_copy(&doctor->arena, device != NULL ? device : spec);
        if (name == NULL) {
            return;
        }
        device_probe(name, lock_folder, &probe);
        bool is_behind_last = i > 0 && probe.end == PROBE_ANSWERED && probe.identified.code == STATUS_UNAVAILABLE;
        if (is_behind_last || !gpu_look(doctor, name, &probe, &around->smi, around->is_wanted)) {
            return;
        }
        if (i == 0) {
            libraries_look(doctor, name, &probe.identity);
        }
    }
}

void doctor_gpus_look(struct doctor *doctor, const char *device, const char *lock_folder)
{
    struct surroundings around;
    struct process_limits limits;
    struct status error = {0};
    process_limits_read("", &limits);
    gpu_nodes_read("", getenv("CUDA_VISIBLE_DEVICES"), &around.nodes);
    nvidia_smi_ask(&around.smi);
    around.is_container = limits.is_container;
    doctor->has_gpu = gpu_nodes_show_one(&around.nodes) || (around.smi.answered && !around.nodes.is_hidden);
    around.is_wanted = doctor->has_gpu || device != NULL;
    variables_look(doctor, &around.nodes);
    nodes_look(doctor, &around);
    plugin_look(doctor, &around);
    if (device_plugin_check(&error) == STATUS_OK) {
        devices_look(doctor, device, lock_folder, &around);
    } else {
        listed_look(doctor, &around.smi);
    }
    if (!doctor->has_gpu) {
        nothing_found(doctor, &around);
    }
    smi_look(doctor, &around);
}
