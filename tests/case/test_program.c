/* Programs: what follows from a name, what wins over it, and what contradicts it. What the habits come to in bytes is
 * held against the programs themselves in tests/models/test_program_truth.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/program.h"
#include "harness/suite/suite.h"
#include "models/find/catalogue.h"
#include "tests/support/command_run.h"
#include "tests/support/status_said.h"

static struct workload applied(enum program program, enum mode mode)
{
    struct workload workload = workload_default(mode);
    program_apply(program, &workload);
    return workload;
}

static void every_program_has_a_row_whose_values_can_be_read(void **state)
{
    (void)state;
    for (enum program program = 0; program < PROGRAM_COUNT; program++) {
        const struct program_row *row = program_row(program);
        assert_non_null(row->what);
        assert_int_not_equal(row->modes, 0);
        for (int i = 0; i < PROGRAM_SETTINGS_MAXIMUM && row->settings[i].value != NULL; i++) {
            struct case_value value;
            struct status error = {0};
            if (case_value_parse(row->settings[i].field, row->settings[i].value, &value, &error) != STATUS_OK) {
                fail_msg("%s: %s", program_name(program), STATUS_SAID(&error));
            }
            assert_non_null(row->settings[i].source);
        }
        for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
            struct workload workload = applied(program, mode);
            struct status error = {0};
            if (workload.model_code == MODEL_CODE_TORCHTUNE) { /* its classes are modelled in 16 bits alone */
                workload.precision = PRECISION_BFLOAT16;
            }
            bool has_mode = (row->modes >> mode & 1U) != 0;
            assert_int_equal(workload_check(&workload, &error), has_mode ? STATUS_OK : STATUS_INVALID);
        }
    }
}

static void the_default_is_the_loop_without_habits(void **state)
{
    (void)state;
    for (enum mode mode = 0; mode < MODE_COUNT; mode++) {
        struct workload usual = workload_default(mode), lean = applied(PROGRAM_LEAN_LOOP, mode);
        assert_int_equal(usual.program, PROGRAM_LEAN_LOOP);
        for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
            assert_int_equal(workload_field_value(&usual, field), workload_field_value(&lean, field));
        }
    }
}

static struct workload trainer_of(const char *release)
{
    struct workload workload = workload_default(MODE_TRAIN);
    workload.release = release;
    program_apply(PROGRAM_HF_TRAINER, &workload);
    return workload;
}

/* Sources: training_args.py of transformers 4.31, 4.32, 4.53, 4.54 and 5.0. */
static void the_trainer_had_other_defaults_in_older_releases(void **state)
{
    (void)state;
    static const struct {
        const char *release;
        enum optimizer optimizer;
        bool use_cache;
    } rows[] = {
        {NULL, OPTIMIZER_ADAMW_FUSED, false},
        {"torch=2.6", OPTIMIZER_ADAMW_FOREACH, false},
        {"transformers=5.0", OPTIMIZER_ADAMW_FUSED, false},
        {"transformers=4.57", OPTIMIZER_ADAMW_FUSED, true},
        {"transformers=4.57+torch=2.7", OPTIMIZER_ADAMW_FOREACH, true},
        {"transformers=4.53", OPTIMIZER_ADAMW_FOREACH, true},
        {"transformers=4.32+torch=2.1", OPTIMIZER_ADAMW_FOREACH, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = trainer_of(rows[i].release);
        struct status error = {0};
        assert_int_equal(workload.optimizer, rows[i].optimizer);
        assert_int_equal(workload.use_cache, rows[i].use_cache);
        assert_int_equal(workload.parameter_groups, PARAMETER_GROUPS_DECAY);
        assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    }
    struct workload before = trainer_of("transformers=4.31");
    struct status error = {0};
    assert_int_equal(workload_check(&before, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "write release transformers=4.32, or program accelerate"));
}

/* Requirements of trl 0.22.0: transformers>=4.55.0; torchtitan has none. */
static void a_release_that_a_program_does_not_run_with_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum program program;
        const char *release, *said; /* NULL: it is taken */
    } rows[] = {
        {PROGRAM_TRL_SFT, "transformers=4.55", NULL},
        {PROGRAM_TRL_SFT, "torch=2.4", NULL},
        {PROGRAM_TRL_SFT, "transformers=4.54",
         "program: trl-sft: TRL 0.22, the first with this trainer, needs transformers 4.55; write release "
         "transformers=4.55, or program hf-trainer"},
        {PROGRAM_TORCHTITAN, "torch=2.4", NULL},
        {PROGRAM_TORCHTITAN, "transformers=4.57+torch=2.4",
         "program: torchtitan: it runs no part of transformers; write release torch=2.11, or program plain-loop"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct status error = {0};
        struct workload workload = workload_default(MODE_TRAIN);
        workload.release = rows[i].release;
        program_apply(rows[i].program, &workload);
        assert_int_equal(workload_check(&workload, &error), rows[i].said == NULL ? STATUS_OK : STATUS_INVALID);
        if (rows[i].said != NULL) {
            assert_string_equal(STATUS_SAID(&error), rows[i].said);
        }
    }
}

/* A caller says the release in any place among the options. */
static void a_release_is_known_before_the_program(void **state)
{
    (void)state;
    static const char *const words[] = {"estimate", "tiny-bert", "--mode",     "train",     "--seq",
                                        "8",        "--program", "hf-trainer", "--release", "transformers=4.51",
                                        NULL};
    struct command_result result = command_named(words[0], words + 1);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), "/adamw-foreach/"));
    assert_null(strstr(text_string(&result.output), "use-cache")); /* an encoder has none */
    command_result_release(&result);
}

static void a_name_stands_for_the_habits_of_its_documentation(void **state)
{
    (void)state;
    struct workload loop = applied(PROGRAM_PLAIN_LOOP, MODE_TRAIN);
    assert_int_equal(loop.optimizer, OPTIMIZER_ADAMW_FOREACH);
    assert_int_equal(loop.outputs, OUTPUTS_KEPT);
    assert_true(loop.use_cache);
    struct workload infer = applied(PROGRAM_PLAIN_LOOP, MODE_INFER);
    assert_int_equal(infer.optimizer, OPTIMIZER_NONE);
    assert_int_equal(infer.outputs, OUTPUTS_KEPT);
    struct workload trainer = applied(PROGRAM_HF_TRAINER, MODE_TRAIN);
    assert_int_equal(trainer.optimizer, OPTIMIZER_ADAMW_FUSED);
    assert_int_equal(trainer.outputs, OUTPUTS_DROPPED);
    assert_false(trainer.use_cache);
    assert_int_equal(trainer.clip_grad, CLIP_GRAD_FOREACH);
    struct workload tuner = applied(PROGRAM_TRL_SFT, MODE_TRAIN);
    assert_int_equal(tuner.metrics, METRICS_ENTROPY_ACCURACY);
    assert_true(tuner.checkpointing && !tuner.use_cache);
}

/* The gradient of a fused loss takes the place of what the metrics are of. */
static void metrics_of_logits_that_are_gone_are_refused(void **state)
{
    (void)state;
    struct workload tuner = applied(PROGRAM_TRL_SFT, MODE_TRAIN);
    struct status error = {0};
    tuner.loss = LOSS_FUSED;
    assert_int_equal(workload_check(&tuner, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "metrics: entropy-accuracy: the gradient of the fused loss takes the place of the logits, of "
                        "which nothing can be computed then; write none, or loss: composed");
    tuner.metrics = METRICS_NONE;
    assert_int_equal(workload_check(&tuner, &error), STATUS_OK);
}

static void what_a_program_fixes_cannot_be_told_otherwise(void **state)
{
    (void)state;
    struct workload trainer = applied(PROGRAM_HF_TRAINER, MODE_TRAIN);
    struct status error = {0};
    trainer.outputs = OUTPUTS_KEPT;
    assert_int_equal(workload_check(&trainer, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "outputs: kept: hf-trainer itself has dropped and no other; leave it out, or write program: "
                        "plain-loop");
    struct workload inferred = applied(PROGRAM_HF_TRAINER, MODE_INFER);
    struct status other = {.spelling = STATUS_SPELLING_OPTIONS};
    assert_int_equal(workload_check(&inferred, &other), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&other),
                        "--program hf-trainer: this program only trains; leave it out, or write --mode train");
}

/* In a suite as on the command line: what is named wins over the program, and what a model has not is not said of
 * it. */
static void what_is_named_wins_in_suites_and_options(void **state)
{
    (void)state;
    static const char text[] =
        "version: 1\nname: programs\ndefaults: {mode: train, precision: float32, batch: 2, seq: 8}\n"
        "cases:\n- {model: tiny-gpt2, program: [lean-loop, plain-loop]}\n"
        "- {model: tiny-gpt2, program: plain-loop, outputs: dropped, optimizer: adam-single}\n"
        "- {model: tiny-bert, program: plain-loop}\n"
        /* What these two fix says nothing about float32 weights, and about an optimizer in 32 bits. */
        "- {model: tiny-gpt2, program: lightning}\n"
        "- {model: tiny-gpt2, program: hf-trainer, optimizer: [paged_adamw_8bit, paged_adamw_32bit]}\n";
    static const char *const ids[] = {
        "tiny-gpt2/train/float32/b2/s8/adamw-fused",
        "tiny-gpt2/train/plain-loop/float32/b2/s8/adamw-foreach/use-cache/outputs-kept",
        "tiny-gpt2/train/plain-loop/float32/b2/s8/adam-single/use-cache",
        "tiny-bert/train/plain-loop/float32/b2/s8/adamw-foreach/outputs-kept",
        "tiny-gpt2/train/lightning/float32/b2/s8/adamw-foreach/zero-grad-before-backward/use-cache",
        ("tiny-gpt2/train/hf-trainer/float32/b2/s8/paged-adamw-8bit/groups-decay/embedding-states-float32/"
         "clip-grad-foreach"),
        "tiny-gpt2/train/hf-trainer/float32/b2/s8/paged-adamw-32bit/groups-decay/clip-grad-foreach",
    };
    struct suite suite;
    struct status error = {0};
    if (suite_read_text("test.yaml", text, strlen(text), "models/catalogue", &suite, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    assert_int_equal(suite.case_count, sizeof ids / sizeof ids[0]);
    for (int i = 0; i < suite.case_count; i++) {
        assert_string_equal(suite.cases[i].id, ids[i]);
    }
    suite_release(&suite);
    struct command_result result =
        command_named("estimate", (const char *const[]){"tiny-gpt2", "--mode", "train", "--batch", "2", "--seq", "8",
                                                        "--program", "plain-loop", "--outputs", "dropped", NULL});
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), "program plain-loop, the default: use_cache true\n"));
    command_result_release(&result);
}

/* A field that says nothing about a case contradicts no program, although it is fixed: the cache of autocast in
 * float32. */
static void every_program_is_the_same_case_in_a_suite(void **state)
{
    (void)state;
    struct config config;
    assert_int_equal(config_find("models/catalogue", "tiny-llama", &config, NULL), STATUS_OK);
    for (enum program program = 0; program < PROGRAM_COUNT; program++) {
        for (enum precision precision = PRECISION_FLOAT32; precision < PRECISION_INT8; precision++) {
            char written[256];
            struct text id = {0};
            struct suite suite;
            struct status error = {0};
            struct workload workload = applied(program, MODE_TRAIN);
            workload.precision = precision;
            if (workload.model_code != MODEL_CODE_TRANSFORMERS && workload_check(&workload, NULL) != STATUS_OK) {
                continue;
            }
            const struct identity identity = identity_make("tiny-llama", &workload, config.family);
            identity_id(&identity, &id);
            snprintf(written, sizeof written,
                     "version: 1\nname: one\ncases:\n- {model: tiny-llama, mode: train, program: %s, precision: %s}\n",
                     program_name(program), precision_name(precision));
            if (suite_read_text("one.yaml", written, strlen(written), "models/catalogue", &suite, &error) !=
                STATUS_OK) {
                fail_msg("%s: %s", program_name(program), STATUS_SAID(&error));
            }
            assert_string_equal(suite.cases[0].id, text_string(&id));
            suite_release(&suite);
            text_release(&id);
        }
    }
}

/* Of lists that multiply to something that no program does, the rest remains. */
static void what_contradicts_a_program_can_be_excluded(void **state)
{
    (void)state;
    static const char text[] = "version: 1\nname: one\ncases:\n- {model: tiny-gpt2, mode: train, program: [hf-trainer, "
                               "plain-loop], outputs: [kept, dropped],\n   exclude: [{program: hf-trainer, outputs: "
                               "kept}]}\n";
    struct suite suite;
    struct status error = {0};
    if (suite_read_text("one.yaml", text, strlen(text), "models/catalogue", &suite, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    assert_int_equal(suite.case_count, 3);
    suite_release(&suite);
}

/* An encoder has no caches, whether its program would return them or not. */
static void what_says_nothing_is_refused_under_a_program_too(void **state)
{
    (void)state;
    static const char *const words[] = {"tiny-bert", "--mode",     "train",       "--seq", "8",
                                        "--program", "plain-loop", "--use-cache", NULL};
    command_refused(command_named("estimate", words), "--use-cache says nothing about tiny-bert");
}

static void the_default_is_named(void **state)
{
    (void)state;
    struct command_result result = command_named(
        "estimate", (const char *const[]){"tiny-gpt2", "--mode", "train", "--batch", "2", "--seq", "8", NULL});
    assert_non_null(strstr(text_string(&result.output),
                           "\nprogram plain-loop, the default: use_cache true, outputs kept\n"
                           "  --program lean-loop, which keeps nothing: "));
    command_result_release(&result);
    result = command_named("estimate", (const char *const[]){"tiny-gpt2", "--mode", "train", "--batch", "2", "--seq",
                                                             "8", "--json", NULL});
    assert_non_null(strstr(text_string(&result.output), "\"program\": \"plain-loop\""));
    command_result_release(&result);
}

/* torchtune and litgpt: their own classes and their losses come with the name, and nobody else's. */
static void programs_with_their_own_classes_bring_them(void **state)
{
    (void)state;
    struct workload workload = workload_default(MODE_TRAIN);
    struct status error = {0};
    program_apply(PROGRAM_TORCHTUNE, &workload);
    assert_int_equal(workload.model_code, MODEL_CODE_TORCHTUNE);
    assert_int_equal(workload.loss, LOSS_CHUNKED_OUTPUT);
    assert_int_equal(workload.outputs, OUTPUTS_DROPPED);
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "model_code: torchtune: these classes are modelled with weights in 16 bits; write "
                                    "precision bfloat16, or program plain-loop");
    workload.precision = PRECISION_BFLOAT16;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.model_code = MODEL_CODE_TRANSFORMERS;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "torchtune itself has torchtune and no other"));
    workload = workload_default(MODE_TRAIN);
    program_apply(PROGRAM_LITGPT, &workload);
    assert_int_equal(workload.model_code, MODEL_CODE_LITGPT);
    assert_int_equal(workload.loss, LOSS_CHUNKED);
    assert_int_equal(workload.outputs, OUTPUTS_KEPT);
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_has_a_row_whose_values_can_be_read),
        cmocka_unit_test(the_default_is_the_loop_without_habits),
        cmocka_unit_test(a_name_stands_for_the_habits_of_its_documentation),
        cmocka_unit_test(the_trainer_had_other_defaults_in_older_releases),
        cmocka_unit_test(a_release_is_known_before_the_program),
        cmocka_unit_test(a_release_that_a_program_does_not_run_with_is_refused),
        cmocka_unit_test(metrics_of_logits_that_are_gone_are_refused),
        cmocka_unit_test(what_a_program_fixes_cannot_be_told_otherwise),
        cmocka_unit_test(what_is_named_wins_in_suites_and_options),
        cmocka_unit_test(every_program_is_the_same_case_in_a_suite),
        cmocka_unit_test(what_contradicts_a_program_can_be_excluded),
        cmocka_unit_test(what_says_nothing_is_refused_under_a_program_too),
        cmocka_unit_test(the_default_is_named),
        cmocka_unit_test(programs_with_their_own_classes_bring_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
