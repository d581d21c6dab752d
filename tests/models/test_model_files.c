/* Model files: what a path leads to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/find/model_files.h"
#include "tests/support/scratch_folder.h"

static char folder[40];

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-files-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static void file_touch(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void file_drop(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

/* name: in the folder, "" the folder itself; the two others: what is found in it, "" nothing. */
static void expect(const char *name, const char *config, const char *checkpoint)
{
    struct model_files files;
    char path[128], expected[128];
    snprintf(path, sizeof path, "%s%s%s", folder, name[0] != '\0' ? "/" : "", name);
    assert_int_equal(model_files_find(path, &files), config[0] != '\0' || checkpoint[0] != '\0');
    snprintf(expected, sizeof expected, "%s/%s", folder, config);
    assert_string_equal(files.config, config[0] != '\0' ? expected : "");
    snprintf(expected, sizeof expected, "%s/%s", folder, checkpoint);
    assert_string_equal(files.checkpoint, checkpoint[0] != '\0' ? expected : "");
}

static void folders_are_looked_through(void **state)
{
    (void)state;
    expect("", "", "");
    file_touch("m-Q4_K.gguf");
    expect("", "", "m-Q4_K.gguf");
    file_touch("m-Q8_0.gguf"); /* which of the two is not said */
    expect("", "", "");
    file_drop("m-Q8_0.gguf");
    file_drop("m-Q4_K.gguf");
    file_touch("m-00001-of-00003.gguf");
    file_touch("m-00002-of-00003.gguf");
    expect("", "", "m-00001-of-00003.gguf");
    file_touch("config.json");
    expect("", "config.json", "");
    file_touch("model.safetensors.index.json");
    expect("", "config.json", "model.safetensors.index.json");
    file_touch("model.safetensors");
    expect("", "config.json", "model.safetensors");
}

/* Shards without their index are no checkpoint, and are counted. */
static void shards_are_counted(void **state)
{
    static const char *const shards[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    static const char *const others[] = {"model-0001-of-0002.safetensors", "-00001-of-00002.safetensors",
                                         "model-00001-of-00002.safetensors.part", "model-a0001-of-00002.safetensors"};
    struct model_files files;
    (void)state;
    for (int i = 0; i < 4; i++) {
        file_touch(others[i]);
    }
    assert_false(model_files_find(folder, &files));
    assert_int_equal(files.shard_count, 0);
    file_touch(shards[0]);
    file_touch(shards[1]);
    assert_false(model_files_find(folder, &files));
    assert_int_equal(files.shard_count, 2);
    file_touch("config.json");
    assert_true(model_files_find(folder, &files));
    assert_int_equal(files.shard_count, 2);
    assert_string_equal(files.checkpoint, "");
    file_touch("model.safetensors.index.json");
    assert_true(model_files_find(folder, &files));
    assert_int_equal(files.shard_count, 0);
    for (int i = 0; i < 4; i++) {
        file_drop(others[i]);
    }
    file_drop(shards[0]);
    file_drop(shards[1]);
    file_drop("config.json");
    file_drop("model.safetensors.index.json");
}

static void files_are_taken_as_named(void **state)
{
    (void)state;
    expect("config.json", "config.json", "");
    expect("model.safetensors", "config.json", "model.safetensors");
    expect("model.safetensors.index.json", "config.json", "model.safetensors.index.json");
    expect("m-00001-of-00003.gguf", "config.json", "m-00001-of-00003.gguf");
    expect("nothing.safetensors", "", "");
    file_touch("other.txt"); /* a configuration may have any name */
    expect("other.txt", "other.txt", "");
    file_drop("config.json");
    expect("model.safetensors", "", "model.safetensors");
}

static void paths_that_are_too_long(void **state)
{
    static char path[2 * MODEL_PATH_BYTES];
    struct model_files files;
    (void)state;
    for (size_t i = 0; i + 2 < sizeof path; i += 2) {
        memcpy(path + i, "./", 2);
    }
    assert_false(model_files_find(path, &files));
    assert_false(model_files_find("", &files));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_counted),
        cmocka_unit_test(folders_are_looked_through),
        cmocka_unit_test(files_are_taken_as_named),
        cmocka_unit_test(paths_that_are_too_long),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
