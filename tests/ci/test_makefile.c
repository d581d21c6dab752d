/* The Makefile's choice of GPUs: with a driver and a compiler of our own it builds for what is here, for all where
 * nothing is, nothing for `make run` then, anew what was built for others or by another compiler, and no plug-in with a
 * compiler that cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

struct scene {
    char folder[64], toolkit[96];
    char path[4096], nvcc[160], build[128], object[192];
};

/* A compiler that knows a few GPUs, writes what it is asked to write, and says on standard output for which GPUs. */
static const char nvcc_body[] =
    "[ \"$1\" != --version ] || { echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit; }\n"
    "[ \"$1\" != --list-gpu-code ] || { printf 'sm_%s\\n' 75 80 86 89 90 100 120; exit; }\n"
    "while [ $# -gt 0 ]; do\n"
    "    case $1 in -o) echo built >\"$2\" ;; -gencode) printf '%s ' \"${2##*code=}\" ;; esac\n"
    "    shift\n"
    "done; echo";

static const char *const headers[] = {"cuda_runtime_api.h", "cublas_v2.h", "cublasLt.h"};

/* The toolkit as it is installed: bin/nvcc, and the headers that the plug-in includes, which are empty. */
static int toolkit_install(struct scene *scene)
{
    char bin[128], path[192];
    snprintf(scene->toolkit, sizeof scene->toolkit, "%s/toolkit", scene->folder);
    snprintf(bin, sizeof bin, "%s/bin", scene->toolkit);
    snprintf(path, sizeof path, "%s/include", scene->toolkit);
    if (mkdir(scene->toolkit, 0700) != 0 || mkdir(bin, 0700) != 0 || mkdir(path, 0700) != 0) {
        return 1;
    }
    script_write(bin, "nvcc", nvcc_body);
    snprintf(scene->nvcc, sizeof scene->nvcc, "NVCC=%s/bin/nvcc", scene->toolkit);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        snprintf(path, sizeof path, "%s/include/%s", scene->toolkit, headers[i]);
        FILE *file = fopen(path, "we");
        if (file == NULL || fclose(file) != 0) {
            return 1;
        }
    }
    return 0;
}

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-make-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        return 1;
    }
    snprintf(scene->path, sizeof scene->path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    snprintf(scene->build, sizeof scene->build, "BUILD=%s/build", scene->folder);
    snprintf(scene->object, sizeof scene->object, "%s/build/cuda/harness/kernels/launch_rows.cu.o", scene->folder);
    *state = scene;
    return toolkit_install(scene);
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

static void nvcc_replace(const struct scene *scene, const char *body)
{
    char bin[128];
    snprintf(bin, sizeof bin, "%s/bin", scene->toolkit);
    script_write(bin, "nvcc", body);
}

/* Both parts, or one and not the other. */
static void expect_also(struct text output, const char *part, const char *other, bool other_is_there)
{
    struct text copy = {0};
    text_append(&copy, text_string(&output));
    expect(output, part, true);
    expect(copy, other, other_is_there);
}

/* The same place, another release in it. What the host's compiler made of the toolkit's headers is made anew too. */
static void what_another_compiler_built_is_built_anew(void **state)
{
    const struct scene *scene = *state;
    char body[1024], plain[192];
    snprintf(body, sizeof body, "[ \"$1\" != --version ] || { echo release 12.9, V12.9; exit; }\n%s", nvcc_body);
    snprintf(plain, sizeof plain, "%s/build/cuda/harness/base/size.o", scene->folder);
    gpu_insert(scene, "9.0");
    expect(make_run(scene, shown, WORDS(scene->object, plain)), "sm_90 compute_90", true);
    expect(make_run(scene, shown, WORDS("-n", plain)), "size.c", false);
    nvcc_replace(scene, body);
    expect(make_run(scene, shown, WORDS("-n", plain)), "size.c", true);
    expect(make_run(scene, shown, WORDS(scene->object)), "sm_90 compute_90", true);
}

static void an_nvcc_that_cannot_build_the_plug_in_leaves_it_out(void **state)
{
    const struct scene *scene = *state;
    char header[192];
    static const char compiled[] = "launch_rows.cu.o";
    gpu_insert(scene, "9.0");
    nvcc_replace(scene, "echo 'release 11.8, V11.8.89'");
    expect_also(make_run(scene, shown, WORDS("-n", "all", "info")),
                "is of CUDA 11.8, and the plug-in needs 12.0 or newer", compiled, false);
    nvcc_replace(scene, "[ \"$1\" = --version ] || { echo 'nvcc fatal: unsupported GNU version!'; exit 1; }");
    expect_also(make_run(scene, shown, WORDS("-n", "all", "info")),
                "does not compile a kernel: nvcc fatal: unsupported GNU version", compiled, false);
    nvcc_replace(scene, nvcc_body);
    snprintf(header, sizeof header, "%s/include/cublasLt.h", scene->toolkit);
    assert_int_equal(unlink(header), 0);
    expect_also(make_run(scene, shown, WORDS("-n", "all", "info")), "has no cublasLt.h in ", compiled, false);
}

/* An old GPU beside a new one, or alone, is no reason to build for those that are not here. */
static void a_gpu_that_is_too_old_is_none(void **state)
{
    const struct scene *scene = *state;
    static const char both[] = "CUDA_VISIBLE_DEVICES=0,1";
    gpu_insert(scene, "9.0\n6.1");
    expect(make_run(scene, both, WORDS("info")), "for sm_90\n", true);
    gpu_insert(scene, "6.1");
    expect(make_run(scene, shown, WORDS("-n", "run")), "launch_rows.cu.o", false);
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
        cmocka_unit_test_setup_teardown(what_another_compiler_built_is_built_anew, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(an_nvcc_that_cannot_build_the_plug_in_leaves_it_out, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_gpu_that_is_too_old_is_none, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_commit_compiles_one_file_anew, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(missing_headers_are_named_before_anything_is_compiled, scene_make,
                                        scene_remove),
        cmocka_unit_test_setup_teardown(a_release_is_built_without_a_revision, scene_make, scene_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
