/* The real cuDNN, which loads, makes descriptors and chooses engines without a driver for a GPU that is described to it
 * (releases from 9.8 on): that what we ask it is what it understands, and that the workspace which is there bounds its
 * choice. Where it is not here, its tests are skipped. Its prototypes are held against NVIDIA's in prototypes.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/device/cuda/cublas_library.h"
#include "harness/device/cuda/cudnn_graph.h"
#include "harness/device/cuda/toolkit_library.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

#ifdef __SANITIZE_ADDRESS__
/* cuDNN loads parts of itself, which keep memory, and unloads them: nobody can say any more whose it was. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

enum { DEVICE_DESCRIPTOR = 38, DEVICE_JSON = 2702, TYPE_CHAR = 24, DESCRIBED_SINCE = 90800 };

/* An H100 as cuDNN describes it itself. */
static const char h100[] =
    "{\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64], \"regsPerBlock\": 65536, "
    "\"multiProcessorCount\": 132, \"warpSize\": 32, \"maxSharedMemoryPerBlock\": 49152, "
    "\"maxSharedMemoryPerBlockOptin\": 232448, \"reservedSharedMemoryPerBlock\": 1024, \"maxRegistersPerSM\": 65536, "
    "\"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, \"pciDeviceId\": 0, "
    "\"isTccDriver\": 0, \"supportCoopLaunch\": 1, \"totalGlobalMem\": 85024112640, \"smClockRateKHz\": 1980000, "
    "\"memClockRateKHz\": 2619000, \"l2CacheSize\": 52428800, \"cudaDeviceId\": 0, \"deviceVer\": 900, "
    "\"driverVer\": 13000, \"deviceName\": \"H100\"}";

static struct cudnn_library cudnn;

/* With the GPU that is described; without one where the release knows none. */
static int cudnn_load(void **state)
{
    (void)state;
    struct status error = {0};
    if (cudnn.library == NULL && cudnn_library_load(&cudnn, &error) != STATUS_OK) {
        print_message("%s\n", error.text);
    } else if (cudnn.version() >= DESCRIBED_SINCE) {
        assert_int_equal(cudnn.descriptor_create(DEVICE_DESCRIPTOR, &cudnn.device), DNN_STATUS_SUCCESS);
        assert_int_equal(cudnn.attribute_set(cudnn.device, DEVICE_JSON, TYPE_CHAR, (int64_t)strlen(h100), h100),
                         DNN_STATUS_SUCCESS);
        assert_int_equal(cudnn.finalize(cudnn.device), DNN_STATUS_SUCCESS);
    }
    return 0;
}

static int cudnn_unload(void **state)
{
    (void)state;
    if (cudnn.device != NULL) {
        cudnn.descriptor_destroy(cudnn.device);
    }
    cudnn_library_close(&cudnn);
    return 0;
}

static void cudnn_needed(void)
{
    if (cudnn.library == NULL) {
        print_message("libcudnn is not here\n");
        skip();
    }
}

static void description_needed(void)
{
    cudnn_needed();
    if (cudnn.device == NULL) {
        print_message("this release answers for no GPU that is described to it\n");
        skip();
    }
}

static void the_version_is_told_in_words(void **state)
{
    (void)state;
    char text[CUDNN_VERSION_BYTES] = "";
    int major = 0, minor = -1, patch = -1;
    cudnn_needed();
    assert_true(cudnn_version_read(text, NULL));
    assert_int_equal(sscanf(text, "cuDNN %d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(major, 9);
    assert_int_equal(cudnn.version(), 10000 * 9 + 100 * minor + patch);
}

static void who_leaves_it_out_has_none(void **state)
{
    (void)state;
    struct cudnn_library left = {0};
    struct status error = {0};
    char text[CUDNN_VERSION_BYTES] = "";
    assert_int_equal(setenv("ASSAY_CUDNN", "no", 1), 0);
    assert_int_equal(cudnn_library_load(&left, &error), STATUS_UNAVAILABLE);
    assert_false(cudnn_version_read(text, NULL));
    unsetenv("ASSAY_CUDNN");
    assert_non_null(strstr(error.text, "left out by ASSAY_CUDNN=no"));
    assert_null(left.library);
    assert_string_equal(text, "");
}

/* Every function was found where only the driver is missing. */
static void it_opens_as_far_as_the_driver(void **state)
{
    (void)state;
    struct cudnn_library opened = {0};
    struct status error = {0};
    cudnn_needed();
    if (cudnn_library_open(&opened, &error) != STATUS_OK) {
        assert_non_null(strstr(error.text, "cudnnCreate: CUDNN_STATUS_"));
        assert_null(opened.library);
    }
    cudnn_library_close(&opened);
}

/* ---- what is asked of it ---- */

struct scene {
    struct tensor image, weight, result;
    struct convolution_plan plan;
};

static struct tensor dense(enum dtype dtype, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return (struct tensor){.dtype = dtype, .rank = 4, .size = {n, c, h, w}, .stride = {c * h * w, h * w, w, 1}};
}

/* A square image under windows of `kernel`, padded so that stride 1 keeps its size. */
static void scene_set(struct scene *scene, enum dtype dtype, int64_t channels, int64_t filters, int64_t size,
                      int64_t kernel, int64_t stride)
{
    const int64_t images = 8, padding = kernel / 2, left = (size + 2 * padding - kernel) / stride + 1;
    scene->image = dense(dtype, images, channels, size, size);
    scene->weight = dense(dtype, filters, channels, kernel, kernel);
    scene->result = dense(dtype, images, filters, left, left);
    scene->plan = (struct convolution_plan){.images = images,
                                            .channels = channels,
                                            .height = size,
                                            .width = size,
                                            .filters = filters,
                                            .kernel = kernel,
                                            .stride = stride,
                                            .padding = padding,
                                            .rows = left,
                                            .columns = left,
                                            .image = &scene->image,
                                            .weight = &scene->weight,
                                            .result = &scene->result,
                                            .tf32_allowed = true};
}

static const enum opcode passes[] = {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_INPUT,
                                     OPCODE_CONVOLUTION_BACKWARD_WEIGHT};

/* With all the memory of the world the engine that is named first computes it; with a byte less than that wants, one
 * that wants less or none; and none ever wants more than there is. */
static void choice_check(enum opcode opcode, const struct convolution_plan *plan)
{
    struct cudnn_engine wish, less;
    assert_true(cudnn_suits(plan));
    assert_true(cudnn_engine_find(&cudnn, opcode, plan, INT64_MAX, &wish));
    assert_int_equal(wish.index, wish.first_index);
    assert_int_equal(wish.workspace_bytes, wish.first_workspace_bytes);
    bool found = cudnn_engine_find(&cudnn, opcode, plan, wish.workspace_bytes, &less);
    assert_true(found);
    assert_int_equal(less.index, wish.index);
    cudnn_engine_release(&cudnn, &less);
    found = cudnn_engine_find(&cudnn, opcode, plan, wish.workspace_bytes - 1, &less);
    assert_int_equal(less.first_index, wish.first_index);
    assert_int_equal(less.first_workspace_bytes, wish.first_workspace_bytes);
    assert_true(found ? less.workspace_bytes < wish.workspace_bytes : less.index == CUDNN_ENGINE_NONE);
    cudnn_engine_release(&cudnn, &less);
    cudnn_engine_release(&cudnn, &wish);
}

static void every_pass_of_every_dtype_has_an_engine(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    description_needed();
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        for (size_t p = 0; p < sizeof passes / sizeof passes[0]; p++) {
            struct scene scene;
            scene_set(&scene, dtypes[d], 64, 64, 56, 3, 1);
            choice_check(passes[p], &scene.plan);
            scene_set(&scene, dtypes[d], 128, 256, 28, 3, 2);
            choice_check(passes[p], &scene.plan);
        }
    }
}

/* 8 images of 64 x 56 x 56 under 64 filters of 3 x 3: image, weight and result are laid out anew, beside 16 bytes
 * (tape/cudnn_workspace.h). */
static void the_workspace_is_that_of_the_rule(void **state)
{
    (void)state;
    struct scene scene;
    struct cudnn_engine engine;
    description_needed();
    scene_set(&scene, DTYPE_BFLOAT16, 64, 64, 56, 3, 1);
    assert_true(cudnn_engine_find(&cudnn, OPCODE_CONVOLUTION, &scene.plan, INT64_MAX, &engine));
    print_message("engine %d, %lld bytes\n", (int)engine.index, (long long)engine.workspace_bytes);
    assert_in_range(engine.workspace_bytes, 2 * 3211264 + 73728, 2 * 3211264 + 73728 + 512);
    cudnn_engine_release(&cudnn, &engine);
}

/* Sizes that do not go together are refused by cuDNN itself, and so by us. */
static void what_is_no_convolution_has_no_engine(void **state)
{
    (void)state;
    struct scene scene;
    struct cudnn_engine engine;
    description_needed();
    scene_set(&scene, DTYPE_BFLOAT16, 64, 64, 56, 3, 1);
    scene.result.size[2] = 57;
    assert_false(cudnn_engine_find(&cudnn, OPCODE_CONVOLUTION, &scene.plan, INT64_MAX, &engine));
    assert_int_equal(engine.index, CUDNN_ENGINE_NONE);
    assert_int_equal(engine.first_index, CUDNN_ENGINE_NONE);
    cudnn_engine_release(&cudnn, &engine);
}

static void strict_float32_and_empty_ones_do_not_suit(void **state)
{
    (void)state;
    struct scene scene;
    scene_set(&scene, DTYPE_FLOAT32, 64, 64, 56, 3, 1);
    assert_true(cudnn_suits(&scene.plan));
    scene.plan.tf32_allowed = false;
    assert_false(cudnn_suits(&scene.plan));
    scene_set(&scene, DTYPE_FLOAT16, 64, 64, 56, 3, 1);
    scene.plan.tf32_allowed = false;
    assert_true(cudnn_suits(&scene.plan));
    scene.weight.dtype = DTYPE_FLOAT32;
    assert_false(cudnn_suits(&scene.plan));
    scene_set(&scene, DTYPE_FLOAT16, 0, 64, 56, 3, 1);
    assert_false(cudnn_suits(&scene.plan));
}

/* Tensors of more than 2^31 - 1 elements are asked of releases that count them. */
static size_t release_9_2(void)
{
    return 90200;
}

static void older_releases_have_small_tensors(void **state)
{
    (void)state;
    struct scene scene;
    struct cudnn_engine engine;
    description_needed();
    struct cudnn_library old = cudnn;
    old.version = release_9_2;
    scene_set(&scene, DTYPE_BFLOAT16, 64, 64, 2047, 3, 1); /* 8 * 64 * 2047^2 elements, just below 2^31 */
    assert_true(cudnn_engine_find(&old, OPCODE_CONVOLUTION, &scene.plan, INT64_MAX, &engine));
    cudnn_engine_release(&old, &engine);
    scene_set(&scene, DTYPE_BFLOAT16, 64, 64, 2048, 3, 1);
    assert_false(cudnn_engine_find(&old, OPCODE_CONVOLUTION, &scene.plan, INT64_MAX, &engine));
    assert_int_equal(engine.first_index, CUDNN_ENGINE_NONE);
    cudnn_engine_release(&old, &engine);
}

/* ---- a cuDNN that is not whole ---- */

/* What this program does as `test_cudnn_library ask`: loads cuDNN, chooses an engine, and prints what came of it. */
static int ask(void)
{
    struct scene scene;
    struct cudnn_engine engine = {0};
    struct status error = {0};
    void *state = NULL;
    if (cudnn_library_load(&cudnn, &error) != STATUS_OK) {
        printf("refused: %s\n", error.text);
        return 0;
    }
    printf("cuBLAS %s\n", dlopen(TOOLKIT_FILE_NAME("libcublas", CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_NOLOAD) != NULL
                              ? "came"
                              : "did not");
    cudnn_load(&state);
    scene_set(&scene, DTYPE_BFLOAT16, 64, 64, 56, 3, 1);
    if (cudnn.device != NULL) {
        printf("chose %d\n", cudnn_engine_find(&cudnn, OPCODE_CONVOLUTION, &scene.plan, INT64_MAX, &engine) ? 1 : 0);
        cudnn_engine_release(&cudnn, &engine);
    }
    cudnn_unload(&state);
    return 0;
}

/* A folder in which cuDNN's files are those of the machine, before all other folders. */
struct parts {
    struct scratch_scene *scene;
    char folder[128]; /* of cuDNN; its cublasLt would be in scene->folder/cu13/lib */
};

static void shell_do(const char *command)
{
    struct command_result result = command_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void parts_lay(struct parts *parts, struct scratch_scene *scene)
{
    char command[1024], origin[PATH_MAX];
    cudnn_needed();
    parts->scene = scene;
    snprintf(parts->folder, sizeof parts->folder, "%s/cudnn/lib", scene->folder);
    assert_int_equal(dlinfo(cudnn.library, RTLD_DI_ORIGIN, origin), 0);
    snprintf(command, sizeof command, "mkdir -p %s && ln -s %.512s/libcudnn*.so.9 %s", parts->folder, origin,
             parts->folder);
    shell_do(command);
}

/* An empty file in place of a library is as good as none: the loader looks no further. */
static void part_empty(const struct parts *parts, const char *file_name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", parts->folder, file_name);
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* Releases nothing: the caller does. */
static struct command_result parts_ask(const struct parts *parts)
{
    char path[160], home[128], program[PATH_MAX] = "";
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", parts->folder);
    snprintf(home, sizeof home, "CUDA_HOME=%s", parts->scene->folder);
    return command_run((const char *const[]){program, "ask", NULL}, (const char *const[]){path, home, NULL});
}

static void parts_say(const struct parts *parts, const char *words)
{
    struct command_result result = parts_ask(parts);
    if (result.exit_code != 0 || strstr(text_string(&result.output), words) == NULL) {
        fail_msg("exit code %d: %s%s", result.exit_code, text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
}

static void a_whole_one_chooses_beside_cublas(void **state)
{
    struct parts parts;
    parts_lay(&parts, *state);
    parts_say(&parts, "cuBLAS came\n");
    parts_say(&parts, cudnn.device != NULL ? "chose 1\n" : "cuBLAS came\n");
}

static void without_its_graph_it_is_refused(void **state)
{
    struct parts parts;
    parts_lay(&parts, *state);
    part_empty(&parts, "libcudnn_graph.so.9");
    parts_say(&parts, "refused: libcudnn_graph.so.9 is not where the loader looks");
}

/* Where the wheels have it, beside cuDNN's folder, it is found. */
static void without_its_cublaslt_it_is_refused(void **state)
{
    struct parts parts;
    char name[32], words[64], command[1024], origin[PATH_MAX];
    parts_lay(&parts, *state);
    int major = (int)(cudnn.cuda_version() / 1000);
    snprintf(name, sizeof name, "libcublasLt.so.%d", major);
    snprintf(words, sizeof words, "and libcublasLt.so.%d is not where the loader looks", major);
    part_empty(&parts, name);
    parts_say(&parts, words);
    assert_int_equal(dlinfo(dlopen(name, RTLD_NOW | RTLD_NOLOAD), RTLD_DI_ORIGIN, origin), 0);
    snprintf(command, sizeof command, "mkdir -p %s/cu%d/lib && ln -s %.512s/%s %s/cu%d/lib", parts.scene->folder, major,
             origin, name, parts.scene->folder, major);
    shell_do(command);
    parts_say(&parts, cudnn.device != NULL ? "chose 1\n" : "cuBLAS did not\n");
}

#define PARTS_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "ask") == 0) {
        return ask();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_told_in_words),
        cmocka_unit_test(who_leaves_it_out_has_none),
        cmocka_unit_test(it_opens_as_far_as_the_driver),
        cmocka_unit_test(every_pass_of_every_dtype_has_an_engine),
        cmocka_unit_test(the_workspace_is_that_of_the_rule),
        cmocka_unit_test(what_is_no_convolution_has_no_engine),
        cmocka_unit_test(strict_float32_and_empty_ones_do_not_suit),
        cmocka_unit_test(older_releases_have_small_tensors),
        PARTS_TEST(a_whole_one_chooses_beside_cublas),
        PARTS_TEST(without_its_graph_it_is_refused),
        PARTS_TEST(without_its_cublaslt_it_is_refused),
    };
    return cmocka_run_group_tests(tests, cudnn_load, cudnn_unload);
}
