/* Placed scene: a model and budgets as the planners and a placed trial see them, and maps made from a list of pieces by
 * hand. */
#ifndef ASSAY_TESTS_QUESTION_PLACED_SCENE_H
#define ASSAY_TESTS_QUESTION_PLACED_SCENE_H

#include "harness/question/placed_trial.h"

enum { SCENE_BUDGETS = 4, SCENE_PIECES = 40, SCENE_CUTS = 3 };

/* Stays where it is while it is open: question and request point into it. */
struct placed_scene {
    struct config config;
    struct skeleton skeleton;
    struct workload workload;
    struct placement_budget budgets[SCENE_BUDGETS]; /* 0, 1, cpu */
    struct placement_request request;               /* of accelerate's planner, one GPU after the other */
    struct placed_question question;
};

/* precision "float32", "bfloat16". Fails the running test where it cannot be. Budgets in bytes; gpu1 0: there is no
 * such GPU; cpu BUDGET_NONE: none is given. */
void placed_scene_open(struct placed_scene *scene, const char *model, const char *precision);
void placed_scene_budgets(struct placed_scene *scene, int64_t gpu0, int64_t gpu1, int64_t cpu);
void placed_scene_close(struct placed_scene *scene);

/* Pieces, each a path or two with a bar between ("wte|lm_head"); "layers.*4" stands for layers.0 to layers.3. */
struct piece_list {
    char paths[SCENE_PIECES][2][64];
    int count;
};
void pieces_read(struct piece_list *list, const char *const *texts);

/* A map: pieces before cuts[0] on GPU 0, before cuts[1] on GPU 1, before cuts[2] on the cpu, the rest on the disk.
 * Whether it can run, and does in the scene's budgets on meta. */
bool pieces_run(const struct placed_scene *scene, const struct piece_list *list, const int cuts[SCENE_CUTS]);

#endif
