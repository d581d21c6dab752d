/* Shard scene: folders made once, copied for the tests that change them. */
#include "tests/run/shard_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file_replace.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

enum { PATHS_MAXIMUM = 1024, PATH_BYTES = 192 };

static char folder[64];
static char paths[PATHS_MAXIMUM][PATH_BYTES];
static int path_count;

static const char suite_text[] = "version: 1\n"
                                 "name: parts\n"
                                 "cases:\n"
                                 "  - {model: [tiny-bert, tiny-gpt2], mode: load, precision: [float32, float16]}\n"
                                 "  - {model: tiny-bert, mode: infer, batch: [1, 64], seq: 16}\n"
                                 "  - {model: tiny-gpt2, mode: infer, batch: [1, 2, 4], seq: 16}\n"
                                 "  - {model: tiny-gpt2, mode: generate, seq: 4, new_tokens: 4}\n"
                                 "  - {model: tiny-bert, mode: train, seq: 8, repeat: 2}\n"
                                 "  - {model: tiny-gpt2, mode: train, seq: 8}\n";

const char *shard_path(const char *format, ...)
{
    assert_true(path_count < PATHS_MAXIMUM);
    va_list arguments;
    va_start(arguments, format);
    char name[PATH_BYTES - sizeof folder - 1];
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    snprintf(paths[path_count], PATH_BYTES, "%s/%s", folder, name);
    return paths[path_count++];
}

static void file_put(const char *path, const char *content)
{
    struct text text = {0};
    text_append(&text, content);
    assert_int_equal(file_replace(path, FILE_KEPT, &text, NULL), STATUS_OK);
    text_release(&text);
}

struct command_result shard_do(int exit_code, const char *command, const char *const *options)
{
    struct command_result result = command_named(command, options);
    if (result.exit_code != exit_code) {
        fail_msg("assay %s: exit code %d, not %d: %s%s", command, result.exit_code, exit_code,
                 text_string(&result.output), text_string(&result.error));
    }
    return result;
}

static void run_do(const char *out, const char *shard)
{
    const char *words[] = {
        shard_path("suite.yaml"),         "--device", "meta", "--out", out, "--quiet", "--records-only",
        shard != NULL ? "--shard" : NULL, shard,      NULL};
    struct command_result result = shard_do(0, "run", words);
    command_result_release(&result);
}

int shard_scene_open(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-shards-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    file_put(shard_path("suite.yaml"), suite_text);
    run_do(shard_path("whole"), NULL);
    for (int i = 1; i <= SHARD_SCENE_SHARDS; i++) {
        char shard[16];
        snprintf(shard, sizeof shard, "%d/%d", i, SHARD_SCENE_SHARDS);
        run_do(shard_path("parts/%d", i), shard);
    }
    return 0;
}

int shard_scene_close(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

const char *shard_parts_copy(const char *name)
{
    const char *parts = shard_path("%s", name);
    assert_int_equal(mkdir(parts, 0700), 0);
    for (int i = 1; i <= SHARD_SCENE_SHARDS; i++) {
        const char *files[] = {"records.jsonl", "plan.json"};
        assert_int_equal(mkdir(shard_path("%s/%d", name, i), 0700), 0);
        for (int k = 0; k < 2; k++) {
            char *content = whole_file_read(shard_path("parts/%d/%s", i, files[k]));
            file_put(shard_path("%s/%d/%s", name, i, files[k]), content);
            free(content);
        }
    }
    return parts;
}

void shard_file_change(const char *path, const char *from, const char *to)
{
    char *content = whole_file_read(path), *rest = content, *found = NULL;
    struct text changed = {0};
    if (strstr(content, from) == NULL) {
        fail_msg("%s has no '%s'", path, from);
    }
    while ((found = strstr(rest, from)) != NULL) {
        text_append_bytes(&changed, rest, (size_t)(found - rest));
        text_append(&changed, to);
        rest = found + strlen(from);
    }
    text_append(&changed, rest);
    file_put(path, text_string(&changed));
    text_release(&changed);
    free(content);
}

void shard_time_change(const char *path, const char *member, const char *time)
{
    char *content = whole_file_read(path), before[64], after[64], key[24];
    snprintf(key, sizeof key, "\"%s\": \"", member);
    const char *found = strstr(content, key);
    assert_non_null(found);
    snprintf(before, sizeof before, "%s%.*s", key, (int)strlen("2026-11-20T02:00:00Z"), found + strlen(key));
    snprintf(after, sizeof after, "%s%s", key, time);
    shard_file_change(path, before, after);
    free(content);
}

void shard_file_cut(const char *path, int lines)
{
    char *content = whole_file_read(path);
    for (int i = 0; i < lines; i++) {
        char *end = strrchr(content, '\n');
        assert_non_null(end);
        *end = '\0';
    }
    char *last = strrchr(content, '\n');
    assert_non_null(last);
    last[1] = '\0';
    file_put(path, content);
    free(content);
}
