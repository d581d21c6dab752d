/* The table of estimators, the rules of thumb, and how quantities become JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/family.h"
#include "tests/estimate/subject.h"

static void test_table(void **state)
{
    (void)state;
    int count = 0;
    for (; estimator_at(count) != NULL; count++) {
        const struct estimator *estimator = estimator_at(count);
        assert_ptr_equal(estimator_find(estimator->name), estimator);
        assert_true(strlen(estimator->what) > 0 && strlen(estimator->source) > 0);
    }
    assert_true(count >= 3);
    assert_string_equal(estimator_at(0)->name, "replay"); /* reports show it first */
    assert_null(estimator_at(-1));
    assert_null(estimator_find("horoscope"));
}

/* A case is held against today's model, so today's buffers count, and the head does not. */
static void test_accelerate_cases(void **state)
{
    struct workload workload = workload_default(MODE_LOAD);
    (void)state;
    struct estimate estimate = estimate_of("accelerate", "bert-base-cased", workload);
    known_check(&estimate, "total_bytes", 433249280);
    known_check(&estimate, "largest_layer_bytes", 90669056);
    workload.precision = PRECISION_BFLOAT16;
    estimate = estimate_of("accelerate", "bert-base-cased", workload);
    known_check(&estimate, "total_bytes", 433249280 / 2);
    estimate = estimate_of("accelerate", "bert-base-cased", train(PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH));
    known_check(&estimate, "total_bytes", INT64_C(4) * 433249280);
    estimate = estimate_of("accelerate", "bert-base-cased", train(PRECISION_AMP_FLOAT16, OPTIMIZER_ADAM_FOREACH));
    known_check(&estimate, "total_bytes", INT64_C(2) * 433249280);
    known_check(&estimate, "stages.gradients_bytes", 649873920);
    estimate = estimate_of("accelerate", "Llama-2-7b", workload);
    known_check(&estimate, "total_bytes", INT64_C(2) * 6607343616 + 256);

    struct subject *subject = subject_new("gpt2", train(PRECISION_FLOAT32, OPTIMIZER_SGD_MOMENTUM));
    struct estimate_input input = {
        .config = &subject->config, .skeleton = &subject->skeleton, .workload = &subject->workload, .target = "host"};
    assert_false(estimator_applies(estimator_find("accelerate"), &input));
    subject_release(subject);
}

static void test_anatomy(void **state)
{
    const int64_t count = 124439808;
    struct estimate estimate = estimate_of("anatomy", "gpt2", train(PRECISION_AMP_BFLOAT16, OPTIMIZER_ADAMW_FUSED));
    (void)state;
    known_check(&estimate, "weights_bytes", 6 * count);
    known_check(&estimate, "gradients_bytes", 4 * count);
    known_check(&estimate, "optimizer_bytes", 8 * count);
    known_check(&estimate, "states_bytes", 18 * count);
    known_check(&estimate, "activations_bytes", 8 * 512 * 12 * 768 * 2);
    known_check(&estimate, "total_bytes", 18 * count + 8 * 512 * 12 * 768 * 2);

    struct workload eager = train(PRECISION_FLOAT32, OPTIMIZER_SGD_MOMENTUM);
    eager.attention = ATTENTION_EAGER;
    estimate = estimate_of("anatomy", "gpt2", eager);
    known_check(&estimate, "states_bytes", 12 * count);
    known_check(&estimate, "activations_bytes", INT64_C(8) * 512 * 12 * 768 * 4 + INT64_C(8) * 12 * 512 * 512 * 12 * 4);

    estimate = estimate_of("anatomy", "timm/resnet50.a1_in1k", train(PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH));
    known_check(&estimate, "states_bytes", 16 * 25557032);
    unknown_check(&estimate, "activations_bytes");
    unknown_check(&estimate, "total_bytes");

    estimate = estimate_of("anatomy", "google/vit-base-patch16-224", train(PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH));
    known_check(&estimate, "activations_bytes", 8 * 197 * 12 * 768 * 4);

    estimate = estimate_of("anatomy", "gpt2", train(PRECISION_AMP_BFLOAT16, OPTIMIZER_ADAM_8BIT));
    known_check(&estimate, "optimizer_bytes", 2 * count);

    struct workload checkpointed = train(PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH);
    checkpointed.checkpointing = true;
    estimate = estimate_of("anatomy", "gpt2", checkpointed);
    unknown_check(&estimate, "total_bytes");

    estimate = estimate_of("anatomy", "gpt2", workload_default(MODE_INFER));
    known_check(&estimate, "weights_bytes", 4 * count);
    unknown_check(&estimate, "total_bytes");
    estimate = estimate_of("anatomy", "gpt2", workload_default(MODE_LOAD));
    known_check(&estimate, "total_bytes", 4 * count);

    struct subject *subject = subject_new("gpt2", train(PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED));
    struct estimate_input input = {
        .config = &subject->config, .skeleton = &subject->skeleton, .workload = &subject->workload, .target = "host"};
    assert_false(estimator_applies(estimator_find("anatomy"), &input));
    subject_release(subject);
}

static void test_eleutherai(void **state)
{
    const int64_t count = 124439808;
    (void)state;
    struct estimate estimate = estimate_of("eleutherai", "gpt2", train(PRECISION_AMP_FLOAT16, OPTIMIZER_ADAMW_FUSED));
    known_check(&estimate, "states_bytes", 18 * count);
    known_check(&estimate, "activations_bytes", 2793406464);
    known_check(&estimate, "total_bytes", 5033323008);
    estimate = estimate_of("eleutherai", "gpt2", train(PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED));
    known_check(&estimate, "states_bytes", 16 * count);
    estimate = estimate_of("eleutherai", "gpt2", train(PRECISION_FLOAT32, OPTIMIZER_ADAMW_FUSED));
    known_check(&estimate, "states_bytes", 16 * count);
    known_check(&estimate, "activations_bytes", INT64_C(5209325568));
    known_check(&estimate, "total_bytes", INT64_C(7200362496));
    estimate = estimate_of("eleutherai", "gpt2", train(PRECISION_BFLOAT16, OPTIMIZER_ADAM_8BIT));
    known_check(&estimate, "optimizer_bytes", 6 * count); /* a float32 copy, 1 + 1 */
    estimate = estimate_of("eleutherai", "gpt2", train(PRECISION_FLOAT32, OPTIMIZER_ADAM_8BIT));
    known_check(&estimate, "optimizer_bytes", 2 * count);

    struct workload checkpointed = train(PRECISION_BFLOAT16, OPTIMIZER_SGD_MOMENTUM);
    checkpointed.checkpointing = true;
    estimate = estimate_of("eleutherai", "gpt2", checkpointed);
    known_check(&estimate, "optimizer_bytes", 8 * count);
    known_check(&estimate, "activations_bytes", INT64_C(2) * 512 * 8 * 768 * 12);

    struct workload infer = workload_default(MODE_INFER);
    infer.precision = PRECISION_FLOAT16;
    estimate = estimate_of("eleutherai", "Llama-2-7b", infer);
    known_check(&estimate, "weights_bytes", INT64_C(2) * 6738415616);
    known_check(&estimate, "total_bytes", INT64_C(16172197478));
}

/* No rule of thumb knows a cache that grows: null, not the figure of inference. */
static void test_generation(void **state)
{
    static const char *const rules[] = {"accelerate", "anatomy", "eleutherai"};
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        struct estimate estimate = estimate_of(rules[i], "gpt2", workload_default(MODE_GENERATE));
        unknown_check(&estimate, "total_bytes");
    }
    struct workload generate = workload_default(MODE_GENERATE);
    generate.seq = 512;
    generate.new_tokens = 16;
    generate.batch = 2;
    struct estimate estimate = estimate_of("replay", "gpt2", generate);
    known_check(&estimate, "categories_at_peak.kv_cache", INT64_C(2) * 12 * 2 * 12 * 512 * 64 * 4); /* in the prefill */
}

static void test_overflow(void **state)
{
    struct subject *subject = subject_new("gpt2", train(PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED));
    struct estimate_input input = {
        .config = &subject->config, .skeleton = &subject->skeleton, .workload = &subject->workload, .target = "host"};
    struct estimate estimate = {.count = -1};
    struct status error = {0};
    (void)state;
    subject->workload.batch = INT64_C(1) << 40;
    subject->workload.seq = INT64_C(1) << 20;
    assert_int_equal(estimate_compute(estimator_find("eleutherai"), &input, &estimate, &error), STATUS_OVERFLOW);
    assert_string_equal(error.text,
                        "estimator eleutherai: the activations do not fit 63 bits; write a smaller batch or seq");
    assert_int_equal(estimate.count, -1);
    subject_release(subject);
}

static void test_json(void **state)
{
    struct estimate estimate = {.estimator = "x"};
    struct text text = {0};
    (void)state;
    estimate_add(&estimate, "total_bytes", 7);
    estimate_add_text(&estimate, "peak_stage", "backward");
    estimate_add(&estimate, "stages.load.bytes", 1);
    estimate_add_unknown(&estimate, "stages.load.peak");
    estimate_add(&estimate, "stages.step.bytes", 2);
    estimate_note(&estimate, false, "not said");
    estimate_note(&estimate, true, "no rule for a peak");
    estimate_note(&estimate, true, "the first stays");
    struct json *document = estimate_to_json(&estimate);
    assert_int_equal(json_write(document, 0, &text, NULL), STATUS_OK);
    assert_string_equal(text_string(&text),
                        "{\"total_bytes\": 7, \"peak_stage\": \"backward\", \"stages\": {\"load\": {\"bytes\": 1, "
                        "\"peak\": null}, \"step\": {\"bytes\": 2}}, "
                        "\"note\": \"no rule for a peak\"}");
    text_release(&text);
    json_release(document);
    assert_null(estimate_get(&estimate, "total"));
}

/* A family without a forward pass: replay says that it does not know, and the rules that need none are asked all the
 * same. */
static void test_mode_that_is_not_modelled(void **state)
{
    struct subject *subject = subject_new("gpt2", workload_default(MODE_INFER));
    struct family family = *subject->config.family;
    (void)state;
    family.forward = NULL;
    subject->config.family = &family;
    struct estimate estimate = subject_estimate("replay", subject, NULL);
    unknown_check(&estimate, "allocated_bytes_peak");
    assert_string_equal(estimate.note, "of gpt2 models only loading is modelled");
    estimate = subject_estimate("accelerate", subject, NULL);
    known_check(&estimate, "total_bytes", 497759232);
    subject->workload = workload_default(MODE_LOAD);
    estimate = subject_estimate("replay", subject, NULL);
    known_check(&estimate, "requested_bytes_peak", 497759232);
    assert_string_equal(estimate.note, "");
    subject_release(subject);
    subject = subject_new("tiny-phi3", workload_default(MODE_TRAIN));
    subject->config.only_loads.cause = "its tables follow the length";
    estimate = subject_estimate("replay", subject, NULL);
    unknown_check(&estimate, "allocated_bytes_peak");
    assert_string_equal(estimate.note, "of this model only loading is modelled: its tables follow the length");
    subject_release(subject);
}

static bool has_unknown(const struct estimate *estimate)
{
    bool unknown = false;
    for (int i = 0; i < estimate->count; i++) {
        unknown = unknown || !estimate->quantities[i].known;
    }
    return unknown;
}

/* Every rule that applies, of every kind of model, mode and division: a note where something is unknown, and only
 * there. */
static void test_what_is_unknown_has_a_reason(void **state)
{
    static const char *const models[] = {"gpt2",
                                         "bert-base-cased",
                                         "timm/resnet18.a1_in1k",
                                         "google/vit-base-patch16-224",
                                         "google-t5/t5-small",
                                         "tiiuae/falcon-7b",
                                         "deepseek-ai/DeepSeek-V2",
                                         "mistralai/Mixtral-8x7B-v0.1"};
    static const struct parallel divisions[] = {{.data = 2, .tensor = 1, .pipeline = 1, .expert = 1, .zero = 3},
                                                {.data = 1, .tensor = 2, .pipeline = 2, .expert = 1}};
    int unknown_count = 0;
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0] * MODE_COUNT * 3; i++) {
        struct workload workload = workload_default((enum mode)(i / 3 % MODE_COUNT));
        workload.checkpointing = workload.mode == MODE_TRAIN && i % 3 == 0;
        struct subject *subject = subject_new(models[i / (3 * MODE_COUNT)], workload);
        struct estimate_input input = subject_input(subject, i % 3 > 0 ? &divisions[i % 3 - 1] : NULL);
        for (int k = 1; estimator_at(k) != NULL; k++) { /* 0 is replay */
            struct estimate estimate;
            if (!estimator_applies(estimator_at(k), &input) ||
                estimate_compute(estimator_at(k), &input, &estimate, NULL) != STATUS_OK) {
                continue;
            }
            if (has_unknown(&estimate) != (estimate.note[0] != '\0')) {
                fail_msg("%s of %s in mode %s: '%s'", estimate.estimator, subject->config.name,
                         mode_name(workload.mode), estimate.note);
            }
            unknown_count += has_unknown(&estimate) ? 1 : 0;
        }
        subject_release(subject);
    }
    assert_true(unknown_count > 50);
}

static struct constants_spread spread_of(int64_t median)
{
    return (struct constants_spread){.known = true, .median = median, .minimum = 0, .maximum = median, .count = 1};
}

static struct estimate replay_with(const struct constants *constants, enum mode mode)
{
    struct subject *subject =
        subject_new("tiny-gpt2", (struct workload){.mode = mode, .batch = 1, .seq = 8, .accumulate = 1});
    struct estimate_input input = {.config = &subject->config,
                                   .skeleton = &subject->skeleton,
                                   .workload = &subject->workload,
                                   .target = "host",
                                   .constants = constants};
    struct estimate estimate = {0};
    assert_int_equal(estimate_compute(estimator_find("replay"), &input, &estimate, NULL), STATUS_OK);
    subject_release(subject);
    return estimate;
}

/* segments + growth of the mode; + context. The process before the device, as a footprint is measured. */
static void test_constants(void **state)
{
    (void)state;
    struct constants constants = {
        .context = {.process = spread_of(1000), .device = spread_of(3000)},
        .growth = {{"load", {.process = spread_of(20), .device = spread_of(50)}}, {"infer", {.device = spread_of(70)}}},
        .growth_count = 2};
    struct estimate without = replay_with(NULL, MODE_LOAD), with = replay_with(&constants, MODE_LOAD);
    int64_t reserved = estimate_get(&without, "reserved_bytes_peak")->value;
    assert_null(estimate_get(&without, "process_bytes"));
    assert_null(estimate_get(&without, "footprint_bytes"));
    known_check(&with, "process_bytes", reserved + 20);
    known_check(&with, "device_bytes", reserved + 50);
    known_check(&with, "footprint_bytes", reserved + 1020);
    constants.context.process.known = false;
    with = replay_with(&constants, MODE_LOAD);
    known_check(&with, "process_bytes", reserved + 20);
    known_check(&with, "footprint_bytes", reserved + 3050);
    constants.growth[0].levels.device = spread_of(-reserved - 1); /* no footprint is below nothing */
    with = replay_with(&constants, MODE_LOAD);
    unknown_check(&with, "device_bytes");
    unknown_check(&with, "footprint_bytes");
    constants.growth[0].levels.process = spread_of(INT64_MAX);
    with = replay_with(&constants, MODE_LOAD);
    unknown_check(&with, "process_bytes");
}

/* A mode that nobody measured keeps what is known without constants. */
static void test_constants_of_another_mode(void **state)
{
    (void)state;
    const struct constants constants = {
        .context = {.process = spread_of(1000)}, .growth = {{"load", {.process = spread_of(20)}}}, .growth_count = 1};
    struct estimate with = replay_with(&constants, MODE_INFER);
    assert_true(estimate_get(&with, "reserved_bytes_peak")->known);
    unknown_check(&with, "process_bytes");
    unknown_check(&with, "device_bytes");
    unknown_check(&with, "footprint_bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_accelerate_cases),
        cmocka_unit_test(test_anatomy),
        cmocka_unit_test(test_eleutherai),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_mode_that_is_not_modelled),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_constants_of_another_mode),
        cmocka_unit_test(test_what_is_unknown_has_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
