/* Heads: which one a class in `architectures` names, which ones the classes of a type have, and which one a case takes.
 * What a head is made of is held against transformers elsewhere: names and shapes in test_skeleton, bytes in
 * test_pytorch_shadow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/tape/target.h"
#include "models/config/head.h"
#include "models/find/catalogue.h"
#include "models/skeleton/skeleton.h"
#include "models/workload/workload_tape.h"
#include "tests/models/config_text.h"
#include "tests/support/scratch_file.h"

static struct config named(const char *type, const char *class_name)
{
    char text[256];
    snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"architectures\": [\"%s\"]}", type, class_name);
    return config_of(text);
}

static void a_class_names_its_head(void **state)
{
    (void)state;
    static const struct {
        const char *type, *class_name;
        enum head head;
    } rows[] = {
        {"bert", "BertModel", HEAD_BARE},
        {"bert", "BertForMaskedLM", HEAD_LM},
        {"bert", "BertForSequenceClassification", HEAD_SEQUENCE},
        {"xlm-roberta", "XLMRobertaForTokenClassification", HEAD_TOKEN},
        {"distilbert", "DistilBertForQuestionAnswering", HEAD_QUESTION},
        {"gpt2", "GPT2LMHeadModel", HEAD_LM},
        {"gpt2", "GPT2Model", HEAD_BARE},
        {"llama", "LlamaForSequenceClassification", HEAD_SEQUENCE},
        {"gemma3_text", "Gemma3TextForSequenceClassification", HEAD_SEQUENCE},
        {"t5", "T5ForConditionalGeneration", HEAD_LM},
        {"t5", "T5WithLMHeadModel", HEAD_LM},
        {"t5", "T5EncoderModel", HEAD_ENCODER},
        {"vit", "ViTModel", HEAD_BARE},
        {"vit", "ViTForImageClassification", HEAD_LM},
        /* classes that are not built */
        {"bert", "BertLMHeadModel", HEAD_DEFAULT},
        {"bert", "BertForPreTraining", HEAD_DEFAULT},
        {"gpt2", "GPT2DoubleHeadsModel", HEAD_DEFAULT},
        {"gemma", "GemmaForQuestionAnswering", HEAD_DEFAULT},
        {"gemma3_text", "Gemma3TextForTokenClassification", HEAD_DEFAULT},
        {"vit", "ViTForMaskedImageModeling", HEAD_DEFAULT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config = named(rows[i].type, rows[i].class_name);
        bool is_noted = config.note_count > 0 && config.notes[0].kind == CONFIG_NOTE_CLASS;
        if (config.model_heads.stated != rows[i].head || is_noted != (rows[i].head == HEAD_DEFAULT)) {
            fail_msg("%s names %s%s", rows[i].class_name, head_name(config.model_heads.stated),
                     is_noted ? ", and is noted" : "");
        }
    }
    struct config none = config_of("{\"model_type\": \"bert\"}");
    assert_int_equal(none.model_heads.stated, HEAD_DEFAULT);
    assert_int_equal(none.note_count > 0 ? none.notes[0].kind : CONFIG_NOTE_MISSING, CONFIG_NOTE_MISSING);
}

static void a_class_that_is_not_built_is_noted(void **state)
{
    (void)state;
    struct config config = named("bert", "BertForPreTraining");
    assert_non_null(strstr(config.notes[0].text,
                           ": 'BertForPreTraining' is no class that assay builds for bert; "
                           "answered is the model with its own head (masked-lm), or without one"));
}

/* mode, what is said -> what is taken, of a model whose file names a class. */
static void a_case_takes_the_head_of_its_file(void **state)
{
    (void)state;
    static const struct {
        const char *type, *class_name;
        enum mode mode;
        enum head said, taken;
    } rows[] = {
        {"bert", "BertModel", MODE_INFER, HEAD_DEFAULT, HEAD_BARE},
        {"bert", "BertModel", MODE_LOAD, HEAD_DEFAULT, HEAD_BARE},
        {"bert", "BertModel", MODE_TRAIN, HEAD_DEFAULT, HEAD_LM}, /* it has no loss */
        {"bert", "BertModel", MODE_INFER, HEAD_MASKED_LM, HEAD_LM},
        {"bert", "BertForMaskedLM", MODE_INFER, HEAD_DEFAULT, HEAD_LM},
        {"bert", "BertForTokenClassification", MODE_TRAIN, HEAD_DEFAULT, HEAD_TOKEN},
        {"bert", "BertForTokenClassification", MODE_INFER, HEAD_LM, HEAD_LM},
        {"gpt2", "GPT2ForSequenceClassification", MODE_INFER, HEAD_DEFAULT, HEAD_SEQUENCE},
        {"gpt2", "GPT2ForSequenceClassification", MODE_GENERATE, HEAD_DEFAULT, HEAD_LM},
        {"gpt2", "GPT2ForSequenceClassification", MODE_LOAD, HEAD_DEFAULT, HEAD_BARE},
        {"t5", "T5EncoderModel", MODE_LOAD, HEAD_DEFAULT, HEAD_ENCODER},
        {"t5", "T5EncoderModel", MODE_INFER, HEAD_DEFAULT, HEAD_ENCODER},
        {"t5", "T5EncoderModel", MODE_TRAIN, HEAD_DEFAULT, HEAD_LM},
        {"vit", "ViTModel", MODE_INFER, HEAD_IMAGE, HEAD_LM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config = named(rows[i].type, rows[i].class_name);
        struct workload workload = workload_default(rows[i].mode);
        workload.head = rows[i].said;
        assert_int_equal(head_of(&config.model_heads, &workload), rows[i].taken);
    }
}

static void a_head_that_a_family_has_not_is_refused(void **state)
{
    (void)state;
    struct config config = named("gemma", "GemmaForCausalLM");
    struct skeleton skeleton;
    struct status error = {0};
    assert_int_equal(skeleton_build(&config, HEAD_QUESTION, &skeleton, &error), STATUS_INVALID);
    assert_string_equal(error.text, "head question: test has no such class; write one of: bare, lm, sequence, token, "
                                    "embedding (lm is causal-lm)");
    assert_int_equal(skeleton_build(&config, HEAD_MASKED_LM, &skeleton, &error), STATUS_INVALID);
    assert_int_equal(skeleton_build(&config, HEAD_CAUSAL_LM, &skeleton, &error), STATUS_OK);
    assert_string_equal(skeleton.modules[0].class_name, "GemmaForCausalLM");
    skeleton_release(&skeleton);
}

/* id2label counts, else num_labels, else two. */
static void labels_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        int64_t labels;
    } rows[] = {
        {"\"num_labels\": 5", 5},
        {"\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}", 3},
        {"\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}, \"num_labels\": 5", 3},
        {"\"id2label\": null", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        struct skeleton skeleton;
        snprintf(text, sizeof text, "{\"model_type\": \"bert\", %s}", rows[i].keys);
        struct config config = config_of(text);
        assert_int_equal(skeleton_build(&config, HEAD_TOKEN, &skeleton, NULL), STATUS_OK);
        int weight = skeleton_find(&skeleton, "classifier.weight");
        assert_true(weight >= 0);
        assert_int_equal(skeleton.tensors[weight].size[0], rows[i].labels);
        skeleton_release(&skeleton);
    }
}

/* "equal NAME HEAD: CLASS, N modules, N tensors, N parameters, N bytes of buffers", which compare_skeletons.py writes
 * of the real class where every name, shape, dtype and tie is ours. */
static bool line_holds(const char *line)
{
    char name[80], head[24], class_name[CLASS_NAME_BYTES];
    int modules = 0, tensors = 0;
    long long parameters = 0, buffer_bytes = 0;
    if (sscanf(line, "equal %79s %23[a-z]: %79[A-Za-z0-9], %d modules, %d tensors, %lld parameters, %lld bytes", name,
               head, class_name, &modules, &tensors, &parameters, &buffer_bytes) != 7) {
        return false;
    }
    struct config config;
    struct skeleton skeleton;
    struct status error = {0};
    struct workload workload = workload_default(MODE_LOAD);
    assert_int_equal(config_find("models/catalogue", name, &config, &error), STATUS_OK);
    assert_int_equal(workload_set(&workload, "head", head, &error), STATUS_OK);
    if (workload_skeleton(&config, &workload, &skeleton, &error) != STATUS_OK) {
        fail_msg("%s %s: %s", name, head, error.text);
    }
    assert_string_equal(skeleton.modules[0].class_name, class_name);
    assert_int_equal(skeleton.module_count, modules);
    assert_int_equal(skeleton.tensor_count, tensors);
    assert_int_equal(skeleton.parameter_count, parameters);
    assert_int_equal(skeleton.buffer_bytes, buffer_bytes);
    skeleton_release(&skeleton);
    return true;
}

static void classes_are_those_of_transformers(void **state)
{
    (void)state;
    FILE *file = fopen("peers/transformers/compare_heads.txt", "r");
    char line[512];
    int heads = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        assert_null(strstr(line, "DIFFERENT"));
        heads += line_holds(line);
    }
    fclose(file);
    assert_true(heads >= 110);
}

static int64_t saved_bytes(const char *text)
{
    struct config config = config_of(text);
    struct workload workload = workload_default(MODE_TRAIN);
    struct skeleton skeleton;
    struct tape *tape = NULL;
    struct status error = {0};
    workload.head = HEAD_SEQUENCE;
    assert_int_equal(workload_skeleton(&config, &workload, &skeleton, &error), STATUS_OK);
    const struct target *target = NULL;
    assert_int_equal(target_find("sm_90", &target, &error), STATUS_OK);
    assert_int_equal(workload_tape(&config, &skeleton, &workload, target, &tape, &error), STATUS_OK);
    int64_t bytes = tape_view(tape).saved_for_backward_bytes;
    tape_release(tape);
    skeleton_release(&skeleton);
    return bytes;
}

/* Of DistilBERT the dropout of the head has a key of its own: its mask and what it leaves, 768 of each sequence. */
static void the_head_drops_by_its_own_key(void **state)
{
    (void)state;
    int64_t with = saved_bytes("{\"model_type\": \"distilbert\"}");
    int64_t without = saved_bytes("{\"model_type\": \"distilbert\", \"seq_classif_dropout\": 0.0}");
    struct workload workload = workload_default(MODE_TRAIN);
    assert_int_equal(with - without, workload.batch * 768 * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_names_its_head),
        cmocka_unit_test(a_class_that_is_not_built_is_noted),
        cmocka_unit_test(a_case_takes_the_head_of_its_file),
        cmocka_unit_test(a_head_that_a_family_has_not_is_refused),
        cmocka_unit_test(labels_are_counted),
        cmocka_unit_test(classes_are_those_of_transformers),
        cmocka_unit_test(the_head_drops_by_its_own_key),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
