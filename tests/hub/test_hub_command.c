/* assay with names of models on a hub: found by HTTP once, then without a network; and told what is wrong where they
 * are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hub/hub_scene.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

/* The environment of a command: the server of a scene, and caches below its folder. */
struct surroundings {
    char endpoint[HUB_ENDPOINT_BYTES + 16], home[128], cache[128];
    const char *settings[8];
};

static void surroundings_make(const struct hub_scene *scene, const char *offline, struct surroundings *made)
{
    snprintf(made->endpoint, sizeof made->endpoint, "HF_ENDPOINT=%s", scene->settings.endpoint);
    snprintf(made->home, sizeof made->home, "HF_HOME=%s/home", scene->folder);
    snprintf(made->cache, sizeof made->cache, "XDG_CACHE_HOME=%s/cache", scene->folder);
    const char *const settings[] = {made->endpoint,
                                    made->home,
                                    made->cache,
                                    "HF_TOKEN=hf_secret",
                                    "HF_HUB_CACHE=",
                                    offline != NULL ? offline : "HF_HUB_OFFLINE=0",
                                    NULL};
    memcpy(made->settings, settings, sizeof settings);
}

static struct command_result estimate(const struct hub_scene *scene, const char *model, const char *offline)
{
    struct surroundings made;
    surroundings_make(scene, offline, &made);
    const char *const words[] = {program_path(), "estimate", model, NULL};
    return command_run(words, made.settings);
}

static void assert_error(struct hub_scene *scene, const char *model, const char *offline, const char *part)
{
    struct command_result result = estimate(scene, model, offline);
    assert_int_equal(result.exit_code, 2);
    assert_string_equal(text_string(&result.output), "");
    if (strstr(text_string(&result.error), part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text_string(&result.error), part);
    }
    command_result_release(&result);
}

/* The same table as for the catalogue's copy of that config.json. */
static void model_is_found_once_by_network_and_then_without(void **state)
{
    (void)state;
    char *config = whole_file_read("models/catalogue/gpt2/config.json");
    const struct served rows[] = {
        {.path = "/acme/some-model/resolve/main/config.json",
         .headers = SCENE_COMMIT_HEADER,
         .head = config,
         .head_bytes = strlen(config),
         .size_bytes = (int64_t)strlen(config)},
        {.path = "/acme/some-model/resolve/" SCENE_COMMIT "/model.safetensors",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/some-model/resolve/" SCENE_COMMIT "/model.safetensors.index.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
    };
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, sizeof rows / sizeof rows[0]);
    struct command_result first = estimate(&scene, "acme/some-model", "HF_HUB_OFFLINE=0");
    assert_string_equal(text_string(&first.error), "");
    assert_int_equal(first.exit_code, 0);
    assert_non_null(strstr(text_string(&first.output), "474.7"));
    int asked_count = hub_server_asked_count(scene.server);
    assert_in_range(asked_count, 1, 3);
    assert_in_range(hub_server_sent_bytes(scene.server), 100, 4096);
    struct command_result second = estimate(&scene, "acme/some-model", "HF_HUB_OFFLINE=1");
    assert_int_equal(second.exit_code, 0);
    assert_string_equal(text_string(&second.output), text_string(&first.output));
    struct command_result third = estimate(&scene, "hf://acme/some-model@main", "HF_HUB_OFFLINE=0");
    assert_int_equal(third.exit_code, 0);
    assert_int_equal(hub_server_asked_count(scene.server), asked_count);
    command_result_release(&first);
    command_result_release(&second);
    command_result_release(&third);
    hub_scene_end(&scene);
    free(config);
}

#define ABSENT(file)                                                                                                   \
    {                                                                                                                  \
        .path = file, .status = 404, .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"                  \
    }
/* A repository that has none of the files that say what a model is. */
#define ABSENT_MODEL(name)                                                                                             \
    ABSENT("/" name "/resolve/main/config.json"), ABSENT("/" name "/resolve/" SCENE_COMMIT "/model.safetensors"),      \
        ABSENT("/" name "/resolve/" SCENE_COMMIT "/model.safetensors.index.json")

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = "/acme/gated/resolve/main/config.json", .status = 401, .headers = "X-Error-Code: GatedRepo\r\n"},
        ABSENT_MODEL("acme/empty"),
        ABSENT("/acme/empty/resolve/" SCENE_COMMIT "/adapter_config.json"),
        ABSENT("/acme/empty/resolve/" SCENE_COMMIT "/model_index.json"),
        ABSENT("/acme/empty/resolve/" SCENE_COMMIT "/modules.json"),
        ABSENT_MODEL("acme/adapter"),
        SERVED_TEXT("/acme/adapter/resolve/" SCENE_COMMIT "/adapter_config.json",
                    "{\"peft_type\": \"LORA\", \"r\": 8, \"base_model_name_or_path\": \"acme/base\"}"),
        SERVED_TEXT("/acme/broken/resolve/main/config.json", "{\"model_type\": "),
        SERVED_TEXT("/acme/odd/resolve/main/config.json", "{\"model_type\": \"perceptron\"}"),
        ABSENT("/acme/odd/resolve/" SCENE_COMMIT "/model.safetensors"),
        ABSENT("/acme/odd/resolve/" SCENE_COMMIT "/model.safetensors.index.json"),
    };
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, sizeof rows / sizeof rows[0]);
    assert_error(&scene, "acme/gated", NULL, "assay: acme/gated is gated at http://127.0.0.1:");
    assert_error(&scene, "acme/nothing", NULL,
                 "assay: model 'acme/nothing' is neither in the catalogue nor the path of a config.json, a model file "
                 "or a folder "
                 "that holds one; "
                 "assay models lists the catalogue; ");
    assert_error(&scene, "acme/nothing", NULL, " has no repository acme/nothing, or it is private");
    assert_error(&scene, "acme/empty", NULL, "acme/empty has no config.json");
    assert_error(&scene, "acme/adapter", NULL,
                 "acme/adapter is an adapter of PEFT (LORA of rank 8), and no model; "
                 "name its base model, acme/base");
    assert_error(&scene, "acme/broken", NULL, "config.json:1:");
    assert_error(&scene, "acme/odd", NULL, "perceptron");
    assert_error(&scene, "acme/later", "HF_HUB_OFFLINE=yes", "HF_HUB_OFFLINE forbids to ask http://127.0.0.1:");
    int asked_count = hub_server_asked_count(scene.server);
    /* a slip of the keyboard, and a path, ask nobody */
    assert_error(&scene, "gtp2", NULL, "nearest names: 'gpt2'");
    assert_error(&scene, "./acme/nothing", NULL, "'./acme/nothing': No such file or directory; ");
    assert_error(&scene, "acme/nothing/config.json", NULL, "'acme/nothing/config.json': No such file");
    assert_error(&scene, "tests/hub", NULL, "'tests/hub' is a folder without a config.json");
    assert_int_equal(hub_server_asked_count(scene.server), asked_count);
    hub_scene_end(&scene);
}

/* Several at once: each has the whole file, and so has the cache. Whoever comes when the commit is written down and the
 * file is not yet asks for the file of that commit. */
static void processes_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    char *config = whole_file_read("models/catalogue/gpt2/config.json");
    struct served rows[] = {
        {.path = "/acme/some-model/resolve/main/config.json", .headers = SCENE_COMMIT_HEADER, .head = config},
        {.path = "/acme/some-model/resolve/" SCENE_COMMIT "/config.json",
         .headers = SCENE_COMMIT_HEADER,
         .head = config},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (int i = 0; i < ROWS; i++) {
        rows[i].head_bytes = strlen(config);
        rows[i].size_bytes = (int64_t)strlen(config);
    }
    struct hub_scene scene;
    pid_t children[PROCESSES];
    hub_scene_begin(&scene, rows, ROWS);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct hub_repository *repository = hub_scene_open(&scene, "acme/some-model");
            const char *path = NULL;
            bool found = hub_repository_path(repository, "config.json", 4096, &path, NULL) == STATUS_OK;
            char *content = found ? whole_file_read(path) : NULL;
            bool is_whole = content != NULL && strcmp(content, config) == 0;
            free(content);
            hub_repository_close(repository);
            _exit(is_whole ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    const char *const words[] = {"find", scene.folder, "-name", "*.part-*", NULL};
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.output), "");
    command_result_release(&result);
    hub_scene_end(&scene);
    free(config);
}

/* A repository that has tensors and no configuration is weighed as a file of this machine is. */
static void tensors_alone_are_weighed(void **state)
{
    (void)state;
    static const char header[] = "{\"x.0.a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]},"
                                 "\"x.1.a\":{\"dtype\":\"BF16\",\"shape\":[8],\"data_offsets\":[8,24]}}";
    char file[8 + sizeof header - 1 + 24] = {0};
    file[0] = (char)(unsigned char)(sizeof header - 1);
    memcpy(file + 8, header, sizeof header - 1);
    const struct served rows[] = {
        {.path = "/acme/bare/resolve/main/config.json",
         .status = 404,
         .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"},
        {.path = "/acme/bare/resolve/" SCENE_COMMIT "/model.safetensors",
         .headers = SCENE_COMMIT_HEADER,
         .head = file,
         .head_bytes = sizeof file,
         .size_bytes = sizeof file},
    };
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, sizeof rows / sizeof rows[0]);
    struct command_result result = estimate(&scene, "acme/bare", NULL);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), ": 24 B, 24 bytes in 2 tensors\n"));
    assert_non_null(strstr(text_string(&result.output), "│float32│   32 bytes  │ 48 bytes │"));
    assert_non_null(strstr(text_string(&result.error), "its tensors do not tell what the model is; "));
    command_result_release(&result);
    hub_scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_is_found_once_by_network_and_then_without),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(tensors_alone_are_weighed),
        cmocka_unit_test(processes_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
