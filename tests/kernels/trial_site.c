/* Sites: tensors there and back. Whether they come back right is for trial_measure.c. */
#include "tests/kernels/trial_site.h"

#include <stdlib.h>
#include <string.h>

/* Each tensor begins where an allocator of the device would let it begin. */
enum { SITE_BYTES = 64 << 20, ALIGNMENT = 512 };

/* Ada (sm_89) and Hopper (sm_90), see reference_float8.c; older ones have no tensor cores for float8, newer ones keep
 * 25 bits. */
static int float8_terms_of(const char *target)
{
    return strcmp(target, "sm_89") == 0 ? 16 : strcmp(target, "sm_90") == 0 ? 32 : 0;
}

/* Of products of 16 bits: at least so many, on older GPUs fewer. "MMA-Sim", as in reference_float8.c. */
static int core_terms_of(const char *target)
{
    return strcmp(target, "sm_75") == 0 ? 4 : strcmp(target, "sm_90") == 0 || strncmp(target, "sm_10", 5) == 0 ? 16 : 8;
}

enum status_code trial_site_open(struct trial_site *site, struct device *device, struct status *error)
{
    void *segment = NULL;
    struct device_properties properties = {0};
    unsigned char *image = malloc(SITE_BYTES);
    if (image == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the tensors of trials");
    }
    enum status_code code = device->table->properties(device, &properties, error);
    code = code == STATUS_OK ? device->table->segment_alloc(device, SITE_BYTES, &segment, error) : code;
    if (code != STATUS_OK) {
        free(image);
        return code;
    }
    *site = (struct trial_site){.device = device, .segment = segment, .image = image, .bytes = SITE_BYTES};
    bool cuda = strcmp(properties.kind, "cuda") == 0;
    site->rounds_weights = cuda && strcmp(properties.target, "sm_75") != 0;
    site->adds_stored_products = cuda;
    site->core_terms = cuda ? core_terms_of(properties.target) : 0;
    site->float8_terms = cuda ? float8_terms_of(properties.target) : 0;
    return STATUS_OK;
}

void trial_site_close(struct trial_site *site)
{
    site->device->table->segment_free(site->device, site->segment, site->bytes, NULL);
    free(site->image);
    *site = (struct trial_site){0};
}

/* Where each tensor's memory lies in the segment; tensors that share memory share it there. Returns the bytes of
 * all. */
static int64_t memory_place(const struct trial *trial, int64_t offset[OPERATION_TENSORS_MAXIMUM])
{
    int64_t end = 0;
    for (int t = 0; t < trial->call.tensor_count; t++) {
        offset[t] = -1;
        for (int other = 0; other < t && offset[t] < 0; other++) {
            offset[t] = trial->memory[other] == trial->memory[t] ? offset[other] : -1;
        }
        if (offset[t] < 0) {
            offset[t] = end;
            end += ((int64_t)trial->memory_bytes[t] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    return end;
}

enum status_code trial_site_run(const struct trial_site *site, struct trial *trial, struct status *error)
{
    const struct device_table *table = site->device->table;
    struct operation_call call = trial->call;
    int64_t offset[OPERATION_TENSORS_MAXIMUM];
    int64_t bytes = memory_place(trial, offset);
    if (bytes > site->bytes) {
        return status_set(error, STATUS_INVALID, "the tensors of this trial do not fit into the segment of the site");
    }
    for (int t = 0; t < call.tensor_count; t++) {
        memcpy(site->image + offset[t], trial->memory[t], trial->memory_bytes[t]);
        call.tensors[t].data = site->segment + offset[t] + ((unsigned char *)call.tensors[t].data - trial->memory[t]);
    }
    enum status_code code = table->copy_from_host(site->device, site->segment, site->image, bytes, error);
    code = code == STATUS_OK ? table->run(site->device, &call, error) : code;
    code = code == STATUS_OK ? table->synchronize(site->device, error) : code;
    code = code == STATUS_OK ? table->copy_to_host(site->device, site->image, site->segment, bytes, error) : code;
    for (int t = 0; t < call.tensor_count && code == STATUS_OK; t++) {
        memcpy(trial->memory[t], site->image + offset[t], trial->memory_bytes[t]);
    }
    return code;
}
