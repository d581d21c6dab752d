/* What a container leaves of a machine, read from folders that look like its files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/hardware/process_limits.h"
#include "tests/support/scratch_folder.h"

struct scene {
    char root[64];
};

static int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->root, sizeof scene->root, "/tmp/assay-limits-XXXXXX");
    *state = scene;
    return mkdtemp(scene->root) == NULL;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    int code = scratch_folder_remove(scene->root);
    free(scene);
    return code;
}

/* With the folders above it. */
static void file_make(const struct scene *scene, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scene->root, name);
    for (char *slash = strchr(path + strlen(scene->root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

static struct process_limits limits_of(void **state)
{
    struct process_limits limits;
    process_limits_read(((struct scene *)*state)->root, &limits);
    return limits;
}

static void without_files_there_are_no_limits(void **state)
{
    struct process_limits limits = limits_of(state);
    assert_int_equal(limits.memory_bytes, 0);
    assert_true(limits.quota_cores == 0);
    assert_false(limits.is_container);
    assert_true(limits.allowed_cores >= 1);
    assert_true(limits.online_cores >= limits.allowed_cores);
}

/* Of the cgroups above one the least holds. */
static void the_least_of_the_cgroups_above_holds(void **state)
{
    file_make(*state, "proc/self/cgroup", "0::/pod/case\n");
    file_make(*state, "sys/fs/cgroup/pod/case/memory.max", "max\n");
    file_make(*state, "sys/fs/cgroup/pod/memory.max", "8589934592\n");
    file_make(*state, "sys/fs/cgroup/memory.max", "34359738368\n");
    file_make(*state, "sys/fs/cgroup/pod/case/cpu.max", "max 100000\n");
    file_make(*state, "sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
    file_make(*state, ".dockerenv", "");
    struct process_limits limits = limits_of(state);
    assert_int_equal(limits.memory_bytes, 8589934592);
    assert_true(limits.quota_cores == 1.5);
    assert_true(limits.is_container);
}

/* A container that sees its own cgroup as the mount, whatever its path. */
static void the_mount_itself_is_looked_at(void **state)
{
    file_make(*state, "proc/self/cgroup", "0::/../../far/away\n");
    file_make(*state, "sys/fs/cgroup/memory.max", "1073741824\n");
    file_make(*state, "sys/fs/cgroup/cpu.max", "400000 100000\n");
    struct process_limits limits = limits_of(state);
    assert_int_equal(limits.memory_bytes, 1073741824);
    assert_true(limits.quota_cores == 4);
}

static void the_first_version_has_files_of_its_own(void **state)
{
    file_make(*state, "proc/self/cgroup", "12:cpu,cpuacct:/a\n5:memory:/a\n1:name=systemd:/x\n");
    file_make(*state, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648\n");
    file_make(*state, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    file_make(*state, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
    file_make(*state, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    struct process_limits limits = limits_of(state);
    assert_int_equal(limits.memory_bytes, 2147483648);
    assert_true(limits.quota_cores == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_files_there_are_no_limits, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(the_least_of_the_cgroups_above_holds, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(the_mount_itself_is_looked_at, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(the_first_version_has_files_of_its_own, scene_open, scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
