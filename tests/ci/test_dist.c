/* dist.sh on a little repository of its own: the same commit gives the same bytes, which say what they are of; what is
 * in no commit is refused. Building an archive is `make distcheck`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Runs a line of sh in the scene's folder; $1 is the folder of this repository. */
static struct command_result line_run(const struct scratch_scene *scene, const char *line)
{
    char *here = realpath(".", NULL), text[2048];
    snprintf(text, sizeof text, "cd %s && %s", scene->folder, line);
    const char *const words[] = {"sh", "-c", text, "sh", here, NULL};
    const char *const environment[] = {
        "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",   "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
        "GIT_COMMITTER_NAME=a",        "GIT_COMMITTER_EMAIL=a@b", "LC_ALL=C",          NULL};
    struct command_result result = command_run(words, environment);
    free(here);
    return result;
}

static void line_expect(const struct scratch_scene *scene, const char *line, const char *output)
{
    struct command_result result = line_run(scene, line);
    assert_string_equal(text_string(&result.error), "");
    assert_string_equal(text_string(&result.output), output);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void repository_make(const struct scratch_scene *scene)
{
    command_needed("git");
    line_expect(scene,
                "mkdir -p ci harness/cli .ci && cp \"$1/ci/dist.sh\" ci/ && cp \"$1/.gitattributes\" . && "
                "echo '#define ASSAY_VERSION      \"7.8.9\"' >harness/cli/command.h && echo x >.ci/run && "
                "printf 'build/\\n' >.gitignore && git init -q . && git add -A && git commit -qm one",
                "");
}

static void a_commit_gives_the_same_bytes_each_time(void **state)
{
    const struct scratch_scene *scene = *state;
    repository_make(scene);
    line_expect(scene,
                "ci/dist.sh build/a >/dev/null && sleep 1 && touch harness/cli/command.h && umask 077 && "
                "ci/dist.sh build/b >/dev/null && cmp build/a/assay-7.8.9.tar.gz build/b/assay-7.8.9.tar.gz && "
                "(cd build/a && sha256sum -c assay-7.8.9.tar.gz.sha256)",
                "assay-7.8.9.tar.gz: OK\n");
}

static void an_archive_says_what_it_is_of(void **state)
{
    const struct scratch_scene *scene = *state;
    repository_make(scene);
    line_expect(scene,
                "ci/dist.sh build/a >/dev/null && tar -tzf build/a/assay-7.8.9.tar.gz | sort && "
                "tar -xzf build/a/assay-7.8.9.tar.gz && "
                "test \"$(cat assay-7.8.9/REVISION)\" = \"$(git describe --always)\"",
                "assay-7.8.9/\nassay-7.8.9/.gitattributes\nassay-7.8.9/.gitignore\nassay-7.8.9/REVISION\n"
                "assay-7.8.9/ci/\nassay-7.8.9/ci/dist.sh\nassay-7.8.9/harness/\nassay-7.8.9/harness/cli/\n"
                "assay-7.8.9/harness/cli/command.h\n");
}

static void what_no_commit_has_is_refused(void **state)
{
    const struct scratch_scene *scene = *state;
    repository_make(scene);
    static const char *const rows[][2] = {
        {"echo y >>harness/cli/command.h; ci/dist.sh build/a", "there are changes that no commit has"},
        {"mkdir none; PATH=$PWD/none /bin/sh ci/dist.sh build/a", "git is missing"},
        {"rm -rf .git; ci/dist.sh build/a", "this is no clone"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = line_run(scene, rows[i][0]);
        assert_int_equal(result.exit_code, 2);
        command_says(&result.error, rows[i][1]);
        assert_int_equal(result.output.length, 0);
        command_result_release(&result);
    }
    line_expect(scene, "ls build/a/*.tar.gz 2>/dev/null | wc -l", "0\n");
}

/* The Makefile of an unpacked archive, which has no repository around it. */
static void make_knows_the_revision_of_an_archive(void **state)
{
    const struct scratch_scene *scene = *state;
    line_expect(scene,
                "cp \"$1/Makefile\" . && mkdir harness && echo 1234abc >REVISION && "
                "make -s -n BUILD=b CUDA=no EMULATION=no CURL=no info >/dev/null 2>&1; cat b/revision",
                "1234abc\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_gives_the_same_bytes_each_time, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(an_archive_says_what_it_is_of, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(what_no_commit_has_is_refused, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(make_knows_the_revision_of_an_archive, scratch_scene_open, scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
