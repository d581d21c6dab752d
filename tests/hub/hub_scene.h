/* Hub scene: a server, empty cache folders, and settings that lead to them. Linked into every test program of the
 * area. */
#ifndef ASSAY_TESTS_HUB_SCENE_H
#define ASSAY_TESTS_HUB_SCENE_H

#include "harness/hub/hub.h"
#include "tests/hub/hub_server.h"

/* The commit that servers name in their answers. */
#define SCENE_COMMIT        "0123456789abcdef0123456789abcdef01234567"
#define SCENE_COMMIT_HEADER "X-Repo-Commit: " SCENE_COMMIT "\r\n"

/* A row that answers well. text: a string literal. */
#define SERVED_TEXT(where, text)                                                                                       \
    {                                                                                                                  \
        .path = (where), .headers = SCENE_COMMIT_HEADER, .head = (text), .head_bytes = sizeof(text) - 1,               \
        .size_bytes = sizeof(text) - 1                                                                                 \
    }

struct hub_scene {
    char folder[64]; /* holds "hf" (huggingface_hub's cache) and "own" */
    struct hub_server *server;
    struct hub_settings settings; /* the server as http://127.0.0.1:PORT; the token "hf_secret"; no waiting */
};

void hub_scene_begin(struct hub_scene *scene, const struct served *rows, size_t count);
void hub_scene_end(struct hub_scene *scene);

/* A repository of the scene, by what a user types. Fails the running test where the name is none. */
struct hub_repository *hub_scene_open(const struct hub_scene *scene, const char *text);

/* Writes a file below the scene's folder, and the folders that lead there. */
void hub_scene_write(const struct hub_scene *scene, const char *path, const char *content);

#endif
