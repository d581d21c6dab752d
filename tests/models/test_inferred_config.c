/* Model files without a configuration: what their tensors tell is what the configuration said, and what they do not
 * tell is refused or called assumed. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/find/config_file.h"
#include "models/find/model.h"
#include "models/forward/experts.h"
#include "tests/models/model_folder.h"
#include "tests/models/shadow_lines.h"

static const struct model_places places = {.catalogue_dir = "models/catalogue"};

/* The folder without its config.json. */
static void config_remove(const char *folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(unlink(path), 0);
}

/* A folder that has a model's tensors alone. */
static void tensors_make(char folder[64], const char *model, const struct edit *edits, int count)
{
    /* of tied tensors a file keeps the embedding, and the skeleton of this one model the head's */
    enum head head = strncmp(model, "FacebookAI/xlm-", 15) == 0 ? HEAD_BARE : HEAD_LM;
    model_folder_make(folder, model, head, edits, count);
    config_remove(folder);
}

/* A ConvNeXt takes images of any size, and none of its tensors has that of one. */
static bool image_agrees(const struct config *a, const struct config *b)
{
    return a->image == b->image || strcmp(a->model_type, "convnext") == 0;
}

/* Where every layer has experts, the width of the others is a number without a tensor. */
static bool ffn_agrees(const struct config *a, const struct config *b)
{
    int64_t dense = 0;
    for (int64_t layer = 0; layer < a->layers; layer++) {
        dense += a->experts > 0 && experts_in_layer(a, layer) ? 0 : 1;
    }
    return a->ffn == b->ffn || dense == 0;
}

/* What decides bytes and stands in tensors; heads do not. */
static bool sizes_agree(const struct config *a, const struct config *b)
{
    return a->hidden == b->hidden && a->layers == b->layers && a->vocab == b->vocab && ffn_agrees(a, b) &&
           a->decoder_layers == b->decoder_layers && a->word_width == b->word_width && a->experts == b->experts &&
           image_agrees(a, b) && a->patch == b->patch && a->token_types == b->token_types &&
           a->heads * a->head_dim == b->heads * b->head_dim && a->kv_heads * a->head_dim == b->kv_heads * b->head_dim;
}

static const char *const untold[] = {"gemma", NULL};
/* too tiny: heads of 12 elements */
static const char *const untold_tiny[] = {"tiny-gemma2", NULL};

static bool list_has(const char *const *list, const char *word)
{
    for (; *list != NULL; list++) {
        if (strcmp(*list, word) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a type is told as another whose tape is the same. */
static bool type_is(const char *found, const char *real)
{
    return strcmp(found, real) == 0 || (strcmp(found, "llama") == 0 && strcmp(real, "mistral") == 0) ||
           (strcmp(found, "roberta") == 0 && strcmp(real, "xlm-roberta") == 0);
}

/* Files as transformers writes them, of models with and without their heads. */
static bool saved_line_is_told(const struct json *line)
{
    char folder[64];
    struct config real;
    struct model model;
    struct status error = {0};
    struct text header = {0};
    int64_t end = 0;
    const char *name = shadow_text(line, "model");
    const struct json *tensors = json_get(line, "header");
    for (const char *key = json_key_after(tensors, NULL); key != NULL; key = json_key_after(tensors, key)) {
        int64_t last = json_integer_or(json_at(json_get(json_get(tensors, key), "data_offsets"), 1), 0);
        end = last > end ? last : end;
    }
    assert_int_equal(json_write(tensors, 0, &header, NULL), STATUS_OK);
    model_folder_write(folder, name, text_string(&header), end);
    config_remove(folder);
    assert_int_equal(config_find("models/catalogue", name, &real, NULL), STATUS_OK);
    bool is_told = model_find(&places, folder, &model, &error) == STATUS_OK;
    bool is_expected = !list_has(untold, real.model_type) && !list_has(untold_tiny, name);
    if (is_told != is_expected) {
        fail_msg("%s %s: %s", name, shadow_text(line, "head"), is_told ? "is told" : error.text);
    }
    if (is_told) {
        assert_true(model.inferred.is_inferred && type_is(model.config.model_type, real.model_type));
        if (!sizes_agree(&model.config, &real)) {
            fail_msg("%s %s is told as %s", name, shadow_text(line, "head"), model.inferred.evidence);
        }
        model_release(&model);
    }
    model_folder_remove(folder);
    text_release(&header);
    return is_told;
}

static void saved_files_are_told(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("tests/models/golden/saved_headers.jsonl", saved_line_is_told), 52);
}

/* Everything that a file's tensors can say, and the heads, of a mixture or of latent attention too. */
static bool configs_agree(const struct config *a, const struct config *b)
{
    bool layers_agree = true;
    for (int64_t i = 0; i < a->layers && a->experts > 0; i++) {
        layers_agree = layers_agree && experts_in_layer(a, i) == experts_in_layer(b, i);
    }
    for (int i = 0; i < CONFIG_STAGES_MAXIMUM; i++) {
        layers_agree = layers_agree && a->depths[i] == b->depths[i] && a->widths[i] == b->widths[i];
    }
    return layers_agree && sizes_agree(a, b) && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->active_experts == b->active_experts && a->expert_ffn == b->expert_ffn && a->shared_ffn == b->shared_ffn &&
           a->expert_groups == b->expert_groups && a->latent == b->latent && a->query_latent == b->query_latent &&
           a->nope_dim == b->nope_dim && a->rotary_dim == b->rotary_dim && a->value_dim == b->value_dim &&
           a->alibi == b->alibi && a->parallel_blocks == b->parallel_blocks && a->multi_query == b->multi_query &&
           a->grouped_projection == b->grouped_projection && a->parallel_norms == b->parallel_norms &&
           a->attention_bias == b->attention_bias && a->tied_head == b->tied_head && a->classes == b->classes &&
           a->dtype == b->dtype;
}

/* In two bytes an element: the file has buffers too, and tied tensors once. */
static int64_t stored_bytes_of(const struct skeleton *skeleton)
{
    int64_t bytes = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        bytes += tensor->persistent && tensor->tied_to < 0 ? 2 * tensor->element_count : 0;
    }
    return bytes;
}

/* Files that transformers wrote (peers/transformers/saved_folders.py), without their configurations: what they are made
 * of is what their tensors tell, and each weighs what is stored. */
static void files_of_transformers_are_told(void **state)
{
    static const char *const names[] = {"qwen2-moe",   "qwen2-moe-dense",  "qwen3-moe",   "qwen3-moe-step",
                                        "deepseek-v2", "deepseek-v2-lite", "deepseek-v3", "falcon-7b",
                                        "falcon-40b",  "falcon-rw",        "convnext"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char folder[64], told[128];
        struct config real;
        struct model model;
        struct skeleton skeleton;
        struct status error = {0};
        snprintf(folder, sizeof folder, "tests/models/saved/%s", names[i]);
        snprintf(told, sizeof told, "%s/told.json", folder);
        if (config_read(told, names[i], &real, &error) != STATUS_OK ||
            model_find(&places, folder, &model, &error) != STATUS_OK) {
            fail_msg("%s: %s", names[i], error.text);
        }
        assert_true(model.inferred.is_inferred);
        assert_string_equal(model.config.model_type, real.model_type);
        if (real.expert_groups > 0) { /* no tensor tells them; this file's are those of DeepSeek-V3 */
            assert_int_equal(model.config.active_groups, real.active_groups);
        }
        if (!configs_agree(&model.config, &real)) {
            fail_msg("%s is told as %s; assumed: %s", names[i], model.inferred.evidence, model.inferred.assumed);
        }
        assert_int_equal(skeleton_build(&model.config, HEAD_LM, &skeleton, &error), STATUS_OK);
        assert_int_equal(stored_bytes_of(&skeleton), model.checkpoint->stored_bytes);
        skeleton_release(&skeleton);
        model_release(&model);
    }
}

/* Every public model: told as what it is, or not at all; and of most the heads are right too. */
static void public_models_are_told(void **state)
{
    struct catalogue catalogue;
    int told = 0, right = 0;
    (void)state;
    assert_int_equal(catalogue_read("models/catalogue", &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        char folder[64];
        struct config real;
        struct model model;
        const char *name = catalogue.names[i];
        assert_int_equal(config_find("models/catalogue", name, &real, NULL), STATUS_OK);
        bool is_untold = real.is_timm || list_has(untold, real.model_type) ||
                         real.experts > 0; /* skeletons join their experts: no file has such tensors */
        if (strncmp(name, "tiny-", 5) == 0 || is_untold) {
            continue;
        }
        tensors_make(folder, name, NULL, 0);
        struct status error = {0};
        if (model_find(&places, folder, &model, &error) != STATUS_OK) {
            fail_msg("%s: %s", name, error.text);
        }
        if (!type_is(model.config.model_type, real.model_type) || !sizes_agree(&model.config, &real)) {
            fail_msg("%s is told as %s, %s", name, model.config.model_type, model.inferred.evidence);
        }
        told++;
        right += model.config.heads == real.heads ? 1 : 0;
        if (model.config.heads != real.heads) {
            print_message("%s: %" PRId64 " heads, assumed %" PRId64 "\n", name, real.heads, model.config.heads);
            assert_int_not_equal(strncmp(model.inferred.assumed, "what else", 9), 0); /* they are called assumed */
        }
        model_release(&model);
        model_folder_remove(folder);
    }
    catalogue_release(&catalogue);
    assert_true(told >= 80);
    assert_true(10 * right >= 9 * told);
}

static void evidence_and_assumptions_are_said(void **state)
{
    char folder[64];
    struct model model;
    (void)state;
    tensors_make(folder, "gpt2", NULL, 0);
    assert_int_equal(model_find(&places, folder, &model, NULL), STATUS_OK);
    assert_string_equal(model.inferred.evidence, "transformer.wte.weight, transformer.h.0.attn.c_attn.weight: gpt2; 12 "
                                                 "layers, 768 wide, 50257 tokens");
    assert_string_equal(model.inferred.assumed,
                        "12 heads of 64; what else a config.json says, as GPT2Config has it by default");
    model_release(&model);
    model_folder_remove(folder);
}

static void expect_refused(const char *folder, const char *type, const char *text)
{
    char name[128];
    struct model model;
    struct status error = {0};
    snprintf(name, sizeof name, "%s%s", folder, type);
    assert_int_equal(model_find(&places, name, &model, &error), STATUS_INVALID);
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
    }
}

/* One tensor less, one more, or one of another shape, and it is not that model. */
static void almost_is_refused(void **state)
{
    static const struct edit edits[] = {
        {EDIT_DROP, "transformer.h.1.ln_2.bias", NULL},
        {EDIT_ADD, "transformer.adapter", "\"dtype\":\"F32\",\"shape\":[1]"},
        {EDIT_FIRST_SIZE, "transformer.h.1.ln_2.bias", "7"},
    };
    static const char *const texts[] = {
        "almost those of gpt2, but 1 are missing, 0 are others and 0 have another shape",
        "almost those of gpt2, but 0 are missing, 1 are others and 0 have another shape",
        "almost those of gpt2, but 0 are missing, 0 are others and 1 have another shape"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char folder[64];
        struct model model;
        struct status unread = {0};
        tensors_make(folder, "tiny-gpt2", &edits[i], 1);
        expect_refused(folder, "", texts[i]);
        assert_int_equal(model_open(&places, folder, &model, &unread, NULL), STATUS_OK);
        assert_true(model.config.family == NULL && model.checkpoint != NULL);
        assert_non_null(strstr(unread.text, texts[i]));
        model_release(&model);
        model_folder_remove(folder);
    }
}

/* A classifier of BERT, without the pooler or with it: the model is told, and what is beside it. */
static void heads_of_tasks_are_left_out(void **state)
{
    static const struct edit edits[] = {
        {EDIT_PREFIX, "", "bert."},
        {EDIT_DROP, "pooler.dense.weight", NULL},
        {EDIT_DROP, "pooler.dense.bias", NULL},
        {EDIT_ADD, "classifier.weight", "\"dtype\":\"F32\",\"shape\":[1]"},
    };
    char folder[64];
    struct model model;
    struct status error = {0};
    (void)state;
    model_folder_make(folder, "tiny-bert", HEAD_BARE, edits, 4);
    config_remove(folder);
    if (model_find(&places, folder, &model, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_string_equal(model.config.model_type, "bert");
    assert_int_equal(model.inferred.besides_count, 1);
    assert_int_equal(model.inferred.unstored_count, 2);
    model_release(&model);
    model_folder_remove(folder);
}

static void networks_of_others_are_named(void **state)
{
    static const struct {
        const char *tensors[2], *says;
    } rows[] = {
        {{"layer1.0.conv1.weight", "bn1.weight"},
         "by layer1.0.conv1.weight it is a ResNet of timm or torchvision, which assay builds from timm's config.json"},
        {{"s1.b1.conv1.conv.weight", "stem.conv.weight"},
         "it is a RegNet of timm, which assay builds from timm's config.json"},
        {{"stem.0.weight", "stages.0.blocks.0.conv_dw.weight"}, "it is a ConvNeXt of timm, which assay does not build"},
        {{"blocks.0.attn.qkv.weight", "patch_embed.proj.weight"},
         "it is a vision transformer of timm, which assay builds from timm's config.json"},
        {{"a.weight", "b.weight"}, "its tensors do not tell what the model is; put the model's config.json beside it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char folder[64], header[512];
        snprintf(header, sizeof header,
                 "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                 "\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
                 rows[i].tensors[0], rows[i].tensors[1]);
        model_folder_write(folder, "tiny-gpt2", header, 12);
        config_remove(folder);
        expect_refused(folder, "", rows[i].says);
        model_folder_remove(folder);
    }
}

/* Falcon2-11B's names are those of Falcon-7B, its keys 1,024 wide: several heads, which no tensor counts. */
static void keys_of_unknown_heads_are_refused(void **state)
{
    static const struct edit edits[] = {
        {EDIT_FIRST_SIZE, "transformer.h.0.self_attention.query_key_value.weight", "6592"},
    };
    char folder[64];
    (void)state;
    tensors_make(folder, "tiiuae/falcon-7b", edits, 1);
    expect_refused(folder, "",
                   "its tensors are those of a falcon with 1024 elements of keys, in heads that they do not tell");
    model_folder_remove(folder);
}

/* Gemma has Llama's names and another tape: it is asked for. Mistral may be. */
static void types_are_asked_for(void **state)
{
    char folder[64], name[128];
    struct model model;
    struct config real;
    (void)state;
    tensors_make(folder, "google/gemma-2b", NULL, 0);
    expect_refused(folder, "", "its tensors are those of llama and of gemma, which differ; write ");
    expect_refused(folder, "#bert", "its tensors are not those of bert");
    snprintf(name, sizeof name, "%s#gemma", folder);
    assert_int_equal(model_find(&places, name, &model, NULL), STATUS_OK);
    assert_int_equal(config_find("models/catalogue", "google/gemma-2b", &real, NULL), STATUS_OK);
    assert_string_equal(model.config.model_type, "gemma");
    assert_true(sizes_agree(&model.config, &real) && model.config.heads == real.heads);
    model_release(&model);
    model_folder_remove(folder);
    tensors_make(folder, "tiny-mistral", NULL, 0);
    snprintf(name, sizeof name, "%s#mistral", folder);
    assert_int_equal(model_find(&places, name, &model, NULL), STATUS_OK);
    assert_string_equal(model.config.model_type, "mistral");
    assert_int_equal(model.config.sliding_window, 4096);
    model_release(&model);
    model_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_files_are_told),
        cmocka_unit_test(files_of_transformers_are_told),
        cmocka_unit_test(networks_of_others_are_named),
        cmocka_unit_test(keys_of_unknown_heads_are_refused),
        cmocka_unit_test(public_models_are_told),
        cmocka_unit_test(evidence_and_assumptions_are_said),
        cmocka_unit_test(almost_is_refused),
        cmocka_unit_test(heads_of_tasks_are_left_out),
        cmocka_unit_test(types_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
