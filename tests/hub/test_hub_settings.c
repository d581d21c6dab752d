/* Settings of the environment and names of repositories. What is expected was printed by huggingface_hub 2.4.0: its
 * constants (HF_HUB_CACHE, HF_HUB_OFFLINE, ENDPOINT) under each environment with HOME=/home/u, and its
 * validate_repo_id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/hub/hub_name.h"
#include "harness/hub/hub_settings.h"
#include "tests/support/scratch_file.h"

static const char *const variables[] = {"XDG_CACHE_HOME",
                                        "HF_HOME",
                                        "HF_HUB_CACHE",
                                        "HUGGINGFACE_HUB_CACHE",
                                        "HF_ENDPOINT",
                                        "HF_TOKEN",
                                        "HF_TOKEN_PATH",
                                        "HUGGING_FACE_HUB_TOKEN",
                                        "HF_HUB_OFFLINE",
                                        "TRANSFORMERS_OFFLINE",
                                        "HF_HUB_ETAG_TIMEOUT",
                                        "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                                        "HF_HUB_DOWNLOAD_TIMEOUT"};

/* Only HOME and these settings ("NAME=value", at most three). */
static void environment_set(const char *const *settings)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        unsetenv(variables[i]);
    }
    setenv("HOME", "/home/u", 1);
    for (int i = 0; i < 3 && settings[i] != NULL; i++) {
        char name[64];
        size_t length = strcspn(settings[i], "=");
        snprintf(name, sizeof name, "%.*s", (int)length, settings[i]);
        setenv(name, settings[i] + length + 1, 1);
    }
}

static struct hub_settings settings_of(const char *const *environment)
{
    struct hub_settings settings;
    struct status error;
    environment_set(environment);
    if (hub_settings_read(&settings, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return settings;
}

#define HUB "https://huggingface.co"

static void folders_and_addresses_are_those_of_huggingface_hub(void **state)
{
    (void)state;
    static const struct {
        const char *environment[4], *cache, *endpoint;
        bool offline;
    } rows[] = {
        {{NULL}, "/home/u/.cache/huggingface/hub", HUB, false},
        {{"XDG_CACHE_HOME=/x"}, "/x/huggingface/hub", HUB, false},
        {{"HF_HOME=/h"}, "/h/hub", HUB, false},
        {{"HF_HOME=~/h"}, "/home/u/h/hub", HUB, false},
        {{"HF_HOME=$XDG_CACHE_HOME/h", "XDG_CACHE_HOME=/x"}, "/x/h/hub", HUB, false},
        {{"HF_HOME=$XDG_CACHE_HOME$X", "XDG_CACHE_HOME=/x"}, "/x$X/hub", HUB, false},
        {{"HF_HOME=/h", "HUGGINGFACE_HUB_CACHE=/legacy"}, "/legacy", HUB, false},
        {{"HF_HUB_CACHE=${HOME}/c", "HUGGINGFACE_HUB_CACHE=/legacy"}, "/home/u/c", HUB, false},
        {{"HF_HUB_CACHE=/a$NOSUCH/b"}, "/a$NOSUCH/b", HUB, false},
        {{"HF_HUB_CACHE=/a${NOSUCH/b$"}, "/a${NOSUCH/b$", HUB, false},
        {{"HF_HUB_OFFLINE=true"}, "/home/u/.cache/huggingface/hub", HUB, true},
        {{"HF_HUB_OFFLINE=0", "TRANSFORMERS_OFFLINE=1"}, "/home/u/.cache/huggingface/hub", HUB, false},
        {{"HF_HUB_OFFLINE=", "TRANSFORMERS_OFFLINE=YES"}, "/home/u/.cache/huggingface/hub", HUB, true},
        {{"HF_HUB_OFFLINE=2"}, "/home/u/.cache/huggingface/hub", HUB, false},
        {{"HF_HUB_OFFLINE=on"}, "/home/u/.cache/huggingface/hub", HUB, true},
        {{"TRANSFORMERS_OFFLINE=False"}, "/home/u/.cache/huggingface/hub", HUB, false},
        {{"HF_ENDPOINT=https://mirror.example//"}, "/home/u/.cache/huggingface/hub", "https://mirror.example", false},
        {{"HF_ENDPOINT=http://127.0.0.1:8080/hub/"},
         "/home/u/.cache/huggingface/hub",
         "http://127.0.0.1:8080/hub",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hub_settings settings = settings_of(rows[i].environment);
        assert_string_equal(settings.cache_folder, rows[i].cache);
        assert_string_equal(settings.endpoint, rows[i].endpoint);
        assert_int_equal(settings.offline != NULL, rows[i].offline);
    }
}

static void own_folder_is_where_caches_are(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    const char *const chosen[] = {"XDG_CACHE_HOME=/x", "HF_HOME=/h", NULL};
    struct hub_settings settings = settings_of(none);
    assert_string_equal(settings.own_folder, "/home/u/.cache/assay/hub");
    assert_int_equal(settings.connect_seconds, 10);
    assert_int_equal(settings.stall_seconds, 10);
    settings = settings_of(chosen);
    assert_string_equal(settings.own_folder, "/x/assay/hub");
    environment_set(none);
    unsetenv("HOME");
    assert_int_equal(hub_settings_read(&settings, NULL), STATUS_OK);
    assert_string_equal(settings.own_folder, "");
    assert_string_equal(settings.cache_folder, "");
}

static void token_comes_from_variable_or_file(void **state)
{
    (void)state;
    char path[64];
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    fputs("  hf_of\nfile\r\n", file);
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, "HF_TOKEN_PATH=%s", scratch_file_path);
    const struct {
        const char *environment[4], *token;
    } rows[] = {
        {{"HF_TOKEN= hf_a\n", path}, "hf_a"},
        {{"HF_TOKEN=", "HUGGING_FACE_HUB_TOKEN=hf_old"}, "hf_old"},
        {{path}, "hf_offile"}, /* line breaks are left out, as by huggingface_hub */
        {{path, "HF_HUB_DISABLE_IMPLICIT_TOKEN=1"}, ""},
        {{"HF_TOKEN=hf_a", "HF_HUB_DISABLE_IMPLICIT_TOKEN=1"}, ""},
        {{"HF_TOKEN_PATH=/nowhere/token"}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hub_settings settings = settings_of(rows[i].environment);
        assert_string_equal(settings.token, rows[i].token);
    }
}

static void wrong_variables_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *environment[4], *says;
    } rows[] = {
        {{"HF_ENDPOINT=huggingface.co"},
         "HF_ENDPOINT: 'huggingface.co' is not the address of a hub; write https://HOST"},
        {{"HF_ENDPOINT=ftp://huggingface.co"}, "HF_ENDPOINT: "},
        {{"HF_ENDPOINT=https://user@huggingface.co"}, "HF_ENDPOINT: "},
        {{"HF_TOKEN=hf_\x01"}, "HF_TOKEN: that is no token"},
        {{"HF_HUB_DOWNLOAD_TIMEOUT=10s"},
         "HF_HUB_DOWNLOAD_TIMEOUT: '10s' is not an integer; write digits alone, without 's'"},
        {{"HF_HUB_ETAG_TIMEOUT=0"}, "HF_HUB_ETAG_TIMEOUT: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hub_settings settings;
        struct status error;
        environment_set(rows[i].environment);
        assert_int_equal(hub_settings_read(&settings, &error), STATUS_INVALID);
        assert_memory_equal(error.text, rows[i].says, strlen(rows[i].says));
    }
}

#define M32 "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"

static void repository_names_are_those_of_huggingface_hub(void **state)
{
    (void)state;
    static const char *const right[] = {
        "gpt2",   "owner/model", "Foo-BAR_foo.bar123", "_x/_y_", "1/2", "o/" M32 M32 M32, M32 M32 M32,
        "a-.b/c", "a.-b",        "owner/x.gitt",       "x_/y"};
    static const char *const wrong[] = {"a/b/c",
                                        "foo--bar",
                                        "owner/foo--bar",
                                        "a..b/c",
                                        "foo.git",
                                        "owner/foo.git",
                                        ".foo",
                                        "foo.",
                                        "-foo",
                                        "foo-",
                                        "owner/.x",
                                        "ow ner/x",
                                        "owner/",
                                        "/x",
                                        "",
                                        "owner//x",
                                        "owner/mo\xc3\xa9",
                                        "o/" M32 M32 M32 "m",
                                        M32 M32 M32 "m"};
    struct hub_name name;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_true(hub_name_read(right[i], &name));
        assert_string_equal(name.repository, right[i]);
        assert_string_equal(name.revision, "main");
        assert_string_equal(name.file, "");
        assert_int_equal(name.has_owner, strchr(right[i], '/') != NULL);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(hub_name_read(wrong[i], &name));
    }
}

static void revisions_and_files_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *repository, *revision, *file; /* repository NULL: it is none */
    } rows[] = {
        {"hf://gpt2", "gpt2", "main", ""},
        {"owner/model@v1.0", "owner/model", "v1.0", ""},
        {"gpt2@refs/pr/1", "gpt2", "refs/pr/1", ""},
        {"owner/model/model-Q4_K_M.gguf", "owner/model", "main", "model-Q4_K_M.gguf"},
        {"owner/model@v1/folder/a.gguf", "owner/model", "v1", "folder/a.gguf"},
        {"hf://owner/model@refs/pr/1/a.safetensors", "owner/model", "refs/pr/1", "a.safetensors"},
        {"owner/model@feature/x", "owner/model", "feature/x", ""},
        {"owner/model@", NULL, NULL, NULL},
        {"owner/model@../../x", NULL, NULL, NULL},
        {"owner/model@/x", NULL, NULL, NULL},
        {"owner/model@a b\n", NULL, NULL, NULL},
        {"owner/model/../a.gguf", NULL, NULL, NULL},
        {"owner/model//a.gguf", NULL, NULL, NULL},
        {"owner/model/a.bin", NULL, NULL, NULL},
        {"hf://", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hub_name name;
        assert_int_equal(hub_name_read(rows[i].text, &name), rows[i].repository != NULL);
        if (rows[i].repository != NULL) {
            assert_string_equal(name.repository, rows[i].repository);
            assert_string_equal(name.revision, rows[i].revision);
            assert_string_equal(name.file, rows[i].file);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_and_addresses_are_those_of_huggingface_hub),
        cmocka_unit_test(own_folder_is_where_caches_are),
        cmocka_unit_test_setup_teardown(token_comes_from_variable_or_file, scratch_file_make, scratch_file_remove),
        cmocka_unit_test(wrong_variables_are_named),
        cmocka_unit_test(repository_names_are_those_of_huggingface_hub),
        cmocka_unit_test(revisions_and_files_are_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
