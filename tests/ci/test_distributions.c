/* distributions.sh with a debootstrap and a chroot of its own: what it asks of them, what it says, and that nothing is
 * left however it ends. Real systems are made by itself alone. */
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
#include "tests/support/whole_file.h"

/* Every program that it starts, and a repository of one commit. */
static const char scene_script[] =
    "cd \"$1\" && mkdir bin repository repository/ci && cp \"$OLDPWD/ci/distributions.sh\" repository/ci && "
    "cd repository && git init -q && git add . && git -c user.name=a -c user.email=a@b commit -q -m one";

static const char debootstrap[] =
    "echo \"$*\" >>\"${0%/bin/*}/asked\"; for word; do case $word in /*) mkdir -p \"$word/root\" \"$word/proc\" "
    "\"$word/sys\" \"$word/dev/pts\" \"$word/etc/apt/apt.conf.d\" ;; esac; done; [ ! -e \"${0%/bin/*}/unreachable\" ] "
    "|| "
    "{ echo 'E: no packages' >&2; exit 1; }";

/* Says what make would, where there is a clone; what lies in the file "says" instead. */
static const char entering[] =
    "echo \"$*\" >>\"${0%/bin/*}/entered\"; [ -e \"$1/root/assay/ci/distributions.sh\" ] || exit 9\n"
    "case $* in *make\\ run) echo '45 cases: 45 ok' ;; *) cat \"${0%/bin/*}/says\" 2>/dev/null || "
    "{ echo '7 passed, 0 failed, 2 skipped'; exit 0; }; exit 2 ;; esac";

static int scene_open(void **state)
{
    if (scratch_scene_open(state) != 0) {
        return -1;
    }
    struct scratch_scene *scene = *state;
    char bin[96];
    struct command_result made =
        command_run((const char *const[]){"sh", "-c", scene_script, "sh", scene->folder, NULL}, NULL);
    assert_int_equal(made.exit_code, 0);
    command_result_release(&made);
    snprintf(bin, sizeof bin, "%s/bin", scene->folder);
    script_write(bin, "id", "echo 0");
    script_write(bin, "apt-get",
                 "echo bookworm-updates main http://a/updates; echo \"$(. /etc/os-release; echo "
                 "\"$VERSION_CODENAME\") main http://a/debian\"");
    script_write(bin, "apt-config", "echo 'Acquire::http::Proxy \"http://p:1\";'; echo 'Acquire::Retries \"3\";'");
    script_write(bin, "unshare", "until [ \"$1\" = -- ]; do shift; done; shift; exec \"$@\"");
    script_write(bin, "mount", "echo \"$*\" >>\"${0%/bin/*}/mounted\"");
    script_write(bin, "debootstrap", debootstrap);
    script_write(bin, "chroot", entering);
    return 0;
}

/* Runs a line of sh in the scene's folder, whose programs come first, with $run for the script. */
static struct command_result line_run(const struct scratch_scene *scene, const char *line)
{
    const char *const words[] = {"sh",
                                 "-c",
                                 "cd \"$1\"; PATH=$1/bin:$PATH; run='repository/ci/distributions.sh --folder out'; "
                                 "eval \"$2\"",
                                 "sh",
                                 scene->folder,
                                 line,
                                 NULL};
    return command_run(words, (const char *const[]){"TEST_JOBS=", "TEST_TIMEOUT_S=77", NULL});
}

static void line_expect(const struct scratch_scene *scene, const char *line, int exit_code, const char *output)
{
    struct command_result result = line_run(scene, line);
    if (result.exit_code != exit_code || strcmp(text_string(&result.output), output) != 0) {
        fail_msg("%s: exit code %d\n%s%s", line, result.exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    command_result_release(&result);
}

static void both_commands_run_in_each(void **state)
{
    const struct scratch_scene *scene = *state;
    line_expect(scene, "$run | sed 's/^made .*, with/with/; s/revision .*/revision/'; ls out", 0,
                "with revision\nok   bookworm: make run: 45 cases: 45 ok (0 min)\n"
                "ok   bookworm: make test: 7 passed, 0 failed, 2 skipped (0 min)\n"
                "with revision\nok   trixie: make run: 45 cases: 45 ok (0 min)\n"
                "ok   trixie: make test: 7 passed, 0 failed, 2 skipped (0 min)\n"
                "2 of 2 distributions: make run and make test pass from bare\n"
                "bookworm-run.log\nbookworm-system.log\nbookworm-test.log\n"
                "trixie-run.log\ntrixie-system.log\ntrixie-test.log\n");
    line_expect(scene, "sed \"s:$PWD/::\" asked mounted", 0,
                "--force-check-gpg --variant=minbase --include=git,make bookworm out/bookworm http://a/debian\n"
                "--force-check-gpg --variant=minbase --include=git,make trixie out/trixie http://a/debian\n"
                "-t proc proc out/bookworm/proc\n-t sysfs -o ro sysfs out/bookworm/sys\n"
                "-t devpts -o newinstance,ptmxmode=0666 devpts out/bookworm/dev/pts\n"
                "-t proc proc out/bookworm/proc\n-t sysfs -o ro sysfs out/bookworm/sys\n"
                "-t devpts -o newinstance,ptmxmode=0666 devpts out/bookworm/dev/pts\n"
                "-t proc proc out/trixie/proc\n-t sysfs -o ro sysfs out/trixie/sys\n"
                "-t devpts -o newinstance,ptmxmode=0666 devpts out/trixie/dev/pts\n"
                "-t proc proc out/trixie/proc\n-t sysfs -o ro sysfs out/trixie/sys\n"
                "-t devpts -o newinstance,ptmxmode=0666 devpts out/trixie/dev/pts\n");
    line_expect(scene, "sed -n \"s:$PWD/::; s/PATH=[^ ]*/PATH/; 2p\" entered", 0,
                "out/bookworm /usr/bin/env -i PATH HOME=/root TEST_TIMEOUT_S=77 sh -c cd /root/assay && make test\n");
}

static void one_system_can_be_kept(void **state)
{
    const struct scratch_scene *scene = *state;
    line_expect(scene,
                "$run --keep trixie >/dev/null; cat out/trixie/etc/hosts out/trixie/etc/apt/apt.conf.d/*; ls out", 0,
                "127.0.0.1 localhost\nAcquire::http::Proxy \"http://p:1\";\n"
                "trixie\ntrixie-run.log\ntrixie-system.log\ntrixie-test.log\n");
    line_expect(
        scene, "$run trixie 2>&1 | sed \"s:$PWD/::\"; ls out | head -n 1", 0,
        "distributions.sh: out/trixie is there already; remove it, or choose another with --folder DIR\ntrixie\n");
}

static void a_mirror_of_ubuntu_has_ubuntu(void **state)
{
    const struct scratch_scene *scene = *state;
    line_expect(
        scene, "$run --mirror https://a/ubuntu >/dev/null; sed \"s:$PWD/::\" asked", 0,
        "--force-check-gpg --variant=minbase --include=git,make,ca-certificates --components=main,universe noble "
        "out/noble https://a/ubuntu gutsy\n");
}

static void what_fails_is_told(void **state)
{
    const struct scratch_scene *scene = *state;
    line_expect(
        scene,
        "{ echo 'FAIL a/test_b: 1 failed'; echo 7 passed, 1 failed, 2 skipped; } >says; $run trixie | "
        "sed \"1d; s:$PWD/::\"; $run trixie >/dev/null || echo \"code $?\"",
        0,
        "ok   trixie: make run: 45 cases: 45 ok (0 min)\n"
        "FAIL trixie: make test: exit code 2, 7 passed, 1 failed, 2 skipped (0 min); out/trixie-test.log ends with\n"
        "    FAIL a/test_b: 1 failed\n    FAIL a/test_b: 1 failed\n    7 passed, 1 failed, 2 skipped\n"
        "0 of 1 distributions: make run and make test pass from bare\ncode 1\n");
    line_expect(scene,
                "sed -i 's/exit 0; };.*/exit 0; }; exit 0 ;; esac/' bin/chroot; echo nothing >says; $run trixie | "
                "sed \"1,2d; s:$PWD/::\"",
                0,
                "FAIL trixie: make test: exit code 0 (0 min); out/trixie-test.log ends with\n    nothing\n"
                "0 of 1 distributions: make run and make test pass from bare\n");
    line_expect(scene, "touch unreachable; $run trixie | sed \"1d; s:$PWD/::\"; ls out", 0,
                "FAIL trixie: no system could be made; out/trixie-system.log ends with\n    E: no packages\n"
                "0 of 1 distributions: make run and make test pass from bare\n"
                "trixie-run.log\ntrixie-system.log\ntrixie-test.log\n");
}

static void what_cannot_be_tried_is_said(void **state)
{
    static const char *const rows[][2] = {
        {"$run sid", "unknown distribution 'sid'; there are bookworm, trixie and noble"},
        {"$run --kept", "unknown option '--kept'; use --folder DIR, --mirror URL or --keep"},
        {"$run --mirror", "--mirror needs a value"},
        {"echo : >bin/apt-get; $run", "; name a mirror with --mirror URL"},
        {"echo 'exit 1' >bin/unshare; $run", "this machine lets nobody make namespaces and mounts; in a container"},
        {"rm bin/debootstrap; mkdir few; for p in sh dirname id git unshare; do ln -s \"$(command -v $p)\" few; done; "
         "PATH=$PWD/few /bin/sh $run",
         "debootstrap is missing; as root: apt-get install debootstrap util-linux git"},
        {"echo 'echo 1000' >bin/id; $run", "only root can make a system and change into it; run it with sudo"},
    };
    const struct scratch_scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = line_run(scene, rows[i][0]);
        command_says(&result.error, rows[i][1]);
        assert_int_equal(result.exit_code, 2);
        assert_string_equal(text_string(&result.output), "");
        command_result_release(&result);
    }
}

/* With real namespaces and mounts, while make runs in them: neither a process, nor a mount, nor the system is left. */
static void an_interruption_leaves_nothing(void **state)
{
    const struct scratch_scene *scene = *state;
    struct command_result real = line_run(scene, "rm bin/id bin/unshare bin/mount; [ \"$(id -u)\" -eq 0 ] && "
                                                 "unshare --mount --pid --fork -- mount -t proc proc bin");
    int is_possible = real.exit_code == 0;
    command_result_release(&real);
    if (!is_possible) {
        print_message("this machine lets nobody make namespaces and mounts\n");
        skip();
    }
    char bin[96];
    snprintf(bin, sizeof bin, "%s/bin", scene->folder);
    script_write(bin, "chroot",
                 "setsid sh -c 'touch \"$1/here\"; while :; do sleep 0.1; done' \"$1/running\" "
                 "\"${0%/bin/*}\" & wait");
    line_expect(
        scene,
        "$run trixie >/dev/null & until [ -e here ]; do sleep 0.05; done; kill -TERM $!; wait $!; echo \"code $?\"; "
        "tries=0; while cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q \"$PWD/[o]ut/trixie/running\"; "
        "do [ $((tries += 1)) -lt 30 ] || { echo alive; break; }; sleep 0.1; done; "
        "grep \"$PWD\" /proc/mounts; ls out",
        0, "code 143\ntrixie-run.log\ntrixie-system.log\n");
}

/* What is tried is what README shows first. */
static void readme_has_these_commands(void **state)
{
    (void)state;
    char *readme = whole_file_read("README.md");
    const char *block = strstr(readme, "\n```\nmake run ");
    assert_non_null(block);
    assert_non_null(strstr(block, "\nmake test "));
    free(readme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_commands_run_in_each, scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(one_system_can_be_kept, scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_mirror_of_ubuntu_has_ubuntu, scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(what_fails_is_told, scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(what_cannot_be_tried_is_said, scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(an_interruption_leaves_nothing, scene_open, scratch_scene_close),
        cmocka_unit_test(readme_has_these_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
