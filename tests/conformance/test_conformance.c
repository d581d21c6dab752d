/* Every operation in every dtype on the host and on the GPU of the tests (test_gpu in tests/support/device_use.h),
 * against the reference; as tests, or, with --table, as one table a device. Devices are opened in processes of their
 * own, so that one operation that loses its GPU is one fault. Inputs are new in every run: a fault names the seed that
 * repeats it,
 *     ASSAY_CONFORMANCE_SEED=SEED ASSAY_CONFORMANCE_OPERATION=LAYERNORM build/tests/conformance/test_conformance
 * The table ends with 3 where a GPU is here and has no memory for it. */
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

#include "tests/conformance/conform_worker.h"
#include "tests/support/device_use.h"

/* tests/cuda_emulation runs the same where cuda:0 is emulated. */
#ifndef CONFORMANCE_FIRST_DEVICE
#define CONFORMANCE_FIRST_DEVICE "host"
#endif

enum { DEVICES_MAXIMUM = 2, NAME_BYTES = 64 };
/* Seconds of one operation. A GPU needs one or two, under a tool of CUDA some ten times that; what computes on the
 * processor, the emulated GPU too, may wait for others that do. */
enum { GPU_LIMIT_S = 120, PROCESSOR_LIMIT_S = 3600 };
enum { NOT_TRIED_STATUS = 3 };

struct tried_operation {
    struct conform_worker *on;
    enum opcode opcode;
    char name[NAME_BYTES];
};

/* An object of its own: gcc 12 with sanitizers cannot tell the names below from those of the devices if one object has
 * both, and takes them to overlap. */
static struct conform_worker devices[DEVICES_MAXIMUM];

static struct {
    int device_count;
    char full[STATUS_TEXT_BYTES]; /* why a GPU that is here is not tried; "" otherwise */
    struct tape_calls calls;
    uint64_t seed;
    struct tried_operation operations[DEVICES_MAXIMUM * OPCODE_COUNT];
    int operation_count;
} all;

/* A GPU that does not open at all is none to try: `assay gpus` says why. */
static void device_add(const char *spec, bool required)
{
    struct status error = {0};
    enum status_code code = conform_worker_open(&devices[all.device_count], spec, &error);
    if (code == STATUS_OK) {
        all.device_count++;
        return;
    }
    fprintf(stderr, "%s is not tried: %s\n", spec, error.text);
    if (code == STATUS_OUT_OF_MEMORY && !required) {
        snprintf(all.full, sizeof all.full, "%s", error.text);
    } else if (code != STATUS_UNAVAILABLE || required) {
        exit(1);
    }
}

/* The first must be there. */
static void devices_open(void)
{
    device_add(CONFORMANCE_FIRST_DEVICE, true);
    if (strcmp(CONFORMANCE_FIRST_DEVICE, "host") == 0) {
        device_add(test_gpu(), false);
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
            operation->on = &devices[d];
            operation->opcode = (enum opcode)opcode;
            snprintf(operation->name, NAME_BYTES, "%s on %.30s", opcode_name((enum opcode)opcode), operation->on->spec);
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
    struct conformance_request request = {
        .opcode = operation->opcode, .plan = trial_plan_for(operation->opcode), .calls = &all.calls, .seed = all.seed};
    bool on_gpu = strcmp(CONFORMANCE_FIRST_DEVICE, "host") == 0 && operation->on != &devices[0];
    worker_conform(operation->on, &request, on_gpu ? GPU_LIMIT_S : PROCESSOR_LIMIT_S, conformance);
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

/* So that a GPU that is full is seen among the tests. */
static void test_room(void **state)
{
    (void)state;
    if (all.full[0] != '\0') {
        print_message("skipped: %s\n", all.full);
        skip();
    }
}

static void table_head_print(const struct conform_worker *device)
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
    const struct conform_worker *on = NULL;
    setvbuf(stdout, NULL, _IONBF, 0); /* who ends this early sees which operation was at work */
    printf("ASSAY_CONFORMANCE_SEED=%" PRIu64 "\n", all.seed);
    for (int i = 0; i < all.operation_count; i++) {
        const struct tried_operation *operation = &all.operations[i];
        struct conformance conformance;
        if (operation->on != on) {
            on = operation->on;
            table_head_print(on);
        }
        printf("%-27s", opcode_name(operation->opcode));
        operation_try(operation, &conformance);
        table_row_print(&conformance);
        if (!conformance_is_whole(&conformance)) {
            text_format(&faults, "%s\n%s", operation->name, text_string(&conformance.report));
        }
        conformance_release(&conformance);
    }
    bool whole = faults.length == 0;
    bool untried = all.full[0] != '\0';
    printf("\n%s", !whole    ? text_string(&faults)
                   : untried ? "Nothing is wrong on the host; a GPU is here and was not tried: "
                             : "Nothing is wrong, and nothing that the contracts allow or tapes do is untested.\n");
    if (whole && untried) {
        printf("%s\n", all.full);
    }
    text_release(&faults);
    return !whole ? 1 : untried ? NOT_TRIED_STATUS : 0;
}

static int tests_run(void)
{
    static struct CMUnitTest tests[DEVICES_MAXIMUM * OPCODE_COUNT + 1];
    for (int i = 0; i < all.operation_count; i++) {
        tests[i] = (struct CMUnitTest){all.operations[i].name, test_operation, NULL, NULL, &all.operations[i]};
    }
    tests[all.operation_count] = (struct CMUnitTest){"the GPU has room for trials", test_room, NULL, NULL, NULL};
    return _cmocka_run_group_tests("conformance", tests, (size_t)all.operation_count + 1, NULL, NULL);
}

int main(int count, char **arguments)
{
    seed_take();
    tape_calls_collect(&all.calls); /* before the devices' processes are made, which have them by that */
    devices_open();
    operations_list();
    int status = count == 2 && strcmp(arguments[1], "--table") == 0 ? table_print() : tests_run();
    for (int d = 0; d < all.device_count; d++) {
        conform_worker_close(&devices[d]);
    }
    tape_calls_release(&all.calls);
    return status;
}
