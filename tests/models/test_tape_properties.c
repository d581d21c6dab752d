/* What every tape of every model must be: well formed, monotone in the batch, leaner where it is asked to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"

static const char *const tiny[] = {"tiny-bert",  "tiny-gpt2",     "tiny-llama",    "tiny-mistral",
                                   "tiny-qwen2", "tiny-vit",      "tiny-resnet",   "tiny-resnet-bottleneck",
                                   "tiny-vgg",   "tiny-convnext", "tiny-timm-vit", "tiny-regnet"};
static const char *const large[] = {"bert-large-uncased",
                                    "gpt2-xl",
                                    "meta-llama/Llama-2-70b-hf",
                                    "mistralai/Mistral-7B-v0.1",
                                    "Qwen/Qwen2-7B",
                                    "google/vit-large-patch16-224",
                                    "timm/resnet152.a1_in1k",
                                    "timm/vgg19.tv_in1k",
                                    "facebook/convnext-large-224",
                                    "meta-llama/Llama-3.2-1B"};

enum { TINY_COUNT = sizeof tiny / sizeof tiny[0], LARGE_COUNT = sizeof large / sizeof large[0] };

struct outcome {
    int64_t peak, saved, load;
};

static int64_t operand_end(const struct operand *operand)
{
    int64_t last = operand->offset;
    for (int i = 0; i < operand->rank; i++) {
        if (operand->size[i] == 0) {
            return 0;
        }
        last += (operand->size[i] - 1) * operand->stride[i];
    }
    return (last + 1) * dtype_bytes(operand->dtype);
}

static void operands_check(const struct tape_view *view, const struct op *op, const char *alive)
{
    assert_true(op->operand_count <= OPERATION_TENSORS_MAXIMUM);
    assert_true(op->input_count >= opcode_input_count(op->opcode));
    assert_true(op->operand_count - op->input_count == opcode_output_count(op->opcode));
    for (int i = 0; i < op->operand_count; i++) {
        const struct operand *operand = &view->operands[op->first_operand + i];
        assert_true(alive[operand->storage]);
        assert_true(operand->offset >= 0 && operand_end(operand) <= view->storages[operand->storage].bytes);
    }
}

static struct outcome tape_check(const struct tape_view *view)
{
    struct outcome outcome = {.saved = view->saved_for_backward_bytes};
    char *alive = calloc((size_t)view->storage_count + 1, 1);
    assert_non_null(alive);
    int64_t live = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_ALLOC) {
            assert_false(alive[event.index]);
            alive[event.index] = 1;
            live += view->storages[event.index].bytes;
        } else if (event.kind == EVENT_FREE) {
            assert_true(alive[event.index]);
            alive[event.index] = 0;
            live -= view->storages[event.index].bytes;
        } else if (event.kind == EVENT_RUN) {
            operands_check(view, &view->ops[event.index], alive);
        } else if (event.index == STAGE_FORWARD && outcome.load == 0) {
            outcome.load = live;
        }
        outcome.peak = live > outcome.peak ? live : outcome.peak;
    }
    free(alive);
    return outcome;
}

static struct outcome outcome_of(const char *model, const struct workload *workload, const char *class_name)
{
    struct status error = {0};
    struct config config;
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    enum status_code code = config_find("models/catalogue", model, &config, &error);
    code = code == STATUS_OK ? target_find(class_name, &target, &error) : code;
    code = code == STATUS_OK ? workload_skeleton(&config, workload, &skeleton, &error) : code;
    code = code == STATUS_OK ? workload_tape(&config, &skeleton, workload, target, &tape, &error) : code;
    if (code != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    struct tape_view view = tape_view(tape);
    struct outcome outcome = tape_check(&view);
    tape_release(tape);
    skeleton_release(&skeleton);
    return outcome;
}

static struct workload small(enum mode mode)
{
    struct workload workload = workload_default(mode);
    workload.batch = 2;
    workload.seq = 16;
    return workload;
}

/* Encoders and image models do not generate. */
static bool can_do(const char *model, enum mode mode)
{
    bool decodes = strstr(model, "gpt2") != NULL || strstr(model, "llama") != NULL || strstr(model, "Llama") != NULL ||
                   strstr(model, "istral") != NULL || strstr(model, "wen") != NULL;
    return mode != MODE_GENERATE || decodes;
}

static bool is_of_images(const char *model)
{
    return strstr(model, "vit") != NULL || strstr(model, "resnet") != NULL || strstr(model, "vgg") != NULL ||
           strstr(model, "convnext") != NULL || strstr(model, "regnet") != NULL;
}

static bool can_recompute(const char *model)
{
    struct config config;
    assert_int_equal(config_find("models/catalogue", model, &config, NULL), STATUS_OK);
    return !config.family->refuses_checkpointing;
}

static void every_combination_is_well_formed(void **state)
{
    (void)state;
    for (int m = 0; m < TINY_COUNT; m++) {
        for (int precision = 0; precision < PRECISION_COUNT; precision++) {
            for (int attention = 0; attention < ATTENTION_COUNT; attention++) {
                for (int mode = 0; mode < MODE_COUNT; mode++) {
                    if (!can_do(tiny[m], (enum mode)mode)) {
                        continue;
                    }
                    struct workload workload = small((enum mode)mode);
                    workload.precision = (enum precision)precision;
                    workload.attention = (enum attention)attention;
                    if (mode == MODE_TRAIN && precision >= PRECISION_INT8) {
                        assert_int_equal(workload_check(&workload, NULL), STATUS_INVALID);
                        if (is_of_images(tiny[m])) {
                            continue; /* they have no adapters */
                        }
                        workload.lora_rank = 4;
                        assert_int_equal(workload_check(&workload, NULL), STATUS_OK);
                    }
                    assert_true(outcome_of(tiny[m], &workload, "sm_90").peak > 0);
                    workload.checkpointing = mode == MODE_TRAIN && can_recompute(tiny[m]);
                    workload.accumulate = mode == MODE_TRAIN ? 3 : 1;
                    assert_true(outcome_of(tiny[m], &workload, "host").peak > 0);
                }
            }
        }
    }
}

/* Both schemes; 2 and 32 rows, which nf4 multiplies in two ways; a target that multiplies float8 and one that does
 * not. */
static void every_quantised_case_is_well_formed(void **state)
{
    (void)state;
    for (int m = 0; m < TINY_COUNT; m++) {
        for (int precision = PRECISION_INT8; precision <= PRECISION_FP8; precision++) {
            for (int quantize = 0; quantize < QUANTIZE_GPTQ; quantize++) { /* not packed: too small */
                struct workload workload = small(MODE_INFER);
                workload.precision = (enum precision)precision;
                workload.quantize = (enum quantize)quantize;
                assert_true(outcome_of(tiny[m], &workload, "sm_90").peak > 0);
                assert_true(outcome_of(tiny[m], &workload, "sm_80").peak > 0);
                workload.seq = 1;
                assert_true(outcome_of(tiny[m], &workload, "host").peak > 0);
                workload.mode = MODE_LOAD;
                assert_true(outcome_of(tiny[m], &workload, "host").peak > 0);
            }
            struct workload workload = small(MODE_TRAIN);
            workload.precision = (enum precision)precision;
            workload.lora_rank = 4;
            workload.prepare_kbit = true;
            if (workload_check(&workload, NULL) == STATUS_OK && !is_of_images(tiny[m])) {
                assert_true(outcome_of(tiny[m], &workload, "sm_90").peak > 0);
                workload.checkpointing = true;
                assert_true(outcome_of(tiny[m], &workload, "host").peak > 0);
            }
        }
    }
}

static void every_optimizer_is_well_formed(void **state)
{
    (void)state;
    for (int m = 0; m < TINY_COUNT; m++) {
        for (int optimizer = OPTIMIZER_NONE + 1; optimizer < OPTIMIZER_COUNT; optimizer++) {
            struct workload workload = small(MODE_TRAIN);
            workload.optimizer = (enum optimizer)optimizer;
            workload.precision = PRECISION_AMP_FLOAT16; /* with its scaler */
            assert_true(outcome_of(tiny[m], &workload, "host").peak > 0);
        }
    }
}

static void large_models_are_well_formed(void **state)
{
    (void)state;
    for (int m = 0; m < LARGE_COUNT; m++) {
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            if (!can_do(large[m], (enum mode)mode)) {
                continue;
            }
            struct workload workload = small((enum mode)mode);
            workload.precision = PRECISION_BFLOAT16;
            workload.seq = 256;
            assert_true(outcome_of(large[m], &workload, "sm_90").peak > 0);
        }
    }
}

static void more_batch_takes_more(void **state)
{
    (void)state;
    for (int m = 0; m < TINY_COUNT; m++) {
        struct outcome last = {0};
        for (int64_t batch = 1; batch <= 64; batch *= 2) {
            struct workload workload = small(MODE_TRAIN);
            workload.batch = batch;
            struct outcome outcome = outcome_of(tiny[m], &workload, "host");
            assert_true(outcome.peak >= last.peak);
            assert_true(outcome.saved > last.saved);
            last = outcome;
        }
    }
}

static void what_is_asked_to_be_leaner_is(void **state)
{
    (void)state;
    for (int m = 0; m < TINY_COUNT; m++) {
        struct workload workload = small(MODE_TRAIN);
        workload.batch = 16;
        struct outcome plain = outcome_of(tiny[m], &workload, "host");
        workload.checkpointing = can_recompute(tiny[m]);
        int64_t saved = outcome_of(tiny[m], &workload, "host").saved;
        assert_true(workload.checkpointing ? saved < plain.saved : saved == plain.saved);
        workload.checkpointing = false;
        workload.precision = PRECISION_BFLOAT16;
        assert_true(outcome_of(tiny[m], &workload, "host").peak < plain.peak);
        workload.precision = PRECISION_FLOAT32;
        workload.mode = MODE_INFER;
        workload.optimizer = OPTIMIZER_NONE;
        struct outcome infer = outcome_of(tiny[m], &workload, "host");
        assert_true(infer.peak < plain.peak);
        assert_int_equal(infer.saved, 0);
    }
}

static void sequence_refused(const char *model, int64_t seq, const char *text)
{
    struct status error = {0};
    struct config config;
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    assert_int_equal(config_find("models/catalogue", model, &config, &error), STATUS_OK);
    assert_int_equal(target_find("host", &target, &error), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, &error), STATUS_OK);
    struct workload workload = workload_default(MODE_INFER);
    workload.seq = seq;
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_INVALID);
    assert_string_equal(error.text, text);
    assert_null(tape);
    skeleton_release(&skeleton);
}

static void sequences_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    sequence_refused("gpt2", 1025, "seq: 1025 is more than the 1024 positions of gpt2; write at most 1024");
}

/* transformers gives Gemma 2 the eager form by itself: its class has _supports_sdpa = False. */
static void gemma_2_attends_eagerly(void **state)
{
    struct config config;
    struct skeleton skeleton;
    const struct target *target = NULL;
    int operations[2] = {0};
    (void)state;
    assert_int_equal(config_find("models/catalogue", "tiny-gemma2", &config, NULL), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        struct tape *tape = NULL;
        struct workload workload = workload_default(MODE_TRAIN);
        workload.attention = i == 0 ? ATTENTION_SDPA : ATTENTION_EAGER;
        assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, NULL), STATUS_OK);
        operations[i] = tape_view(tape).op_count;
        tape_release(tape);
    }
    assert_true(operations[0] > 0);
    assert_int_equal(operations[0], operations[1]);
    skeleton_release(&skeleton);
}

/* A model without a classifier gives features, and has no loss. */
static void models_without_classes_are_not_trained(void **state)
{
    struct config config;
    struct skeleton skeleton;
    struct status error = {0};
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_INFER);
    (void)state;
    assert_int_equal(config_find("models/catalogue", "tiny-resnet", &config, NULL), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    config.classes = 0;
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, NULL), STATUS_OK);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_OK);
    tape_release(tape);
    tape = NULL;
    workload = workload_default(MODE_TRAIN);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_INVALID);
    assert_string_equal(error.text, "mode train: tiny-resnet has no classifier (num_classes: 0), and so no loss; write "
                                    "mode infer, or the number of classes into its config.json");
    skeleton_release(&skeleton);
}

/* A hostile size of a head is not a thousand million operations. */
static void tables_without_end_are_refused(void **state)
{
    struct config config;
    struct skeleton skeleton;
    struct status error = {0};
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_LOAD);
    (void)state;
    assert_int_equal(config_find("models/catalogue", "tiny-llama", &config, &error), STATUS_OK);
    assert_int_equal(target_find("host", &target, &error), STATUS_OK);
    config.head_dim = config.rotary_dim = INT64_C(1) << 31;
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, &error), STATUS_OK);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text,
                           "'model.rotary_emb.inv_freq' has 1073741824 frequencies, more than a tape holds; "
                           "write heads of at most 32768"));
    assert_null(tape);
    skeleton_release(&skeleton);
}

/* Phi-3 with longrope: its tensors are those of Phi-3, what runs is not. */
static void what_only_loads_is_not_run(void **state)
{
    struct config config;
    struct skeleton skeleton;
    struct status error;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_LOAD);
    (void)state;
    assert_int_equal(config_find("models/catalogue", "tiny-phi3", &config, NULL), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    config.only_loads = (struct config_stillness){.cause = "its tables follow the length", .remedy = "take another"};
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, NULL), STATUS_OK);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_OK);
    tape_release(tape);
    tape = NULL;
    workload = workload_default(MODE_TRAIN);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "mode train: tiny-phi3 only loads: its tables follow the length; write mode load, or "
                        "take another");
    assert_null(tape);
    skeleton_release(&skeleton);
}

/* T5's wo stays float32 where from_pretrained is asked for float16, and only there: 12 of 512 x 2048 in t5-small. */
static void float16_spares_what_the_class_names(void **state)
{
    (void)state;
    struct workload workload = workload_default(MODE_LOAD);
    workload.precision = PRECISION_FLOAT16;
    assert_int_equal(outcome_of("google-t5/t5-small", &workload, "sm_90").peak, 2 * 60506624 + 2 * 12 * 512 * 2048);
    workload.precision = PRECISION_BFLOAT16;
    assert_int_equal(outcome_of("google-t5/t5-small", &workload, "sm_90").peak, 2 * 60506624);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float16_spares_what_the_class_names),
        cmocka_unit_test(every_combination_is_well_formed),
        cmocka_unit_test(every_quantised_case_is_well_formed),
        cmocka_unit_test(every_optimizer_is_well_formed),
        cmocka_unit_test(large_models_are_well_formed),
        cmocka_unit_test(more_batch_takes_more),
        cmocka_unit_test(what_is_asked_to_be_leaner_is),
        cmocka_unit_test(sequences_that_do_not_fit_are_refused),
        cmocka_unit_test(tables_without_end_are_refused),
        cmocka_unit_test(what_only_loads_is_not_run),
        cmocka_unit_test(gemma_2_attends_eagerly),
        cmocka_unit_test(models_without_classes_are_not_trained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
