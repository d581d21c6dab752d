/* Real tapes on real devices: what is predicted on meta is what happens on the host, block by block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/replay/replay.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"

static void loading_bert_shows_the_published_pair(void **state)
{
    (void)state;
    struct modelled bert = {0};
    struct workload load = workload_default(MODE_LOAD);
    char text[SIZE_TEXT_BYTES];
    modelled_require(&bert, "bert-base-cased", &load, "sm_90");
    struct tape_view tape = tape_view(bert.tape);
    struct replay_result result = replay_on(&tape, "meta");
    const struct replay_stage *stage = &result.stages[STAGE_LOAD];
    assert_int_equal(stage->requested_bytes, 433249280);
    assert_int_equal(stage->allocated_bytes, 433773568);
    assert_int_equal(stage->reserved_bytes, 490733568);
    assert_string_equal(size_format(stage->requested_bytes, text), "413.18 MiB");
    assert_string_equal(size_format(stage->allocated_bytes, text), "413.68 MiB");
    assert_int_equal(result.causes_at_load.rounding_bytes, 0);
    assert_int_equal(result.causes_at_load.unsplit_remainder_bytes, 512 * 1024);
    assert_int_equal(result.causes_at_load.unsplit_remainder_count, 1);
    modelled_close(&bert);
}

static void figures_agree(const struct replay_result *predicted, const struct replay_result *measured)
{
    assert_true(predicted->sequence_hash == measured->sequence_hash);
    for (int i = 0; i < STAGE_COUNT; i++) {
        const struct replay_stage *a = &predicted->stages[i], *b = &measured->stages[i];
        assert_int_equal(a->present, b->present);
        assert_int_equal(a->requested_bytes_peak, b->requested_bytes_peak);
        assert_int_equal(a->allocated_bytes_peak, b->allocated_bytes_peak);
        assert_int_equal(a->reserved_bytes_peak, b->reserved_bytes_peak);
        assert_int_equal(memcmp(a->categories_at_peak, b->categories_at_peak, sizeof a->categories_at_peak), 0);
        assert_false(a->reading.process_valid);
        assert_true(!b->present || b->reading.process_valid);
    }
}

static void training_agrees(const char *model, int64_t seq, enum attention attention)
{
    struct modelled tiny = {0};
    struct workload train = workload_default(MODE_TRAIN);
    train.batch = 2;
    train.seq = seq;
    train.attention = attention;
    modelled_require(&tiny, model, &train, "sm_90");
    struct tape_view tape = tape_view(tiny.tape);
    struct replay_result predicted = replay_on(&tape, "meta"), measured = replay_on(&tape, "host");
    figures_agree(&predicted, &measured);
    assert_false(predicted.loss_valid);
    assert_true(measured.loss_valid && isfinite(measured.loss) && measured.loss > 0);
    modelled_close(&tiny);
}

static void generation_agrees(const char *model, enum cache cache, int64_t beams)
{
    struct modelled tiny = {0};
    struct workload generate = workload_default(MODE_GENERATE);
    generate.batch = 2;
    generate.seq = 8;
    generate.new_tokens = 6;
    generate.cache = cache;
    generate.beams = beams;
    modelled_require(&tiny, model, &generate, "sm_90");
    struct tape_view tape = tape_view(tiny.tape);
    struct replay_result predicted = replay_on(&tape, "meta"), measured = replay_on(&tape, "host");
    figures_agree(&predicted, &measured);
    assert_true(predicted.stages[STAGE_FORWARD].present && predicted.stages[STAGE_GENERATE].present);
    assert_true(predicted.stages[STAGE_GENERATE].categories_at_peak[CATEGORY_KV_CACHE] > 0);
    modelled_close(&tiny);
}

/* Beyond 16 micro-batches they are told once: a device runs each of them, and what meta leaves out changes nothing. */
static void many_micro_batches_agree(void **state)
{
    (void)state;
    struct modelled tiny = {0};
    struct workload train = workload_default(MODE_TRAIN);
    train.seq = 8;
    train.accumulate = 40;
    modelled_require(&tiny, "tiny-llama", &train, "sm_90");
    struct tape_view tape = tape_view(tiny.tape);
    assert_int_equal(tape.repeat_count, 3); /* one for each step */
    struct replay_result predicted = replay_on(&tape, "meta"), measured = replay_on(&tape, "host");
    figures_agree(&predicted, &measured);
    assert_int_equal(predicted.alloc_count, measured.alloc_count);
    assert_true(measured.loss_valid && isfinite(measured.loss) && measured.loss > 0);
    modelled_close(&tiny);
}

static void text_models_generate_as_predicted(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt2", "tiny-llama", "tiny-mistral", "tiny-qwen2"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        generation_agrees(models[i], CACHE_DYNAMIC, 1);
        generation_agrees(models[i], CACHE_STATIC, 1);
        generation_agrees(models[i], CACHE_DYNAMIC, 3);
        generation_agrees(models[i], CACHE_STATIC, 3);
    }
}

static void text_models_train_as_predicted(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-bert", "tiny-gpt2", "tiny-llama"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        training_agrees(models[i], 16, ATTENTION_EAGER);
        training_agrees(models[i], 16, ATTENTION_SDPA);
    }
}

static void image_models_train_as_predicted(void **state)
{
    (void)state;
    training_agrees("tiny-vit", 0, ATTENTION_SDPA);
    training_agrees("tiny-resnet", 0, ATTENTION_SDPA);
}

/* A host that is bounded to the predicted bytes is enough for the run; with one segment less it is an outcome. */
static void the_predicted_bytes_are_enough_and_tight(void **state)
{
    (void)state;
    struct modelled tiny = {0};
    struct workload train = workload_default(MODE_TRAIN);
    train.seq = 16;
    train.attention = ATTENTION_EAGER;
    modelled_require(&tiny, "tiny-bert", &train, "sm_90");
    struct tape_view tape = tape_view(tiny.tape);
    int64_t needed_bytes = replay_on(&tape, "meta").reserved_bytes_peak;
    char spec[64];
    snprintf(spec, sizeof spec, "host:mem=%lldB", (long long)needed_bytes);
    assert_int_equal(replay_on(&tape, spec).reserved_bytes_peak, needed_bytes);
    snprintf(spec, sizeof spec, "host:mem=%lldB", (long long)needed_bytes - 1);
    struct device *device = NULL;
    struct replay_result result = {0};
    struct status error = {0};
    assert_int_equal(device_open(spec, &device, &error), STATUS_OK);
    assert_int_equal(replay_run(&tape, device, NULL, &result, &error), STATUS_OUT_OF_MEMORY);
    assert_true(result.oom_wanted_bytes > 0 && result.oom_held_bytes < needed_bytes);
    assert_non_null(strstr(error.text, result.oom_label));
    device_close(device);
    modelled_close(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_bert_shows_the_published_pair),
        cmocka_unit_test(text_models_generate_as_predicted),
        cmocka_unit_test(many_micro_batches_agree),
        cmocka_unit_test(text_models_train_as_predicted),
        cmocka_unit_test(image_models_train_as_predicted),
        cmocka_unit_test(the_predicted_bytes_are_enough_and_tight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
