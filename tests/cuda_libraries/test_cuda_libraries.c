/* The real cuBLAS and cublasLt, which load and make descriptors without a driver: that our prototypes and constants are
 * NVIDIA's, that every function is there, and that descriptors, layouts and preferences keep what they are given. Where
 * a library is not here, its tests are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/device/cuda/cublas_library.h"
#include "harness/device/cuda/cublaslt_library.h"
#include "harness/device/cuda/toolkit_library.h"
#include "tests/cuda_libraries/constants.h"
#include "tests/cuda_libraries/prototypes.h"

static void prototypes_are_nvidias(void **state)
{
    (void)state;
    if (prototypes_checked() == NULL) {
        print_message("NVIDIA's headers are not here\n");
        skip();
    }
    print_message("checked: %s\n", prototypes_checked());
}

static void constants_of_the_emulation_are_nvidias(void **state)
{
    (void)state;
    if (constants_of_nvidia[0].name == NULL) {
        print_message("NVIDIA's headers are not here\n");
        skip();
    }
    for (size_t i = 0; constants_of_nvidia[i].name != NULL; i++) {
        const struct constant *ours = &constants_of_the_emulation[i];
        assert_string_equal(ours->name, constants_of_nvidia[i].name);
        if (ours->value != constants_of_nvidia[i].value) {
            fail_msg("%s is %lld, and %lld in the emulation", ours->name, constants_of_nvidia[i].value, ours->value);
        }
    }
}

/* Every function was found where the library opens, or says by its own name what it lacks, which is the driver. */
static void opening_goes_as_far_as_the_driver(enum status_code code, const struct status *error, const char *create)
{
    char wanted[96];
    if (code == STATUS_UNAVAILABLE && strstr(error->text, " cannot be loaded ") != NULL) {
        print_message("%s\n", error->text);
        skip();
    }
    snprintf(wanted, sizeof wanted, "%s: CUBLAS_STATUS_NOT_INITIALIZED", create);
    if (code != STATUS_OK && strstr(error->text, wanted) == NULL) {
        fail_msg("%s", error->text);
    }
}

static void cublas_opens_as_far_as_the_driver(void **state)
{
    (void)state;
    struct cublas_library cublas = {0};
    struct status error = {0};
    opening_goes_as_far_as_the_driver(cublas_library_open(&cublas, &error), &error, "cublasCreate");
    cublas_library_close(&cublas);
}

static void cublaslt_opens_as_far_as_the_driver(void **state)
{
    (void)state;
    struct cublaslt_library cublaslt = {0};
    struct status error = {0};
    opening_goes_as_far_as_the_driver(cublaslt_library_open(&cublaslt, &error), &error, "cublasLtCreate");
    cublaslt_library_close(&cublaslt);
}

static void the_version_is_that_of_the_name(void **state)
{
    (void)state;
    char text[64] = "";
    int major = 0, minor = -1, patch = -1;
    if (!cublas_version_read(text, sizeof text)) {
        print_message("libcublas is not here\n");
        skip();
    }
    assert_int_equal(sscanf(text, "cuBLAS %d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major, CUBLAS_VER_MAJOR);
    assert_true(minor >= 0 && patch >= 0);
}

/* What is set and read back; the plug-in never reads, so it has no names for it. */
typedef cublasStatus_t (*get_function)(const void *object, int attribute, void *value, size_t bytes, size_t *written);
typedef cublasStatus_t (*set_function)(void *object, int attribute, const void *value, size_t bytes);

struct lt {
    struct cublaslt_library calls; /* those that need no handle */
    void *object;
    get_function desc_get, layout_get, preference_get;
    set_function desc_set, preference_set;
};

static struct lt lt;

static int lt_load(void **state)
{
    (void)state;
    const struct toolkit_symbol symbols[] = {
        {"cublasLtMatmulDescCreate", &lt.calls.matmul_desc_create},
        {"cublasLtMatmulDescDestroy", &lt.calls.matmul_desc_destroy},
        {"cublasLtMatmulDescSetAttribute", &lt.desc_set},
        {"cublasLtMatmulDescGetAttribute", &lt.desc_get},
        {"cublasLtMatrixLayoutCreate", &lt.calls.layout_create},
        {"cublasLtMatrixLayoutDestroy", &lt.calls.layout_destroy},
        {"cublasLtMatrixLayoutGetAttribute", &lt.layout_get},
        {"cublasLtMatmulPreferenceCreate", &lt.calls.preference_create},
        {"cublasLtMatmulPreferenceDestroy", &lt.calls.preference_destroy},
        {"cublasLtMatmulPreferenceSetAttribute", &lt.preference_set},
        {"cublasLtMatmulPreferenceGetAttribute", &lt.preference_get},
    };
    struct status error = {0};
    if (toolkit_library_open(TOOLKIT_FILE_NAME("libcublasLt", CUBLAS_VER_MAJOR), symbols,
                             sizeof symbols / sizeof symbols[0], &lt.calls.library, &error) != STATUS_OK) {
        print_message("%s\n", error.text);
    }
    return 0;
}

static int lt_unload(void **state)
{
    (void)state;
    toolkit_library_close(lt.calls.library);
    return 0;
}

static void lt_needed(void)
{
    if (lt.calls.library == NULL) {
        skip();
    }
}

struct attribute {
    const char *name;
    int number;
    size_t bytes;
    uint64_t before, after; /* as it is made, and another that is allowed */
};

#define ATTRIBUTE(name, type, before, after)                                                                           \
    {                                                                                                                  \
#name, name, sizeof(type), before, after                                                                       \
    }

static void attribute_is(get_function get, const struct attribute *attribute, uint64_t wanted)
{
    uint64_t value = 0;
    size_t written = 0;
    assert_int_equal(get(lt.object, attribute->number, &value, attribute->bytes, &written), CUBLAS_STATUS_SUCCESS);
    if (value != wanted || written != attribute->bytes) {
        fail_msg("%s is %llu in %zu bytes, not %llu in %zu", attribute->name, (unsigned long long)value, written,
                 (unsigned long long)wanted, attribute->bytes);
    }
}

/* Each has its default, keeps what it is given, and takes no other number of bytes. */
static void attributes_are_kept(get_function get, set_function set, const struct attribute *attributes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct attribute *attribute = &attributes[i];
        attribute_is(get, attribute, attribute->before);
        for (size_t bytes = 1; bytes <= 16; bytes++) {
            const uint64_t values[2] = {attribute->after, 0};
            cublasStatus_t status = set(lt.object, attribute->number, values, bytes);
            if ((status == CUBLAS_STATUS_SUCCESS) != (bytes == attribute->bytes)) {
                fail_msg("%s in %zu bytes: %d", attribute->name, bytes, (int)status);
            }
        }
        attribute_is(get, attribute, attribute->after);
    }
}

static void a_description_keeps_what_it_is_given(void **state)
{
    (void)state;
    static const struct attribute attributes[] = {
        ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, cublasOperation_t, CUBLAS_OP_N, CUBLAS_OP_T),
        ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, cublasOperation_t, CUBLAS_OP_N, CUBLAS_OP_T),
        ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, cublasLtEpilogue_t, CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS),
        ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, void *, 0, 256),
        ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, void *, 0, 512),
        ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, void *, 0, 768),
    };
    static const cublasComputeType_t types[] = {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    lt_needed();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        cublasLtMatmulDesc_t desc = NULL;
        assert_int_equal(lt.calls.matmul_desc_create(&desc, types[i], CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
        lt.object = desc;
        attributes_are_kept(lt.desc_get, lt.desc_set, attributes, sizeof attributes / sizeof attributes[0]);
        assert_int_equal(lt.calls.matmul_desc_destroy(desc), CUBLAS_STATUS_SUCCESS);
    }
}

/* The numbers are those of NVIDIA's cublasLtMatrixLayoutAttribute_t, of which the plug-in names none. */
static void a_layout_is_what_it_was_made_of(void **state)
{
    (void)state;
    static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8F_E4M3};
    enum { LAYOUT_TYPE, LAYOUT_ORDER, LAYOUT_ROWS, LAYOUT_COLUMNS, LAYOUT_LEADING, LAYOUT_BATCHES, COLUMNS_FIRST = 0 };
    lt_needed();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const struct attribute attributes[] = {
            {"type", LAYOUT_TYPE, 4, types[i], 0}, {"order", LAYOUT_ORDER, 4, COLUMNS_FIRST, 0},
            {"rows", LAYOUT_ROWS, 8, 48, 0},       {"columns", LAYOUT_COLUMNS, 8, 5000000000, 0},
            {"leading", LAYOUT_LEADING, 8, 64, 0}, {"batches", LAYOUT_BATCHES, 4, 1, 0}};
        cublasLtMatrixLayout_t layout = NULL;
        assert_int_equal(lt.calls.layout_create(&layout, types[i], 48, 5000000000, 64), CUBLAS_STATUS_SUCCESS);
        lt.object = layout;
        for (size_t k = 0; k < sizeof attributes / sizeof attributes[0]; k++) {
            attribute_is(lt.layout_get, &attributes[k], attributes[k].before);
        }
        assert_int_equal(lt.calls.layout_destroy(layout), CUBLAS_STATUS_SUCCESS);
    }
}

/* Unasked, reductions in the type of the result are allowed, so they have to be forbidden. */
static void a_preference_keeps_what_it_is_given(void **state)
{
    (void)state;
    static const struct attribute attributes[] = {
        ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t, 0, 5000000000),
        ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t, CUBLASLT_REDUCTION_SCHEME_MASK,
                  CUBLASLT_REDUCTION_SCHEME_NONE),
        ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t, 256, 16),
        ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t, 256, 8),
        ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t, 256, 4),
        ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t, 256, 2),
    };
    cublasLtMatmulPreference_t preference = NULL;
    lt_needed();
    assert_int_equal(lt.calls.preference_create(&preference), CUBLAS_STATUS_SUCCESS);
    lt.object = preference;
    attributes_are_kept(lt.preference_get, lt.preference_set, attributes, sizeof attributes / sizeof attributes[0]);
    assert_int_equal(lt.calls.preference_destroy(preference), CUBLAS_STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prototypes_are_nvidias),
        cmocka_unit_test(constants_of_the_emulation_are_nvidias),
        cmocka_unit_test(cublas_opens_as_far_as_the_driver),
        cmocka_unit_test(cublaslt_opens_as_far_as_the_driver),
        cmocka_unit_test(the_version_is_that_of_the_name),
        cmocka_unit_test(a_description_keeps_what_it_is_given),
        cmocka_unit_test(a_layout_is_what_it_was_made_of),
        cmocka_unit_test(a_preference_keeps_what_it_is_given),
    };
    return cmocka_run_group_tests(tests, lt_load, lt_unload);
}
