/* Bounds: parts add up, ranges are in order, what is exact has no range, and what is not predicted has no bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/question/bounds.h"
#include "harness/question/explain.h"
#include "harness/question/overhead.h"
#include "tests/question/trial_scene.h"

static struct json *replay_of(const struct trial_scene *scene)
{
    struct estimate estimate;
    struct status error = {0};
    if (estimate_compute(estimator_find("replay"), &scene->input, &estimate, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return estimate_to_json(&estimate);
}

static struct bounds_device device_of(const char *name)
{
    struct bounds_device device = {0};
    if (gpu_find(name, &device.gpu, NULL) == STATUS_OK) {
        name = device.gpu->target;
    }
    assert_int_equal(target_find(name, &device.target, NULL), STATUS_OK);
    return device;
}

static void range_is_ordered(struct byte_range range)
{
    assert_true(range.low_bytes <= range.likely_bytes && range.likely_bytes <= range.high_bytes);
}

static void bounds_check(const struct json *replay, const struct bounds *bounds, enum mode mode)
{
    int64_t reserved = json_integer_or(json_get(replay, "reserved_bytes_peak"), -1);
    assert_int_equal(bounds->segments.likely_bytes, reserved);
    assert_int_equal(bounds->certain_bytes + bounds->rule_bytes, reserved);
    assert_true(bounds->certain_bytes > 0 && bounds->rule_bytes >= 0);
    assert_true(bounds->segments.low_bytes >= bounds->certain_bytes);
    range_is_ordered(bounds->segments);
    range_is_ordered(bounds->process);
    range_is_ordered(bounds->device);
    range_is_ordered(bounds->nvml);
    assert_int_equal(bounds->process.likely_bytes,
                     reserved + bounds->beside.context.likely_bytes + bounds->beside.libraries.likely_bytes);
    assert_int_equal(bounds->nvml.high_bytes - bounds->device.high_bytes, bounds->beside.driver.high_bytes);
    assert_true(bounds->device.likely_bytes > bounds->process.likely_bytes);
    assert_int_equal(bounds->segments.low_bytes == bounds->segments.high_bytes, mode == MODE_LOAD);
}

static void parts_add_up(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum mode mode;
    } cases[] = {{"tiny-gpt2", MODE_LOAD},        {"tiny-gpt2", MODE_TRAIN},   {"tiny-llama", MODE_GENERATE},
                 {"bert-base-cased", MODE_INFER}, {"tiny-resnet", MODE_TRAIN}, {"tiny-resnet", MODE_LOAD}};
    static const char *const devices[] = {"H100", "RTX 4060", "sm_80"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t k = 0; k < sizeof devices / sizeof devices[0]; k++) {
            struct trial_scene scene;
            struct workload workload = workload_default(cases[i].mode);
            workload.seq = 16;
            workload.new_tokens = 8;
            struct bounds_device device = device_of(devices[k]);
            struct bounds bounds;
            trial_scene_open(&scene, cases[i].model, &workload, device.target->name);
            struct json *replay = replay_of(&scene);
            assert_true(bounds_find(replay, &device, scene.input.config, scene.input.workload, &bounds));
            bounds_check(replay, &bounds, cases[i].mode);
            json_release(replay);
            trial_scene_close(&scene);
        }
    }
}

/* None of the bytes that the driver may move is sure to be there; of a small GPU no more than has room. */
static void managed_memory_may_be_on_the_device(void **state)
{
    (void)state;
    static const struct {
        enum optimizer optimizer;
        const char *device;
        int64_t bytes, pages_bytes, likely_bytes;
    } rows[] = {{OPTIMIZER_ADAM_8BIT, "H100", 0, 0, 0},
                {OPTIMIZER_PAGED_ADAMW_8BIT, "H100", 248636928, 385875968, 248636928},
                {OPTIMIZER_PAGED_ADAMW_32BIT, "H100", 994547712, 1124073472, 994547712},
                {OPTIMIZER_PAGED_ADAMW_32BIT, "sm_90", 994547712, 1124073472, 994547712},
                {OPTIMIZER_PAGED_ADAMW_32BIT, "RTX 4060", 994547712, 1124073472, 994547712}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trial_scene scene;
        struct workload workload = workload_default(MODE_TRAIN);
        workload.optimizer = rows[i].optimizer;
        struct bounds_device device = device_of(rows[i].device);
        struct bounds bounds;
        trial_scene_open(&scene, "gpt2", &workload, device.target->name);
        struct json *replay = replay_of(&scene);
        assert_true(bounds_find(replay, &device, scene.input.config, scene.input.workload, &bounds));
        assert_int_equal(bounds.managed.bytes, rows[i].bytes);
        assert_int_equal(bounds.resident.low_bytes, 0);
        assert_int_equal(bounds.resident.likely_bytes, rows[i].likely_bytes);
        assert_int_equal(bounds.resident.high_bytes, rows[i].pages_bytes);
        struct json *object = bounds_to_json(&bounds);
        assert_int_equal(json_get(object, "managed") != NULL, rows[i].bytes > 0);
        json_release(object);
        json_release(replay);
        trial_scene_close(&scene);
    }
}

static void no_more_than_has_room_is_likely(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    struct bounds_device gpu = device_of("RTX 4060"), any = {.target = gpu.target};
    trial_scene_open(&scene, "gpt2", &workload, gpu.target->name);
    const int64_t memory_bytes = gpu_memory_bytes(gpu.gpu), large = INT64_C(1) << 40;
    struct bounds_figures figures = {.certain_bytes = 1000, .reserved_bytes = 2000};
    struct bounds plain = bounds_make(&figures, &gpu, scene.input.config, &workload);
    figures.managed = (struct managed_memory){.bytes = large, .pages_bytes = large, .tensor_count = 2};
    struct bounds full = bounds_make(&figures, &gpu, scene.input.config, &workload);
    assert_int_equal(full.device.likely_bytes, memory_bytes);
    assert_int_equal(full.device.low_bytes, plain.device.low_bytes);
    assert_int_equal(full.resident.high_bytes, memory_bytes - plain.device.low_bytes);
    assert_int_equal(full.process.high_bytes, plain.process.high_bytes);
    figures.reserved_bytes = large; /* no room at all */
    assert_int_equal(bounds_make(&figures, &gpu, scene.input.config, &workload).resident.likely_bytes, 0);
    assert_int_equal(bounds_make(&figures, &any, scene.input.config, &workload).resident.likely_bytes, large);
    trial_scene_close(&scene);
}

/* A network of convolutions is less sure than one that attends: cuDNN chooses. */
static void convolutions_are_in_more_doubt(void **state)
{
    (void)state;
    struct trial_scene text, image;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.seq = 16;
    trial_scene_open(&text, "tiny-gpt2", &workload, "sm_90");
    trial_scene_open(&image, "tiny-resnet", &workload, "sm_90");
    struct doubt of_text = doubt_of(text.input.config, &workload), of_image = doubt_of(image.input.config, &workload);
    assert_true(of_text.more_permille > 0 && of_text.more_permille < of_image.more_permille);
    trial_scene_close(&text);
    trial_scene_close(&image);
}

/* cudnn_benchmark: what is likely is that of later passes, and the first pass, which tries engines, is within the
 * range. estimate and explain say the same of it. */
static void the_first_pass_is_in_the_range_of_a_search(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.seq = 0;
    workload.batch = 8;
    workload.tf32_convolutions = true;
    struct bounds bounds, plain;
    struct explanation explanation = {0};
    struct bounds_device gpu = device_of("H100");
    trial_scene_open(&scene, "timm/resnet18.a1_in1k", &workload, "sm_90");
    struct json *without = replay_of(&scene);
    assert_true(bounds_find(without, &gpu, scene.input.config, scene.input.workload, &plain));
    assert_int_equal(plain.search_bytes, 0);
    assert_null(json_get(without, "search"));
    scene.workload.cudnn_benchmark = true;
    struct json *with = replay_of(&scene);
    assert_true(bounds_find(with, &gpu, scene.input.config, scene.input.workload, &bounds));
    assert_true(bounds.search_bytes > 2 * bounds.segments.likely_bytes);
    assert_true(bounds.segments.high_bytes == bounds.search_bytes);
    assert_true(bounds.device.high_bytes > bounds.search_bytes && bounds.certain_bytes == plain.certain_bytes);
    assert_true(json_integer_or(json_get(json_get(with, "search"), "reserved_bytes_peak"), 0) == bounds.search_bytes);
    assert_int_equal(explain_find(&scene.input, STAGE_COUNT, &explanation, NULL), STATUS_OK);
    assert_true(explanation.search_bytes == bounds.search_bytes);
    explanation_release(&explanation);
    json_release(without);
    json_release(with);
    trial_scene_close(&scene);
}

static void what_is_not_predicted_has_no_bounds(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.seq = 16;
    struct bounds bounds = {.certain_bytes = 7};
    struct bounds_device gpu = device_of("H100"), host = device_of("host");
    trial_scene_open(&scene, "tiny-gpt2", &workload, "sm_90");
    struct json *whole = replay_of(&scene);
    scene.input.memory_bytes = 4096; /* it does not fit, and so has no peaks */
    struct json *refused = replay_of(&scene);
    assert_false(bounds_find(refused, &gpu, scene.input.config, &workload, &bounds));
    assert_false(bounds_find(NULL, &gpu, scene.input.config, &workload, &bounds));
    assert_false(bounds_find(whole, &host, scene.input.config, &workload, &bounds));
    assert_int_equal(bounds.certain_bytes, 7);
    struct json *none = bounds_to_json(NULL);
    assert_int_equal(json_kind(none), JSON_KIND_NULL);
    json_release(none);
    json_release(whole);
    json_release(refused);
    trial_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(managed_memory_may_be_on_the_device),
        cmocka_unit_test(no_more_than_has_room_is_likely),
        cmocka_unit_test(convolutions_are_in_more_doubt),
        cmocka_unit_test(the_first_pass_is_in_the_range_of_a_search),
        cmocka_unit_test(what_is_not_predicted_has_no_bounds),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
