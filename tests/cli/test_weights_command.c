/* assay weights, and what other commands say of a model file that is not what its configuration says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static char folder[40];

/* A tiny Llama whose only tensor is its embedding, in float16 and with seven rows more than the configuration says, and
 * one with a name that a terminal obeys. */
static const char header[] =
    "{\"model.embed_tokens.weight\":{\"dtype\":\"F16\",\"shape\":[9,4],\"data_offsets\":[0,72]},"
    "\"a\\u001b[31m.b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[72,73]}}";
static const char config[] =
    "{\"model_type\": \"llama\", \"vocab_size\": 2, \"hidden_size\": 4, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 4, \"tie_word_embeddings\": true}";

static void file_write(const char *name, const char *bytes, size_t count)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static int folder_make(void **state)
{
    char bytes[8 + sizeof header - 1 + 73] = {0};
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-weights-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    bytes[0] = (char)(unsigned char)(sizeof header - 1);
    memcpy(bytes + 8, header, sizeof header - 1);
    file_write("model.safetensors", bytes, sizeof bytes);
    file_write("config.json", config, sizeof config - 1);
    return 0;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static struct command_result assay(const char *command, const char *model, const char *option, const char *value)
{
    const char *const words[] = {program_path(), command, model, option, value, NULL};
    return command_run(words, NULL);
}

static void disagreement_is_listed_and_exits_with_1(void **state)
{
    struct command_result result = assay("weights", folder, NULL, NULL);
    const char *text = text_string(&result.output);
    (void)state;
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text, "2 tensors, 37 elements, 73 B (73 bytes)\n"));
    assert_non_null(strstr(text, " 72 bytes      1 tensors  F16\n"));
    assert_non_null(strstr(text,
                           "  shape    model.embed_tokens.weight: stored F16 [9, 4], by the configuration float32 [2, "
                           "4]\n"));
    assert_non_null(strstr(text,
                           "  dtype    model.embed_tokens.weight: stored F16 [9, 4], by the configuration float32 [2, "
                           "4]\n"));
    assert_non_null(strstr(text, "  extra    a?[31m.b: stored U8 [1]\n"));
    assert_non_null(strstr(text, "  missing  model.norm.weight: by the configuration float32 [4]\n"));
    assert_non_null(strstr(text, "a?[31m\n"));
    assert_null(strchr(text, '\033'));
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
}

static void json_has_every_tensor(void **state)
{
    struct command_result result = assay("weights", folder, "--json", NULL);
    struct json *document = NULL;
    (void)state;
    assert_int_equal(result.exit_code, 1);
    assert_int_equal(json_parse_text("out", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    const struct json *comparison = json_get(document, "comparison");
    const struct json *list = json_get(comparison, "disagreements");
    assert_int_equal(json_integer_or(json_get(document, "stored_bytes"), -1), 73);
    /* shape and dtype of the embedding, the other tensor, and ten that are missing: nine of the layer, one norm */
    assert_int_equal(json_integer_or(json_get(comparison, "disagreement_count"), -1), 13);
    assert_int_equal(json_count(list), 13);
    assert_string_equal(json_string_or(json_get(json_at(list, 0), "kind"), ""), "shape");
    assert_int_equal(json_integer_or(json_at(json_get(json_get(json_at(list, 0), "stored"), "shape"), 0), -1), 9);
    json_release(document);
    command_result_release(&result);
}

static void other_commands_warn(void **state)
{
    char expected[512];
    (void)state;
    struct command_result result = assay("estimate", folder, "--mode", "load");
    assert_int_equal(result.exit_code, 0);
    snprintf(
        expected, sizeof expected,
        "assay: estimate: what %s/model.safetensors stores is not what its configuration says (10 missing, 1 extra, 1 "
        "shape, 1 dtype); assay weights %s lists it\n",
        folder, folder);
    assert_string_equal(text_string(&result.error), expected);
    assert_non_null(strstr(text_string(&result.output), "\nstored: the tensors as the model file stores them\n"));
    command_result_release(&result);
    char suite[256];
    snprintf(suite, sizeof suite, "version: 1\nname: w\ncases:\n  - {model: %s, mode: load}\n", folder);
    file_write("suite.yaml", suite, strlen(suite));
    snprintf(suite, sizeof suite, "%s/suite.yaml", folder);
    result = assay("plan", suite, NULL, NULL);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(strncmp(text_string(&result.error), "assay: plan: what ", 18), 0);
    command_result_release(&result);
}

static void what_cannot_be_compared_is_inconclusive(void **state)
{
    (void)state;
    static const char alone[] = "tests/checkpoint/vectors/several.safetensors";
    struct command_result result = assay("weights", alone, NULL, NULL);
    assert_int_equal(result.exit_code, 3);
    assert_non_null(strstr(text_string(&result.output), "\nnot compared with a configuration: "));
    assert_null(strstr(text_string(&result.output), "assay weights")); /* it is what answers */
    command_result_release(&result);
    static const char *const others[] = {"models", "explain"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        result = assay(others[i], alone, NULL, NULL);
        assert_int_equal(result.exit_code, 2);
        assert_non_null(strstr(text_string(&result.error),
                               "; assay weights tests/checkpoint/vectors/several.safetensors reads what is stored"));
        command_result_release(&result);
    }
    result = assay("weights", "gpt2", NULL, NULL);
    assert_int_equal(result.exit_code, 2);
    assert_string_equal(
        text_string(&result.error),
        "assay: weights: gpt2 is a configuration without model files; name a .safetensors, its index, a "
        ".gguf, or a folder that holds them\n");
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disagreement_is_listed_and_exits_with_1),
        cmocka_unit_test(json_has_every_tensor),
        cmocka_unit_test(other_commands_warn),
        cmocka_unit_test(what_cannot_be_compared_is_inconclusive),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
