/* Files of a hub: what is asked of a server, what of it is kept, and what is never sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "tests/hub/hub_scene.h"
#include "tests/support/whole_file.h"

#define AT_MAIN   "/owner/model/resolve/main/"
#define AT_COMMIT "/owner/model/resolve/" SCENE_COMMIT "/"

enum { CONFIG_BYTES_MAXIMUM = 4096 };

static const char config[] = "{\"model_type\": \"gpt2\"}";

static void file_is_served_whole_and_kept(void **state)
{
    (void)state;
    static const struct served rows[] = {SERVED_TEXT(AT_MAIN "config.json", "{\"model_type\": \"gpt2\"}")};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 1);
    for (int time = 0; time < 2; time++) {
        struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
        const char *path = NULL;
        assert_int_equal(hub_repository_path(repository, "config.json", CONFIG_BYTES_MAXIMUM, &path, NULL), STATUS_OK);
        char *content = whole_file_read(path);
        assert_string_equal(content, config);
        assert_string_equal(hub_repository_commit(repository), SCENE_COMMIT);
        assert_int_equal(hub_repository_traffic(repository).requests, time == 0 ? 1 : 0);
        free(content);
        hub_repository_close(repository);
    }
    assert_int_equal(hub_server_asked_count(scene.server), 1);
    assert_string_equal(hub_server_asked(scene.server, 0)->authorization, "Bearer hf_secret");
    hub_scene_end(&scene);
}

static void token_does_not_follow_a_redirect_to_another_host(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_MAIN "config.json",
         .status = 302,
         .headers = SCENE_COMMIT_HEADER "Location: http://localhost:$PORT/cdn/1?sign=2\r\n"},
        {.path = "/cdn/1?sign=2", .head = "{}", .head_bytes = 2, .size_bytes = 2},
        {.path = AT_COMMIT "a.json", .status = 307, .headers = SCENE_COMMIT_HEADER "Location: /moved/a.json\r\n"},
        {.path = "/moved/a.json", .head = "[]", .head_bytes = 2, .size_bytes = 2},
    };
    struct hub_scene scene;
    char cdn[64];
    const char *path = NULL;
    hub_scene_begin(&scene, rows, 4);
    snprintf(cdn, sizeof cdn, "localhost:%d", hub_server_port(scene.server));
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", CONFIG_BYTES_MAXIMUM, &path, NULL), STATUS_OK);
    assert_int_equal(hub_repository_path(repository, "a.json", CONFIG_BYTES_MAXIMUM, &path, NULL), STATUS_OK);
    hub_repository_close(repository);
    assert_int_equal(hub_server_asked_count(scene.server), 4);
    assert_string_equal(hub_server_asked(scene.server, 0)->authorization, "Bearer hf_secret");
    assert_string_equal(hub_server_asked(scene.server, 1)->host, cdn);
    assert_string_equal(hub_server_asked(scene.server, 1)->authorization, "");
    /* a repository that was renamed: the same host, so the token goes along */
    assert_string_equal(hub_server_asked(scene.server, 3)->path, "/moved/a.json");
    assert_string_equal(hub_server_asked(scene.server, 3)->authorization, "Bearer hf_secret");
    hub_scene_end(&scene);
}

static void large_file_costs_kilobytes_whatever_its_size(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_COMMIT "model.safetensors",
         .status = 302,
         .headers = SCENE_COMMIT_HEADER "X-Linked-Size: 140000000000\r\nLocation: http://localhost:$PORT/cdn/m\r\n"},
        {.path = "/cdn/m", .head = "beginning", .head_bytes = 9, .size_bytes = 140000000000},
    };
    struct hub_scene scene;
    char bytes[40000];
    hub_scene_begin(&scene, rows, 2);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
    struct byte_source *source = NULL;
    assert_int_equal(hub_repository_source(repository, "model.safetensors", &source, NULL), STATUS_OK);
    assert_non_null(source);
    assert_int_equal(source->size_bytes, 140000000000);
    assert_int_equal(byte_source_read(source, 0, bytes, 8, NULL), STATUS_OK);
    assert_memory_equal(bytes, "beginnin", 8);
    assert_int_equal(hub_server_sent_bytes(scene.server), HUB_FIRST_READ_BYTES);
    assert_int_equal(byte_source_read(source, 8, bytes, 39000, NULL), STATUS_OK);
    assert_int_equal(bytes[0], 'g');
    assert_int_equal(hub_server_sent_bytes(scene.server), 39008);
    /* the second request goes to where the first was sent, and asks for what is missing alone */
    assert_int_equal(hub_server_asked_count(scene.server), 3);
    assert_string_equal(hub_server_asked(scene.server, 2)->path, "/cdn/m");
    assert_string_equal(hub_server_asked(scene.server, 2)->range, "bytes=16384-39007");
    /* elsewhere: fetched, but not with all that lies between */
    assert_int_equal(byte_source_read(source, 139999999990, bytes, 10, NULL), STATUS_OK);
    assert_int_equal(hub_server_sent_bytes(scene.server), 39018);
    byte_source_release(source);
    hub_repository_close(repository);
    /* what was read of the beginning is here now */
    repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
    assert_int_equal(hub_repository_source(repository, "model.safetensors", &source, NULL), STATUS_OK);
    assert_int_equal(source->size_bytes, 140000000000);
    assert_int_equal(byte_source_read(source, 0, bytes, 39008, NULL), STATUS_OK);
    assert_memory_equal(bytes, "beginning", 9);
    byte_source_release(source);
    assert_int_equal(hub_repository_traffic(repository).requests, 0);
    hub_repository_close(repository);
    hub_scene_end(&scene);
}

/* What a header of 5 MB costs: requests grow, so that there are few of them. */
static void long_header_takes_few_requests(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_COMMIT "a.gguf", .headers = SCENE_COMMIT_HEADER, .size_bytes = 5000000000}};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 1);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
    struct byte_source *source = NULL;
    assert_int_equal(hub_repository_source(repository, "a.gguf", &source, NULL), STATUS_OK);
    for (int64_t offset = 0; offset < 5000000; offset += 10) {
        char bytes[10];
        assert_int_equal(byte_source_read(source, offset, bytes, sizeof bytes, NULL), STATUS_OK);
    }
    byte_source_release(source);
    hub_repository_close(repository);
    assert_in_range(hub_server_asked_count(scene.server), 2, 10);
    assert_in_range(hub_server_sent_bytes(scene.server), 5000000, 10000000);
    hub_scene_end(&scene);
}

/* A server that sends all of 140 GB is left alone when enough has come. */
static void server_without_ranges_is_broken_off(void **state)
{
    (void)state;
    static const struct served rows[] = {
        {.path = AT_COMMIT "m.safetensors",
         .headers = SCENE_COMMIT_HEADER,
         .head = "beginning",
         .head_bytes = 9,
         .size_bytes = 140000000000,
         .fault = SERVED_WITHOUT_RANGES},
        {.path = AT_COMMIT "chunked.safetensors",
         .headers = SCENE_COMMIT_HEADER "X-Linked-Size: 30000000000\r\n",
         .size_bytes = 30000000000,
         .fault = SERVED_WITHOUT_LENGTH},
        {.path = AT_COMMIT "small.safetensors",
         .headers = SCENE_COMMIT_HEADER,
         .head = "small",
         .head_bytes = 5,
         .size_bytes = 5,
         .fault = SERVED_WITHOUT_LENGTH},
        {.path = AT_COMMIT "unknown.safetensors",
         .headers = SCENE_COMMIT_HEADER,
         .size_bytes = 30000000000,
         .fault = SERVED_WITHOUT_LENGTH},
    };
    struct hub_scene scene;
    struct status error;
    char bytes[30000];
    hub_scene_begin(&scene, rows, 4);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model@" SCENE_COMMIT);
    struct byte_source *source = NULL;
    assert_int_equal(hub_repository_source(repository, "m.safetensors", &source, NULL), STATUS_OK);
    assert_int_equal(source->size_bytes, 140000000000);
    assert_int_equal(byte_source_read(source, 0, bytes, sizeof bytes, NULL), STATUS_OK);
    assert_memory_equal(bytes, "beginning", 9);
    byte_source_release(source);
    assert_in_range(hub_repository_traffic(repository).bytes, 30000, 1000000);

    assert_int_equal(hub_repository_source(repository, "chunked.safetensors", &source, NULL), STATUS_OK);
    assert_int_equal(source->size_bytes, 30000000000);
    byte_source_release(source);
    assert_int_equal(hub_repository_source(repository, "small.safetensors", &source, NULL), STATUS_OK);
    assert_int_equal(source->size_bytes, 5);
    byte_source_release(source);
    source = NULL;
    assert_int_equal(hub_repository_source(repository, "unknown.safetensors", &source, &error), STATUS_INVALID);
    assert_string_equal(error.text, "owner/model/unknown.safetensors: the server does not tell how large it is");
    assert_null(source);
    hub_repository_close(repository);
    hub_scene_end(&scene);
}

static void file_that_is_not_there_is_remembered(void **state)
{
    (void)state;
    static const struct served rows[] = {{.path = AT_MAIN "model.safetensors",
                                          .status = 404,
                                          .headers = SCENE_COMMIT_HEADER "X-Error-Code: EntryNotFound\r\n"}};
    struct hub_scene scene;
    hub_scene_begin(&scene, rows, 1);
    for (int time = 0; time < 2; time++) {
        struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
        struct byte_source *source = (struct byte_source *)state;
        const char *path = "not written";
        assert_int_equal(hub_repository_source(repository, "model.safetensors", &source, NULL), STATUS_OK);
        assert_null(source);
        assert_int_equal(hub_repository_path(repository, "model.safetensors", 100, &path, NULL), STATUS_OK);
        assert_null(path);
        hub_repository_close(repository);
    }
    assert_int_equal(hub_server_asked_count(scene.server), 1);
    hub_scene_end(&scene);
}

/* What huggingface_hub has is taken as it is, and nothing of it is asked again. The layout is what huggingface_hub
 * 2.4.0 leaves behind: the file under its ETag in blobs, a link to it in the snapshot, and what it has learnt is not
 * there. */
static void cache_of_huggingface_hub_comes_first(void **state)
{
    (void)state;
    static const struct served rows[] = {SERVED_TEXT(AT_COMMIT "other.json", "{}")};
    struct hub_scene scene;
    char link[256];
    const char *path = NULL;
    hub_scene_begin(&scene, rows, 1);
    hub_scene_write(&scene, "hf/models--owner--model/refs/main", SCENE_COMMIT);
    hub_scene_write(&scene, "hf/models--owner--model/blobs/abc123", config);
    hub_scene_write(&scene, "hf/models--owner--model/snapshots/" SCENE_COMMIT "/other-file", "");
    snprintf(link, sizeof link, "%s/hf/models--owner--model/snapshots/" SCENE_COMMIT "/config.json", scene.folder);
    assert_int_equal(symlink("../../blobs/abc123", link), 0);
    hub_scene_write(&scene, "hf/models--owner--model/.no_exist/" SCENE_COMMIT "/model.safetensors", "");
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
    assert_true(hub_repository_is_cached(repository));
    assert_int_equal(hub_repository_path(repository, "config.json", 4096, &path, NULL), STATUS_OK);
    assert_non_null(strstr(path, "/hf/models--owner--model/snapshots/" SCENE_COMMIT "/config.json"));
    assert_int_equal(hub_repository_path(repository, "model.safetensors", 4096, &path, NULL), STATUS_OK);
    assert_null(path);
    assert_int_equal(hub_server_asked_count(scene.server), 0);
    /* a file that it does not have is asked for at its commit, so that all files fit together */
    assert_int_equal(hub_repository_path(repository, "other.json", 4096, &path, NULL), STATUS_OK);
    assert_non_null(strstr(path, "/own/"));
    hub_repository_close(repository);
    hub_scene_end(&scene);
}

/* A revision that was named more than a day ago is asked again; where the hub is away, what it was then still
 * serves. */
static void old_revision_is_asked_again(void **state)
{
    (void)state;
    static const struct served rows[] = {SERVED_TEXT(AT_MAIN "config.json", "{\"model_type\": \"gpt2\"}")};
    struct hub_scene scene;
    char reference[256];
    const char *path = NULL;
    hub_scene_begin(&scene, rows, 1);
    struct hub_repository *repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", 4096, &path, NULL), STATUS_OK);
    hub_repository_close(repository);
    snprintf(reference, sizeof reference, "%s/own/127.0.0.1_%d/models--owner--model/refs/main", scene.folder,
             hub_server_port(scene.server));
    const struct utimbuf old = {.actime = time(NULL) - 100000, .modtime = time(NULL) - 100000};
    assert_int_equal(utime(reference, &old), 0);
    repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", 4096, &path, NULL), STATUS_OK);
    hub_repository_close(repository);
    assert_int_equal(hub_server_asked_count(scene.server), 2);

    assert_int_equal(utime(reference, &old), 0);
    scene.settings.offline = "HF_HUB_OFFLINE";
    repository = hub_scene_open(&scene, "owner/model");
    assert_int_equal(hub_repository_path(repository, "config.json", 4096, &path, NULL), STATUS_OK);
    hub_repository_close(repository);
    assert_int_equal(hub_server_asked_count(scene.server), 2);
    hub_scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_is_served_whole_and_kept),
        cmocka_unit_test(token_does_not_follow_a_redirect_to_another_host),
        cmocka_unit_test(large_file_costs_kilobytes_whatever_its_size),
        cmocka_unit_test(long_header_takes_few_requests),
        cmocka_unit_test(server_without_ranges_is_broken_off),
        cmocka_unit_test(file_that_is_not_there_is_remembered),
        cmocka_unit_test(cache_of_huggingface_hub_comes_first),
        cmocka_unit_test(old_revision_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
