/* Leaps: a long generation whose repetitions are left out where they are known, held against the same with every one
 * carried out: all figures of every stage, with and without a bound. That both say what a recorded tape says is
 * test_repetition.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/meta.h"
#include "harness/replay/replay.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"

struct generation {
    const char *model;
    int64_t layers;
    struct workload workload;
    struct tape *tape;
    struct config config;
    struct skeleton skeleton; /* has the labels of the tape */
};

static struct workload workload_of(int64_t batch, int64_t seq, int64_t new_tokens)
{
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.batch = batch;
    workload.seq = seq;
    workload.new_tokens = new_tokens;
    return workload;
}

static bool generation_open(struct generation *generation)
{
    struct config *config = &generation->config;
    const struct target *target = NULL;
    assert_int_equal(config_find("models/catalogue", generation->model, config, NULL), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    config->layers = generation->layers;
    config->decoder_layers = config->decoder_layers > 0 ? generation->layers : config->decoder_layers;
    if (workload_check(&generation->workload, NULL) != STATUS_OK ||
        workload_skeleton(config, &generation->workload, &generation->skeleton, NULL) != STATUS_OK) {
        return false;
    }
    enum status_code code = workload_tape_brief(config, &generation->skeleton, &generation->workload, target, false,
                                                &generation->tape, NULL);
    if (code != STATUS_OK) {
        skeleton_release(&generation->skeleton);
    }
    return code == STATUS_OK;
}

static enum status_code replay_of(const struct tape *tape, int64_t bound_bytes, bool walked,
                                  struct replay_result *result)
{
    struct device *device = NULL;
    struct status error = {0};
    struct tape_view view = tape_view(tape);
    memset(result, 0, sizeof *result);
    assert_int_equal(meta_open(bound_bytes, &device, &error), STATUS_OK);
    enum status_code code =
        walked ? replay_run_unfolded(&view, device, result, &error) : replay_run(&view, device, NULL, result, &error);
    if (code != STATUS_OK && code != STATUS_OUT_OF_MEMORY) {
        fail_msg("%s", error.text);
    }
    device_close(device);
    return code;
}

/* Everything but how many were left out. Returns that. */
static int64_t leap_equals_walk(const struct generation *generation, int64_t bound_bytes, struct replay_result *leapt)
{
    struct replay_result walked;
    const struct workload *workload = &generation->workload;
    enum status_code code = replay_of(generation->tape, bound_bytes, false, leapt);
    enum status_code expected = replay_of(generation->tape, bound_bytes, true, &walked);
    int64_t left_out = leapt->left_out_count;
    assert_int_equal(walked.left_out_count, 0);
    walked.left_out_count = left_out;
    if (code != expected || memcmp(leapt, &walked, sizeof walked) != 0) {
        fail_msg("%s, %lld layers, %s %s %s batch %lld seq %lld tokens %lld beams %lld, bound %lld: reserved %lld, "
                 "walked %lld; "
                 "allocated %lld, walked %lld; tokens %lld, walked %lld",
                 generation->model, (long long)generation->layers, precision_name(workload->precision),
                 cache_name(workload->cache), attention_name(workload->attention), (long long)workload->batch,
                 (long long)workload->seq, (long long)workload->new_tokens, (long long)workload->beams,
                 (long long)bound_bytes, (long long)leapt->reserved_bytes_peak, (long long)walked.reserved_bytes_peak,
                 (long long)leapt->allocated_bytes_peak, (long long)walked.allocated_bytes_peak,
                 (long long)leapt->token_count, (long long)walked.token_count);
    }
    return left_out;
}

/* Without a bound, and with so many between what tensors need and what is reserved. Returns what was left out in
 * all. */
static int64_t generation_check(struct generation *generation, int bounds)
{
    struct replay_result result;
    if (!generation_open(generation)) {
        return 0;
    }
    int64_t left_out = leap_equals_walk(generation, 0, &result);
    int64_t tensors = result.requested_bytes_peak, reserved = result.reserved_bytes_peak;
    for (int i = 0; i < bounds; i++) {
        left_out += leap_equals_walk(generation, tensors + (reserved - tensors) * i / bounds, &result);
    }
    tape_release(generation->tape);
    skeleton_release(&generation->skeleton);
    return left_out;
}

/* What it is for: most of a long generation is known. */
static void most_of_a_long_generation_is_left_out(void **state)
{
    (void)state;
    struct replay_result result;
    struct generation generation = {
        .model = "meta-llama/Llama-3.1-8B", .layers = 6, .workload = workload_of(1, 128, 30000)};
    assert_true(generation_open(&generation));
    assert_in_range(leap_equals_walk(&generation, 0, &result), 20000, 30000);
    tape_release(generation.tape);
    skeleton_release(&generation.skeleton);
}

/* Positions of T5 have a bias for each: sizes that are no whole units, and eight tokens to a repetition. */
static void a_bias_for_each_position_is_left_out_too(void **state)
{
    (void)state;
    struct replay_result result;
    struct generation generation = {
        .model = "google/flan-t5-base", .layers = 2, .workload = workload_of(1, 128, 40000)};
    generation.workload.precision = PRECISION_FLOAT32;
    assert_true(generation_open(&generation));
    assert_in_range(leap_equals_walk(&generation, 0, &result), 3000, 5000); /* of some 5,000 */
    leap_equals_walk(&generation, result.requested_bytes_peak + (INT64_C(64) << 20), &result);
    tape_release(generation.tape);
    skeleton_release(&generation.skeleton);
}

static void every_bound_is_equal(void **state)
{
    (void)state;
    struct generation generation = {
        .model = "meta-llama/Llama-3.1-8B", .layers = 6, .workload = workload_of(2, 40, 9000)};
    assert_in_range(generation_check(&generation, 6), 5000, INT64_MAX);
    generation =
        (struct generation){.model = "meta-llama/Llama-3.1-8B", .layers = 32, .workload = workload_of(16, 128, 3000)};
    assert_in_range(generation_check(&generation, 2), 1000, INT64_MAX);
    generation = (struct generation){.model = "Qwen/Qwen2.5-0.5B", .layers = 7, .workload = workload_of(100, 40, 2000)};
    generation_check(&generation, 20);
}

static void caches_and_attention_are_equal(void **state)
{
    (void)state;
    for (int i = 0; i < CACHE_COUNT * 4; i++) {
        struct generation generation = {
            .model = "meta-llama/Llama-3.1-8B", .layers = 5, .workload = workload_of(i % 2 == 0 ? 8 : 3, 64, 2500)};
        generation.workload.cache = (enum cache)(i / 4);
        generation.workload.attention = i / 2 % 2 == 0 ? ATTENTION_SDPA : ATTENTION_EAGER;
        generation_check(&generation, 2);
    }
}

static uint64_t random_next(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

/* At random, but the same in every run: architectures with windows, latent caches and experts, beams, caches,
 * precisions. */
static void random_cases_are_equal(void **state)
{
    (void)state;
    static const char *const models[] = {
        "meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-0.5B", "gpt2",     "tiny-mistral", "tiny-gemma2",
        "tiny-deepseek-v2",        "tiny-mixtral",      "tiny-phi3"};
    uint64_t seed = 14;
    int64_t left_out = 0;
    for (int i = 0; i < 60; i++) {
        struct generation generation = {.model = models[random_next(&seed, 8)]};
        generation.layers = 2 + (int64_t)random_next(&seed, 8);
        int64_t batch = INT64_C(1) << random_next(&seed, 8);
        generation.workload =
            workload_of(batch, 1 + (int64_t)random_next(&seed, 60), 500 + (int64_t)random_next(&seed, 500));
        struct workload *workload = &generation.workload;
        workload->cache = (enum cache)random_next(&seed, CACHE_COUNT);
        workload->cache_dtype =
            (enum cache_dtype)(random_next(&seed, 4) == 0 ? random_next(&seed, CACHE_DTYPE_COUNT) : 0);
        workload->beams = random_next(&seed, 4) == 0 ? 2 + (int64_t)random_next(&seed, 3) : 1;
        workload->attention = random_next(&seed, 2) == 0 ? ATTENTION_SDPA : ATTENTION_EAGER;
        workload->precision = (enum precision)random_next(&seed, PRECISION_COUNT);
        workload->logits = random_next(&seed, 2) == 0 ? LOGITS_ALL : LOGITS_LAST;
        left_out += generation_check(&generation, 3);
    }
    assert_in_range(left_out, 1000, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_of_a_long_generation_is_left_out),
        cmocka_unit_test(a_bias_for_each_position_is_left_out_too),
        cmocka_unit_test(every_bound_is_equal),
        cmocka_unit_test(caches_and_attention_are_equal),
        cmocka_unit_test(random_cases_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
