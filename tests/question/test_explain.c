/* Explanations: all lines add up to what a replay reserves, for every family, mode, precision and stage; and single
 * bytes are explained as they are by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/question/explain.h"
#include "harness/question/trial.h"
#include "harness/replay/replay.h"
#include "harness/tape/target.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "tests/question/trial_scene.h"
#include "tests/support/device_use.h"

static struct explanation explanation_of(const struct trial_scene *scene, enum stage stage)
{
    struct explanation explanation;
    struct status error = {0};
    if (explain_find(&scene->input, stage, &explanation, &error) != STATUS_OK) {
        fail_msg("%s: %s", scene->config.name, error.text);
    }
    return explanation;
}

static int64_t allocator_bytes(const struct moment *moment)
{
    return moment->rounding_bytes + moment->unsplit_remainder_bytes + moment->fragment_bytes +
           moment->free_segment_bytes;
}

static int64_t folded_bytes(const struct explanation *explanation)
{
    struct text text = {0};
    int64_t sum = 0;
    explain_folded(explanation, &text);
    for (const char *line = text_string(&text); *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *number = end;
        assert_non_null(end);
        while (number[-1] != ' ') {
            number--;
        }
        assert_true(number - line > 2 && memchr(line, ';', (size_t)(number - line)) != NULL);
        sum += strtoll(number, NULL, 10);
    }
    text_release(&text);
    return sum;
}

static void expect_sums(struct explanation *explanation, int64_t reserved_bytes)
{
    const struct moment *moment = &explanation->moment;
    int64_t requested_bytes = 0;
    assert_int_equal(moment->reserved_bytes, reserved_bytes);
    for (int i = 0; i < explanation->row_count; i++) {
        const struct explain_row *row = &explanation->rows[i];
        assert_true(row->bytes > 0 && *row->tensor != '\0' && *row->rule != '\0');
        requested_bytes += row->bytes;
    }
    assert_int_equal(requested_bytes, moment->requested_bytes);
    assert_int_equal(requested_bytes + allocator_bytes(moment), reserved_bytes);
    assert_true(moment->fragment_bytes >= 0 && moment->free_segment_bytes >= 0);
    assert_int_equal(moment->requested_bytes + moment->rounding_bytes + moment->unsplit_remainder_bytes,
                     moment->allocated_bytes);
    assert_int_equal(folded_bytes(explanation), reserved_bytes);
    for (int by = 0; by < EXPLAIN_BY_COUNT; by++) {
        struct explain_group *groups = NULL;
        int count = 0, tensors = 0;
        int64_t sum = 0;
        assert_int_equal(explain_group(explanation, (enum explain_by)by, by % 2 == 0, &groups, &count, NULL),
                         STATUS_OK);
        for (int i = 0; i < count; i++) {
            assert_true(i == 0 || groups[i - 1].bytes >= groups[i].bytes);
            sum += groups[i].bytes;
            tensors += groups[i].count;
        }
        assert_int_equal(sum, reserved_bytes);
        assert_int_equal(tensors, explanation->row_count);
    }
}

/* Of the whole and of every stage there is. */
static void expect_explained(const struct trial_scene *scene)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    assert_int_equal(target_find(scene->input.target, &target, NULL), STATUS_OK);
    assert_int_equal(workload_tape(&scene->config, &scene->skeleton, &scene->workload, target, &tape, NULL), STATUS_OK);
    struct tape_view view = tape_view(tape);
    struct replay_result result = replay_on(&view, "meta");
    struct explanation explanation = explanation_of(scene, STAGE_COUNT);
    expect_sums(&explanation, result.reserved_bytes_peak);
    explanation_release(&explanation);
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        if (result.stages[stage].present) {
            explanation = explanation_of(scene, (enum stage)stage);
            assert_int_equal(explanation.moment.stage, stage);
            expect_sums(&explanation, result.stages[stage].reserved_bytes_peak);
            explanation_release(&explanation);
        } else {
            assert_int_equal(explain_find(&scene->input, (enum stage)stage, &explanation, NULL), STATUS_INVALID);
        }
    }
    tape_release(tape);
}

/* Not the modes that a family does not have, nor the precisions that a mode does not train in. */
static bool case_exists(const struct config *config, const struct workload *workload)
{
    bool quantized = workload->precision >= PRECISION_INT8;
    return (workload->mode != MODE_GENERATE || config->family->generates) &&
           (workload->mode != MODE_TRAIN || !quantized) && (!quantized || !config->family->is_image);
}

static void every_case_adds_up(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt2", "tiny-bert", "tiny-qwen2", "tiny-vit", "tiny-resnet"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        for (int mode = MODE_LOAD; mode < MODE_COUNT; mode++) {
            for (int precision = 0; precision < PRECISION_COUNT; precision++) {
                struct trial_scene scene;
                struct workload workload = workload_default((enum mode)mode);
                workload.precision = (enum precision)precision;
                workload.batch = 3;
                workload.seq = strstr(models[i], "vit") != NULL || strstr(models[i], "resnet") != NULL ? 0 : 16;
                workload.new_tokens = 5;
                workload.checkpointing = mode == MODE_TRAIN && precision % 2 == 1;
                trial_scene_open(&scene, models[i], &workload, "sm_90");
                if (case_exists(&scene.config, &workload)) {
                    expect_explained(&scene);
                }
                trial_scene_close(&scene);
            }
        }
    }
}

/* Every model of the catalogue that has a forward pass, in a small case of each mode that it has. */
static void every_model_of_the_catalogue_adds_up(void **state)
{
    (void)state;
    struct catalogue catalogue;
    int explained = 0;
    assert_int_equal(catalogue_read("models/catalogue", &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        struct config config;
        assert_int_equal(config_find("models/catalogue", catalogue.names[i], &config, NULL), STATUS_OK);
        static const enum mode modes[] = {MODE_INFER, MODE_GENERATE};
        for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++) {
            struct trial_scene scene;
            struct workload workload = workload_default(modes[k]);
            workload.precision = PRECISION_BFLOAT16;
            workload.seq = config.family->is_image ? 0 : 8;
            workload.new_tokens = 2;
            trial_scene_open(&scene, catalogue.names[i], &workload, "sm_90");
            if (case_exists(&scene.config, &workload)) {
                struct explanation explanation;
                if (explain_find(&scene.input, STAGE_COUNT, &explanation, NULL) == STATUS_OK) {
                    expect_sums(&explanation, trial_scene_reserved(&scene));
                    explanation_release(&explanation);
                    explained++;
                }
            }
            trial_scene_close(&scene);
        }
    }
    assert_true(explained > catalogue.count / 2);
    catalogue_release(&catalogue);
}

/* The row of a module and tensor whose rule begins so. Fails the running test where there is none. */
static const struct explain_row *row_of(const struct explanation *explanation, const char *module, const char *tensor,
                                        const char *rule)
{
    for (int i = 0; i < explanation->row_count; i++) {
        const struct explain_row *row = &explanation->rows[i];
        if (strcmp(row->module, module) == 0 && strcmp(row->tensor, tensor) == 0 &&
            strncmp(row->rule, rule, strlen(rule)) == 0) {
            return row;
        }
    }
    fail_msg("nothing holds %s %s %s", module, tensor, rule);
    return NULL;
}

static void expect_row(const struct explanation *explanation, const char *module, const char *tensor, const char *rule,
                       enum category category, int64_t bytes)
{
    const struct explain_row *row = row_of(explanation, module, tensor, rule);
    assert_string_equal(row->rule, rule);
    assert_int_equal(row->category, category);
    assert_int_equal(row->bytes, bytes);
}

/* gpt2, batch 2 of 128 tokens in float32: what each of these holds is its shape times 4 bytes. */
static void single_tensors_are_explained_as_by_hand(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 2;
    trial_scene_open(&scene, "gpt2", &workload, "sm_90");
    struct explanation explanation = explanation_of(&scene, STAGE_FORWARD);
    static const char c_fc[] = "transformer.h.7.mlp.c_fc", layer[] = "transformer.h.7";
    expect_row(&explanation, c_fc, "weight", "parameter, 768*3072*4 bytes", CATEGORY_WEIGHTS, 9437184);
    expect_row(&explanation, c_fc, "weight", "exp_avg, 768*3072*4 bytes", CATEGORY_OPTIMIZER, 9437184);
    expect_row(&explanation, c_fc, "bias", "exp_avg_sq, 3072*4 bytes", CATEGORY_OPTIMIZER, 12288);
    expect_row(&explanation, c_fc, "bias", "step, 4 bytes", CATEGORY_OPTIMIZER, 4);
    expect_row(&explanation, "transformer.h.7.ln_1", "LAYERNORM",
               "kept for the backward of linear, its input, 2*128*768*4 bytes", CATEGORY_ACTIVATIONS, 786432);
    expect_row(&explanation, layer, "ATTENTION log-sum-exp",
               row_of(&explanation, layer, "ATTENTION log-sum-exp", "kept for the backward of ATTENTION")->rule,
               CATEGORY_ACTIVATIONS, 4 * 2 * 12 * 128);
    expect_row(&explanation, "", "input_ids", "input, 2*128*8 bytes", CATEGORY_INPUTS, 2048);
    explanation_release(&explanation);
    explanation = explanation_of(&scene, STAGE_STEP);
    expect_row(&explanation, c_fc, "weight", "gradient, 768*3072*4 bytes", CATEGORY_GRADIENTS, 9437184);
    explanation_release(&explanation);
    trial_scene_close(&scene);
}

/* The rows of logits and their dtype: of all 2 * 128 tokens or of the last ones, in the dtype of the model; a causal
 * loss makes them float32 first. */
static void logits_have_the_rows_and_the_dtype_of_the_case(void **state)
{
    (void)state;
    static const struct {
        enum mode mode;
        enum precision precision;
        enum logits logits;
        const char *module, *tensor, *rule;
        int64_t bytes;
    } rows[] = {
        {MODE_INFER, PRECISION_BFLOAT16, LOGITS_ALL, "lm_head", "linear", "result, 256*50257*2 bytes", 25731584},
        {MODE_INFER, PRECISION_FLOAT32, LOGITS_ALL, "lm_head", "linear", "result, 256*50257*4 bytes", 51463168},
        {MODE_INFER, PRECISION_BFLOAT16, LOGITS_LAST, "lm_head", "linear", "result, 2*50257*2 bytes", 201028},
        {MODE_TRAIN, PRECISION_BFLOAT16, LOGITS_ALL, "", "LOG_SOFTMAX",
         "kept for the backward of LOG_SOFTMAX, its output, 256*50257*4 bytes", 51463168},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trial_scene scene;
        struct workload workload = workload_default(rows[i].mode);
        workload.batch = 2;
        workload.precision = rows[i].precision;
        workload.logits = rows[i].logits;
        trial_scene_open(&scene, "gpt2", &workload, "sm_90");
        struct explanation explanation = explanation_of(&scene, STAGE_FORWARD);
        enum category category = CATEGORY_ACTIVATIONS;
        if (rows[i].logits == LOGITS_ALL) { /* those of the last rows are not there when the most is */
            expect_row(&explanation, rows[i].module, rows[i].tensor, rows[i].rule, category, rows[i].bytes);
        } else {
            for (int k = 0; k < explanation.row_count; k++) {
                assert_string_not_equal(explanation.rows[k].module, "lm_head");
            }
        }
        explanation_release(&explanation);
        trial_scene_close(&scene);
    }
}

/* With checkpoints a block keeps its input, and what it makes anew in the backward pass is of its modules again. The
 * vocabulary of tiny-gpt2 is small, so that the peak is within a block. */
static void a_recomputed_block_is_of_its_module(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 64;
    workload.seq = 64;
    workload.checkpointing = true;
    trial_scene_open(&scene, "tiny-gpt2", &workload, "sm_90");
    struct explanation explanation = explanation_of(&scene, STAGE_BACKWARD);
    int inputs = 0, recomputed = 0;
    for (int i = 0; i < explanation.row_count; i++) {
        const struct explain_row *row = &explanation.rows[i];
        inputs += strncmp(row->rule, "kept for the backward of checkpoint, its input", 46) == 0;
        if (row->category == CATEGORY_ACTIVATIONS && row->taken_in == STAGE_BACKWARD) {
            assert_int_equal(strncmp(row->module, "transformer.h.1", 15), 0);
            recomputed++;
        }
    }
    assert_true(inputs >= 1 && recomputed > 10);
    explanation_release(&explanation);
    trial_scene_close(&scene);
}

/* Within a memory the explanation is that of a bounded replay: what that refuses, and all lines add up to what is held
 * then. */
static void what_is_refused_is_that_of_a_trial(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    int refused_count = 0;
    workload.batch = 64;
    workload.seq = 64;
    trial_scene_open(&scene, "tiny-gpt2", &workload, "sm_90");
    int64_t reserved_bytes = trial_scene_reserved(&scene);
    for (int64_t memory_bytes = INT64_C(4) << 20; memory_bytes <= reserved_bytes + 1;
         memory_bytes += INT64_C(2) << 20) {
        struct trial trial;
        assert_int_equal(trial_run_bounded(&scene.input, memory_bytes, &trial, NULL), STATUS_OK);
        scene.input.memory_bytes = memory_bytes;
        struct explanation explanation = explanation_of(&scene, STAGE_COUNT);
        scene.input.memory_bytes = 0;
        const struct moment *moment = &explanation.moment;
        assert_int_equal(moment->is_refused, !trial.fits);
        if (!trial.fits) {
            assert_string_equal(explanation.wanted, trial.label);
            assert_int_equal(moment->wanted_bytes, trial.wanted_bytes);
            assert_int_equal(moment->reserved_bytes, trial.held_bytes);
            assert_int_equal(moment->requested_bytes, trial.live_bytes);
            assert_int_equal(moment->stage, trial.stage);
            refused_count++;
        } else {
            assert_int_equal(moment->reserved_bytes, trial.bounded.reserved_bytes_peak);
        }
        assert_int_equal(moment->requested_bytes + allocator_bytes(moment), moment->reserved_bytes);
        assert_int_equal(folded_bytes(&explanation), moment->reserved_bytes);
        explanation_release(&explanation);
    }
    assert_true(refused_count > 5);
    trial_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_adds_up),
        cmocka_unit_test(every_model_of_the_catalogue_adds_up),
        cmocka_unit_test(single_tensors_are_explained_as_by_hand),
        cmocka_unit_test(logits_have_the_rows_and_the_dtype_of_the_case),
        cmocka_unit_test(a_recomputed_block_is_of_its_module),
        cmocka_unit_test(what_is_refused_is_that_of_a_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
