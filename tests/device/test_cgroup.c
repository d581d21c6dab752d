/* The cgroup of a process, on trees of both versions as kernels show them, and on trees that do not show it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/device/cgroup.h"
#include "tests/device/kernel_tree.h"

#define MOUNT_CPU     "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:5 - cgroup cgroup rw,cpu\n"
#define MOUNT_MEMORY  "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define MOUNT_UNIFIED "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

static void tree_set(const char *membership, const char *mounts)
{
    kernel_tree_write("proc/self/cgroup", membership);
    kernel_tree_write("proc/self/mountinfo", mounts);
}

static int64_t usage_of(const struct cgroup *cgroup)
{
    int64_t bytes = -1;
    return cgroup_usage_read(cgroup, &bytes) ? bytes : -1;
}

static int64_t peak_of(const struct cgroup *cgroup)
{
    int64_t bytes = -1;
    return cgroup_peak_read(cgroup, &bytes) ? bytes : -1;
}

/* Both versions side by side: the memory controller is version 1's. Its peak is everybody's and is never written. */
static void version_1_is_read_and_not_written(void **state)
{
    (void)state;
    struct cgroup cgroup;
    tree_set("9:name=systemd:/\n4:memory:/box/a\n1:cpu:/wrong\n0::/wrong\n", MOUNT_CPU MOUNT_MEMORY MOUNT_UNIFIED);
    kernel_tree_write("sys/fs/cgroup/memory/box/a/memory.usage_in_bytes", "1000\n");
    kernel_tree_write("sys/fs/cgroup/memory/box/a/memory.max_usage_in_bytes", "5000\n");
    kernel_tree_write("sys/fs/cgroup/unified/wrong/memory.current", "77\n");
    cgroup_open(kernel_tree_root, &cgroup);
    assert_int_equal(usage_of(&cgroup), 1000);
    assert_int_equal(peak_of(&cgroup), -1); /* nothing has begun */
    cgroup_peak_begin(&cgroup);
    assert_int_equal(peak_of(&cgroup), -1); /* the 5000 are from before */
    kernel_tree_write("sys/fs/cgroup/memory/box/a/memory.max_usage_in_bytes", "5001\n");
    assert_int_equal(peak_of(&cgroup), 5001);
    cgroup_peak_begin(&cgroup);
    assert_int_equal(peak_of(&cgroup), -1);
    kernel_tree_expect("sys/fs/cgroup/memory/box/a/memory.max_usage_in_bytes", "5001\n");
    kernel_tree_expect("sys/fs/cgroup/memory/box/a/memory.usage_in_bytes", "1000\n");
    cgroup_close(&cgroup);
    assert_int_equal(usage_of(&cgroup), -1);
}

static bool peak_fake_reset(int file)
{
    return pwrite(file, "900\n", 4, 0) == 4 && ftruncate(file, 4) == 0;
}

/* A container that sees its own part of the tree. Without a kernel that resets (this is no cgroup2), a peak must have
 * risen; with one, the peak is that since the reset. */
static void version_2_begins_at_the_root_of_its_mount(void **state)
{
    (void)state;
    struct cgroup cgroup;
    tree_set("0::/box/a b/c\n", "41 31 0:38 /box/a\\040b /sys/fs/cg\\134roup rw - cgroup2 cgroup2 rw\n");
    kernel_tree_write("sys/fs/cg\\roup/c/memory.current", "800");
    kernel_tree_write("sys/fs/cg\\roup/c/memory.peak", "9000\n");
    cgroup_open(kernel_tree_root, &cgroup);
    assert_int_equal(usage_of(&cgroup), 800);
    cgroup_peak_begin(&cgroup);
    assert_int_equal(peak_of(&cgroup), -1);
    kernel_tree_expect("sys/fs/cg\\roup/c/memory.peak", "9000\n");
    cgroup.peak_reset = peak_fake_reset;
    cgroup_peak_begin(&cgroup);
    assert_int_equal(peak_of(&cgroup), 900);
    kernel_tree_write("sys/fs/cg\\roup/c/memory.peak", "950\n");
    assert_int_equal(peak_of(&cgroup), 950);
    cgroup_close(&cgroup);
}

static void the_mounts_own_cgroup_is_its_folder(void **state)
{
    (void)state;
    struct cgroup cgroup;
    tree_set("3:cpu,memory:/box\n", "35 31 0:32 /box /cg rw - cgroup cgroup rw,cpu,memory\n");
    kernel_tree_write("cg/memory.usage_in_bytes", "4096\n");
    cgroup_open(kernel_tree_root, &cgroup);
    assert_int_equal(usage_of(&cgroup), 4096);
    assert_int_equal(peak_of(&cgroup), -1); /* its file is missing */
    cgroup_peak_begin(&cgroup);
    assert_int_equal(peak_of(&cgroup), -1);
    cgroup_close(&cgroup);
}

/* Each line: a membership and mounts by which /cg/x/memory.current and .usage_in_bytes must not be taken for ours. */
static void what_cannot_be_seen_is_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *membership, *mounts;
    } rows[] = {
        {"0::/x\n", ""},
        {"", "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n"},
        {"0::/../x\n", "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n"},
        {"0::/x/../x\n", "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n"},
        {"0::/boxx\n", "1 2 0:1 /box /cg rw - cgroup2 cgroup2 rw\n"},
        {"0::/other/x\n", "1 2 0:1 /box /cg rw - cgroup2 cgroup2 rw\n"},
        {"0::/x\n", "1 2 0:1 / /cg rw - cgroup cgroup rw,memory\n"},
        {"4:memory:/x\n", "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n"},
        {"4:memory:/x\n", "1 2 0:1 / /cg rw - cgroup cgroup rw,cpu\n"},
        {"4:memory:/x\n", "1 2 0:1 / /cg rw - cgroup cgroup rw,memory2\n"},
        {"4:memory:/x\n", "1 2 0:1 / /cg rw - tmpfs memory rw,memory\n"},
        {"4:memory2:/x\n", "1 2 0:1 / /cg rw - cgroup cgroup rw,memory\n"},
        {"4:memory\n4\n:\n::\n", "1 2 0:1 / /cg rw - cgroup cgroup rw,memory\n"},
        {"0:x\n", "- \n 1 2\n\n"},
    };
    kernel_tree_write("cg/x/memory.current", "1\n");
    kernel_tree_write("cg/x/memory.usage_in_bytes", "1\n");
    kernel_tree_write("cg/memory.current", "1\n");
    kernel_tree_write("cgx/memory.current", "1\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cgroup cgroup;
        tree_set(rows[i].membership, rows[i].mounts);
        cgroup_open(kernel_tree_root, &cgroup);
        if (usage_of(&cgroup) != -1 || peak_of(&cgroup) != -1) {
            fail_msg("row %zu: %s", i, rows[i].membership);
        }
        cgroup_close(&cgroup);
    }
}

static void what_is_no_number_is_unknown(void **state)
{
    (void)state;
    static const char *const contents[] = {"", "\n", "max\n", "12x\n", "-5\n", "1 2\n", "99999999999999999999\n"};
    struct cgroup cgroup;
    tree_set("0::/x\n", "1 2 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
    kernel_tree_write("cg/x/memory.current", "1\n");
    cgroup_open(kernel_tree_root, &cgroup);
    assert_int_equal(usage_of(&cgroup), 1);
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        kernel_tree_write("cg/x/memory.current", contents[i]);
        assert_int_equal(usage_of(&cgroup), -1);
    }
    cgroup_close(&cgroup);
}

/* Where this machine counts for us, what we take is counted. Others may come and go in the same cgroup. */
static void this_machines_cgroup_holds_this_process(void **state)
{
    (void)state;
    struct cgroup cgroup;
    cgroup_open("", &cgroup);
    int64_t bytes = usage_of(&cgroup);
    cgroup_peak_begin(&cgroup);
    int64_t peak = peak_of(&cgroup);
    cgroup_close(&cgroup);
    if (bytes < 0) {
        skip();
    }
    assert_true(bytes > 0);
    assert_true(peak == -1 || peak > 0);
}

int main(void)
{
#define IN_A_TREE(body) cmocka_unit_test_setup_teardown(body, kernel_tree_make, kernel_tree_remove)
    const struct CMUnitTest tests[] = {
        IN_A_TREE(version_1_is_read_and_not_written),   IN_A_TREE(version_2_begins_at_the_root_of_its_mount),
        IN_A_TREE(the_mounts_own_cgroup_is_its_folder), IN_A_TREE(what_cannot_be_seen_is_unknown),
        IN_A_TREE(what_is_no_number_is_unknown),        cmocka_unit_test(this_machines_cgroup_holds_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
