/* What is generated: tokens of tiny models on the host, against real PyTorch with the same weights, against the same
 * sequence computed anew without a cache, and against each other where they must be equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "models/find/catalogue.h"
#include "models/workload/generate.h"
#include "tests/models/tiny_weights.h"

static const char tokens_path[] = "peers/pytorch/tiny_tokens.json";

enum { TOKENS_MAXIMUM = 320 };

struct tokens {
    int64_t rows, columns;
    int64_t ids[TOKENS_MAXIMUM];
};

/* -- weights and prompt that real PyTorch was given too: peers/pytorch/tiny_tokens.py says how */

static void parameters_fill(struct tape_machine *machine)
{
    const struct skeleton *skeleton = &machine->skeleton;
    uint64_t index = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->is_buffer || tensor->tied_to >= 0) {
            continue;
        }
        float *values = machine_floats(machine, machine_find(machine, CATEGORY_WEIGHTS, tensor->path));
        for (int64_t k = 0; k < tensor->element_count; k++) {
            double value = 0.7 * mix((uint64_t)k + 1000003u * index + 2777u);
            values[k] = (float)(value + (is_norm_weight(skeleton, tensor) ? 1.0 : 0.0));
        }
        index++;
    }
}

static void prompt_fill(struct tape_machine *machine)
{
    int storage = machine_find(machine, CATEGORY_INPUTS, "input_ids");
    int64_t *ids = (int64_t *)(void *)machine_floats(machine, storage);
    for (int64_t k = 0; k < machine_bytes(machine, storage) / 8; k++) {
        ids[k] = (7 * k + 3) % machine->config.vocab;
    }
}

static void machine_of(struct tape_machine *machine, const char *model, const struct workload *workload)
{
    char path[128];
    const char *folder = strncmp(model, "tiny/", 5) == 0 ? "peers/pytorch" : "models/catalogue";
    snprintf(path, sizeof path, "%s/%s/config.json", folder, model);
    machine_open(machine, path, workload, 1, 0.0);
}

static struct workload generation(enum cache cache, enum attention attention, int64_t beams)
{
    struct workload workload = tiny_workload(MODE_GENERATE);
    workload.new_tokens = 12;
    workload.cache = cache;
    workload.attention = attention;
    workload.beams = beams;
    return workload;
}

/* The inputs exist when the stage forward begins for the second time. */
static struct tokens generated(const char *model, const struct workload *workload)
{
    struct tape_machine machine;
    machine_of(&machine, model, workload);
    int64_t first = machine.config.decoder_layers > 0 ? 1 : workload->seq; /* beside an encoder the start alone */
    struct tokens tokens = {workload->batch, first + workload->new_tokens, {0}};
    assert_true(machine_run_until(&machine, STAGE_FORWARD, 2));
    parameters_fill(&machine);
    prompt_fill(&machine);
    machine_run_until(&machine, STAGE_COUNT, 1);
    int storage = -1;
    for (int i = 0; i < machine.view.storage_count; i++) {
        bool input = machine.memory[i] != NULL && machine.view.storages[i].category == CATEGORY_INPUTS;
        storage = input && strcmp(machine.view.storages[i].label, "sequences") == 0 ? i : storage;
    }
    assert_true(storage >= 0);
    assert_int_equal(machine_bytes(&machine, storage), tokens.rows * workload->beams * tokens.columns * 8);
    const int64_t *ids = machine.memory[storage];
    for (int64_t row = 0; row < tokens.rows; row++) { /* the first of its beams is the best */
        memcpy(tokens.ids + row * tokens.columns, ids + row * workload->beams * tokens.columns,
               (size_t)tokens.columns * sizeof *ids);
    }
    machine_close(&machine);
    return tokens;
}

static void tokens_compare(const char *what, const struct tokens *one, const struct tokens *two)
{
    assert_int_equal(one->rows, two->rows);
    assert_int_equal(one->columns, two->columns);
    for (int64_t k = 0; k < one->rows * one->columns; k++) {
        if (one->ids[k] != two->ids[k]) {
            fail_msg("%s: token %lld of row %lld is %lld, not %lld", what, (long long)(k % one->columns),
                     (long long)(k / one->columns), (long long)one->ids[k], (long long)two->ids[k]);
        }
    }
}

/* -- against real PyTorch */

static struct tokens tokens_read(const struct json *rows)
{
    struct tokens tokens = {(int64_t)json_count(rows), (int64_t)json_count(json_at(rows, 0)), {0}};
    assert_true(tokens.rows * tokens.columns <= TOKENS_MAXIMUM);
    for (int64_t k = 0; k < tokens.rows * tokens.columns; k++) {
        const struct json *row = json_at(rows, (size_t)(k / tokens.columns));
        tokens.ids[k] = json_integer_or(json_at(row, (size_t)(k % tokens.columns)), -1);
    }
    return tokens;
}

/* Over transformers' QuantizedCache, within the residual and beyond it. */
static void quantized_tokens_compare(const struct workload *like, const char *model, const struct json *rows)
{
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        struct status error = {0};
        struct workload workload = *like;
        workload.new_tokens = json_integer_or(json_get(row, "new_tokens"), 0);
        assert_int_equal(
            workload_set(&workload, "cache_dtype", json_string_or(json_get(row, "cache_dtype"), ""), &error),
            STATUS_OK);
        struct tokens ours = generated(model, &workload);
        struct tokens theirs = tokens_read(json_get(row, "tokens"));
        tokens_compare(cache_dtype_name(workload.cache_dtype), &ours, &theirs);
    }
}

static void tokens_are_pytorchs(void **state)
{
    (void)state;
    struct status error = {0};
    struct json *document = NULL;
    if (json_parse_file(tokens_path, 1 << 20, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct json *rows = json_get(document, "rows");
    assert_true(json_count(rows) >= 16);
    size_t quantized_rows = 0;
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        const char *model = json_string_or(json_get(row, "model"), "");
        bool eager = strcmp(json_string_or(json_get(row, "attention"), ""), "eager") == 0;
        int64_t beams = json_integer_or(json_get(row, "beams"), 1);
        const struct json *quantized = json_get(row, "tokens_quantized");
        struct workload quantised = generation(CACHE_DYNAMIC, eager ? ATTENTION_EAGER : ATTENTION_SDPA, beams);
        quantized_tokens_compare(&quantised, model, quantized);
        quantized_rows += json_count(quantized);
        for (int cache = 0; cache < CACHE_COUNT && json_get(row, "tokens") != NULL; cache++) {
            struct workload workload = generation((enum cache)cache, eager ? ATTENTION_EAGER : ATTENTION_SDPA, beams);
            struct tokens ours = generated(model, &workload);
            struct tokens theirs = tokens_read(json_get(row, cache == CACHE_STATIC ? "tokens_static" : "tokens"));
            tokens_compare(model, &ours, &theirs);
        }
    }
    assert_true(quantized_rows >= 43);
    json_release(document);
}

/* Of an encoder and a decoder: keys and values of both attentions are kept, PyTorch's side keeps none. */
static void tokens_beside_an_encoder_are_pytorchs(void **state)
{
    (void)state;
    struct status error = {0};
    struct json *document = NULL;
    if (json_parse_file("peers/pytorch/tiny_tokens_t5.json", 1 << 20, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct json *rows = json_get(document, "rows");
    assert_int_equal(json_count(rows), 2);
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        bool eager = strcmp(json_string_or(json_get(row, "attention"), ""), "eager") == 0;
        struct workload workload = generation(CACHE_DYNAMIC, eager ? ATTENTION_EAGER : ATTENTION_SDPA, 1);
        struct tokens ours = generated("tiny-t5", &workload);
        struct tokens theirs = tokens_read(json_get(row, "tokens"));
        tokens_compare("tiny-t5", &ours, &theirs);
    }
    json_release(document);
}

/* -- without a cache */

/* The most probable token after the first `columns` of each row, from one forward pass over all of them. */
static void next_tokens(const char *model, const struct tokens *tokens, int64_t columns, int64_t *next)
{
    struct workload workload = workload_default(MODE_INFER);
    struct tape_machine machine;
    workload.batch = tokens->rows;
    workload.seq = columns;
    workload.logits = LOGITS_LAST;
    machine_of(&machine, model, &workload);
    assert_true(machine_run_until(&machine, STAGE_FORWARD, 3));
    parameters_fill(&machine);
    int64_t *ids = (int64_t *)(void *)machine_floats(&machine, machine_find(&machine, CATEGORY_INPUTS, "input_ids"));
    for (int64_t row = 0; row < tokens->rows; row++) {
        memcpy(ids + row * columns, tokens->ids + row * tokens->columns, (size_t)columns * sizeof *ids);
    }
    machine_run_until(&machine, STAGE_COUNT, 1);
    const struct op *last = &machine.view.ops[machine.view.op_count - 1];
    const struct operand *logits = &machine.view.operands[last->first_operand + last->operand_count - 1];
    const float *scores = machine_floats(&machine, logits->storage);
    int64_t vocab = machine.config.vocab;
    for (int64_t row = 0; row < tokens->rows; row++) {
        next[row] = 0;
        for (int64_t id = 1; id < vocab; id++) {
            next[row] = scores[row * vocab + id] > scores[row * vocab + next[row]] ? id : next[row];
        }
    }
    machine_close(&machine);
}

static void a_cache_changes_nothing(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny/gpt2",        "tiny/llama-gqa",   "tiny/qwen2",  "tiny-qwen3",
                                         "tiny-gemma",       "tiny-gemma3",      "tiny-phi3",   "tiny-gpt-neox",
                                         "tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-gpt-neo"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct workload workload = generation(CACHE_DYNAMIC, ATTENTION_SDPA, 1);
        struct tokens tokens = generated(models[i], &workload);
        for (int64_t columns = workload.seq; columns < tokens.columns; columns++) {
            int64_t next[2] = {0};
            next_tokens(models[i], &tokens, columns, next);
            assert_int_equal(next[0], tokens.ids[columns]);
            assert_int_equal(next[1], tokens.ids[tokens.columns + columns]);
        }
    }
}

/* -- variants of one generation */

static void all_logits_choose_the_same(void **state)
{
    (void)state;
    struct workload last = generation(CACHE_DYNAMIC, ATTENTION_SDPA, 1), all = last;
    all.logits = LOGITS_ALL;
    struct tokens one = generated("tiny/gpt2", &last), two = generated("tiny/gpt2", &all);
    tokens_compare("logits", &one, &two);
}

/* A prompt of one token has no causal pass, one new token no decoding. */
static void shortest_is_right(void **state)
{
    (void)state;
    struct workload workload = generation(CACHE_DYNAMIC, ATTENTION_SDPA, 1);
    workload.seq = 1;
    struct tokens whole = generated("tiny/llama-gqa", &workload);
    workload.cache = CACHE_STATIC;
    struct tokens fixed = generated("tiny/llama-gqa", &workload);
    tokens_compare("prompt of 1", &whole, &fixed);
    workload.new_tokens = 1;
    struct tokens first = generated("tiny/llama-gqa", &workload);
    assert_int_equal(first.ids[1], whole.ids[1]);
    assert_int_equal(first.ids[3], whole.ids[whole.columns + 1]);
}

/* -- what is refused, with the reason and the remedy */

static void refused(const char *model, struct workload workload, const char *message)
{
    struct status error = {0};
    struct config config;
    if (config_find("models/catalogue", model, &config, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(generate_check(&config, &workload, false, &error), STATUS_INVALID);
    assert_string_equal(error.text, message);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct workload workload = workload_default(MODE_GENERATE);
    refused("bert-base-cased", workload,
            "mode generate: bert-base-cased has no decoder that generates text; write mode infer");
    refused("timm/resnet18.a1_in1k", workload,
            "mode generate: timm/resnet18.a1_in1k has no decoder that generates text; write mode infer");
    workload.beams = 2;
    refused("google-t5/t5-small", workload,
            "beams: generation beside the encoder of google-t5/t5-small is modelled for a dynamic cache without beams; "
            "write cache: dynamic, cache_dtype: auto and beams: 1");
    workload.beams = 1;
    workload.seq = 1000;
    refused("gpt2", workload,
            "new_tokens: a prompt of 1000 and 32 new tokens are more than the 1024 positions of gpt2; write less of "
            "either");
    workload.seq = 4090;
    workload.cache = CACHE_STATIC;
    refused("mistralai/Mistral-7B-v0.1", workload,
            "cache: a prompt of 4090 and 32 new tokens reach the sliding window of 4096 of mistralai/Mistral-7B-v0.1, "
            "which is modelled for a dynamic cache without beams; write cache: dynamic and beams: 1, or fewer tokens");
    workload.cache = CACHE_DYNAMIC;
    workload.beams = 2;
    refused("mistralai/Mistral-7B-v0.1", workload,
            "beams: a prompt of 4090 and 32 new tokens reach the sliding window of 4096 of mistralai/Mistral-7B-v0.1, "
            "which is modelled for a dynamic cache without beams; write cache: dynamic and beams: 1, or fewer tokens");
    workload.beams = 1;
    workload.seq = 8;
    workload.cache_dtype = CACHE_DTYPE_FP8;
    refused("mistralai/Mistral-7B-v0.1", workload,
            "cache_dtype fp8: mistralai/Mistral-7B-v0.1 has layers with a sliding window, which a quantised cache does "
            "not take; write cache_dtype: auto");
    workload.cache_dtype = CACHE_DTYPE_INT4;
    workload.seq = 3;
    refused("tiny-llama", workload,
            "cache_dtype int4: a prompt of 3 tokens with 16 numbers each is not a whole number of groups of 64, at "
            "least two; write another seq, or cache_dtype: auto");
    workload.seq = 4;
    refused("tiny-llama", workload,
            "cache_dtype int4: a prompt of 4 tokens with 16 numbers each is not a whole number of groups of 64, at "
            "least two; write another seq, or cache_dtype: auto");
    workload.seq = 8; /* 24 numbers of a latent row, 8 that positions turn */
    refused("tiny-deepseek-v3", workload,
            "cache_dtype int4: a prompt of 8 tokens with 8 numbers each is not a whole number of groups of 64, at "
            "least two; write another seq, or cache_dtype: auto");
    workload.cache_dtype = CACHE_DTYPE_AUTO;
    workload = workload_default(MODE_GENERATE);
    workload.cache = CACHE_STATIC;
    refused("tiiuae/falcon-rw-1b", workload,
            "cache: the class of tiiuae/falcon-rw-1b cannot make its biases by distance for a static cache; write "
            "cache: dynamic");
    workload.cache = CACHE_DYNAMIC;
    workload.new_tokens = 1 << 20;
    refused("meta-llama/Llama-3.1-8B", workload,
            "new_tokens: 1048576 through the 32 layers of meta-llama/Llama-3.1-8B are more than assay's tape for a "
            "device holds, whatever the model allows; write at most 4096");
    workload.new_tokens = 1;
    workload.beams = 1 << 20;
    workload.batch = 2;
    refused("meta-llama/Llama-3.1-8B", workload,
            "beams: 1048576 for each of 2 samples are too many; write less of either");
}

/* The last of 1,024 positions is used: 1,000 tokens are read, and the 25th new one is chosen at position 1,023. */
static void the_last_position_is_used(void **state)
{
    (void)state;
    struct status error = {0};
    struct config config;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.seq = 1000;
    workload.new_tokens = 25;
    assert_int_equal(config_find("models/catalogue", "gpt2", &config, &error), STATUS_OK);
    assert_int_equal(generate_check(&config, &workload, false, &error), STATUS_OK);
    workload.new_tokens = 26;
    assert_int_equal(generate_check(&config, &workload, false, &error), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_pytorchs),
        cmocka_unit_test(a_cache_changes_nothing),
        cmocka_unit_test(tokens_beside_an_encoder_are_pytorchs),
        cmocka_unit_test(all_logits_choose_the_same),
        cmocka_unit_test(shortest_is_right),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_last_position_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
