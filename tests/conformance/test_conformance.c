/* Every operation in every dtype on every device that is here, against the reference; as tests, or, with --table, as
 * one table a device. Inputs are new in every run: a fault names the seed that repeats it,
 *     ASSAY_CONFORMANCE_SEED=SEED ASSAY_CONFORMANCE_OPERATION=LAYERNORM build/tests/conformance/test_conformance */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tests/conformance/conformance.h"

/* tests/cuda_emulation runs the same where cuda:0 is emulated. */
#ifndef CONFORMANCE_FIRST_DEVICE
#define CONFORMANCE_FIRST_DEVICE "host"
#endif

enum { DEVICES_MAXIMUM = 9, NAME_BYTES = 64 };

struct tried_device {
    char spec[16], name[128];
    struct device *device;
    struct trial_site site;
};

struct tried_operation {
    struct tried_device *on;
    enum opcode opcode;
    char name[NAME_BYTES];
};

static struct {
    struct tried_device devices[DEVICES_MAXIMUM];
    int device_count;
    struct tape_calls calls;
    uint64_t seed;
    struct tried_operation operations[DEVICES_MAXIMUM * OPCODE_COUNT];
    int operation_count;
} all;

static bool device_add(const char *spec)
{
    struct status error = {0};
    struct device_properties properties;
    struct tried_device *tried = &all.devices[all.device_count];
    enum status_code code = device_open(spec, &tried->device, &error);
    if (code == STATUS_UNAVAILABLE) {
        return false;
    }
    code = code == STATUS_OK ? tried->device->table->properties(tried->device, &properties, &error) : code;
    code = code == STATUS_OK ? trial_site_open(&tried->site, tried->device, &error) : code;
    if (code != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    snprintf(tried->spec, sizeof tried->spec, "%s", spec);
    snprintf(tried->name, sizeof tried->name, "%s", properties.name);
    all.device_count++;
    return true;
}

/* The first must be there; the GPUs where they open. */
static void devices_open(void)
{
    char spec[16];
    bool more = device_add(CONFORMANCE_FIRST_DEVICE);
    if (!more) {
        fprintf(stderr, "%s does not open\n", CONFORMANCE_FIRST_DEVICE);
        exit(1);
    }
    for (int index = 0; more && strcmp(CONFORMANCE_FIRST_DEVICE, "host") == 0 && index + 1 < DEVICES_MAXIMUM; index++) {
        snprintf(spec, sizeof spec, "cuda:%d", index);
        more = device_add(spec);
    }
}

static void operations_list(void)
{
    const char *only = getenv("ASSAY_CONFORMANCE_OPERATION");
    for (int d = 0; d < all.device_count; d++) {
        for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
            struct tried_operation *operation = &all.operations[all.operation_count];
            if (only != NULL && strcmp(only, opcode_name((enum opcode)opcode)) != 0) {
                continue;
            }
            operation->on = &all.devices[d];
            operation->opcode = (enum opcode)opcode;
            snprintf(operation->name, NAME_BYTES, "%s on %s", opcode_name((enum opcode)opcode), operation->on->spec);
            all.operation_count++;
        }
    }
}

static void seed_take(void)
{
    const char *given = getenv("ASSAY_CONFORMANCE_SEED");
    if (given != NULL) {
        all.seed = strtoull(given, NULL, 10);
    } else if (getrandom(&all.seed, sizeof all.seed, 0) != (ssize_t)sizeof all.seed) {
        fprintf(stderr, "there are no random numbers; set ASSAY_CONFORMANCE_SEED\n");
        exit(1);
    }
    all.seed %= UINT64_C(1000000007);
}

static void operation_try(const struct tried_operation *operation, struct conformance *conformance)
{
    struct conformance_request request = {.site = &operation->on->site,
                                          .opcode = operation->opcode,
                                          .plan = trial_plan_for(operation->opcode),
                                          .calls = &all.calls,
                                          .seed = all.seed};
    operation_conform(&request, conformance);
}

static void test_operation(void **state)
{
    const struct tried_operation *operation = *state;
    struct conformance conformance;
    operation_try(operation, &conformance);
    if (!conformance_is_whole(&conformance)) {
        fail_msg("%s, ASSAY_CONFORMANCE_SEED=%" PRIu64 "\n%s", operation->name, all.seed,
                 text_string(&conformance.report));
    }
    conformance_release(&conformance);
}

static void table_head_print(const struct tried_device *device)
{
    printf("\n%s: %s. Largest error, relative to the largest element of its tensor; %% of what is allowed.\n\n%-27s",
           device->spec, device->name, "");
    for (int class = 0; class < CLASS_COUNT; class ++) {
        printf(" %14s", class_name(class));
    }
    printf(" %8s\n", "trials");
}

static void table_row_print(const struct conformance *conformance)
{
    struct contract contract;
    int64_t trials = 0;
    contract_of(conformance->opcode, &contract);
    printf("%-27s", opcode_name(conformance->opcode));
    for (int class = 0; class < CLASS_COUNT; class ++) {
        const struct conformance_cell *cell = &conformance->cells[class];
        char text[32] = "-";
        if (cell->trial_count > 0) {
            snprintf(text, sizeof text, "%.1e %3.0f%%%s", cell->error, 100.0 * cell->share,
                     cell->fault_count > 0 ? "!" : "");
        } else if (contract_has_class(&contract, class)) {
            snprintf(text, sizeof text, "untested");
        }
        printf(" %14s", text);
        trials += cell->trial_count;
    }
    printf(" %8" PRId64 "\n", trials);
}

/* Returns the exit status. */
static int table_print(void)
{
    struct text faults = {0};
    const struct tried_device *on = NULL;
    printf("ASSAY_CONFORMANCE_SEED=%" PRIu64 "\n", all.seed);
    for (int i = 0; i < all.operation_count; i++) {
        const struct tried_operation *operation = &all.operations[i];
        struct conformance conformance;
        if (operation->on != on) {
            on = operation->on;
            table_head_print(on);
        }
        operation_try(operation, &conformance);
        table_row_print(&conformance);
        if (!conformance_is_whole(&conformance)) {
            text_format(&faults, "%s\n%s", operation->name, text_string(&conformance.report));
        }
        conformance_release(&conformance);
    }
    bool whole = faults.length == 0;
    printf("\n%s", whole ? "Nothing is wrong, and nothing that the contracts allow or tapes do is untested.\n"
                         : text_string(&faults));
    text_release(&faults);
    return whole ? 0 : 1;
}

static int tests_run(void)
{
    static struct CMUnitTest tests[DEVICES_MAXIMUM * OPCODE_COUNT];
    for (int i = 0; i < all.operation_count; i++) {
        tests[i] = (struct CMUnitTest){all.operations[i].name, test_operation, NULL, NULL, &all.operations[i]};
    }
    return _cmocka_run_group_tests("conformance", tests, (size_t)all.operation_count, NULL, NULL);
}

int main(int count, char **arguments)
{
    seed_take();
    devices_open();
    operations_list();
    tape_calls_collect(&all.calls);
    int status = count == 2 && strcmp(arguments[1], "--table") == 0 ? table_print() : tests_run();
    tape_calls_release(&all.calls);
    for (int d = 0; d < all.device_count; d++) {
        trial_site_close(&all.devices[d].site);
        device_close(all.devices[d].device);
    }
    return status;
}
