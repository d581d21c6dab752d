/* Peak stages: the ends of every span are exact, and a scan of all sizes finds the same spans where the stage changes
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/question/limit.h"
#include "harness/question/peak_stage.h"
#include "tests/question/trial_scene.h"

/* The stage that is highest by a replay of one size alone. */
static enum stage stage_at(const struct trial_scene *scene, enum case_field field, int64_t size)
{
    struct workload workload = limit_workload(&scene->workload, field, size);
    struct estimate_input input = scene->input;
    struct trial trial;
    input.workload = &workload;
    assert_int_equal(trial_run(&input, INT64_MAX, &trial, NULL), STATUS_OK);
    const struct replay_stage *stages = trial.unbounded.stages;
    if (workload.mode == MODE_GENERATE) {
        bool prefill = stages[STAGE_FORWARD].allocated_bytes_peak >= stages[STAGE_GENERATE].allocated_bytes_peak;
        return prefill ? STAGE_FORWARD : STAGE_GENERATE;
    }
    return trial.unbounded.peak_stage;
}

static struct stage_spans spans_of(const struct trial_scene *scene, enum case_field field, int64_t first, int64_t last)
{
    struct stage_spans spans;
    struct status error = {0};
    if (stage_spans_find(&scene->input, field, (int64_t[]){first, last}, NULL, &spans, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return spans;
}

static void expect_scanned(const struct trial_scene *scene, enum case_field field, int64_t first, int64_t last,
                           int changes)
{
    struct stage_spans spans = spans_of(scene, field, first, last);
    assert_int_equal(spans.count, changes + 1);
    int64_t size = first;
    for (int i = 0; i < spans.count; i++) {
        assert_int_equal(spans.spans[i].first.size, size);
        for (; size <= spans.spans[i].last.size; size++) {
            assert_int_equal(stage_at(scene, field, size), spans.spans[i].last.stage);
        }
    }
    assert_int_equal(size, last + 1);
}

/* A prompt that is longer than what is written needs its most in the prefill. */
static void prefill_and_decoding_cross_at_a_prompt(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.new_tokens = 20;
    trial_scene_open(&scene, "tiny-gpt2", &workload, "host");
    expect_scanned(&scene, FIELD_SEQ, 1, 44, 1);
    struct stage_spans spans = spans_of(&scene, FIELD_SEQ, 1, 44);
    assert_int_equal(spans.spans[0].last.stage, STAGE_GENERATE);
    assert_int_equal(spans.spans[1].last.stage, STAGE_FORWARD);
    trial_scene_close(&scene);
}

/* Square roots of all second moments make the step the highest until the activations outgrow them. */
static void the_peak_of_training_moves_from_the_step_to_the_backward_pass(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.optimizer = OPTIMIZER_ADAMW_FOREACH;
    workload.seq = 16;
    trial_scene_open(&scene, "tiny-gpt2", &workload, "host");
    expect_scanned(&scene, FIELD_BATCH, 1, 40, 1);
    struct stage_spans spans = spans_of(&scene, FIELD_BATCH, 1, 40);
    assert_int_equal(spans.spans[0].last.stage, STAGE_STEP);
    assert_int_equal(spans.spans[1].last.stage, STAGE_BACKWARD);
    trial_scene_close(&scene);
}

/* Llama-3.2-1B, 16 layers with 8 key heads of 64: a token of cache in bfloat16 is 2 * 16 * 8 * 64 * 2 = 32,768 bytes;
 * its id and its position are 8 each. */
static void a_token_more_adds_its_cache(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.seq = 4;
    trial_scene_open(&scene, "meta-llama/Llama-3.2-1B", &workload, "sm_90");
    struct stage_spans spans = spans_of(&scene, FIELD_NEW_TOKENS, 63, 64);
    assert_true(spans.step_known);
    assert_int_equal(spans.step_bytes, 32768 + 8 + 8);
    trial_scene_close(&scene);
}

static void a_single_size_is_a_span(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_INFER);
    trial_scene_open(&scene, "tiny-gpt2", &workload, "host");
    struct stage_spans spans = spans_of(&scene, FIELD_SEQ, 7, 7);
    assert_int_equal(spans.count, 1);
    assert_int_equal(spans.spans[0].first.size, 7);
    assert_false(spans.step_known);
    struct status error = {0};
    assert_int_equal(stage_spans_find(&scene.input, FIELD_SEQ, (int64_t[]){60, 65}, NULL, &spans, &error),
                     STATUS_INVALID);
    assert_string_equal(error.text, "seq: 65 is more than the 64 positions of tiny-gpt2; write at most 64");
    trial_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefill_and_decoding_cross_at_a_prompt),
        cmocka_unit_test(the_peak_of_training_moves_from_the_step_to_the_backward_pass),
        cmocka_unit_test(a_token_more_adds_its_cache),
        cmocka_unit_test(a_single_size_is_a_span),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
