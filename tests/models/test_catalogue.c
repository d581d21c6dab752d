/* The catalogue: every file in it is a model, and users find it by what they type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "models/find/catalogue_names.h"
#include "models/skeleton/skeleton.h"

static const char folder[] = "models/catalogue";

static void test_all_build(void **state)
{
    struct catalogue catalogue;
    struct status error = {0};
    int public_count = 0;
    (void)state;
    assert_int_equal(catalogue_read(folder, &catalogue, &error), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        struct config config;
        struct skeleton skeleton;
        assert_true(i == 0 || strcmp(catalogue.names[i - 1], catalogue.names[i]) < 0);
        for (enum head head = HEAD_BARE; head <= HEAD_LM; head++) {
            if (config_find(folder, catalogue.names[i], &config, &error) != STATUS_OK ||
                skeleton_build(&config, head, &skeleton, &error) != STATUS_OK) {
                fail_msg("%s: %s", catalogue.names[i], error.text);
            }
            assert_string_equal(config.name, catalogue.names[i]);
            skeleton_release(&skeleton);
        }
        public_count += strncmp(catalogue.names[i], "tiny-", 5) != 0;
    }
    assert_true(public_count >= 25);
    catalogue_release(&catalogue);
}

static void test_found(void **state)
{
    static const struct {
        const char *typed, *name;
    } rows[] = {
        {"bert-base-cased", "bert-base-cased"},
        {"BERT-base-Cased", "bert-base-cased"},
        {"google-bert/bert-base-cased", "bert-base-cased"},
        {"openai-community/gpt2", "gpt2"},
        {"meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf"},
        {"meta-llama/llama-2-7b", "meta-llama/Llama-2-7b-hf"},
        {"Llama-2-70b-chat", "meta-llama/Llama-2-70b-chat-hf"},
        {"Mistral-7B-v0.1", "mistralai/Mistral-7B-v0.1"},
        {"resnet50.a1_in1k", "timm/resnet50.a1_in1k"},
        {"resnet50", "timm/resnet50.a1_in1k"},
        {"vit-base-patch16-224", "google/vit-base-patch16-224"},
        {"models/catalogue/gpt2", "models/catalogue/gpt2"},
        {"models/catalogue/gpt2/config.json", "models/catalogue/gpt2/config.json"},
        {"./models/catalogue/gpt2/", "./models/catalogue/gpt2/"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        struct status error = {0};
        if (config_find(folder, rows[i].typed, &config, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        assert_string_equal(config.name, rows[i].name);
    }
}

static void test_not_found(void **state)
{
    static const struct {
        const char *typed, *message; /* as far as it does not depend on what else is in the catalogue */
    } rows[] = {
        {"bert-bas-cased",
         "model 'bert-bas-cased' is neither in the catalogue nor the path of a config.json, a model file or a "
         "folder that holds one; nearest names: 'bert-base-cased', 'bert-base-uncased', 'bert-large-cased'"},
        {"someone/gpt2",
         "model 'someone/gpt2' is neither in the catalogue nor the path of a config.json, a model file or a folder "
         "that holds one; "
         "nearest names: 'gpt2', 'gpt2-xl', '"},
        {"models", "'models' is a folder without a config.json or a model.safetensors, and without a .gguf that would "
                   "be the only "
                   "one; write "},
        {"./gpt2.json", "'./gpt2.json': No such file or directory; write the path of a config.json, "},
        {"gpt2.json", "'gpt2.json': No such file or directory; "},
        {"gpt2.gguf", "'gpt2.gguf': No such file or directory; "},
        {"some/where/gpt2", "'some/where/gpt2': No such file or directory; "},
        {"/nowhere", "'/nowhere': No such file or directory; "},
        {"~/gpt2", "'~/gpt2': No such file or directory; "},
        {"README.md/config.json", "'README.md/config.json': Not a directory; "},
        {"/dev/null", "'/dev/null' is no regular file; "},
        {"", "a model's name has 1 to 255 bytes, not 0; see the catalogue"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        struct status error = {0};
        assert_int_equal(config_find(folder, rows[i].typed, &config, &error), STATUS_INVALID);
        assert_memory_equal(error.text, rows[i].message, strlen(rows[i].message));
    }
    char long_name[300];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    struct config config;
    assert_int_equal(config_find(folder, long_name, &config, NULL), STATUS_INVALID);
}

/* What stands for a model is of its sizes, and is said; what only looks alike is refused. */
static void test_twins(void **state)
{
    static const char *const rows[][2] = {
        {"meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"},
        {"Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"},
        {"llama3.1-8b-instruct", "meta-llama/Llama-3.1-8B"},
        {"meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.1-70B"},
        {"mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"},
        {"google/gemma-2-9b-it", "google/gemma-2-9b"},
        {"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-ai/DeepSeek-V2-Lite"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        assert_int_equal(config_find(folder, rows[i][0], &config, NULL), STATUS_OK);
        assert_string_equal(config.name, rows[i][1]);
        assert_string_equal(config.stands_for, rows[i][0]);
        assert_true(catalogue_knows(folder, rows[i][0]));
    }
    static const char *const same[] = {"gpt2", "META-LLAMA/llama-3.1-8b", "Llama-3.1-8B",
                                       "google-bert/bert-base-cased"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct config config;
        assert_int_equal(config_find(folder, same[i], &config, NULL), STATUS_OK);
        assert_string_equal(config.stands_for, "");
    }
    static const char *const others[] = {"Qwen/Qwen2.5-7B-Instruct", "mistralai/Mixtral-8x22B-Instruct-v0.1",
                                         "someone/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct-GGUF"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct config config;
        assert_int_equal(config_find(folder, others[i], &config, NULL), STATUS_INVALID);
        assert_false(catalogue_knows(folder, others[i]));
    }
}

/* A point is not nothing: opt-13b is ten times opt-1.3b. */
static void test_digits(void **state)
{
    static const char *const spelled[][2] = {
        {"opt_1_3b", "facebook/opt-1.3b"},
        {"facebook/OPT-1-3B", "facebook/opt-1.3b"},
        {"opt1.3b", "facebook/opt-1.3b"},
        {"llama3.1-8b", "meta-llama/Llama-3.1-8B"},
        {"gpt_2", "gpt2"},
        {"GPT-2", "gpt2"},
        {"Llama-2-7b", "meta-llama/Llama-2-7b-hf"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++) {
        struct config config;
        assert_int_equal(config_find(folder, spelled[i][0], &config, NULL), STATUS_OK);
        assert_string_equal(config.name, spelled[i][1]);
        assert_string_equal(config.stands_for, spelled[i][0]);
    }
    static const char *const others[] = {"facebook/opt-13b", "opt-13b",    "pythia-14b",  "pythia-28b",
                                         "Qwen/Qwen3-17B",   "gemma-22b",  "gemma-2.2b",  "meta-llama/Llama-321B",
                                         "opt_13b",          "opt-1--25m", "Llama-3-18B", "Meta-Llama-38B"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct config config;
        if (config_find(folder, others[i], &config, NULL) == STATUS_OK) {
            fail_msg("%s is answered as %s", others[i], config.name);
        }
        assert_false(catalogue_knows(folder, others[i]));
    }
    assert_true(catalogue_name_matches("pythia-2.8b", "EleutherAI/pythia-2.8b"));
    assert_true(catalogue_name_matches("2_8b", "EleutherAI/pythia-2.8b"));
    assert_false(catalogue_name_matches("pythia-28b", "EleutherAI/pythia-2.8b"));
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Every way to join two digits that a separator parts, or to part two that stand together: each is another name than
 * its model's, and that of no other model, so that nothing answers. */
static void digits_check(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 1; i < length; i++) {
        char other[256];
        if (i + 1 < length && is_digit(name[i - 1]) && !is_digit(name[i]) && is_digit(name[i + 1])) {
            snprintf(other, sizeof other, "%.*s%s", (int)i, name, name + i + 1);
        } else if (is_digit(name[i - 1]) && is_digit(name[i])) {
            snprintf(other, sizeof other, "%.*s%c%s", (int)i, name, ".-_ "[i % 4], name + i);
        } else {
            continue;
        }
        if (catalogue_knows(folder, other)) {
            fail_msg("%s is answered, as is %s", other, name);
        }
    }
}

/* No name stands for two models, and no number in it for another. */
static void test_names_apart(void **state)
{
    struct catalogue catalogue;
    (void)state;
    assert_int_equal(catalogue_read(folder, &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        const char *slash = strrchr(catalogue.names[i], '/');
        for (int k = 0; k < catalogue.count; k++) {
            if (i != k && catalogue_name_fits(catalogue.names[i], catalogue.names[k])) {
                fail_msg("%s stands for %s", catalogue.names[i], catalogue.names[k]);
            }
        }
        digits_check(catalogue.names[i]);
        digits_check(slash != NULL ? slash + 1 : catalogue.names[i]);
    }
    catalogue_release(&catalogue);
}

/* A toy is asked for by its own name: what resembles it is a published model. */
static void test_toys(void **state)
{
    static const char *const others[] = {"TinyLlama", "TinyBERT",     "tiny_llama",
                                         "tinyllama", "tiny llama",   "google-bert/tiny-bert",
                                         "tiny_opt",  "tiny-gemma-2", "Tiny-GPT-2"};
    struct config config;
    struct status error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(config_find(folder, others[i], &config, &error), STATUS_INVALID);
        assert_non_null(strstr(error.text, "nearest names: '"));
    }
    assert_int_equal(config_find(folder, "Tiny-Llama", &config, &error), STATUS_OK);
    assert_string_equal(config.name, "tiny-llama");
}

/* The family first, and nothing where nothing is near. */
static void test_near(void **state)
{
    static const char *const names[] = {"bert-base-cased",
                                        "bert-base-uncased",
                                        "bert-large-cased",
                                        "bigscience/bloom",
                                        "distilbert-base-cased",
                                        "google-t5/t5-3b",
                                        "gpt2",
                                        "meta-llama/Llama-3.1-8B"};
    static const char *const rows[][2] = {
        {"bert", "'bert-base-cased', 'bert-large-cased', 'bert-base-uncased', 'distilbert-base-cased'"},
        {"bert-tiny", "'bert-base-cased', 'bert-base-uncased', 'bert-large-cased'"},
        {"gtp2", "'gpt2'"},
        {"t5", "'google-t5/t5-3b'"},
        {"zzz", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        catalogue_names_near(names, sizeof names / sizeof names[0], rows[i][0], &text);
        assert_string_equal(text_string(&text), rows[i][1]);
        text_release(&text);
    }
    assert_true(catalogue_name_matches("LLAMA", "meta-llama/Llama-3.1-8B"));
    assert_true(catalogue_name_matches("llama-3*", "meta-llama/Llama-3.1-8B"));
    assert_false(catalogue_name_matches("llama-2*", "meta-llama/Llama-3.1-8B"));
    assert_false(catalogue_name_matches("", "gpt2"));
}

static void test_no_catalogue(void **state)
{
    struct config config;
    struct catalogue catalogue;
    struct status error = {0};
    (void)state;
    assert_int_equal(catalogue_read("/nowhere", &catalogue, &error), STATUS_IO);
    assert_string_equal(error.text, "/nowhere/: No such file or directory; say where models/catalogue is");
    assert_int_equal(config_find("/nowhere", "gpt2", &config, &error), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_build), cmocka_unit_test(test_found),  cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_twins),     cmocka_unit_test(test_digits), cmocka_unit_test(test_names_apart),
        cmocka_unit_test(test_toys),      cmocka_unit_test(test_near),   cmocka_unit_test(test_no_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
