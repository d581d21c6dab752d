/* quantization_config: what the published weights of a model are, in the words of case fields. Answered is what the
 * quantised weights of harness/tape are to the byte; every other method of transformers is refused by its name. Not the
 * layers themselves. */
#include "models/family/config_quantization.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* -- methods that are not modelled */

enum near { NEAR_BITS, NEAR_INT4, NEAR_INT8, NEAR_FP8 };

/* What transformers 5.23 loads besides (AUTO_QUANTIZER_MAPPING), what it stores, and what comes nearest. */
static const struct {
    const char *method, *stores;
    enum near near;
} others[] = {
    {"aqlm", "codes of additive codebooks", NEAR_INT4},
    {"auto-round", "packed groups", NEAR_BITS},
    {"bitnet", "ternary weights, four in a byte", NEAR_INT4},
    {"compressed-tensors", "groups, channels or tensors of several forms", NEAR_BITS},
    {"eetq", "int8 with a scale for each output", NEAR_INT8},
    {"fbgemm_fp8", "fp8 with a scale for each output", NEAR_FP8},
    {"fouroversix", "fp4 in blocks", NEAR_INT4},
    {"fp_quant", "fp4 in blocks", NEAR_INT4},
    {"gemma", "packed groups", NEAR_INT4},
    {"higgs", "codes of a grid", NEAR_INT4},
    {"hqq", "groups with zero points of their own", NEAR_BITS},
    {"metal", "packed groups", NEAR_BITS},
    {"mxfp4", "fp4 in blocks of 32", NEAR_INT4},
    {"mxfp8", "fp8 in blocks of 32", NEAR_FP8},
    {"nvfp4", "fp4 in blocks of 16", NEAR_INT4},
    {"quanto", "int or float codes of optimum-quanto", NEAR_BITS},
    {"quark", "several forms", NEAR_BITS},
    {"sinq", "groups with two scales", NEAR_BITS},
    {"spqr", "groups, and a sparse rest", NEAR_INT4},
    {"torchao", "tensor subclasses of torchao", NEAR_BITS},
    {"vptq", "codes of vectors", NEAR_INT4},
};

/* The number of bits that a configuration speaks of, in whatever form; 0: of none. */
static int64_t bits_said(const struct json *quantization)
{
    static const char *const keys[] = {"bits", "nbits", "w_bit", "weight_bits"};
    const struct json *nested = json_get(json_get(quantization, "quant_config"), "weight_quant_params");
    int64_t bits = json_integer_or(json_get(nested, "nbits"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && bits == 0; i++) {
        bits = json_integer_or(json_get(quantization, keys[i]), 0);
    }
    const char *words =
        json_string_or(json_get(quantization, "weights"), json_string_or(json_get(quantization, "quant_type"), ""));
    return bits != 0 ? bits : strstr(words, "int4") != NULL ? 4 : strstr(words, "int8") != NULL ? 8 : 0;
}

static const char *remedy_near(enum near near, const struct json *quantization)
{
    int64_t bits = near == NEAR_BITS ? bits_said(quantization) : 0;
    if (near == NEAR_INT4 || bits == 4) {
        return "--precision int4 to weigh it with 4-bit weights of bitsandbytes (NF4)";
    }
    if (near == NEAR_INT8 || bits == 8) {
        return "--precision int8 to weigh it with 8-bit weights of bitsandbytes (LLM.int8)";
    }
    return near == NEAR_FP8 ? "--precision fp8 to weigh it with weights in fp8"
                            : "--precision int8, int4 or fp8 to weigh it with quantized weights";
}

static void method_refuse(struct field_reader *reader, const struct json *quantization, const char *method)
{
    const char *bare = strncmp(method, "intel/", 6) == 0 ? method + 6 : method;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(bare, others[i].method) == 0) {
            field_fault(reader, "quantization_config",
                        "weights quantized by %s (%s) are not modelled; remove the key to weigh the model without "
                        "quantization, and add %s",
                        method, others[i].stores, remedy_near(others[i].near, quantization));
            return;
        }
    }
    field_fault(reader, "quantization_config",
                "checkpoints quantized by %.40s are not modelled; remove the key to weigh the model without "
                "quantization, and add %s",
                method[0] != '\0' ? method : "others", remedy_near(NEAR_BITS, quantization));
}

/* -- what a configuration keeps unquantised */

/* Whether a list names the output embedding alone, which no method here quantises, and parts that text models do not
 * have. Other modules would keep 16 bits, which is not modelled. */
static bool skips_nothing_else(const struct json *list, bool needs_head)
{
    static const char *const harmless[] = {
        "lm_head", "multi_modal_projector", "vision_tower",       "model.vision_tower", "visual",
        "merger",  "vision_model",          "modality_projection"};
    bool has_head = !needs_head || json_count(list) == 0;
    for (size_t i = 0; i < json_count(list); i++) {
        const char *name = json_string_or(json_at(list, i), "");
        size_t k = 0;
        while (k < sizeof harmless / sizeof harmless[0] && strcmp(name, harmless[k]) != 0) {
            k++;
        }
        if (k == sizeof harmless / sizeof harmless[0]) {
            return false;
        }
        has_head = has_head || k == 0;
    }
    return has_head;
}

/* -- bitsandbytes */

static bool switch_of(const struct json *quantization, const char *key)
{
    return json_boolean_or(json_get(quantization, key), false);
}

static bool is_bitsandbytes(const struct json *quantization, const char *method)
{
    return strcmp(method, "bitsandbytes") == 0 ||
           (method[0] == '\0' && (switch_of(quantization, "load_in_4bit") || switch_of(quantization, "load_in_8bit")));
}

/* Of 4 bits: nf4 and fp4 take the same bytes, whatever stores the codes, and a float32 scale for 64 weights. */
static void read_four_bits(struct field_reader *reader, const struct json *quantization, struct config *config)
{
    const char *type = json_string_or(json_get(quantization, "bnb_4bit_quant_type"), "fp4");
    const char *computes = json_string_or(json_get(quantization, "bnb_4bit_compute_dtype"), "float32");
    bool is_fp4 = strcmp(type, "fp4") == 0;
    if (!is_fp4 && strcmp(type, "nf4") != 0) {
        field_fault(reader, "quantization_config.bnb_4bit_quant_type", "'%.40s' is not known; write nf4 or fp4", type);
    }
    config->packing.precision = "int4";
    config->packing.method = is_fp4 ? "bitsandbytes, fp4" : "bitsandbytes, nf4";
    config->packing.double_quant = switch_of(quantization, "bnb_4bit_use_double_quant");
    config->packing.computes_wide = strstr(computes, "float32") != NULL;
}

static void read_bitsandbytes(struct field_reader *reader, const struct json *quantization, struct config *config)
{
    bool four = switch_of(quantization, "load_in_4bit") || switch_of(quantization, "_load_in_4bit");
    bool eight = switch_of(quantization, "load_in_8bit") || switch_of(quantization, "_load_in_8bit");
    config->packing = (struct config_packing){
        .quantize = "linear", .precision = "int8", .method = "bitsandbytes, LLM.int8", .quantized_kernel = "auto"};
    if (four == eight) {
        field_fault(reader, "quantization_config", "%s; write one of load_in_4bit and load_in_8bit as true",
                    four ? "bitsandbytes has either 4 bits or 8" : "bitsandbytes is given neither 4 bits nor 8");
    }
    if (switch_of(quantization, "llm_int8_has_fp16_weight")) {
        field_fault(reader, "quantization_config.llm_int8_has_fp16_weight",
                    "weights that stay in float16 are not modelled; write false, or --precision float16");
    }
    if (!skips_nothing_else(json_get(quantization, "llm_int8_skip_modules"), true)) {
        field_fault(reader, "quantization_config.llm_int8_skip_modules",
                    "modelled is what transformers keeps by itself, the head; write null, or [\"lm_head\"]");
    }
    if (four) {
        read_four_bits(reader, quantization, config);
    }
}

/* -- GPTQ and AWQ: bits, inputs that share a scale, -1 for all, and their order */

static void read_packing(struct field_reader *reader, const struct json *quantization, const char *method,
                         struct config *config)
{
    bool awq = strcmp(method, "awq") == 0;
    const struct json *bits_key =
        json_get(quantization, awq && json_get(quantization, "w_bit") != NULL ? "w_bit" : "bits");
    const struct json *group_key =
        json_get(quantization, awq && json_get(quantization, "q_group_size") != NULL ? "q_group_size" : "group_size");
    const char *version = json_string_or(json_get(quantization, "version"), "gemm");
    int64_t bits = json_integer_or(bits_key, 4), group = json_integer_or(group_key, 128);
    bool gemv = awq && strcasecmp(version, "gemv") == 0;
    if (bits != 4 && (awq || bits != 8)) {
        field_fault(reader, "quantization_config",
                    "weights of %s with %lld bits are not modelled; known are %s; remove the key to weigh the model "
                    "without quantization",
                    method, (long long)bits, awq ? "4" : "4 and 8");
    } else if (group < -1 || group > (1 << 20)) {
        field_fault(reader, "quantization_config",
                    "a group_size of %lld is none; write the inputs that share a scale, or -1", (long long)group);
    } else if (awq && !gemv && strcasecmp(version, "gemm") != 0) {
        field_fault(reader, "quantization_config",
                    "the layers of awq's version '%.40s' are not modelled; known are gemm and gemv; remove the key to "
                    "weigh the model without quantization",
                    version);
    } else if (!awq && (switch_of(quantization, "lm_head") || json_count(json_get(quantization, "dynamic")) > 0)) {
        field_fault(reader, "quantization_config",
                    "a head that is packed too (lm_head), and modules with bits of their own (dynamic), are not "
                    "modelled; remove the key to weigh the model without quantization, and add %s",
                    remedy_near(NEAR_BITS, quantization));
    }
    config->packing = (struct config_packing){
        .quantize = awq ? "awq" : "gptq",
        .method = awq ? "awq" : "gptq",
        .precision = bits == 8 ? "int8" : "int4",
        .quantized_kernel = gemv ? "gemv" : "auto",
        .group_size = group > 0 ? group : 0,
        .act_order = !awq && switch_of(quantization, "desc_act"),
    };
}

/* A checkpoint in fp8 blocks is what DeepSeek-V3 is published as: the classes are the same, and the real ones turn it
 * into their dtype if they are asked to (dequantize). */
void config_quantization_read(struct field_reader *reader, struct config *config)
{
    const struct json *quantization = field_member(reader, "quantization_config");
    const char *method = json_string_or(json_get(quantization, "quant_method"), "");
    if (json_kind(quantization) == JSON_KIND_NULL) {
        return;
    }
    if (strcmp(method, "gptq") == 0 || strcmp(method, "awq") == 0) {
        read_packing(reader, quantization, method, config);
    } else if (is_bitsandbytes(quantization, method)) {
        read_bitsandbytes(reader, quantization, config);
    } else if (strcmp(method, "fp8") == 0) {
        config->stored_in_fp8 = true;
    } else {
        method_refuse(reader, quantization, method);
    }
}
