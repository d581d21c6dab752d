/* Hubs that refuse, break or lie: each is told from the others, says what would help, and leaves nothing
 * half-written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utime.h>

#include "tests/hub/hub_scene.h"
#include "tests/support/command_run.h"

#define AT_MAIN   "/owner/model/resolve/main/"
#define AT_COMMIT "/owner/model/resolve/" SCENE_COMMIT "/"

/* Asks for config.json of a repository, which must fail. */
static struct status refusal_of(struct hub_scene *scene, const char *name, enum status_code code)
{
    struct status error = {0};
    const char *path = "not written";
    struct hub_repository *repository = hub_scene_open(scene, name);
    assert_int_equal(hub_repository_path(repository, "config.json", 4096, &path, &error), code);
    assert_string_equal(path, "not written");
    hub_repository_close(repository);
    return error;
}

static void assert_says(const struct status *error, const char *part)
{
    if (strstr(error->text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error->text, part);
    }
}

static void nothing_is_kept(const struct hub_scene *scene)
{
    const char *const words[] = {"find", scene->folder, "-type", "f", NULL};
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.output), "");
    command_result_release(&result);
}

/* Answers of the hub to one without rights: status, codes and headers as huggingface_hub 2.4 tells them apart. */
static void missing_gated_and_private_are_told_apart(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = "/owner/gated/resolve/main/config.json",
         .status = 401,
         .headers = "X-Error-Code: GatedRepo\r\nX-Error-Message: Access to model owner/gated is restricted.\r\n"},
        {.path = "/owner/gated-still/resolve/main/config.json",
         .status = 403,
         .headers = "X-Error-Code: GatedRepo\r\n"},
        {.path = "/owner/private/resolve/main/config.json", .status = 401},
        {.path = "/owner/model/resolve/v9/config.json", .status = 404, .headers = "X-Error-Code: RevisionNotFound\r\n"},
        {.path = "/owner/barred/resolve/main/config.json",
         .status = 403,
         .headers = "X-Error-Message: Access to this resource is disabled.\r\n"},
    };
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 5);
    struct status error = refusal_of(&scene, "owner/gated", STATUS_INVALID);
    assert_says(&error, "owner/gated is gated at http://127.0.0.1:");
    assert_says(&error, "use a token of an account that may read it");
    scene.settings.token[0] = '\0';
    error = refusal_of(&scene, "owner/gated-still", STATUS_INVALID);
    assert_says(&error, "(403 GatedRepo)");
    assert_says(&error, "set HF_TOKEN");
    error = refusal_of(&scene, "owner/nothing", STATUS_INVALID);
    assert_says(&error, "has no repository owner/nothing, or it is private (404 RepoNotFound)");
    error = refusal_of(&scene, "owner/private", STATUS_INVALID);
    assert_says(&error, "has no repository owner/private, or it is private (401 without a reason)");
    error = refusal_of(&scene, "owner/model@v9", STATUS_INVALID);
    assert_says(&error, "owner/model has no revision 'v9'");
    error = refusal_of(&scene, "owner/barred", STATUS_INVALID);
    assert_says(&error, "answers 403: Access to this resource is disabled.");
    nothing_is_kept(&scene);
    hub_scene_end(&scene);
}

static void passing_trouble_is_tried_again_and_lasting_is_not_for_ever(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_MAIN "config.json",
         .headers = SCENE_COMMIT_HEADER,
         .head = "{}",
         .head_bytes = 2,
         .size_bytes = 2,
         .fault = SERVED_BROKEN_ONCE},
        {.path = AT_COMMIT "cut-once.json",
         .head = "[1, 2]",
         .head_bytes = 6,
         .size_bytes = 6,
         .fault = SERVED_CUT_ONCE},
        {.path = AT_COMMIT "cut.json", .head = "[1, 2]", .head_bytes = 6, .size_bytes = 6, .fault = SERVED_CUT},
        {.path = AT_COMMIT "broken.json", .fault = SERVED_BROKEN},
    };
    struct hub_scene scene;
    struct status error;
    const char *path = NULL;
    hub_scene_begin(&scene, rows, 4);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", 100, &path, NULL), STATUS_OK);
    assert_int_equal(hub_repository_traffic(repository).requests, 2);
    assert_int_equal(hub_repository_path(repository, "cut-once.json", 100, &path, NULL), STATUS_OK);
    assert_int_equal(hub_repository_traffic(repository).requests, 4);
    path = NULL;
    assert_int_equal(hub_repository_path(repository, "cut.json", 100, &path, &error), STATUS_IO);
    assert_says(&error, "cut.json: ");
    assert_says(&error, "check the network");
    assert_int_equal(hub_repository_traffic(repository).requests, 4 + HUB_ATTEMPTS_MAXIMUM);
    assert_int_equal(hub_repository_path(repository, "broken.json", 100, &path, &error), STATUS_IO);
    assert_says(&error, "answers 500 for broken.json of owner/model; try again later");
    assert_int_equal(hub_repository_traffic(repository).requests, 4 + 2 * HUB_ATTEMPTS_MAXIMUM);
    assert_null(path);
    hub_repository_close(repository);
    hub_scene_end(&scene);
}

static void limits_hold(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = "/owner/long/resolve/main/config.json", .headers = SCENE_COMMIT_HEADER, .size_bytes = 5000},
        {.path = "/owner/chunks/resolve/main/config.json",
         .headers = SCENE_COMMIT_HEADER,
         .size_bytes = 1000000000,
         .fault = SERVED_WITHOUT_LENGTH},
        {.path = "/owner/headers/resolve/main/config.json", .fault = SERVED_HEADERS_ENDLESS},
        {.path = "/owner/stalls/resolve/main/config.json",
         .headers = SCENE_COMMIT_HEADER,
         .size_bytes = 100,
         .fault = SERVED_STALLING},
        {.path = "/owner/drips/resolve/main/config.json",
         .headers = SCENE_COMMIT_HEADER,
         .size_bytes = 4096,
         .fault = SERVED_DRIPPING},
        {.path = "/owner/circle/resolve/main/config.json",
         .status = 302,
         .headers = SCENE_COMMIT_HEADER "Location: /owner/circle/resolve/main/config.json\r\n"},
        {.path = "/owner/file/resolve/main/config.json",
         .status = 302,
         .headers = SCENE_COMMIT_HEADER "Location: file:///etc/passwd\r\n"},
    };
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 7);
    scene.settings.stall_seconds = 1;
    struct status error = refusal_of(&scene, "owner/long", STATUS_INVALID);
    assert_says(&error, "config.json is longer than the 4096 bytes that are taken of it");
    error = refusal_of(&scene, "owner/chunks", STATUS_INVALID);
    assert_says(&error, "is longer than the 4096 bytes");
    error = refusal_of(&scene, "owner/headers", STATUS_INVALID);
    assert_says(&error, "bytes of headers");
    error = refusal_of(&scene, "owner/stalls", STATUS_IO);
    assert_says(&error, "check the network");
    /* 1,200 bytes a second stand still for nobody; 4,096 would take as long as the hub likes */
    error = refusal_of(&scene, "owner/drips", STATUS_IO);
    assert_says(&error, "sends too slowly (");
    assert_says(&error, "or give it more time with HF_HUB_DOWNLOAD_TIMEOUT (now 1 s)");
    error = refusal_of(&scene, "owner/circle", STATUS_INVALID);
    assert_says(&error, "redirects more than 5 times");
    error = refusal_of(&scene, "owner/file", STATUS_INVALID);
    assert_says(&error, "leads to file:///etc/passwd, which is not https");
    nothing_is_kept(&scene);
    hub_scene_end(&scene);
}

static void lies_about_ranges_are_noticed(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_COMMIT "other.safetensors",
         .headers = SCENE_COMMIT_HEADER,
         .size_bytes = 100000,
         .fault = SERVED_OTHER_RANGE},
        {.path = AT_COMMIT "cut.safetensors",
         .headers = SCENE_COMMIT_HEADER,
         .size_bytes = 100000,
         .fault = SERVED_CUT},
        {.path = AT_COMMIT "empty.safetensors", .headers = SCENE_COMMIT_HEADER},
    };
    struct hub_scene scene;
    struct status error;
    struct byte_source *source = NULL;
    char byte;
    hub_scene_begin(&scene, rows, 3);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
    assert_int_equal(hub_repository_source(repository, "other.safetensors", &source, &error), STATUS_INVALID);
    assert_says(&error, "the server sends other bytes than those asked for");
    assert_int_equal(hub_repository_source(repository, "cut.safetensors", &source, &error), STATUS_IO);
    assert_null(source);
    assert_int_equal(hub_repository_source(repository, "empty.safetensors", &source, NULL), STATUS_OK);
    assert_int_equal(source->size_bytes, 0);
    assert_int_equal(byte_source_read(source, 0, &byte, 1, &error), STATUS_INVALID);
    assert_says(&error, "owner/model/empty.safetensors: 1 bytes at byte 0 are wanted, but it ends at byte 0");
    byte_source_release(source);
    hub_repository_close(repository);
    hub_scene_end(&scene);
}

static void server_that_is_no_hub_is_known(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_MAIN "config.json", .head = "{}", .head_bytes = 2, .size_bytes = 2}};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 1);
    struct status error = refusal_of(&scene, "owner/model", STATUS_INVALID);
    assert_says(&error, "does not answer as a hub does (no X-Repo-Commit for owner/model); check HF_ENDPOINT");
    hub_scene_end(&scene);
}

/* What is asked of an https endpoint is never asked without encryption. */
static void https_is_not_spoken_in_the_clear(void **state)
{
    (void)state;
    struct hub_scene scene;
    hub_scene_begin(&scene, NULL, 0);
    snprintf(scene.settings.endpoint, sizeof scene.settings.endpoint, "https://127.0.0.1:%d",
             hub_server_port(scene.server));
    /* the server speaks no TLS, so the handshake fails, and nothing is asked in the clear */
    struct status error = refusal_of(&scene, "owner/model", STATUS_IO);
    assert_says(&error, "check the network");
    assert_int_equal(hub_server_asked_count(scene.server), 0);
    hub_scene_end(&scene);
}

static void offline_and_no_network_are_said(void **state)
{
    (void)state;
    static const struct served rows[] = {SERVED_TEXT(AT_MAIN "config.json", "{}")};
    struct hub_scene scene;
    char reference[256];
    const char *path = NULL;
    hub_scene_begin(&scene, rows, 1);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", 100, &path, NULL), STATUS_OK);
    hub_repository_close(repository);
    scene.settings.offline = "TRANSFORMERS_OFFLINE";
    struct status error = refusal_of(&scene, "owner/other", STATUS_IO);
    assert_says(&error, "TRANSFORMERS_OFFLINE forbids to ask http://127.0.0.1:");
    assert_int_equal(hub_server_asked_count(scene.server), 1);

    /* nobody listens any more: what is cached serves, old as it may be; the rest is said to be out of reach */
    scene.settings.offline = NULL;
    snprintf(reference, sizeof reference, "%s/own/127.0.0.1_%d/models--owner--model/refs/main", scene.folder,
             hub_server_port(scene.server));
    hub_server_stop(scene.server);
    const struct utimbuf old = {.actime = time(NULL) - 100000, .modtime = time(NULL) - 100000};
    assert_int_equal(utime(reference, &old), 0);
    error = refusal_of(&scene, "owner/other", STATUS_IO);
    assert_says(&error, "check the network");
    repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", 100, &path, NULL), STATUS_OK);
    hub_repository_close(repository);
    scene.server = hub_server_start(NULL, 0);
    hub_scene_end(&scene);
}

/* A head whose file was damaged is not believed: it is asked for again. */
static void damaged_cache_is_asked_again(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_COMMIT "m.safetensors", .headers = SCENE_COMMIT_HEADER, .size_bytes = 100000}};
    static const char *const damages[] = {"", "assay-hub-head 1 100000 16384\nshort", "assay-hub-head 1 100 200\n",
                                          "assay-hub-head 1 -1 0\n", "something else\n"};
    struct hub_scene scene;
    char head[160];
    hub_scene_begin(&scene, rows, 1);
    snprintf(head, sizeof head, "own/127.0.0.1_%d/models--owner--model/heads/" SCENE_COMMIT "/m.safetensors",
             hub_server_port(scene.server));
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct byte_source *source = NULL;
        hub_scene_write(&scene, head, damages[i]);
        struct hub_repository *repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
        assert_int_equal(hub_repository_source(repository, "m.safetensors", &source, NULL), STATUS_OK);
        assert_int_equal(source->size_bytes, 100000);
        byte_source_release(source);
        hub_repository_close(repository);
        assert_int_equal(hub_server_asked_count(scene.server), i + 1);
    }
    hub_scene_end(&scene);
}

/* A head of the right length whose content was wrong is told to be forgotten, in whichever folder its file lies. */
static void forgotten_heads_are_asked_for_again(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_COMMIT "m.gguf", .headers = SCENE_COMMIT_HEADER, .size_bytes = 100000},
        {.path = AT_COMMIT "a/b/m.gguf", .headers = SCENE_COMMIT_HEADER, .size_bytes = 100000}};
    static const char *const files[] = {"m.gguf", "a/b/m.gguf"};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 2);
    for (int time = 0; time < 3; time++) {
        struct hub_repository *repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            struct byte_source *source = NULL;
            assert_int_equal(hub_repository_source(repository, files[i], &source, NULL), STATUS_OK);
            byte_source_release(source);
        }
        /* kept by the first, and so not asked for by the second */
        assert_int_equal(hub_server_asked_count(scene.server), time < 2 ? 2 : 4);
        if (time == 1) {
            hub_repository_forget(repository);
        }
        hub_repository_close(repository);
    }
    hub_scene_end(&scene);
}

static void cache_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    static const struct served rows[] = {SERVED_TEXT(AT_MAIN "config.json", "{}")};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 1);
    hub_scene_write(&scene, "own", "a file stands where the folder should");
    struct status error = refusal_of(&scene, "owner/model", STATUS_IO);
    assert_says(&error, "let XDG_CACHE_HOME name a folder that can be written");
    hub_scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_gated_and_private_are_told_apart),
        cmocka_unit_test(passing_trouble_is_tried_again_and_lasting_is_not_for_ever),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(lies_about_ranges_are_noticed),
        cmocka_unit_test(server_that_is_no_hub_is_known),
        cmocka_unit_test(https_is_not_spoken_in_the_clear),
        cmocka_unit_test(offline_and_no_network_are_said),
        cmocka_unit_test(damaged_cache_is_asked_again),
        cmocka_unit_test(forgotten_heads_are_asked_for_again),
        cmocka_unit_test(cache_that_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
