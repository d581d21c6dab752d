/* Strict: whether anything is wrong with an operation on each emulated GPU, and how much was tried. Which words make
 * the GPU strict is for ci/strict.sh, which calls it.
 *
 *     ASSAY_PLUGIN_DIR=FOLDER strict [--elements N] OPERATION
 *
 *     --elements N   only trials without a larger tensor, in each dtype and a mixture; else all that conformance tries,
 *                    without the models' mixtures
 *     exit 0 and a line "N trials"; 1 and a line that says what is wrong, which is the first fault; 2: no answer */
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
    enum opcode opcode;
    int64_t elements; /* of one tensor at most; 0: all that conformance tries */
    int64_t trials;   /* so far */
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
static bool variant_is_right(const struct trial_site *site, struct question *question, int round, int variant,
                             bool *more)
{
    struct trial trial;
    struct trial_outcome outcome = {.fault = ""};
    trial_open(&trial, question->opcode, (enum mix)round, SEED + (uint64_t)(round * 1000 + variant));
    trial.site = site;
    trial.unaligned = (round + variant) % 3 == 2;
    *more = trial_plan_for(question->opcode)(&trial, variant);
    if (*more && trial_is_within(&trial, question->elements)) {
        trial_measure(&trial, &outcome);
        question->trials++;
    }
    if (outcome.fault[0] != '\0') {
        printf("variant %d, dtypes %d: %s\n", variant, round, outcome.fault);
    }
    trial_close(&trial);
    return outcome.fault[0] == '\0';
}

/* Every variant in each mixture of dtypes. */
static bool small_is_right(const struct trial_site *site, struct question *question)
{
    bool right = true;
    for (int round = 0; round < MIX_COUNT && right; round++) {
        bool more = true;
        for (int variant = 0; right && more; variant++) {
            right = variant_is_right(site, question, round, variant, &more);
        }
    }
    return right;
}

/* Says what is wrong. */
static bool whole_is_right(const struct trial_site *site, struct question *question)
{
    static const struct tape_calls none;
    struct conformance conformance;
    struct conformance_request request = {.site = site,
                                          .opcode = question->opcode,
                                          .plan = trial_plan_for(question->opcode),
                                          .calls = &none,
                                          .seed = SEED,
                                          .first_fault_only = true};
    operation_conform(&request, &conformance);
    bool right = conformance_is_whole(&conformance);
    if (!right) {
        printf("%s\n", text_string(&conformance.report));
    }
    for (int class = 0; class < CLASS_COUNT; class ++) {
        question->trials += conformance.cells[class].trial_count;
    }
    conformance_release(&conformance);
    return right;
}

/* Exit status; *more: whether there is a GPU of that number. */
static int gpu_ask(int index, struct question *question, bool *more)
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
    bool right = question->elements > 0 ? small_is_right(&site, question) : whole_is_right(&site, question);
    if (!right) {
        printf("on %s\n", spec);
    }
    trial_site_close(&site);
    device_close(gpu);
    return right ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct question question = {.elements = 0};
    bool limited = argc == 4 && strcmp(argv[1], "--elements") == 0;
    if ((!limited && argc != 2) || !opcode_find(argv[argc - 1], &question.opcode)) {
        return 2;
    }
    question.elements = limited ? strtoll(argv[2], NULL, 10) : 0;
    int answer = 0;
    bool more = true;
    for (int index = 0; index < GPUS_MAXIMUM && more && answer == 0; index++) {
        answer = gpu_ask(index, &question, &more);
    }
    if (answer == 0) {
        printf("%lld trials\n", (long long)question.trials);
    }
    return answer;
}
