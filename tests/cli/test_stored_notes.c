/* What commands say of files that are not the whole model: a head that is not stored, shards without their index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/models/model_folder.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

/* The command on the folder, with these options behind it. */
static struct command_result assay(const char *command, const char *folder, const char *const *options)
{
    const char *words[12] = {program_path(), command, folder};
    for (int i = 0; options[i] != NULL; i++) {
        assert_true(i < 8);
        words[3 + i] = options[i];
    }
    return command_run(words, NULL);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect(struct command_result result, int exit_code, const char *said)
{
    assert_int_equal(result.exit_code, exit_code);
    if (said != NULL && strstr(text_string(&result.error), said) == NULL) {
        fail_msg("%s", text_string(&result.error));
    } else if (said == NULL) {
        assert_string_equal(text_string(&result.error), "");
    }
    command_result_release(&result);
}

/* The class without a head in the place of LlamaForCausalLM. */
static void class_make_bare(const char *folder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *config = whole_file_read(path), *class = strstr(config, "ForCausalLM\"");
    assert_non_null(class);
    memcpy(class, "Model\"      ", 12);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(config, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(config);
}

/* It is weighed as the configuration says, and drawn at random by who loads such a model. */
static void a_head_that_is_not_stored_is_told(void **state)
{
    static const char said[] =
        "model.safetensors stores no head, and its configuration says LlamaForCausalLM; what runs "
        "is weighed with the head, as the configuration has it\n";
    static const char refused[] = " is not stored, and would be initialised at random; ";
    char folder[64];
    (void)state;
    model_folder_make(folder, "tiny-llama", HEAD_BARE, NULL, 0);
    expect(assay("estimate", folder, OPTIONS("--mode", "infer")), 0, said);
    expect(assay("estimate", folder, OPTIONS("--mode", "infer", "--strict")), 2, refused);
    expect(assay("estimate", folder, OPTIONS(NULL)), 0, said);
    expect(assay("fit", folder, OPTIONS("--mode", "infer", "--memory", "1GiB")), 0, said);
    expect(assay("fit", folder, OPTIONS("--mode", "infer", "--memory", "1GiB", "--strict")), 2, refused);
    expect(assay("weights", folder, OPTIONS(NULL)), 0, said);
    expect(assay("weights", folder, OPTIONS("--strict")), 2, refused);
    expect(assay("estimate", folder, OPTIONS("--mode", "infer", "--seq", "8", "--head", "bare", "--strict")), 0, NULL);
    class_make_bare(folder);
    expect(assay("estimate", folder, OPTIONS("--mode", "infer", "--seq", "8", "--strict")), 0, NULL);
    model_folder_remove(folder);
    model_folder_make(folder, "tiny-llama", HEAD_LM, NULL, 0);
    expect(assay("estimate", folder, OPTIONS("--mode", "infer", "--seq", "8", "--strict")), 0, NULL);
    model_folder_remove(folder);
    model_folder_make(folder, "tiny-gpt2", HEAD_BARE, NULL, 0); /* its head is the embedding */
    expect(assay("estimate", folder, OPTIONS("--mode", "infer", "--seq", "8", "--strict")), 0, NULL);
    model_folder_remove(folder);
}

/* The file becomes the first of two shards, and there is no index. */
static void shards_make(const char *folder)
{
    static const char *const shards[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    char path[128], shard[128];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(shard, sizeof shard, "%s/%s", folder, shards[i]);
        assert_int_equal(link(path, shard), 0);
    }
    assert_int_equal(unlink(path), 0);
}

/* They are not read, and that is said. */
static void shards_without_an_index_are_told(void **state)
{
    char folder[64], path[128], said[256];
    (void)state;
    model_folder_make(folder, "tiny-llama", HEAD_LM, NULL, 0);
    shards_make(folder);
    snprintf(
        said, sizeof said,
        "2 files of %s look like shards; their index, model.safetensors.index.json, is missing, so that they are not "
        "read",
        folder);
    expect(assay("estimate", folder, OPTIONS("--mode", "load")), 0, said);
    expect(assay("weights", folder, OPTIONS(NULL)), 2, said);
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(unlink(path), 0);
    expect(assay("weights", folder, OPTIONS(NULL)), 2, said);
    expect(assay("estimate", folder, OPTIONS(NULL)), 2, "2 files look like shards; their index, ");
    model_folder_remove(folder);
}

/* A configuration of GPTQ, whatever its file is called. */
static void packed_weights_are_weighed_as_the_configuration_says(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 128, \"intermediate_size\": 256, \"num_hidden_layers\": 2, "
        "\"num_attention_heads\": 4, \"vocab_size\": 320, \"torch_dtype\": \"float16\", \"quantization_config\": "
        "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 64, \"desc_act\": true}}";
    static const char said[] =
        "are published packed (quantization_config: gptq, int4, groups of 64, act_order); that is "
        "--precision int4 --quantize gptq";
    char path[] = "/tmp/assay-packed-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, config, sizeof config - 1), (ssize_t)(sizeof config - 1));
    close(file);
    struct command_result result = assay("estimate", path, OPTIONS("--mode", "load"));
    assert_non_null(strstr(text_string(&result.output), "/load/int4/quantize-gptq/group64/act-order"));
    expect(result, 0, said);
    result = assay("estimate", path, OPTIONS("--mode", "load", "--precision", "float16"));
    assert_non_null(strstr(text_string(&result.output), "/load/float16,"));
    expect(result, 0, said);
    expect(assay("estimate", path, OPTIONS("--mode", "train", "--lora-rank", "8")), 2,
           "quantize gptq: training beside packed weights is not modelled");
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_that_is_not_stored_is_told),
        cmocka_unit_test(shards_without_an_index_are_told),
        cmocka_unit_test(packed_weights_are_weighed_as_the_configuration_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
