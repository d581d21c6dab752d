/* Judge: whether anything is wrong with the operations that are named, on every emulated GPU. What is tried is what
 * conformance tries, without the models' mixtures of dtypes; it ends at the first fault.
 *
 *     ASSAY_PLUGIN_DIR=FOLDER judge [--elements N] OPERATION...
 *
 *     --elements N   only trials without a larger tensor, which find most faults in a small part of the time
 *     exit 0: nothing wrong; 1 and a line that says what; 2: no answer
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

struct question {
    char **names; /* of operations */
    int count;
    int64_t elements; /* of one tensor at most; 0: all that conformance tries */
};

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

static bool trial_is_within(const struct trial *trial, int64_t elements)
{
    int64_t most = 0;
    for (int t = 0; t < trial->call.tensor_count; t++) {
        int64_t count = tensor_element_count(&trial->call.tensors[t]);
        most = count > most && !trial->scratch[t] ? count : most;
    }
    return most <= elements;
}

/* Says what is wrong. *more: whether the plan has such a variant. */
static bool variant_is_right(const struct trial_site *site, enum opcode opcode, int64_t elements, int round,
                             int variant, bool *more)
{
    struct trial trial;
    struct trial_outcome outcome = {.fault = ""};
    trial_open(&trial, opcode, (enum mix)(round % MIX_COUNT), SEED + (uint64_t)(round * 1000 + variant));
    trial.site = site;
    trial.unaligned = (round + variant) % 3 == 2;
    *more = trial_plan_for(opcode)(&trial, variant);
    if (*more && trial_is_within(&trial, elements)) {
        trial_measure(&trial, &outcome);
    }
    if (outcome.fault[0] != '\0') {
        printf("%s: variant %d, dtypes %d: %s\n", opcode_name(opcode), variant, round, outcome.fault);
    }
    trial_close(&trial);
    return outcome.fault[0] == '\0';
}

/* Every variant in each mixture of dtypes. */
static bool small_is_right(const struct trial_site *site, enum opcode opcode, int64_t elements)
{
    bool right = true;
    for (int round = 0; round < MIX_COUNT && right; round++) {
        bool more = true;
        for (int variant = 0; right && more; variant++) {
            right = variant_is_right(site, opcode, elements, round, variant, &more);
        }
    }
    return right;
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
static int gpu_judge(int index, const struct question *question, bool *more)
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
    for (int k = 0; k < question->count && answer == 0; k++) {
        enum opcode opcode;
        int64_t elements = question->elements;
        if (!opcode_find(question->names[k], &opcode)) {
            answer = 2;
        } else if (!(elements > 0 ? small_is_right(&site, opcode, elements) : is_whole(&site, opcode))) {
            answer = 1;
        }
    }
    trial_site_close(&site);
    device_close(gpu);
    return answer;
}

int main(int argc, char **argv)
{
    struct question question = {argv + 1, argc - 1, 0};
    if (argc > 2 && strcmp(argv[1], "--elements") == 0) {
        question = (struct question){argv + 3, argc - 3, strtoll(argv[2], NULL, 10)};
    }
    int answer = question.count > 0 ? 0 : 2;
    bool more = true;
    for (int index = 0; index < GPUS_MAXIMUM && more && answer == 0; index++) {
        answer = gpu_judge(index, &question, &more);
    }
    return answer;
}
