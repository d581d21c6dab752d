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

#include "tests/models/program_lines.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

enum { SCALAR_BYTES = 512, BATCH_TENSORS = 6 };

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
    bool drops_out = strcmp(shadow_text(line, "program"), "peft-script") == 0;
    return json_boolean_or(json_get(line, "set_to_none"), true) && !is_other(line) && !drops_out;
}

/* Older Trainers that our tape does not follow to the end: checkpoints of the reentrant kind, which were the default
 * before 5 (0.4 % of the tiny model's peak). */
static bool is_followed(const struct json *line)
{
    return json_get(line, "release") == NULL || !json_boolean_or(json_get(line, "checkpointing"), false);
}

static int failed_count, managed_count;

/* Of optimizers of bitsandbytes alone: what the program had in managed memory. */
static void managed_check(const struct json *line, const struct tape_view *view)
{
    int64_t theirs = json_integer_or(json_get(json_get(json_get(line, "stages"), "managed"), "bytes"), 0);
    if (view->managed.bytes != theirs) {
        print_message("%s: %lld bytes of managed memory; the program %lld\n", shadow_text(line, "id"),
                      (long long)view->managed.bytes, (long long)theirs);
        failed_count++;
    }
    managed_count += theirs > 0;
}

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0 || !is_held(line) || !is_followed(line)) {
        return false;
    }
    struct modelled modelled = {0};
    struct stage_figures figures;
    struct workload workload = program_line_workload(line);
    int64_t slack_bytes = SCALAR_BYTES + BATCH_TENSORS * 8 * workload.batch * workload.seq;
    modelled_require(&modelled, shadow_model(line), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    stage_figures_take(&view, &figures);
    managed_check(line, &view);
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
    int old = shadow_lines_each("peers/pytorch/programs-tiny-torch-2.11.0-transformers-4.46.0.jsonl", line_check) +
              shadow_lines_each("peers/pytorch/programs-tiny-torch-2.11.0-transformers-4.51.3.jsonl", line_check);
    int bitsandbytes = shadow_lines_each(
        "peers/pytorch/programs-torch-2.11.0-transformers-5.23.0-bitsandbytes-0.50.2.jsonl", line_check);
    assert_true(bitsandbytes >= 12 && managed_count >= 8);
    print_message("%d tiny cases, %d real ones, %d of older releases\n", tiny, real, old);
    assert_true(old >= 8);
    assert_int_equal(failed_count, 0);
    assert_true(tiny >= 40 && real >= 39);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_is_what_its_program_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
