/* What a pass returns: keys and values, and outputs that keep their name, in bytes and in numbers; and the forms of a
 * loss that take next to nothing, as real PyTorch has them (peers/pytorch/loss_forms.jsonl). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/shadow_lines.h"
#include "tests/models/tape_machine.h"
#include "tests/support/modelled.h"

static struct stage_figures figures_of(const char *model, const struct workload *workload)
{
    struct modelled modelled = {0};
    struct stage_figures figures;
    modelled_require(&modelled, model, workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    stage_figures_take(&view, &figures);
    modelled_close(&modelled);
    return figures;
}

static struct workload workload_of(enum mode mode, enum precision precision, int64_t batch, int64_t seq)
{
    struct workload workload = workload_default(mode);
    workload.precision = precision;
    workload.batch = batch;
    workload.seq = seq;
    return workload;
}

/* 2 tensors * 32 layers * 64 * 256 tokens * 4,096 numbers of 2 bytes; Mistral's have 8 heads of 128 and a window of
 * 4,096, which a cache of 6,000 tokens keeps views of: whole tensors, and 8 bytes a layer. */
static void a_plain_pass_returns_keys_and_values(void **state)
{
    (void)state;
    struct workload llama = workload_of(MODE_INFER, PRECISION_BFLOAT16, 64, 256);
    int64_t without = figures_of("meta-llama/Llama-2-7b-hf", &llama).peak[STAGE_FORWARD];
    llama.use_cache = true;
    assert_true(figures_of("meta-llama/Llama-2-7b-hf", &llama).peak[STAGE_FORWARD] - without ==
                INT64_C(2) * 32 * 64 * 256 * 4096 * 2);
    struct workload mistral = workload_of(MODE_INFER, PRECISION_BFLOAT16, 1, 6000);
    mistral.use_cache = true;
    mistral.outputs = OUTPUTS_KEPT;
    int64_t kept = figures_of("mistralai/Mistral-7B-v0.1", &mistral).end[STAGE_FORWARD];
    mistral.use_cache = false;
    assert_true(kept - figures_of("mistralai/Mistral-7B-v0.1", &mistral).end[STAGE_FORWARD] ==
                INT64_C(2) * 32 * 6000 * 8 * 128 * 2 + 32 * 8);
}

/* The logits of the step before: 20 * 512 tokens * 50,257 numbers of 4 bytes, also when a step is done; and with an
 * encoder what that made. Recomputed blocks are given no cache. */
static void kept_outputs_last_until_the_next_pass_has_returned(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t seq, bytes;
    } rows[] = {
        {"distilgpt2", 512, INT64_C(20) * 512 * 50257 * 4},
        {"bert-base-cased", 512, INT64_C(20) * 512 * 28996 * 4},
        {"timm/resnet50.a1_in1k", 0, INT64_C(20) * 1000 * 4},
        {"google-t5/t5-small", 512, INT64_C(20) * 512 * 4 * (32128 + 512)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = workload_of(MODE_TRAIN, PRECISION_FLOAT32, 20, rows[i].seq);
        struct stage_figures dropped = figures_of(rows[i].model, &workload);
        workload.outputs = OUTPUTS_KEPT;
        struct stage_figures kept = figures_of(rows[i].model, &workload);
        for (int stage = STAGE_BACKWARD; stage <= STAGE_STEP; stage++) { /* until then the graph keeps some of it too */
            assert_true(kept.end[stage] - dropped.end[stage] == rows[i].bytes);
        }
    }
    struct workload recomputed = workload_of(MODE_TRAIN, PRECISION_BFLOAT16, 4, 128);
    recomputed.checkpointing = true;
    recomputed.outputs = OUTPUTS_KEPT;
    struct stage_figures without = figures_of("gpt2", &recomputed);
    recomputed.use_cache = true;
    struct stage_figures with = figures_of("gpt2", &recomputed);
    assert_true(with.end[STAGE_FORWARD] == without.end[STAGE_FORWARD]);
    assert_true(with.peak[STAGE_BACKWARD] == without.peak[STAGE_BACKWARD]);
}

/* A float32 copy of half logits is what stays, and takes twice their bytes. */
static void converted_outputs_are_kept_in_float32(void **state)
{
    (void)state;
    struct workload workload = workload_of(MODE_TRAIN, PRECISION_AMP_BFLOAT16, 8, 512);
    workload.outputs = OUTPUTS_KEPT;
    struct stage_figures half = figures_of("gpt2", &workload);
    workload.float32_outputs = true;
    struct stage_figures copied = figures_of("gpt2", &workload);
    assert_true(copied.end[STAGE_STEP] - half.end[STAGE_STEP] == INT64_C(8) * 512 * 50257 * 2);
}

static double loss_of(const char *model, const struct workload *workload)
{
    char path[256];
    struct tape_machine machine;
    snprintf(path, sizeof path, "models/catalogue/%s/config.json", model);
    machine_open_for(&machine, "sm_90", path, workload, 3, 1e-2);
    assert_true(machine_run_until(&machine, STAGE_STEP, 3)); /* two steps have changed the weights */
    double loss = machine_loss(&machine);
    machine_close(&machine);
    return loss;
}

/* The third loss has two backward passes behind it: a gradient through a copy that a cache made is the same number. */
static void what_is_returned_changes_no_number(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt2", "tiny-llama",  "tiny-gemma3",      "tiny-t5",
                                         "tiny-opt",  "tiny-falcon", "tiny-deepseek-v2", "tiny-gpt-neo"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct workload workload = workload_of(MODE_TRAIN, PRECISION_FLOAT32, 2, 8);
        workload.attention = ATTENTION_EAGER;
        double plain = loss_of(models[i], &workload);
        workload.use_cache = true;
        workload.outputs = OUTPUTS_KEPT;
        double returned = loss_of(models[i], &workload);
        if (plain != returned) {
            fail_msg("%s: loss %.17g, with a cache %.17g", models[i], plain, returned);
        }
    }
}

/* -- the forms of a loss */

enum { ROW_BYTES = 8, MORE_BYTES = 64 };

static int64_t plain_peaks[STAGE_COUNT];

static bool form_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0) {
        return false;
    }
    const char *form = shadow_text(line, "form");
    int64_t seq = json_integer_or(json_get(line, "seq"), 1);
    int64_t rows = json_integer_or(json_get(line, "batch"), -1) * seq;
    for (int stage = STAGE_FORWARD; stage <= STAGE_STEP; stage++) {
        int64_t peak = json_integer_or(json_get(json_get(line, "peaks"), stage_name((enum stage)stage)), -1);
        assert_true(peak > 0);
        plain_peaks[stage] = strcmp(form, "plain") == 0 ? peak : plain_peaks[stage];
        int64_t more = peak - plain_peaks[stage];
        int64_t most = strcmp(form, "num_items") == 0 ? 4 : ROW_BYTES * rows + MORE_BYTES;
        if (more < 0 || more > most || (stage == STAGE_STEP && more != 0)) {
            fail_msg("%s, %s, %s: %lld bytes more than the plain loss", shadow_text(line, "id"), form,
                     stage_name((enum stage)stage), (long long)more);
        }
    }
    return strcmp(form, "plain") != 0;
}

/* What docs/FORMAT.md says of reductions, counts of items and label_smoothing, each beside the plain loss. */
static void forms_of_a_loss_take_some_bytes_a_row(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("peers/pytorch/loss_forms.jsonl", form_check), 5 * 2 * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_pass_returns_keys_and_values),
        cmocka_unit_test(kept_outputs_last_until_the_next_pass_has_returned),
        cmocka_unit_test(converted_outputs_are_kept_in_float32),
        cmocka_unit_test(what_is_returned_changes_no_number),
        cmocka_unit_test(forms_of_a_loss_take_some_bytes_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
