/* Placed trials: what a replay predicts is what real memory holds, device by device and stage by stage; the least
 * budget of a device is its least; and who runs out of memory is told with device, stage and tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/question/exact_plan.h"
#include "harness/question/placed_lanes.h"
#include "tests/question/placed_scene.h"

#define MIB ((int64_t)1 << 20)

enum { GRANULE = ALLOCATOR_SMALL_SEGMENT_BYTES };

static struct placed_tape tape_of(const struct placed_scene *scene, const struct device_map *map)
{
    struct placed_tape placed;
    struct status error = {0};
    if (placed_tape_build(&scene->question, map, &placed, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return placed;
}

/* On the host's memory, which stands for the GPUs. */
static struct placed_outcome run_of(const struct placed_tape *placed)
{
    struct placed_outcome outcome = {0};
    struct placed_lanes lanes;
    struct status error = {0};
    if (placed_lanes_open(placed, PLACED_ON_HOST, &lanes, &error) != STATUS_OK ||
        placed_tape_run(placed, lanes.lanes, &outcome, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    placed_lanes_close(&lanes);
    return outcome;
}

static struct placed_outcome prediction_of(const struct placed_tape *placed)
{
    struct placed_outcome outcome;
    struct status error = {0};
    if (placed_tape_predict(placed, &outcome, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return outcome;
}

static void assert_same(const struct placed_tape *placed, const struct placed_outcome *a,
                        const struct placed_outcome *b)
{
    assert_int_equal(a->fits, b->fits);
    assert_int_equal(a->result.oom_lane, b->result.oom_lane);
    assert_memory_equal(a->result.copied_bytes, b->result.copied_bytes, sizeof a->result.copied_bytes);
    for (int i = 0; i < placed->place_count; i++) {
        assert_int_equal(a->result.lanes[i].sequence_hash, b->result.lanes[i].sequence_hash);
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
            const struct replay_stage *x = &a->result.lanes[i].stages[stage], *y = &b->result.lanes[i].stages[stage];
            assert_int_equal(x->present, y->present);
            assert_int_equal(x->requested_bytes_peak, y->requested_bytes_peak);
            assert_int_equal(x->allocated_bytes_peak, y->allocated_bytes_peak);
            assert_int_equal(x->reserved_bytes_peak, y->reserved_bytes_peak);
        }
    }
}

/* -- the least budgets */

/* Two blocks on GPUs, the last on the cpu or the disk. */
static const struct device_map_entry llama_entries[] = {
    {"model.embed_tokens", {PLACEMENT_GPU, 0}}, {"model.layers.0", {PLACEMENT_GPU, 1}},
    {"model.layers.1", {PLACEMENT_CPU, 0}},     {"model.norm", {PLACEMENT_GPU, 0}},
    {"model.rotary_emb", {PLACEMENT_GPU, 0}},   {"lm_head", {PLACEMENT_DISK, 0}},
};

static struct device_map llama_map(void)
{
    return (struct device_map){.entries = (struct device_map_entry *)llama_entries,
                               .count = sizeof llama_entries / sizeof llama_entries[0]};
}

/* With what every device needs it runs, on meta and in memory; with a granule, or a byte of the host, less on one of
 * them it does not, and that one is named. */
static void the_least_budgets_are_the_least(void **state)
{
    struct placed_scene scene;
    int64_t need[4] = {0};
    struct device_map map = llama_map();
    (void)state;
    placed_scene_open(&scene, "tiny-llama", "float32");
    placed_scene_budgets(&scene, 1000 * MIB, 1000 * MIB, 1000 * MIB);
    struct placed_tape placed = tape_of(&scene, &map);
    assert_int_equal(placed.place_count, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(placed_need_find(&placed, i, &need[i], NULL), STATUS_OK);
        assert_true(need[i] > placed.placed_bytes[i]);
        placed.budget_bytes[i] = need[i];
    }
    struct placed_outcome predicted = prediction_of(&placed), measured = run_of(&placed);
    assert_true(predicted.fits);
    assert_same(&placed, &predicted, &measured);
    for (int i = 0; i < 3; i++) {
        placed.budget_bytes[i] = need[i] - (i < 2 ? GRANULE : 1);
        predicted = prediction_of(&placed);
        measured = run_of(&placed);
        assert_false(measured.fits);
        assert_int_equal(measured.result.oom_lane, i);
        assert_string_equal(measured.reason, predicted.reason);
        assert_same(&placed, &predicted, &measured);
        placed.budget_bytes[i] = need[i];
    }
    placed_tape_release(&placed);
    placed_scene_close(&scene);
}

/* Out of memory while a layer is brought that lies on the cpu: the device where it would run, its stage and the
 * tensor. */
static void who_runs_out_of_memory_is_told(void **state)
{
    struct placed_scene scene;
    struct device_map map = llama_map();
    (void)state;
    placed_scene_open(&scene, "tiny-llama", "float32");
    placed_scene_budgets(&scene, 1000 * MIB, 0, 1000 * MIB);
    struct placed_tape placed = tape_of(&scene, &map);
    placed.budget_bytes[placed_tape_place(&placed, (struct placement_device){PLACEMENT_GPU, 1})] = 100000;
    struct placed_outcome measured = run_of(&placed);
    assert_false(measured.fits);
    assert_int_equal(measured.result.oom_lane, 1);
    assert_int_equal(measured.result.lanes[1].oom_stage, STAGE_LOAD);
    assert_non_null(strstr(measured.result.lanes[1].oom_label, "model.layers.0."));
    assert_non_null(strstr(measured.reason, "stage load: model.layers.0."));
    assert_non_null(strstr(measured.reason, "a segment of 2.00 MiB is beyond the budget of 1"));
    placed_tape_release(&placed);
    placed_scene_close(&scene);
}

/* -- an exact plan, executed */

static void an_exact_plan_runs_within_its_budgets_and_not_with_a_granule_less(void **state)
{
    static const struct {
        const char *model;
        int64_t gpu0, gpu1, cpu;
    } cases[] = {
        {"tiny-llama", 36 * MIB, 0, 60000},
        {"tiny-gpt2", 36 * MIB, 36 * MIB, 20000},
        {"tiny-bert", 38 * MIB, 36 * MIB, 50000},
        {"gpt2", 290 * MIB, 160 * MIB, 120 * MIB},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct placed_scene scene;
        struct exact_plan plan;
        struct status error = {0};
        int64_t need = 0;
        placed_scene_open(&scene, cases[i].model, "float32");
        placed_scene_budgets(&scene, cases[i].gpu0, cases[i].gpu1, cases[i].cpu);
        const struct exact_request request = {scene.question, &scene.request};
        if (exact_plan_make(&request, &plan, &error) != STATUS_OK) {
            fail_msg("%s: %s", cases[i].model, error.text);
        }
        struct placed_tape placed = tape_of(&scene, &plan.map);
        struct placed_outcome predicted = prediction_of(&placed), measured = run_of(&placed);
        assert_true(measured.fits);
        assert_same(&placed, &predicted, &measured);
        assert_int_equal(placed_need_find(&placed, 0, &need, NULL), STATUS_OK);
        assert_true(need <= cases[i].gpu0);
        placed.budget_bytes[0] = need - GRANULE;
        measured = run_of(&placed);
        assert_int_equal(measured.result.oom_lane, 0);
        placed_tape_release(&placed);
        exact_plan_release(&plan);
        placed_scene_close(&scene);
    }
}

/* -- maps that cannot run */

static void a_map_that_cannot_run_says_why(void **state)
{
    struct device_map_entry entries[] = {{"transformer", {PLACEMENT_GPU, 0}}, {"lm_head", {PLACEMENT_GPU, 0}}};
    struct device_map map = {entries, 1};
    struct placed_scene scene;
    struct placed_tape placed;
    struct status error = {0};
    (void)state;
    placed_scene_open(&scene, "tiny-gpt2", "float32");
    placed_scene_budgets(&scene, 1000 * MIB, 0, 1000 * MIB);
    assert_int_equal(placed_tape_build(&scene.question, &map, &placed, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "lm_head.weight"));
    map.count = 2;
    entries[0].device = (struct placement_device){.kind = PLACEMENT_MPS};
    assert_int_equal(placed_tape_build(&scene.question, &map, &placed, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "mps"));
    entries[0].device = (struct placement_device){PLACEMENT_GPU, 1};
    assert_int_equal(placed_tape_build(&scene.question, &map, &placed, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "are one tensor and lie on two devices"));
    placed_scene_close(&scene);
}

/* The whole model on the cpu runs there, without the workspaces of a GPU's libraries. */
static void a_model_on_the_cpu_has_no_workspace(void **state)
{
    struct device_map_entry entry = {"", {PLACEMENT_CPU, 0}};
    struct device_map map = {&entry, 1};
    struct placed_scene scene;
    (void)state;
    placed_scene_open(&scene, "tiny-gpt2", "float32");
    placed_scene_budgets(&scene, 1000 * MIB, 0, MIB);
    struct placed_tape placed = tape_of(&scene, &map);
    struct placed_outcome predicted = prediction_of(&placed), measured = run_of(&placed);
    assert_true(measured.fits);
    assert_same(&placed, &predicted, &measured);
    placed_tape_release(&placed);
    placed_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_budgets_are_the_least),
        cmocka_unit_test(who_runs_out_of_memory_is_told),
        cmocka_unit_test(an_exact_plan_runs_within_its_budgets_and_not_with_a_granule_less),
        cmocka_unit_test(a_map_that_cannot_run_says_why),
        cmocka_unit_test(a_model_on_the_cpu_has_no_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
