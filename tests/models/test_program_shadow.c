/* Programs, against themselves: what the row of a program in harness/case/program.c comes to, beside that program run
 * on the meta device (peers/pytorch/programs.py): the peak of every stage of the third step.
 *
 * A program brings its batch to the device in each step, ids, labels and mask apart, while the one before may still
 * have its name; the tape has one batch. And its averages of losses are scalars. So much may be between them, and no
 * more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/program.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

enum { SCALAR_BYTES = 512, BATCH_TENSORS = 6 };

static const struct {
    const char *shadow, *model;
} models[] = {
    {"llama-3.2-1b", "meta-llama/Llama-3.2-1B"},
    {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B"},
    {"resnet50", "timm/resnet50.a1_in1k"},
    {"tiny/gpt2", "peers/pytorch/tiny/gpt2/config.json"},
    {"tiny/bert", "peers/pytorch/tiny/bert/config.json"},
    {"tiny/llama-gqa", "peers/pytorch/tiny/llama-gqa/config.json"},
};

/* What the case says of the loop, in the words of torch. */
static const struct {
    const char *theirs, *ours;
} words[] = {{"adamw", "adamw-foreach"}, {"adam", "adam-foreach"}, {"default", "foreach"}};

static const char *word_of(const char *theirs)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].theirs, theirs) == 0) {
            return words[i].ours;
        }
    }
    return theirs;
}

static const char *model_of(const struct json *line)
{
    const char *shadow = shadow_text(line, "model");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (strcmp(models[i].shadow, shadow) == 0) {
            return models[i].model;
        }
    }
    return shadow;
}

static void said_take(const struct json *line, const char *key, struct workload *workload)
{
    const char *text = json_string_or(json_get(line, key), NULL);
    if (text != NULL) {
        assert_int_equal(workload_set(workload, key, word_of(text), NULL), STATUS_OK);
    }
}

static struct workload workload_of(const struct json *line)
{
    struct workload workload = workload_default(MODE_LOAD);
    const char *program = shadow_text(line, "program");
    assert_int_equal(workload_set(&workload, "mode", shadow_text(line, "mode"), NULL), STATUS_OK);
    workload = workload_default(workload.mode);
    assert_int_equal(workload_set(&workload, "program", program, NULL), STATUS_OK);
    program_apply(workload.program, &workload);
    said_take(line, "precision", &workload);
    said_take(line, "optimizer", &workload);
    said_take(line, "clip_grad", &workload);
    workload.batch = json_integer_or(json_get(line, "batch"), 1);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.checkpointing = json_boolean_or(json_get(line, "checkpointing"), false);
    workload.accumulate = json_integer_or(json_get(line, "accumulate"), 1);
    workload.lora_rank = json_integer_or(json_get(line, "lora_rank"), 0);
    if (strcmp(program, "plain-loop") == 0 || strcmp(program, "peft-script") == 0) {
        said_take(line, "outputs", &workload);
        said_take(line, "zero_grad", &workload);
        workload.use_cache = json_boolean_or(json_get(line, "use_cache"), true);
    }
    return workload;
}

static int64_t peak_of(const struct json *line, const char *stage)
{
    return json_integer_or(json_get(json_get(json_get(line, "stages"), stage), "requested_bytes_peak"), 0);
}

static int64_t end_of(const struct json *line, const char *stage)
{
    return json_integer_or(json_get(json_get(json_get(line, "stages"), stage), "requested_bytes"), 0);
}

/* Not held here: options of the Trainer that the case of assay has not, or has by another name. */
static bool is_other(const struct json *line)
{
    static const char *const keys[] = {"max_grad_norm", "label_smoothing_factor"};
    bool is = strcmp(shadow_text(line, "optimizer"), "adafactor") == 0 ||
              strcmp(shadow_text(line, "precision"), "amp-float16") == 0;
    /* The Trainer has two groups of parameters, with and without decay: their square roots are not held together. */
    is = is || (strcmp(shadow_text(line, "program"), "hf-trainer") == 0 &&
                strcmp(shadow_text(line, "optimizer"), "adamw") == 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        is = is || json_get(line, keys[i]) != NULL;
    }
    return is;
}

/* Gradients that a program zeroes and dropout of adapters are held elsewhere or nowhere. */
static bool is_held(const struct json *line)
{
    struct workload workload = workload_default(MODE_TRAIN);
    if (strcmp(shadow_text(line, "status"), "ok") != 0 ||
        workload_set(&workload, "program", shadow_text(line, "program"), NULL) != STATUS_OK) {
        return false;
    }
    return json_boolean_or(json_get(line, "set_to_none"), true) && !is_other(line) &&
           json_integer_or(json_get(line, "lora_rank"), 0) == 0;
}

static int failed_count;

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0 || !is_held(line)) {
        return false;
    }
    struct modelled modelled = {0};
    struct stage_figures figures;
    struct workload workload = workload_of(line);
    int64_t slack_bytes = SCALAR_BYTES + BATCH_TENSORS * 8 * workload.batch * workload.seq;
    modelled_require(&modelled, model_of(line), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    stage_figures_take(&view, &figures);
    for (int stage = STAGE_FORWARD; stage <= STAGE_STEP; stage++) {
        int64_t theirs = peak_of(line, stage_name((enum stage)stage));
        int64_t clip = stage == STAGE_STEP ? peak_of(line, "clip") : 0;
        theirs = clip > theirs ? clip : theirs;
        /* Their stage begins before zero_grad(), ours behind it: what begins it is the end of the step. */
        bool is_begin = stage == STAGE_FORWARD && llabs(theirs - end_of(line, "step")) <= slack_bytes;
        if (theirs > 0 && !(is_begin && figures.peak[stage] <= theirs) &&
            llabs(figures.peak[stage] - theirs) > slack_bytes) {
            print_message("%s, %s: peak %lld; the program %lld\n", shadow_text(line, "id"),
                          stage_name((enum stage)stage), (long long)figures.peak[stage], (long long)theirs);
            failed_count++;
        }
    }
    modelled_close(&modelled);
    return true;
}

static void a_row_is_what_its_program_does(void **state)
{
    (void)state;
    int tiny = shadow_lines_each("peers/pytorch/programs-tiny-torch-2.11.0-transformers-5.23.0.jsonl", line_check);
    int real = shadow_lines_each("peers/pytorch/programs-torch-2.11.0-transformers-5.23.0.jsonl", line_check);
    print_message("%d tiny cases, %d real ones\n", tiny, real);
    assert_int_equal(failed_count, 0);
    assert_true(tiny >= 22 && real >= 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_is_what_its_program_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
