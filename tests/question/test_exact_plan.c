/* Exact plans: enough, tight and monotone; never behind accelerate's map where that runs at all; and held against every
 * map there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/question/exact_plan.h"
#include "tests/question/placed_scene.h"

#define MIB ((int64_t)1 << 20)

static const char *const llama_pieces[] = {"model.embed_tokens", "model.layers.*2", "model.norm",
                                           "model.rotary_emb",   "lm_head",         NULL};
static const char *const gpt2_tiny_pieces[] = {"transformer.wte|lm_head", "transformer.wpe",  "transformer.drop",
                                               "transformer.h.*2",        "transformer.ln_f", NULL};
static const char *const gpt2_pieces[] = {"transformer.wte|lm_head", "transformer.wpe",  "transformer.drop",
                                          "transformer.h.*12",       "transformer.ln_f", NULL};
static const char *const llama_1b_pieces[] = {"model.embed_tokens|lm_head", "model.layers.*16", "model.norm",
                                              "model.rotary_emb", NULL};

static enum status_code plan_try(const struct placed_scene *scene, struct exact_plan *plan, struct status *error)
{
    const struct exact_request request = {scene->question, &scene->request};
    return exact_plan_make(&request, plan, error);
}

static struct exact_plan plan_of(const struct placed_scene *scene)
{
    struct exact_plan plan;
    struct status error = {0};
    if (plan_try(scene, &plan, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return plan;
}

/* -- held against every map */

struct best {
    int gpu, host; /* pieces on GPUs, and before the disk; -1: no map runs */
};

static struct best best_find(const struct placed_scene *scene, const struct piece_list *list, int gpus, bool has_host)
{
    struct best best = {-1, -1};
    for (int second = 0; second <= list->count; second++) {
        for (int first = gpus == 1 ? second : 0; first <= second; first++) {
            for (int host = has_host ? list->count : second; host >= second; host--) {
                bool is_better = second > best.gpu || (second == best.gpu && host > best.host);
                if (is_better && pieces_run(scene, list, (int[]){first, second, host})) {
                    best = (struct best){second, host};
                }
            }
        }
    }
    return best;
}

static void held_against_every_map(const char *model, const char *const *texts, const int64_t (*budgets)[3], int count)
{
    struct piece_list list;
    struct placed_scene scene;
    pieces_read(&list, texts);
    placed_scene_open(&scene, model, "float32");
    for (int i = 0; i < count; i++) {
        struct exact_plan plan;
        placed_scene_budgets(&scene, budgets[i][0], budgets[i][1], budgets[i][2]);
        struct best best = best_find(&scene, &list, budgets[i][1] > 0 ? 2 : 1, budgets[i][2] != BUDGET_NONE);
        enum status_code code = plan_try(&scene, &plan, NULL);
        if (best.gpu < 0) {
            assert_int_equal(code, STATUS_INVALID);
            continue;
        }
        assert_int_equal(code, STATUS_OK);
        assert_int_equal(plan.unit_count, list.count);
        if (plan.gpu_unit_count != best.gpu || plan.gpu_unit_count + plan.host_unit_count != best.host) {
            fail_msg("%s, budgets %d: %d on GPUs and %d before the disk, where %d and %d can be", model, i,
                     plan.gpu_unit_count, plan.gpu_unit_count + plan.host_unit_count, best.gpu, best.host);
        }
        exact_plan_release(&plan);
    }
    placed_scene_close(&scene);
}

/* A tiny model needs the small pool's segments and 32 MiB of a workspace on each GPU that multiplies. */
static void no_map_of_a_tiny_model_offloads_less(void **state)
{
    static const int64_t budgets[][3] = {
        {MIB, 0, 8 * MIB},
        {2 * MIB, 0, 8 * MIB},
        {34 * MIB, 0, 8 * MIB},
        {36 * MIB, 0, 8 * MIB},
        {38 * MIB, 0, 100000},
        {80 * MIB, 0, BUDGET_NONE},
        {2 * MIB, 36 * MIB, MIB},
        {2 * MIB, 80 * MIB, 8 * MIB},
        {36 * MIB, 36 * MIB, 8 * MIB},
        {36 * MIB, 34 * MIB, 5000},
        {34 * MIB, 2 * MIB, 60000},
        {0, 36 * MIB, 100000},
        {MIB, 0, 3000},
    };
    (void)state;
    held_against_every_map("tiny-llama", llama_pieces, budgets, sizeof budgets / sizeof budgets[0]);
    held_against_every_map("tiny-gpt2", gpt2_tiny_pieces, budgets, sizeof budgets / sizeof budgets[0]);
}

/* -- tight, at middle sizes */

/* Not one piece more, wherever the cut between the GPUs lies. */
static void one_more_does_not_run(const struct placed_scene *scene, const struct piece_list *list, int gpu_count,
                                  const struct exact_plan *plan)
{
    int more = plan->gpu_unit_count + 1;
    for (int first = gpu_count == 1 ? more : 0; first <= more && more <= list->count; first++) {
        assert_false(pieces_run(scene, list, (int[]){first, more, list->count}));
    }
}

static void one_more_block_does_not_fit(void **state)
{
    struct piece_list list;
    struct placed_scene scene;
    (void)state;
    pieces_read(&list, gpt2_pieces);
    placed_scene_open(&scene, "gpt2", "float32");
    for (int64_t gpu = 250; gpu <= 370; gpu += 40) {
        placed_scene_budgets(&scene, gpu * MIB, (gpu - 210) * MIB, 1000 * MIB);
        struct exact_plan plan = plan_of(&scene);
        assert_in_range(plan.gpu_unit_count, 1, list.count - 1);
        one_more_does_not_run(&scene, &list, 2, &plan);
        exact_plan_release(&plan);
    }
    placed_scene_close(&scene);
    pieces_read(&list, llama_1b_pieces);
    placed_scene_open(&scene, "meta-llama/Llama-3.2-1B", "bfloat16");
    placed_scene_budgets(&scene, 1500 * MIB, 0, 3000 * MIB);
    struct exact_plan plan = plan_of(&scene);
    assert_in_range(plan.gpu_unit_count, 2, list.count - 1);
    one_more_does_not_run(&scene, &list, 1, &plan);
    exact_plan_release(&plan);
    placed_scene_close(&scene);
}

/* -- monotone */

static void more_budget_never_puts_more_on_slower_places(void **state)
{
    struct placed_scene scene;
    int gpu_units = 0, near_units = 0;
    (void)state;
    placed_scene_open(&scene, "gpt2", "float32");
    for (int64_t gpu = 100; gpu <= 640; gpu += 9) {
        placed_scene_budgets(&scene, gpu * MIB, 0, 480 * MIB);
        struct exact_plan plan = plan_of(&scene);
        assert_true(plan.gpu_unit_count >= gpu_units);
        gpu_units = plan.gpu_unit_count;
        exact_plan_release(&plan);
    }
    assert_int_equal(gpu_units, 16); /* all of it */
    for (int64_t cpu = 0; cpu <= 420; cpu += 23) {
        placed_scene_budgets(&scene, 270 * MIB, 0, cpu * MIB);
        struct exact_plan plan;
        if (plan_try(&scene, &plan, NULL) != STATUS_OK) {
            assert_int_equal(near_units, 0); /* too little to pass a tensor of the disk through */
            continue;
        }
        assert_true(plan.gpu_unit_count + plan.host_unit_count >= near_units);
        near_units = plan.gpu_unit_count + plan.host_unit_count;
        exact_plan_release(&plan);
    }
    assert_int_equal(near_units, 16);
    placed_scene_close(&scene);
}

/* -- beside accelerate */

static struct placed_outcome outcome_of(const struct placed_scene *scene, const struct device_map *map,
                                        int64_t *gpu_bytes)
{
    struct placed_tape placed;
    struct placed_outcome outcome;
    struct status error = {0};
    if (placed_tape_build(&scene->question, map, &placed, &error) != STATUS_OK ||
        placed_tape_predict(&placed, &outcome, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    *gpu_bytes = 0;
    for (int i = 0; i < placed.place_count; i++) {
        *gpu_bytes += placed.devices[i].kind == PLACEMENT_GPU ? placed.placed_bytes[i] : 0;
    }
    placed_tape_release(&placed);
    return outcome;
}

/* Over a ladder of budgets: ours always runs, and has as much on GPUs as accelerate's wherever that runs; sometimes
 * that runs out of memory, sometimes it leaves room unused. */
static void beside_accelerate(const char *model, const char *precision, int64_t first_mib, int64_t step_mib)
{
    struct placed_scene scene;
    int refused = 0, behind = 0;
    placed_scene_open(&scene, model, precision);
    for (int i = 0; i < 16; i++) {
        struct device_plan theirs;
        int64_t their_bytes = 0, our_bytes = 0;
        placed_scene_budgets(&scene, (first_mib + i * step_mib) * MIB, (first_mib + i * step_mib / 3) * MIB,
                             9000 * MIB);
        struct exact_plan ours = plan_of(&scene);
        assert_int_equal(device_plan_make(&scene.skeleton, &scene.request, &theirs, NULL), STATUS_OK);
        bool they_run = outcome_of(&scene, &theirs.map, &their_bytes).fits;
        assert_true(outcome_of(&scene, &ours.map, &our_bytes).fits);
        assert_true(!they_run || our_bytes >= their_bytes);
        refused += !they_run;
        behind += they_run && our_bytes > their_bytes;
        device_plan_release(&theirs);
        exact_plan_release(&ours);
    }
    placed_scene_close(&scene);
    print_message("%s: accelerate's map ran out of memory in %d of 16, and had less on GPUs in %d\n", model, refused,
                  behind);
    assert_true(refused + behind > 0);
}

static void ours_is_never_behind_a_map_that_runs(void **state)
{
    (void)state;
    beside_accelerate("gpt2", "float32", 230, 20);
    beside_accelerate("meta-llama/Llama-3.2-1B", "bfloat16", 1000, 90);
}

/* gpt2 with 250,000,000 bytes: accelerate puts two blocks on GPU 0 and keeps 27 MiB free for a third; the first product
 * wants a workspace of 32 MiB, and there are 8.4 MiB. */
static void accelerates_map_can_run_out_of_memory(void **state)
{
    struct placed_scene scene;
    struct device_plan theirs;
    int64_t bytes = 0;
    (void)state;
    placed_scene_open(&scene, "gpt2", "float32");
    placed_scene_budgets(&scene, 250000000, 0, 1000000000);
    assert_int_equal(device_plan_make(&scene.skeleton, &scene.request, &theirs, NULL), STATUS_OK);
    struct placed_outcome outcome = outcome_of(&scene, &theirs.map, &bytes);
    assert_false(outcome.fits);
    assert_int_equal(outcome.result.oom_lane, 0);
    assert_int_equal(outcome.result.lanes[0].oom_stage, STAGE_FORWARD);
    assert_int_equal(outcome.result.lanes[0].oom_wanted_bytes, 32 * MIB);
    assert_non_null(strstr(outcome.reason, "beyond the budget of 0, 238.42 MiB (250000000 bytes)"));
    device_plan_release(&theirs);
    placed_scene_close(&scene);
}

/* -- what cannot be */

static void budgets_that_hold_nothing_are_refused_with_the_cause(void **state)
{
    struct placed_scene scene;
    struct exact_plan plan;
    struct status error = {0};
    (void)state;
    placed_scene_open(&scene, "gpt2", "float32");
    placed_scene_budgets(&scene, 10 * MIB, 0, 20 * MIB);
    assert_int_equal(plan_try(&scene, &plan, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "transformer.wte.weight wants 147.24 MiB"));
    assert_non_null(strstr(error.text, "raise a budget"));
    placed_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_map_of_a_tiny_model_offloads_less),
        cmocka_unit_test(one_more_block_does_not_fit),
        cmocka_unit_test(more_budget_never_puts_more_on_slower_places),
        cmocka_unit_test(ours_is_never_behind_a_map_that_runs),
        cmocka_unit_test(accelerates_map_can_run_out_of_memory),
        cmocka_unit_test(budgets_that_hold_nothing_are_refused_with_the_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
