/* Skeletons against published parameter counts and against the names and shapes that the real classes have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "models/skeleton/skeleton.h"
#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"

static void skeleton_of(const char *model, enum head head, struct config *config, struct skeleton *skeleton)
{
    struct status error = {0};
    if (config_find("models/catalogue", model, config, &error) != STATUS_OK ||
        skeleton_build(config, head, skeleton, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static const struct {
    const char *model;
    enum head head;
    int64_t parameter_count, buffer_bytes;
} published[] = {
    {"bert-base-cased", HEAD_BARE, 108310272, 8192},
    {"bert-base-uncased", HEAD_BARE, 109482240, 8192},
    {"bert-large-uncased", HEAD_BARE, 335141888, 8192},
    {"gpt2", HEAD_BARE, 124439808, 0},
    {"gpt2", HEAD_LM, 124439808, 0},
    {"gpt2-medium", HEAD_BARE, 354823168, 0},
    {"gpt2-large", HEAD_BARE, 774030080, 0},
    {"gpt2-xl", HEAD_LM, 1557611200, 0},
    {"meta-llama/Llama-2-7b-hf", HEAD_BARE, 6607343616, 512},
    {"meta-llama/Llama-2-7b-hf", HEAD_LM, 6738415616, 512},
    {"meta-llama/Llama-2-13b-hf", HEAD_BARE, 12852024320, 512},
    {"meta-llama/Llama-2-70b-hf", HEAD_BARE, 68714504192, 512},
    {"meta-llama/Llama-3.1-8B", HEAD_LM, 8030261248, 512},
    {"meta-llama/Llama-3.1-70B", HEAD_BARE, 69503033344, 512},
    {"meta-llama/Llama-3.1-405B", HEAD_LM, 405853388800, 512},
    {"meta-llama/Llama-3.2-1B", HEAD_LM, 1235814400, 256},
    {"mistralai/Mistral-7B-v0.1", HEAD_LM, 7241732096, 512},
    {"Qwen/Qwen2-0.5B", HEAD_LM, 494032768, 256},
    {"Qwen/Qwen2-7B", HEAD_LM, 7615616512, 512},
    {"Qwen/Qwen2.5-72B", HEAD_LM, 72706203648, 512},
    {"google/vit-base-patch16-224", HEAD_LM, 86567656, 0},
    {"Qwen/Qwen2.5-1.5B", HEAD_LM, 1543714304, 512},
    {"Qwen/Qwen2.5-3B", HEAD_LM, 3085938688, 512},
    {"Qwen/Qwen2.5-14B", HEAD_LM, 14770033664, 512},
    {"Qwen/Qwen2.5-32B", HEAD_LM, 32763876352, 512},
    {"Qwen/Qwen3-0.6B", HEAD_LM, 596049920, 512},
    {"Qwen/Qwen3-1.7B", HEAD_LM, 1720574976, 512},
    {"Qwen/Qwen3-4B", HEAD_LM, 4022468096, 512},
    {"Qwen/Qwen3-8B", HEAD_LM, 8190735360, 512},
    {"Qwen/Qwen3-14B", HEAD_LM, 14768307200, 512},
    {"Qwen/Qwen3-32B", HEAD_LM, 32762123264, 512},
    {"HuggingFaceTB/SmolLM2-135M", HEAD_LM, 134515008, 256},
    {"HuggingFaceTB/SmolLM2-360M", HEAD_LM, 361821120, 256},
    {"HuggingFaceTB/SmolLM2-1.7B", HEAD_LM, 1711376384, 256},
    {"microsoft/Phi-3-mini-4k-instruct", HEAD_LM, 3821079552, 384},
    {"microsoft/Phi-3-medium-4k-instruct", HEAD_LM, 13960238080, 512},
    {"microsoft/phi-4", HEAD_LM, 14659507200, 512},
    {"google/gemma-2b", HEAD_LM, 2506172416, 1028},
    {"google/gemma-7b", HEAD_LM, 8537680896, 1028},
    {"google/gemma-2-2b", HEAD_LM, 2614341888, 1028},
    {"google/gemma-2-9b", HEAD_LM, 9241705984, 1028},
    {"google/gemma-2-27b", HEAD_LM, 27227128320, 516},
    {"google/gemma-3-270m", HEAD_LM, 268098176, 2052},
    {"google/gemma-3-1b-pt", HEAD_LM, 999885952, 2052},
    {"EleutherAI/pythia-70m", HEAD_LM, 70426624, 64},
    {"EleutherAI/pythia-160m", HEAD_LM, 162322944, 64},
    {"EleutherAI/pythia-410m", HEAD_LM, 405334016, 64},
    {"EleutherAI/pythia-1b", HEAD_LM, 1011781632, 256},
    {"EleutherAI/pythia-1.4b", HEAD_LM, 1414647808, 128},
    {"EleutherAI/pythia-2.8b", HEAD_LM, 2775208960, 80},
    {"EleutherAI/pythia-6.9b", HEAD_LM, 6857302016, 128},
    {"EleutherAI/pythia-12b", HEAD_LM, 11846072320, 128},
    {"EleutherAI/gpt-neox-20b", HEAD_LM, 20554567680, 96},
    {"FacebookAI/roberta-base", HEAD_BARE, 124645632, 8224},
    {"FacebookAI/roberta-large", HEAD_BARE, 355359744, 8224},
    {"FacebookAI/xlm-roberta-base", HEAD_BARE, 278043648, 8224},
    {"distilroberta-base", HEAD_BARE, 82118400, 8224},
    {"distilbert-base-uncased", HEAD_BARE, 66362880, 4096},
    {"distilbert-base-cased", HEAD_BARE, 65190912, 4096},
    {"facebook/opt-125m", HEAD_LM, 125239296, 0},
    {"facebook/opt-350m", HEAD_LM, 331196416, 0},
    {"facebook/opt-1.3b", HEAD_LM, 1315758080, 0},
    {"facebook/opt-6.7b", HEAD_LM, 6658473984, 0},
    {"facebook/opt-30b", HEAD_LM, 29974540288, 0},
    {"bigscience/bloom-560m", HEAD_LM, 559214592, 0},
    {"bigscience/bloom-7b1", HEAD_LM, 7069016064, 0},
    {"bigscience/bloom", HEAD_LM, 176247271424, 0}, /* 176,247,271,424: the model card */
    {"EleutherAI/gpt-neo-125m", HEAD_LM, 125198592, 12 * 2048 * 2048},
    {"EleutherAI/gpt-neo-1.3B", HEAD_LM, 1315575808, 24 * 2048 * 2048},
    {"EleutherAI/gpt-neo-2.7B", HEAD_BARE, 2651307520, 32 * 2048 * 2048},
    {"timm/deit_tiny_patch16_224.fb_in1k", HEAD_LM, 5717416, 0}, /* 5.7 M, 22.1 M, 86.6 M: the model cards */
    {"timm/deit_small_patch16_224.fb_in1k", HEAD_LM, 22050664, 0},
    {"timm/deit_base_patch16_224.fb_in1k", HEAD_LM, 86567656, 0},
    {"timm/vit_large_patch16_224.augreg_in21k_ft_in1k", HEAD_LM, 304326632, 0},
    {"tiiuae/falcon-7b", HEAD_LM, 6921720704, 256},
    {"tiiuae/falcon-40b", HEAD_LM, 41303293952, 256},
    {"tiiuae/falcon-rw-1b", HEAD_LM, 1311625216, 256},
    {"mistralai/Mixtral-8x7B-v0.1", HEAD_LM, 46702792704, 512},
    {"mistralai/Mixtral-8x22B-v0.1", HEAD_LM, 140620634112, 512},
    {"Qwen/Qwen1.5-MoE-A2.7B", HEAD_LM, 14315784192, 512},
    {"Qwen/Qwen2-57B-A14B", HEAD_LM, 57408658944, 512},
    {"Qwen/Qwen3-30B-A3B", HEAD_LM, 30532122624, 512},
    {"Qwen/Qwen3-235B-A22B", HEAD_LM, 235093634560, 512},
    {"deepseek-ai/DeepSeek-V2-Lite", HEAD_LM, 15706484224, 256},
    {"deepseek-ai/DeepSeek-V2", HEAD_LM, 235741434880, 256},
    /* published as 671,026,419,200, with the 58 * 256 numbers of e_score_correction_bias, here buffers */
    {"deepseek-ai/DeepSeek-V3", HEAD_LM, 671026404352, 256 + 4 * 58 * 256},
    {"timm/resnet18.a1_in1k", HEAD_LM, 11689512, 8 * 4800 + 8 * 20},
    {"timm/resnet34.a1_in1k", HEAD_LM, 21797672, 8 * 8512 + 8 * 36},
    {"timm/resnet50.a1_in1k", HEAD_BARE, 25557032, 212904},
    {"timm/resnet101.a1_in1k", HEAD_LM, 44549160, 8 * 52672 + 8 * 104},
    {"timm/resnet152.a1_in1k", HEAD_LM, 60192808, 8 * 75712 + 8 * 155},
    /* 4.34 M, 5.16 M, 11.20 M and 19.44 M: torchvision's tables and the model cards */
    {"timm/regnety_004.tv2_in1k", HEAD_LM, 4344144, 109032},
    {"timm/regnetx_004.pycls_in1k", HEAD_LM, 5157512, 147256},
    {"timm/regnety_016.tv2_in1k", HEAD_BARE, 11202430, 211376},
    {"timm/regnety_032.tv2_in1k", HEAD_LM, 19436338, 265184},
    {"timm/regnetx_016.tv2_in1k", HEAD_LM, 9190136, 174488},
    {"google-t5/t5-small", HEAD_LM, 60506624, 0},
    {"google-t5/t5-large", HEAD_LM, 737668096, 0},
    {"google-t5/t5-3b", HEAD_LM, 2851598336, 0},
    {"google-t5/t5-11b", HEAD_LM, 11307321344, 0},
    {"google/flan-t5-xl", HEAD_BARE, 2783959040, 0},
    {"timm/vgg11.tv_in1k", HEAD_LM, 132863336, 0},
    {"timm/vgg13.tv_in1k", HEAD_LM, 133047848, 0},
    {"timm/vgg16.tv_in1k", HEAD_LM, 138357544, 0},
    {"timm/vgg19.tv_in1k", HEAD_LM, 143667240, 0},
    {"facebook/convnext-tiny-224", HEAD_LM, 28589128, 0},
    {"facebook/convnext-small-224", HEAD_LM, 50223688, 0},
    {"facebook/convnext-base-224", HEAD_LM, 88591464, 0},
    {"facebook/convnext-large-224", HEAD_LM, 197767336, 0},
};

/* Published counts of parameters; buffers as transformers 5.23 and timm 1.0.31 have them. */
static void test_published_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        struct config config;
        struct skeleton skeleton;
        skeleton_of(published[i].model, published[i].head, &config, &skeleton);
        assert_int_equal(skeleton.parameter_count, published[i].parameter_count);
        assert_int_equal(skeleton.buffer_bytes, published[i].buffer_bytes);
        assert_int_equal(skeleton.parameter_bytes, 4 * published[i].parameter_count);
        skeleton_release(&skeleton);
    }
}

/* What a token is multiplied with, as the model cards round it: 12.9B, 2.7B, 3.3B, 22B, 21B and 37B; all of a dense
 * model. */
static void test_active_counts(void **state)
{
    static const struct {
        const char *model;
        int64_t active;
    } rows[] = {
        {"mistralai/Mixtral-8x7B-v0.1", 12879925248}, {"Qwen/Qwen1.5-MoE-A2.7B", 2689173504},
        {"Qwen/Qwen3-30B-A3B", 3353032704},           {"Qwen/Qwen3-235B-A22B", 22190763520},
        {"deepseek-ai/DeepSeek-V2", 21375800320},     {"deepseek-ai/DeepSeek-V3", 37552282624},
        {"meta-llama/Llama-2-7b-hf", 6738415616},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        struct skeleton skeleton;
        skeleton_of(rows[i].model, HEAD_LM, &config, &skeleton);
        assert_int_equal(skeleton.active_parameter_count, rows[i].active);
        skeleton_release(&skeleton);
    }
}

/* A module's children come before it when a model is moved, parameters before buffers; each tensor once. */
static void test_load_order(void **state)
{
    struct config config;
    struct skeleton skeleton;
    (void)state;
    skeleton_of("tiny-bert", HEAD_LM, &config, &skeleton);
    int place[64];
    assert_true(skeleton.tensor_count <= 64);
    memset(place, -1, sizeof place);
    for (int i = 0; i < skeleton.tensor_count; i++) {
        assert_int_equal(place[skeleton.load_order[i]], -1);
        place[skeleton.load_order[i]] = i;
    }
    const int position_ids = skeleton_find(&skeleton, "bert.embeddings.position_ids");
    const int norm_bias = skeleton_find(&skeleton, "bert.embeddings.LayerNorm.bias");
    const int head_bias = skeleton_find(&skeleton, "cls.predictions.bias");
    const int decoder = skeleton_find(&skeleton, "cls.predictions.decoder.weight");
    assert_true(position_ids >= 0 && norm_bias >= 0 && head_bias >= 0 && decoder >= 0);
    assert_int_equal(skeleton.load_order[0], skeleton_find(&skeleton, "bert.embeddings.word_embeddings.weight"));
    assert_int_equal(place[position_ids], place[norm_bias] + 1);
    assert_int_equal(place[head_bias], skeleton.tensor_count - 1);
    assert_true(position_ids < norm_bias && head_bias < decoder);
    assert_int_equal(skeleton.tensors[decoder].tied_to,
                     skeleton_find(&skeleton, "bert.embeddings.word_embeddings.weight"));
    assert_int_equal(skeleton.tensors[decoder + 1].tied_to, head_bias);
    assert_int_equal(skeleton_find(&skeleton, "bert.pooler.dense.weight"), -1);
    skeleton_release(&skeleton);
}

/* The line that a golden file has for a tensor. */
static void tensor_line(const struct skeleton *skeleton, int index, char *line, size_t size)
{
    const struct skeleton_tensor *tensor = &skeleton->tensors[index];
    const char *kind = !tensor->is_buffer ? "parameter" : tensor->persistent ? "buffer" : "transient";
    char shape[128] = "";
    size_t length = 0;
    for (int i = 0; i < tensor->rank; i++) {
        length += (size_t)snprintf(shape + length, sizeof shape - length, "%s%lld", i > 0 ? "," : "",
                                   (long long)tensor->size[i]);
    }
    snprintf(line, size, "tensor %s %s (%s) %s %s\n", tensor->path, kind, shape, dtype_name(tensor->dtype),
             tensor->tied_to >= 0 ? skeleton->tensors[tensor->tied_to].path : "-");
}

/* Line number i: the tensors, the load order, the modules. */
static void golden_line(const struct skeleton *skeleton, int i, char *line, size_t size)
{
    const int tensors = skeleton->tensor_count;
    if (i < tensors) {
        tensor_line(skeleton, i, line, size);
    } else if (i < 2 * tensors) {
        snprintf(line, size, "load %s\n", skeleton->tensors[skeleton->load_order[i - tensors]].path);
    } else {
        const struct module_info *module = &skeleton->modules[i - 2 * tensors];
        snprintf(line, size, "module %s %s %s\n", i > 2 * tensors ? module->path : ".", module->class_name,
                 module->no_split ? "whole" : "-");
    }
}

static void golden_check(const char *model, enum head head)
{
    struct config config;
    struct skeleton skeleton;
    char path[256];
    char expected[512];
    char line[512];
    skeleton_of(model, head, &config, &skeleton);
    snprintf(path, sizeof path, "tests/models/golden/%s.%s.txt", model, head_name(head));
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s is missing; peers/transformers/compare_skeletons.py --golden writes it", path);
    }
    for (int i = 0; i < 2 * skeleton.tensor_count + skeleton.module_count; i++) {
        assert_non_null(fgets(expected, sizeof expected, file));
        golden_line(&skeleton, i, line, sizeof line);
        assert_string_equal(line, expected);
    }
    assert_null(fgets(expected, sizeof expected, file));
    fclose(file);
    skeleton_release(&skeleton);
}

/* Every toy of the catalogue. The golden files were written by the real classes:
 * peers/transformers/compare_skeletons.py --golden. */
static void test_golden(void **state)
{
    struct catalogue catalogue;
    int toy_count = 0;
    (void)state;
    assert_int_equal(catalogue_read("models/catalogue", &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        if (strncmp(catalogue.names[i], "tiny-", 5) == 0) {
            golden_check(catalogue.names[i], HEAD_BARE);
            golden_check(catalogue.names[i], HEAD_LM);
            toy_count++;
        }
    }
    catalogue_release(&catalogue);
    assert_true(toy_count >= 32);
}

/* Small models that have each option, and the path of a module that follows it. */
static const struct {
    const char *text, *path, *class_name;
} silent[] = {
    {"\"llama\", \"hidden_act\": \"gelu\"", "layers.1.mlp.act_fn", "GELUActivation"},
    {"\"llama\", \"hidden_act\": \"gelu_new\"", "layers.1.mlp.act_fn", "NewGELUActivation"},
    {"\"llama\", \"hidden_act\": \"gelu_pytorch_tanh\"", "layers.1.mlp.act_fn", "GELUTanh"},
    {"\"llama\", \"hidden_act\": \"gelu_fast\"", "layers.1.mlp.act_fn", "FastGELUActivation"},
    {"\"llama\", \"hidden_act\": \"silu\"", "layers.1.mlp.act_fn", "SiLUActivation"},
    {"\"llama\", \"hidden_act\": \"swish\"", "layers.1.mlp.act_fn", "SiLU"},
    {"\"llama\", \"hidden_act\": \"relu\"", "layers.1.mlp.act_fn", "ReLU"},
    {"\"llama\"", "layers.1.mlp.act_fn", "SiLUActivation"},
    {"\"gemma\", \"hidden_act\": \"gelu\"", "layers.0.mlp.act_fn", "GELUTanh"}, /* what its class corrects */
    {"\"mixtral\", \"hidden_act\": \"swish\"", "layers.0.mlp.experts.act_fn", "SiLU"},
    {"\"bert\", \"hidden_dropout_prob\": 0.0", "encoder.layer.1.output.dropout", "Dropout"},
    {"\"bert\", \"hidden_act\": \"relu\"", "pooler.activation", "Tanh"},
    {"\"bloom\", \"hidden_act\": \"relu\"", "h.0.mlp.gelu_impl", "BloomGelu"},
    {"\"t5\", \"feed_forward_proj\": \"gated-gelu\"", "encoder.block.0.layer.1.DenseReluDense.act",
     "NewGELUActivation"},
    {"\"t5\", \"feed_forward_proj\": \"gelu\"", "decoder.block.1.layer.2.DenseReluDense.act", "GELUActivation"},
    {"\"t5\", \"feed_forward_proj\": \"gated-silu\"", "decoder.block.1.layer.2.DenseReluDense.act", "SiLUActivation"},
    {"\"convnext\", \"depths\": [1, 1], \"hidden_sizes\": [8, 16]", "encoder.stages.0.downsampling_layer",
     "ModuleList"},
    {"\"convnext\", \"depths\": [1, 1], \"hidden_sizes\": [8, 16]", "encoder.stages.0.layers.0.drop_path", "Identity"},
};

/* Modules without tensors follow the options; none of them owns a tensor. */
static void test_silent_modules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++) {
        char text[256];
        struct skeleton skeleton;
        struct status error = {0};
        int found = -1;
        snprintf(text, sizeof text, "{\"num_hidden_layers\": 2, \"model_type\": %s}", silent[i].text);
        struct config config = config_of(text);
        assert_int_equal(skeleton_build(&config, HEAD_BARE, &skeleton, &error), STATUS_OK);
        for (int k = 0; k < skeleton.module_count; k++) {
            found = strcmp(skeleton.modules[k].path, silent[i].path) == 0 ? k : found;
        }
        assert_true(found > 0);
        assert_string_equal(skeleton.modules[found].class_name, silent[i].class_name);
        for (int k = 0; k < skeleton.tensor_count; k++) {
            assert_int_not_equal(skeleton.tensors[k].module, found);
        }
        skeleton_release(&skeleton);
    }
}

/* Which classes are never split, by their count; and what stays float32 when a model is cast. */
static void test_modules(void **state)
{
    struct config config;
    struct skeleton skeleton;
    int whole_count = 0;
    (void)state;
    skeleton_of("Llama-3.2-1B", HEAD_LM, &config, &skeleton);
    for (int i = 0; i < skeleton.module_count; i++) {
        const struct module_info *module = &skeleton.modules[i];
        assert_true(module->parent < i);
        assert_int_equal(module->no_split, strcmp(module->class_name, "LlamaDecoderLayer") == 0);
        whole_count += module->no_split;
    }
    assert_int_equal(whole_count, 16);
    const int frequencies = skeleton_find(&skeleton, "model.rotary_emb.inv_freq");
    assert_true(frequencies >= 0);
    assert_false(skeleton.tensors[frequencies].rounds_with_model || skeleton.tensors[frequencies].persistent);
    assert_int_equal(skeleton.tensors[frequencies].initial, INITIAL_INVERSE_FREQUENCY);
    assert_true(skeleton.tensors[0].rounds_with_model);
    assert_int_equal(skeleton.tensors[0].initial, INITIAL_NORMAL);
    skeleton_release(&skeleton);

    skeleton_of("tiny-resnet", HEAD_LM, &config, &skeleton);
    assert_true(skeleton.tensors[skeleton_find(&skeleton, "bn1.running_var")].rounds_with_model);
    assert_true(skeleton.tensors[skeleton_find(&skeleton, "bn1.running_var")].init_constant == 1);
    assert_false(skeleton.tensors[skeleton_find(&skeleton, "bn1.num_batches_tracked")].rounds_with_model);
    assert_true(skeleton.tensors[skeleton_find(&skeleton, "layer1.0.bn2.weight")].init_constant == 0);
    skeleton_release(&skeleton);
}

static void test_head_is_asked_for(void **state)
{
    struct config config;
    struct skeleton skeleton = {.tensor_count = -7};
    struct status error = {0};
    (void)state;
    assert_int_equal(config_find("models/catalogue", "gpt2", &config, &error), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_DEFAULT, &skeleton, &error), STATUS_INTERNAL);
    assert_int_equal(skeleton.tensor_count, -7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_counts), cmocka_unit_test(test_active_counts),
        cmocka_unit_test(test_load_order),       cmocka_unit_test(test_golden),
        cmocka_unit_test(test_modules),          cmocka_unit_test(test_head_is_asked_for),
        cmocka_unit_test(test_silent_modules),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
