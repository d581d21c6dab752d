/* Headers against configurations: what agrees is silent, and each way to differ is named, tensor by tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/size.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/find/model.h"
#include "tests/models/model_folder.h"

static const struct model_places places = {.catalogue_dir = "models/catalogue"};

static struct model model_read(const char *model, enum head head, const struct edit *edits, int edit_count)
{
    char folder[64];
    struct model result;
    struct status error = {0};
    model_folder_make(folder, model, head, edits, edit_count);
    if (model_find(&places, folder, &result, &error) != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    model_folder_remove(folder);
    return result;
}

/* The bytes of the tensors that a file of the whole model has. */
static int64_t bytes_of(const struct config *config, enum head head)
{
    struct skeleton skeleton;
    int64_t bytes = 0;
    assert_int_equal(skeleton_build(config, head, &skeleton, NULL), STATUS_OK);
    for (int i = 0; i < skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton.tensors[i];
        bytes += tensor->persistent && tensor->tied_to < 0 ? tensor->element_count * dtype_bytes(tensor->dtype) : 0;
    }
    skeleton_release(&skeleton);
    return bytes;
}

/* Every tiny model of the catalogue, both heads: its own tensors are what its configuration says. */
static void own_tensors_agree(void **state)
{
    struct catalogue catalogue;
    int compared = 0;
    (void)state;
    assert_int_equal(catalogue_read(places.catalogue_dir, &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        for (enum head head = HEAD_BARE; head <= HEAD_LM && strncmp(catalogue.names[i], "tiny-", 5) == 0; head++) {
            struct model model = model_read(catalogue.names[i], head, NULL, 0);
            if (model.config.dtype == DTYPE_FLOAT32) {
                assert_int_equal(checkpoint_disagreement_count(&model.check), 0);
                assert_int_equal(model.check.matched_count, model.checkpoint->tensor_count);
                assert_int_equal(model.checkpoint->stored_bytes, bytes_of(&model.config, head));
                compared++;
            }
            model_release(&model);
        }
    }
    assert_true(compared >= 16);
    catalogue_release(&catalogue);
}

/* The edits, and the one finding that they make. Q is a matrix [32, 32] of the second layer. */
#define Q "model.layers.1.self_attn.q_proj.weight"
static const struct {
    const char *model;
    enum head head;
    struct edit edit;
    enum finding_kind kind;
    const char *name;
} rows[] = {
    {"tiny-llama", HEAD_LM, {EDIT_DROP, Q, NULL}, FINDING_MISSING, Q},
    {"tiny-llama", HEAD_LM, {EDIT_NAME, Q, "other.weight"}, FINDING_EXTRA, "other.weight"},
    {"tiny-llama", HEAD_LM, {EDIT_FIRST_SIZE, Q, "7"}, FINDING_SHAPE, Q},
    {"tiny-llama", HEAD_LM, {EDIT_DTYPE, Q, "F16"}, FINDING_DTYPE, Q},
    {"tiny-llama", HEAD_LM, {EDIT_DTYPE, Q, "F8_E5M2"}, FINDING_DTYPE, Q},
    {"tiny-llama", HEAD_LM, {EDIT_ADD, "x", "\"dtype\":\"U8\",\"shape\":[4]"}, FINDING_EXTRA, "x"},
    {"tiny-llama",
     HEAD_LM,
     {EDIT_ADD, "model.layers.0.self_attn.rotary_emb.inv_freq", "\"dtype\":\"F32\",\"shape\":[1]"},
     FINDING_BUFFER,
     "model.layers.0.self_attn.rotary_emb.inv_freq"},
    {"tiny-gpt2",
     HEAD_BARE,
     {EDIT_ADD, "h.0.attn.bias", "\"dtype\":\"U8\",\"shape\":[1,1,2,2]"},
     FINDING_BUFFER,
     "h.0.attn.bias"},
    {"tiny-gpt2",
     HEAD_BARE,
     {EDIT_ADD, "h.0.attn.bias", "\"dtype\":\"U8\",\"shape\":[4]"},
     FINDING_EXTRA,
     "h.0.attn.bias"},
    {"tiny-bert",
     HEAD_LM,
     {EDIT_ADD, "cls.seq_relationship.bias", "\"dtype\":\"F16\",\"shape\":[2]"},
     FINDING_HEAD,
     "cls.seq_relationship.bias"},
    {"tiny-bert",
     HEAD_LM,
     {EDIT_ADD, "bert.pooler.dense.bias", "\"dtype\":\"F32\",\"shape\":[1]"},
     FINDING_HEAD,
     "bert.pooler.dense.bias"},
};

static void each_difference_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct model model = model_read(rows[i].model, rows[i].head, &rows[i].edit, 1);
        bool found = false;
        for (int j = 0; j < model.check.finding_count; j++) {
            const struct finding *finding = &model.check.findings[j];
            found = found || (finding->kind == rows[i].kind && strcmp(finding->name, rows[i].name) == 0);
        }
        if (!found) {
            fail_msg("row %zu: %s %s is not found", i, finding_kind_name(rows[i].kind), rows[i].name);
        }
        int expected = rows[i].edit.kind == EDIT_NAME ? 2 : 1; /* another name is missing under its own */
        assert_int_equal(model.check.finding_count, expected);
        assert_int_equal(checkpoint_disagreement_count(&model.check), finding_is_remark(rows[i].kind) ? 0 : expected);
        model_release(&model);
    }
}

/* With or without the prefix of the model in the one with a head, and under TensorFlow's names. */
static void names_of_other_files_are_understood(void **state)
{
    static const struct {
        const char *model;
        enum head head;
        struct edit edit;
    } others[] = {
        {"tiny-gpt2", HEAD_LM, {EDIT_PREFIX, "transformer.", ""}},
        {"tiny-gpt2", HEAD_BARE, {EDIT_PREFIX, "", "transformer."}},
        {"tiny-llama", HEAD_BARE, {EDIT_PREFIX, "", "model."}},
        {"tiny-bert", HEAD_BARE, {EDIT_PREFIX, "", "bert."}},
        {"tiny-bert", HEAD_LM, {EDIT_NAME, "bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma"}},
        {"tiny-gpt2", HEAD_LM, {EDIT_NAME, "transformer.wte.weight", "lm_head.weight"}},
        {"tiny-bert", HEAD_BARE, {EDIT_NAME, "embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.beta"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct model model = model_read(others[i].model, others[i].head, &others[i].edit, 1);
        assert_int_equal(checkpoint_disagreement_count(&model.check), 0);
        model_release(&model);
    }
}

/* A tensor that shares the storage of another, stored all the same. */
static void tied_tensors_are_remarked(void **state)
{
    (void)state;
    const struct edit edit = {EDIT_TIED, "lm_head.weight", NULL};
    struct model model = model_read("tiny-gpt2", HEAD_LM, &edit, 1);
    assert_int_equal(model.check.counts[FINDING_TIED], 1);
    assert_int_equal(model.check.finding_count, 1);
    assert_int_equal(checkpoint_disagreement_count(&model.check), 0);
    model_release(&model);
}

/* The rows of a vocabulary that was padded are the file's; whatever else differs in shape only loads. */
static void headers_win_for_weights(void **state)
{
    struct skeleton skeleton;
    struct status error = {0};
    struct workload load = workload_default(MODE_LOAD);
    struct workload infer = workload_default(MODE_INFER);
    const struct edit padded[] = {{EDIT_FIRST_SIZE, "model.embed_tokens.weight", "128"},
                                  {EDIT_FIRST_SIZE, "lm_head.weight", "128"}};
    (void)state;
    infer.head = HEAD_LM;
    struct model model = model_read("tiny-llama", HEAD_LM, padded, 2);
    assert_int_equal(model.check.counts[FINDING_SHAPE], 2);
    assert_int_equal(model.config.vocab, 128);
    assert_int_equal(model_skeleton(&model, &infer, &skeleton, &error), STATUS_OK);
    assert_int_equal(skeleton.tensors[skeleton_find(&skeleton, "lm_head.weight")].size[0], 128);
    skeleton_release(&skeleton);
    model_release(&model);
    const struct edit one_alone[] = {{EDIT_FIRST_SIZE, Q, "7"}};
    model = model_read("tiny-llama", HEAD_LM, one_alone, 1);
    load.head = HEAD_LM;
    assert_int_equal(model_skeleton(&model, &load, &skeleton, &error), STATUS_OK);
    assert_int_equal(skeleton.parameter_bytes, model.checkpoint->stored_bytes);
    skeleton_release(&skeleton);
    assert_int_equal(model_skeleton(&model, &infer, &skeleton, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text,
                           ": 'model.layers.1.self_attn.q_proj.weight' is stored in another shape than the "
                           "configuration says, and such a model only loads; assay weights lists what differs"));
    model_release(&model);
    const struct edit two_sizes[] = {{EDIT_FIRST_SIZE, "model.embed_tokens.weight", "128"},
                                     {EDIT_FIRST_SIZE, "lm_head.weight", "129"}};
    model = model_read("tiny-llama", HEAD_LM, two_sizes, 2);
    assert_int_not_equal(model.config.vocab, 128);
    model_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_tensors_agree),
        cmocka_unit_test(each_difference_is_named),
        cmocka_unit_test(names_of_other_files_are_understood),
        cmocka_unit_test(tied_tensors_are_remarked),
        cmocka_unit_test(headers_win_for_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
