/* Programs with models of their own, as they ran on the meta device (peers/pytorch/program_own_models.py): torchtitan,
 * which a row of harness/case/program.c says, and torchtune and litgpt, which none does: how far the closest program is
 * from them is in the refusal of their names, and here it is found anew. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/program.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"
#include "tests/support/status_said.h"

static const char lines_path[] = "peers/pytorch/programs-own-models-torch-2.11.0.jsonl";
/* The table of angles of the whole sequence, and scalars. */
static const double LIMIT = 0.0002;

static struct workload line_workload(const struct json *line, enum program program)
{
    struct workload workload = workload_default(MODE_TRAIN);
    program_apply(program, &workload);
    assert_int_equal(workload_set(&workload, "precision", shadow_text(line, "precision"), NULL), STATUS_OK);
    workload.batch = json_integer_or(json_get(line, "batch"), 1);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.checkpointing = json_boolean_or(json_get(line, "checkpointing"), false);
    return workload;
}

/* Ours of theirs, less 1. */
static double line_error(const struct json *line, const char *model, const struct workload *workload)
{
    struct modelled modelled = {0};
    struct stage_figures figures;
    int64_t peak = 0;
    modelled_require(&modelled, model, workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    stage_figures_take(&view, &figures);
    for (int stage = STAGE_FORWARD; stage <= STAGE_STEP; stage++) {
        peak = figures.peak[stage] > peak ? figures.peak[stage] : peak;
    }
    modelled_close(&modelled);
    int64_t theirs = json_integer_or(json_get(json_get(json_get(line, "stages"), "whole"), "requested_bytes_peak"), 0);
    assert_true(theirs > 0);
    return (double)(peak - theirs) / (double)theirs;
}

static bool is_of(const struct json *line, const char *program)
{
    return strcmp(shadow_text(line, "type"), "case") == 0 && strcmp(shadow_text(line, "program"), program) == 0 &&
           strcmp(shadow_text(line, "status"), "ok") == 0;
}

static bool torchtitan_check(const struct json *line)
{
    if (!is_of(line, "torchtitan")) {
        return false;
    }
    struct workload workload = line_workload(line, PROGRAM_TORCHTITAN);
    double error = line_error(line, "peers/pytorch/llama-3.2-1b-untied/config.json", &workload);
    print_message("%s: %+.4f %%\n", shadow_text(line, "id"), 100.0 * error);
    assert_true(fabs(error) <= LIMIT);
    return true;
}

static void torchtitan_is_its_row(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(lines_path, torchtitan_check), 4);
}

static const char *wanted;
static double lowest, highest;

static bool closest_check(const struct json *line)
{
    if (!is_of(line, wanted) || strcmp(shadow_text(line, "precision"), "bfloat16") != 0) {
        return false;
    }
    bool is_llama = strcmp(shadow_text(line, "model"), "llama-3.2-1b") == 0;
    struct workload workload = line_workload(line, PROGRAM_LEAN_LOOP);
    workload.optimizer = OPTIMIZER_ADAMW_FOREACH;
    double error = line_error(line, is_llama ? "meta-llama/Llama-3.2-1B" : "Qwen/Qwen2.5-0.5B", &workload);
    lowest = error < lowest ? error : lowest;
    highest = error > highest ? error : highest;
    return true;
}

static void a_refusal_says_how_far_the_closest_is(void **state)
{
    (void)state;
    static const char *const names[] = {"torchtune", "litgpt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char said[48];
        struct workload workload = workload_default(MODE_TRAIN);
        struct status error = {0};
        wanted = names[i];
        lowest = INFINITY;
        highest = -INFINITY;
        assert_int_equal(shadow_lines_each(lines_path, closest_check), 3);
        snprintf(said, sizeof said, "%.0f to %.0f %%", 100.0 * lowest, 100.0 * highest);
        assert_int_equal(workload_set(&workload, "program", wanted, &error), STATUS_INVALID);
        if (strstr(STATUS_SAID(&error), said) == NULL) {
            fail_msg("%s: %s; measured %s", wanted, STATUS_SAID(&error), said);
        }
    }
}

/* torchtitan has no model whose head is its embedding, and of others none was compared. */
static void models_that_torchtitan_has_otherwise_are_refused(void **state)
{
    (void)state;
    static const char *const models[] = {"meta-llama/Llama-3.2-1B", "gpt2"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct modelled modelled = {0};
        struct status error = {0};
        struct workload workload = workload_default(MODE_TRAIN);
        program_apply(PROGRAM_TORCHTITAN, &workload);
        assert_int_equal(modelled_open(&modelled, models[i], &workload, "sm_90", &error), STATUS_INVALID);
        assert_non_null(strstr(STATUS_SAID(&error), "program: torchtitan: torchtitan builds its own models"));
        modelled_close(&modelled);
    }
}

/* Adapters of images are not modelled, and TRL trains what writes text: neither is the loop without them. */
static void programs_that_do_not_fit_a_model_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum program program;
        const char *model, *said;
    } rows[] = {
        {PROGRAM_PEFT_SCRIPT, "tiny-resnet",
         "program: peft-script: adapters of image models are not modelled; for tiny-resnet write program: plain-loop"},
        {PROGRAM_TRL_SFT, "tiny-bert",
         "program: trl-sft: it trains models that write text; for tiny-bert write program: hf-trainer"},
        {PROGRAM_PEFT_SCRIPT, "tiny-gpt2",
         "program: peft-script: it trains adapters, but their rank is 0; write lora_rank: 8, or program: plain-loop"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct modelled modelled = {0};
        struct status error = {0};
        struct workload workload = workload_default(MODE_TRAIN);
        program_apply(rows[i].program, &workload);
        workload.seq = 16;
        workload.lora_rank = 0;
        assert_int_equal(modelled_open(&modelled, rows[i].model, &workload, "sm_90", &error), STATUS_INVALID);
        assert_string_equal(STATUS_SAID(&error), rows[i].said);
        modelled_close(&modelled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(torchtitan_is_its_row),
                                       cmocka_unit_test(a_refusal_says_how_far_the_closest_is),
                                       cmocka_unit_test(models_that_torchtitan_has_otherwise_are_refused),
                                       cmocka_unit_test(programs_that_do_not_fit_a_model_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
