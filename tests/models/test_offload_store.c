/* A model whose last layer lies on the disk, run with an offload folder of accelerate as that disk: what the tape
 * fetches is what it sent, a folder of other weights is told, and so is a file that goes or is cut while the model
 * runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/replay/offload_store.h"
#include "models/find/catalogue.h"
#include "models/skeleton/placement.h"
#include "models/workload/workload_tape.h"
#include "tests/support/scratch_folder.h"

enum { GPU0, CPU, DISK, PLACES, KEPT_MAXIMUM = 32 };

static const char cut_label[] = "model.layers.1.mlp.down_proj.weight";

/* Between the replay and the store: remembers what was sent, and may harm a file before it is fetched. */
struct witness {
    struct placed_store store;
    struct offload_store *inner;
    const char *folder;
    struct {
        const char *label;
        void *bytes;
    } kept[KEPT_MAXIMUM];
    int kept_count, read_count;
    int64_t cut_to; /* of cut_label's file; -1: it is removed; -2: nothing happens */
};

static enum status_code witness_write(void *context, const struct stored_tensor *tensor, const void *bytes,
                                      struct status *error)
{
    struct witness *witness = context;
    assert_true(witness->kept_count < KEPT_MAXIMUM);
    void *copy = malloc((size_t)tensor->bytes + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, (size_t)tensor->bytes);
    witness->kept[witness->kept_count].label = tensor->label;
    witness->kept[witness->kept_count++].bytes = copy;
    return witness->inner->store.write(witness->inner, tensor, bytes, error);
}

static enum status_code witness_read(void *context, const struct stored_tensor *tensor, void *bytes,
                                     struct status *error)
{
    struct witness *witness = context;
    char path[256];
    snprintf(path, sizeof path, "%s/%s.dat", witness->folder, tensor->label);
    if (witness->cut_to != -2 && strcmp(tensor->label, cut_label) == 0) {
        assert_int_equal(witness->cut_to < 0 ? unlink(path) : truncate(path, witness->cut_to), 0);
    }
    enum status_code code = witness->inner->store.read(witness->inner, tensor, bytes, error);
    for (int i = 0; i < witness->kept_count && code == STATUS_OK; i++) {
        if (strcmp(witness->kept[i].label, tensor->label) == 0) {
            assert_memory_equal(witness->kept[i].bytes, bytes, (size_t)tensor->bytes);
            witness->read_count++;
        }
    }
    return code;
}

struct scene {
    char root[64], folder[96];
    struct config config;
    struct skeleton skeleton;
    struct workload workload;
    struct placement placement;
    struct tape *tape;
};

static int scene_make(void **state)
{
    static const struct placement_entry entries[] = {
        {"model.embed_tokens", GPU0}, {"model.layers.0", CPU},    {"model.layers.1", DISK},
        {"model.norm", GPU0},         {"model.rotary_emb", GPU0}, {"lm_head", DISK},
    };
    struct scene *scene = calloc(1, sizeof *scene);
    struct status error = {0};
    const struct target *target = NULL;
    if (scene == NULL) {
        return -1;
    }
    *state = scene;
    snprintf(scene->root, sizeof scene->root, "/tmp/assay-store-XXXXXX");
    assert_non_null(mkdtemp(scene->root));
    snprintf(scene->folder, sizeof scene->folder, "%s/weights", scene->root);
    scene->workload = workload_default(MODE_INFER);
    scene->workload.batch = 1;
    scene->workload.seq = 4;
    struct placement_plan plan = {.places = {{PLACE_DEVICE, "0"}, {PLACE_HOST, "cpu"}, {PLACE_DISK, "disk"}},
                                  .place_count = PLACES,
                                  .entries = entries,
                                  .entry_count = sizeof entries / sizeof entries[0],
                                  .main = -1};
    assert_int_equal(config_find("models/catalogue", "tiny-llama", &scene->config, &error), STATUS_OK);
    assert_int_equal(workload_skeleton(&scene->config, &scene->workload, &scene->skeleton, &error), STATUS_OK);
    assert_int_equal(target_find("host", &target, &error), STATUS_OK);
    assert_int_equal(placement_build(&scene->skeleton, &plan, &scene->placement, &error), STATUS_OK);
    assert_int_equal(workload_tape_placed(&scene->config, &scene->skeleton, &scene->workload, target, &scene->placement,
                                          &scene->tape, &error),
                     STATUS_OK);
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    tape_release(scene->tape);
    placement_release(&scene->placement);
    skeleton_release(&scene->skeleton);
    int removed = scratch_folder_remove(scene->root);
    free(scene);
    return removed;
}

struct run {
    struct offload_totals totals;
    struct placed_result result;
    int write_count, read_count;
    int64_t read_bytes;
};

static enum status_code model_run(struct scene *scene, int64_t cut_to, struct run *run, struct status *error)
{
    struct offload_store store;
    struct device *devices[PLACES];
    struct replay_lane lanes[PLACES];
    struct witness witness = {.store = {.write = witness_write, .read = witness_read, .context = &witness},
                              .inner = &store,
                              .folder = scene->folder,
                              .cut_to = cut_to};
    struct tape_view view = tape_view(scene->tape);
    *run = (struct run){0};
    assert_int_equal(offload_store_open(scene->folder, OFFLOAD_KEEP, &store, error), STATUS_OK);
    for (int i = 0; i < PLACES; i++) {
        assert_int_equal(device_open(i == DISK ? "meta" : "host", &devices[i], error), STATUS_OK);
        lanes[i] = (struct replay_lane){.device = devices[i],
                                        .policy = i == GPU0 ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN,
                                        .store = i == DISK ? &witness.store : NULL};
    }
    enum status_code code = placed_replay_run(&view, lanes, PLACES, NULL, &run->result, error);
    run->totals = offload_writer_totals(store.writer);
    run->read_bytes = store.read_bytes;
    run->write_count = witness.kept_count;
    run->read_count = witness.read_count;
    if (code == STATUS_OK) {
        code = offload_store_finish(&store, error);
    } else {
        offload_store_abandon(&store);
    }
    for (int i = 0; i < PLACES; i++) {
        device_close(devices[i]);
    }
    for (int i = 0; i < witness.kept_count; i++) {
        free(witness.kept[i].bytes);
    }
    return code;
}

static void a_run_fetches_what_it_sent(void **state)
{
    struct scene *scene = *state;
    struct status error = {0};
    struct run first, second;
    if (model_run(scene, -2, &first, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_true(first.write_count > 9 && first.read_count >= first.write_count);
    assert_int_equal(first.totals.written_count, first.write_count);
    assert_int_equal(first.totals.kept_count, 0);
    assert_int_equal(first.totals.written_bytes, first.result.copied_bytes[CPU][DISK]);
    assert_int_equal(first.read_bytes, first.result.copied_bytes[DISK][CPU]);
    assert_int_equal(model_run(scene, -2, &second, &error), STATUS_OK); /* the same weights: they stay */
    assert_int_equal(second.totals.written_count, 0);
    assert_int_equal(second.totals.kept_count, first.write_count);
    assert_int_equal(second.read_count, first.read_count);
}

static void other_weights_are_told(void **state)
{
    struct scene *scene = *state;
    struct status error = {0};
    struct run run;
    char path[256];
    assert_int_equal(model_run(scene, -2, &run, &error), STATUS_OK);
    snprintf(path, sizeof path, "%s/%s.dat", scene->folder, cut_label);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fputc(0x55, file), 0x55);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(model_run(scene, -2, &run, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "it has other values of 'model.layers.1.mlp.down_proj.weight' than the model"));
}

static void a_file_that_goes_or_is_cut_is_told(void **state)
{
    struct scene *scene = *state;
    struct status error = {0};
    struct run run;
    assert_int_equal(model_run(scene, 10, &run, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "model.layers.1.mlp.down_proj.weight.dat: it has 10 bytes, and float32 ["));
    assert_int_equal(access(scene->folder, F_OK), -1); /* an interrupted run leaves nothing */
    assert_int_equal(model_run(scene, -1, &run, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "down_proj.weight.dat: cannot be opened: No such file or directory, and "));
    assert_int_equal(access(scene->folder, F_OK), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_run_fetches_what_it_sent),
        TEST(other_weights_are_told),
        TEST(a_file_that_goes_or_is_cut_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
