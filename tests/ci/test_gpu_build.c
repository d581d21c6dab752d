/* The build of ci/gpu.sh on machines that lack something: a tree of links to the sources with its own build folder,
 * and stand-ins for make, the compiler and apt-get. Nothing is built or installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/ci/gpu_scene.h"

static const char make_body[] =
    "at=${0%/*}\n"
    "for goal; do case $goal in -s | *=*) ;; *) break ;; esac; done\n"
    "echo \"$*\" >>\"$at/made\"\n"
    "[ -e \"$at/slow\" ] && exec sleep 60\n"
    "case $goal in\n"
    "info) echo 'CUDA plug-in    no: nvcc was not found here' ;;\n"
    "all) ln -sf \"$(cat \"$at/program\")\" build/assay ;;\n"
    "tests) case \"$*\" in *EMULATION=no*) ;; *) [ ! -e \"$at/emulation\" ] || exec sleep 60 ;; esac\n"
    "    if [ -e \"$at/broken\" ]; then echo 'test_a.c:1: error: stand-in' >&2; exit 2; fi\n"
    "    mkdir -p build/tests/base; cp \"$at/build/tests/area/test_it\" build/tests/base/test_json ;;\n"
    "esac";

/* It finds all headers but those that the file "absent" names. */
static const char compiler_body[] = "[ -s \"${0%/*}/absent\" ] && grep -qf \"${0%/*}/absent\" && exit 1; exit 0";

static const char apt_body[] = "echo \"$*\" >>\"${0%/*}/asked\"\n"
                               "[ -e \"${0%/*}/network\" ] && : >\"${0%/*}/absent\"; [ -e \"${0%/*}/network\" ]";

static void file_write(const struct gpu_scene *scene, const char *name, const char *line)
{
    FILE *file = fopen(gpu_scene_path(scene, name), "w");
    assert_non_null(file);
    fputs(line, file);
    assert_int_equal(fclose(file), 0);
}

static int tree_make(void **state)
{
    if (gpu_scene_make(state) != 0) {
        return 1;
    }
    struct gpu_scene *scene = *state;
    static const char command[] =
        "mkdir -p \"$1/tree/build\" && for path in \"$PWD\"/*; do case ${path##*/} in build) ;; "
        "*) ln -s \"$path\" \"$1/tree/\" ;; esac; done";
    const char *const words[] = {"sh", "-c", command, "sh", scene->folder, NULL};
    struct command_result result = command_run(words, NULL);
    char program[PATH_MAX];
    bool made = result.exit_code == 0 && realpath(program_path(), program) != NULL;
    command_result_release(&result);
    if (made) {
        file_write(scene, "program", program);
        script_write(scene->folder, "make", make_body);
        script_write(scene->folder, "standing-cc", compiler_body);
        script_write(scene->folder, "apt-get", apt_body);
        script_write(scene->folder, "sudo", "shift; exec \"$@\"");
        scene->script = "tree/ci/gpu.sh";
    }
    return made ? 0 : 1;
}

static struct command_result run_with(const struct gpu_scene *scene, const char *compiler, const char *more)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    const char *const environment[] = {
        "ASSAY_PLUGIN_DIR=/nowhere", "CUDA_VISIBLE_DEVICES=-1", "COLUMNS=120", path, compiler, more, NULL};
    return gpu_scene_run(scene, (const char *const[]){"--build-seconds", "4", NULL}, environment);
}

static struct command_result run(const struct gpu_scene *scene)
{
    return run_with(scene, "CC=standing-cc", "X=");
}

static bool has_line(const struct gpu_scene *scene, const char *name, const char *line)
{
    const char *const words[] = {"grep", "-qxe", line, gpu_scene_path(scene, name), NULL};
    struct command_result result = command_run(words, NULL);
    command_result_release(&result);
    return result.exit_code == 0;
}

static void what_is_missing_is_installed(void **state)
{
    const struct gpu_scene *scene = *state;
    file_write(scene, "absent", "cmocka.h");
    file_write(scene, "network", "");
    struct command_result result = run(scene);
    gpu_scene_expect(scene, &result, 0, "pass on the host");
    assert_true(has_line(scene, "asked", "install -y .*libcmocka-dev.*"));
    assert_true(has_line(scene, "made", "-s CUDA=no tests"));
    gpu_scene_says(scene, "timing.tsv", "3 passed, 0 failed, 0 skipped\n");
}

/* The suites need no cmocka. */
static void without_cmocka_the_suites_are_measured(void **state)
{
    const struct gpu_scene *scene = *state;
    file_write(scene, "absent", "cmocka.h");
    struct command_result result = run(scene);
    gpu_scene_expect(scene, &result, 0, "pass on the host");
    assert_false(has_line(scene, "made", "-s CUDA=no tests"));
    gpu_scene_says(scene, "timing.tsv", "no tests are built; as root: apt-get install libcmocka-dev\n");
    assert_true(gpu_scene_part_is(scene, "adam", "ok"));
    assert_true(gpu_scene_part_is(scene, "host", "skip"));
    file_write(scene, "absent", "");
    file_write(scene, "broken", "");
    result = run(scene);
    gpu_scene_expect(scene, &result, 99, "FAIL: a fault of the program: build");
    gpu_scene_says(scene, "timing.tsv", "the build of the tests failed: test_a.c:1: error: stand-in\n");
    assert_true(gpu_scene_part_is(scene, "adam", "ok"));
}

static void what_cannot_be_built_is_named(void **state)
{
    const struct gpu_scene *scene = *state;
    file_write(scene, "absent", "hwloc.h");
    struct command_result result = run(scene);
    gpu_scene_expect(scene, &result, 3, "inconclusive, something is missing: build, device, ");
    gpu_scene_says(scene, "timing.tsv", "libhwloc-dev missing; as root: apt-get install libhwloc-dev; and there is ");
    result = run_with(scene, "CC=no-such-compiler", "X=");
    gpu_scene_expect(scene, &result, 3, "inconclusive, something is missing: build, device, ");
    gpu_scene_says(scene, "timing.tsv", "gcc libc6-dev ");
    char program[PATH_MAX];
    assert_non_null(realpath(program_path(), program));
    assert_int_equal(symlink(program, gpu_scene_path(scene, "tree/build/assay")), 0);
    result = run_with(scene, "CC=no-such-compiler", "X=");
    gpu_scene_expect(scene, &result, 0, "pass on the host");
    gpu_scene_says(scene, "timing.tsv", "; build as it was carried along");
}

static void a_build_without_time_goes_on_later(void **state)
{
    const struct gpu_scene *scene = *state;
    file_write(scene, "slow", "");
    struct command_result result = run(scene);
    gpu_scene_expect(scene, &result, 3, "inconclusive, had no time: build, device, ");
    gpu_scene_says(scene, "timing.tsv", "start it again: make goes on where it was\n");
}

/* No GPU needs the tests of the emulated one, which take the longest to build. */
static void without_time_for_the_emulated_tests_all_else_is_measured(void **state)
{
    const struct gpu_scene *scene = *state;
    file_write(scene, "emulation", "");
    struct command_result result = run(scene);
    gpu_scene_expect(scene, &result, 0, "pass on the host, there is no GPU; had no time: host; exit code 0");
    assert_true(gpu_scene_part_is(scene, "build", "ok"));
    gpu_scene_says(scene, "timing.tsv", "3 passed, 0 failed, 0 skipped; the tests of the emulated GPU are not built: ");
    gpu_scene_says(scene, "timing.tsv", "start it again: make goes on where it was");
}

/* The GPU is seen, and nvcc is not there. */
static void a_gpu_without_a_compiler_for_it_says_so(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(scene->folder, "nvidia-smi", "echo '9.0, GPU-0'");
    struct command_result result = run_with(scene, "CC=standing-cc", "CUDA_VISIBLE_DEVICES=0");
    gpu_scene_expect(scene, &result, 3, "inconclusive, the GPU cannot be used (cuda: the plug-in ");
    gpu_scene_says(scene, "timing.tsv", "there is no CUDA plug-in: nvcc was not found here\n");
    assert_true(has_line(scene, "made", "-s all"));
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, tree_make, gpu_scene_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(what_is_missing_is_installed),
        TREE_TEST(without_cmocka_the_suites_are_measured),
        TREE_TEST(what_cannot_be_built_is_named),
        TREE_TEST(a_build_without_time_goes_on_later),
        TREE_TEST(without_time_for_the_emulated_tests_all_else_is_measured),
        TREE_TEST(a_gpu_without_a_compiler_for_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
