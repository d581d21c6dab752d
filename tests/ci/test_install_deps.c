/* install-deps.sh on machines that are made up: a folder of stand-ins is all that its PATH holds. Nothing is
 * installed. */
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

static char folder[] = "/tmp/assay-deps-XXXXXX";

static void stand_in_remove(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* A machine that has everything, and whose apt-get and sudo say what they were asked. */
static int machine_make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    script_write(folder, "cc", "exit 0");
    script_write(folder, "make", "exit 0");
    script_write(folder, "gnuplot", "exit 0");
    script_write(folder, "ldconfig", "echo 'libopenblas.so.0 (libc6,x86-64)'");
    script_write(folder, "grep", "exec /bin/grep \"$@\"");
    script_write(folder, "env", "shift; exec \"$@\"");
    script_write(folder, "id", "echo 0");
    script_write(folder, "apt-get", "echo \"apt-get $*\"");
    script_write(folder, "sudo", "echo \"sudo $1\"; shift; exec \"$@\"");
    return 0;
}

static int machine_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static struct command_result install(void)
{
    char setting[128];
    snprintf(setting, sizeof setting, "PATH=%s", folder);
    const char *const words[] = {"ci/install-deps.sh", NULL};
    const char *const environment[] = {setting, "CC=cc", NULL};
    return command_run(words, environment);
}

static void nothing_is_said_where_all_is_there(void **state)
{
    (void)state;
    struct command_result result = install();
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.output), "");
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
}

static void packages_are_printed_before_they_are_installed(void **state)
{
    (void)state;
    /* jansson is there after the installation */
    script_write(folder, "cc", "/bin/grep -q jansson && [ ! -e \"${0%/*}/installed\" ] && exit 1; exit 0");
    script_write(folder, "apt-get", "echo \"apt-get $*\"; case $1 in install) : >\"${0%/*}/installed\" ;; esac");
    struct command_result result = install();
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "install-deps.sh: installing libjansson-dev\n"
                                                    "apt-get update -qq\n"
                                                    "apt-get install -y -qq --no-install-recommends libjansson-dev\n");
    command_result_release(&result);
    stand_in_remove("installed");
}

static void sudo_is_used_only_by_others_than_root_and_never_asks(void **state)
{
    (void)state;
    script_write(folder, "id", "echo 1000");
    struct command_result result = install();
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.error), "sudo -n\napt-get install -y"));
    command_result_release(&result);
    stand_in_remove("installed");
    stand_in_remove("sudo");
    result = install();
    assert_int_equal(result.exit_code, 1);
    assert_non_null(
        strstr(text_string(&result.error), "not root and no sudo; as root: apt-get install libjansson-dev"));
    command_result_release(&result);
    script_write(folder, "id", "echo 0");
}

static void another_system_is_told_what_to_install(void **state)
{
    (void)state;
    stand_in_remove("apt-get");
    struct command_result result = install();
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text_string(&result.error), "neither Debian nor Ubuntu"));
    assert_non_null(strstr(text_string(&result.error), "cannot build without libjansson-dev"));
    command_result_release(&result);
    /* what only leaves a part out does not stop the build */
    script_write(folder, "cc", "/bin/grep -q curl/curl.h && exit 1; exit 0");
    stand_in_remove("gnuplot");
    result = install();
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.error), "a part is left out: libcurl4-openssl-dev gnuplot-nox"));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_where_all_is_there),
        cmocka_unit_test(packages_are_printed_before_they_are_installed),
        cmocka_unit_test(sudo_is_used_only_by_others_than_root_and_never_asks),
        cmocka_unit_test(another_system_is_told_what_to_install),
    };
    return cmocka_run_group_tests(tests, machine_make, machine_remove);
}
