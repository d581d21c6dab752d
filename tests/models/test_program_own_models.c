/* Programs with models of their own, as they ran on the meta device (peers/pytorch/program_own_models.py): torchtitan,
 * torchtune and litgpt beside their rows of harness/case/program.c. Every event of tiny ones: test_program_events.c. */
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

static bool own_check(const struct json *line, const char *program)
{
    struct workload named = workload_default(MODE_TRAIN);
    const char *model = shadow_model(line);
    if (!is_of(line, program)) {
        return false;
    }
    assert_int_equal(workload_set(&named, "program", program, NULL), STATUS_OK);
    if (named.program == PROGRAM_TORCHTITAN) {
        model = "peers/pytorch/llama-3.2-1b-untied/config.json";
    }
    struct workload workload = line_workload(line, named.program);
    struct status error = {0};
    if (workload_check(&workload, &error) != STATUS_OK) {
        /* float32 norms of torchtune are one kernel on a GPU and several on the meta device. */
        assert_true(named.program == PROGRAM_TORCHTUNE && workload.precision == PRECISION_FLOAT32);
        return false;
    }
    double off = line_error(line, model, &workload);
    print_message("%s: %+.4f %%\n", shadow_text(line, "id"), 100.0 * off);
    assert_true(fabs(off) <= LIMIT);
    return true;
}

static bool torchtitan_check(const struct json *line)
{
    return own_check(line, "torchtitan");
}

static bool torchtune_check(const struct json *line)
{
    return own_check(line, "torchtune");
}

static bool litgpt_check(const struct json *line)
{
    return own_check(line, "litgpt");
}

static void a_program_with_its_own_models_is_its_row(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each(lines_path, torchtitan_check), 4);
    assert_int_equal(shadow_lines_each(lines_path, torchtune_check), 3);
    assert_int_equal(shadow_lines_each(lines_path, litgpt_check), 5);
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

/* Of a loss in chunks and of classes that are not transformers' those are refused that have none. */
static void models_without_such_classes_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum loss loss;
        enum model_code code;
        int64_t seq;
        const char *model, *said;
    } rows[] = {
        {LOSS_CHUNKED, MODEL_CODE_TRANSFORMERS, 16, "bert-base-cased",
         "loss: chunked: bert-base-cased is no decoder with a head of tokens, of which the loss is taken in chunks; "
         "write loss composed"},
        {LOSS_CHUNKED, MODEL_CODE_LITGPT, 16, "gpt2",
         "model_code: litgpt: of these classes those of Llama and Qwen2 are modelled; for gpt2 write program "
         "plain-loop"},
        {LOSS_CHUNKED_OUTPUT, MODEL_CODE_TORCHTUNE, 200000, "meta-llama/Llama-3.2-1B",
         "seq: 200000 is more than the 131072 positions of meta-llama/Llama-3.2-1B; write at most 131072"},
        {LOSS_CHUNKED_HEAD, MODEL_CODE_TRANSFORMERS, 1, "gpt2",
         "seq: a sequence of 1 has no next token; write a seq of at least 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct modelled modelled = {0};
        struct status error = {0};
        struct workload workload = workload_default(MODE_TRAIN);
        workload.precision = PRECISION_BFLOAT16;
        workload.loss = rows[i].loss;
        workload.model_code = rows[i].code;
        workload.seq = rows[i].seq;
        assert_int_equal(modelled_open(&modelled, rows[i].model, &workload, "sm_90", &error), STATUS_INVALID);
        assert_string_equal(STATUS_SAID(&error), rows[i].said);
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
        {PROGRAM_LITGPT, "tiny-bert",
         "program: litgpt: litgpt builds its own models, of which Llama and Qwen2 are modelled; for tiny-bert write "
         "program: plain-loop"},
        {PROGRAM_TORCHTUNE, "tiny-resnet",
         "program: torchtune: torchtune builds its own models, of which Llama and Qwen2 are modelled; for tiny-resnet "
         "write program: plain-loop"},
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
        workload.precision = PRECISION_BFLOAT16;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_with_its_own_models_is_its_row),
                                       cmocka_unit_test(models_that_torchtitan_has_otherwise_are_refused),
                                       cmocka_unit_test(models_without_such_classes_are_refused),
                                       cmocka_unit_test(programs_that_do_not_fit_a_model_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
