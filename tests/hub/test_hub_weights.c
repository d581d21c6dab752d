/* A model of 138 GB on a hub: Llama-2-70b in 15 shards, whose headers are made from its skeleton and whose tensors are
 * zeros that nobody asks for. What it costs is counted in bytes, and what is said of it is what is said of the
 * catalogue's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"
#include "models/find/catalogue.h"
#include "models/find/config_file.h"
#include "models/skeleton/skeleton.h"
#include "tests/hub/hub_scene.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

enum { SHARDS = 15, ROWS = SHARDS + 3 };

/* 68,976,648,192 parameters of two bytes. */
#define WEIGHTS_BYTES INT64_C(137953296384)

struct repository {
    struct arena arena;
    struct served rows[ROWS];
    int row_count;
    struct text index; /* its weight_map, while it grows */
};

static void row_add(struct repository *repository, const char *file, const char *head, size_t head_bytes, int64_t size)
{
    bool first = strcmp(file, "config.json") == 0;
    repository->rows[repository->row_count++] = (struct served){
        .path = arena_format(&repository->arena, "/acme/llama/resolve/%s/%s", first ? "main" : SCENE_COMMIT, file),
        .headers = SCENE_COMMIT_HEADER,
        .head = head,
        .head_bytes = head_bytes,
        .size_bytes = size};
}

/* Ends a shard: its length before its header, its size behind. */
static void shard_close(struct repository *repository, int shard, struct text *header, int64_t data_bytes)
{
    text_append(header, "}");
    char *head = arena_alloc(&repository->arena, 8 + header->length);
    assert_non_null(head);
    for (int i = 0; i < 8; i++) {
        head[i] = (char)(header->length >> (8 * i));
    }
    memcpy(head + 8, header->data, header->length);
    row_add(repository, arena_format(&repository->arena, "model-%05d-of-%05d.safetensors", shard + 1, SHARDS), head,
            8 + header->length, (int64_t)(8 + header->length) + data_bytes);
    text_release(header);
}

static void tensor_add(struct repository *repository, const struct skeleton_tensor *tensor, int shard,
                       struct text *header, int64_t *data_bytes)
{
    int64_t bytes = 2 * tensor->element_count;
    text_format(header, "%s\"%s\":{\"dtype\":\"F16\",\"shape\":[", header->length > 0 ? "," : "{", tensor->path);
    for (int i = 0; i < tensor->rank; i++) {
        text_format(header, "%s%" PRId64, i > 0 ? "," : "", tensor->size[i]);
    }
    text_format(header, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", *data_bytes, *data_bytes + bytes);
    text_format(&repository->index, "%s\"%s\":\"model-%05d-of-%05d.safetensors\"",
                repository->index.length > 0 ? "," : "", tensor->path, shard + 1, SHARDS);
    *data_bytes += bytes;
}

static void shards_make(struct repository *repository, const struct skeleton *skeleton)
{
    struct text header = {0};
    int64_t data_bytes = 0, before = 0;
    int shard = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        if (skeleton->tensors[i].is_buffer) {
            continue;
        }
        if (before + data_bytes > WEIGHTS_BYTES / SHARDS * (shard + 1)) {
            before += data_bytes;
            shard_close(repository, shard++, &header, data_bytes);
            data_bytes = 0;
        }
        tensor_add(repository, &skeleton->tensors[i], shard, &header, &data_bytes);
    }
    shard_close(repository, shard, &header, data_bytes);
    assert_int_equal(shard + 1, SHARDS);
    assert_int_equal(before + data_bytes, WEIGHTS_BYTES);
}

static void repository_make(struct repository *repository)
{
    struct config config;
    struct skeleton skeleton;
    static const char config_path[] = "models/catalogue/meta-llama/Llama-2-70b-hf/config.json";
    *repository = (struct repository){0};
    assert_int_equal(config_read(config_path, "llama", &config, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, NULL), STATUS_OK);
    char *file = whole_file_read(config_path);
    row_add(repository, "config.json", arena_copy(&repository->arena, file), strlen(file), (int64_t)strlen(file));
    free(file);
    repository->rows[repository->row_count++] =
        (struct served){.path = "/acme/llama/resolve/" SCENE_COMMIT "/model.safetensors",
                        .status = 404,
                        .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"};
    shards_make(repository, &skeleton);
    char *index = arena_format(&repository->arena, "{\"metadata\":{\"total_size\":%" PRId64 "},\"weight_map\":{%s}}",
                               WEIGHTS_BYTES, text_string(&repository->index));
    row_add(repository, "model.safetensors.index.json", index, strlen(index), (int64_t)strlen(index));
    text_release(&repository->index);
    skeleton_release(&skeleton);
}

/* The program with these words, before the server of the scene. */
static struct command_result command_of(const struct hub_scene *scene, const char *const *words, const char *offline)
{
    char endpoint[HUB_ENDPOINT_BYTES + 16], home[128], cache[128];
    snprintf(endpoint, sizeof endpoint, "HF_ENDPOINT=%s", scene->settings.endpoint);
    snprintf(home, sizeof home, "HF_HOME=%s/home", scene->folder);
    snprintf(cache, sizeof cache, "XDG_CACHE_HOME=%s/cache", scene->folder);
    const char *const settings[] = {endpoint, home, cache, offline, NULL};
    return command_run(words, settings);
}

static char *estimate(const struct hub_scene *scene, const char *model, const char *offline)
{
    const char *const words[] = {program_path(), "estimate", model,    "--mode", "load",
                                 "--precision",  "float16",  "--head", "lm",     NULL};
    struct command_result result = command_of(scene, words, offline);
    if (result.exit_code != 0) {
        fail_msg("%s", text_string(&result.error));
    }
    char *output = strdup(text_string(&result.output));
    command_result_release(&result);
    return output;
}

/* What follows the first lines, which name the case and the file: the estimates. */
static const char *estimates_of(const char *output)
{
    const char *blank = strstr(output, "\n\n");
    assert_non_null(blank);
    return blank;
}

static void model_of_138_gigabytes_costs_kilobytes(void **state)
{
    (void)state;
    struct repository repository;
    struct hub_scene scene;
    repository_make(&repository);
    hub_scene_begin(&scene, repository.rows, (size_t)repository.row_count);
    char *first = estimate(&scene, "acme/llama", "HF_HUB_OFFLINE=0");
    int asked_count = hub_server_asked_count(scene.server);
    int64_t sent_bytes = hub_server_sent_bytes(scene.server);
    print_message("%d requests, %" PRId64 " bytes\n", asked_count, sent_bytes);
    /* config.json, the one file that is not there, the index in a few pieces, and each shard once */
    assert_in_range(asked_count, SHARDS + 3, SHARDS + 6);
    assert_in_range(sent_bytes, SHARDS * HUB_FIRST_READ_BYTES, 400000);
    char *second = estimate(&scene, "acme/llama", "HF_HUB_OFFLINE=1");
    assert_string_equal(second, first);
    assert_int_equal(hub_server_asked_count(scene.server), asked_count);
    char *catalogue = estimate(&scene, "meta-llama/Llama-2-70b-hf", "HF_HUB_OFFLINE=1");
    const char *figures = estimates_of(first), *known = estimates_of(catalogue);
    assert_non_null(strstr(first, ", 137953296384 bytes of tensors\n"));
    /* all that is said of the catalogue's; what the headers store stands before the bounds */
    const char *bounds = strstr(known, "bounds of replay");
    assert_non_null(bounds);
    size_t same = (size_t)(bounds - known);
    assert_memory_equal(figures, known, same);
    assert_non_null(strstr(figures + same, "stored: "));
    assert_non_null(strstr(figures + same, " 137953296384 bytes"));
    assert_string_equal(strstr(figures, "bounds of replay"), bounds);
    /* and they hold what its configuration says */
    const char *const words[] = {program_path(), "weights", "acme/llama", NULL};
    struct command_result weights = command_of(&scene, words, "HF_HUB_OFFLINE=1");
    assert_int_equal(weights.exit_code, 0);
    command_result_release(&weights);
    free(first);
    free(second);
    free(catalogue);
    hub_scene_end(&scene);
    arena_release(&repository.arena);
}

/* What a server cut, and said to be whole, is not kept: when the server is well again, so is the model. */
static void cut_file_is_asked_again(void **state)
{
    (void)state;
    static const char config[] = "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_embd\": 8, \"n_head\": 2, "
                                 "\"vocab_size\": 10, \"n_positions\": 4}";
    static const char header[] =
        "\x88\0\0\0\0\0\0\0{\"wte.weight\":{\"dtype\":\"F32\",\"shape\":[10,8],\"data_offsets\":"
        "[0,320]},\"wpe.weight\":{\"dtype\":\"F32\",\"shape\":[4,8],\"data_offsets\":[320,448]}}";
    struct served rows[] = {
        SERVED_TEXT("/acme/cut/resolve/main/config.json", config),
        SERVED_TEXT("/acme/cut/resolve/" SCENE_COMMIT "/config.json", config),
        SERVED_TEXT("/acme/cut/resolve/" SCENE_COMMIT "/model.safetensors", header),
    };
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 3);
    const char *const words[] = {program_path(), "estimate", "acme/cut", NULL};
    static const char *const says[] = {"acme/cut/config.json:1:", "acme/cut/model.safetensors: ", NULL};
    rows[2].size_bytes += 448;
    for (int broken = 0; broken < 3; broken++) {
        for (int i = 0; i < 3; i++) {
            rows[i].fault = (broken == 0 && i < 2) || (broken == 1 && i == 2) ? SERVED_SHORT : SERVED_WELL;
        }
        struct command_result result = command_of(&scene, words, "HF_HUB_OFFLINE=0");
        assert_int_equal(result.exit_code, broken < 2 ? 2 : 0);
        if (broken < 2 && strstr(text_string(&result.error), says[broken]) == NULL) {
            fail_msg("%s", text_string(&result.error));
        }
        command_result_release(&result);
    }
    hub_scene_end(&scene);
}

enum { GGUF_BYTES = 7520 };

/* A file that is named says by itself what the model is; its repository has no config.json. */
static void gguf_is_read_by_name(void **state)
{
    (void)state;
    static const char path[] = "tests/checkpoint/vectors/tiny-llama.gguf";
    static char bytes[GGUF_BYTES];
    static const struct served rows[] = {
        {.path = "/acme/quantised/resolve/main/small/tiny-llama.gguf",
         .headers = SCENE_COMMIT_HEADER,
         .head = bytes,
         .head_bytes = GGUF_BYTES,
         .size_bytes = GGUF_BYTES},
        {.path = "/acme/quantised/resolve/" SCENE_COMMIT "/config.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/quantised/resolve/" SCENE_COMMIT "/model.safetensors",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/quantised/resolve/" SCENE_COMMIT "/model.safetensors.index.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/quantised/resolve/" SCENE_COMMIT "/adapter_config.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/quantised/resolve/" SCENE_COMMIT "/model_index.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/quantised/resolve/" SCENE_COMMIT "/modules.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
    };
    struct hub_scene scene;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, GGUF_BYTES, file), GGUF_BYTES);
    fclose(file);
    hub_scene_begin(&scene, rows, sizeof rows / sizeof rows[0]);
    char *here = estimate(&scene, path, "HF_HUB_OFFLINE=1");
    char *there = estimate(&scene, "acme/quantised/small/tiny-llama.gguf", "HF_HUB_OFFLINE=0");
    assert_string_equal(estimates_of(there), estimates_of(here));
    free(here);
    free(there);
    const char *const words[] = {program_path(), "estimate", "acme/quantised", NULL};
    struct command_result result = command_of(&scene, words, "HF_HUB_OFFLINE=0");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "acme/quantised has no config.json"));
    assert_non_null(strstr(text_string(&result.error), "OWNER/NAME/FILE.gguf"));
    command_result_release(&result);
    hub_scene_end(&scene);
}

/* What is wrong with a header is said of the file, and is no matter of the hub. */
static void broken_header_is_told_from_a_missing_file(void **state)
{
    (void)state;
    static const struct served rows[] = {
        SERVED_TEXT("/acme/broken/resolve/main/config.json",
                    "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_embd\": 8, \"n_head\": 2, \"vocab_size\": 10}"),
        SERVED_TEXT("/acme/broken/resolve/" SCENE_COMMIT "/model.safetensors", "this is no header of tensors"),
        SERVED_TEXT("/acme/torn/resolve/main/config.json", "{\"model_type\": \"gpt2\"}"),
        {.path = "/acme/torn/resolve/" SCENE_COMMIT "/model.safetensors",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        SERVED_TEXT("/acme/torn/resolve/" SCENE_COMMIT "/model.safetensors.index.json",
                    "{\"metadata\": {}, \"weight_map\": {\"wte.weight\": \"model-00001-of-00001.safetensors\"}}"),
        {.path = "/acme/torn/resolve/" SCENE_COMMIT "/model-00001-of-00001.safetensors",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
    };
    static const char *const says[][2] = {{"acme/broken", "acme/broken/model.safetensors: "},
                                          {"acme/torn", "acme/torn has no file model-00001-of-00001.safetensors"}};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        const char *const words[] = {program_path(), "estimate", says[i][0], NULL};
        struct command_result result = command_of(&scene, words, "HF_HUB_OFFLINE=0");
        assert_int_equal(result.exit_code, 2);
        if (strstr(text_string(&result.error), says[i][1]) == NULL) {
            fail_msg("%s", text_string(&result.error));
        }
        command_result_release(&result);
    }
    hub_scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_of_138_gigabytes_costs_kilobytes),
        cmocka_unit_test(cut_file_is_asked_again),
        cmocka_unit_test(gguf_is_read_by_name),
        cmocka_unit_test(broken_header_is_told_from_a_missing_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
