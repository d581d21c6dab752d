/* Shares of divided models: against the replay where nothing is divided, against sums by hand where something is.
 * PyTorch's own sharding is in test_rules_of_others.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/estimate/llm_analysis.h"
#include "harness/estimate/tensor_split.h"
#include "tests/estimate/subject.h"

static int64_t value_of(const struct estimate *estimate, const char *name)
{
    const struct estimate_quantity *quantity = estimate_get(estimate, name);
    assert_non_null(quantity);
    assert_true(quantity->known);
    return quantity->value;
}

/* Where no degree divides, what is held is what the replay holds at the peak of its step. */
static void test_undivided(void **state)
{
    static const struct {
        const char *model;
        enum precision precision;
        enum optimizer optimizer;
        int64_t lora_rank;
    } rows[] = {
        {"gpt2", PRECISION_FLOAT32, OPTIMIZER_ADAMW_FUSED, 0},
        {"bert-base-cased", PRECISION_BFLOAT16, OPTIMIZER_ADAM_FOREACH, 0},
        {"Qwen2-0.5B", PRECISION_AMP_BFLOAT16, OPTIMIZER_SGD_MOMENTUM, 0},
        {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", PRECISION_BFLOAT16, OPTIMIZER_ADAMW_SINGLE, 0},
        {"gpt2", PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED, 8},
        {"resnet50", PRECISION_FLOAT32, OPTIMIZER_SGD_MOMENTUM, 0},
    };
    static const char *const pairs[][2] = {
        {"weights_bytes", "categories_at_peak.weights"},
        {"buffers_bytes", "categories_at_peak.buffers"},
        {"optimizer_bytes", "categories_at_peak.optimizer"},
    };
    const struct parallel single = parallel_single();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = train(rows[i].precision, rows[i].optimizer);
        workload.batch = 1;
        workload.seq = strcmp(rows[i].model, "resnet50") == 0 ? 0 : 16;
        workload.lora_rank = rows[i].lora_rank;
        struct subject *subject = subject_new(rows[i].model, workload);
        struct estimate shares = subject_estimate("shares", subject, &single);
        struct estimate replay = subject_estimate("replay", subject, &single);
        for (size_t pair = 0; pair < sizeof pairs / sizeof pairs[0]; pair++) {
            known_check(&shares, pairs[pair][0], value_of(&replay, pairs[pair][1]));
        }
        subject_release(subject);
    }
}

static struct estimate divided(struct workload workload, struct parallel parallel)
{
    return estimate_divided("shares", "Llama-2-7b", workload, &parallel);
}

/* Each stage of ZeRO divides one part more; the parameters are a multiple of 8 elements. */
static void test_zero(void **state)
{
    const int64_t count = 6738415616;
    struct workload workload = train(PRECISION_BFLOAT16, OPTIMIZER_ADAM_FOREACH);
    struct parallel parallel = parallel_single();
    (void)state;
    parallel.data = 8;
    for (parallel.zero = 0; parallel.zero <= 3; parallel.zero++) {
        struct estimate estimate = divided(workload, parallel);
        known_check(&estimate, "optimizer_bytes", 4 * count / (parallel.zero >= 1 ? 8 : 1));
        known_check(&estimate, "gradients_bytes", 2 * count / (parallel.zero >= 2 ? 8 : 1));
        known_check(&estimate, "weights_bytes", 2 * count / (parallel.zero >= 3 ? 8 : 1));
        /* one block is whole for a moment: 4 h^2 + 3 h f + 2 h elements, and their gradients */
        int64_t block = INT64_C(4) * 4096 * 4096 + INT64_C(3) * 4096 * 11008 + 2 * 4096;
        known_check(&estimate, "gathered_bytes", parallel.zero == 3 ? 2 * 2 * block : 0);
    }
    parallel.zero = 1;
    parallel.data = 3; /* 6,738,415,616 is padded to a multiple of 6 */
    struct estimate estimate = divided(workload, parallel);
    known_check(&estimate, "optimizer_bytes", 4 * (count + 4) / 3);
}

/* Megatron counts Llama's parameters as we do: no biases, and 32,000 rows need no padding. */
static void test_tensor_like_megatron(void **state)
{
    struct workload workload = train(PRECISION_BFLOAT16, OPTIMIZER_ADAM_FOREACH);
    struct parallel parallel = parallel_single();
    (void)state;
    for (parallel.tensor = 1; parallel.tensor <= 2; parallel.tensor *= 2) {
        struct estimate megatron = estimate_divided("megatron", "Llama-2-7b", workload, &parallel);
        struct estimate shares = divided(workload, parallel);
        known_check(&shares, "weights_bytes", value_of(&megatron, "states_bytes") / 18 * 2);
    }
}

/* 1F1B: the first stage waits with as many micro-batches as there are stages. Embedding and head are one on each
 * end. */
static void test_pipeline(void **state)
{
    const int64_t layer = INT64_C(4) * 4096 * 4096 + INT64_C(3) * 4096 * 11008 + 2 * 4096;
    const int64_t embedding = INT64_C(32000) * 4096;
    const int64_t kept = INT64_C(34) * 512 * 8 * 4096; /* of a layer, without scores */
    struct workload workload = train(PRECISION_BFLOAT16, OPTIMIZER_ADAM_FOREACH);
    struct parallel parallel = parallel_single();
    (void)state;
    parallel.pipeline = 4;
    workload.accumulate = 8;
    struct estimate estimate = divided(workload, parallel);
    known_check(&estimate, "weights_bytes", 2 * (8 * layer + embedding));
    known_check(&estimate, "activations_bytes", 4 * 8 * kept);
    assert_string_equal(estimate_get(&estimate, "stage")->text, "first");
    workload.accumulate = 1; /* then the last one holds most: a norm more */
    estimate = divided(workload, parallel);
    known_check(&estimate, "weights_bytes", 2 * (8 * layer + embedding + 4096));
    known_check(&estimate, "activations_bytes", 8 * kept);
    assert_string_equal(estimate_get(&estimate, "stage")->text, "last");

    /* A tied head is a copy of its own where the embedding is on another stage: gpt2 */
    parallel.pipeline = 2;
    struct workload load = workload_default(MODE_LOAD);
    load.head = HEAD_LM;
    estimate = estimate_divided("shares", "gpt2", load, &parallel);
    known_check(&estimate, "weights_bytes", 4 * (6 * INT64_C(7087872) + (50257 + 1024) * 768));
    parallel.pipeline = 1;
    estimate = estimate_divided("shares", "gpt2", load, &parallel);
    known_check(&estimate, "weights_bytes", INT64_C(4) * 124439808);
}

/* Heads of keys are divided until each rank has one; names that are not known stay whole. */
static void test_splits(void **state)
{
    static const struct {
        const char *model, *path;
        int64_t degree, element_count;
    } rows[] = {
        {"Llama-2-7b", "model.layers.0.self_attn.q_proj.weight", 2, 4096 * 4096 / 2},
        {"Llama-2-7b", "model.layers.0.mlp.down_proj.weight", 2, 4096 * 11008 / 2},
        {"Llama-2-7b", "model.layers.0.input_layernorm.weight", 2, 4096},
        {"Llama-3.1-8B", "model.layers.0.self_attn.k_proj.weight", 16, 1024 * 4096 / 8},
        {"Llama-3.1-8B", "lm_head.weight", 16, 128256 / 16 * 4096},
        {"gpt2", "transformer.h.3.attn.c_attn.weight", 4, 768 * 2304 / 4},
        {"gpt2", "transformer.h.3.attn.c_attn.bias", 4, 2304 / 4},
        {"gpt2", "transformer.h.3.attn.c_proj.weight", 4, 768 * 768 / 4},
        {"gpt2", "transformer.h.3.attn.c_proj.bias", 4, 768},
        {"gpt2", "transformer.wte.weight", 4, 50257 * 768}, /* no multiple of 4 */
        {"bert-base-cased", "bert.encoder.layer.1.attention.self.value.bias", 3, 256},
        {"bert-base-cased", "bert.encoder.layer.1.output.dense.weight", 3, 768 * 1024},
        {"bert-base-cased", "cls.predictions.transform.dense.weight", 3, 768 * 768},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = workload_default(MODE_INFER);
        struct subject *subject = subject_new(rows[i].model, workload);
        struct parallel parallel = parallel_single();
        parallel.tensor = rows[i].degree;
        int tensor = skeleton_find(&subject->skeleton, rows[i].path);
        assert_true(tensor >= 0);
        struct tensor_share share = tensor_share_of(&subject->skeleton, tensor, &parallel);
        if (share.element_count != rows[i].element_count) {
            fail_msg("%s of %s: %lld elements, not %lld", rows[i].path, rows[i].model, (long long)share.element_count,
                     (long long)rows[i].element_count);
        }
        subject_release(subject);
    }
}

/* Keys and values of the heads and layers of a rank: NUMBERS.md, 9, divided. */
static void test_cache(void **state)
{
    struct workload workload = workload_default(MODE_GENERATE);
    struct parallel parallel = parallel_single();
    (void)state;
    workload.precision = PRECISION_BFLOAT16;
    workload.seq = 2048;
    workload.new_tokens = 256;
    parallel.tensor = 4;
    parallel.pipeline = 2;
    struct estimate estimate = estimate_divided("shares", "Llama-3.1-8B", workload, &parallel);
    known_check(&estimate, "kv_cache_bytes", 301858816 / 8);
    /* 8,192 numbers of buffers aside: half of the layers, a quarter of each, the last norm and a quarter of the head; a
     * cache of the prompt and the prefill's attention, which is more than the whole cache and the logits of one
     * token */
    const int64_t layer = (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 4096 * 14336) / 4 + 2 * 4096;
    known_check(&estimate, "weights_bytes", 2 * (16 * layer + 4096 + 128256 / 4 * 4096));
    known_check(&estimate, "activations_bytes", 50331648);
    known_check(&estimate, "total_bytes", value_of(&estimate, "states_bytes") + 268435456 / 8 + 50331648);
    workload.seq = 2;
    estimate = estimate_divided("shares", "Llama-3.1-8B", workload, &parallel);
    known_check(&estimate, "total_bytes",
                value_of(&estimate, "states_bytes") + value_of(&estimate, "kv_cache_bytes") + 64128);
    workload.seq = 2048;
    workload.cache_dtype = CACHE_DTYPE_INT4; /* 2,176 tokens quantised, 127 not: 96,862,208 on one device */
    estimate = estimate_divided("shares", "Llama-3.1-8B", workload, &parallel);
    known_check(&estimate, "kv_cache_bytes", 96862208 / 8);
    workload.cache_dtype = CACHE_DTYPE_FP8; /* a scale for keys and one for values of each layer, on every rank */
    estimate = estimate_divided("shares", "Llama-3.1-8B", workload, &parallel);
    known_check(&estimate, "kv_cache_bytes", (150929664 - 2 * 32 * 4) / 8 + 2 * 16 * 4);
    workload.cache_dtype = CACHE_DTYPE_AUTO;
    struct workload windows = workload_default(MODE_GENERATE); /* window 6, in 2 of 3 layers; 2 key heads of 12 */
    struct parallel single = parallel_single();
    windows.seq = 40;
    windows.new_tokens = 20;
    estimate = estimate_divided("shares", "tiny-gemma3", windows, &single);
    known_check(&estimate, "kv_cache_bytes", 2 * (59 + 2 * 6) * 2 * 12 * 4); /* what the replay lists at its end */
    parallel.tensor = 16;                                                    /* 8 key heads */
    estimate = estimate_divided("shares", "Llama-3.1-8B", workload, &parallel);
    known_check(&estimate, "kv_cache_bytes", 301858816 / 16);
    /* two caches, of the decoder's tokens and of the encoder's */
    estimate = estimate_divided("shares", "tiny-t5", windows, &single);
    unknown_check(&estimate, "kv_cache_bytes");
}

/* Autocast makes keys and values of 528 tokens in 16 bits, of which rotary positions make float32: as the replay keeps
 * them. */
static void test_cache_under_autocast(void **state)
{
    struct workload workload = workload_default(MODE_GENERATE);
    struct parallel parallel = parallel_single();
    (void)state;
    workload.precision = PRECISION_AMP_BFLOAT16;
    workload.seq = 512;
    workload.new_tokens = 17;
    parallel.data = 2;
    struct estimate estimate = estimate_divided("shares", "gpt2", workload, &parallel);
    known_check(&estimate, "kv_cache_bytes", 2 * 12 * 12 * 528 * 64 * 2);
    estimate = estimate_divided("shares", "Llama-3.1-8B", workload, &parallel);
    known_check(&estimate, "kv_cache_bytes", INT64_C(2) * 32 * 8 * 528 * 128 * 4);
}

static int64_t number_of(const struct json *row, const char *key)
{
    return json_integer_or(json_get(row, key), -1);
}

static void pass_check(const struct json *row)
{
    struct inference_pass pass = {.tokens = number_of(row, "tokens"),
                                  .rows = number_of(row, "batch"),
                                  .hidden = number_of(row, "hidden"),
                                  .heads = number_of(row, "heads"),
                                  .ffn = number_of(row, "ffn"),
                                  .logit_rows = number_of(row, "tokens"),
                                  .element_bytes = number_of(row, "element_bytes"),
                                  .tensor = number_of(row, "tensor")};
    int64_t fused = number_of(row, "fused_bytes"), logits = number_of(row, "logits_bytes"), bytes = 0;
    assert_true(llm_analysis_activations(&pass, &bytes));
    assert_int_equal(bytes, fused);
    pass.scores = true;
    assert_true(llm_analysis_activations(&pass, &bytes));
    assert_int_equal(bytes, number_of(row, "scores_bytes"));
    pass.scores = false;
    pass.vocab = number_of(row, "vocab");
    assert_true(llm_analysis_activations(&pass, &bytes));
    assert_int_equal(bytes, logits > fused ? logits : fused);
    pass.tokens = INT64_MAX / 4096;
    assert_false(llm_analysis_activations(&pass, &bytes));
}

/* What llm-analysis itself says: peers/estimators/passes.py. */
static void test_passes(void **state)
{
    struct status error = {0};
    struct json *document = NULL;
    (void)state;
    assert_int_equal(json_parse_file("peers/estimators/passes.json", 1 << 20, &document, &error), STATUS_OK);
    const struct json *rows = json_get(document, "rows");
    assert_int_equal(json_count(rows), 24);
    for (size_t i = 0; i < json_count(rows); i++) {
        pass_check(json_at(rows, i));
    }
    json_release(document);
}

/* The share of a rank, with logits where the model ends; none for a model with experts. */
static void test_inference(void **state)
{
    (void)state;
    struct workload infer = workload_default(MODE_INFER);
    struct parallel parallel = parallel_single();
    infer.precision = PRECISION_BFLOAT16;
    infer.seq = 2048;
    parallel.tensor = 4;
    struct estimate estimate = estimate_divided("shares", "Llama-3.1-8B", infer, &parallel);
    known_check(&estimate, "activations_bytes", 131334144);
    known_check(&estimate, "total_bytes", value_of(&estimate, "states_bytes") + 131334144);
    infer.head = HEAD_BARE;
    estimate = estimate_divided("shares", "Llama-3.1-8B", infer, &parallel);
    known_check(&estimate, "activations_bytes", 50331648);
    estimate = estimate_divided("shares", "Mixtral-8x7B-v0.1", infer, &parallel);
    unknown_check(&estimate, "activations_bytes");
    unknown_check(&estimate, "total_bytes");
}

/* Mixtral-8x7B: 32 layers of 8 experts of 3 * 4096 * 14,336; 46.7 billion parameters, as published. */
static void test_experts(void **state)
{
    const int64_t experts = INT64_C(32) * 8 * 3 * 4096 * 14336;
    const int64_t attention = INT64_C(32) * (2 * 4096 * 4096 + 2 * 4096 * 1024);
    const int64_t whole = INT64_C(32) * (2 * 4096 + 8 * 4096) + 4096; /* norms and routers */
    const int64_t words = INT64_C(2) * 32000 * 4096;
    struct workload load = workload_default(MODE_LOAD);
    struct parallel parallel = parallel_single();
    (void)state;
    load.precision = PRECISION_BFLOAT16;
    load.head = HEAD_LM;
    assert_int_equal(experts + attention + whole + words, 46702792704);
    parallel.data = parallel.expert = 8;
    struct estimate estimate = estimate_divided("shares", "Mixtral-8x7B-v0.1", load, &parallel);
    known_check(&estimate, "weights_bytes", 2 * (experts / 8 + attention + whole + words));
    parallel = parallel_single();
    parallel.tensor = 8;
    estimate = estimate_divided("shares", "Mixtral-8x7B-v0.1", load, &parallel);
    known_check(&estimate, "weights_bytes", 2 * ((experts + attention + words) / 8 + whole));
    /* with 2 expert ranks of 8 data-parallel ones, an expert is on 4 of them, and ZeRO 1 divides it among these */
    struct workload workload = train(PRECISION_BFLOAT16, OPTIMIZER_ADAM_FOREACH);
    parallel = parallel_single();
    parallel.data = 8;
    parallel.expert = 2;
    parallel.zero = 1;
    estimate = estimate_divided("shares", "Mixtral-8x7B-v0.1", workload, &parallel);
    known_check(&estimate, "optimizer_bytes", 4 * (experts / 2 / 4 + (attention + whole + words) / 8));
    unknown_check(&estimate, "activations_bytes"); /* the formula speaks of dense layers */
    assert_false(estimator_would_apply("megatron", "Mixtral-8x7B-v0.1", workload, NULL));
}

static void check_fails(struct parallel parallel, const char *model, const char *text)
{
    struct subject *subject = subject_new(model, workload_default(MODE_LOAD));
    struct status error = {0};
    assert_int_equal(parallel_check(&parallel, &subject->config, &error), STATUS_INVALID);
    assert_string_equal(error.text, text);
    subject_release(subject);
}

static void test_checks(void **state)
{
    struct parallel parallel = parallel_single();
    (void)state;
    parallel.tensor = 0;
    check_fails(parallel, "gpt2", "tensor parallel degree 0: write 1 to 1048576");
    parallel.tensor = 8;
    check_fails(parallel, "gpt2", "tensor degree 8 does not divide the 12 heads of gpt2; write 6");
    check_fails(parallel, "resnet50", "timm/resnet50.a1_in1k has no attention heads to divide; write tensor degree 1");
    parallel = parallel_single();
    parallel.pipeline = 24;
    check_fails(parallel, "gpt2", "pipeline degree 24 does not divide the 12 layers of gpt2; write 12");
    parallel.pipeline = 2;
    parallel.zero = 3;
    check_fails(parallel, "gpt2", "ZeRO 3 does not go with pipeline stages, which need whole gradients; write ZeRO 1");
    parallel = parallel_single();
    parallel.fsdp = true;
    parallel.zero = 2;
    check_fails(parallel, "gpt2", "FSDP and ZeRO 2 both divide the states; leave one out");
    assert_false(parallel_divides(NULL));
    parallel = parallel_single();
    assert_false(parallel_divides(&parallel));
    parallel.data = 2;
    assert_true(parallel_divides(&parallel));
    assert_false(estimator_would_apply("replay", "gpt2", workload_default(MODE_LOAD), &parallel));
    assert_true(estimator_would_apply("shares", "gpt2", workload_default(MODE_LOAD), &parallel));
    assert_false(estimator_would_apply("shares", "gpt2", workload_default(MODE_LOAD), NULL));
}

/* A model that is no one stack of layers has no pipeline stages, one without experts nothing for an expert degree. */
static void test_no_stack(void **state)
{
    struct subject *subject = subject_new("resnet50", workload_default(MODE_LOAD));
    struct parallel parallel = parallel_single();
    struct estimate estimate = {0};
    struct status error = {0};
    (void)state;
    parallel.pipeline = subject->config.layers;
    struct estimate_input input = subject_input(subject, &parallel);
    assert_int_equal(estimate_compute(estimator_find("shares"), &input, &estimate, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "leave --pipeline-parallel out"));
    parallel = parallel_single();
    parallel.data = parallel.expert = 2;
    assert_int_equal(estimate_compute(estimator_find("shares"), &input, &estimate, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "has no experts to divide"));
    subject_release(subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undivided),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_tensor_like_megatron),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_cache_under_autocast),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_no_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
