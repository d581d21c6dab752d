/* Measuring: model and device of a case, opened in a child. What is done with them stands in case_measure.c and
 * case_prove.c. */
#include "harness/run/measuring.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status_code measuring_send(const struct measuring *measuring, struct json *object, struct status *error)
{
    enum status_code code = object != NULL ? case_send(measuring->file, object, error)
                                           : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory left");
    json_release(object);
    return code;
}

enum status_code measuring_model_prepare(struct measuring *measuring, struct status *error)
{
    const struct identity *identity = &measuring->job->case_->identity;
    const struct model_places places = {.catalogue_dir = measuring->job->catalogue_dir,
                                        .folder = measuring->job->model_folder};
    enum status_code code = model_find(&places, identity->model, &measuring->model, error);
    if (code == STATUS_OK) {
        code = model_skeleton(&measuring->model, &identity->workload, &measuring->skeleton, error);
    }
    return code;
}

/* CUDA reads it when the first context of a process is made, and the process is the case's own. */
static enum status_code modules_tell(const struct measuring *measuring, struct status *error)
{
    bool eager = measuring->job->case_->identity.workload.module_loading == MODULE_LOADING_EAGER;
    return setenv("CUDA_MODULE_LOADING", eager ? "EAGER" : "LAZY", 1) == 0
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for an environment");
}

/* Opens the device that was asked for. Host and meta are bounded to the `memory` of the suite, unless they were asked
 * for with a bound; a try of a proof is bounded to what it is to have in any case. A GPU is not, and has the memory it
 * has. measuring->memory_bytes is what the prediction is bounded to: that of the device, of a GPU the suite's. */
static enum status_code bounded_open(struct measuring *measuring, struct status *error)
{
    struct device_spec spec;
    struct device_properties properties;
    bool is_try = measuring->job->step == CASE_PROOF_TRY;
    int64_t memory_bytes = is_try ? measuring->job->available_bytes : measuring->job->case_->settings->memory_bytes;
    snprintf(measuring->spec, sizeof measuring->spec, "%s", measuring->job->device);
    measuring->memory_bytes = memory_bytes;
    enum status_code code = modules_tell(measuring, error);
    code = code == STATUS_OK ? device_spec_parse(measuring->spec, &spec, error) : code;
    if (code == STATUS_OK && spec.memory_bytes > 0 && !is_try) {
        measuring->memory_bytes = spec.memory_bytes;
    } else if (code == STATUS_OK && memory_bytes > 0 && device_kind_takes_bound(spec.kind)) {
        snprintf(measuring->spec, sizeof measuring->spec, "%s:mem=%" PRId64 "B", device_kind_word(spec.kind),
                 memory_bytes);
    }
    if (code == STATUS_OK) {
        code = device_open(measuring->spec, &measuring->device, error);
    }
    bool is_auto = code == STATUS_OK && spec.kind == DEVICE_KIND_AUTO && memory_bytes > 0;
    if (is_auto && measuring->device->table->properties(measuring->device, &properties, NULL) == STATUS_OK &&
        strcmp(properties.kind, "host") == 0) {
        device_close(measuring->device);
        measuring->device = NULL;
        snprintf(measuring->spec, sizeof measuring->spec, "host:mem=%" PRId64 "B", memory_bytes);
        code = device_open(measuring->spec, &measuring->device, error);
    }
    return code;
}

static enum status_code target_choose(struct measuring *measuring, struct status *error)
{
    struct device_properties *properties = &measuring->place.properties;
    const char *name = measuring->job->case_->settings->target;
    if (name == NULL) {
        name = properties->computes ? properties->target : target_at(0)->name; /* meta stands for any */
    }
    enum status_code code = target_find(name, &measuring->target, error);
    if (code != STATUS_OK) {
        status_prefix(error, "give the case a 'for' key, because the device's class is unknown");
        return code;
    }
    snprintf(properties->target, sizeof properties->target, "%s", measuring->target->name);
    return STATUS_OK;
}

enum status_code measuring_device_prepare(struct measuring *measuring, struct status *error)
{
    measuring->place.shared = measuring->job->shared;
    enum status_code opened = bounded_open(measuring, &measuring->unopened);
    measuring->place.spec = measuring->spec;
    if (opened == STATUS_OK) {
        enum status_code code =
            measuring->device->table->properties(measuring->device, &measuring->place.properties, error);
        if (code != STATUS_OK) {
            return code;
        }
    } else {
        measuring->device = NULL;
    }
    return target_choose(measuring, error);
}

void device_properties_look(const char *spec, const struct device_identity *identity,
                            struct device_properties *properties)
{
    struct device *device = NULL;
    snprintf(properties->kind, sizeof properties->kind, "%s", identity->kind);
    memcpy(properties->name, identity->name, sizeof properties->name);
    memcpy(properties->driver, identity->driver, sizeof properties->driver);
    memcpy(properties->runtime, identity->runtime, sizeof properties->runtime);
    memcpy(properties->target, identity->target, sizeof properties->target);
    memcpy(properties->pci_bus_id, identity->pci_bus_id, sizeof properties->pci_bus_id);
    memcpy(properties->uuid, identity->uuid, sizeof properties->uuid);
    properties->total_bytes = identity->total_bytes;
    properties->computes = strcmp(identity->kind, "cuda") == 0;
    if (!properties->computes && device_open(spec, &device, NULL) == STATUS_OK) {
        device->table->properties(device, properties, NULL);
        device_close(device);
    }
}

enum status_code measuring_device_look(struct measuring *measuring, const char *spec, struct status *error)
{
    struct device_identity identity;
    measuring->place.shared = measuring->job->shared;
    snprintf(measuring->spec, sizeof measuring->spec, "%s", spec);
    measuring->place.spec = measuring->spec;
    if (device_identify(spec, &identity, &measuring->unopened) == STATUS_OK) {
        device_properties_look(spec, &identity, &measuring->place.properties);
    }
    return target_choose(measuring, error);
}

static const char *status_word(enum status_code code)
{
    enum case_status status = code == STATUS_OK              ? CASE_STATUS_OK
                              : code == STATUS_OUT_OF_MEMORY ? CASE_STATUS_OOM
                              : code == STATUS_UNAVAILABLE   ? CASE_STATUS_SKIP
                                                             : CASE_STATUS_ERROR;
    return case_status_name(status);
}

void measuring_status_send(const struct measuring *measuring, enum status_code code, const struct status *cause)
{
    char line[STATUS_LINE_BYTES];
    struct json *object = json_object_new();
    bool made =
        json_set(object, "status", json_string_new(status_word(code))) &&
        json_set(object, "reason", code == STATUS_OK ? json_null_new() : json_string_new(status_line(cause, line)));
    if (made) {
        case_send(measuring->file, object, NULL); /* if it fails, the parent sees a child without a result */
    }
    json_release(object);
}

void measuring_release(struct measuring *measuring)
{
    device_close(measuring->device);
    skeleton_release(&measuring->skeleton);
    model_release(&measuring->model);
}
