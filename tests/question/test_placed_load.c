/* A checkpoint that is loaded and run where it lies: the numbers of its pass are those of the same checkpoint on one
 * device, to the bit; every device holds what was predicted, and a GPU no more than what was placed, what is brought to
 * it, and activations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/load/checkpoint_make.h"
#include "harness/load/element_cast.h"
#include "harness/question/placed_load.h"
#include "models/find/catalogue.h"
#include "models/find/config_file.h"
#include "models/workload/workload_tape.h"
#include "tests/models/placed_maps.h"
#include "tests/models/remembering_device.h"
#include "tests/support/scratch_folder.h"

enum { ENTRIES = 12, SHARD_BYTES = 20000, WHOLE_BYTES = 1 << 30 };

/* A made checkpoint, the model of its config.json, and one map. */
struct load_scene {
    char folder[40];
    struct config config;
    struct skeleton bare, headed;
    struct workload workload;
    struct load_files files;
    struct checkpoint_names names;
    struct device_map_entry entries[ENTRIES];
    struct device_map map;
    struct placement_budget budgets[3];
    struct placed_question question;
    struct placed_tape placed;
    struct load_plan plan;
    struct placed_load load;
    struct placed_lanes lanes;
    struct last_output last;
    struct arena arena;
    bool offload_buffers;
    const char *target; /* NULL: host */
};

static void scene_open(struct load_scene *scene, const char *model, enum dtype precision, int64_t seed)
{
    char config_path[96], *chosen = NULL;
    struct checkpoint_draft draft;
    struct checkpoint_made made;
    struct status error = {0};
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-dispatch-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(config_path, sizeof config_path, "models/catalogue/%s/config.json", model);
    bool is_timm = strstr(model, "resnet") != NULL || strstr(model, "vgg") != NULL;
    const struct checkpoint_recipe recipe = {.config_path = config_path,
                                             .typed = model,
                                             .name = model,
                                             .head = HEAD_LM,
                                             .precision = precision,
                                             .maximum_bytes = is_timm ? WHOLE_BYTES : SHARD_BYTES,
                                             .seed = seed};
    if (checkpoint_draft_make(&recipe, &draft, &error) != STATUS_OK ||
        checkpoint_draft_write(&draft, scene->folder, false, NULL, &made, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    checkpoint_draft_release(&draft);
    snprintf(config_path, sizeof config_path, "%s/config.json", scene->folder);
    assert_int_equal(config_read(config_path, model, &scene->config, &error), STATUS_OK);
    scene->workload = workload_default(MODE_INFER);
    scene->workload.batch = 2;
    scene->workload.seq = 6;
    assert_int_equal(workload_set(&scene->workload, "precision", dtype_name(precision), &error), STATUS_OK);
    assert_int_equal(skeleton_build(&scene->config, HEAD_BARE, &scene->bare, &error), STATUS_OK);
    assert_int_equal(workload_skeleton(&scene->config, &scene->workload, &scene->headed, &error), STATUS_OK);
    assert_int_equal(load_file_choose(scene->folder, &chosen, &error), STATUS_OK);
    assert_int_equal(load_files_open(chosen, &scene->files, &error), STATUS_OK);
    free(chosen);
    scene->names = checkpoint_names_of(scene->files.checkpoint, &scene->bare, &scene->headed);
}

/* The tape and the plan of scene->map. run_precision: that of the pass. */
static enum status_code map_take(struct load_scene *scene, struct status *error)
{
    const struct target *target = NULL;
    assert_int_equal(target_find(scene->target != NULL ? scene->target : "host", &target, NULL), STATUS_OK);
    scene->question = (struct placed_question){.config = &scene->config,
                                               .skeleton = &scene->headed,
                                               .workload = &scene->workload,
                                               .target = target,
                                               .budgets = scene->budgets,
                                               .offload_buffers = scene->offload_buffers,
                                               .budget_count = scene->question.budget_count};
    enum status_code code = placed_tape_build(&scene->question, &scene->map, &scene->placed, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct load_request request = {.checkpoint = scene->files.checkpoint,
                                         .skeleton = &scene->headed,
                                         .names = &scene->names,
                                         .map = &scene->map,
                                         .offload_buffers = scene->offload_buffers,
                                         .has_folder = true};
    code = load_plan_make(&request, &scene->plan, error);
    scene->load = (struct placed_load){.placed = &scene->placed, .plan = &scene->plan, .files = &scene->files};
    return code == STATUS_OK ? placed_load_check(&scene->load, error) : code;
}

/* On devices that remember what they computed last. */
static enum status_code scene_run(struct load_scene *scene, const struct load_watch *watch,
                                  struct placed_load_outcome *outcome, struct status *error)
{
    struct remembering wrapped[PLACE_MAXIMUM];
    struct device *inner[PLACE_MAXIMUM] = {NULL};
    enum status_code code = placed_lanes_open(&scene->placed, PLACED_ON_HOST, &scene->lanes, error);
    for (int i = 0; i < scene->placed.place_count && code == STATUS_OK; i++) {
        if (scene->placed.devices[i].kind != PLACEMENT_DISK) {
            inner[i] = scene->lanes.lanes[i].device;
            remembering_wrap(&wrapped[i], inner[i], &scene->last);
            scene->lanes.lanes[i].device = &wrapped[i].passing.base;
        }
    }
    if (code == STATUS_OK) {
        code = placed_load_run(&scene->load, &scene->lanes, watch, &scene->arena, outcome, error);
    }
    for (int i = 0; i < scene->placed.place_count; i++) {
        scene->lanes.lanes[i].device = inner[i] != NULL ? inner[i] : scene->lanes.lanes[i].device;
    }
    placed_lanes_close(&scene->lanes);
    return code;
}

static void map_leave(struct load_scene *scene)
{
    load_plan_release(&scene->plan);
    placed_tape_release(&scene->placed);
    free(scene->last.bytes);
    scene->last = (struct last_output){0};
    scene->plan = (struct load_plan){0};
}

static void scene_close(struct load_scene *scene)
{
    load_files_release(&scene->files);
    skeleton_release(&scene->bare);
    skeleton_release(&scene->headed);
    arena_release(&scene->arena);
    assert_int_equal(scratch_folder_remove(scene->folder), 0);
}

static const struct placement_device devices[PLACES] = {
    {PLACEMENT_GPU, 0}, {PLACEMENT_GPU, 1}, {.kind = PLACEMENT_CPU}, {.kind = PLACEMENT_DISK}};

static void map_set(struct load_scene *scene, const struct placement_entry *entries, int count)
{
    for (int i = 0; i < count; i++) {
        scene->entries[i] = (struct device_map_entry){entries[i].path, devices[entries[i].place]};
    }
    scene->map = (struct device_map){scene->entries, count};
}

/* -- what every load must hold */

static void figures_check(const struct load_scene *scene, const struct placed_load_outcome *told,
                          const struct placed_load_outcome *is)
{
    assert_true(is->run.fits && told->run.fits && is->is_loaded && told->is_loaded);
    assert_memory_equal(told->run.result.copied_bytes, is->run.result.copied_bytes, sizeof is->run.result.copied_bytes);
    for (int i = 0; i < scene->placed.place_count; i++) {
        const struct replay_result *a = &told->run.result.lanes[i], *b = &is->run.result.lanes[i];
        assert_int_equal(a->sequence_hash, b->sequence_hash);
        assert_false(b->stages[STAGE_CONTEXT].present);
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
            const struct replay_stage *x = &a->stages[stage], *y = &b->stages[stage];
            assert_int_equal(x->present, y->present);
            assert_int_equal(x->requested_bytes_peak, y->requested_bytes_peak);
            assert_int_equal(x->allocated_bytes_peak, y->allocated_bytes_peak);
            assert_int_equal(x->reserved_bytes_peak, y->reserved_bytes_peak);
        }
        const struct replay_stage *load = &b->stages[STAGE_LOAD], *pass = &b->stages[STAGE_FORWARD];
        assert_int_equal(load->requested_bytes, scene->placed.placed_bytes[i]);
        /* Nothing is held twice: at the end of the load there is what was placed, and it was never more than that. */
        assert_int_equal(load->requested_bytes_peak, scene->placed.placed_bytes[i]);
        int64_t weights_bytes = pass->categories_at_peak[CATEGORY_WEIGHTS] + pass->categories_at_peak[CATEGORY_BUFFERS];
        assert_true(weights_bytes >= scene->placed.placed_bytes[i]);
    }
}

static int entries_count(const struct map *map)
{
    int count = 0;
    while (count < ENTRIES && map->entries[count].path != NULL) {
        count++;
    }
    return count;
}

static void one_device_run(struct load_scene *scene, struct last_output *output)
{
    static const struct placement_entry whole[] = {{"", GPU0}};
    struct placed_load_outcome outcome;
    struct status error = {0};
    map_set(scene, whole, 1);
    if (map_take(scene, &error) != STATUS_OK || scene_run(scene, NULL, &outcome, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(outcome.run.result.copy_count, 0);
    *output = scene->last;
    scene->last = (struct last_output){0};
    map_leave(scene);
}

static void map_check(const struct map *map, enum dtype precision)
{
    struct load_scene scene = {0};
    struct placed_load_outcome told, is;
    struct last_output alone;
    struct status error = {0};
    scene_open(&scene, map->model, precision, 5);
    one_device_run(&scene, &alone);
    map_set(&scene, map->entries, entries_count(map));
    scene.offload_buffers = strcmp(map->model, "tiny-resnet") == 0; /* without them there is no pass */
    if (map_take(&scene, &error) != STATUS_OK ||
        placed_load_predict(&scene.load, &scene.arena, &told, &error) != STATUS_OK ||
        scene_run(&scene, NULL, &is, &error) != STATUS_OK) {
        fail_msg("%s: %s", map->model, error.text);
    }
    figures_check(&scene, &told, &is);
    if (!last_outputs_equal(&alone, &scene.last)) {
        fail_msg("%s gives other numbers when it is dispatched", map->model);
    }
    free(alone.bytes);
    map_leave(&scene);
    scene_close(&scene);
}

static void a_dispatched_checkpoint_gives_the_numbers_of_one_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        map_check(&maps[i], i % 2 == 0 ? DTYPE_FLOAT32 : DTYPE_BFLOAT16);
    }
}

/* It is the checkpoint that is run, and not what a tape would make. */
static void another_checkpoint_gives_other_numbers(void **state)
{
    struct last_output outputs[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct load_scene scene = {0};
        scene_open(&scene, "tiny-llama", DTYPE_FLOAT32, 5 + i);
        one_device_run(&scene, &outputs[i]);
        scene_close(&scene);
    }
    assert_int_equal(outputs[0].count, outputs[1].count);
    assert_false(last_outputs_equal(&outputs[0], &outputs[1]));
    free(outputs[0].bytes);
    free(outputs[1].bytes);
}

/* -- what is refused, and what fails */

static const struct map *spread(void)
{
    return &maps[1]; /* tiny-llama: GPU 0, cpu and disk */
}

static void spread_open(struct load_scene *scene, int64_t gpu0_bytes, int64_t cpu_bytes)
{
    scene_open(scene, spread()->model, DTYPE_FLOAT32, 5);
    map_set(scene, spread()->entries, entries_count(spread()));
    scene->budgets[0] = (struct placement_budget){.device = devices[GPU0], .bits = gpu0_bytes * BITS_PER_BYTE};
    scene->budgets[1] = (struct placement_budget){.device = devices[CPU], .bits = cpu_bytes * BITS_PER_BYTE};
    scene->question.budget_count = 2;
}

/* The pass is in another precision than what was loaded. */
static void another_precision_is_refused(void **state)
{
    struct load_scene scene = {0};
    struct placed_load_outcome outcome;
    struct status error = {0};
    (void)state;
    spread_open(&scene, 1 << 30, 1 << 30);
    assert_int_equal(workload_set(&scene.workload, "precision", "bfloat16", &error), STATUS_OK);
    assert_int_equal(map_take(&scene, &error), STATUS_OK);
    assert_int_equal(placed_load_predict(&scene.load, &scene.arena, &outcome, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "was loaded as F32"));
    assert_non_null(strstr(error.text, "load it in the precision of the run"));
    map_leave(&scene);
    scene_close(&scene);
}

/* float16 and bfloat16 are of one size. */
static void another_type_of_the_same_size_is_refused(void **state)
{
    struct load_scene scene = {0};
    struct placed_load_outcome outcome;
    struct status error = {0};
    (void)state;
    scene_open(&scene, spread()->model, DTYPE_BFLOAT16, 5);
    map_set(&scene, spread()->entries, entries_count(spread()));
    assert_int_equal(workload_set(&scene.workload, "precision", "float16", &error), STATUS_OK);
    assert_int_equal(map_take(&scene, &error), STATUS_OK);
    assert_int_equal(scene_run(&scene, NULL, &outcome, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "was loaded as BF16, and is run with in float16"));
    map_leave(&scene);
    scene_close(&scene);
}

/* The tape follows another map than the load. */
static void another_map_is_refused(void **state)
{
    static const struct placement_entry moved[] = {{"model.embed_tokens", CPU},
                                                   {"model.layers", CPU},
                                                   {"model.norm", CPU},
                                                   {"model.rotary_emb", CPU},
                                                   {"lm_head", GPU0}};
    struct load_scene scene = {0};
    struct placed_load_outcome outcome;
    struct status error = {0};
    struct load_plan other = {0};
    (void)state;
    spread_open(&scene, 1 << 30, 1 << 30);
    assert_int_equal(map_take(&scene, &error), STATUS_OK);
    map_set(&scene, moved, 5);
    const struct load_request request = {.checkpoint = scene.files.checkpoint,
                                         .skeleton = &scene.headed,
                                         .names = &scene.names,
                                         .map = &scene.map,
                                         .has_folder = true};
    assert_int_equal(load_plan_make(&request, &other, &error), STATUS_OK);
    scene.load.plan = &other;
    assert_int_equal(placed_load_predict(&scene.load, &scene.arena, &outcome, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "load it by the map of the run"));
    load_plan_release(&other);
    map_leave(&scene);
    scene_close(&scene);
}

/* The first budget is too small for what is placed there, the second one for the pass alone: both are told as they were
 * predicted. */
static void out_of_memory_is_an_outcome(void **state)
{
    static const int64_t gpu0_bytes[] = {1 << 20, 3 << 20};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct load_scene scene = {0};
        struct placed_load_outcome told, is;
        struct status error = {0};
        scene.target = "sm_90"; /* which has a workspace of cuBLAS */
        spread_open(&scene, gpu0_bytes[i], 1 << 30);
        assert_int_equal(map_take(&scene, &error), STATUS_OK);
        assert_int_equal(placed_load_predict(&scene.load, &scene.arena, &told, &error), STATUS_OK);
        assert_int_equal(scene_run(&scene, NULL, &is, &error), STATUS_OK);
        assert_false(told.run.fits || is.run.fits);
        assert_int_equal(told.is_loaded, i == 1);
        assert_int_equal(is.is_loaded, i == 1);
        assert_string_equal(told.run.reason, is.run.reason);
        assert_int_equal(told.run.result.oom_lane, 0);
        assert_int_equal(is.run.result.oom_lane, 0);
        assert_non_null(strstr(is.run.reason, i == 0 ? "device 0 of the map" : "stage forward"));
        assert_non_null(strstr(is.run.reason, "beyond the budget of 0"));
        map_leave(&scene);
        scene_close(&scene);
    }
}

/* The cpu has no room for its part: it is the cpu that is named. */
static void the_place_that_is_full_is_named(void **state)
{
    struct load_scene scene = {0};
    struct placed_load_outcome told, is;
    (void)state;
    spread_open(&scene, 1 << 30, 1000);
    assert_int_equal(map_take(&scene, NULL), STATUS_OK);
    assert_int_equal(placed_load_predict(&scene.load, &scene.arena, &told, NULL), STATUS_OK);
    assert_int_equal(scene_run(&scene, NULL, &is, NULL), STATUS_OK);
    assert_false(told.run.fits || is.run.fits || told.is_loaded || is.is_loaded);
    assert_int_equal(scene.placed.devices[told.run.result.oom_lane].kind, PLACEMENT_CPU);
    assert_int_equal(is.run.result.oom_lane, told.run.result.oom_lane);
    assert_non_null(strstr(is.run.reason, "device cpu of the map"));
    map_leave(&scene);
    scene_close(&scene);
}

static bool stops_now(void *context)
{
    int *left = context;
    return (*left)-- == 0;
}

/* Wherever it is stopped, in the load or in a pass, nothing is held: the sanitizers would tell. */
static void it_is_stopped_anywhere(void **state)
{
    struct load_scene scene = {0};
    (void)state;
    spread_open(&scene, 1 << 30, 1 << 30);
    assert_int_equal(map_take(&scene, NULL), STATUS_OK);
    for (int at = 0; at < 200; at += 37) {
        struct placed_load_outcome outcome;
        struct status error = {0};
        int left = at;
        const struct load_watch watch = {.stops = stops_now, .context = &left};
        assert_int_equal(scene_run(&scene, &watch, &outcome, &error), STATUS_UNAVAILABLE);
        assert_non_null(strstr(error.text, "interrupted"));
    }
    map_leave(&scene);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dispatched_checkpoint_gives_the_numbers_of_one_device),
        cmocka_unit_test(another_checkpoint_gives_other_numbers),
        cmocka_unit_test(another_precision_is_refused),
        cmocka_unit_test(another_type_of_the_same_size_is_refused),
        cmocka_unit_test(another_map_is_refused),
        cmocka_unit_test(out_of_memory_is_an_outcome),
        cmocka_unit_test(the_place_that_is_full_is_named),
        cmocka_unit_test(it_is_stopped_anywhere),
    };
    return cmocka_run_group_tests_name("placed_load", tests, NULL, NULL);
}
