/* Which parameters have no weight decay, beside transformers' own answer (peers/transformers/decay_names.py), and what
 * two groups of an optimizer take: foreach has the square roots of one group at a time, and clipping sees all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/workload/parameter_groups.h"
#include "models/workload/workload_tape.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

static bool names_have(const struct json *names, const char *path)
{
    bool has = false;
    for (size_t i = 0; i < json_count(names) && !has; i++) {
        has = strcmp(json_string_or(json_at(names, i), ""), path) == 0;
    }
    return has;
}

static bool line_check(const struct json *line)
{
    const char *model = shadow_text(line, "model");
    const struct json *names = json_get(line, "no_decay");
    struct config config;
    struct skeleton skeleton;
    size_t found = 0;
    assert_int_equal(config_find("models/catalogue", model, &config, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, NULL), STATUS_OK);
    for (int i = 0; i < skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton.tensors[i];
        bool listed = names_have(names, tensor->path), counts = !tensor->is_buffer && tensor->tied_to < 0;
        found += counts && listed;
        if (counts && listed == parameter_decays(&skeleton, tensor)) {
            fail_msg("%s: %s %s", model, tensor->path, listed ? "has no decay" : "has decay");
        }
    }
    if (found != json_count(names)) {
        fail_msg("%s: %zu of %zu names are those of a parameter", model, found, json_count(names));
    }
    skeleton_release(&skeleton);
    return true;
}

static void groups_are_those_of_the_trainer(void **state)
{
    (void)state;
    assert_true(shadow_lines_each("tests/models/golden/no_decay.jsonl", line_check) >= 28);
}

static int64_t step_peak(enum optimizer optimizer, enum parameter_groups groups, enum clip_grad clip)
{
    struct modelled modelled = {0};
    struct stage_figures figures;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.optimizer = optimizer;
    workload.parameter_groups = groups;
    workload.clip_grad = clip;
    modelled_require(&modelled, "gpt2", &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    stage_figures_take(&view, &figures);
    modelled_close(&modelled);
    return figures.peak[STAGE_STEP];
}

/* GPT-2 has 98 vectors without decay: in each of 12 layers two norms and four biases, and the last norm. */
static void square_roots_live_group_by_group(void **state)
{
    (void)state;
    enum { VECTOR_ELEMENTS = 12 * (4 * 768 + 3 * 768 + 768 + 768 + 3072) + 2 * 768 };
    int64_t one = step_peak(OPTIMIZER_ADAMW_FOREACH, PARAMETER_GROUPS_ONE, CLIP_GRAD_NONE);
    int64_t two = step_peak(OPTIMIZER_ADAMW_FOREACH, PARAMETER_GROUPS_DECAY, CLIP_GRAD_NONE);
    assert_int_equal(one - two, 4 * VECTOR_ELEMENTS);
    assert_int_equal(step_peak(OPTIMIZER_ADAMW_FUSED, PARAMETER_GROUPS_ONE, CLIP_GRAD_FOREACH),
                     step_peak(OPTIMIZER_ADAMW_FUSED, PARAMETER_GROUPS_DECAY, CLIP_GRAD_FOREACH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_those_of_the_trainer),
        cmocka_unit_test(square_roots_live_group_by_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
