/* Folders that people take for models: the program says what they are, and what can be asked for instead. And a
 * configuration of an unknown type beside tensors that are those of a family. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static char folder[40];

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-kinds-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* A folder of one file; its path. */
static const char *kind_make(const char *name, const char *file, const char *text)
{
    static char path[128];
    char whole[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(path, 0777);
    snprintf(whole, sizeof whole, "%s/%s", path, file);
    FILE *stream = fopen(whole, "w");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
    return path;
}

static void refusal_check(const char *path, const char *message)
{
    char line[1024];
    static const char *const options[][3] = {{"estimate", NULL}, {"explain", "--mode", "load"}};
    snprintf(line, sizeof line, "%s\n", message);
    for (size_t i = 0; i < 2; i++) {
        const char *const words[] = {program_path(), options[i][0], path, options[i][1], options[i][2], NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 2);
        assert_string_equal(text_string(&result.output), "");
        if (strstr(text_string(&result.error), line) == NULL) {
            fail_msg("%s", text_string(&result.error));
        }
        command_result_release(&result);
    }
}

static void kinds_are_named(void **state)
{
    char message[512], file[192];
    (void)state;
    const char *path = kind_make("adapter", "adapter_config.json",
                                 "{\"peft_type\": \"LORA\", \"r\": 16, \"lora_alpha\": Infinity,\n"
                                 " \"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\"}");
    snprintf(message, sizeof message,
             "%s is an adapter of PEFT (LORA of rank 16), and no model; name its base model, meta-llama/Llama-2-7b-hf, "
             "with --lora-rank 16 to train such an adapter",
             path);
    refusal_check(path, message);
    snprintf(file, sizeof file, "%s/adapter_config.json", path);
    refusal_check(file, message);
    path = kind_make("pipeline", "model_index.json",
                     "{\"_class_name\": \"StableDiffusionPipeline\", \"_diffusers_version\": \"0.6\", \"scale\": 1,\n"
                     " \"text_encoder\": [\"transformers\", \"CLIPTextModel\"], \"safety_checker\": [null, null],\n"
                     " \"unet\": [\"diffusers\", \"UNet2DConditionModel\"]}");
    snprintf(message, sizeof message,
             "%s is a pipeline of diffusers (StableDiffusionPipeline), and not one model; name one of its parts: "
             "%s/text_encoder, %s/unet",
             path, path, path);
    refusal_check(path, message);
    path =
        kind_make("sentences", "modules.json",
                  "[{\"idx\": 0, \"path\": \"0_Transformer\", \"type\": \"sentence_transformers.models.Transformer\"},"
                  " {\"idx\": 1, \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}]");
    snprintf(message, sizeof message,
             "%s is a list of modules of sentence-transformers (modules.json), and its model lies deeper; name "
             "%s/0_Transformer",
             path, path);
    refusal_check(path, message);
    path = kind_make("broken", "adapter_config.json", "{\"r\": }");
    snprintf(message, sizeof message, "%s/adapter_config.json:1:7: unexpected token near '}'; correct the JSON there",
             path);
    refusal_check(path, message);
}

/* Most repositories of sentence encoders have the model beside modules.json. */
static void a_model_beside_modules_is_one(void **state)
{
    (void)state;
    kind_make("encoder", "modules.json", "[]");
    const char *path = kind_make("encoder", "config.json",
                                 "{\"model_type\": \"bert\", \"hidden_size\": 64, \"num_attention_heads\": 2}");
    const char *const words[] = {program_path(), "estimate", path, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* tests/models/saved/falcon-40b has tensors of Falcon, here beside a configuration of another type. */
static void a_family_is_proposed_where_the_tensors_are_its(void **state)
{
    char path[128], tensors[192], bytes[4096];
    (void)state;
    snprintf(path, sizeof path, "%s", kind_make("unknown", "config.json", "{\"model_type\": \"hawk\"}"));
    snprintf(tensors, sizeof tensors, "%s/model.safetensors", path);
    FILE *from = fopen("tests/models/saved/falcon-40b/model.safetensors", "rb"), *to = fopen(tensors, "wb");
    assert_true(from != NULL && to != NULL);
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, from)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, count, to), count);
    }
    fclose(from);
    assert_int_equal(fclose(to), 0);
    const char *const words[] = {program_path(), "estimate", path, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    char message[256];
    snprintf(message, sizeof message, "; its tensors are those of falcon: write %s#falcon to read it so; ", path);
    if (strstr(text_string(&result.error), message) == NULL ||
        strstr(text_string(&result.error), "model_type: 'hawk' is not known; known are ") == NULL) {
        fail_msg("%s", text_string(&result.error));
    }
    assert_non_null(strstr(text_string(&result.output), " tensors\n"));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_named),
        cmocka_unit_test(a_model_beside_modules_is_one),
        cmocka_unit_test(a_family_is_proposed_where_the_tensors_are_its),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
