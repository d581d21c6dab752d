/* The context table: every published and measured figure lies in the range that is predicted for it, the ranges are in
 * order for every GPU and class, and the rows of one GPU are not answered from those of others. */
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/tape/context_table.h"
#include "harness/tape/module_table.h"
#include "tests/models/shadow_lines.h"

static const enum context_use uses[] = {CONTEXT_LOAD, CONTEXT_INFERENCE, CONTEXT_TRAINING};

static const struct target *target_of(const char *name)
{
    const struct target *target = NULL;
    assert_int_equal(target_find(name, &target, NULL), STATUS_OK);
    return target;
}

static const struct context_program *plain_program(enum context_use use)
{
    static const struct context_program programs[] = {
        {.use = CONTEXT_LOAD}, {.use = CONTEXT_INFERENCE}, {.use = CONTEXT_TRAINING}};
    return &programs[use];
}

static const struct gpu *gpu_of(const char *name)
{
    const struct gpu *gpu = NULL;
    assert_int_equal(gpu_find(name, &gpu, NULL), STATUS_OK);
    return gpu;
}

static void range_is_ordered(struct byte_range range)
{
    assert_true(range.low_bytes >= 0 && range.low_bytes <= range.likely_bytes);
    assert_true(range.likely_bytes <= range.high_bytes);
}

/* Worked by hand: 132 * 2,048 threads * 2,048 bytes = 553,648,128; an H100 shows 543,162,368. */
static void a_context_is_two_kibibytes_a_thread(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t likely_mib;
    } gpus[] = {{"H100", 528}, {"RTX 6000 Ada", 426}, {"RTX 3090", 246}, {"V100 32GB", 320}, {"A100 40GB", 432},
                {"T4", 80},    {"RTX 4060", 72},      {"RTX 5090", 510}, {"L4", 174}};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        const struct gpu *gpu = gpu_of(gpus[i].name);
        struct context_ranges found = context_ranges_find(gpu, target_of(gpu->target), plain_program(CONTEXT_LOAD));
        assert_int_equal(found.context.likely_bytes, gpus[i].likely_mib << 20);
    }
}

/* Worked by hand: 28 * 1,536 threads * 357 bytes = 15,353,856; a class without a GPU's name has its own number. */
static void the_first_kernel_of_a_training_takes_memory_for_each_thread(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t likely_bytes;
    } gpus[] = {{"RTX 3060", 15353856}, {"RTX 4060", 13160448}, {"A100 40GB", 78962688}};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        const struct gpu *gpu = gpu_of(gpus[i].name);
        struct context_ranges found = context_ranges_find(gpu, target_of(gpu->target), plain_program(CONTEXT_TRAINING));
        assert_int_equal(found.libraries.likely_bytes, gpus[i].likely_bytes);
        assert_int_equal(found.libraries.low_bytes, 0);
        assert_int_equal(found.libraries.high_bytes, 220 << 20);
    }
    const struct target *target = target_of("sm_80");
    assert_int_equal(context_ranges_find(NULL, target, plain_program(CONTEXT_TRAINING)).libraries.likely_bytes,
                     (int64_t)target->multiprocessor_count * target->multiprocessor_threads * 357);
}

static void every_figure_lies_in_its_range(void **state)
{
    (void)state;
    int counts[CONTEXT_FIGURE_PROCESS + 1] = {0};
    for (int i = 0; context_row_at(i) != NULL; i++) {
        const struct context_row *row = context_row_at(i);
        const struct gpu *gpu = NULL;
        bool known = gpu_find(row->gpu, &gpu, NULL) == STATUS_OK;
        struct context_ranges found = context_ranges_find(known ? gpu : NULL, target_of(row->target), &row->program);
        struct byte_range range = row->figure == CONTEXT_FIGURE_DRIVER ? found.driver
                                  : row->figure == CONTEXT_FIGURE_BARE ? found.context
                                                                       : byte_range_sum(found.context, found.libraries);
        int64_t bytes = row->figure == CONTEXT_FIGURE_DRIVER ? gpu_memory_bytes(gpu) - row->bytes : row->bytes;
        if (bytes < range.low_bytes - row->rounding_bytes || bytes > range.high_bytes + row->rounding_bytes) {
            fail_msg("row %d, %s (%s): %lld is not within %lld to %lld", i, row->gpu, row->source, (long long)bytes,
                     (long long)range.low_bytes, (long long)range.high_bytes);
        }
        assert_true(strstr(row->source, "https://") == row->source || strstr(row->source, "results/") == row->source);
        if (known) {
            assert_int_equal(row->multiprocessor_count, gpu->multiprocessor_count);
            assert_string_equal(row->target, gpu->target);
        }
        counts[row->figure]++;
    }
    assert_true(counts[CONTEXT_FIGURE_DRIVER] > 15 && counts[CONTEXT_FIGURE_BARE] > 3);
    assert_true(counts[CONTEXT_FIGURE_PROCESS] > 10);
}

static void every_gpu_and_class_has_ranges(void **state)
{
    (void)state;
    for (size_t u = 0; u < sizeof uses / sizeof uses[0]; u++) {
        for (int i = 0; gpu_at(i) != NULL; i++) {
            struct context_ranges found =
                context_ranges_find(gpu_at(i), target_of(gpu_at(i)->target), plain_program(uses[u]));
            range_is_ordered(found.driver);
            range_is_ordered(found.context);
            range_is_ordered(found.libraries);
            assert_true(found.driver.low_bytes > 0 && found.driver.high_bytes < (int64_t)1 << 30);
            assert_true(found.context.low_bytes > 0);
        }
        for (int i = 0; target_at(i) != NULL; i++) {
            struct context_ranges found = context_ranges_find(NULL, target_at(i), plain_program(uses[u]));
            range_is_ordered(found.driver);
            range_is_ordered(found.context);
            range_is_ordered(found.libraries);
            assert_int_equal(found.context.high_bytes > 0, target_at(i)->capability > 0);
        }
    }
}

/* The driver's part of an L4, of which nobody printed the total, is that of GPUs with a memory like it; that of a T4 is
 * its own. */
static void an_unknown_gpu_is_like_its_neighbours(void **state)
{
    (void)state;
    struct context_ranges t4 = context_ranges_find(gpu_of("T4"), target_of("sm_75"), plain_program(CONTEXT_LOAD));
    struct context_ranges l4 = context_ranges_find(gpu_of("L4"), target_of("sm_89"), plain_program(CONTEXT_LOAD));
    assert_true(l4.driver.low_bytes <= t4.driver.low_bytes && l4.driver.high_bytes > t4.driver.high_bytes);
    assert_true(t4.driver.low_bytes > (int64_t)240 << 20 && t4.driver.high_bytes < (int64_t)470 << 20);
    /* Within a class the number of multiprocessors is not known: from the H20's 78 to the H100's 132. */
    struct context_ranges any = context_ranges_find(NULL, target_of("sm_90"), plain_program(CONTEXT_LOAD));
    struct context_ranges h20 = context_ranges_find(gpu_of("H20"), target_of("sm_90"), plain_program(CONTEXT_LOAD));
    struct context_ranges h100 = context_ranges_find(gpu_of("H100"), target_of("sm_90"), plain_program(CONTEXT_LOAD));
    assert_int_equal(any.context.low_bytes, h20.context.low_bytes);
    assert_int_equal(any.context.high_bytes, h100.context.high_bytes);
    assert_int_equal(any.context.likely_bytes, h100.context.likely_bytes);
}

static int case_count;

/* What a process of PyTorch held beside its segments, in every stage of every case that was measured. */
static bool line_check(const struct json *line)
{
    const struct json *stages = json_get(line, "stages");
    const char *mode = json_string_or(json_get(line, "mode"), "");
    if (strcmp(json_string_or(json_get(line, "status"), ""), "ok") != 0 || json_get(line, "turn") == NULL) {
        return false;
    }
    enum context_use use = strcmp(mode, "load") == 0    ? CONTEXT_LOAD
                           : strcmp(mode, "train") == 0 ? CONTEXT_TRAINING
                                                        : CONTEXT_INFERENCE;
    struct context_ranges found = context_ranges_find(gpu_of("H100"), target_of("sm_90"), plain_program(use));
    struct byte_range whole = byte_range_sum(found.context, found.libraries);
    static const char *const ends[] = {"load", "forward", "step"};
    const struct json *last = json_get(stages, ends[use]);
    int64_t bytes = json_integer_or(json_get(last, "process_used_bytes"), -1) -
                    json_integer_or(json_get(last, "reserved_bytes"), -1);
    assert_true(bytes >= whole.low_bytes && bytes <= whole.high_bytes);
    case_count++;
    return true;
}

/* What the probe asked of driver, context and small programs. */
static bool probe_check(const struct json *line)
{
    const char *type = json_string_or(json_get(line, "type"), ""),
               *name = json_string_or(json_get(line, "program"), "");
    enum context_use use = strstr(name, "training") != NULL    ? CONTEXT_TRAINING
                           : strstr(name, "inference") != NULL ? CONTEXT_INFERENCE
                                                               : CONTEXT_LOAD;
    const struct context_program program = {
        .use = use,
        .is_eager = strcmp(json_string_or(json_get(line, "module_loading"), ""), "EAGER") == 0,
        .convolves = strncmp(name, "image", strlen("image")) == 0,
        .torch_release = 2011,
    };
    struct context_ranges found = context_ranges_find(gpu_of("H100"), target_of("sm_90"), &program);
    if (strcmp(type, "driver") == 0) {
        const struct json *first = json_get(line, "nvml"), *second = json_get(line, "nvml_v2");
        int64_t kept = json_integer_or(json_get(second, "driver_reserved_bytes"), -1);
        assert_int_equal(kept, json_integer_or(json_get(first, "total_bytes"), 0) -
                                   json_integer_or(json_get(line, "cuda_total_bytes"), 0));
        assert_int_equal(kept, json_integer_or(json_get(first, "used_bytes"), 0) -
                                   json_integer_or(json_get(second, "used_bytes"), 0));
        assert_true(kept >= found.driver.low_bytes && kept <= found.driver.high_bytes);
        return true;
    }
    if (strcmp(type, "program") != 0) {
        return false;
    }
    const struct json *end = json_get(line, "end"), *context = json_get(line, "context");
    int64_t bare = json_integer_or(json_get(context, "process_used_bytes"), -1);
    int64_t grown = json_integer_or(json_get(end, "process_used_bytes"), -1) -
                    json_integer_or(json_get(end, "reserved_bytes"), -1) - bare;
    assert_true(bare >= found.context.low_bytes && bare <= found.context.high_bytes);
    assert_true(grown >= found.libraries.low_bytes && grown <= found.libraries.high_bytes);
    return true;
}

static void probed_programs_lie_in_the_range(void **state)
{
    (void)state;
    assert_int_equal(
        shadow_lines_each("results/reference/nvidia-h100-80gb-hbm3/pytorch-2.11.0/probe-context.jsonl", probe_check),
        1 + 13);
}

static int64_t code_bytes[3];
static const struct module_row *code_row;

/* Adds a line of a library to its part, if it is of the row that is looked at. */
static bool code_add(const struct json *line)
{
    static const char *const parts[] = {"torch", "products", "convolutions"};
    if (strcmp(json_string_or(json_get(line, "torch"), ""), code_row->torch) != 0 ||
        strcmp(json_string_or(json_get(line, "target"), ""), code_row->target) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bool is_it = strcmp(json_string_or(json_get(line, "part"), ""), parts[i]) == 0;
        code_bytes[i] += is_it ? json_integer_or(json_get(line, "code_bytes"), 0) : 0;
    }
    return true;
}

/* What the libraries' files have, added up again. */
static void modules_are_those_of_the_libraries(void **state)
{
    (void)state;
    int count = 0;
    for (; module_row_at(count) != NULL; count++) {
        code_row = module_row_at(count);
        memset(code_bytes, 0, sizeof code_bytes);
        assert_true(shadow_lines_each("peers/pytorch/library_code.jsonl", code_add) >= 4);
        assert_int_equal(code_bytes[0], code_row->context_bytes);
        assert_int_equal(code_bytes[1], code_row->product_bytes);
        assert_int_equal(code_bytes[2], code_row->convolution_bytes);
    }
    assert_true(count >= 14);
}

/* By class, then by release: no newer than that of the case, where there is one. */
static void modules_are_found_by_class_and_release(void **state)
{
    (void)state;
    static const struct {
        int release, capability;
        const char *torch, *target;
    } asked[] = {{2004, 80, "2.4.1", "sm_80"},     {2005, 86, "2.4.1", "sm_80"},      {2003, 90, "2.1.2", "sm_90"},
                 {INT_MAX, 89, "2.11.0", "sm_80"}, {INT_MAX, 70, "2.11.0", "sm_75"},  {2006, 70, "2.6.0", "sm_70"},
                 {2006, 100, "2.11.0", "sm_100"},  {INT_MAX, 120, "2.11.0", "sm_120"}};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        const struct module_row *row = module_row_of(asked[i].release, asked[i].capability);
        assert_string_equal(row->torch, asked[i].torch);
        assert_string_equal(row->target, asked[i].target);
    }
}

static void measured_processes_lie_in_the_range(void **state)
{
    (void)state;
    glob_t lines = {0};
    assert_int_equal(glob("results/reference/nvidia-h100-*/pytorch-*/*.jsonl", 0, NULL, &lines), 0);
    for (size_t i = 0; i < lines.gl_pathc; i++) {
        shadow_lines_each(lines.gl_pathv[i], line_check);
    }
    globfree(&lines);
    assert_true(case_count >= 229);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_is_two_kibibytes_a_thread),
        cmocka_unit_test(the_first_kernel_of_a_training_takes_memory_for_each_thread),
        cmocka_unit_test(every_figure_lies_in_its_range),
        cmocka_unit_test(every_gpu_and_class_has_ranges),
        cmocka_unit_test(an_unknown_gpu_is_like_its_neighbours),
        cmocka_unit_test(measured_processes_lie_in_the_range),
        cmocka_unit_test(probed_programs_lie_in_the_range),
        cmocka_unit_test(modules_are_those_of_the_libraries),
        cmocka_unit_test(modules_are_found_by_class_and_release),
    };
    return cmocka_run_group_tests_name("context table", tests, NULL, NULL);
}
