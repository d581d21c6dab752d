/* The table of GPUs: names as they are typed, what is refused, and that every row can be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/question/gpu_table.h"
#include "harness/tape/target.h"

static void names_are_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *name;
        int64_t memory_mib;
    } rows[] = {
        {"NVIDIA H200", "NVIDIA H200", 143771},
        {"h200", "NVIDIA H200", 143771},
        {"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", 81559},
        {"H100-80GB", "NVIDIA H100 80GB HBM3", 81559},
        {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", 40960},
        {"A100 40GB", "NVIDIA A100-SXM4-40GB", 40960},
        {"NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB", 81920},
        {"rtx4090", "NVIDIA GeForce RTX 4090", 24564},
        {"GeForce RTX 3090", "NVIDIA GeForce RTX 3090", 24576},
        {"T4", "Tesla T4", 15360},
        {"L4", "NVIDIA L4", 23034},
        {"NVIDIA L40S", "NVIDIA L40S", 46068},
        {"A10", "NVIDIA A10", 23028},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct gpu *gpu = NULL;
        assert_int_equal(gpu_find(rows[i].typed, &gpu, NULL), STATUS_OK);
        assert_string_equal(gpu->name, rows[i].name);
        assert_int_equal(gpu->memory_mib, rows[i].memory_mib);
        assert_int_equal(gpu_memory_bytes(gpu), rows[i].memory_mib * 1048576);
    }
}

#define KNOWN                                                                                                          \
    "known are NVIDIA H200, NVIDIA H100 80GB HBM3, NVIDIA H100 NVL, NVIDIA A100-SXM4-80GB, NVIDIA A100-SXM4-40GB, "    \
    "NVIDIA A800-SXM4-80GB, NVIDIA A10, NVIDIA L40S, NVIDIA L4, Tesla T4, Tesla V100-SXM2-16GB, NVIDIA RTX A4000, "    \
    "NVIDIA GeForce RTX 3090, NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 5090; write one of these, or its memory as " \
    "--memory SIZE"

static void other_names_are_refused_with_those_that_are_near(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *error;
    } rows[] = {
        {"A100",
         "'A100' may be NVIDIA A100-SXM4-80GB or NVIDIA A100-SXM4-40GB; write the whole name, or --memory SIZE"},
        {"V100", "'V100' may be Tesla V100-SXM2-16GB; write the whole name, or --memory SIZE"},
        {"H201", "'H201' is no GPU whose memory is known here; the nearest is NVIDIA H200, " KNOWN},
        {"RTX 4091", "'RTX 4091' is no GPU whose memory is known here; the nearest is NVIDIA GeForce RTX 4090, " KNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct gpu *gpu = NULL;
        struct status error = {0};
        assert_int_equal(gpu_find(rows[i].typed, &gpu, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].error);
        assert_null(gpu);
    }
    const struct gpu *gpu = NULL;
    assert_int_equal(gpu_find("", &gpu, NULL), STATUS_INVALID);
    assert_int_equal(gpu_find("NVIDIA", &gpu, NULL), STATUS_INVALID);
    assert_null(gpu);
}

/* NVIDIA's list of compute capabilities, developer.nvidia.com/cuda-gpus. */
static void capabilities_are_those_that_the_maker_publishes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int capability;
    } rows[] = {
        {"H200", 90},      {"H100 80GB", 90}, {"H100 94GB", 90}, {"A100 80GB", 80}, {"A100 40GB", 80},
        {"A800", 80},      {"A10", 86},       {"L40S", 89},      {"L4", 89},        {"T4", 75},
        {"V100 16GB", 70}, {"A4000", 86},     {"3090", 86},      {"4090", 89},      {"5090", 120},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct gpu *gpu = NULL;
        const struct target *target = NULL;
        assert_int_equal(gpu_find(rows[i].name, &gpu, NULL), STATUS_OK);
        assert_int_equal(target_find(gpu->target, &target, NULL), STATUS_OK);
        assert_int_equal(target->capability, rows[i].capability);
    }
    assert_null(gpu_at(sizeof rows / sizeof rows[0])); /* all of them */
}

static void every_row_is_whole(void **state)
{
    (void)state;
    for (int i = 0; gpu_at(i) != NULL; i++) {
        const struct gpu *gpu = gpu_at(i), *found = NULL;
        const struct target *target = NULL;
        assert_int_equal(gpu_find(gpu->name, &found, NULL), STATUS_OK);
        assert_ptr_equal(found, gpu);
        for (int k = 0; k < GPU_ALIASES_MAXIMUM && gpu->aliases[k] != NULL; k++) {
            assert_int_equal(gpu_find(gpu->aliases[k], &found, NULL), STATUS_OK);
            assert_ptr_equal(found, gpu);
        }
        assert_int_equal(target_find(gpu->target, &target, NULL), STATUS_OK);
        assert_int_equal(strncmp(gpu->source, "https://", 8), 0);
        assert_true(gpu->memory_mib > 1024 && gpu->memory_mib < 1 << 20);
    }
    assert_null(gpu_at(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_people_write_them),
        cmocka_unit_test(other_names_are_refused_with_those_that_are_near),
        cmocka_unit_test(capabilities_are_those_that_the_maker_publishes),
        cmocka_unit_test(every_row_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
