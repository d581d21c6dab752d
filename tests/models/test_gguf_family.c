/* GGUF families: names are those of llama.cpp's converter, and a file alone gives the configuration of its model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/find/gguf_family.h"
#include "models/find/model.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/status_said.h"

static const struct model_places places = {.catalogue_dir = "models/catalogue"};

/* The path of a tensor, or of its module, with the number of its layer made 1. */
static void layer_one(const char *path, char result[256])
{
    const char *digit = strpbrk(path, "0123456789");
    bool is_part = digit != NULL && digit > path && digit[-1] == '.' && digit[1] == '.';
    snprintf(result, 256, "%s", path);
    if (is_part) {
        result[digit - path] = '1';
    }
}

/* What the converter calls a module is, with an ending, the path in the model. */
static void name_agrees(const struct gguf_family *family, const char *name, const char *ending, const char *path)
{
    char tensor[256], found[256];
    const struct gguf_name *row = NULL;
    snprintf(tensor, sizeof tensor, "%.120s%.10s", name, ending);
    if (!gguf_path(family, tensor, found, sizeof found, &row)) {
        fail_msg("%s: %s has no path", family->architecture, tensor);
    }
    assert_string_equal(found, path);
}

/* Experts, which the converter joins otherwise than the model: gate and up by themselves. */
static int experts_agree(const struct gguf_family *family, const struct json *names, const char *path)
{
    static const char *const modules[][2] = {
        {"gate_up_proj", "gate_proj"}, {"gate_up_proj", "up_proj"}, {"down_proj", "down_proj"}};
    int compared = 0;
    const char *last = strrchr(path, '.') + 1;
    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        char module[256];
        snprintf(module, sizeof module, "%.*s%s", (int)(last - path), path, modules[i][1]);
        if (strcmp(last, modules[i][0]) == 0) {
            const char *name = json_string_or(json_get(names, module), NULL);
            assert_non_null(name);
            name_agrees(family, name, ".weight", path);
            compared++;
        }
    }
    return compared;
}

/* Every tensor of a tiny model that the converter has a name for goes there and back. */
static int names_agree(const struct gguf_family *family, const struct json *names, const struct skeleton *skeleton)
{
    int compared = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        char path[256], module[256];
        layer_one(skeleton->tensors[i].path, path);
        const char *ending = strrchr(path, '.');
        assert_non_null(ending);
        if (strstr(path, ".experts.") != NULL) {
            compared += experts_agree(family, names, path);
            continue;
        }
        snprintf(module, sizeof module, "%.*s", (int)(ending - path), path);
        const char *name = json_string_or(json_get(names, module), NULL);
        if (name == NULL || (strcmp(ending, ".weight") != 0 && strcmp(ending, ".bias") != 0)) {
            continue;
        }
        name_agrees(family, name, ending, path);
        compared++;
    }
    return compared;
}

static void names_are_those_of_the_converter(void **state)
{
    struct json *document = NULL;
    struct catalogue catalogue;
    const struct gguf_family *family;
    (void)state;
    assert_int_equal(json_parse_file("tests/checkpoint/vectors/gguf-names.json", 1 << 20, &document, NULL), STATUS_OK);
    assert_int_equal(catalogue_read(places.catalogue_dir, &catalogue, NULL), STATUS_OK);
    for (int row = 0; (family = gguf_family_at(row)) != NULL; row++) {
        const struct json *names = json_get(json_get(document, "names"), family->architecture);
        int compared = 0;
        for (int i = 0; i < catalogue.count; i++) {
            struct config config;
            struct skeleton skeleton;
            if (strncmp(catalogue.names[i], "tiny-", 5) != 0 ||
                config_find(places.catalogue_dir, catalogue.names[i], &config, NULL) != STATUS_OK ||
                strcmp(config.model_type, family->model_type) != 0) {
                continue;
            }
            bool is_bert = strcmp(family->architecture, "bert") == 0; /* named without the prefix of its head */
            assert_int_equal(skeleton_build(&config, is_bert ? HEAD_BARE : HEAD_LM, &skeleton, NULL), STATUS_OK);
            compared += names_agree(family, names, &skeleton);
            skeleton_release(&skeleton);
        }
        if (compared < 11) { /* the least: embedding, norm, head, and eight of a layer of Phi-3 */
            fail_msg("%s: only %d names were compared", family->architecture, compared);
        }
    }
    catalogue_release(&catalogue);
    json_release(document);
}

static void names_that_fit_nothing(void **state)
{
    static const char *const unknown[] = {
        "",          "blk.attn_q.weight",  "blk..attn_q.weight", "blk.1x.attn_q.weight",
        "blk.1.att", "blk.1.attn_qq.bias", "token_embd2.weight", "blk.1.attn_q.x.weight"};
    char path[256] = "untouched", small[8];
    const struct gguf_name *row = NULL;
    const struct gguf_family *family = gguf_family_at(1);
    (void)state;
    assert_string_equal(family->model_type, "llama");
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_false(gguf_path(family, unknown[i], path, sizeof path, &row));
    }
    assert_false(gguf_path(family, "output.weight", small, sizeof small, &row));
    assert_null(row);
    assert_true(gguf_path(family, "rope_freqs.weight", path, sizeof path, &row));
    assert_null(row->path);
}

static void a_file_alone_is_a_model(void **state)
{
    struct model model;
    struct status error = {0};
    (void)state;
    if (model_find(&places, "tests/checkpoint/vectors/tiny-llama.gguf", &model, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    const struct config *config = &model.config;
    assert_string_equal(config->model_type, "llama");
    assert_int_equal(config->vocab, 12);
    assert_int_equal(config->hidden, 32);
    assert_int_equal(config->layers, 1);
    assert_int_equal(config->heads, 4);
    assert_int_equal(config->kv_heads, 2);
    assert_int_equal(config->ffn, 64);
    assert_int_equal(config->positions, 64);
    assert_true(config->rope_theta == 10000 && config->tied_head && !config->attention_bias);
    assert_true(config->norm_epsilon > 0.99e-5 && config->norm_epsilon < 1.01e-5);
    assert_int_equal(model.check.finding_count, 0);
    assert_int_equal(model.check.matched_count, 11);
    model_release(&model);
}

/* Files whose experts are joined: each half of gate_up_proj is a tensor of its own, and the bytes are those of Q4_0. */
static void experts_of_a_file_are_the_models(void **state)
{
    static const struct {
        const char *path, *model_type;
        int tensors;
    } files[] = {{"tests/checkpoint/vectors/tiny-mixtral.gguf", "mixtral", 13},
                 {"tests/checkpoint/vectors/tiny-qwen3-moe.gguf", "qwen3_moe", 15}};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct model model;
        struct status error = {0};
        struct skeleton skeleton;
        struct workload load = workload_default(MODE_LOAD);
        if (model_find(&places, files[i].path, &model, &error) != STATUS_OK) {
            fail_msg("%s", STATUS_SAID(&error));
        }
        assert_string_equal(model.config.model_type, files[i].model_type);
        assert_int_equal(model.config.experts, 2);
        assert_int_equal(model.config.active_experts, 1);
        assert_int_equal(model.config.expert_ffn, 64);
        assert_int_equal(model.check.finding_count, 0);
        assert_int_equal(model.check.matched_count, files[i].tensors);
        assert_int_equal(checkpoint_find(model.checkpoint, "blk.0.ffn_up_exps.weight")->bytes, 2 * 64 * 32 / 32 * 18);
        load.head = HEAD_LM;
        assert_int_equal(model_skeleton(&model, &load, &skeleton, &error), STATUS_OK);
        assert_int_equal(skeleton.parameter_count, model.checkpoint->element_count);
        skeleton_release(&skeleton);
        model_release(&model);
    }
}

/* A copy of a file of less than 32 KiB, where length bytes are others. */
static void copy_edited(const char *from, const char *to, const char *old, const char *new, size_t length)
{
    static char bytes[32 * 1024];
    FILE *file = fopen(from, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_in_range(size, 1, sizeof bytes - 1);
    fclose(file);
    char *place = memmem(bytes, size, old, length);
    assert_non_null(place);
    memcpy(place, new, length);
    file = fopen(to, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A file without one of the halves. */
static void half_of_the_experts_is_missing(void **state)
{
    struct model model;
    struct status error = {0};
    char folder[] = "/tmp/assay-gguf-XXXXXX", path[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    copy_edited("tests/checkpoint/vectors/tiny-mixtral.gguf", path, "blk.0.ffn_up_exps", "blk.0.ffn_no_exps", 17);
    if (model_find(&places, path, &model, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    assert_int_equal(model.check.finding_count, 2);
    assert_int_equal(model.check.counts[FINDING_EXTRA], 1);
    assert_int_equal(model.check.counts[FINDING_MISSING], 1);
    assert_string_equal(model.check.findings[1].name, "model.layers.0.mlp.experts.gate_up_proj");
    assert_int_equal(model.check.findings[1].rank, 3);
    model_release(&model);
    assert_int_equal(scratch_folder_remove(folder), 0);
}

/* A copy of the file with another architecture of the same length, and with another number of heads. */
static void metadata_that_say_no_model(void **state)
{
    static const struct {
        const char *from, *to, *message;
        size_t length;
    } rows[] = {
        {"\5\0\0\0\0\0\0\0llama", "\5\0\0\0\0\0\0\0mamba",
         ": general.architecture: 'mamba' is not known; known are llama, qwen2, qwen2moe, qwen3, qwen3moe, gemma, "
         "phi3, gptneox, gpt2, bert, bloom, so name the model's config.json instead",
         13},
        {"head_count\4\0\0\0\4", "head_count\4\0\0\0\5",
         ", as config.json: num_attention_heads: 5 heads do not divide the hidden size 32; write a number of heads "
         "that does",
         15},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct model model;
        struct status error = {0};
        char folder[] = "/tmp/assay-gguf-XXXXXX";
        char path[64];
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/m.gguf", folder);
        copy_edited("tests/checkpoint/vectors/tiny-llama.gguf", path, rows[i].from, rows[i].to, rows[i].length);
        assert_int_equal(model_find(&places, path, &model, &error), STATUS_INVALID);
        assert_int_equal(scratch_folder_remove(folder), 0);
        assert_int_equal(strncmp(STATUS_SAID(&error), path, strlen(path)), 0);
        assert_string_equal(STATUS_SAID(&error) + strlen(path), rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_converter), cmocka_unit_test(names_that_fit_nothing),
        cmocka_unit_test(a_file_alone_is_a_model),          cmocka_unit_test(experts_of_a_file_are_the_models),
        cmocka_unit_test(half_of_the_experts_is_missing),   cmocka_unit_test(metadata_that_say_no_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
