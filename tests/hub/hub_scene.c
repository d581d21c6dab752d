/* Hub scene: made anew for each test, so that no test finds what another has cached. */
#include "tests/hub/hub_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/hub/hub_transfer.h"
#include "tests/support/scratch_folder.h"

/* Skips the running test where the program has no libcurl. */
static void transfer_needed(const struct hub_settings *settings)
{
    struct hub_transfer *transfer = NULL;
    struct status error;
    if (hub_transfer_open(settings, &transfer, &error) != STATUS_OK) {
        print_message("%s\n", error.text);
        skip();
    }
    hub_transfer_close(transfer);
}

void hub_scene_begin(struct hub_scene *scene, const struct served *rows, size_t count)
{
    *scene = (struct hub_scene){.folder = "/tmp/assay-hub-XXXXXX"};
    transfer_needed(&scene->settings);
    assert_non_null(mkdtemp(scene->folder));
    scene->server = hub_server_start(rows, count);
    struct hub_settings *settings = &scene->settings;
    settings->connect_seconds = 10;
    settings->stall_seconds = 10;
    snprintf(settings->endpoint, sizeof settings->endpoint, "http://127.0.0.1:%d", hub_server_port(scene->server));
    snprintf(settings->cache_folder, sizeof settings->cache_folder, "%s/hf", scene->folder);
    snprintf(settings->own_folder, sizeof settings->own_folder, "%s/own", scene->folder);
    snprintf(settings->token, sizeof settings->token, "hf_secret");
    setenv("no_proxy", "127.0.0.1,localhost", 1);
}

void hub_scene_end(struct hub_scene *scene)
{
    hub_server_stop(scene->server);
    assert_int_equal(scratch_folder_remove(scene->folder), 0);
}

struct hub_repository *hub_scene_open(const struct hub_scene *scene, const char *text)
{
    struct hub_name name;
    struct hub_repository *repository = NULL;
    assert_true(hub_name_read(text, &name));
    assert_int_equal(hub_repository_open(&scene->settings, &name, &repository, NULL), STATUS_OK);
    return repository;
}

void hub_scene_write(const struct hub_scene *scene, const char *path, const char *content)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", scene->folder, path);
    for (char *slash = strchr(whole + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0777);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}
