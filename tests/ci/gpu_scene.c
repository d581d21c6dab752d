/* GPU scene: the folder that ci/gpu.sh is tried in. Nothing of it is measured by anybody else. */
#include "tests/ci/gpu_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/scratch_folder.h"

const char *gpu_scene_path(const struct gpu_scene *scene, const char *name)
{
    static char paths[4][GPU_SCENE_PATH_BYTES + 64];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scene->folder, name);
    return path;
}

static void text_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

void gpu_scene_suite(const struct gpu_scene *scene, const char *name, const char *cases)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "suites/%s.yaml", name);
    snprintf(
        text, sizeof text,
        "version: 1\nname: %s\ntolerances: {replay: {allocated_bytes_peak: 0}}\ndefaults: {tags: host}\ncases:\n%s",
        name, cases);
    text_write(gpu_scene_path(scene, path), text);
}

int gpu_scene_make(void **state)
{
    static const char *const folders[] = {"suites", "build", "build/tests", "build/tests/area"};
    struct gpu_scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay gpu XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        return 1;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        mkdir(gpu_scene_path(scene, folders[i]), 0700);
    }
    char program[4096];
    if (realpath(program_path(), program) == NULL || symlink(program, gpu_scene_path(scene, "build/assay")) != 0) {
        return 1;
    }
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it", "echo '[  PASSED  ] 3 test(s).'");
    script_write(scene->folder, "python", "echo 'No module named torch' >&2; exit 1");
    gpu_scene_suite(scene, "load-gpu", "  - {model: tiny-bert, mode: load}\n");
    gpu_scene_suite(scene, "inference-overhead-gpu", "  - {model: tiny-vit, mode: infer}\n");
    gpu_scene_suite(scene, "adam-gpu", "  - {model: tiny-gpt2, mode: train, seq: 8, optimizer: adam-fused}\n");
    gpu_scene_suite(scene, "generate-gpu", "  - {model: tiny-llama, mode: generate, seq: 4, new_tokens: 2}\n");
    gpu_scene_suite(scene, "repeat-gpu", "  - {model: tiny-bert, mode: infer, seq: 4, repeat: 2}\n");
    gpu_scene_suite(scene, "calibrate", "  - {model: tiny-bert, mode: [load, infer], seq: [4]}\n");
    *state = scene;
    return 0;
}

int gpu_scene_remove(void **state)
{
    struct gpu_scene *scene = *state;
    int code = scratch_folder_remove(scene->folder);
    free(scene);
    return code;
}

struct command_result gpu_scene_run(const struct gpu_scene *scene, const char *const *options,
                                    const char *const *environment)
{
    const char *words[12 + GPU_SCENE_WORDS_MAXIMUM] = {NULL};
    int count = 0;
    char script[GPU_SCENE_PATH_BYTES + 64] = "ci/gpu.sh";
    if (scene->script != NULL) {
        snprintf(script, sizeof script, "%s/%s", scene->folder, scene->script);
    }
    for (int i = 0; scene->starter != NULL && i < 3; i++) {
        words[count++] = (const char *const[]){"sh", "-c", scene->starter}[i];
    }
    const char *const own[] = {script,
                               "--out",
                               gpu_scene_path(scene, "out"),
                               "--suites",
                               gpu_scene_path(scene, "suites"),
                               "--python",
                               gpu_scene_path(scene, "python"),
                               "--build",
                               gpu_scene_path(scene, "build")};
    for (int i = 0; i < (scene->script != NULL ? 7 : 9); i++) {
        words[count++] = own[i];
    }
    for (; options != NULL && *options != NULL; options++) {
        words[count++] = *options;
    }
    return command_run(words, environment);
}

struct command_result gpu_scene_run_emulated(const struct gpu_scene *scene, const char *const *options,
                                             const char *more)
{
    char program[PATH_MAX] = "", plugins[PATH_MAX + 32], path[PATH_MAX + 64], locks[PATH_MAX];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    *strrchr(program, '/') = '\0';
    snprintf(plugins, sizeof plugins, "ASSAY_PLUGIN_DIR=%s", program);
    snprintf(path, sizeof path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    snprintf(locks, sizeof locks, "ASSAY_LOCK_DIR=%s", scene->folder); /* the emulated GPU is each program's own */
    const char *const environment[] = {plugins, path, locks, "COLUMNS=120", more, NULL};
    return gpu_scene_run(scene, options, environment);
}

static void folder_is_small(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    struct stat file;
    int count = 0;
    off_t bytes = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_int_equal(fstatat(dirfd(folder), entry->d_name, &file, 0), 0);
            count++;
            bytes += file.st_size;
        }
    }
    closedir(folder);
    assert_in_range(count, 1, 8);
    assert_in_range(bytes, 1, 6 << 20);
}

void gpu_scene_expect(const struct gpu_scene *scene, struct command_result *result, int exit_code, const char *begin)
{
    char *output = result->output.length > 0 ? result->output.data : (char[]){""};
    char *line = output, *last = output;
    for (; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        last = line;
    }
    if (result->exit_code != exit_code || strncmp(last, begin, strlen(begin)) != 0) {
        fail_msg("exit code %d, not %d with \"%s\":\n%s%s", result->exit_code, exit_code, begin, output,
                 text_string(&result->error));
    }
    folder_is_small(gpu_scene_path(scene, "out"));
    command_result_release(result);
}

struct text gpu_scene_read(const struct gpu_scene *scene, const char *name)
{
    char below[64], buffer[4096];
    struct text text = {0};
    snprintf(below, sizeof below, "out/%s", name);
    FILE *file = fopen(gpu_scene_path(scene, below), "r");
    for (size_t count; file != NULL && (count = fread(buffer, 1, sizeof buffer, file)) > 0;) {
        text_append_bytes(&text, buffer, count);
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

void gpu_scene_says(const struct gpu_scene *scene, const char *name, const char *words)
{
    struct text text = gpu_scene_read(scene, name);
    if (strstr(text_string(&text), words) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", words, text_string(&text));
    }
    text_release(&text);
}

bool gpu_scene_part_is(const struct gpu_scene *scene, const char *part, const char *result)
{
    char wanted[64];
    struct text timing = gpu_scene_read(scene, "timing.tsv");
    snprintf(wanted, sizeof wanted, "\t%s\t%s\t", part, result);
    bool found = strstr(text_string(&timing), wanted) != NULL;
    if (!found) {
        print_error("%s is not %s:\n%s", part, result, text_string(&timing));
    }
    text_release(&timing);
    return found;
}
