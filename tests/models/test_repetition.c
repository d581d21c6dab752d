/* A tape that tells repetitions once says what the one with all of them recorded says: every figure of a replay, with
 * and without a bound, what is alive at its peaks, and where it is refused. Families, caches, beams, precisions and
 * micro-batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/meta.h"
#include "harness/memory/allocator.h"
#include "harness/replay/moment.h"
#include "harness/replay/peak.h"
#include "harness/replay/replay.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"
#include "tests/support/sanitized.h"

/* -- two tapes of one case */

struct pair {
    char name[200]; /* for people */
    struct config config;
    struct skeleton skeleton;
    struct tape *recorded, *brief;
};

/* layers 0: those of the model. False where there is no such case; that both tapes say so with the same words is looked
 * at. */
static bool pair_open(struct pair *pair, const char *model, int64_t layers, const struct workload *workload)
{
    struct status recorded = {0}, brief = {0};
    const struct target *target = NULL;
    *pair = (struct pair){0};
    snprintf(pair->name, sizeof pair->name, "%s %s %s b%lld s%lld n%lld a%lld beams %lld %s %s %s, %lld layers", model,
             mode_name(workload->mode), precision_name(workload->precision), (long long)workload->batch,
             (long long)workload->seq, (long long)workload->new_tokens, (long long)workload->accumulate,
             (long long)workload->beams, cache_name(workload->cache), cache_dtype_name(workload->cache_dtype),
             attention_name(workload->attention), (long long)layers);
    if (config_find("models/catalogue", model, &pair->config, &recorded) != STATUS_OK ||
        target_find("sm_90", &target, &recorded) != STATUS_OK) {
        fail_msg("%s: %s", pair->name, recorded.text);
    }
    pair->config.layers = layers > 0 ? layers : pair->config.layers;
    pair->config.decoder_layers = layers > 0 && pair->config.decoder_layers > 0 ? layers : pair->config.decoder_layers;
    if (workload_check(workload, &recorded) != STATUS_OK ||
        workload_skeleton(&pair->config, workload, &pair->skeleton, &recorded) != STATUS_OK) {
        return false;
    }
    enum status_code code = workload_tape(&pair->config, &pair->skeleton, workload, target, &pair->recorded, &recorded);
    if (workload_tape_brief(&pair->config, &pair->skeleton, workload, target, false, &pair->brief, &brief) != code ||
        strcmp(recorded.text, brief.text) != 0) {
        fail_msg("%s: recorded: %s; brief: %s", pair->name, recorded.text, brief.text);
    }
    return code == STATUS_OK;
}

static void pair_close(struct pair *pair)
{
    tape_release(pair->recorded);
    tape_release(pair->brief);
    skeleton_release(&pair->skeleton);
}

/* -- figures */

static enum status_code replay_of(const struct tape *tape, int64_t bound_bytes, struct replay_result *result)
{
    struct device *device = NULL;
    struct status error = {0};
    struct tape_view view = tape_view(tape);
    *result = (struct replay_result){0};
    assert_int_equal(meta_open(bound_bytes, &device, &error), STATUS_OK);
    enum status_code code = replay_run(&view, device, NULL, result, &error);
    if (code != STATUS_OK && code != STATUS_OUT_OF_MEMORY) {
        fail_msg("%s", error.text);
    }
    device_close(device);
    return code;
}

static void figure_equal(const struct pair *pair, int64_t bound, const char *what, int64_t recorded, int64_t brief)
{
    if (recorded != brief) {
        fail_msg("%s, bound %lld: %s: recorded %lld, brief %lld", pair->name, (long long)bound, what,
                 (long long)recorded, (long long)brief);
    }
}

static void causes_equal(const struct pair *pair, int64_t bound, const struct replay_causes *a,
                         const struct replay_causes *b)
{
    figure_equal(pair, bound, "rounding", a->rounding_bytes, b->rounding_bytes);
    figure_equal(pair, bound, "remainders", a->unsplit_remainder_bytes, b->unsplit_remainder_bytes);
    figure_equal(pair, bound, "count of remainders", a->unsplit_remainder_count, b->unsplit_remainder_count);
    figure_equal(pair, bound, "cached", a->cached_bytes, b->cached_bytes);
}

static void stages_equal(const struct pair *pair, int64_t bound, const struct replay_result *a,
                         const struct replay_result *b)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        const struct replay_stage *x = &a->stages[i], *y = &b->stages[i];
        figure_equal(pair, bound, "present", x->present, y->present);
        figure_equal(pair, bound, "requested", x->requested_bytes, y->requested_bytes);
        figure_equal(pair, bound, "requested peak", x->requested_bytes_peak, y->requested_bytes_peak);
        figure_equal(pair, bound, "allocated", x->allocated_bytes, y->allocated_bytes);
        figure_equal(pair, bound, "allocated peak", x->allocated_bytes_peak, y->allocated_bytes_peak);
        figure_equal(pair, bound, "reserved", x->reserved_bytes, y->reserved_bytes);
        figure_equal(pair, bound, "reserved peak", x->reserved_bytes_peak, y->reserved_bytes_peak);
        figure_equal(pair, bound, "workspace", x->workspace_allocated_bytes, y->workspace_allocated_bytes);
        for (int k = 0; k < CATEGORY_COUNT; k++) {
            figure_equal(pair, bound, category_name((enum category)k), x->categories_at_peak[k],
                         y->categories_at_peak[k]);
        }
    }
}

/* Returns the highest reserved bytes. */
static int64_t replays_equal(const struct pair *pair, int64_t bound)
{
    struct replay_result a, b;
    enum status_code code = replay_of(pair->recorded, bound, &a);
    figure_equal(pair, bound, "outcome", code, replay_of(pair->brief, bound, &b));
    stages_equal(pair, bound, &a, &b);
    causes_equal(pair, bound, &a.causes_at_load, &b.causes_at_load);
    causes_equal(pair, bound, &a.causes_at_end, &b.causes_at_end);
    figure_equal(pair, bound, "saved for backward", a.saved_for_backward_bytes, b.saved_for_backward_bytes);
    figure_equal(pair, bound, "segments", a.segment_count, b.segment_count);
    figure_equal(pair, bound, "wanted", a.oom_wanted_bytes, b.oom_wanted_bytes);
    figure_equal(pair, bound, "held", a.oom_held_bytes, b.oom_held_bytes);
    figure_equal(pair, bound, "stage of the refusal", a.oom_stage, b.oom_stage);
    if (code == STATUS_OK) {
        figure_equal(pair, bound, "allocations", a.alloc_count, b.alloc_count);
    } else {
        assert_string_equal(a.oom_label, b.oom_label);
    }
    return a.reserved_bytes_peak;
}

/* -- what is alive */

static void peaks_equal(const struct pair *pair)
{
    struct tape_view recorded = tape_view(pair->recorded), brief = tape_view(pair->brief);
    struct peak a = {0}, b = {0};
    assert_int_equal(peak_find(&recorded, STAGE_COUNT, &a, NULL), STATUS_OK);
    assert_int_equal(peak_find(&brief, STAGE_COUNT, &b, NULL), STATUS_OK);
    figure_equal(pair, 0, "stage of the peak", a.stage, b.stage);
    figure_equal(pair, 0, "bytes of the peak", a.requested_bytes, b.requested_bytes);
    figure_equal(pair, 0, "tensors of the peak", a.tensor_count, b.tensor_count);
    for (int i = 0; i < a.tensor_count; i++) {
        assert_string_equal(a.tensors[i].name, b.tensors[i].name);
        figure_equal(pair, 0, a.tensors[i].name, a.tensors[i].bytes, b.tensors[i].bytes);
        figure_equal(pair, 0, a.tensors[i].name, a.tensors[i].count, b.tensors[i].count);
    }
    peak_release(&a);
    peak_release(&b);
}

static void moments_equal(const struct pair *pair)
{
    struct tape_view recorded = tape_view(pair->recorded), brief = tape_view(pair->brief);
    struct moment a, b;
    int64_t a_bytes = 0, b_bytes = 0, a_blocks = 0, b_blocks = 0;
    assert_int_equal(moment_find(&recorded, HIGH_WATER_RESERVED, STAGE_COUNT, &a, NULL), STATUS_OK);
    assert_int_equal(moment_find(&brief, HIGH_WATER_RESERVED, STAGE_COUNT, &b, NULL), STATUS_OK);
    figure_equal(pair, 0, "stage of the moment", a.stage, b.stage);
    figure_equal(pair, 0, "requested then", a.requested_bytes, b.requested_bytes);
    figure_equal(pair, 0, "allocated then", a.allocated_bytes, b.allocated_bytes);
    figure_equal(pair, 0, "fragments then", a.fragment_bytes, b.fragment_bytes);
    figure_equal(pair, 0, "held then", a.held_count, b.held_count);
    for (int i = 0; i < a.held_count; i++) {
        a_bytes += a.held[i].bytes;
        a_blocks += a.held[i].block_bytes;
        b_bytes += b.held[i].bytes;
        b_blocks += b.held[i].block_bytes;
    }
    figure_equal(pair, 0, "bytes of what is held", a_bytes, b_bytes);
    figure_equal(pair, 0, "blocks of what is held", a_blocks, b_blocks);
    assert_int_equal(b_bytes, b.requested_bytes);
    moment_release(&a);
    moment_release(&b);
}

/* Whether the case exists. Bounds: as the tape itself needs them, and what lies between tensors alone and no bound at
 * all. */
static bool case_is_equal(const char *model, int64_t layers, const struct workload *workload)
{
    struct pair pair;
    bool exists = pair_open(&pair, model, layers, workload);
    if (exists) {
        struct replay_result result;
        int64_t reserved = replays_equal(&pair, 0);
        replay_of(pair.recorded, 0, &result);
        int64_t tensors = result.requested_bytes_peak;
        replays_equal(&pair, tensors - tensors / 64);
        replays_equal(&pair, tensors + (reserved - tensors) / 3);
        replays_equal(&pair, reserved - ALLOCATOR_SMALL_SEGMENT_BYTES);
        peaks_equal(&pair);
        moments_equal(&pair);
    }
    pair_close(&pair);
    return exists;
}

/* -- cases. Figures are what this asks for: sanitizers see one case in so many, other ones in each family. */

enum { STEP = IS_SANITIZED ? 3 : 1 };

static const char *const generating[] = {
    "tiny-gpt2",  "tiny-llama",   "tiny-mistral",        "tiny-qwen2",        "tiny-qwen3",       "tiny-gpt-neox",
    "tiny-gemma", "tiny-gemma2",  "tiny-gemma3",         "tiny-phi3",         "tiny-opt",         "tiny-opt-projected",
    "tiny-bloom", "tiny-mixtral", "tiny-qwen2-moe",      "tiny-qwen3-moe",    "tiny-deepseek-v2", "tiny-deepseek-v3",
    "tiny-t5",    "tiny-falcon",  "tiny-falcon-grouped", "tiny-falcon-alibi", "tiny-gpt-neo",
};

enum { GENERATING = sizeof generating / sizeof generating[0] };

static struct workload generation(int64_t new_tokens)
{
    struct workload workload = workload_default(MODE_GENERATE);
    workload.seq = 16;
    workload.new_tokens = new_tokens;
    workload.precision = PRECISION_BFLOAT16;
    return workload;
}

/* Every family with every cache, attention and beams, twice: as it is, and with layers enough to go in circles. */
static void generations_are_equal(void **state)
{
    (void)state;
    static const struct {
        enum cache cache;
        enum cache_dtype dtype;
        int64_t beams, new_tokens;
    } caches[] = {
        {CACHE_DYNAMIC, CACHE_DTYPE_AUTO, 1, 60}, {CACHE_STATIC, CACHE_DTYPE_AUTO, 1, 60},
        {CACHE_DYNAMIC, CACHE_DTYPE_FP8, 1, 60},  {CACHE_DYNAMIC, CACHE_DTYPE_AUTO, 3, 60},
        {CACHE_STATIC, CACHE_DTYPE_AUTO, 3, 24},
    };
    int count = 0;
    for (int i = 0; i < GENERATING * 5 * 4; i += STEP) {
        struct workload workload = generation(caches[i % 5].new_tokens);
        workload.cache = caches[i % 5].cache;
        workload.cache_dtype = caches[i % 5].dtype;
        workload.beams = caches[i % 5].beams;
        workload.attention = i / 5 % 2 == 0 ? ATTENTION_SDPA : ATTENTION_EAGER;
        workload.precision = i / 5 % 2 == 0 ? PRECISION_BFLOAT16 : PRECISION_FLOAT32;
        workload.batch = i / 10 % 2 == 0 ? 1 : 3;
        workload.seq = 4;
        count += case_is_equal(generating[i / 20], i / 10 % 2 == 0 ? 0 : 9, &workload) ? 1 : 0;
    }
    assert_in_range(count, GENERATING * 10 / STEP, GENERATING * 20 / STEP);
}

/* A residual of 128 tokens; groups of 64. */
static void integer_caches_are_equal(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct workload workload = generation(128 * 6 + 50);
        workload.cache_dtype = i % 2 == 0 ? CACHE_DTYPE_INT4 : CACHE_DTYPE_INT2;
        workload.beams = i < 2 ? 1 : 2;
        workload.seq = 64;
        assert_true(case_is_equal("tiny-qwen2", i < 2 ? 8 : 0, &workload));
    }
}

/* Windows are reached in mid-generation; sizes stop growing there. */
static void windows_are_equal(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-mistral", "tiny-gemma2", "tiny-gemma3", "tiny-phi3"};
    for (int i = 0; i < 4; i++) {
        for (int64_t seq = 1; seq <= 9; seq += 4) {
            struct workload workload = generation(100);
            workload.attention = ATTENTION_EAGER;
            workload.seq = seq;
            case_is_equal(models[i], 10, &workload);
            workload.attention = ATTENTION_SDPA;
            case_is_equal(models[i], 10, &workload);
        }
    }
}

/* Small blocks become large ones, segments are taken and outgrown. */
static void large_sizes_are_equal(void **state)
{
    (void)state;
    struct workload workload = generation(400);
    workload.batch = 48;
    assert_true(case_is_equal("Qwen/Qwen2.5-0.5B", 12, &workload));
    workload.attention = ATTENTION_EAGER;
    workload.new_tokens = 200;
    assert_true(case_is_equal("Qwen/Qwen2.5-0.5B", 12, &workload));
    workload = generation(300);
    workload.batch = 40;
    assert_true(case_is_equal("HuggingFaceTB/SmolLM2-135M", 0, &workload));
    workload.cache = CACHE_STATIC;
    assert_true(case_is_equal("HuggingFaceTB/SmolLM2-135M", 0, &workload));
}

/* Memory is refused in mid-layer, again and again, where what is supposed must be made good. */
static void every_bound_is_equal(void **state)
{
    (void)state;
    static const char *const models[] = {"Qwen/Qwen2.5-0.5B", "tiny-gpt-neox", "tiny-deepseek-v2"};
    for (int i = 0; i < 3; i++) {
        struct pair pair;
        struct replay_result result;
        struct workload workload = generation(160);
        workload.batch = i == 0 ? 48 : 400;
        assert_true(pair_open(&pair, models[i], 14, &workload));
        replay_of(pair.recorded, 0, &result);
        int64_t tensors = result.requested_bytes_peak, reserved = result.reserved_bytes_peak;
        for (int64_t part = 0; part < 40; part += STEP) {
            replays_equal(&pair, tensors + (reserved - tensors) * part / 40);
        }
        pair_close(&pair);
    }
}

static void micro_batches_are_equal(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-bert", "tiny-gpt2", "tiny-llama",  "tiny-t5",
                                         "tiny-vit",  "tiny-vgg",  "tiny-resnet", "tiny-mixtral"};
    static const enum optimizer optimizers[] = {OPTIMIZER_ADAMW_FOREACH, OPTIMIZER_ADAM_FUSED, OPTIMIZER_ADAM_8BIT,
                                                OPTIMIZER_SGD_MOMENTUM};
    for (int i = 0; i < 8 * 4; i++) {
        struct workload workload = workload_default(MODE_TRAIN);
        workload.seq = i / 4 == 4 || i / 4 == 5 || i / 4 == 6 ? 0 : 16;
        workload.batch = 2;
        workload.accumulate = 3 + i % 23;
        workload.optimizer = optimizers[i % 4];
        workload.zero_grad = (enum zero_grad)(i % ZERO_GRAD_COUNT);
        workload.zero_grad_to = (enum zero_grad_to)(i / 3 % ZERO_GRAD_TO_COUNT);
        workload.outputs = (enum outputs)(i / 2 % OUTPUTS_COUNT);
        workload.use_cache = i / 2 % 3 == 0 && workload.seq > 0;
        workload.checkpointing = i % 3 == 0 && workload.seq > 0;
        workload.precision = i % 2 == 0 ? PRECISION_FLOAT32 : PRECISION_AMP_FLOAT16;
        assert_true(case_is_equal(models[i / 4], 0, &workload));
    }
    struct workload adapted = workload_default(MODE_TRAIN);
    adapted.precision = PRECISION_INT4;
    adapted.lora_rank = 4;
    adapted.accumulate = 9;
    adapted.seq = 16;
    assert_true(case_is_equal("tiny-llama", 0, &adapted));
}

/* -- at random, but the same in every run */

static uint64_t random_next(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

static void random_cases_are_equal(void **state)
{
    (void)state;
    uint64_t seed = 20;
    int count = 0;
    for (int i = 0; i < 70 / STEP; i++) {
        struct workload workload = generation(1 + (int64_t)random_next(&seed, 150));
        workload.batch = 1 + (int64_t)random_next(&seed, 40);
        workload.seq = 1 + (int64_t)random_next(&seed, 40);
        workload.cache = (enum cache)random_next(&seed, CACHE_COUNT);
        workload.beams = random_next(&seed, 4) == 0 ? 2 + (int64_t)random_next(&seed, 3) : 1;
        workload.attention = random_next(&seed, 2) == 0 ? ATTENTION_SDPA : ATTENTION_EAGER;
        workload.precision = (enum precision)random_next(&seed, PRECISION_COUNT);
        workload.logits = random_next(&seed, 2) == 0 ? LOGITS_ALL : LOGITS_LAST;
        const char *model = generating[random_next(&seed, GENERATING)];
        count += case_is_equal(model, 2 + (int64_t)random_next(&seed, 14), &workload) ? 1 : 0;
    }
    assert_in_range(count, 20 / STEP, 70 / STEP);
}

/* -- what it is for */

static void a_long_generation_is_a_short_tape(void **state)
{
    (void)state;
    struct config config;
    struct skeleton skeleton;
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct workload workload = generation(100000);
    workload.seq = 4;
    assert_int_equal(config_find("models/catalogue", "meta-llama/Llama-3.1-8B", &config, NULL), STATUS_OK);
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    assert_int_equal(workload_skeleton(&config, &workload, &skeleton, NULL), STATUS_OK);
    assert_int_equal(workload_tape_brief(&config, &skeleton, &workload, target, false, &tape, NULL), STATUS_OK);
    assert_in_range(tape_view(tape).event_count, 1, 40000);
    assert_int_equal(tape_view(tape).repeat_count, 1);
    tape_release(tape);
    skeleton_release(&skeleton);
}

static void many_micro_batches_are_a_short_tape(void **state)
{
    (void)state;
    struct pair few;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct replay_result expected, result;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.accumulate = 12;
    workload.seq = 16;
    assert_true(pair_open(&few, "tiny-gpt2", 0, &workload));
    replay_of(few.recorded, 0, &expected);
    workload.accumulate = INT64_C(1) << 40;
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    assert_int_equal(workload_tape_brief(&few.config, &few.skeleton, &workload, target, false, &tape, NULL), STATUS_OK);
    assert_int_equal(replay_of(tape, 0, &result), STATUS_OK);
    figure_equal(&few, 0, "requested", expected.requested_bytes_peak, result.requested_bytes_peak);
    figure_equal(&few, 0, "reserved", expected.reserved_bytes_peak, result.reserved_bytes_peak);
    tape_release(tape);
    pair_close(&few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generations_are_equal),
        cmocka_unit_test(integer_caches_are_equal),
        cmocka_unit_test(windows_are_equal),
        cmocka_unit_test(large_sizes_are_equal),
        cmocka_unit_test(every_bound_is_equal),
        cmocka_unit_test(micro_batches_are_equal),
        cmocka_unit_test(random_cases_are_equal),
        cmocka_unit_test(a_long_generation_is_a_short_tape),
        cmocka_unit_test(many_micro_batches_are_a_short_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
