/* Judge: whether anything is wrong with the operations that are named, on every emulated GPU. What is tried is what
 * conformance tries, without the models' mixtures of dtypes; it ends at the first fault.
 *
 *     ASSAY_PLUGIN_DIR=FOLDER judge OPERATION...    exit 0: nothing wrong; 1 and a line that says what; 2: no answer
 *
 * ci/mutate.sh asks it about plug-ins that lack something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/conformance.h"

enum { GPUS_MAXIMUM = 4, SEED = 7 };

static bool opcode_find(const char *name, enum opcode *opcode)
{
    for (int k = 0; k < OPCODE_COUNT; k++) {
        if (strcmp(name, opcode_name((enum opcode)k)) == 0) {
            *opcode = (enum opcode)k;
            return true;
        }
    }
    return false;
}

/* Says what is wrong. */
static bool is_whole(const struct trial_site *site, enum opcode opcode)
{
    static const struct tape_calls none;
    struct conformance conformance;
    struct conformance_request request = {.site = site,
                                          .opcode = opcode,
                                          .plan = trial_plan_for(opcode),
                                          .calls = &none,
                                          .seed = SEED,
                                          .first_fault_only = true};
    operation_conform(&request, &conformance);
    bool whole = conformance_is_whole(&conformance);
    if (!whole) {
        printf("%s: %s\n", opcode_name(opcode), text_string(&conformance.report));
    }
    conformance_release(&conformance);
    return whole;
}

/* Exit status; *more: whether there is a GPU of that number. */
static int gpu_judge(int index, char **names, int count, bool *more)
{
    char spec[16];
    struct status error = {0};
    struct device *gpu = NULL;
    struct trial_site site;
    snprintf(spec, sizeof spec, "cuda:%d", index);
    enum status_code code = device_open(spec, &gpu, &error);
    *more = code == STATUS_OK;
    if (code == STATUS_UNAVAILABLE && index > 0) {
        return 0;
    }
    if (code != STATUS_OK || trial_site_open(&site, gpu, &error) != STATUS_OK) {
        printf("%s: %s\n", spec, error.text);
        return code == STATUS_UNAVAILABLE ? 2 : 1;
    }
    int answer = 0;
    for (int k = 0; k < count && answer == 0; k++) {
        enum opcode opcode;
        answer = !opcode_find(names[k], &opcode) ? 2 : is_whole(&site, opcode) ? 0 : 1;
    }
    trial_site_close(&site);
    device_close(gpu);
    return answer;
}

int main(int argc, char **argv)
{
    int answer = argc > 1 ? 0 : 2;
    bool more = true;
    for (int index = 0; index < GPUS_MAXIMUM && more && answer == 0; index++) {
        answer = gpu_judge(index, argv + 1, argc - 1, &more);
    }
    return answer;
}
