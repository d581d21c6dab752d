/* Families: what each row must have beside its file, so that a new family is whole. Every hole is named, with the file
 * that mends it; docs/ADDING.md goes through them in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/text.h"
#include "harness/estimate/tensor_split.h"
#include "models/config/config_keys.h"
#include "models/family/family_table.h"
#include "models/find/catalogue.h"
#include "models/find/gguf_family.h"
#include "models/find/tensor_family.h"
#include "models/forward/decoder_type.h"

static struct catalogue catalogue;
static struct text holes;

static bool list_has(const char *const *list, const char *word)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, word) == 0) {
            return true;
        }
    }
    return false;
}

/* A model of the catalogue with this model type (NULL: any of the family): a toy, or a published one. */
static bool catalogue_model(const struct family *family, const char *type, bool toy, struct config *config)
{
    for (int i = 0; i < catalogue.count; i++) {
        bool is_toy = strncmp(catalogue.names[i], "tiny-", 5) == 0;
        if (is_toy == toy && config_find("models/catalogue", catalogue.names[i], config, NULL) == STATUS_OK &&
            config->family == family && (type == NULL || strcmp(config->model_type, type) == 0)) {
            return true;
        }
    }
    return false;
}

/* Calls check for each model type of each family; timm's families have none, and are one type without a name. */
static void for_each_type(void (*check)(const struct family *family, const char *type))
{
    static const char *const nameless[] = {NULL};
    const struct family *family;
    text_release(&holes);
    for (int i = 0; (family = family_at(i)) != NULL; i++) {
        const char *const *type = family->model_types != NULL ? family->model_types : nameless;
        do {
            check(family, *type);
        } while (*type != NULL && *++type != NULL);
    }
    if (holes.length > 0) {
        fail_msg("\n%s", text_string(&holes));
    }
}

__attribute__((format(printf, 3, 4))) static void hole(const struct family *family, const char *type,
                                                       const char *format, ...)
{
    char said[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    text_format(&holes, "family %s%s%s: %s\n", family->name, type != NULL ? ", model type " : "",
                type != NULL ? type : "", said);
}

/* -- models */

/* Types whose toy is another type's: the classes differ by name alone. */
static const char *const without_toy[] = {"xlm-roberta", NULL};

static void models_check(const struct family *family, const char *type)
{
    struct config config;
    if (!catalogue_model(family, type, true, &config) && (type == NULL || !list_has(without_toy, type))) {
        hole(family, type, "it has no toy; write models/catalogue/tiny-NAME/config.json");
    }
    if (!catalogue_model(family, type, false, &config)) {
        hole(family, type, "it has no published model; write models/catalogue/OWNER/NAME/config.json");
    }
}

static void every_type_has_a_toy_and_a_published_model(void **state)
{
    (void)state;
    for_each_type(models_check);
}

static void every_toy_has_a_skeleton_of_the_real_class(void **state)
{
    (void)state;
    text_release(&holes);
    for (int i = 0; i < catalogue.count; i++) {
        char path[160];
        snprintf(path, sizeof path, "tests/models/golden/%s.lm.txt", catalogue.names[i]);
        if (strncmp(catalogue.names[i], "tiny-", 5) == 0 && access(path, R_OK) != 0) {
            text_format(&holes,
                        "%s: its tensors are compared with nothing; make %s with peers/pytorch/model_check.py\n",
                        catalogue.names[i], path);
        }
    }
    if (holes.length > 0) {
        fail_msg("\n%s", text_string(&holes));
    }
}

/* -- names in files */

static void keys_check(const struct family *family, const char *type)
{
    if (type != NULL && config_keys_of(type) == NULL) {
        hole(family, type,
             "the keys of its configuration class are not known; add the class to "
             "peers/transformers/config_keys.py and make models/config/config_keys.c with it");
    }
}

static void every_type_knows_the_keys_of_its_class(void **state)
{
    (void)state;
    for_each_type(keys_check);
}

/* Types that llama.cpp's converter writes otherwise than we read, or not at all. */
static const char *const without_gguf[] = {"roberta",     "xlm-roberta", "distilbert", "mistral",  "opt",
                                           "gpt_neo",     "falcon",      "t5",         "gemma2",   "gemma3_text",
                                           "deepseek_v2", "deepseek_v3", "vit",        "convnext", NULL};

static void gguf_check(const struct family *family, const char *type)
{
    const struct gguf_family *row;
    bool found = type == NULL; /* timm's are not in GGUF */
    for (int i = 0; !found && (row = gguf_family_at(i)) != NULL; i++) {
        found = strcmp(row->model_type, type) == 0;
    }
    if (!found && !list_has(without_gguf, type)) {
        hole(family, type,
             "no GGUF file is read as one; add a row to models/find/gguf_family.c, or say in "
             "without_gguf of this test that there are none");
    }
    if (found && type != NULL && list_has(without_gguf, type)) {
        hole(family, type, "it is read from GGUF; take it out of without_gguf of this test");
    }
}

static void every_type_is_read_from_gguf_or_said_not_to_be(void **state)
{
    (void)state;
    for_each_type(gguf_check);
}

/* Types that have the very tensors of another one, whose row names them in `also`. */
static const char *const without_tensors[] = {"xlm-roberta", NULL};

static void tensors_check(const struct family *family, const char *type)
{
    const struct tensor_family *row;
    bool found = type == NULL; /* a file of timm has no configuration to infer: nothing names its activation */
    for (int i = 0; !found && (row = tensor_family_at(i)) != NULL; i++) {
        found = strcmp(row->model_type, type) == 0;
    }
    if (!found && !list_has(without_tensors, type)) {
        hole(family, type,
             "weights without a config.json are not recognised as one; add a row to "
             "models/find/tensor_family.c");
    }
}

static void every_type_is_known_by_its_tensors(void **state)
{
    (void)state;
    for_each_type(tensors_check);
}

/* -- estimators */

/* The end of a module's path; whole on each rank of a tensor-parallel group. */
static bool stays_whole(const char *path)
{
    static const char *const ends[] = {"norm",
                                       "layernorm",
                                       "layer_norm",
                                       "LayerNorm",
                                       "ln_1",
                                       "ln_2",
                                       "ln_f",
                                       "ln_attn",
                                       "ln_mlp",
                                       "gate",
                                       "q_a_proj",
                                       "kv_a_proj_with_mqa",
                                       "shared_expert_gate",
                                       "relative_attention_bias"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(path), end = strlen(ends[i]);
        if (length >= end && strcmp(path + length - end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void split_check(const struct family *family, const char *type)
{
    const struct parallel parallel = {.tensor = 2, .pipeline = 1, .data = 1, .expert = 1};
    struct config config;
    struct skeleton skeleton;
    if (!family->has_attention || family->is_image || !catalogue_model(family, type, true, &config) ||
        skeleton_build(&config, HEAD_LM, &skeleton, NULL) != STATUS_OK) {
        return;
    }
    config.kv_heads = config.heads; /* the only key head of Gemma's toy is on every rank, and rightly */
    for (int i = 0; i < skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton.tensors[i];
        const char *path = skeleton.modules[tensor->module].path;
        bool in_first_layer = strstr(path, ".0.") != NULL;
        if (in_first_layer && tensor->rank > 1 && !tensor->is_buffer && !stays_whole(path) &&
            tensor_share_of(&skeleton, i, &parallel).element_count == tensor->element_count) {
            hole(family, type,
                 "%s is on every rank of a tensor-parallel group; add the end of its name to "
                 "harness/estimate/tensor_split.c",
                 tensor->path);
        }
    }
    skeleton_release(&skeleton);
}

static void every_projection_has_a_tensor_split(void **state)
{
    (void)state;
    for_each_type(split_check);
}

/* -- within a row */

static void targets_check(const struct family *family, const char *type)
{
    struct config config;
    struct skeleton skeleton;
    if (!catalogue_model(family, type, true, &config) ||
        skeleton_build(&config, HEAD_LM, &skeleton, NULL) != STATUS_OK) {
        return;
    }
    for (const char *const *target = family->lora_targets; target != NULL && *target != NULL; target++) {
        bool found = false;
        for (int i = 0; i < skeleton.module_count && !found; i++) {
            const char *dot = strrchr(skeleton.modules[i].path, '.');
            found = dot != NULL && strcmp(dot + 1, *target) == 0;
        }
        if (!found) {
            hole(family, type, "its LoRA target %s is no module", *target);
        }
    }
    skeleton_release(&skeleton);
}

static void types_check(const struct family *family, const char *type)
{
    struct config config = {.family = family};
    if (family->decoder == NULL || family->decoder->types.count == 0) {
        return;
    }
    snprintf(config.model_type, sizeof config.model_type, "%s", type);
    if (strcmp(decoder_type_of(&config)->model_type, type) != 0) {
        hole(family, type, "its decoder has no row for it; write one in its table of types");
    }
}

static void targets_and_types_are_there(void **state)
{
    (void)state;
    for_each_type(targets_check);
    for_each_type(types_check);
}

static int catalogue_open(void **state)
{
    (void)state;
    return catalogue_read("models/catalogue", &catalogue, NULL) == STATUS_OK ? 0 : -1;
}

static int catalogue_close(void **state)
{
    (void)state;
    catalogue_release(&catalogue);
    text_release(&holes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_a_toy_and_a_published_model),
        cmocka_unit_test(every_toy_has_a_skeleton_of_the_real_class),
        cmocka_unit_test(every_type_knows_the_keys_of_its_class),
        cmocka_unit_test(every_type_is_read_from_gguf_or_said_not_to_be),
        cmocka_unit_test(every_type_is_known_by_its_tensors),
        cmocka_unit_test(every_projection_has_a_tensor_split),
        cmocka_unit_test(targets_and_types_are_there),
    };
    return cmocka_run_group_tests(tests, catalogue_open, catalogue_close);
}
