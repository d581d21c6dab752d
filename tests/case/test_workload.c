/* Workloads: fields from text, and which of them go together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/workload.h"

static void test_defaults(void **state)
{
    (void)state;
    for (enum mode mode = MODE_LOAD; mode < MODE_COUNT; mode++) {
        struct workload workload = workload_default(mode);
        assert_int_equal(workload_check(&workload, NULL), STATUS_OK);
        assert_int_equal(workload.batch, 1);
        assert_int_equal(workload.seq, 128);
        assert_int_equal(workload.optimizer == OPTIMIZER_NONE, mode != MODE_TRAIN);
    }
}

static void test_set(void **state)
{
    static const char *const fields[][2] = {
        {"mode", "train"},          {"precision", "amp-bfloat16"}, {"batch", "8"},      {"seq", "512"},
        {"attention", "eager"},     {"optimizer", "sgd-momentum"}, {"loss", "fused"},   {"lora_rank", "16"},
        {"lora_targets", "linear"}, {"checkpointing", "true"},     {"accumulate", "4"}, {"logits", "last"},
        {"head", "bare"},
    };
    struct workload workload = workload_default(MODE_LOAD);
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        assert_int_equal(workload_set(&workload, fields[i][0], fields[i][1], NULL), STATUS_OK);
    }
    assert_int_equal(workload.mode, MODE_TRAIN);
    assert_int_equal(workload.precision, PRECISION_AMP_BFLOAT16);
    assert_int_equal(workload.batch, 8);
    assert_int_equal(workload.seq, 512);
    assert_int_equal(workload.attention, ATTENTION_EAGER);
    assert_int_equal(workload.optimizer, OPTIMIZER_SGD_MOMENTUM);
    assert_true(workload.checkpointing);
    assert_int_equal(workload.accumulate, 4);
    assert_int_equal(workload.logits, LOGITS_LAST);
    assert_int_equal(workload.head, HEAD_BARE);
}

/* Every value is read back under the name that is printed. */
static void test_names(void **state)
{
    struct workload workload = workload_default(MODE_TRAIN);
    (void)state;
    for (int i = 0; i < PRECISION_COUNT; i++) {
        assert_int_equal(workload_set(&workload, "precision", precision_name((enum precision)i), NULL), STATUS_OK);
        assert_int_equal(workload.precision, i);
    }
    for (int i = OPTIMIZER_ADAM_FOREACH; i < OPTIMIZER_COUNT; i++) {
        assert_int_equal(workload_set(&workload, "optimizer", optimizer_name((enum optimizer)i), NULL), STATUS_OK);
        assert_int_equal(workload.optimizer, i);
    }
    for (int i = 0; i < ATTENTION_COUNT; i++) {
        assert_int_equal(workload_set(&workload, "attention", attention_name((enum attention)i), NULL), STATUS_OK);
        assert_int_equal(workload.attention, i);
    }
    for (int i = 0; i < CACHE_DTYPE_COUNT; i++) {
        const char *name = cache_dtype_name((enum cache_dtype)i);
        assert_int_equal(workload_set(&workload, "cache_dtype", name, NULL), STATUS_OK);
        assert_int_equal(workload.cache_dtype, i);
    }
    for (int i = 0; i < QUANTIZE_COUNT; i++) {
        assert_int_equal(workload_set(&workload, "quantize", quantize_name((enum quantize)i), NULL), STATUS_OK);
        assert_int_equal(workload.quantize, i);
    }
    assert_string_equal(mode_name(MODE_INFER), "infer");
    assert_string_equal(logits_name(LOGITS_ALL), "all");
    assert_string_equal(head_name(HEAD_LM), "lm");
    assert_string_equal(optimizer_name(OPTIMIZER_NONE), "none");
}

static void test_wrong_fields(void **state)
{
    static const struct {
        const char *key, *text, *message;
    } rows[] = {
        {"mode", "fly", "mode: 'fly' is not known; write one of: load, infer, generate, train"},
        {"precision", "fp17",
         "precision: 'fp17' is not known; write one of: float32, float16, bfloat16, amp-float16, amp-bfloat16, int8, "
         "int4, fp8"},
        {"optimizer", "none",
         "optimizer: 'none' is not known; write one of: adam-foreach, adam-fused, adam-single, adamw-foreach, "
         "adamw-fused, adamw-single, adam-8bit, sgd-momentum, sgd, adafactor-torch, "
         "adafactor-transformers, paged-adamw-32bit, paged-adamw-8bit"},
        {"checkpointing", "yes", "checkpointing: 'yes' is not known; write one of: false, true"},
        {"head", "default",
         "head: 'default' is not known; write one of: bare, lm, causal-lm, masked-lm, seq2seq-lm, image, "
         "sequence, token, question, encoder, embedding"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = workload_default(MODE_TRAIN);
        struct status error = {0};
        assert_int_equal(workload_set(&workload, rows[i].key, rows[i].text, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].message);
    }
    struct workload unchanged = workload_default(MODE_TRAIN);
    struct status unknown = {0};
    char known[STATUS_TEXT_BYTES] = "'colour' is not a field of a case; known are ";
    for (int field = FIELD_MODEL + 1; field < FIELD_COUNT; field++) {
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", field > FIELD_MODEL + 1 ? ", " : "",
                 case_field_key((enum case_field)field));
    }
    assert_int_equal(workload_set(&unchanged, "colour", "red", &unknown), STATUS_INVALID);
    assert_string_equal(unknown.text, known);
    static const char *const counts[] = {"0", "-1", "16abc", "1e3", "010", "", "1048577"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct workload workload = workload_default(MODE_TRAIN);
        struct status error = {0};
        assert_int_equal(workload_set(&workload, "batch", counts[i], &error), STATUS_INVALID);
        assert_memory_equal(error.text, "batch: ", 7);
        assert_int_equal(workload.batch, 1);
    }
}

static void steps_are_told_one_by_one(void **state)
{
    (void)state;
    struct status error = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    assert_int_equal(workload.steps, 3);
    workload.steps = TRAINING_STEPS_MAXIMUM;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.steps++;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "steps: each step is told by itself, and 64 are the most; no figure that we know has "
                        "risen after the fifth, so write steps: 64");
    workload = workload_default(MODE_INFER);
    workload.steps = 5;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "steps: mode infer takes no optimizer step; leave it out, or write mode train");
}

static void an_optimizer_in_backward_leaves_no_gradients(void **state)
{
    (void)state;
    struct status error = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    workload.optimizer_in_backward = true;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.accumulate = 2;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "optimizer_in_backward: gradients go as soon as their parameters have stepped and "
                                    "are not there to be added to; write false, or accumulate: 1");
    workload.accumulate = 1;
    workload.precision = PRECISION_AMP_FLOAT16;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "not there for the gradient scaler to look at"));
    workload.grad_scaler = GRAD_SCALER_NONE;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
}

static void a_copy_of_adapters_is_not_modelled(void **state)
{
    (void)state;
    struct status error = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    workload.weight_average = WEIGHT_AVERAGE_TIMM_EMA;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.lora_rank = 8;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "weight_average: timm-ema: the copy of a model with adapters is not modelled; "
                                    "write none, or leave out lora_rank");
    workload.lora_rank = 0;
    workload.release = "transformers=4.46";
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    workload = workload_default(MODE_INFER);
    workload.weight_average = WEIGHT_AVERAGE_AVERAGED_MODEL;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "weight_average averaged-model: mode infer changes no weights; leave it out, or "
                                    "write mode train");
}

static void test_check(void **state)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_INFER);
    (void)state;
    workload.optimizer = OPTIMIZER_ADAM_FUSED;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "optimizer adam-fused: mode infer does not train; leave the optimizer out, or write "
                        "mode train");
    workload = workload_default(MODE_LOAD);
    workload.checkpointing = true;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "checkpointing: mode load has no backward pass; write false, or mode train");
    workload = workload_default(MODE_LOAD);
    workload.accumulate = 2;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    workload = workload_default(MODE_INFER);
    workload.lora_rank = 8;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "lora_rank: mode infer trains no adapters; write 0, or mode train");
    workload = workload_default(MODE_INFER);
    workload.loss = LOSS_FUSED;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "loss fused: mode infer has no loss; leave it out, or write mode train");
    workload = workload_default(MODE_TRAIN);
    workload.precision = PRECISION_INT4;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "precision int4: quantised weights are not trained; train adapters beside them with "
                        "lora_rank: 8, or write bfloat16");
    workload.lora_rank = 8;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload = workload_default(MODE_TRAIN);
    workload.optimizer = OPTIMIZER_NONE;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "mode train needs an optimizer; write one, for example adamw-fused");
    workload = workload_default(MODE_INFER);
    workload.beams = 2;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "beams: mode infer does not generate; leave it out, or write mode generate");
    workload = workload_default(MODE_GENERATE);
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    assert_int_equal(workload.logits, LOGITS_LAST);
    workload.head = HEAD_BARE;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "head bare: a token is chosen by the head; write head lm");
    workload = workload_default(MODE_TRAIN);
    workload.head = HEAD_BARE;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "head bare: training needs a loss; write head lm");
    workload = workload_default(MODE_TRAIN);
    workload.logits = LOGITS_LAST;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
}

/* What contradicts a loss in chunks, or classes that are not transformers'. */
static void test_check_of_chunks_and_classes(void **state)
{
    (void)state;
    static const struct {
        enum loss loss;
        enum model_code code;
        const char *key, *value, *said;
    } rows[] = {
        {LOSS_CHUNKED, MODEL_CODE_TRANSFORMERS, "precision", "amp-bfloat16",
         "loss: chunked: a loss in chunks is not modelled under autocast; write precision bfloat16, or loss: composed"},
        {LOSS_CHUNKED_HEAD, MODEL_CODE_TRANSFORMERS, "metrics", "accuracy",
         "metrics: accuracy: the pass with a loss in chunks returns no logits, of which nothing can be computed then; "
         "write none, or loss: composed"},
        {LOSS_CHUNKED_OUTPUT, MODEL_CODE_TRANSFORMERS, "label_smoothing", "cross-entropy",
         "label_smoothing: cross-entropy: smoothed labels are those of PyTorch's own loss or of the Trainer, which a "
         "loss in chunks takes the place of; write loss composed, or leave one of them out"},
        {LOSS_COMPOSED, MODEL_CODE_LITGPT, "precision", "amp-float16",
         "model_code: litgpt: these classes are modelled with weights in float32 or 16 bits, without autocast; write "
         "precision bfloat16, or program plain-loop"},
        {LOSS_COMPOSED, MODEL_CODE_LITGPT, "lora_rank", "8",
         "model_code: litgpt: lora_rank is not modelled with these classes; leave it out, or write program plain-loop"},
        {LOSS_COMPOSED, MODEL_CODE_LITGPT, "checkpointing", "true",
         "model_code: litgpt: checkpointing is not modelled with these classes; leave it out, or write program "
         "plain-loop"},
        {LOSS_FUSED, MODEL_CODE_LITGPT, "batch", "2",
         "model_code: litgpt: loss is not modelled with these classes; leave it out, or write program plain-loop"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct status error = {0};
        struct workload workload = workload_default(MODE_TRAIN);
        workload.loss = rows[i].loss;
        workload.model_code = rows[i].code;
        assert_int_equal(workload_set(&workload, rows[i].key, rows[i].value, &error), STATUS_OK);
        assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].said);
    }
}

static void test_check_of_quantised_caches(void **state)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_INFER);
    (void)state;
    workload.cache_dtype = CACHE_DTYPE_FP8;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "cache_dtype fp8: mode infer does not generate; leave it out, or write mode generate");
    workload = workload_default(MODE_GENERATE);
    workload.cache_dtype = CACHE_DTYPE_INT4;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.precision = PRECISION_AMP_BFLOAT16;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    workload.precision = PRECISION_BFLOAT16;
    workload.cache = CACHE_STATIC;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "cache_dtype int4: a static cache has the dtype of its keys; write cache: dynamic, "
                                    "or cache_dtype: auto");
}

static void test_check_of_preparation(void **state)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    (void)state;
    workload.precision = PRECISION_INT4;
    workload.lora_rank = 8;
    workload.prepare_kbit = true;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.precision = PRECISION_FP8;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(
        error.text, "prepare_kbit: mode train in fp8 trains no adapters on weights of bitsandbytes; write false, or "
                    "mode train, precision int8 or int4, quantize linear and lora_rank: 8");
    workload.precision = PRECISION_INT8;
    workload.quantize = QUANTIZE_ALL;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
}

static void test_check_of_tf32(void **state)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_INFER);
    (void)state;
    workload.tf32 = true;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.precision = PRECISION_BFLOAT16;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "tf32: mode infer in bfloat16 multiplies nothing in float32; write false, or mode "
                                    "infer and precision float32");
    workload.tf32 = false;
    workload.tf32_convolutions = true;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_string_equal(error.text, "tf32_convolutions: mode infer in bfloat16 multiplies nothing in float32; write "
                                    "false, or mode infer and precision float32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_fields),
        cmocka_unit_test(test_check),
        cmocka_unit_test(a_copy_of_adapters_is_not_modelled),
        cmocka_unit_test(steps_are_told_one_by_one),
        cmocka_unit_test(an_optimizer_in_backward_leaves_no_gradients),
        cmocka_unit_test(test_check_of_chunks_and_classes),
        cmocka_unit_test(test_check_of_quantised_caches),
        cmocka_unit_test(test_check_of_preparation),
        cmocka_unit_test(test_check_of_tf32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
