/* A model over two GPUs, the host and the disk, on the emulated GPUs: each device is asked for what was predicted, and
 * the numbers are the host's. What runs on one GPU reaches no memory of the other
 * (tests/cuda_emulation/emulated/emulated_runtime.cpp). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/replay/placed_replay.h"
#include "models/find/catalogue.h"
#include "models/skeleton/placement.h"
#include "models/workload/workload_tape.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/models/memory_disk.h"
#include "tests/models/remembering_device.h"

enum { GPU0, GPU1, CPU, DISK, PLACES, ENTRIES_MAXIMUM = 8 };

static const struct place four_places[PLACES] = {
    {PLACE_DEVICE, "0"}, {PLACE_DEVICE, "1"}, {PLACE_HOST, "cpu"}, {PLACE_DISK, "disk"}};

struct map {
    const char *model;
    struct placement_entry entries[ENTRIES_MAXIMUM];
};

static const struct map maps[] = {
    {"tiny-llama",
     {{"model.embed_tokens", GPU0},
      {"model.layers.0", GPU1},
      {"model.layers.1", CPU},
      {"model.norm", GPU1},
      {"model.rotary_emb", GPU0},
      {"lm_head", DISK}}},
    {"tiny-gpt2",
     {{"transformer.wte", GPU0},
      {"transformer.wpe", GPU0},
      {"transformer.h.0", GPU1},
      {"transformer.h.1", CPU},
      {"transformer.ln_f", GPU1},
      {"lm_head", GPU0}}},
    {"tiny-bert",
     {{"bert.embeddings", GPU0}, {"bert.encoder.layer.0", DISK}, {"bert.encoder.layer.1", GPU1}, {"cls", GPU0}}},
};

/* -- one run */

struct subject {
    struct config config;
    struct skeleton skeleton;
    struct placement placement;
    struct tape *tape;
    struct memory_disk disk;
    struct last_output last; /* the logits */
};

static void subject_open(struct subject *subject, const struct map *map)
{
    struct status error = {0};
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_INFER);
    struct placement_plan plan = {.place_count = PLACES, .entries = map->entries, .main = -1};
    *subject = (struct subject){0};
    workload.batch = 2;
    workload.seq = 6;
    memcpy(plan.places, four_places, sizeof four_places);
    while (plan.entry_count < ENTRIES_MAXIMUM && map->entries[plan.entry_count].path != NULL) {
        plan.entry_count++;
    }
    enum status_code code = config_find("models/catalogue", map->model, &subject->config, &error);
    code = code == STATUS_OK ? target_find("sm_75", &target, &error) : code;
    code = code == STATUS_OK ? workload_skeleton(&subject->config, &workload, &subject->skeleton, &error) : code;
    code = code == STATUS_OK ? placement_build(&subject->skeleton, &plan, &subject->placement, &error) : code;
    code = code == STATUS_OK ? workload_tape_placed(&subject->config, &subject->skeleton, &workload, target,
                                                    &subject->placement, &subject->tape, &error)
                             : code;
    if (code != STATUS_OK) {
        fail_msg("%s: %s", map->model, error.text);
    }
}

static void subject_close(struct subject *subject)
{
    tape_release(subject->tape);
    placement_release(&subject->placement);
    skeleton_release(&subject->skeleton);
    memory_disk_release(&subject->disk);
    free(subject->last.bytes);
}

static void subject_run(struct subject *subject, const char *const specs[PLACES], struct placed_result *result)
{
    struct status error = {0};
    struct remembering devices[PLACES];
    struct replay_lane lanes[PLACES];
    bool computes = strcmp(specs[CPU], "meta") != 0;
    struct placed_store store = memory_disk_store(&subject->disk);
    for (int i = 0; i < PLACES; i++) {
        struct device *inner = NULL;
        if (device_open(specs[i], &inner, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        remembering_wrap(&devices[i], inner, &subject->last);
        lanes[i] = (struct replay_lane){.device = computes && i != DISK ? &devices[i].passing.base : inner,
                                        .policy = i < CPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN,
                                        .store = i == DISK && computes ? &store : NULL};
    }
    struct tape_view view = tape_view(subject->tape);
    if (placed_replay_run(&view, lanes, PLACES, NULL, result, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int i = 0; i < PLACES; i++) {
        device_close(devices[i].passing.inner);
    }
}

/* The logits of the host and of the GPUs. */
static void logits_compare(const char *model, const struct last_output *host, const struct last_output *gpus)
{
    const float *expected = (const void *)host->bytes, *got = (const void *)gpus->bytes;
    assert_true(host->count > 0);
    assert_int_equal(gpus->count, host->count);
    for (int64_t k = 0; k < host->count / (int64_t)sizeof(float); k++) {
        if (!(fabsf(got[k] - expected[k]) <= 1e-5f + 1e-4f * fabsf(expected[k]))) {
            fail_msg("%s: logit %lld is %.9g, and %.9g on the host", model, (long long)k, (double)got[k],
                     (double)expected[k]);
        }
    }
}

static void two_gpus_compute_what_the_host_does(void **state)
{
    (void)state;
    static const char *const meta[PLACES] = {"meta", "meta", "meta", "meta"};
    static const char *const gpus[PLACES] = {"cuda:0", "cuda:1", "host", "meta"};
    static const char *const hosts[PLACES] = {"host", "host", "host", "meta"};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        static struct placed_result predicted, measured;
        struct subject subject, on_host;
        subject_open(&on_host, &maps[i]);
        subject_run(&on_host, meta, &predicted);
        subject_run(&on_host, hosts, &measured);
        subject_open(&subject, &maps[i]);
        subject_run(&subject, gpus, &measured);
        logits_compare(maps[i].model, &on_host.last, &subject.last);
        subject_close(&on_host);
        for (int place = 0; place < PLACES; place++) {
            assert_true(predicted.lanes[place].sequence_hash == measured.lanes[place].sequence_hash);
            assert_int_equal(predicted.lanes[place].reserved_bytes_peak, measured.lanes[place].reserved_bytes_peak);
        }
        for (int place = GPU0; place <= GPU1;
             place++) { /* what the driver says of each GPU is what its own allocator holds */
            const struct replay_stage *stages = measured.lanes[place].stages;
            assert_int_equal(stages[STAGE_FORWARD].reading.device_bytes - stages[STAGE_CONTEXT].reading.device_bytes,
                             stages[STAGE_FORWARD].reserved_bytes);
        }
        assert_true(measured.copied_bytes[GPU0][GPU1] + measured.copied_bytes[GPU1][GPU0] > 0);
        subject_close(&subject);
    }
}

/* Each GPU tells what it holds itself, whichever was opened or used last. */
static void each_gpu_tells_of_itself(void **state)
{
    (void)state;
    struct status error = {0};
    struct device *devices[2] = {NULL, NULL};
    struct device_reading before[2], after[2];
    void *address = NULL;
    const int64_t bytes = 8 << 20;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(device_open(i == 0 ? "cuda:0" : "cuda:1", &devices[i], &error), STATUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(devices[i]->table->read_memory(devices[i], &before[i], &error), STATUS_OK);
    }
    assert_int_equal(devices[0]->table->segment_alloc(devices[0], bytes, &address, &error), STATUS_OK);
    for (int i = 1; i >= 0; i--) {
        assert_int_equal(devices[i]->table->read_memory(devices[i], &after[i], &error), STATUS_OK);
        assert_int_equal(after[i].device_bytes - before[i].device_bytes, i == 0 ? bytes : 0);
    }
    assert_int_equal(devices[0]->table->segment_free(devices[0], address, bytes, &error), STATUS_OK);
    device_close(devices[0]); /* the handles of the first, while the second is the one that was used last */
    device_close(devices[1]);
}

/* Not of that which was used last. The first launch tries whether there is code for the GPU, and loads a kernel. */
static void opening_a_gpu_tries_that_gpu(void **state)
{
    (void)state;
    struct status error = {0};
    struct device *devices[2] = {NULL, NULL};
    struct device_reading readings[2];
    assert_int_equal(setenv("EMULATED_DRIVER", "context:300000007 kernel:10007", 1), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(device_open(i == 0 ? "cuda:0" : "cuda:1", &devices[i], &error), STATUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(devices[i]->table->read_memory(devices[i], &readings[i], &error), STATUS_OK);
        assert_int_equal(readings[i].device_bytes, 300000007 + 10007);
        device_close(devices[i]);
    }
    assert_int_equal(unsetenv("EMULATED_DRIVER"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_a_gpu_tries_that_gpu), /* the first: what was launched stays */
        cmocka_unit_test(two_gpus_compute_what_the_host_does),
        cmocka_unit_test(each_gpu_tells_of_itself),
    };
    setenv("EMULATED_APART", "1", 1); /* read with the first memory that is taken */
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
