/* Whole models on the emulated GPU: the sequence and the bytes predicted on meta, and the host's loss and tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/replay/replay.h"
#include "tests/models/tape_machine.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"

/* tolerance: of the loss, relative. Several steps amplify what the order of a sum changes in the last place. */
static void training_agrees(const char *model, const struct workload *workload, double tolerance)
{
    struct modelled modelled = {0};
    modelled_require(&modelled, model, workload, "sm_75");
    struct tape_view view = tape_view(modelled.tape);
    struct replay_result predicted = replay_on(&view, "meta");
    struct replay_result gpu = replay_on(&view, "cuda:0"), host = replay_on(&view, "host");
    assert_true(predicted.sequence_hash == gpu.sequence_hash);
    for (int i = 0; i < STAGE_COUNT; i++) {
        assert_int_equal(predicted.stages[i].allocated_bytes_peak, gpu.stages[i].allocated_bytes_peak);
        assert_int_equal(predicted.stages[i].reserved_bytes_peak, gpu.stages[i].reserved_bytes_peak);
    }
    assert_true(gpu.loss_valid && host.loss_valid);
    if (!(fabs(gpu.loss - host.loss) <= tolerance * host.loss)) {
        fail_msg("%s: the loss is %.9g and %.9g on the host", model, gpu.loss, host.loss);
    }
    modelled_close(&modelled);
}

static void text_models_train_as_on_the_host(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-bert", "tiny-gpt2", "tiny-llama"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct workload train = workload_default(MODE_TRAIN);
        train.batch = 2;
        train.seq = 16;
        train.attention = ATTENTION_EAGER;
        training_agrees(models[i], &train, 1e-5);
        train.attention = ATTENTION_SDPA;
        training_agrees(models[i], &train, 1e-5);
    }
}

static void image_models_train_as_on_the_host(void **state)
{
    (void)state;
    struct workload train = workload_default(MODE_TRAIN);
    train.batch = 2;
    train.attention = ATTENTION_SDPA;
    training_agrees("tiny-vit", &train, 1e-5);
    training_agrees("tiny-resnet", &train, 1e-4);
}

/* Rows whose targets do not count, and a loss that is divided before its gradient is taken. */
static void the_fused_loss_trains_as_on_the_host(void **state)
{
    (void)state;
    static const enum precision precisions[] = {PRECISION_FLOAT32, PRECISION_BFLOAT16, PRECISION_AMP_FLOAT16};
    for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++) {
        struct workload train = workload_default(MODE_TRAIN);
        train.batch = 2;
        train.seq = 16;
        train.loss = LOSS_FUSED;
        train.padding = true;
        train.accumulate = 2;
        train.precision = precisions[i];
        double tolerance = precisions[i] == PRECISION_FLOAT32 ? 1e-5 : 1e-2;
        training_agrees("tiny-bert", &train, tolerance);
        training_agrees("tiny-gpt2", &train, tolerance);
    }
}

/* The ids of a generation on a device. At most `count` are written. */
static int64_t ids_on(const char *device, const char *model, const struct workload *workload, int64_t count,
                      int64_t *ids)
{
    struct tape_machine machine;
    struct status error = {0};
    char path[128];
    snprintf(path, sizeof path, "models/catalogue/%s/config.json", model);
    machine_open(&machine, path, workload, 1, 0.0);
    device_close(machine.device);
    if (device_open(device, &machine.device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_false(machine_run_until(&machine, STAGE_COUNT, 1));
    int storage = machine_find(&machine, CATEGORY_INPUTS, "sequences");
    assert_true(storage >= 0 && machine_bytes(&machine, storage) <= count * (int64_t)sizeof *ids);
    if (machine.device->table->copy_to_host(machine.device, ids, machine.memory[storage],
                                            machine_bytes(&machine, storage), &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    int64_t written = machine_bytes(&machine, storage) / (int64_t)sizeof *ids;
    machine_close(&machine);
    return written;
}

static void text_models_generate_as_on_the_host(void **state)
{
    enum { IDS_MAXIMUM = 256 };
    static const char *const models[] = {"tiny-gpt2", "tiny-llama"};
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        int64_t gpu[IDS_MAXIMUM], host[IDS_MAXIMUM];
        struct workload generate = workload_default(MODE_GENERATE);
        generate.batch = 2;
        generate.seq = 8;
        generate.new_tokens = 6;
        generate.cache = kind & 1 ? CACHE_STATIC : CACHE_DYNAMIC;
        generate.beams = kind & 2 ? 3 : 1;
        const char *model = models[kind >> 2];
        int64_t count = ids_on("cuda:0", model, &generate, IDS_MAXIMUM, gpu);
        assert_int_equal(count, ids_on("host", model, &generate, IDS_MAXIMUM, host));
        assert_memory_equal(gpu, host, (size_t)count * sizeof *gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_models_train_as_on_the_host),
        cmocka_unit_test(image_models_train_as_on_the_host),
        cmocka_unit_test(the_fused_loss_trains_as_on_the_host),
        cmocka_unit_test(text_models_generate_as_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
