/* deb.sh on a small tree: what stands in the package, what it depends on, and that a plug-in brings no dependency on a
 * driver. Installing one is ci/deb-trial.sh's. */
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

/* Runs a line of sh in this repository; $1: the scene's folder, $2: the program. */
static struct command_result line_run(const struct scratch_scene *scene, const char *line)
{
    const char *const words[] = {"sh", "-c", line, "sh", scene->folder, program_path(), NULL};
    const char *const environment[] = {"LC_ALL=C", "SOURCE_DATE_EPOCH=1700000000", "DEBFULLNAME=A Person",
                                       "DEBEMAIL=a@example.org", NULL};
    return command_run(words, environment);
}

static void line_expect(const struct scratch_scene *scene, const char *line, const char *output)
{
    struct command_result result = line_run(scene, line);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.output), output);
    command_result_release(&result);
}

/* What `make install` leaves, as far as deb.sh looks at it. */
static void tree_make(const struct scratch_scene *scene)
{
    command_needed("dpkg-deb");
    command_needed("dpkg-shlibdeps");
    line_expect(scene,
                "cd \"$1\" && mkdir -p tree/usr/bin tree/usr/share/man/man1 tree/usr/share/zsh/site-functions "
                "tree/usr/share/doc/assay && echo .TH >tree/usr/share/man/man1/assay.1 && "
                "echo x | tee tree/usr/share/zsh/site-functions/_assay tree/usr/share/doc/assay/LICENSE "
                "tree/usr/share/doc/assay/CHANGELOG.md >/dev/null && "
                "cd - >/dev/null && cp \"$2\" \"$1/tree/usr/bin/assay\"",
                "");
}

static void a_package_has_what_debian_asks_for(void **state)
{
    const struct scratch_scene *scene = *state;
    tree_make(scene);
    line_expect(scene, "ci/deb.sh \"$1/tree\" \"$1/out\" >/dev/null && dpkg-deb -f \"$1\"/out/*.deb Package Maintainer",
                "Package: assay\nMaintainer: A Person <a@example.org>\n");
    line_expect(scene, "dpkg-deb --fsys-tarfile \"$1\"/out/*.deb | tar -t | grep -v '/$' | sort",
                "./usr/bin/assay\n./usr/share/doc/assay/NEWS.md\n./usr/share/doc/assay/changelog.gz\n"
                "./usr/share/doc/assay/copyright\n./usr/share/man/man1/assay.1.gz\n"
                "./usr/share/zsh/vendor-completions/_assay\n");
    struct command_result depends = line_run(scene, "dpkg-deb -f \"$1\"/out/*.deb Depends");
    static const char *const needed[] = {"libopenblas0-pthread | libopenblas0, ",
                                         "libc6 (>= ",
                                         "libhwloc15",
                                         "libjansson4",
                                         "libyaml-0-2",
                                         "libsqlite3-0"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        command_says(&depends.output, needed[i]);
    }
    command_result_release(&depends);
    /* no script runs when it is installed or purged */
    line_expect(scene, "dpkg-deb --ctrl-tarfile \"$1\"/out/*.deb | tar -t | sort", "./\n./control\n./md5sums\n");
}

static void the_same_tree_gives_the_same_bytes(void **state)
{
    const struct scratch_scene *scene = *state;
    tree_make(scene);
    line_expect(scene,
                "cp -r \"$1/tree\" \"$1/other\" && ci/deb.sh \"$1/tree\" \"$1/out\" >/dev/null && sleep 1 && "
                "ci/deb.sh \"$1/other\" \"$1/again\" >/dev/null && cmp \"$1\"/out/*.deb \"$1\"/again/*.deb",
                "");
}

/* For apt: what is not released is older than the release, and a later commit newer. */
static void a_later_commit_is_a_newer_package(void **state)
{
    const struct scratch_scene *scene = *state;
    tree_make(scene);
    command_needed("git");
    line_expect(
        scene,
        "cp -r \"$1/tree\" \"$1/old\" && cp -r \"$1/tree\" \"$1/new\" && mkdir -p \"$1/c/harness/cli\" "
        "\"$1/c/ci\" && cp ci/deb.sh \"$1/c/ci\" && cp harness/cli/command.h \"$1/c/harness/cli\" && cd \"$1/c\" && "
        "git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && "
        "of() { ci/deb.sh \"$1\" \"$1.out\" >/dev/null && dpkg-deb -f \"$1.out\"/*.deb Version; } && "
        "old=$(of ../old) && new=$(SOURCE_DATE_EPOCH=1700000001 of ../new) && "
        "dpkg --compare-versions \"$old\" lt \"$new\" && dpkg --compare-versions \"$new\" lt 0.1.0 && "
        "git tag v0.1.0 && of ../tree && echo \"$new\" | sed 's/[.][0-9a-f]*$//'",
        "0.1.0\n0.1.0~git20231114221321\n");
}

/* It is linked with nothing of CUDA, which it opens at run time. */
static void a_plug_in_brings_no_driver(void **state)
{
    const struct scratch_scene *scene = *state;
    tree_make(scene);
    command_needed("cc");
    line_expect(
        scene,
        "mkdir -p \"$1/tree/usr/lib/assay\" && echo 'int plugin(void) { return 0; }' | "
        "cc -shared -fPIC -x c - -o \"$1/tree/usr/lib/assay/libassay_cuda.so\" && "
        "ci/deb.sh \"$1/tree\" \"$1/out\" >/dev/null && dpkg-deb -f \"$1\"/out/*.deb Description | tail -n 1 && "
        "dpkg-deb -f \"$1\"/out/*.deb Depends Recommends | grep -ci 'cuda\\|nvidia' || true",
        " With the plug-in for NVIDIA GPUs; driver and cuBLAS are looked for at run time.\n0\n");
}

static void missing_tools_are_named(void **state)
{
    const struct scratch_scene *scene = *state;
    struct command_result result =
        line_run(scene, "mkdir \"$1/none\"; PATH=$1/none /bin/sh ci/deb.sh \"$1/tree\" \"$1/out\"");
    assert_int_equal(result.exit_code, 2);
    command_says(&result.error, "deb.sh: dpkg-deb is missing; as root: apt-get install dpkg-dev binutils");
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_package_has_what_debian_asks_for, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(the_same_tree_gives_the_same_bytes, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_later_commit_is_a_newer_package, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_plug_in_brings_no_driver, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(missing_tools_are_named, scratch_scene_open, scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
