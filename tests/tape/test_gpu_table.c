/* The table of GPUs: names as they are typed, what is refused, and that every row can be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/tape/gpu_table.h"
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

static void other_names_are_refused_with_those_that_are_near(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *error;
    } rows[] = {
        {"A100", "'A100' may be \"NVIDIA A100-SXM4-80GB\" or \"NVIDIA A100-SXM4-40GB\"; write the whole name, or "
                 "--memory SIZE"},
        {"V100",
         "'V100' may be \"Tesla V100-SXM2-32GB\" or \"Tesla V100-SXM2-16GB\"; write the whole name, or --memory SIZE"},
        {"H201", "'H201' is no GPU whose memory is known here; assay gpus lists those that are, or write its memory as "
                 "--memory SIZE"},
        {"RTX 4091", "'RTX 4091' is no GPU whose memory is known here; assay gpus lists those that are, or write its "
                     "memory as --memory SIZE"},
        {"TPU v5e",
         "'TPU v5e' is no GPU whose memory is known here; assay gpus lists those that are, or write its memory as "
         "--memory SIZE"},
        {"24GiB", "'24GiB' is a size and no GPU; write --memory 24GiB"},
        {"3090 ti",
         "'3090 ti' is no GPU whose memory is known here; did you mean \"NVIDIA GeForce RTX 3090\"? assay gpus "
         "lists those that are, or write its memory as --memory SIZE"},
        {"1660Ti",
         "'1660Ti' is no GPU whose memory is known here; assay gpus lists those that are, or write its memory "
         "as --memory SIZE"},
        {"H200 141GB",
         "'H200 141GB' is no GPU whose memory is known here; did you mean \"NVIDIA H200\"? assay gpus lists "
         "those that are, or write its memory as --memory SIZE"},
        {"B200-192 GB", "'B200-192 GB' is no GPU whose memory is known here; did you mean \"NVIDIA B200\"? assay gpus "
                        "lists those that are, or write its memory as --memory SIZE"},
        {"24g", "'24g' is a size and no GPU; write --memory 24GiB (1024s) or --memory 24GB (1000s)"},
        {"1.5 tb", "'1.5 tb' is a size and no GPU; write --memory 1.5TiB (1024s) or --memory 1.5TB (1000s)"},
        {"80 GB", "'80 GB' is a size and no GPU; write --memory \"80 GB\""},
        {"1080 ti", "'1080 ti' is no GPU whose memory is known here; assay gpus lists those that are, or write its "
                    "memory as --memory SIZE"},
        {"RTX 2060", "'RTX 2060' is no GPU whose memory is known here; assay gpus lists those that are, or write its "
                     "memory as --memory SIZE"},
        {"RTX 4090 D2", "'RTX 4090 D2' is no GPU whose memory is known here; did you mean \"NVIDIA GeForce RTX 4090\"? "
                        "assay gpus lists those that are, or write its memory as --memory SIZE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct gpu *gpu = NULL;
        struct status error = {0};
        assert_int_equal(gpu_find_typed(rows[i].typed, "--memory ", &gpu, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].error);
        assert_null(gpu);
    }
    const struct gpu *gpu = NULL;
    struct status error = {0};
    assert_int_equal(gpu_find_typed("24g", "--max-memory 0=", &gpu, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'24g' is a size and no GPU; write --max-memory 0=24GiB (1024s) or --max-memory "
                                    "0=24GB (1000s)");
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
        {"H200", 90},      {"H100 80GB", 90}, {"H100 94GB", 90}, {"A100 80GB", 80},  {"A100 40GB", 80},
        {"A800", 80},      {"A10", 86},       {"L40S", 89},      {"L4", 89},         {"T4", 75},
        {"V100 16GB", 70}, {"A4000", 86},     {"3090", 86},      {"4090", 89},       {"5090", 120},
        {"B200", 100},     {"GB200", 100},    {"B300", 103},     {"GB300", 103},     {"GH200", 90},
        {"H20", 90},       {"A40", 86},       {"A6000", 86},     {"6000 Ada", 89},   {"RTX PRO 6000", 120},
        {"3060", 86},      {"4060", 89},      {"4070", 89},      {"4080", 89},       {"5080", 120},
        {"5070 Ti", 120},  {"5070", 120},     {"5060 Ti", 120},  {"V100 32GB", 70},  {"H100 PCIe", 90},
        {"H100", 90},      {"A10G", 86},      {"L40", 89},       {"2070 SUPER", 75}, {"3070", 86},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct gpu *gpu = NULL;
        const struct target *target = NULL;
        assert_int_equal(gpu_find(rows[i].name, &gpu, NULL), STATUS_OK);
        assert_int_equal(target_find(gpu->target, &target, NULL), STATUS_OK);
        assert_int_equal(target->capability, rows[i].capability);
    }
    int count = 0; /* all of them but AMD's, for which there is no class, and "H100", which is twice in the list */
    for (int i = 0; gpu_at(i) != NULL; i++) {
        count += gpu_is_amd(gpu_at(i)) ? 0 : 1;
    }
    assert_int_equal(count, sizeof rows / sizeof rows[0] - 1);
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
        assert_true(gpu_is_amd(gpu) ? gpu->multiprocessor_count == 0
                                    : gpu->multiprocessor_count >= 16 && gpu->multiprocessor_count <= 192);
    }
    assert_null(gpu_at(-1));
}

static void a_figure_says_whose_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *name, *begin, *within;
    } rows[] = {
        {"H200", "nvidia-smi: 143771 MiB, https://", ""},
        {"MI300X", "amd-smi: 196592 MiB, https://", ""},
        {"GB300", "nvidia-smi: 284208 MiB, https://", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct gpu *gpu = NULL;
        struct text text = {0};
        assert_int_equal(gpu_find(rows[i].name, &gpu, NULL), STATUS_OK);
        gpu_memory_words(gpu, &text);
        assert_ptr_equal(strstr(text_string(&text), rows[i].begin), text_string(&text));
        assert_non_null(strstr(text_string(&text), rows[i].within));
        text_release(&text);
    }
}

static void a_class_of_devices_has_the_names_of_its_gpus(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"sm_90", "sm_90"},         {"h100", "sm_90"},  {"A100", "sm_80"},   {"rtx4090", "sm_89:128"},
        {"RTX 5090", "sm_120:170"}, {"sm90", "sm_90"},  {"SM_90a", "sm_90"}, {"9.0", "sm_90"},
        {"120", "sm_120"},          {"12.0", "sm_120"}, {"cpu", "host"},     {"Host", "host"},
        {"gpu", "sm_90"},           {"cuda", "sm_90"},  {"b200", "sm_100"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct target *target = NULL;
        assert_int_equal(target_find(rows[i][0], &target, NULL), STATUS_OK);
        assert_string_equal(target->name, rows[i][1]);
    }
    static const char *const wrong[] = {"", "sm", "sm_", "sm_91", "h", "rtx", "0", "1", "90b", "ampere", "mi300x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct target *target = NULL;
        assert_int_equal(target_find(wrong[i], &target, NULL), STATUS_INVALID);
    }
}

/* A class says how many multiprocessors its usual GPU has; one with another number has a row of its own. */
static void a_gpu_has_its_own_number_of_multiprocessors(void **state)
{
    (void)state;
    for (int i = 0; gpu_at(i) != NULL; i++) {
        const struct gpu *gpu = gpu_at(i);
        const struct target *target = target_of_gpu(gpu), *found = NULL;
        size_t length = strlen(gpu->target);
        assert_int_equal(strncmp(target->name, gpu->target, length), 0);
        assert_true(target->name[length] == '\0' || target->name[length] == ':');
        if (gpu->multiprocessor_count > 0 && target->multiprocessor_count != gpu->multiprocessor_count) {
            fail_msg("%s has %d multiprocessors, %s has %d", gpu->name, gpu->multiprocessor_count, target->name,
                     target->multiprocessor_count);
        }
        assert_int_equal(target_find(target->name, &found, NULL), STATUS_OK);
        assert_ptr_equal(found, target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_people_write_them),
        cmocka_unit_test(other_names_are_refused_with_those_that_are_near),
        cmocka_unit_test(capabilities_are_those_that_the_maker_publishes),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(a_figure_says_whose_it_is),
        cmocka_unit_test(a_class_of_devices_has_the_names_of_its_gpus),
        cmocka_unit_test(a_gpu_has_its_own_number_of_multiprocessors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
