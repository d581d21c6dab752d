/* Tape calls: tapes are built, looked at and dropped; nothing runs. */
#include "tests/conformance/tape_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_fit.h"
#include "models/workload/workload_tape.h"

static bool call_is_known(const struct tape_calls *calls, const struct tape_call *call)
{
    for (int i = 0; i < calls->count; i++) {
        const struct tape_call *known = &calls->calls[i];
        if (known->opcode == call->opcode && known->tensor_count == call->tensor_count &&
            known->input_count == call->input_count && memcmp(known->dtypes, call->dtypes, sizeof call->dtypes) == 0) {
            return true;
        }
    }
    return false;
}

static void call_add(struct tape_calls *calls, const struct tape_call *call)
{
    if (call_is_known(calls, call)) {
        return;
    }
    if (calls->count == calls->capacity) {
        calls->capacity = calls->capacity * 2 + 64;
        calls->calls = realloc(calls->calls, (size_t)calls->capacity * sizeof *calls->calls);
        assert_non_null(calls->calls);
    }
    calls->calls[calls->count++] = *call;
}

static void view_collect(struct tape_calls *calls, const struct tape_view *view)
{
    for (int i = 0; i < view->op_count; i++) {
        const struct op *op = &view->ops[i];
        struct tape_call call = {
            .opcode = op->opcode, .input_count = op->input_count, .tensor_count = op->operand_count};
        for (int t = 0; t < op->operand_count; t++) {
            call.dtypes[t] = view->operands[op->first_operand + t].dtype;
        }
        call_add(calls, &call);
    }
}

static void workload_collect(struct tape_calls *calls, const struct config *config, const struct workload *workload,
                             const char *target_name)
{
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct status error = {0};
    enum status_code code = target_find(target_name, &target, &error);
    code = code == STATUS_OK ? workload_skeleton(config, workload, &skeleton, &error) : code;
    code = code == STATUS_OK ? workload_tape(config, &skeleton, workload, target, &tape, &error) : code;
    if (code != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    struct tape_view view = tape_view(tape);
    view_collect(calls, &view);
    tape_release(tape);
    skeleton_release(&skeleton);
}

static void model_collect(struct tape_calls *calls, const struct config *config)
{
    if (config->family->forward == NULL) {
        return; /* nothing of it runs */
    }
    static const char *const targets[] = {"host", "sm_80", "sm_90"};
    for (int precision = 0; precision < PRECISION_COUNT; precision++) {
        for (int attention = 0; attention < ATTENTION_COUNT; attention++) {
            struct workload workload = workload_default(MODE_INFER);
            workload.precision = (enum precision)precision;
            workload.attention = (enum attention)attention;
            workload.batch = 2;
            workload.seq = 16;
            if (attention != ATTENTION_EAGER && workload_fit_check(config, &workload, false, NULL) != STATUS_OK) {
                continue; /* what the class has not is refused, and every class has eager */
            }
            workload_collect(calls, config, &workload, "host");
            workload.mode = MODE_TRAIN;
            for (int optimizer = OPTIMIZER_NONE + 1; optimizer < OPTIMIZER_COUNT; optimizer++) {
                workload.optimizer = (enum optimizer)optimizer;
                workload_collect(calls, config, &workload, targets[optimizer % 3]);
            }
            workload.checkpointing = !config->family->refuses_checkpointing;
            workload.accumulate = 2;
            workload_collect(calls, config, &workload, "sm_90");
            bool of_images = config->family->is_image; /* no adapters */
            for (int prepared = 0; prepared < 2 && !of_images; prepared++) {
                workload.lora_rank = 4;
                workload.lora_targets = LORA_TARGETS_LINEAR;
                workload.prepare_kbit = prepared == 1;
                if (workload_check(&workload, NULL) == STATUS_OK) {
                    workload_collect(calls, config, &workload, "sm_90");
                }
            }
        }
    }
}

void tape_calls_collect(struct tape_calls *calls)
{
    struct catalogue catalogue;
    struct status error = {0};
    *calls = (struct tape_calls){0};
    if (catalogue_read("models/catalogue", &catalogue, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int i = 0; i < catalogue.count; i++) {
        struct config config;
        if (strncmp(catalogue.names[i], "tiny-", 5) != 0) {
            continue;
        }
        if (config_find("models/catalogue", catalogue.names[i], &config, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        if (config.family->forward != NULL) {
            model_collect(calls, &config);
        }
    }
    catalogue_release(&catalogue);
    assert_true(calls->count > 0);
}

void tape_calls_release(struct tape_calls *calls)
{
    free(calls->calls);
    *calls = (struct tape_calls){0};
}
