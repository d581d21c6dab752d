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

#include "harness/base/file_replace.h"
#include "tests/ci/make_scene.h"
#include "tests/support/command_run.h"

static void it_is_built_for_the_gpu_that_is_here(void **state)
{
    const struct make_scene *scene = *state;
    static const char all[] = "for sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120\n";
    make_gpu_insert(scene, "9.0");
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("info")), "for sm_90\n", true);
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("info")), all, true);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("info", "CUDA_WISH=75 90 120")), "for sm_75 sm_90 sm_120\n", true);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("info", "CUDA_ARCHS=80")), "for sm_80\n", true);
    make_gpu_insert(scene, "13.7"); /* newer than the compiler */
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("info")), all, true);
    make_gpu_insert(scene, "[N/A]"); /* listed by a driver that does not say what it is */
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("info")), all, true);
}

static void a_run_without_a_gpu_compiles_no_kernel(void **state)
{
    const struct make_scene *scene = *state;
    static const char compiled[] = "launch_rows.cu.o";
    make_gpu_insert(scene, "9.0");
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", "run")), compiled, false);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS("-n", "run")), compiled, true);
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", "all")), compiled, true);
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", "run", "CUDA_ARCHS=90")), compiled, true);
    struct text install = make_run(scene, GPUS_SHOWN, WORDS("-n", "install"));
    assert_non_null(strstr(text_string(&install), "code=sm_75"));
    make_expect(install, " peers/pytorch/truth_records.py peers/pytorch/own_program.py peers/pytorch/whole_file.py;",
                true);
}

/* A comma or a quote too many in a $(if ...) leaves half a line, which only the target itself would show. */
static void what_targets_do_is_shell(void **state)
{
    const struct make_scene *scene = *state;
    static const char *const targets[] = {"test", "run", "bench", "check", "install", "strict"};
    static const char *const variants[] = {"VARIANT=release", "VARIANT=san"};
    char path[96];
    snprintf(path, sizeof path, "%s/lines.sh", scene->folder);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0] * 2; i++) {
        struct text lines = make_run(scene, GPUS_HIDDEN, WORDS("-n", targets[i / 2], variants[i % 2]));
        assert_int_equal(file_replace(path, FILE_NAMED, &lines, NULL), STATUS_OK);
        struct command_result result = command_run(WORDS("sh", "-n", path), NULL);
        if (result.exit_code != 0) {
            fail_msg("make %s %s: %s", targets[i / 2], variants[i % 2], text_string(&result.error));
        }
        command_result_release(&result);
        text_release(&lines);
    }
}

/* A build folder that was kept while the GPU, or the wish, changed. */
/* DEVICE is that of `make bench`, too, whose own word for none is the host. */
static void the_device_of_make_is_the_one_measured(void **state)
{
    const struct make_scene *scene = *state;
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", "gpu", "DEVICE=cuda:1")), "--device cuda:1", true);
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", "gpu")), "--device", false);
}

static void what_was_built_for_others_is_built_anew(void **state)
{
    const struct make_scene *scene = *state;
    const char *const object[] = {scene->object, NULL};
    make_gpu_insert(scene, "9.0");
    make_expect(make_run(scene, GPUS_SHOWN, object), "sm_90 compute_90", true);
    make_expect(make_run(scene, GPUS_SHOWN, object), "sm_", false);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS(scene->object, "CUDA_ARCHS=80")), "sm_80 compute_80", true);
    make_expect(make_run(scene, GPUS_SHOWN, object), "sm_90 compute_90", true);
    make_gpu_insert(scene, "7.5");
    make_expect(make_run(scene, GPUS_SHOWN, object), "sm_75 compute_75", true);
    make_expect(make_run(scene, GPUS_SHOWN, WORDS(scene->object, "CUDA_WISH=75 90")), "sm_75 sm_90 compute_90", true);
    make_expect(make_run(scene, GPUS_SHOWN, object), "sm_", false); /* what is here is among them */
}

/* make of the program's revision; git is a program that says what it is told to, and nothing for "". */
static void revision_expect(const struct make_scene *scene, const char *described, const char *found, bool is_built)
{
    char object[192], other[192], body[96], command[512];
    snprintf(object, sizeof object, "%s/build/obj/harness/cli/program_revision.o", scene->folder);
    snprintf(other, sizeof other, "%s/build/obj/harness/base/size.o", scene->folder);
    snprintf(body, sizeof body, described[0] != '\0' ? "echo '%s'" : "exit 128%s", described);
    script_write(scene->folder, "git", body);
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", object, other)), "program_revision.c", is_built);
    make_expect(make_run(scene, GPUS_HIDDEN, WORDS("-n", object, other)), "size.c", false);
    text_release(&(struct text[]){make_run(scene, GPUS_HIDDEN, WORDS(object, other))}[0]);
    snprintf(command, sizeof command, "strings -a %s | grep -qx '%s'", object, found);
    struct command_result result = command_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* What another commit builds anew, where git is asked and has an answer. A tag may have any name. */
static void a_commit_compiles_one_file_anew(void **state)
{
    const struct make_scene *scene = *state;
    char other[192];
    if (access(".git", F_OK) != 0) {
        skip();
    }
    snprintf(other, sizeof other, "%s/build/obj/harness/base/size.o", scene->folder);
    text_release(&(struct text[]){make_run(scene, GPUS_HIDDEN, WORDS(other))}[0]);
    revision_expect(scene, "v9-1-gaaaaaaa", "v9-1-gaaaaaaa", true);
    revision_expect(scene, "v9-1-gaaaaaaa", "v9-1-gaaaaaaa", false);
    revision_expect(scene, "v9-2-gbbbbbbb-dirty", "v9-2-gbbbbbbb-dirty", true);
    revision_expect(scene, "", "v9-2-gbbbbbbb-dirty", false); /* as root, whom git does not tell */
    revision_expect(scene, "v\"$(touch x)`;-3", "vtouchx-3", true);
}

/* The folder of a release has no .git, whatever lies above it. */
static void a_release_is_built_without_a_revision(void **state)
{
    const struct make_scene *scene = *state;
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
    const struct make_scene *scene = *state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scene_open, make_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_built_for_the_gpu_that_is_here),   TEST(a_run_without_a_gpu_compiles_no_kernel),
        TEST(the_device_of_make_is_the_one_measured), TEST(what_was_built_for_others_is_built_anew),
        TEST(a_commit_compiles_one_file_anew),        TEST(missing_headers_are_named_before_anything_is_compiled),
        TEST(a_release_is_built_without_a_revision),  TEST(what_targets_do_is_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
