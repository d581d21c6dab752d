/* quantization_config: methods that become fields of a case, and methods that are refused by name. Every method of
 * AUTO_QUANTIZER_MAPPING of transformers 5.23 is here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"

enum { TEXT_BYTES = 512 };

static void text_make(const char *said, char text[TEXT_BYTES])
{
    snprintf(text, TEXT_BYTES, "{\"model_type\": \"llama\", \"quantization_config\": {%s}}", said);
}

static void known_methods_are_fields_of_a_case(void **state)
{
    static const struct {
        const char *said;
        struct config_packing packing;
    } rows[] = {
        {"\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": -1, \"desc_act\": true",
         {"gptq", "int8", "auto", "gptq", 0, true, false, false}},
        {"\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128, \"dynamic\": null, \"lm_head\": false",
         {"gptq", "int4", "auto", "gptq", 128, false, false, false}},
        {"\"quant_method\": \"awq\", \"w_bit\": 4, \"q_group_size\": 64, \"version\": \"GEMV\"",
         {"awq", "int4", "gemv", "awq", 64, false, false, false}},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_8bit\": true, \"llm_int8_threshold\": 6.0",
         {"linear", "int8", "auto", "bitsandbytes, LLM.int8", 0, false, false, false}},
        {"\"load_in_8bit\": true, \"llm_int8_skip_modules\": null", /* before 4.30 the method had no name */
         {"linear", "int8", "auto", "bitsandbytes, LLM.int8", 0, false, false, false}},
        {"\"quant_method\": \"bitsandbytes\", \"_load_in_4bit\": true, \"_load_in_8bit\": false, "
         "\"bnb_4bit_quant_type\": \"nf4\", \"bnb_4bit_compute_dtype\": \"bfloat16\"",
         {"linear", "int4", "auto", "bitsandbytes, nf4", 0, false, false, false}},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, \"bnb_4bit_quant_type\": \"nf4\", "
         "\"bnb_4bit_use_double_quant\": true, \"bnb_4bit_compute_dtype\": \"float16\", "
         "\"llm_int8_skip_modules\": [\"lm_head\", \"multi_modal_projector\"]",
         {"linear", "int4", "auto", "bitsandbytes, nf4", 0, false, true, false}},
        {"\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true, \"bnb_4bit_quant_storage\": \"bfloat16\"",
         {"linear", "int4", "auto", "bitsandbytes, fp4", 0, false, false, true}},
    };
    (void)state;
    assert_null(config_of("{\"model_type\": \"llama\"}").packing.quantize);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[TEXT_BYTES];
        text_make(rows[i].said, text);
        struct config config = config_of(text);
        const struct config_packing *packing = &rows[i].packing;
        assert_string_equal(config.packing.quantize, packing->quantize);
        assert_string_equal(config.packing.precision, packing->precision);
        assert_string_equal(config.packing.quantized_kernel, packing->quantized_kernel);
        assert_string_equal(config.packing.method, packing->method);
        assert_int_equal(config.packing.group_size, packing->group_size);
        assert_int_equal(config.packing.act_order, packing->act_order);
        assert_int_equal(config.packing.double_quant, packing->double_quant);
        assert_int_equal(config.packing.computes_wide, packing->computes_wide);
    }
    struct config fp8 = config_of("{\"model_type\": \"llama\", \"quantization_config\": {\"quant_method\": \"fp8\"}}");
    assert_true(fp8.stored_in_fp8 && fp8.packing.quantize == NULL);
}

static void refusal_check(const char *said, const char *message)
{
    char text[TEXT_BYTES];
    struct config config;
    struct status error = {0};
    text_make(said, text);
    assert_int_equal(text_read(text, &config, &error), STATUS_INVALID);
    const char *told = STATUS_SAID(&error) + strlen(scratch_file_path);
    if (strcmp(told, message) != 0) {
        fail_msg("%s: %s\nnot: %s", said, told, message);
    }
}

/* Each names its method, and the precision that comes nearest. */
static void other_methods_are_refused_by_name(void **state)
{
    static const char *const rows[][3] = {
        {"aqlm", "", "int4"},
        {"auto-round", ", \"bits\": 4", "int4"},
        {"intel/auto-round", ", \"bits\": 8", "int8"},
        {"bitnet", "", "int4"},
        {"compressed-tensors", ", \"format\": \"pack-quantized\"", "int8, int4 or fp8"},
        {"eetq", ", \"weights\": \"int8\"", "int8"},
        {"fbgemm_fp8", "", "fp8"},
        {"fouroversix", "", "int4"},
        {"fp_quant", "", "int4"},
        {"gemma", "", "int4"},
        {"higgs", ", \"bits\": 4", "int4"},
        {"hqq", ", \"quant_config\": {\"weight_quant_params\": {\"nbits\": 8}}", "int8"},
        {"metal", ", \"bits\": 4", "int4"},
        {"mxfp4", "", "int4"},
        {"mxfp8", "", "fp8"},
        {"nvfp4", "", "int4"},
        {"quanto", ", \"weights\": \"int4\"", "int4"},
        {"quark", "", "int8, int4 or fp8"},
        {"sinq", ", \"nbits\": 4", "int4"},
        {"spqr", ", \"bits\": 3", "int4"},
        {"torchao", ", \"quant_type\": \"int8_weight_only\"", "int8"},
        {"vptq", "", "int4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char said[256], text[TEXT_BYTES], begin[160], end[64];
        struct config config;
        struct status error = {0};
        snprintf(said, sizeof said, "\"quant_method\": \"%s\"%s", rows[i][0], rows[i][1]);
        text_make(said, text);
        assert_int_equal(text_read(text, &config, &error), STATUS_INVALID);
        const char *told = STATUS_SAID(&error) + strlen(scratch_file_path);
        snprintf(begin, sizeof begin, ":1:48: quantization_config: weights quantized by %s (", rows[i][0]);
        snprintf(end, sizeof end, "and add --precision %s to weigh it", rows[i][2]);
        if (strncmp(told, begin, strlen(begin)) != 0 || strstr(told, end) == NULL) {
            fail_msg("%s", told);
        }
    }
}

static void what_is_not_modelled_is_said(void **state)
{
    (void)state;
    refusal_check(
        "\"bits\": 4",
        ":1:48: quantization_config: checkpoints quantized by others are not modelled; remove the key to weigh "
        "the model without quantization, and add --precision int4 to weigh it with 4-bit weights of "
        "bitsandbytes (NF4)");
    refusal_check(
        "\"quant_method\": \"bitsandbytes\"",
        ":1:48: quantization_config: bitsandbytes is given neither 4 bits nor 8; write one of load_in_4bit and "
        "load_in_8bit as true");
    refusal_check(
        "\"load_in_8bit\": true, \"llm_int8_skip_modules\": [\"model.layers.0.mlp\", \"lm_head\"]",
        ":1:96: quantization_config.llm_int8_skip_modules: modelled is what transformers keeps by itself, the "
        "head; write null, or [\"lm_head\"]");
    refusal_check(
        "\"load_in_8bit\": true, \"llm_int8_skip_modules\": [\"visual\"]", /* then the head is quantised */
        ":1:96: quantization_config.llm_int8_skip_modules: modelled is what transformers keeps by itself, the "
        "head; write null, or [\"lm_head\"]");
    refusal_check("\"load_in_8bit\": true, \"llm_int8_has_fp16_weight\": true",
                  ":1:99: quantization_config.llm_int8_has_fp16_weight: weights that stay in float16 are not modelled; "
                  "write false, or --precision float16");
    refusal_check("\"load_in_4bit\": true, \"bnb_4bit_quant_type\": \"af4\"",
                  ":1:94: quantization_config.bnb_4bit_quant_type: 'af4' is not known; write nf4 or fp4");
    refusal_check("\"quant_method\": \"gptq\", \"bits\": 3",
                  ":1:48: quantization_config: weights of gptq with 3 bits are not modelled; known are 4 and 8; remove "
                  "the key to weigh the model without quantization");
    refusal_check("\"quant_method\": \"gptq\", \"bits\": 4, \"dynamic\": {\"-:.*down.*\": {}}",
                  ":1:48: quantization_config: a head that is packed too (lm_head), and modules with bits of their own "
                  "(dynamic), are not modelled; remove the key to weigh the model without quantization, and add "
                  "--precision int4 to weigh it with 4-bit weights of bitsandbytes (NF4)");
    refusal_check(
        "\"quant_method\": \"awq\", \"version\": \"marlin\"",
        ":1:48: quantization_config: the layers of awq's version 'marlin' are not modelled; known are gemm and "
        "gemv; remove the key to weigh the model without quantization");
    refusal_check("\"quant_method\": \"gptq\", \"group_size\": -2",
                  ":1:48: quantization_config: a group_size of -2 is none; write the inputs that share a scale, or -1");
    refusal_check(
        "", ":1:48: quantization_config: checkpoints quantized by others are not modelled; remove the key to weigh "
            "the model without quantization, and add --precision int8, int4 or fp8 to weigh it with quantized "
            "weights");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_methods_are_fields_of_a_case),
        cmocka_unit_test(other_methods_are_refused_by_name),
        cmocka_unit_test(what_is_not_modelled_is_said),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
