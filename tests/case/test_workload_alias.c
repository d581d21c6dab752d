/* Aliases of the values of a case: understood wherever a case is read, and never kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/workload.h"

static void what_others_call_a_value_is_that_value(void **state)
{
    (void)state;
    static const struct {
        const char *key, *typed, *name;
        enum case_field field;
    } rows[] = {
        {"mode", "training", "train", FIELD_MODE},
        {"mode", "Inference", "infer", FIELD_MODE},
        {"precision", "bf16", "bfloat16", FIELD_PRECISION},
        {"precision", "BF16", "bfloat16", FIELD_PRECISION},
        {"precision", "torch.bfloat16", "bfloat16", FIELD_PRECISION},
        {"precision", "bfloat", "bfloat16", FIELD_PRECISION},
        {"precision", "fp16", "float16", FIELD_PRECISION},
        {"precision", "half", "float16", FIELD_PRECISION},
        {"precision", "fp32", "float32", FIELD_PRECISION},
        {"precision", "float", "float32", FIELD_PRECISION},
        {"precision", "amp_bf16", "amp-bfloat16", FIELD_PRECISION},
        {"precision", "8bit", "int8", FIELD_PRECISION},
        {"precision", "nf4", "int4", FIELD_PRECISION},
        {"optimizer", "AdamW", "adamw-foreach", FIELD_OPTIMIZER},
        {"optimizer", "adam", "adam-foreach", FIELD_OPTIMIZER},
        {"optimizer", "SGD", "sgd", FIELD_OPTIMIZER},
        {"optimizer", "momentum", "sgd-momentum", FIELD_OPTIMIZER},
        {"optimizer", "8bit", "adam-8bit", FIELD_OPTIMIZER},
        {"optimizer", "adamw_torch_fused", "adamw-fused", FIELD_OPTIMIZER},
        {"optimizer", "adamw_fused", "adamw-fused", FIELD_OPTIMIZER},
        {"optimizer", "paged_adamw_32bit", "paged-adamw-32bit", FIELD_OPTIMIZER},
        {"optimizer", "paged_adamw", "paged-adamw-32bit", FIELD_OPTIMIZER},
        {"optimizer", "paged_adamw_8bit", "paged-adamw-8bit", FIELD_OPTIMIZER},
        {"attention", "flash_attention_2", "sdpa", FIELD_ATTENTION},
        {"attention", "Eager", "eager", FIELD_ATTENTION},
        {"padding", "True", "true", FIELD_PADDING},
        {"padding", "False", "false", FIELD_PADDING},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = workload_default(MODE_TRAIN);
        assert_int_equal(workload_set(&workload, rows[i].key, rows[i].typed, NULL), STATUS_OK);
        assert_string_equal(case_field_word(rows[i].field, workload_field_value(&workload, rows[i].field)),
                            rows[i].name);
    }
}

/* "amp" is float16 to some and bfloat16 to others; "none" is no optimizer. */
static void what_may_be_two_things_is_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"precision", "amp"},  {"precision", "mixed"}, {"precision", "16"}, {"optimizer", "none"},
        {"optimizer", "lion"}, {"head", "default"},    {"padding", "yes"},  {"batch", "eight"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = workload_default(MODE_TRAIN);
        assert_int_equal(workload_set(&workload, rows[i][0], rows[i][1], NULL), STATUS_INVALID);
    }
    assert_int_equal(workload_set(&(struct workload){0}, "optimizer", "Adafactor", NULL), STATUS_INVALID);
    struct workload workload = workload_default(MODE_TRAIN);
    struct status error = {0};
    assert_int_equal(workload_set(&workload, "precision", "AMP", &error), STATUS_INVALID);
    assert_string_equal(error.text, "precision: 'AMP': it may be two precisions; write amp-float16 or amp-bfloat16");
}

/* OptimizerNames of transformers 5.23: each is a value, or refused with what is closest to it. */
static void every_optimizer_of_the_trainer_is_known_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"adamw_torch",
                                        "adamw_torch_fused",
                                        "adamw_torch_xla",
                                        "adamw_torch_npu_fused",
                                        "adafactor",
                                        "adamw_anyprecision",
                                        "adamw_torch_4bit",
                                        "adamw_torch_8bit",
                                        "ademamix",
                                        "sgd",
                                        "adagrad",
                                        "adamw_bnb_8bit",
                                        "adamw_8bit",
                                        "ademamix_8bit",
                                        "lion_8bit",
                                        "lion_32bit",
                                        "paged_adamw_32bit",
                                        "paged_adamw_8bit",
                                        "paged_ademamix_32bit",
                                        "paged_ademamix_8bit",
                                        "paged_lion_32bit",
                                        "paged_lion_8bit",
                                        "rmsprop",
                                        "rmsprop_bnb",
                                        "rmsprop_bnb_8bit",
                                        "rmsprop_bnb_32bit",
                                        "galore_adamw",
                                        "galore_adamw_8bit",
                                        "galore_adafactor",
                                        "galore_adamw_layerwise",
                                        "galore_adamw_8bit_layerwise",
                                        "galore_adafactor_layerwise",
                                        "lomo",
                                        "adalomo",
                                        "grokadamw",
                                        "schedule_free_radam",
                                        "schedule_free_adamw",
                                        "schedule_free_sgd",
                                        "apollo_adamw",
                                        "apollo_adamw_layerwise",
                                        "stable_adamw"};
    int accepted = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct workload workload = workload_default(MODE_TRAIN);
        struct status error = {0};
        if (workload_set(&workload, "optimizer", names[i], &error) == STATUS_OK) {
            accepted++;
        } else if (strstr(error.text, "is not known") != NULL) {
            fail_msg("%s", error.text);
        }
    }
    assert_int_equal(accepted, 7);
    struct workload workload = workload_default(MODE_TRAIN);
    struct status error = {0};
    assert_int_equal(workload_set(&workload, "optimizer", "paged_lion_8bit", &error), STATUS_INVALID);
    assert_string_equal(error.text, "optimizer: 'paged_lion_8bit': it is not modelled; paged-adamw-8bit and "
                                    "paged-adamw-32bit are, with two states of each parameter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_call_a_value_is_that_value),
        cmocka_unit_test(what_may_be_two_things_is_refused),
        cmocka_unit_test(every_optimizer_of_the_trainer_is_known_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
