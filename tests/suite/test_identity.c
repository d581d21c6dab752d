/* Identities of cases: their ids, what is part of them, and their JSON. Not how a suite expands to them:
 * test_suite.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/suite/suite.h"
#include "models/config/family.h"
#include "models/family/family_table.h"
#include "tests/suite/suite_text.h"

/* It changes results, so it is part of what a case is; only float32 has anything to round. */
static void tf32_makes_another_case_of_float32(void **state)
{
    (void)state;
    struct suite suite = suite_text_open(
        SUITE_HEAD "cases:\n  - {model: tiny-bert, mode: [load, infer], precision: [float32, bfloat16], "
                   "tf32: [false, true]}\n");
    const char *ids[] = {"tiny-bert/load/float32", "tiny-bert/load/bfloat16", "tiny-bert/infer/float32/b1/s128",
                         "tiny-bert/infer/float32/b1/s128/tf32", "tiny-bert/infer/bfloat16/b1/s128"};
    suite_ids_check(&suite, ids, 5);
    suite_release(&suite);
}

/* PyTorch's default is what convolutions may and products may not; where all may, there is nothing left to say. */
static void tf32_of_convolutions_is_an_axis_of_images(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "cases:\n  - {model: [tiny-resnet, tiny-bert], mode: infer, tf32: [false, true], "
                                   "tf32_convolutions: [false, true]}\n");
    const char *ids[] = {"tiny-resnet/infer/float32/b1", "tiny-resnet/infer/float32/b1/tf32-convolutions",
                         "tiny-resnet/infer/float32/b1/tf32", "tiny-bert/infer/float32/b1/s128",
                         "tiny-bert/infer/float32/b1/s128/tf32"};
    suite_ids_check(&suite, ids, 5);
    suite_release(&suite);
}

/* The function of PEFT is for weights of bitsandbytes under adapters; fp8 and whole models have none. */
static void preparing_is_an_axis_of_adapters_on_bitsandbytes(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "cases:\n  - {model: tiny-llama, mode: train, precision: [fp8, int4], lora_rank: 8, "
                                   "prepare_kbit: [false, true]}\n");
    const char *ids[] = {"tiny-llama/train/fp8/b1/s128/adamw-fused/lora8",
                         "tiny-llama/train/int4/b1/s128/adamw-fused/lora8",
                         "tiny-llama/train/int4/b1/s128/adamw-fused/lora8/prepare-kbit"};
    suite_ids_check(&suite, ids, 3);
    suite_release(&suite);
}

static void ids_name_what_is_unusual(void **state)
{
    (void)state;
    struct suite suite = suite_text_open(
        SUITE_HEAD
        "cases:\n  - {model: tiny-gpt2, mode: train, batch: 2, seq: 16, attention: eager,\n"
        "     optimizer: sgd-momentum, loss: fused, checkpointing: true, accumulate: 4, precision: amp-bfloat16}\n"
        "  - {model: tiny-gpt2, mode: infer, logits: last}\n"
        "  - {model: tiny-gpt2, mode: train, lora_rank: 8, lora_targets: [attention, linear]}\n"
        "  - {model: tiny-gpt2, mode: [load, infer], head: [bare, lm]}\n"
        "  - {model: tiny-gpt2, mode: generate, cache_dtype: [auto, fp8], beams: 2}\n");
    const char *ids[] = {"tiny-gpt2/train/amp-bfloat16/b2/s16/eager/sgd-momentum/loss-fused/checkpointing/accumulate4",
                         "tiny-gpt2/infer/float32/b1/s128/logits-last",
                         "tiny-gpt2/train/float32/b1/s128/adamw-fused/lora8",
                         "tiny-gpt2/train/float32/b1/s128/adamw-fused/lora8/lora-linear",
                         "tiny-gpt2/load/float32",
                         "tiny-gpt2/load/float32/head-lm",
                         "tiny-gpt2/infer/float32/b1/s128/head-bare",
                         "tiny-gpt2/infer/float32/b1/s128",
                         "tiny-gpt2/generate/float32/b1/s128/n32/beams2",
                         "tiny-gpt2/generate/float32/b1/s128/n32/cache-fp8/beams2"};
    suite_ids_check(&suite, ids, 10);
    suite_release(&suite);
}

static void odd_model_names_keep_their_ids_apart(void **state)
{
    (void)state;
    struct workload workload = workload_default(MODE_LOAD);
    struct identity a = identity_make("my models/x", &workload, family_find("bert"));
    struct identity b = identity_make("my:models/x", &workload, family_find("bert"));
    struct text id_a = {0}, id_b = {0};
    identity_id(&a, &id_a);
    identity_id(&b, &id_b);
    assert_non_null(strstr(text_string(&id_a), "my-models/x~"));
    assert_non_null(strstr(text_string(&id_b), "my-models/x~"));
    assert_string_not_equal(text_string(&id_a), text_string(&id_b));
    text_release(&id_a);
    text_release(&id_b);
}

static void identities_are_json_with_null_for_what_says_nothing(void **state)
{
    (void)state;
    struct suite suite = suite_text_open(SUITE_HEAD "cases:\n  - {model: tiny-bert, mode: [load, train], batch: 4}\n");
    const char *wanted[] = {
        "{\"model\": \"tiny-bert\", \"mode\": \"load\", \"precision\": \"float32\", \"quantize\": null, \"batch\": "
        "null, \"seq\": null, \"new_tokens\": null, \"cache\": null, \"cache_dtype\": null, \"beams\": null, "
        "\"attention\": null, "
        "\"padding\": null, \"optimizer\": null, \"loss\": null, \"lora_rank\": null, \"lora_targets\": null, "
        "\"prepare_kbit\": null, "
        "\"checkpointing\": "
        "null, \"accumulate\": null, \"logits\": null, \"tf32\": null, \"tf32_convolutions\": null, \"head\": "
        "\"bare\"}",
        "{\"model\": \"tiny-bert\", \"mode\": \"train\", \"precision\": \"float32\", \"quantize\": null, \"batch\": 4, "
        "\"seq\": 128, \"new_tokens\": null, \"cache\": null, \"cache_dtype\": null, \"beams\": null, \"attention\": "
        "\"sdpa\", \"padding\": "
        "false, \"optimizer\": \"adamw-fused\", \"loss\": \"composed\", \"lora_rank\": 0, \"lora_targets\": null, "
        "\"prepare_kbit\": null, "
        "\"checkpointing\": "
        "false, \"accumulate\": 1, \"logits\": \"all\", \"tf32\": false, \"tf32_convolutions\": null, \"head\": "
        "\"lm\"}"};
    for (int i = 0; i < 2; i++) {
        struct text text = {0};
        struct json *json = identity_json(&suite.cases[i].identity);
        assert_int_equal(json_write(json, 0, &text, NULL), STATUS_OK);
        assert_string_equal(text_string(&text), wanted[i]);
        json_release(json);
        text_release(&text);
    }
    suite_release(&suite);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tf32_makes_another_case_of_float32),
        cmocka_unit_test(tf32_of_convolutions_is_an_axis_of_images),
        cmocka_unit_test(preparing_is_an_axis_of_adapters_on_bitsandbytes),
        cmocka_unit_test(ids_name_what_is_unusual),
        cmocka_unit_test(odd_model_names_keep_their_ids_apart),
        cmocka_unit_test(identities_are_json_with_null_for_what_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
