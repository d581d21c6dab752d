/* What a record tells of convolutions through cuDNN (EMULATED_CUDNN): library, engines, workspaces, bytes. What is
 * computed is in test_emulated_cudnn.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/run/run_scene.h"

static const struct json *forms_of(const struct json *line)
{
    return json_get(json_get(line, "convolutions"), "forms");
}

/* Two steps of a small ResNet in bfloat16: every convolution is cuDNN's, in the workspace of the tape. */
static void a_record_has_library_engine_and_workspace(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(setenv("EMULATED_CUDNN", "9.19.0", 1), 0);
    cases_set(scene, "  - {model: tiny-resnet, mode: train, precision: bfloat16, batch: 2, for: sm_90}\n");
    measure(scene, "cuda:1");
    unsetenv("EMULATED_CUDNN");
    const struct json *line = case_at(scene, 0), *told = json_get(line, "convolutions");
    assert_string_equal(text_at(line, "status"), "ok");
    assert_string_equal(text_at(told, "library"), "cuDNN 9.19.0");
    assert_int_equal(json_kind(json_get(told, "note")), JSON_KIND_NULL);
    assert_true(integer_at(told, "library_call_count") > 0);
    assert_true(json_count(forms_of(line)) > 3);
    int64_t calls = 0;
    for (size_t i = 0; i < json_count(forms_of(line)); i++) {
        const struct json *form = json_at(forms_of(line), i);
        calls += integer_at(form, "call_count");
        assert_string_equal(text_at(form, "dtype"), "bfloat16");
        assert_int_equal(integer_at(form, "first_engine"), 67);
        assert_non_null(json_get(form, "refusal"));
        assert_true(integer_at(form, "workspace_bytes") <= (integer_at(form, "given_bytes") + 511) / 512 * 512);
    }
    assert_int_equal(calls, integer_at(told, "library_call_count") + integer_at(told, "own_call_count"));
}

/* The bytes that the allocator counts are the same with cuDNN and without; so is what computes in float32. */
static void what_the_allocator_counts_does_not_hang_on_it(void **state)
{
    struct scene *scene = *state;
    int64_t peaks[2];
    for (int with = 0; with < 2; with++) {
        assert_int_equal(with != 0 ? setenv("EMULATED_CUDNN", "9.19.0", 1) : unsetenv("EMULATED_CUDNN"), 0);
        cases_set(scene, "  - {model: tiny-resnet, mode: train, precision: bfloat16, batch: 2, for: sm_90}\n"
                         "  - {model: tiny-resnet, mode: infer, batch: 2, for: sm_90}\n");
        measure(scene, "cuda:1");
        peaks[with] = integer_at(case_at(scene, 0), "allocated_bytes_peak");
        assert_int_equal(integer_at(json_get(case_at(scene, 0), "convolutions"), "library_call_count") > 0, with);
        assert_int_equal(integer_at(json_get(case_at(scene, 1), "convolutions"), "library_call_count"), 0);
    }
    unsetenv("EMULATED_CUDNN");
    assert_true(peaks[0] > 0);
    assert_int_equal(peaks[0], peaks[1]);
}

/* cudnnCreate is refused: the case runs all the same, and says why without. */
static void a_handle_that_is_refused_is_no_error(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(setenv("EMULATED_CUDNN", "9.19.0", 1), 0);
    cases_set(scene, "  - {model: tiny-resnet, mode: infer, precision: bfloat16, for: sm_90}\n");
    fault_plan(scene->folder, "cudnnCreate:1:1");
    measure(scene, "cuda:1");
    fault_unplan();
    unsetenv("EMULATED_CUDNN");
    const struct json *told = json_get(case_at(scene, 0), "convolutions");
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_int_equal(integer_at(told, "library_call_count"), 0);
    assert_string_equal(text_at(told, "note"), "cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED");
}

/* Its handle is a library's, as cuBLAS's is: 7,000,003 bytes of the emulated driver for each. */
static void its_handle_is_counted_as_a_librarys(void **state)
{
    enum { HANDLE_BYTES = 7000003 };
    struct scene *scene = *state;
    int64_t library_bytes[2];
    assert_int_equal(setenv("EMULATED_DRIVER", "handle:7000003", 1), 0);
    for (int with = 0; with < 2; with++) {
        assert_int_equal(with != 0 ? setenv("EMULATED_CUDNN", "9.19.0", 1) : unsetenv("EMULATED_CUDNN"), 0);
        cases_set(scene, "  - {model: tiny-resnet, mode: train, precision: bfloat16, for: sm_90}\n");
        measure(scene, "cuda:1");
        const struct json *stages = json_get(case_at(scene, 0), "stages");
        library_bytes[with] = integer_at(json_get(json_get(stages, "step"), "device_items"), "library_bytes");
    }
    unsetenv("EMULATED_DRIVER");
    unsetenv("EMULATED_CUDNN");
    assert_true(library_bytes[0] > 0);
    assert_int_equal(library_bytes[1], library_bytes[0] + HANDLE_BYTES);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_record_has_library_engine_and_workspace),
        SCENE_TEST(what_the_allocator_counts_does_not_hang_on_it),
        SCENE_TEST(a_handle_that_is_refused_is_no_error),
        SCENE_TEST(its_handle_is_counted_as_a_librarys),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
