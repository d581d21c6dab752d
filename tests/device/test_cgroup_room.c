/* What the limits of cgroups leave: trees of both versions, and the figure that is expected of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/device/cgroup.h"
#include "tests/device/kernel_tree.h"

enum { UNKNOWN = -1 };

static int64_t room_here(void)
{
    struct cgroup cgroup;
    int64_t bytes = UNKNOWN;
    cgroup_open(kernel_tree_root, &cgroup);
    bool known = cgroup_room_read(&cgroup, &bytes);
    cgroup_close(&cgroup);
    return known ? bytes : UNKNOWN;
}

/* Files that can be dropped are room; the tightest of all limits above counts. */
static void version_2_is_asked_up_to_its_mount(void **state)
{
    (void)state;
    kernel_tree_write("proc/self/cgroup", "0::/pod/box\n");
    kernel_tree_write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    assert_int_equal(room_here(), INT64_MAX); /* the root has no such files, and here nobody has */
    kernel_tree_write("sys/fs/cgroup/pod/box/memory.max", "max\n");
    kernel_tree_write("sys/fs/cgroup/pod/box/memory.current", "700\n");
    assert_int_equal(room_here(), INT64_MAX);
    kernel_tree_write("sys/fs/cgroup/pod/memory.max", "2000\n");
    kernel_tree_write("sys/fs/cgroup/pod/memory.current", "1500\n");
    assert_int_equal(room_here(), 500);
    kernel_tree_write("sys/fs/cgroup/pod/memory.stat", "anon 1300\nactive_file 60\ninactive_file 40\nslab 9\n");
    assert_int_equal(room_here(), 600);
    kernel_tree_write("sys/fs/cgroup/pod/box/memory.max", "1000\n");
    assert_int_equal(room_here(), 300);
    kernel_tree_write("sys/fs/cgroup/pod/box/memory.max", "600\n"); /* lowered below what is used */
    assert_int_equal(room_here(), 0);
    kernel_tree_write("sys/fs/cgroup/memory.max", "1\n"); /* of the folder that is the mount */
    kernel_tree_write("sys/fs/cgroup/memory.current", "1\n");
    kernel_tree_write("sys/fs/memory.max", "nothing that is asked\n");
    assert_int_equal(room_here(), 0);
}

static void version_1_has_its_own_names_and_a_number_for_no_limit(void **state)
{
    (void)state;
    kernel_tree_write("proc/self/cgroup", "4:memory:/box\n");
    kernel_tree_write("proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    kernel_tree_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    kernel_tree_write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
    kernel_tree_write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4096\n");
    kernel_tree_write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "4000\n");
    kernel_tree_write("sys/fs/cgroup/memory/box/memory.stat",
                      "inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 4\n");
    assert_int_equal(room_here(), 4096 - (4000 - 104));
}

static void what_cannot_be_read_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(room_here(), UNKNOWN); /* no membership */
    kernel_tree_write("proc/self/cgroup", "0::/box\n");
    kernel_tree_write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    kernel_tree_write("sys/fs/cgroup/box/memory.max", "1000\n");
    assert_int_equal(room_here(), UNKNOWN); /* a limit, and nobody says what is used */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kernel_tree_make, kernel_tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(version_2_is_asked_up_to_its_mount),
        TEST(version_1_has_its_own_names_and_a_number_for_no_limit),
        TEST(what_cannot_be_read_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
