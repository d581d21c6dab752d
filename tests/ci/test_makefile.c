/* The Makefile's choice of GPUs: with a driver and a compiler of our own it builds for what is here, for all where
 * nothing is, nothing for `make run` then, and anew what was built for others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

struct scene {
    char folder[64];
    char path[4096], nvcc[128], build[128], object[192];
};

/* A compiler that knows a few GPUs, writes what it is asked to write, and says on standard output for which GPUs. */
static const char nvcc_body[] =
    "[ \"$1\" != --list-gpu-code ] || { printf 'sm_%s\\n' 75 80 86 89 90 100 120; exit; }\n"
    "while [ $# -gt 0 ]; do\n"
    "    case $1 in -o) echo built >\"$2\" ;; -gencode) printf '%s ' \"${2##*code=}\" ;; esac\n"
    "    shift\n"
    "done; echo";

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-make-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        return 1;
    }
    script_write(scene->folder, "nvcc", nvcc_body);
    snprintf(scene->path, sizeof scene->path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    snprintf(scene->nvcc, sizeof scene->nvcc, "NVCC=%s/nvcc", scene->folder);
    snprintf(scene->build, sizeof scene->build, "BUILD=%s/build", scene->folder);
    snprintf(scene->object, sizeof scene->object, "%s/build/cuda/harness/kernels/launch_rows.cu.o", scene->folder);
    *state = scene;
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    int code = scratch_folder_remove(scene->folder);
    free(scene);
    return code;
}

/* A driver whose only GPU is of this compute capability. */
static void gpu_insert(const struct scene *scene, const char *capability)
{
    char body[128];
    snprintf(body, sizeof body, "case $1 in -L) echo 'GPU 0: one' ;; *) echo '%s' ;; esac", capability);
    script_write(scene->folder, "nvidia-smi", body);
}

/* Runs make as a user does: with none of the settings of the make that runs this test, which exports what it was
 * given. */
static struct text make_run(const struct scene *scene, const char *visible, const char *const *words)
{
    static const char *const settings[] = {"MAKEFLAGS", "MFLAGS",    "MAKELEVEL",  "CC",   "CXX",
                                           "CUDA",      "CUDA_WISH", "CUDA_ARCHS", "NVCC", "VARIANT"};
    enum { SETTING_COUNT = sizeof settings / sizeof settings[0] };
    const char *all[2 * SETTING_COUNT + 16] = {"env"};
    const char *const environment[] = {scene->path, visible, NULL};
    size_t count = 1;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        all[count++] = "-u";
        all[count++] = settings[i];
    }
    const char *const make[] = {"make", "-s", scene->nvcc, scene->build};
    for (size_t i = 0; i < sizeof make / sizeof make[0]; i++) {
        all[count++] = make[i];
    }
    while (*words != NULL) {
        all[count++] = *words++;
    }
    struct command_result result = command_run(all, environment);
    if (result.exit_code != 0) {
        print_error("%s", text_string(&result.error));
    }
    assert_int_equal(result.exit_code, 0);
    text_release(&result.error);
    return result.output;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char shown[] = "CUDA_VISIBLE_DEVICES=0", hidden[] = "CUDA_VISIBLE_DEVICES=-1";

static void expect(struct text output, const char *part, bool is_there)
{
    if ((strstr(text_string(&output), part) != NULL) != is_there) {
        print_error("%s '%s' in: %s\n", is_there ? "no" : "there is", part, text_string(&output));
        text_release(&output);
        fail();
    }
    text_release(&output);
}

static void it_is_built_for_the_gpu_that_is_here(void **state)
{
    const struct scene *scene = *state;
    static const char all[] = "for sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120\n";
    gpu_insert(scene, "9.0");
    expect(make_run(scene, shown, WORDS("info")), "for sm_90\n", true);
    expect(make_run(scene, hidden, WORDS("info")), all, true);
    expect(make_run(scene, shown, WORDS("info", "CUDA_WISH=75 90 120")), "for sm_75 sm_90 sm_120\n", true);
    expect(make_run(scene, shown, WORDS("info", "CUDA_ARCHS=80")), "for sm_80\n", true);
    gpu_insert(scene, "13.7"); /* newer than the compiler */
    expect(make_run(scene, shown, WORDS("info")), all, true);
    gpu_insert(scene, "[N/A]"); /* listed by a driver that does not say what it is */
    expect(make_run(scene, shown, WORDS("info")), all, true);
}

static void a_run_without_a_gpu_compiles_no_kernel(void **state)
{
    const struct scene *scene = *state;
    static const char compiled[] = "launch_rows.cu.o";
    gpu_insert(scene, "9.0");
    expect(make_run(scene, hidden, WORDS("-n", "run")), compiled, false);
    expect(make_run(scene, shown, WORDS("-n", "run")), compiled, true);
    expect(make_run(scene, hidden, WORDS("-n", "all")), compiled, true);
    expect(make_run(scene, hidden, WORDS("-n", "run", "CUDA_ARCHS=90")), compiled, true);
    expect(make_run(scene, shown, WORDS("-n", "install")), "code=sm_75", true);
}

/* A build folder that was kept while the GPU, or the wish, changed. */
static void what_was_built_for_others_is_built_anew(void **state)
{
    const struct scene *scene = *state;
    const char *const object[] = {scene->object, NULL};
    gpu_insert(scene, "9.0");
    expect(make_run(scene, shown, object), "sm_90 compute_90", true);
    expect(make_run(scene, shown, object), "sm_", false);
    expect(make_run(scene, shown, WORDS(scene->object, "CUDA_ARCHS=80")), "sm_80 compute_80", true);
    expect(make_run(scene, shown, object), "sm_90 compute_90", true);
    gpu_insert(scene, "7.5");
    expect(make_run(scene, shown, object), "sm_75 compute_75", true);
    expect(make_run(scene, shown, WORDS(scene->object, "CUDA_WISH=75 90")), "sm_75 sm_90 compute_90", true);
    expect(make_run(scene, shown, object), "sm_", false); /* what is here is among them */
}

/* make of the program's revision; git is a program that says what it is told to, and nothing for "". */
static void revision_expect(const struct scene *scene, const char *described, const char *found, bool is_built)
{
    char object[192], other[192], body[96], command[512];
    snprintf(object, sizeof object, "%s/build/obj/harness/cli/program_revision.o", scene->folder);
    snprintf(other, sizeof other, "%s/build/obj/harness/base/size.o", scene->folder);
    snprintf(body, sizeof body, described[0] != '\0' ? "echo '%s'" : "exit 128%s", described);
    script_write(scene->folder, "git", body);
    expect(make_run(scene, hidden, WORDS("-n", object, other)), "program_revision.c", is_built);
    expect(make_run(scene, hidden, WORDS("-n", object, other)), "size.c", false);
    text_release(&(struct text[]){make_run(scene, hidden, WORDS(object, other))}[0]);
    snprintf(command, sizeof command, "strings -a %s | grep -qx '%s'", object, found);
    struct command_result result = command_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* What another commit builds anew, where git is asked and has an answer. A tag may have any name. */
static void a_commit_compiles_one_file_anew(void **state)
{
    const struct scene *scene = *state;
    char other[192];
    if (access(".git", F_OK) != 0) {
        skip();
    }
    snprintf(other, sizeof other, "%s/build/obj/harness/base/size.o", scene->folder);
    text_release(&(struct text[]){make_run(scene, hidden, WORDS(other))}[0]);
    revision_expect(scene, "v9-1-gaaaaaaa", "v9-1-gaaaaaaa", true);
    revision_expect(scene, "v9-1-gaaaaaaa", "v9-1-gaaaaaaa", false);
    revision_expect(scene, "v9-2-gbbbbbbb-dirty", "v9-2-gbbbbbbb-dirty", true);
    revision_expect(scene, "", "v9-2-gbbbbbbb-dirty", false); /* as root, whom git does not tell */
    revision_expect(scene, "v\"$(touch x)`;-3", "vtouchx-3", true);
}

/* The folder of a release has no .git, whatever lies above it. */
static void a_release_is_built_without_a_revision(void **state)
{
    const struct scene *scene = *state;
    char command[1024];
    script_write(scene->folder, "git", "echo v9");
    snprintf(command, sizeof command,
             "mkdir -p %s/release/harness && cp -r Makefile ci %s/release && cp -r harness/cli harness/base "
             "%s/release/harness && "
             "cd %s/release && env -u MAKEFLAGS -u MAKELEVEL make -s CUDA=no BUILD=b "
             "b/obj/harness/cli/program_revision.o && "
             "test -e b/revision && test -z \"$(cat b/revision)\" && ! strings -a b/obj/harness/cli/program_revision.o "
             "| grep -qx v9",
             scene->folder, scene->folder, scene->folder, scene->folder);
    const char *const environment[] = {scene->path, NULL};
    struct command_result result = command_run((const char *const[]){"sh", "-c", command, NULL}, environment);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* A machine with a compiler and without two headers is told so at once, with the packages that have them. */
static void missing_headers_are_named_before_anything_is_compiled(void **state)
{
    const struct scene *scene = *state;
    script_write(scene->folder, "cc",
                 "case \" $* \" in *' -fsyntax-only '*) ! grep -q 'yaml.h\\|jansson.h' ;;\n"
                 "*) echo compiled >>\"${0%/*}/compiled\"; exit 1 ;; esac");
    static const char command[] =
        "env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CC make CC=\"$1/cc\" CUDA=no \"$2\" all 2>&1";
    const char *const words[] = {"sh", "-c", command, "sh", scene->folder, scene->build, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 2);
    command_says(&result.output, "missing: jansson.h yaml.h. Run ci/install-deps.sh, or as root: apt-get install "
                                 "libjansson-dev libyaml-dev.");
    command_result_release(&result);
    char compiled[128];
    snprintf(compiled, sizeof compiled, "%s/build/obj", scene->folder);
    assert_int_not_equal(access(compiled, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_built_for_the_gpu_that_is_here, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_run_without_a_gpu_compiles_no_kernel, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(what_was_built_for_others_is_built_anew, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_commit_compiles_one_file_anew, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(missing_headers_are_named_before_anything_is_compiled, scene_make,
                                        scene_remove),
        cmocka_unit_test_setup_teardown(a_release_is_built_without_a_revision, scene_make, scene_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
