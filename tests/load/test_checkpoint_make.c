/* A checkpoint that is made: the draft says every byte of it, our own loader takes all of it, the seed decides the
 * numbers, and what is refused leaves nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/load/checkpoint_make.h"
#include "harness/load/load_files.h"
#include "harness/load/load_plan.h"
#include "models/find/config_file.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static const char config_path[] = "models/catalogue/tiny-llama/config.json";
static char scratch[40];

static int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/assay-make-XXXXXX");
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

static int scratch_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(scratch);
}

static struct checkpoint_recipe recipe_of(int64_t maximum_bytes, int64_t seed)
{
    return (struct checkpoint_recipe){.config_path = config_path,
                                      .typed = "tiny-llama",
                                      .name = "tiny-llama",
                                      .head = HEAD_LM,
                                      .precision = DTYPE_BFLOAT16,
                                      .maximum_bytes = maximum_bytes,
                                      .seed = seed};
}

static const char *path_of(char path[160], const char *folder, const char *name)
{
    snprintf(path, 160, "%s/%s%s%s", scratch, folder, name != NULL ? "/" : "", name != NULL ? name : "");
    return path;
}

static int64_t file_bytes(const char *folder, const char *name)
{
    char path[160];
    struct stat facts;
    return stat(path_of(path, folder, name), &facts) == 0 ? (int64_t)facts.st_size : -1;
}

/* Makes one and holds its files against what the draft says. */
static void make_and_hold(const struct checkpoint_recipe *recipe, const char *folder, int file_count)
{
    char path[160];
    struct checkpoint_draft draft;
    struct checkpoint_made made;
    struct status error = {0};
    if (checkpoint_draft_make(recipe, &draft, &error) != STATUS_OK ||
        checkpoint_draft_write(&draft, path_of(path, folder, NULL), false, NULL, &made, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(draft.plan.file_count, file_count);
    for (int i = 0; i < draft.plan.file_count; i++) {
        const struct planned_file *file = &draft.plan.files[i];
        assert_int_equal(file_bytes(folder, file->name), file->header_bytes + file->data_bytes);
    }
    assert_int_equal(file_bytes(folder, "config.json"), draft.config_text.length);
    assert_int_equal(file_bytes(folder, "model.safetensors.index.json"),
                     file_count > 1 ? (int64_t)draft.index_text.length : -1);
    assert_true(made.seconds > 0);
    checkpoint_draft_release(&draft);
}

/* Every tensor of the model is there once, and nothing else. */
static void loader_takes_all(const char *folder)
{
    char path[160], *chosen = NULL;
    struct status error = {0};
    struct load_files files = {0};
    struct config config;
    struct skeleton bare, skeleton;
    struct load_plan plan = {0};
    struct device_map_entry entry = {"", {.kind = PLACEMENT_CPU}};
    const struct device_map map = {&entry, 1};
    assert_int_equal(config_read(path_of(path, folder, "config.json"), "made", &config, &error), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_LM, &skeleton, &error), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_BARE, &bare, &error), STATUS_OK);
    assert_int_equal(load_file_choose(path_of(path, folder, NULL), &chosen, &error), STATUS_OK);
    assert_int_equal(load_files_open(chosen, &files, &error), STATUS_OK);
    struct checkpoint_names names = checkpoint_names_of(files.checkpoint, &bare, &skeleton);
    const struct load_request request = {
        .checkpoint = files.checkpoint, .skeleton = &skeleton, .names = &names, .map = &map};
    assert_int_equal(load_plan_make(&request, &plan, &error), STATUS_OK);
    assert_int_equal(plan.missing.count, 0);
    assert_int_equal(plan.unexpected.count, 0);
    assert_int_equal(plan.cast_count, 0);
    load_plan_release(&plan);
    load_files_release(&files);
    skeleton_release(&skeleton);
    skeleton_release(&bare);
    free(chosen);
}

static void what_is_made_is_what_was_drafted(void **state)
{
    (void)state;
    const struct checkpoint_recipe one = recipe_of(INT64_C(1) << 40, 1), several = recipe_of(10000, 1);
    make_and_hold(&one, "one", 1);
    loader_takes_all("one");
    struct checkpoint_draft draft;
    assert_int_equal(checkpoint_draft_make(&several, &draft, NULL), STATUS_OK);
    int file_count = draft.plan.file_count;
    assert_true(file_count > 2);
    checkpoint_draft_release(&draft);
    make_and_hold(&several, "several", file_count);
    loader_takes_all("several");
}

static bool files_equal(const char *a, const char *b)
{
    char path[160];
    int64_t bytes = file_bytes(a, "model.safetensors");
    char *first = whole_file_read(path_of(path, a, "model.safetensors"));
    char *second = whole_file_read(path_of(path, b, "model.safetensors"));
    bool equal = bytes == file_bytes(b, "model.safetensors") && memcmp(first, second, (size_t)bytes) == 0;
    free(first);
    free(second);
    return equal;
}

static void the_seed_decides_the_numbers(void **state)
{
    (void)state;
    const struct checkpoint_recipe first = recipe_of(INT64_C(1) << 40, 7), other = recipe_of(INT64_C(1) << 40, 8);
    make_and_hold(&first, "a", 1);
    make_and_hold(&first, "b", 1);
    make_and_hold(&other, "c", 1);
    assert_true(files_equal("a", "b"));
    assert_false(files_equal("a", "c"));
}

static void refusal_expect(const struct checkpoint_recipe *recipe, const char *folder, bool is_forced,
                           const char *words)
{
    struct checkpoint_draft draft;
    struct checkpoint_made made;
    struct status error = {0};
    assert_int_equal(checkpoint_draft_make(recipe, &draft, NULL), STATUS_OK);
    assert_int_equal(checkpoint_draft_write(&draft, folder, is_forced, NULL, &made, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, words));
    checkpoint_draft_release(&draft);
}

static void what_is_there_stays(void **state)
{
    (void)state;
    char path[160], own[160];
    struct checkpoint_recipe recipe = recipe_of(INT64_C(1) << 40, 7);
    make_and_hold(&recipe, "mine", 1);
    char *before = whole_file_read(path_of(path, "mine", "config.json"));
    refusal_expect(&recipe, path_of(path, "mine", NULL), false, "is not empty");
    recipe.config_path = path_of(own, "mine", "config.json");
    refusal_expect(&recipe, path_of(path, "mine", NULL), true, "is the folder of the model itself");
    char *after = whole_file_read(path_of(path, "mine", "config.json"));
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* Folders that were made for a checkpoint go with it when it cannot be written. */
static void a_failure_leaves_nothing(void **state)
{
    (void)state;
    char path[160];
    struct checkpoint_draft draft;
    struct checkpoint_made made;
    struct status error = {0};
    const struct checkpoint_recipe recipe = recipe_of(INT64_C(1) << 40, 7);
    assert_int_equal(checkpoint_draft_make(&recipe, &draft, NULL), STATUS_OK);
    draft.plan.total_bytes = INT64_MAX / 2; /* more than any disk has free */
    assert_int_equal(checkpoint_draft_write(&draft, path_of(path, "deep/down", NULL), false, NULL, &made, &error),
                     STATUS_IO);
    assert_non_null(strstr(error.text, "are free there"));
    assert_int_equal(access(path_of(path, "deep", NULL), F_OK), -1);
    checkpoint_draft_release(&draft);
}

/* What cannot be read, and what timm would not find, is no draft; nothing is to be released. */
static void a_draft_is_refused(void **state)
{
    (void)state;
    struct checkpoint_draft draft;
    struct status error = {0};
    struct checkpoint_recipe recipe = recipe_of(INT64_C(1) << 40, 7);
    recipe.config_path = "models/catalogue/none/config.json";
    assert_int_equal(checkpoint_draft_make(&recipe, &draft, &error), STATUS_IO);
    recipe.config_path = "models/catalogue/tiny-resnet/config.json";
    recipe.typed = recipe.name = "tiny-resnet";
    recipe.maximum_bytes = 100000;
    assert_int_equal(checkpoint_draft_make(&recipe, &draft, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "timm reads one file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_made_is_what_was_drafted, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(the_seed_decides_the_numbers, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(what_is_there_stays, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(a_failure_leaves_nothing, scratch_make, scratch_remove),
        cmocka_unit_test(a_draft_is_refused),
    };
    return cmocka_run_group_tests_name("checkpoint_make", tests, NULL, NULL);
}
