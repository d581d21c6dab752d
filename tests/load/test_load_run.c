/* A load carried out: every element arrives, in every type, wherever it is put; and no memory is held but what is
 * planned. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/passing_device.h"
#include "harness/kernels/convert.h"
#include "harness/load/element_cast.h"
#include "tests/load/load_fixture.h"
#include "tests/support/sanitized.h"

#define GPU(number)                                                                                                    \
    {                                                                                                                  \
        PLACEMENT_GPU, number                                                                                          \
    }
#define CPU                                                                                                            \
    {                                                                                                                  \
        .kind = PLACEMENT_CPU                                                                                          \
    }
#define DISK                                                                                                           \
    {                                                                                                                  \
        .kind = PLACEMENT_DISK                                                                                         \
    }

static const char *const whole[] = {"model.safetensors", NULL}, *const sharded[] = {"model.safetensors.index.json",
                                                                                    NULL};

static struct device_map_entry everywhere_entries[] = {{"", CPU},
                                                       {"model.embed_tokens", GPU(0)},
                                                       {"model.layers.0", GPU(1)},
                                                       {"model.layers.1.mlp", DISK},
                                                       {"model.layers.0.self_attn.q_proj.weight", CPU}};
static const struct device_map everywhere = {everywhere_entries, 5};
static const char *const everywhere_specs[] = {"host", "host", "host", "disk", NULL};

static void values_check(const struct load_fixture *fixture, const struct loaded *loaded)
{
    for (int i = 0; i < fixture->plan.target_count; i++) {
        const struct load_target *target = &fixture->plan.targets[i];
        for (int64_t k = 0; k < target->element_count; k++) {
            double value = fixture_value(fixture, loaded, i, k), expected = stored_value(target->path, k);
            if (value != expected) {
                fail_msg("%s[%" PRId64 "] is %g, not %g", target->path, k, value, expected);
            }
        }
    }
}

static void load_check(const char *stored, const char *type, int shard_count)
{
    struct load_fixture fixture;
    struct loaded *loaded = NULL;
    struct status error = {0};
    struct arena arena = {0};
    struct load_result predicted = {0};
    struct files_request files = {
        .stored = stored, .names = shard_count > 1 ? sharded : whole, .shard_count = shard_count, .format = "pt"};
    fixture_open(&fixture, "tiny-llama", 0, &files);
    fixture_plan(&fixture, &everywhere, safetensors_type(type), everywhere_specs);
    if (load_run(&fixture.plan, &fixture.files, fixture.lanes, NULL, &loaded, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    values_check(&fixture, loaded);
    const struct load_result *result = loaded_result(loaded);
    assert_int_equal(load_predict(&fixture.plan, fixture.lanes, &arena, &predicted, NULL), STATUS_OK);
    assert_int_equal(result->read_bytes, fixture.plan.stored_bytes);
    for (int i = 0; i < fixture.plan.place_count; i++) {
        bool is_disk = fixture.lanes[i].store != NULL;
        const struct load_share *share = &result->shares[i];
        assert_true(fixture.plan.places[i].bytes > 0);
        assert_int_equal(share->requested_bytes_peak, is_disk ? 0 : fixture.plan.places[i].bytes);
        assert_int_equal(share->requested_bytes, share->requested_bytes_peak);
        assert_int_equal(share->stored_bytes, is_disk ? fixture.plan.places[i].bytes : 0);
        assert_memory_equal(share, &predicted.shares[i], sizeof *share);
    }
    assert_int_equal(result->host_bytes_predicted, predicted.host_bytes_predicted);
    assert_int_equal(result->in_flight_bytes_peak, predicted.in_flight_bytes_peak);
    arena_release(&arena);
    assert_int_equal(loaded_release(loaded, NULL), STATUS_OK);
    fixture_close(&fixture);
}

static void every_element_arrives(void **state)
{
    static const char *const types[] = {"F32", "F16", "BF16"};
    (void)state;
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            load_check(types[from], types[to], 1 + 2 * (to % 2));
        }
    }
}

/* A device that is not the host's own memory, as far as a loader can tell: bytes reach it through copies alone. */
struct far_device {
    struct passing_device passing;
    int64_t copied_bytes, longest_copy_bytes;
};

static enum status_code far_properties(struct device *device, struct device_properties *properties,
                                       struct status *error)
{
    struct device *near = passing_device_inner(device);
    enum status_code code = near->table->properties(near, properties, error);
    snprintf(properties->kind, sizeof properties->kind, "cuda");
    return code;
}

static enum status_code far_copy(struct device *device, void *address, const void *host, int64_t bytes,
                                 struct status *error)
{
    struct far_device *self = (struct far_device *)device;
    self->copied_bytes += bytes;
    self->longest_copy_bytes = bytes > self->longest_copy_bytes ? bytes : self->longest_copy_bytes;
    return self->passing.inner->table->copy_from_host(self->passing.inner, address, host, bytes, error);
}

/* Two tensors of 6,400,000 bytes, each more than a staging buffer holds. */
static void gpus_are_filled_through_the_staging_buffer(void **state)
{
    enum { VOCAB = 50000 };
    static struct device_map_entry entries[] = {{"", GPU(0)}};
    static const struct device_map on_gpu = {entries, 1};
    static const char *const specs[] = {"host", NULL}, *const types[] = {"F32", "BF16"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct load_fixture fixture;
        struct loaded *loaded = NULL;
        struct status error = {0};
        struct files_request files = {.stored = "F32", .names = whole, .shard_count = 1, .format = "pt"};
        fixture_open(&fixture, "tiny-llama", VOCAB, &files);
        fixture_plan(&fixture, &on_gpu, safetensors_type(types[i]), specs);
        struct far_device far = {0};
        passing_device_open(&far.passing, fixture.devices[0], "cuda");
        far.passing.table.properties = far_properties;
        far.passing.table.copy_from_host = far_copy;
        fixture.lanes[0].device = &far.passing.base;
        if (load_run(&fixture.plan, &fixture.files, fixture.lanes, NULL, &loaded, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        values_check(&fixture, loaded);
        assert_int_equal(far.copied_bytes, fixture.plan.places[0].bytes);
        assert_int_equal(far.longest_copy_bytes, i == 0 ? LOAD_PIECE_BYTES : LOAD_PIECE_BYTES / 2);
        assert_int_equal(loaded_result(loaded)->host_bytes_predicted, LOAD_STAGING_BYTES);
        assert_int_equal(loaded_release(loaded, NULL), STATUS_OK);
        fixture_close(&fixture);
    }
}

/* Rounding is that of float_store, which tests/kernels hold against IEEE; what counts here is that each loop is the one
 * of its pair, and that a tensor may begin at any byte. */
static void casts_round_to_nearest_even(void **state)
{
    static const char *const types[] = {"F32", "F16", "BF16"};
    static const float values[] = {1.00048828125f, 65519.0f,  65520.0f, 1.00390625f,
                                   1.01171875f,    -2.98e-8f, 5.96e-8f, 3e38f};
    enum { COUNT = sizeof values / sizeof values[0] };
    unsigned char source[COUNT * 8 + 1], target[COUNT * 4], expected[COUNT * 4];
    (void)state;
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            const struct storage_type *from_type = safetensors_type(types[from]),
                                      *to_type = safetensors_type(types[to]);
            unsigned char aligned[COUNT * 8];
            for (int i = 0; i < COUNT; i++) {
                float_store(aligned, from_type->dtype, i, values[i]);
                float_store(expected, to_type->dtype, i, float_load(aligned, from_type->dtype, i));
            }
            memcpy(source + 1, aligned, sizeof aligned);
            elements_cast(to_type, target, from_type, source + 1, COUNT);
            assert_memory_equal(target, expected, (size_t)(COUNT * to_type->block_bytes));
        }
    }
    double wide = 1.0 + 0x1p-11 + 0x1p-30; /* to float32 exactly above the tie, to float16 up */
    uint16_t half = 0;
    elements_cast(safetensors_type("F16"), &half, safetensors_type("F64"), &wide, 1);
    assert_int_equal(half, float_to_float16((float)wide));
    assert_false(storage_type_is_cast(safetensors_type("F8_E4M3")));
    assert_false(storage_type_is_cast(safetensors_type("I64")));
}

/* Expert 3 of a layer lies behind three others in the tensor that joins them, its up_proj below its gate_proj. */
static void experts_are_joined(void **state)
{
    struct load_fixture fixture;
    struct loaded *loaded = NULL;
    struct status error = {0};
    static struct device_map_entry entries[] = {{"", CPU}, {"model.layers.1", DISK}};
    const struct device_map map = {entries, 2};
    static const char *const specs[] = {"host", "disk", NULL};
    struct files_request files = {
        .stored = "BF16", .names = sharded, .shard_count = 2, .format = "pt", .splits_experts = true};
    int joined = 0;
    (void)state;
    fixture_open(&fixture, "tiny-qwen3-moe", 0, &files);
    fixture_plan(&fixture, &map, safetensors_type("F32"), specs);
    assert_int_equal(fixture.plan.missing.count, 0);
    assert_int_equal(fixture.plan.unexpected.count, 0);
    if (load_run(&fixture.plan, &fixture.files, fixture.lanes, NULL, &loaded, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int i = 0; i < fixture.plan.target_count; i++) {
        const struct skeleton_tensor *row = &fixture.headed.tensors[fixture.plan.targets[i].tensor];
        if (strstr(row->path, "experts.gate_up_proj") == NULL) {
            continue;
        }
        char name[128];
        int64_t half = row->size[1] / 2, width = row->size[2];
        snprintf(name, sizeof name, "%.*s3.up_proj.weight", (int)(strstr(row->path, "gate_up") - row->path), row->path);
        for (int64_t k = 0; k < half * width; k++) {
            assert_true(fixture_value(&fixture, loaded, i, (3 * 2 + 1) * half * width + k) == stored_value(name, k));
        }
        joined++;
    }
    assert_int_equal(joined, 2);
    assert_int_equal(loaded_release(loaded, NULL), STATUS_OK);
    fixture_close(&fixture);
}

/* Two tensors of 20 MiB: one goes to the disk, one to the host, and they are never both there. */
static void host_peak_is_the_larger_part(void **state)
{
    struct load_fixture fixture;
    struct loaded *loaded = NULL;
    struct status error = {0};
    struct device_reading before = {0}, after = {0};
    static struct device_map_entry entries[] = {{"", CPU}, {"model.embed_tokens", DISK}};
    const struct device_map map = {entries, 2};
    static const char *const specs[] = {"host", "disk", NULL};
    enum { VOCAB = 163840, SLACK_BYTES = 2 << 20 };
    struct files_request files = {.stored = "F32", .names = whole, .shard_count = 1, .format = "pt"};
    (void)state;
    if (IS_SANITIZED) {
        skip(); /* the sanitizer's own memory counts as the process's */
    }
    fixture_open(&fixture, "tiny-llama", VOCAB, &files);
    fixture_plan(&fixture, &map, NULL, specs);
    struct device *host = fixture.devices[0];
    assert_int_equal(host->table->reset_peak(host, NULL), STATUS_OK);
    assert_int_equal(host->table->read_memory(host, &before, NULL), STATUS_OK);
    if (load_run(&fixture.plan, &fixture.files, fixture.lanes, NULL, &loaded, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(host->table->read_memory(host, &after, NULL), STATUS_OK);
    int64_t kept = fixture.disk.tensors[0].bytes; /* the test's own disk is memory too */
    int64_t grown = after.process_peak_bytes - before.process_bytes - kept;
    assert_int_equal(loaded_result(loaded)->in_flight_bytes_peak, INT64_C(4) * VOCAB * 32);
    assert_true(fixture.plan.places[0].bytes > INT64_C(4) * VOCAB * 32);
    assert_int_equal(loaded_result(loaded)->host_bytes_predicted, fixture.plan.places[0].bytes + LOAD_STAGING_BYTES);
    assert_int_equal(loaded_release(loaded, NULL), STATUS_OK);
    fixture_close(&fixture);
    if (!before.process_valid || !after.process_peak_valid) {
        print_message("the kernel does not tell the peak of this process\n");
        skip();
    }
    if (grown > INT64_C(4) * VOCAB * 32 + LOAD_STAGING_BYTES + SLACK_BYTES) {
        fail_msg("the host's memory grew by %" PRId64 " bytes", grown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_arrives),        cmocka_unit_test(gpus_are_filled_through_the_staging_buffer),
        cmocka_unit_test(casts_round_to_nearest_even),  cmocka_unit_test(experts_are_joined),
        cmocka_unit_test(host_peak_is_the_larger_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
