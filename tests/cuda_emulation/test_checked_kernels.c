/* No kernel touches anything but elements of its tensors, or off a boundary, or shared memory that its block has not
 * written: the trials of every operation, aligned and not, on the emulated GPU with every access looked at. Whether
 * what comes of it is right is for test_emulated_conformance.c, which looks too where
 * ASSAY_PLUGIN_DIR=build/tests/cuda_emulation/checked is set, and takes many minutes then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/checked_plugin.h"
#include "tests/kernels/trial_plan.h"
#include "tests/kernels/trial_site.h"

/* Of one tensor at most, so that all of them take a minute. */
enum { ELEMENTS_MAXIMUM = 20000, VARIANTS_MAXIMUM = 200, DEVICES = 2 };

static const char *const devices[DEVICES] = {"cuda:0", "cuda:1"}; /* without and with tensor cores */

struct checked_operation {
    const char *device;
    enum opcode opcode;
    char name[64];
};

static bool trial_is_small(const struct trial *trial)
{
    int64_t most = 0;
    for (int t = 0; t < trial->call.tensor_count; t++) {
        int64_t count = tensor_element_count(&trial->call.tensors[t]);
        most = count > most && !trial->scratch[t] ? count : most;
    }
    return most <= ELEMENTS_MAXIMUM;
}

/* Whether the plan has such a variant. */
static bool variant_try(const struct trial_site *site, const struct checked_operation *operation, int variant)
{
    struct trial trial;
    struct status error = {0};
    trial_open(&trial, operation->opcode, (enum mix)(variant % MIX_COUNT), (uint64_t)variant + 1);
    trial.unaligned = variant % 3 == 2;
    bool has = trial_plan_for(operation->opcode)(&trial, variant);
    if (has && trial_is_small(&trial) && trial_site_run(site, &trial, &error) != STATUS_OK) {
        fail_msg("variant %d: %s", variant, error.text);
    }
    trial_close(&trial);
    return has;
}

static void kernels_touch_what_is_theirs(void **state)
{
    const struct checked_operation *operation = *state;
    struct device *device = NULL;
    struct trial_site site;
    struct status error = {0};
    checked_device_open(operation->device, &device);
    if (trial_site_open(&site, device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    int variant = 0;
    while (variant < VARIANTS_MAXIMUM && variant_try(&site, operation, variant)) {
        variant++;
    }
    assert_true(variant > 0);
    trial_site_close(&site);
    device_close(device);
}

int main(void)
{
    static struct checked_operation operations[DEVICES * OPCODE_COUNT];
    static struct CMUnitTest tests[DEVICES * OPCODE_COUNT];
    const char *only = getenv("ASSAY_CONFORMANCE_OPERATION");
    size_t count = 0;
    for (int k = 0; k < DEVICES * OPCODE_COUNT; k++) {
        struct checked_operation *operation = &operations[k];
        *operation = (struct checked_operation){.device = devices[k % DEVICES], .opcode = (enum opcode)(k / DEVICES)};
        snprintf(operation->name, sizeof operation->name, "%s on %s", opcode_name(operation->opcode),
                 operation->device);
        if (only == NULL || strcmp(only, opcode_name(operation->opcode)) == 0) {
            tests[count++] = (struct CMUnitTest){operation->name, kernels_touch_what_is_theirs, NULL, NULL, operation};
        }
    }
    return _cmocka_run_group_tests("checked kernels", tests, count, NULL, NULL);
}
