/* Counts of devices: the least that the formula gives, with the parts that PyTorch's own sharding has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/question/device_count.h"
#include "harness/question/trial.h"
#include "tests/question/trial_scene.h"

static struct replay_result single_of(const struct trial_scene *scene)
{
    struct trial trial;
    assert_int_equal(trial_run(&scene->input, INT64_MAX, &trial, NULL), STATUS_OK);
    return trial.unbounded;
}

static struct device_count count_of(const struct trial_scene *scene, const struct replay_result *single,
                                    int64_t memory_bytes)
{
    struct device_count count;
    struct status error = {0};
    if (device_count_find(&scene->input, single, memory_bytes, &count, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_true(!count.has_rule ||
                count.bytes == count.undivided_bytes + count.states_bytes + count.gathered_bytes + count.slack_bytes);
    return count;
}

/* gpt2 in float32 with AdamW fused: on 8 ranks the first has 15,555,648 elements (harness/estimate/shares.c), four
 * bytes each of weights and gradients, eight of moments, and 148 step counts. */
static void a_rank_holds_what_shares_says(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    trial_scene_open(&scene, "gpt2", &workload, "sm_90");
    struct replay_result single = single_of(&scene);
    struct device_count count = count_of(&scene, &single, 1);
    assert_true(count.has_rule && !count.found);
    assert_int_equal(count.count, DEVICE_COUNT_MAXIMUM);
    int64_t rest_bytes = count.undivided_bytes + count.slack_bytes + count.gathered_bytes;
    int64_t eight_bytes = INT64_C(15555648) * 16 + 4 * 148 + scene.skeleton.buffer_bytes;
    count = count_of(&scene, &single, rest_bytes + eight_bytes);
    assert_int_equal(count.count, 8);
    assert_int_equal(count.states_bytes, eight_bytes);
    count = count_of(&scene, &single, rest_bytes + eight_bytes - 1);
    assert_int_equal(count.count, 9);
    assert_in_range(count.slack_bytes, 0, single.reserved_bytes_peak - single.requested_bytes_peak);
    trial_scene_close(&scene);
}

/* Fewer devices need more each, so the count found is the least: with one less the memory would not do. */
static void the_count_is_the_least(void **state)
{
    (void)state;
    static const enum mode modes[] = {MODE_TRAIN, MODE_INFER};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct trial_scene scene;
        struct workload workload = workload_default(modes[i]);
        workload.precision = PRECISION_BFLOAT16;
        trial_scene_open(&scene, "meta-llama/Llama-3.2-1B", &workload, "sm_90");
        struct replay_result single = single_of(&scene);
        int64_t below_bytes = INT64_MAX;
        for (int percent = 90; percent > 50; percent -= 8) {
            int64_t memory_bytes = single.reserved_bytes_peak / 100 * percent;
            struct device_count count = count_of(&scene, &single, memory_bytes);
            if (!count.found) {
                continue;
            }
            assert_true(count.count >= 2 && count.bytes <= memory_bytes && count.bytes <= below_bytes);
            struct device_count fewer = count_of(&scene, &single, count.bytes - 1);
            assert_true(!fewer.found || fewer.count > count.count);
            below_bytes = count.bytes;
        }
        assert_true(below_bytes < INT64_MAX);
        trial_scene_close(&scene);
    }
}

/* What an allocator without a bound hoards for a growing cache, several times the tensors, is no need of a device: the
 * slack is that of a device that is hardly larger than the tensors, and on it the case runs. */
static void slack_is_what_cannot_be_given_back(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct trial trial;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.batch = 64;
    workload.new_tokens = 4000;
    trial_scene_open(&scene, "HuggingFaceTB/SmolLM2-135M", &workload, "sm_90");
    struct replay_result single = single_of(&scene);
    int64_t tensors_bytes = single.requested_bytes_peak;
    assert_true(single.reserved_bytes_peak > 3 * tensors_bytes);
    struct device_count count = count_of(&scene, &single, tensors_bytes / 8 * 9);
    assert_true(count.has_rule && count.found);
    assert_in_range(count.slack_bytes, 1, tensors_bytes / 4);
    assert_int_equal(trial_run_bounded(&scene.input, tensors_bytes + tensors_bytes / 4, &trial, NULL), STATUS_OK);
    assert_true(trial.fits);
    trial_scene_close(&scene);
}

/* What is not divided is the most that it takes at one moment, at least what it takes when the whole is highest. */
static void what_is_not_divided_is_bounded_by_the_replay(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 4;
    trial_scene_open(&scene, "bert-base-cased", &workload, "sm_90");
    struct replay_result single = single_of(&scene);
    struct device_count count = count_of(&scene, &single, 1);
    int64_t undivided_bytes = 0;
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        bool divided =
            i == CATEGORY_WEIGHTS || i == CATEGORY_BUFFERS || i == CATEGORY_GRADIENTS || i == CATEGORY_OPTIMIZER;
        undivided_bytes += divided ? 0 : single.categories_at_peak[i];
    }
    assert_true(count.undivided_bytes >= undivided_bytes && undivided_bytes > 0);
    assert_true(count.undivided_bytes < single.requested_bytes_peak);
    trial_scene_close(&scene);
}

static struct device_count most_devices(const struct trial_scene *scene)
{
    struct replay_result single = single_of(scene);
    struct device_count count = count_of(scene, &single, 1);
    assert_true(count.has_rule && !count.found);
    return count;
}

/* AdamW (foreach) makes the roots of all second moments at once, as large as the parameters: of gpt2 in float32
 * 4 * 124,439,808 bytes. FSDP2 leaves a device the roots of its own rows (torch.optim on DTensors), so with a 1024th of
 * them what is not divided is highest in the backward pass, as with AdamW (fused), which makes none. */
static void a_device_makes_temporaries_of_its_own_rows_in_the_step(void **state)
{
    (void)state;
    struct trial_scene foreach_scene, fused_scene;
    struct workload workload = workload_default(MODE_TRAIN);
    const int64_t roots_bytes = INT64_C(4) * 124439808;
    workload.optimizer = OPTIMIZER_ADAMW_FOREACH;
    trial_scene_open(&foreach_scene, "gpt2", &workload, "sm_90");
    workload.optimizer = OPTIMIZER_ADAMW_FUSED;
    trial_scene_open(&fused_scene, "gpt2", &workload, "sm_90");
    struct device_count count = most_devices(&foreach_scene);
    assert_int_equal(count.undivided_bytes, most_devices(&fused_scene).undivided_bytes);
    assert_true(count.undivided_bytes < roots_bytes);

    struct replay_result single = single_of(&foreach_scene);
    count = count_of(&foreach_scene, &single, INT64_MAX);
    assert_int_equal(count.count, 2);
    assert_in_range(count.undivided_bytes, roots_bytes / 2, roots_bytes);
    trial_scene_close(&foreach_scene);
    trial_scene_close(&fused_scene);
}

static void a_case_without_a_rule_has_no_count(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_INFER);
    workload.precision = PRECISION_INT4;
    trial_scene_open(&scene, "tiny-llama", &workload, "sm_90");
    struct replay_result single = single_of(&scene);
    assert_false(count_of(&scene, &single, 1 << 20).has_rule);
    trial_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_holds_what_shares_says),
        cmocka_unit_test(the_count_is_the_least),
        cmocka_unit_test(slack_is_what_cannot_be_given_back),
        cmocka_unit_test(what_is_not_divided_is_bounded_by_the_replay),
        cmocka_unit_test(a_device_makes_temporaries_of_its_own_rows_in_the_step),
        cmocka_unit_test(a_case_without_a_rule_has_no_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
