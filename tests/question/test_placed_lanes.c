/* The disk of a plan that is carried out is an offload folder: a temporary one is there while it runs and gone
 * afterwards, however that ends; a named one stays, can be read, and is taken again; a disk that is full is told with
 * its remedy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/question/placed_lanes.h"
#include "tests/question/placed_scene.h"
#include "tests/support/scratch_folder.h"

#define MIB ((int64_t)1 << 20)

enum { DISK_TENSORS = 10 }; /* a block has nine, and the head has one */

static const struct device_map_entry entries[] = {
    {"model.embed_tokens", {PLACEMENT_GPU, 0}}, {"model.layers.0", {PLACEMENT_CPU, 0}},
    {"model.layers.1", {PLACEMENT_DISK, 0}},    {"model.norm", {PLACEMENT_GPU, 0}},
    {"model.rotary_emb", {PLACEMENT_GPU, 0}},   {"lm_head", {PLACEMENT_DISK, 0}},
};

struct disk_scene {
    char root[40], named[64];
    struct placed_scene scene;
    struct placed_tape placed;
    struct placed_lanes lanes;
    int asked, stops_at; /* before which operation; -1: it runs through */
};

static int scene_make(void **state)
{
    struct disk_scene *disk = calloc(1, sizeof *disk);
    const struct device_map map = {(struct device_map_entry *)entries, sizeof entries / sizeof entries[0]};
    assert_non_null(disk);
    *state = disk;
    snprintf(disk->root, sizeof disk->root, "/tmp/assay-lanes-XXXXXX");
    assert_non_null(mkdtemp(disk->root));
    snprintf(disk->named, sizeof disk->named, "%s/named", disk->root);
    setenv("TMPDIR", disk->root, 1);
    placed_scene_open(&disk->scene, "tiny-llama", "float32");
    placed_scene_budgets(&disk->scene, 1000 * MIB, 0, 1000 * MIB);
    assert_int_equal(placed_tape_build(&disk->scene.question, &map, &disk->placed, NULL), STATUS_OK);
    disk->stops_at = -1;
    return 0;
}

static int scene_remove(void **state)
{
    struct disk_scene *disk = *state;
    placed_lanes_close(&disk->lanes);
    placed_tape_release(&disk->placed);
    placed_scene_close(&disk->scene);
    unsetenv("TMPDIR");
    int removed = scratch_folder_remove(disk->root);
    free(disk);
    return removed;
}

static bool stops(void *context)
{
    struct disk_scene *disk = context;
    return disk->asked++ == disk->stops_at;
}

/* Opened, run and, where all of it is there, kept; closed by the caller. */
static enum status_code disk_run(struct disk_scene *disk, const char *folder, struct offload_totals *totals,
                                 struct status *error)
{
    struct placed_outcome outcome;
    const struct placed_options options = {.stops = stops, .context = disk};
    enum status_code code = placed_lanes_open_in(&disk->placed, PLACED_ON_HOST, folder, &disk->lanes, error);
    disk->asked = 0;
    if (code == STATUS_OK) {
        code = placed_tape_run_with(&disk->placed, disk->lanes.lanes, &options, &outcome, error);
    }
    return code == STATUS_OK ? placed_lanes_keep(&disk->lanes, totals, error) : code;
}

/* What is in the folder; *name: one of it. */
static int entry_count(const char *folder, char name[NAME_MAX + 1])
{
    DIR *opened = opendir(folder);
    int count = 0;
    assert_non_null(opened);
    for (const struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
            count++;
        }
    }
    closedir(opened);
    return count;
}

static void a_temporary_folder_goes_with_the_lanes(void **state)
{
    struct disk_scene *disk = *state;
    struct offload_totals totals;
    struct status error = {0};
    char name[NAME_MAX + 1], inside[NAME_MAX + 1];
    if (disk_run(disk, NULL, &totals, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(totals.written_count, 0); /* nothing is kept */
    assert_int_equal(entry_count(disk->root, name), 1);
    assert_memory_equal(name, "assay-offload-", 14);
    assert_int_equal(entry_count(disk->lanes.folder, inside), DISK_TENSORS);
    assert_non_null(strstr(inside, ".dat"));
    placed_lanes_close(&disk->lanes);
    assert_int_equal(entry_count(disk->root, name), 0);
    assert_string_equal(disk->lanes.specs[2], "disk"); /* what it was called is left */
    placed_lanes_close(&disk->lanes);
}

static void a_named_folder_stays_and_is_taken_again(void **state)
{
    struct disk_scene *disk = *state;
    struct offload_totals totals;
    struct status error = {0};
    struct offload_folder *folder = NULL;
    struct offload_entry entry;
    if (disk_run(disk, disk->named, &totals, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(totals.written_count, DISK_TENSORS);
    assert_int_equal(totals.written_bytes, disk->placed.placed_bytes[2]);
    placed_lanes_close(&disk->lanes);
    assert_int_equal(offload_folder_open(disk->named, &folder, &error), STATUS_OK);
    assert_int_equal(offload_folder_count(folder), DISK_TENSORS);
    assert_int_equal(offload_entry_read(folder, "model.layers.1.mlp.down_proj.weight", &entry, &error), STATUS_OK);
    assert_string_equal(entry.type->name, "float32");
    offload_folder_close(folder);
    assert_int_equal(disk_run(disk, disk->named, &totals, &error), STATUS_OK); /* the same weights */
    assert_int_equal(totals.written_count, 0);
    assert_int_equal(totals.kept_count, DISK_TENSORS);
    placed_lanes_close(&disk->lanes);
}

/* Stopped in sixteen places: nothing is left, wherever that was. */
static void an_interrupted_run_leaves_nothing(void **state)
{
    struct disk_scene *disk = *state;
    struct offload_totals totals;
    char name[NAME_MAX + 1];
    assert_int_equal(disk_run(disk, NULL, &totals, NULL), STATUS_OK);
    placed_lanes_close(&disk->lanes);
    int operations = disk->asked;
    assert_true(operations > 40);
    int turn = 0;
    for (int at = 0; at < operations; at += 1 + operations / 16) {
        struct status error = {0};
        disk->stops_at = at;
        assert_int_equal(disk_run(disk, turn++ % 2 == 0 ? disk->named : NULL, &totals, &error), STATUS_UNAVAILABLE);
        assert_non_null(strstr(error.text, "the run was interrupted in stage "));
        placed_lanes_close(&disk->lanes);
        assert_int_equal(entry_count(disk->root, name), 0);
    }
}

static void a_full_disk_is_told_and_leaves_nothing(void **state)
{
    struct disk_scene *disk = *state;
    struct offload_totals totals;
    struct status error = {0};
    struct rlimit before, small = {4096, 4096};
    char name[NAME_MAX + 1];
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    enum status_code code = disk_run(disk, NULL, &totals, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(code, STATUS_IO);
    if (strstr(error.text, "cannot be written: File too large; set TMPDIR to a folder with room, or name one") ==
        NULL) {
        fail_msg("%s", error.text);
    }
    placed_lanes_close(&disk->lanes);
    assert_int_equal(entry_count(disk->root, name), 0);
}

static void a_folder_that_cannot_be_made_is_told(void **state)
{
    struct disk_scene *disk = *state;
    struct offload_totals totals;
    struct status error = {0};
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_int_equal(disk_run(disk, NULL, &totals, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "device disk: /nowhere/at/all: no folder can be made"));
    assert_non_null(strstr(error.text, "set TMPDIR"));
}

/* A folder of other weights is not written over. */
static void other_weights_are_told(void **state)
{
    struct disk_scene *disk = *state;
    struct offload_totals totals;
    struct status error = {0};
    char path[160];
    assert_int_equal(disk_run(disk, disk->named, &totals, &error), STATUS_OK);
    placed_lanes_close(&disk->lanes);
    snprintf(path, sizeof path, "%s/model.layers.1.mlp.down_proj.weight.dat", disk->named);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fputc(0x55, file), 0x55);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(disk_run(disk, disk->named, &totals, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "it has other values of 'model.layers.1.mlp.down_proj.weight'"));
    placed_lanes_close(&disk->lanes);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_temporary_folder_goes_with_the_lanes), TEST(a_named_folder_stays_and_is_taken_again),
        TEST(an_interrupted_run_leaves_nothing),      TEST(a_full_disk_is_told_and_leaves_nothing),
        TEST(a_folder_that_cannot_be_made_is_told),   TEST(other_weights_are_told),
    };
    return cmocka_run_group_tests_name("placed_lanes", tests, NULL, NULL);
}
