/* Reading configurations: what the files say, what they leave out, and every wrong value by its exact message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/config/config.h"
#include "models/config/family.h"
#include "models/family/family_table.h"
#include "models/find/config_file.h"
#include "models/find/model.h"
#include "models/skeleton/skeleton.h"
#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"

/* Nothing but the type: the defaults of the real classes. */
static void test_defaults(void **state)
{
    (void)state;
    struct config bert = config_of("{\"model_type\": \"bert\"}");
    assert_string_equal(bert.family->name, "bert");
    assert_int_equal(bert.vocab, 30522);
    assert_int_equal(bert.head_dim, 64);
    assert_int_equal(bert.pad_token, 0);
    assert_true(bert.tied_head && bert.attention_bias);
    assert_true(bert.norm_epsilon == 1e-12 && bert.hidden_dropout == 0.1);
    struct config gpt2 = config_of("{\"model_type\": \"gpt2\", \"n_inner\": null, \"pad_token_id\": 5}");
    assert_int_equal(gpt2.ffn, 4 * 768);
    assert_int_equal(gpt2.activation, ACTIVATION_GELU_NEW);
    assert_int_equal(gpt2.pad_token, -1);
    assert_true(gpt2.tied_head);
    struct config llama = config_of("{\"model_type\": \"llama\"}");
    assert_int_equal(llama.kv_heads, 32);
    assert_int_equal(llama.positions, 2048);
    assert_false(llama.tied_head || llama.attention_bias || llama.mlp_bias);
    assert_true(llama.rope_theta == 10000);
    struct config mistral = config_of("{\"model_type\": \"mistral\"}");
    assert_int_equal(mistral.kv_heads, 8);
    assert_int_equal(mistral.sliding_window, 4096);
    struct config qwen2 = config_of("{\"model_type\": \"qwen2\", \"sliding_window\": 4096}");
    assert_int_equal(qwen2.kv_heads, 32);
    assert_int_equal(qwen2.sliding_window, 0);
    assert_true(qwen2.attention_bias && !qwen2.attention_output_bias);
    struct config roberta = config_of("{\"model_type\": \"xlm-roberta\"}");
    assert_string_equal(roberta.family->name, "bert");
    assert_int_equal(roberta.vocab, 30522); /* XLMRobertaConfig; RobertaConfig has 50265 */
    assert_int_equal(roberta.pad_token, 1);
    assert_int_equal(roberta.positions, 510);
    assert_int_equal(roberta.position_offset, 2);
    struct config distilbert = config_of("{\"model_type\": \"distilbert\"}");
    assert_int_equal(distilbert.layers, 6);
    assert_int_equal(distilbert.ffn, 3072);
    struct config opt = config_of("{\"model_type\": \"opt\", \"word_embed_proj_dim\": null}");
    assert_int_equal(opt.word_width, 768);
    assert_int_equal(opt.positions, 2048);
    assert_true(opt.norm_first && opt.final_norm && opt.attention_bias);
    struct config bloom = config_of("{\"model_type\": \"bloom\", \"pad_token_id\": 3}");
    assert_int_equal(bloom.hidden, 64);
    assert_int_equal(bloom.heads, 8);
    assert_int_equal(bloom.pad_token, -1);
    struct config falcon = config_of("{\"model_type\": \"falcon\", \"alibi\": null}");
    assert_int_equal(falcon.kv_heads, 1);
    assert_int_equal(falcon.head_dim, 64);
    assert_int_equal(falcon.ffn, 4 * 4544);
    assert_true(falcon.parallel_blocks && !falcon.alibi && !falcon.grouped_projection && !falcon.attention_bias);
    struct config vit = config_of("{\"model_type\": \"vit\"}");
    assert_int_equal(vit.pooler, 768);
    assert_int_equal(vit.classes, 2);
    struct config resnet = config_of("{\"architecture\": \"resnet50\"}");
    assert_string_equal(resnet.family->name, "resnet");
    assert_string_equal(resnet.model_type, "resnet");
    assert_true(resnet.is_timm && resnet.bottleneck);
    assert_int_equal(resnet.widths[3], 2048);
    assert_int_equal(resnet.classes, 1000);
}

/* The same of mixtures of experts. */
static void test_defaults_of_mixtures(void **state)
{
    (void)state;
    struct config mixtral = config_of("{\"model_type\": \"mixtral\"}");
    assert_int_equal(mixtral.experts, 8);
    assert_int_equal(mixtral.active_experts, 2);
    assert_int_equal(mixtral.expert_ffn, 14336);
    assert_int_equal(mixtral.sliding_window, 0);
    assert_true(mixtral.norm_epsilon == 1e-5 && mixtral.normalizes_routing && mixtral.shared_ffn == 0);
    struct config qwen2_moe = config_of("{\"model_type\": \"qwen2_moe\"}");
    assert_int_equal(qwen2_moe.experts, 60);
    assert_int_equal(qwen2_moe.shared_ffn, 5632);
    assert_true(qwen2_moe.attention_bias && !qwen2_moe.normalizes_routing && !qwen2_moe.head_norms);
    struct config qwen3_moe = config_of("{\"model_type\": \"qwen3_moe\", \"shared_expert_intermediate_size\": 5}");
    assert_int_equal(qwen3_moe.head_dim, 64);
    assert_int_equal(qwen3_moe.shared_ffn, 0);
    assert_true(qwen3_moe.head_norms && !qwen3_moe.attention_bias);
    struct config deepseek = config_of("{\"model_type\": \"deepseek_v3\"}");
    assert_int_equal(deepseek.head_dim, 192);
    assert_int_equal(deepseek.latent, 512);
    assert_int_equal(deepseek.first_expert_layer, 3);
    assert_true(deepseek.routing_scale == 2.5 && deepseek.rope_interleaved && deepseek.expert_groups == 8);
}

static void test_fields(void **state)
{
    (void)state;
    struct config llama = config_of(
        "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 4, \"num_key_value_heads\": null, "
        "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 500000.0}, \"torch_dtype\": \"bfloat16\", "
        "\"attention_bias\": true, \"pad_token_id\": -1, \"vocab_size\": 100, \"transformers_version\": "
        "\"4.31.0.dev0\", "
        "\"architectures\": [\"LlamaForCausalLM\"], \"a key of the future\": {\"x\": [1]}}");
    assert_int_equal(llama.kv_heads, 4);
    assert_int_equal(llama.head_dim, 16);
    assert_true(llama.rope_theta == 500000);
    assert_int_equal(llama.dtype, DTYPE_BFLOAT16);
    assert_true(llama.attention_bias && llama.attention_output_bias);
    assert_int_equal(llama.pad_token, 99);
    assert_string_equal(llama.transformers_version, "4.31.0.dev0");
    assert_string_equal(llama.architecture, "LlamaForCausalLM");
    assert_string_equal(llama.name, "test");
    struct config gpt2 = config_of("{\"model_type\": \"gpt2\", \"hidden_size\": 96, \"dtype\": \"torch.float16\"}");
    assert_int_equal(gpt2.hidden, 96);
    assert_int_equal(gpt2.dtype, DTYPE_FLOAT16);
    struct config vit = config_of("{\"model_type\": \"vit\", \"image_size\": [32, 32], \"patch_size\": 8, "
                                  "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}");
    assert_int_equal(vit.image, 32);
    assert_int_equal(vit.classes, 3);
    struct config resnet =
        config_of("{\"architecture\": \"resnet18\", \"num_classes\": 7, \"model_args\": {\"layers\": "
                  "[1, 2, 3, 4], \"channels\": [8, 16, 32, 64], \"in_chans\": 1}, "
                  "\"pretrained_cfg\": {\"input_size\": [1, 64, 64]}}");
    assert_int_equal(resnet.layers, 10);
    assert_int_equal(resnet.widths[0], 8);
    assert_int_equal(resnet.channels, 1);
    assert_int_equal(resnet.image, 64);
    assert_int_equal(resnet.classes, 7);
}

/* Each file, and what is said of it after "FILE". */
static const struct {
    const char *text, *message;
} wrong_values[] = {
    {"{\"model_type\": 5}", ":1:16: model_type: an integer is not a string; write one in quotation marks"},
    {"{\"model_type\": \"resnet\"}",
     ":1:16: model_type: the ResNet of transformers is not modelled; take timm's, for example "
     "timm/resnet50.a1_in1k"},
    {"{\"model_type\": \"bert\", \"num_attention_heads\": 0}",
     ":1:47: num_attention_heads: 0 is too small; write a whole number from 1 to 1099511627776"},
    {"{\"model_type\": \"bert\", \"hidden_size\": 770}",
     ":1:1: num_attention_heads: 12 heads do not divide the hidden size 770; write a number of heads that does"},
    {"{\"model_type\": \"gpt2\", \"n_head\": 7}",
     ":1:34: n_head: 7 heads do not divide the hidden size 768; write a number of heads that does"},
    {"{\"model_type\": \"bert\", \"vocab_size\": -1}",
     ":1:38: vocab_size: -1 is too small; write a whole number from 1 to 1099511627776"},
    {"{\"model_type\": \"bert\", \"hidden_size\": 768.5}",
     ":1:39: hidden_size: a real number is not a whole number; write one from 1 to 1099511627776"},
    {"{\"model_type\": \"bert\", \"hidden_size\": \"768\"}",
     ":1:39: hidden_size: a string is not a whole number; write one from 1 to 1099511627776"},
    {"{\"model_type\": \"bert\", \"hidden_size\": null}",
     ":1:39: hidden_size: null is not a whole number; write one from 1 to 1099511627776"},
    {"{\"model_type\": \"bert\", \"num_hidden_layers\": 10001}",
     ":1:45: num_hidden_layers: 10001 is too large; write a whole number from 1 to 10000"},
    {"{\"model_type\": \"bert\", \"hidden_size\": 1099511627777}",
     ":1:39: hidden_size: 1099511627777 is too large; write a whole number from 1 to 1099511627776"},
    {"{\"model_type\": \"bert\", \"hidden_act\": \"mish\"}",
     ":1:38: hidden_act: 'mish' is not known; known are gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, silu, swish, "
     "relu"},
    {"{\"model_type\": \"bert\", \"hidden_dropout_prob\": 1.5}",
     ":1:47: hidden_dropout_prob: 1.5 is out of range; write a number from 0 to 0.999"},
    {"{\"model_type\": \"bert\", \"layer_norm_eps\": \"1e-12\"}",
     ":1:42: layer_norm_eps: a string is not a number; write one from 0 to 1"},
    {"{\"model_type\": \"bert\", \"tie_word_embeddings\": 1}",
     ":1:47: tie_word_embeddings: an integer is not a boolean; write true or false"},
    {"{\"model_type\": \"bert\", \"pad_token_id\": 30522}",
     ":1:40: pad_token_id: 30522 is too large; write a whole number from -30522 to 30521"},
    {"{\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"}",
     ":1:51: position_embedding_type: 'relative_key' is not modelled; known is absolute"},
    {"{\"model_type\": \"gpt2\", \"add_cross_attention\": true}",
     ":1:47: add_cross_attention: true is not modelled; set it to false, or take another model"},
    {"{\"model_type\": \"roberta\", \"pad_token_id\": null}",
     ":1:43: pad_token_id: null leaves the positions without a beginning; write 1"},
    {"{\"model_type\": \"roberta\", \"pad_token_id\": 511}",
     ":1:43: pad_token_id: 511 leaves none of the 512 positions to a token; write a smaller number"},
    {"{\"model_type\": \"distilbert\", \"sinusoidal_pos_embds\": true}",
     ":1:54: sinusoidal_pos_embds: true is not modelled; set it to false, or take another model"},
    {"{\"model_type\": \"opt\", \"layerdrop\": 0.1}",
     ":1:36: layerdrop: layers that are left out at random are not modelled; write 0.0"},
    {"{\"model_type\": \"bloom\", \"pretraining_tp\": 4, \"slow_but_exact\": true}",
     ":1:64: slow_but_exact: true is not modelled; set it to false, or take another model"},
    {"{\"model_type\": \"falcon\", \"num_kv_heads\": 3, \"new_decoder_architecture\": true}",
     ":1:42: num_kv_heads: 3 does not divide the 71 attention heads; write a number that does"},
    {"{\"model_type\": \"falcon\", \"num_kv_heads\": 3, \"multi_query\": false}",
     ":1:42: num_kv_heads: 3 is not the number of attention heads, 71, without multi_query and the new decoder; leave "
     "it out"},
    {"{\"model_type\": \"falcon\", \"new_decoder_architecture\": true, \"parallel_attn\": false}",
     ":1:77: parallel_attn: false does not go with new_decoder_architecture; write true"},
    {"{\"model_type\": \"falcon\", \"num_ln_in_parallel_attn\": 2}",
     ":1:53: num_ln_in_parallel_attn: 2 needs new_decoder_architecture; write 1"},
    {"{\"model_type\": \"llama\", \"num_key_value_heads\": 5}",
     ":1:48: num_key_value_heads: 5 does not divide the 32 attention heads; write a number that does"},
    {"{\"model_type\": \"llama\", \"head_dim\": 63}",
     ":1:37: head_dim: 63 is odd; rotary embeddings need an even size of a head"},
    {"{\"model_type\": \"mistral\", \"head_dim\": 1099511627776}",
     ":1:39: head_dim: 32 heads of 1099511627776 are too large; write smaller numbers"},
    {"{\"model_type\": \"llama\", \"rope_parameters\": 3}",
     ":1:44: rope_parameters: an integer is not an object; write {\"rope_theta\": 10000.0}"},
    {"{\"model_type\": \"llama\", \"torch_dtype\": \"int8\"}",
     ":1:40: torch_dtype: 'int8' is not known; known are float32, float16, bfloat16"},
    {"{\"model_type\": \"mixtral\", \"num_experts_per_tok\": 9}",
     ":1:50: num_experts_per_tok: a token cannot use 9 of 8 experts; write a smaller number"},
    {"{\"model_type\": \"mixtral\", \"output_router_logits\": true}",
     ":1:51: output_router_logits: true is not modelled; set it to false, or take another model"},
    {"{\"model_type\": \"qwen2_moe\", \"mlp_only_layers\": [0, -1]}",
     ":1:48: mlp_only_layers: member 1 is not the number of a layer; write 0 or more"},
    {"{\"model_type\": \"qwen3_moe\", \"mlp_only_layers\": 3}",
     ":1:48: mlp_only_layers: an integer is not a list; write the numbers of layers, for example [0]"},
    {"{\"model_type\": \"deepseek_v2\", \"num_experts_per_tok\": 6, \"topk_method\": \"noaux_tc\"}",
     ":1:72: topk_method: 'noaux_tc' is not known; known are greedy, group_limited_greedy"},
    {"{\"model_type\": \"deepseek_v3\", \"n_group\": 7}",
     ":1:42: n_group: 7 groups do not divide the 256 experts; write a number that does"},
    {"{\"model_type\": \"deepseek_v3\", \"topk_group\": 9}",
     ":1:45: topk_group: a token cannot use 9 of 8 groups; write a smaller number"},
    {"{\"model_type\": \"deepseek_v3\", \"num_key_value_heads\": 8}",
     ":1:54: num_key_value_heads: 8 is not the number of attention heads, 128, which all have keys of their own; write "
     "the same number"},
    {"{\"model_type\": \"vit\", \"image_size\": [224, 192]}",
     ":1:37: image_size: 224 by 192 is not square; only square images are modelled"},
    {"{\"model_type\": \"vit\", \"pooler_act\": \"relu\"}",
     ":1:37: pooler_act: 'relu' is not modelled; write tanh, or take another model"},
    {"{\"model_type\": \"vit\", \"patch_size\": 300}",
     ":1:37: patch_size: 300 is larger than the image, 224; write a smaller one"},
    {"{\"model_type\": \"vit\", \"id2label\": {\"0\": \"a\"}, \"num_labels\": 2}",
     ":1:35: id2label: it has 1 labels and num_labels says otherwise; write one label for each class"},
    {"{\"architecture\": \"resnet18\", \"model_args\": {\"layers\": [2, 2]}}",
     ":1:55: layers: it is not a list of four; write one whole number for each stage"},
    {"{\"architecture\": \"resnet18\", \"model_args\": {\"channels\": [8, 16, 32, 0]}}",
     ":1:57: channels: element 3 is not a whole number from 1 to 1099511627776; write one"},
    {"{\"architecture\": \"resnet18\", \"model_args\": {\"cardinality\": 32}}",
     ":1:60: cardinality: it is not modelled in model_args; known are layers, channels, in_chans"},
    {"{\"architecture\": \"regnetz_040\"}",
     ":1:18: architecture: 'regnetz_040' is not modelled: its blocks widen inside and have no shortcut where the width "
     "changes; take a regnetx_ or regnety_"},
    {"{\"architecture\": \"regnety_004\", \"model_args\": {\"w0\": 17}}",
     ":1:54: w0: 17 is not a multiple of 8; write one"},
    {"{\"architecture\": \"regnety_004\", \"model_args\": {\"wm\": 1.1}}",
     ":1:47: model_args: depth, w0, wa and wm make more stages, and the class takes 4; write others"},
    {"{\"architecture\": \"regnety_004\", \"model_args\": {\"drop_path_rate\": 0.1}}",
     ":1:66: drop_path_rate: it is not modelled in model_args; known are depth, w0, wa, wm, group_size, se_ratio, "
     "stem_width, in_chans, drop_rate"},
    {"{\"architecture\": \"resnet18\", \"pretrained_cfg\": {\"input_size\": [3, 224, 192]}}",
     ":1:63: pretrained_cfg.input_size: it is not [channels, side, side]; write three whole numbers, for example [3, "
     "224, "
     "224]"},
    {"{\"model_type\": \"llama\",\n \"rope_theta\": Infinity, \"unread\": [0.0, -Infinity]}",
     ":2:16: rope_theta: inf is out of range; write a number from 1 to 1e+12"},
    {"{\"model_type\": \"llama\", \"rms_norm_eps\": NaN}",
     ":1:41: rms_norm_eps: nan is out of range; write a number from 0 to 1"},
    {"[1]", ":1:1: an array is not a configuration; write an object"},
};

static void test_wrong_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_values / sizeof wrong_values[0]; i++) {
        struct config config = {.hidden = -7};
        struct status error = {0};
        assert_int_equal(text_read(wrong_values[i].text, &config, &error), STATUS_INVALID);
        assert_int_equal(error.code, STATUS_INVALID);
        assert_memory_equal(STATUS_SAID(&error), scratch_file_path, strlen(scratch_file_path));
        assert_string_equal(STATUS_SAID(&error) + strlen(scratch_file_path), wrong_values[i].message);
        assert_int_equal(config.hidden, -7); /* outputs are written on success only */
    }
}

/* What is not known is told with all that is: every type of transformers, or the beginnings of all architectures of
 * timm, or both; and the message is whole. */
static void test_unknown_types(void **state)
{
    static const struct {
        const char *text, *message;
        bool types;
    } rows[] = {
        {"{}", ":1:1: model_type: it is missing; known are bert, ", true},
        {"{\"model_type\": \"xyz\"}", ":1:16: model_type: 'xyz' is not known; known are bert, ", true},
        {"{\"architecture\": \"resnet50d\"}", ":1:18: architecture: 'resnet50d' is not known; known are ", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        struct status error = {0};
        assert_int_equal(text_read(rows[i].text, &config, &error), STATUS_INVALID);
        const char *message = STATUS_SAID(&error) + strlen(scratch_file_path);
        assert_null(strstr(message, "..."));
        assert_memory_equal(message, rows[i].message, strlen(rows[i].message));
        const struct family *family;
        for (int k = 0; (family = family_at(k)) != NULL; k++) {
            const char *const *type = family->model_types, *const *architecture = family->architectures;
            for (; rows[i].types && type != NULL && *type != NULL; type++) {
                assert_non_null(strstr(message, *type));
            }
            for (; architecture != NULL && *architecture != NULL; architecture++) {
                char kind[64]; /* "resnet*" */
                snprintf(kind, sizeof kind, "%.*s*", (int)strcspn(*architecture, "0123456789"), *architecture);
                assert_non_null(strstr(message, kind));
            }
        }
    }
}

/* Wrong JSON is told by line and column. */
static void test_wrong_json(void **state)
{
    static const char *const texts[] = {
        "",
        "{\"model_type\": \"bert\"",
        "{\"model_type\": \"bert\", \"model_type\": \"gpt2\"}",
        "{\"model_type\": \"bert\"} {}",
        "{\"model_type\": \"bert\", \"hidden_size\": 99999999999999999999}",
        "{\"model_type\": \"bert\", \"hidden_size\": 0x10}",
        "\xff\xfe",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config config;
        struct status error = {0};
        int line = 0;
        int column = 0;
        assert_int_equal(text_read(texts[i], &config, &error), STATUS_INVALID);
        assert_memory_equal(STATUS_SAID(&error), scratch_file_path, strlen(scratch_file_path));
        assert_int_equal(sscanf(STATUS_SAID(&error) + strlen(scratch_file_path), ":%d:%d: ", &line, &column), 2);
        assert_true(line >= 1 && column >= 0);
        assert_non_null(strchr(STATUS_SAID(&error), ';'));
    }
}

static void test_missing_file(void **state)
{
    struct config config;
    struct status error = {0};
    (void)state;
    assert_int_equal(config_read("/nowhere/config.json", "x", &config, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), "/nowhere/config.json"));
}

/* Each count is allowed by itself; together they are beyond 63 bits. */
static void test_overflow(void **state)
{
    static const char *const texts[] = {
        "{\"model_type\": \"bert\", \"hidden_size\": 1099511627776, \"num_attention_heads\": 1}",
        "{\"model_type\": \"bert\", \"vocab_size\": 1099511627776, \"hidden_size\": 786432}",
        "{\"model_type\": \"gpt2\", \"n_layer\": 10000, \"n_embd\": 50331648}",
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 10000, \"intermediate_size\": 1099511627776}",
        "{\"model_type\": \"vit\", \"hidden_size\": 1099511627776, \"num_attention_heads\": 1}",
        ("{\"architecture\": \"resnet50\", \"num_classes\": 1099511627776, \"model_args\": {\"channels\": [8, 8, 8, "
         "1099511627776]}}"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config config = config_of(texts[i]);
        struct skeleton skeleton = {.tensor_count = -7};
        struct status error = {0};
        assert_int_equal(skeleton_build(&config, HEAD_BARE, &skeleton, &error), STATUS_OVERFLOW);
        assert_memory_equal(STATUS_SAID(&error), "test: ", 6);
        assert_non_null(strstr(STATUS_SAID(&error), "write smaller sizes in the configuration"));
        assert_int_equal(skeleton.tensor_count, -7);
    }
}

/* A type that is not known is another only where the name says so; one that is known never is. */
static void test_read_as(void **state)
{
    (void)state;
    static const char unknown[] = "{\"model_type\": \"stablelm\", \"num_hidden_layers\": 3}";
    struct config config;
    struct model model;
    struct status error = {0};
    char name[320];
    assert_int_equal(text_read(unknown, &config, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "'stablelm' is not known; known are "));
    const struct model_places places = {.catalogue_dir = "models/catalogue"};
    snprintf(name, sizeof name, "%s#qwen2", scratch_file_path);
    assert_int_equal(model_find(&places, name, &model, &error), STATUS_OK);
    assert_string_equal(model.config.family->name, "llama");
    assert_string_equal(model.config.model_type, "qwen2");
    assert_string_equal(model.config.stated_type, "stablelm");
    assert_string_equal(model.config.name, name);
    assert_int_equal(model.config.layers, 3);
    model_release(&model);
    assert_int_equal(model_find(&places, "gpt2#llama", &model, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "gpt2: its type, gpt2, is known; leave '#llama' out");
    snprintf(name, sizeof name, "%s#stablelm", scratch_file_path);
    assert_int_equal(model_find(&places, name, &model, &error), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_as),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_defaults_of_mixtures),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_unknown_types),
        cmocka_unit_test(test_wrong_json),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
