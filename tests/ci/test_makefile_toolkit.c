/* The Makefile and the toolkit: another compiler builds the plug-in anew, one that cannot leaves it out, and a GPU that
 * is too old is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/ci/make_scene.h"

/* Both parts, or one and not the other. */
static void expect_also(struct text output, const char *part, const char *other, bool other_is_there)
{
    struct text copy = {0};
    text_append(&copy, text_string(&output));
    make_expect(output, part, true);
    make_expect(copy, other, other_is_there);
}

/* The same place, another release in it. What the host's compiler made of the toolkit's headers is made anew too. */
static void what_another_compiler_built_is_built_anew(void **state)
{
    const struct make_scene *scene = *state;
    char body[1024], plain[192];
    snprintf(body, sizeof body, "[ \"$1\" != --version ] || { echo release 12.9, V12.9; exit; }\n%s", make_scene_nvcc);
    snprintf(plain, sizeof plain, "%s/build/cuda/harness/base/size.o", scene->folder);
    make_gpu_insert(scene, "9.0");
    make_expect(make_run(scene, GPUS_SHOWN, WORDS(scene->object, plain)), "sm_90 compute_90", true);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("-n", plain)), "size.c", false);
    make_nvcc_replace(scene, body);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("-n", plain)), "size.c", true);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS(scene->object)), "sm_90 compute_90", true);
}

static void an_nvcc_that_cannot_build_the_plug_in_leaves_it_out(void **state)
{
    const struct make_scene *scene = *state;
    char header[192];
    static const char compiled[] = "launch_rows.cu.o";
    make_gpu_insert(scene, "9.0");
    make_nvcc_replace(scene, "echo 'release 11.8, V11.8.89'");
    expect_also(make_run(scene, GPUS_SHOWN, WORDS("-n", "all", "info")),
                "is of CUDA 11.8, and the plug-in needs 12.0 or newer", compiled, false);
    make_nvcc_replace(scene, "[ \"$1\" = --version ] || { echo 'nvcc fatal: unsupported GNU version!'; exit 1; }");
    expect_also(make_run(scene, GPUS_SHOWN, WORDS("-n", "all", "info")),
                "does not compile a kernel: nvcc fatal: unsupported GNU version", compiled, false);
    make_nvcc_replace(scene, make_scene_nvcc);
    snprintf(header, sizeof header, "%s/include/cublasLt.h", scene->toolkit);
    assert_int_equal(unlink(header), 0);
    expect_also(make_run(scene, GPUS_SHOWN, WORDS("-n", "all", "info")), "has no cublasLt.h in ", compiled, false);
}

/* An old GPU beside a new one, or alone, is no reason to build for those that are not here. */
static void a_gpu_that_is_too_old_is_none(void **state)
{
    const struct make_scene *scene = *state;
    static const char both[] = "CUDA_VISIBLE_DEVICES=0,1";
    make_gpu_insert(scene, "9.0\n6.1");
    make_expect(make_run(scene, both, WORDS("info")), "for sm_90\n", true);
    make_gpu_insert(scene, "6.1");
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("-n", "run")), "launch_rows.cu.o", false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scene_open, make_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_another_compiler_built_is_built_anew),
        TEST(an_nvcc_that_cannot_build_the_plug_in_leaves_it_out),
        TEST(a_gpu_that_is_too_old_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
