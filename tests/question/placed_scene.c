/* Placed scene: opening, and maps without the code under test. */
#include "tests/question/placed_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"

void placed_scene_open(struct placed_scene *scene, const char *model, const char *precision)
{
    const struct target *target = NULL;
    *scene = (struct placed_scene){.workload = workload_default(MODE_INFER)};
    scene->workload.seq = 16;
    assert_int_equal(workload_set(&scene->workload, "precision", precision, NULL), STATUS_OK);
    assert_int_equal(config_find("models/catalogue", model, &scene->config, NULL), STATUS_OK);
    assert_int_equal(workload_skeleton(&scene->config, &scene->workload, &scene->skeleton, NULL), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    scene->request = (struct placement_request){
        .budgets = scene->budgets, .width = storage_width_find(precision), .strategy = PLACEMENT_SEQUENTIAL};
    scene->question = (struct placed_question){.config = &scene->config,
                                               .skeleton = &scene->skeleton,
                                               .workload = &scene->workload,
                                               .target = target,
                                               .budgets = scene->budgets};
}

static void budget_add(struct placed_scene *scene, struct placement_device device, int64_t bytes)
{
    scene->budgets[scene->request.budget_count++] =
        (struct placement_budget){.device = device, .bits = bytes * BITS_PER_BYTE};
    scene->question.budget_count = scene->request.budget_count;
}

void placed_scene_budgets(struct placed_scene *scene, int64_t gpu0, int64_t gpu1, int64_t cpu)
{
    scene->request.budget_count = 0;
    budget_add(scene, (struct placement_device){PLACEMENT_GPU, 0}, gpu0);
    if (gpu1 > 0) {
        budget_add(scene, (struct placement_device){PLACEMENT_GPU, 1}, gpu1);
    }
    if (cpu != BUDGET_NONE) {
        budget_add(scene, (struct placement_device){.kind = PLACEMENT_CPU}, cpu);
    }
}

void placed_scene_close(struct placed_scene *scene)
{
    skeleton_release(&scene->skeleton);
}

static void piece_add(struct piece_list *list, const char *text)
{
    const char *bar = strchr(text, '|');
    assert_true(list->count < SCENE_PIECES);
    snprintf(list->paths[list->count][0], 64, "%.*s", bar != NULL ? (int)(bar - text) : 63, text);
    snprintf(list->paths[list->count][1], 64, "%s", bar != NULL ? bar + 1 : "");
    list->count++;
}

void pieces_read(struct piece_list *list, const char *const *texts)
{
    *list = (struct piece_list){0};
    for (; *texts != NULL; texts++) {
        const char *star = strchr(*texts, '*');
        for (int i = 0; star != NULL && i < (int)strtol(star + 1, NULL, 10); i++) {
            char path[64];
            snprintf(path, sizeof path, "%.*s%d", (int)(star - *texts), *texts, i);
            piece_add(list, path);
        }
        if (star == NULL) {
            piece_add(list, *texts);
        }
    }
}

static struct placement_device device_of(int piece, const int cuts[SCENE_CUTS])
{
    return piece < cuts[0]   ? (struct placement_device){PLACEMENT_GPU, 0}
           : piece < cuts[1] ? (struct placement_device){PLACEMENT_GPU, 1}
           : piece < cuts[2] ? (struct placement_device){.kind = PLACEMENT_CPU}
                             : (struct placement_device){.kind = PLACEMENT_DISK};
}

bool pieces_run(const struct placed_scene *scene, const struct piece_list *list, const int cuts[SCENE_CUTS])
{
    struct device_map_entry entries[2 * SCENE_PIECES];
    struct device_map map = {.entries = entries};
    struct placed_tape placed;
    struct placed_outcome outcome;
    struct status error = {0};
    for (int i = 0; i < list->count; i++) {
        for (int k = 0; k < 2 && list->paths[i][k][0] != '\0'; k++) {
            entries[map.count++] = (struct device_map_entry){list->paths[i][k], device_of(i, cuts)};
        }
    }
    enum status_code code = placed_tape_build(&scene->question, &map, &placed, &error);
    if (code == STATUS_INVALID) {
        return false; /* a residual over two devices */
    }
    if (code != STATUS_OK || placed_tape_predict(&placed, &outcome, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    placed_tape_release(&placed);
    return outcome.fits;
}
