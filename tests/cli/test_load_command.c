/* assay load: what people and scripts see of it, what is refused, and what a load that fails leaves behind: nothing. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "models/find/config_file.h"
#include "tests/load/checkpoint_files.h"
#include "tests/models/model_folder.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

enum { WORDS_MAXIMUM = 20 };

static const char *const whole[] = {"model.safetensors", NULL};

/* A checkpoint of tiny-llama with a config.json, and a device map beside it. */
struct folder {
    char path[64], map[96], offload[96];
    struct config config;
    struct skeleton skeleton;
};

static void text_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void folder_make(struct folder *folder, const char *map, const struct edit *edits, int edit_count)
{
    char path[128];
    assert_int_equal(config_read("models/catalogue/tiny-llama/config.json", "tiny-llama", &folder->config, NULL),
                     STATUS_OK);
    assert_int_equal(skeleton_build(&folder->config, HEAD_LM, &folder->skeleton, NULL), STATUS_OK);
    model_folder_write(folder->path, "tiny-llama", "{}", 0); /* for its config.json */
    snprintf(path, sizeof path, "%s/model.safetensors", folder->path);
    assert_int_equal(unlink(path), 0);
    const struct files_request request = {.skeleton = &folder->skeleton,
                                          .stored = "F32",
                                          .names = whole,
                                          .shard_count = 1,
                                          .edits = edits,
                                          .edit_count = edit_count,
                                          .format = "pt"};
    checkpoint_files_write(folder->path, &request);
    snprintf(folder->map, sizeof folder->map, "%s/map.json", folder->path);
    snprintf(folder->offload, sizeof folder->offload, "%s/offload", folder->path);
    text_write(folder->map, map);
}

static void folder_remove(struct folder *folder)
{
    skeleton_release(&folder->skeleton);
    model_folder_remove(folder->path);
}

static struct command_result load(const char *const *options)
{
    const char *words[WORDS_MAXIMUM] = {program_path(), "load"};
    for (int i = 0; options[i] != NULL; i++) {
        words[i + 2] = options[i];
    }
    return command_run(words, NULL);
}

#define LOAD(...) load((const char *const[]){__VA_ARGS__, NULL})

static void contains(const struct text *text, const char *words)
{
    if (strstr(text_string(text), words) == NULL) {
        fail_msg("'%s' is not in: %s", words, text_string(text));
    }
}

static const struct json *member(const struct json *document, const char *path, const char *key)
{
    return json_get(json_get(document, path), key);
}

static bool is_there(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0;
}

static const char everywhere[] = "{\"\": \"cpu\", \"model.layers.0\": 0, \"model.layers.1\": \"disk\"}";

/* In bfloat16 two bytes a number; the disk keeps what is stored, four. */
static void a_model_is_loaded_on_three_devices(void **state)
{
    struct folder folder;
    struct json *document = NULL;
    char path[256];
    struct stat facts;
    (void)state;
    folder_make(&folder, everywhere, NULL, 0);
    struct command_result result = LOAD(folder.path, "--map", folder.map, "--device", "host", "--offload-folder",
                                        folder.offload, "--precision", "bf16", "--json");
    if (result.exit_code != 0) {
        fail_msg("%s", text_string(&result.error));
    }
    assert_int_equal(json_parse_text("stdout", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    int64_t layer = 0, all = 0;
    for (int i = 0; i < folder.skeleton.tensor_count; i++) {
        const struct skeleton_tensor *row = &folder.skeleton.tensors[i];
        layer += strncmp(row->path, "model.layers.0.", 15) == 0 ? row->element_count : 0;
        all += row->persistent ? row->element_count : 0;
    }
    const struct json *devices = json_get(document, "devices");
    const int64_t placed[] = {2 * layer, 2 * (all - 2 * layer), 4 * layer};
    static const char *const keys[] = {"requested_bytes_peak", "requested_bytes_peak", "stored_bytes"};
    assert_int_equal(json_count(devices), 3);
    for (int i = 0; i < 3; i++) {
        const struct json *row = json_at(devices, (size_t)i);
        assert_int_equal(json_integer_or(json_get(row, "placed_bytes"), -1), placed[i]);
        assert_int_equal(json_integer_or(member(row, "predicted", keys[i]), -1), placed[i]);
        assert_int_equal(json_integer_or(member(row, "measured", keys[i]), -1), placed[i]);
    }
    assert_int_equal(json_integer_or(member(document, "read", "bytes"), -1), 4 * all);
    assert_true(json_real_or(member(document, "plain_read", "bytes_per_second"), 0.0) > 0.0);
    assert_true(json_boolean_or(json_get(document, "pass"), false));
    assert_int_equal(json_count(json_get(document, "missing")), 0);
    snprintf(path, sizeof path, "%s/model.layers.1.mlp.up_proj.weight.dat", folder.offload);
    assert_int_equal(stat(path, &facts), 0);
    const struct skeleton_tensor *up =
        &folder.skeleton.tensors[skeleton_find(&folder.skeleton, "model.layers.1.mlp.up_proj.weight")];
    assert_int_equal(facts.st_size, 4 * up->element_count);
    snprintf(path, sizeof path, "%s/index.json", folder.offload);
    assert_true(is_there(path));
    json_release(document);
    command_result_release(&result);
    folder_remove(&folder);
}

static void missing_keys_are_told_and_fail(void **state)
{
    static const struct edit edits[] = {{EDIT_DROP, "model.norm.weight", NULL}, {EDIT_ADD, "other.weight", NULL}};
    struct folder folder;
    (void)state;
    folder_make(&folder, "{\"\": 0}", edits, 2);
    struct command_result result = LOAD(folder.path, "--map", folder.map, "--device", "host");
    assert_int_equal(result.exit_code, 1);
    contains(&result.output, "missing: the model has them, the checkpoint has not\n  model.norm.weight\n");
    contains(&result.output, "unexpected: the checkpoint has them, the model has not\n  other.weight\n");
    contains(&result.error, "the checkpoint does not have all that the model has");
    command_result_release(&result);
    result = LOAD(folder.path, "--map", folder.map, "--device", "host", "--strict", "--offload-folder", folder.offload);
    assert_int_equal(result.exit_code, 2);
    assert_int_equal(result.output.length, 0);
    contains(&result.error, "tensor 'other.weight': the model has no such key");
    assert_false(is_there(folder.offload));
    command_result_release(&result);
    folder_remove(&folder);
}

static void what_is_refused_is_told(void **state)
{
    struct folder folder;
    (void)state;
    folder_make(&folder, everywhere, NULL, 0);
    const struct {
        const char *options[6], *words;
    } rows[] = {
        {{folder.path, "--map", folder.map}, "add --offload-folder DIR"},
        {{folder.path, "--map", folder.map, "--offload-folder", folder.path}, "is the folder of the checkpoint itself"},
        {{folder.path, "--precision", "int8"}, "write float32, float16 or bfloat16"},
        {{folder.path, "--device", "tpu"}, "--device tpu is not known"},
        {{folder.path, "--head", "all"}, "write one of: bare, lm, "},
        {{folder.path, "--max-memory", "0=1XB"}, "load: --max-memory 0"},
        {{folder.offload}, "there is no such file or folder"},
        {{folder.map}, "it has no weight_map"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = load(rows[i].options);
        assert_int_equal(result.exit_code, 2);
        assert_int_equal(result.output.length, 0);
        contains(&result.error, rows[i].words);
        command_result_release(&result);
    }
    text_write(folder.map, "{\"model\": 0}");
    struct command_result result = LOAD(folder.path, "--map", folder.map);
    assert_int_equal(result.exit_code, 2);
    contains(&result.error, "tensor 'lm_head.weight': no key of the device map covers it");
    command_result_release(&result);
    folder_remove(&folder);
}

/* gpt2 as a hole: 498 MB, of which nothing is read, because GPU 0 has 40 MiB. */
static void a_full_device_leaves_nothing(void **state)
{
    char folder[64], map[96], offload[96];
    (void)state;
    model_folder_make(folder, "gpt2", HEAD_LM, NULL, 0);
    snprintf(map, sizeof map, "%s/map.json", folder);
    snprintf(offload, sizeof offload, "%s/offload", folder);
    text_write(map, "{\"\": 0, \"transformer.h.0\": \"disk\"}");
    struct command_result result =
        LOAD(folder, "--map", map, "--device", "host", "--max-memory", "0=1MB", "--offload-folder", offload);
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(result.output.length, 0);
    contains(&result.error, "device 0 of the map, which holds ");
    contains(&result.error, "41943040 bytes (40.00 MiB) allowed by mem=");
    assert_false(is_there(offload));
    command_result_release(&result);
    model_folder_remove(folder);
}

/* The signal waits already when the program begins. */
static void an_interrupted_load_leaves_nothing(void **state)
{
    struct folder folder;
    char script[512];
    (void)state;
    command_needed("env");
    folder_make(&folder, "{\"\": \"disk\"}", NULL, 0);
    snprintf(script, sizeof script, "kill -INT $$; exec %s load %s --map %s --offload-folder %s", program_path(),
             folder.path, folder.map, folder.offload);
    struct command_result result =
        command_run((const char *const[]){"env", "--block-signal=INT", "sh", "-c", script, NULL}, NULL);
    if (strstr(text_string(&result.error), "unrecognized option") != NULL) {
        command_result_release(&result);
        folder_remove(&folder);
        skip();
    }
    assert_int_equal(result.exit_code, 7);
    assert_int_equal(result.output.length, 0);
    contains(&result.error, "the load was interrupted after 0 of ");
    assert_false(is_there(folder.offload));
    command_result_release(&result);
    folder_remove(&folder);
}

static void meta_reads_nothing(void **state)
{
    char folder[64];
    (void)state;
    model_folder_make(folder, "gpt2", HEAD_LM, NULL, 0);
    struct command_result result = LOAD(folder, "--device", "meta", "--precision", "float16", "--json");
    struct json *document = NULL;
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(json_parse_text("stdout", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    const struct json *row = json_at(json_get(document, "devices"), 0);
    assert_int_equal(json_integer_or(member(row, "measured", "requested_bytes_peak"), -1), 2 * INT64_C(124439808));
    assert_int_equal(json_kind(json_get(document, "read")), JSON_KIND_NULL);
    json_release(document);
    command_result_release(&result);
    model_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_loaded_on_three_devices),
        cmocka_unit_test(missing_keys_are_told_and_fail),
        cmocka_unit_test(what_is_refused_is_told),
        cmocka_unit_test(a_full_device_leaves_nothing),
        cmocka_unit_test(an_interrupted_load_leaves_nothing),
        cmocka_unit_test(meta_reads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
