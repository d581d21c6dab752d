/* Fits: the boundary is exact to the byte, a range of overhead leaves room for doubt, and cached segments are given
 * back before anything is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/question/fit.h"
#include "tests/question/trial_scene.h"

static const struct overhead none = {.kind = OVERHEAD_NONE};

static struct fit fit_of(const struct trial_scene *scene, int64_t memory_bytes, const struct overhead *overhead)
{
    struct fit fit;
    struct status error = {0};
    struct fit_device device = {.memory_bytes = memory_bytes, .overhead = *overhead};
    if (fit_find(&scene->input, &device, &fit, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return fit;
}

/* Loading takes segments and gives none back, so that nothing below its reserved bytes can do. */
static void the_boundary_is_exact(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt2", "tiny-resnet", "gpt2", "bert-base-cased"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct trial_scene scene;
        struct workload workload = workload_default(MODE_LOAD);
        trial_scene_open(&scene, models[i], &workload, "sm_90");
        int64_t reserved_bytes = trial_scene_reserved(&scene);
        struct fit fit = fit_of(&scene, reserved_bytes, &none);
        assert_int_equal(fit.verdict, FIT_YES);
        assert_int_equal(fit.margin_low_bytes, 0);
        fit = fit_of(&scene, reserved_bytes - 1, &none);
        assert_int_equal(fit.verdict, FIT_NO);
        assert_int_equal(fit.margin_low_bytes, -1);
        assert_int_equal(fit.margin_high_bytes, -1);
        assert_int_equal(fit.trial.stage, STAGE_LOAD);
        assert_true(fit.trial.wanted_bytes > 0 && fit.trial.held_bytes < reserved_bytes);
        assert_int_equal(fit_of(&scene, reserved_bytes + 5, &none).margin_high_bytes, 5);
        trial_scene_close(&scene);
    }
}

static void overhead_is_taken_off(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_LOAD);
    trial_scene_open(&scene, "gpt2", &workload, "sm_90");
    int64_t reserved_bytes = trial_scene_reserved(&scene);
    struct overhead given = {.kind = OVERHEAD_GIVEN, .low_bytes = 1000, .high_bytes = 1000};
    assert_int_equal(fit_of(&scene, reserved_bytes + 1000, &given).verdict, FIT_YES);
    assert_int_equal(fit_of(&scene, reserved_bytes + 999, &given).verdict, FIT_NO);
    assert_int_equal(fit_of(&scene, 1, &given).verdict, FIT_NO); /* less than the overhead alone */
    struct overhead range = {.kind = OVERHEAD_PUBLISHED, .low_bytes = 1000, .high_bytes = 3000};
    assert_int_equal(fit_of(&scene, reserved_bytes + 999, &range).verdict, FIT_NO);
    struct fit fit = fit_of(&scene, reserved_bytes + 1000, &range);
    assert_int_equal(fit.verdict, FIT_UNDECIDED);
    assert_int_equal(fit.margin_low_bytes, -2000);
    assert_int_equal(fit.margin_high_bytes, 0);
    assert_int_equal(fit_of(&scene, reserved_bytes + 2999, &range).verdict, FIT_UNDECIDED);
    assert_int_equal(fit_of(&scene, reserved_bytes + 3000, &range).verdict, FIT_YES);
    trial_scene_close(&scene);
}

/* Between what a step allocates and what it reserves, the allocator gives cached segments back: the judge is the
 * bounded replay. */
static void cached_segments_are_given_back_first(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 4;
    trial_scene_open(&scene, "gpt2", &workload, "sm_90");
    int64_t reserved_bytes = trial_scene_reserved(&scene);
    int reclaimed_count = 0;
    for (int percent = 70; percent < 100; percent += 3) {
        int64_t memory_bytes = reserved_bytes / 100 * percent;
        struct fit fit = fit_of(&scene, memory_bytes, &none);
        bool runs = trial_scene_runs(&scene, FIELD_BATCH, workload.batch, "meta", memory_bytes);
        assert_int_equal(fit.verdict, runs ? FIT_YES : FIT_NO);
        assert_int_equal(fit.trial.unbounded.reserved_bytes_peak, reserved_bytes);
        if (runs) {
            assert_true(fit.margin_low_bytes >= 0);
            assert_int_equal(fit.margin_low_bytes, memory_bytes - fit.trial.bounded.reserved_bytes_peak);
            reclaimed_count++;
        }
    }
    assert_true(reclaimed_count > 0);
    trial_scene_close(&scene);
}

/* States in managed memory have the host to go to: they decide nothing, and are told of. */
static void paged_states_keep_no_case_from_fitting(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.optimizer = OPTIMIZER_PAGED_ADAMW_32BIT;
    workload.batch = 2;
    trial_scene_open(&scene, "gpt2", &workload, "sm_90");
    int64_t reserved_bytes = trial_scene_reserved(&scene);
    struct fit fit = fit_of(&scene, reserved_bytes, &none);
    assert_int_equal(fit.verdict, FIT_YES);
    assert_int_equal(fit.margin_low_bytes, 0);
    assert_int_equal(fit.trial.unbounded.managed.bytes, 994547712);
    assert_int_equal(fit.trial.bounded.managed.bytes, 994547712);
    assert_int_equal(fit_of(&scene, fit.trial.unbounded.requested_bytes_peak - 1, &none).verdict, FIT_NO);
    trial_scene_close(&scene);
}

/* Of a growing cache an allocator without a bound keeps every size that it has given out: several times what tensors
 * take. No figure of an answer may come of that. */
static void what_is_hoarded_without_a_bound_is_no_shortage(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.batch = 64;
    workload.new_tokens = 4000;
    trial_scene_open(&scene, "HuggingFaceTB/SmolLM2-135M", &workload, "sm_90");
    struct fit fit = fit_of(&scene, INT64_C(1) << 50, &none);
    int64_t tensors_bytes = fit.trial.unbounded.requested_bytes_peak;
    assert_true(fit.trial.unbounded.reserved_bytes_peak > 3 * tensors_bytes);
    assert_false(fit_gives_back(&fit));

    int64_t memory_bytes = tensors_bytes - 10000000;
    struct overhead range = {.kind = OVERHEAD_PUBLISHED, .low_bytes = 1000, .high_bytes = 3000};
    fit = fit_of(&scene, memory_bytes, &range);
    assert_int_equal(fit.verdict, FIT_NO);
    int64_t refused_bytes = fit.trial.held_bytes + fit.trial.segment_bytes;
    int64_t needed_bytes = refused_bytes > tensors_bytes ? refused_bytes : tensors_bytes;
    assert_int_equal(fit.margin_high_bytes, memory_bytes - 1000 - needed_bytes);
    assert_int_equal(fit.margin_low_bytes, memory_bytes - 3000 - needed_bytes);
    assert_true(fit.margin_low_bytes > -tensors_bytes / 4);
    assert_int_equal(fit.missing_is_least, needed_bytes == tensors_bytes);
    assert_false(fit.missing_is_exact);

    memory_bytes = tensors_bytes / 8 * 9;
    fit = fit_of(&scene, memory_bytes, &none);
    assert_int_equal(fit.verdict, FIT_YES);
    assert_true(fit_gives_back(&fit));
    assert_int_equal(fit.left_low_bytes, memory_bytes - fit.trial.bounded.allocated_bytes_peak);
    assert_true(fit.left_low_bytes > fit.margin_low_bytes && fit.left_low_bytes > tensors_bytes / 10);

    /* Too little with the most overhead, enough with the least: each margin is of its own trial. */
    range.high_bytes = memory_bytes / 4;
    fit = fit_of(&scene, memory_bytes, &range);
    assert_int_equal(fit.verdict, FIT_UNDECIDED);
    assert_true(fit.margin_low_bytes < 0 && fit.margin_low_bytes > -tensors_bytes / 4);
    assert_int_equal(fit.margin_high_bytes, memory_bytes - 1000 - fit.least.bounded.reserved_bytes_peak);
    assert_true(fit.margin_high_bytes >= 0 && fit.left_high_bytes > tensors_bytes / 10);
    trial_scene_close(&scene);
}

static struct fit doubted(const struct trial_scene *scene, int64_t memory_bytes, struct doubt doubt)
{
    struct fit fit;
    struct status error = {0};
    struct fit_device device = {.memory_bytes = memory_bytes, .overhead = none, .doubt = doubt};
    if (fit_find(&scene->input, &device, &fit, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return fit;
}

/* A yes allows for more than is predicted, a no for less, and neither goes below the tensors themselves. */
static void doubt_makes_it_depend(void **state)
{
    (void)state;
    static const struct doubt tenth = {.less_permille = 100, .more_permille = 100};
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_LOAD);
    trial_scene_open(&scene, "bert-base-cased", &workload, "sm_90");
    int64_t reserved_bytes = trial_scene_reserved(&scene), tenth_bytes = reserved_bytes / 1000 * 100;
    struct fit fit = doubted(&scene, reserved_bytes + tenth_bytes + 1000, tenth);
    assert_int_equal(fit.verdict, FIT_YES);
    assert_true(fit.margin_low_bytes >= 0 && fit.margin_low_bytes <= 2000);
    fit = doubted(&scene, reserved_bytes + tenth_bytes - 1000, tenth);
    assert_int_equal(fit.verdict, FIT_UNDECIDED);
    assert_true(fit.margin_low_bytes < 0 && fit.margin_high_bytes > 0);
    assert_int_equal(doubted(&scene, reserved_bytes, tenth).verdict, FIT_UNDECIDED);
    int64_t tensors_bytes = doubted(&scene, reserved_bytes, tenth).trial.unbounded.requested_bytes_peak;
    int64_t least_bytes = reserved_bytes - tenth_bytes;
    assert_true(tensors_bytes < least_bytes);
    assert_int_equal(doubted(&scene, least_bytes + 1000, tenth).verdict, FIT_UNDECIDED);
    fit = doubted(&scene, least_bytes - 1000, tenth);
    assert_int_equal(fit.verdict, FIT_NO);
    assert_true(fit.margin_high_bytes < 0 && fit.margin_high_bytes >= -2000);
    static const struct doubt half = {.less_permille = 500, .more_permille = 0};
    assert_int_equal(doubted(&scene, tensors_bytes, half).verdict, FIT_UNDECIDED);
    fit = doubted(&scene, tensors_bytes - 1, half);
    assert_int_equal(fit.verdict, FIT_NO);
    assert_true(fit.margin_high_bytes < 0);
    assert_int_equal(doubted(&scene, reserved_bytes, half).verdict, FIT_YES);
    trial_scene_close(&scene);
}

/* Constants: context 700 and growth 42 are 742; a mode that nobody calibrated has the published range. */
static void overhead_comes_from_constants_where_they_know_the_mode(void **state)
{
    (void)state;
    static const struct constants_spread context = {.known = true, .median = 700},
                                         growth = {.known = true, .median = 42};
    struct constants constants = {
        .context.device = context, .growth_count = 1, .growth = {{.mode = "infer", .levels.device = growth}}};
    const struct context_program infers = {.use = CONTEXT_INFERENCE}, trains = {.use = CONTEXT_TRAINING};
    struct overhead overhead = overhead_of_device(&constants, NULL, target_at(0), MODE_INFER, &infers);
    assert_int_equal(overhead.kind, OVERHEAD_MEASURED);
    assert_int_equal(overhead.low_bytes, 742);
    assert_int_equal(overhead.high_bytes, 742);
    /* Of a GPU's whole memory the driver keeps some too: of an H100 480 MiB were measured. */
    const struct gpu *gpu = NULL;
    assert_int_equal(gpu_find("H100", &gpu, NULL), STATUS_OK);
    overhead = overhead_of_device(&constants, gpu, target_at(0), MODE_INFER, &infers);
    assert_int_equal(overhead.kind, OVERHEAD_MEASURED);
    assert_true(overhead.low_bytes <= 742 + (INT64_C(480) << 20) && overhead.high_bytes >= 742 + (INT64_C(480) << 20));
    overhead = overhead_of_device(&constants, NULL, target_at(0), MODE_TRAIN, &trains);
    assert_int_equal(overhead.kind, OVERHEAD_PUBLISHED);
    struct context_ranges parts = context_ranges_find(NULL, target_at(0), &trains);
    assert_int_equal(overhead.low_bytes, parts.driver.low_bytes + parts.context.low_bytes + parts.libraries.low_bytes);
    assert_int_equal(overhead.high_bytes,
                     parts.driver.high_bytes + parts.context.high_bytes + parts.libraries.high_bytes);
    overhead = overhead_of_device(NULL, NULL, target_at(0), MODE_INFER, &infers);
    assert_int_equal(overhead.kind, OVERHEAD_PUBLISHED);
    assert_int_equal(overhead_rest(100, 40), 60);
    assert_int_equal(overhead_rest(40, 40), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_boundary_is_exact),
        cmocka_unit_test(overhead_is_taken_off),
        cmocka_unit_test(cached_segments_are_given_back_first),
        cmocka_unit_test(paged_states_keep_no_case_from_fitting),
        cmocka_unit_test(what_is_hoarded_without_a_bound_is_no_shortage),
        cmocka_unit_test(doubt_makes_it_depend),
        cmocka_unit_test(overhead_comes_from_constants_where_they_know_the_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
