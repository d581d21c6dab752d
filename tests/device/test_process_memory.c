/* What is read of /proc about this process and the machine's swap, on files as kernels write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/device/process_memory.h"
#include "tests/device/kernel_tree.h"

static void resident_bytes_are_the_exact_ones_where_there_are_any(void **state)
{
    (void)state;
    int64_t bytes = 0;
    assert_false(process_resident_read(kernel_tree_root, &bytes));
    kernel_tree_write("proc/self/status", "Name:\tassay\nVmHWM:\t    9000 kB\nVmRSS:\t    8000 kB\n");
    assert_true(process_resident_read(kernel_tree_root, &bytes));
    assert_int_equal(bytes, 8000 * 1024);
    kernel_tree_write("proc/self/smaps_rollup",
                      "5583-7ffe ---p 00000000 00:00 0   [rollup]\nRss:    8004 kB\nPss: 1 kB\n");
    assert_true(process_resident_read(kernel_tree_root, &bytes));
    assert_int_equal(bytes, 8004 * 1024);
    assert_true(process_resident_peak_read(kernel_tree_root, &bytes));
    assert_int_equal(bytes, 9000 * 1024);
}

static void a_peak_is_reset_by_the_kernels_own_word(void **state)
{
    (void)state;
    assert_false(process_resident_peak_reset(kernel_tree_root));
    kernel_tree_write("proc/self/clear_refs", "");
    assert_true(process_resident_peak_reset(kernel_tree_root));
    kernel_tree_expect("proc/self/clear_refs", "5");
}

static void swap_is_told_of_process_and_machine(void **state)
{
    (void)state;
    struct device_disturbance told = {0};
    process_swap_read(kernel_tree_root, 4096, &told);
    assert_false(told.swap_valid || told.swapped_out_valid);
    kernel_tree_write("proc/self/status", "VmSwapX:\t 7 kB\nVmSwap:\t      12 kB\n");
    kernel_tree_write("proc/vmstat", "nr_free_pages 1\npswpin 5\npswpout 7\npswpout_x 9\n");
    process_swap_read(kernel_tree_root, 4096, &told);
    assert_true(told.swap_valid && told.swapped_out_valid);
    assert_int_equal(told.swap_bytes, 12 * 1024);
    assert_int_equal(told.swapped_out_bytes, 7 * 4096);
    static const char *const wrong[] = {"pswpout -1\n", "pswpout 7 8\n", "pswpout\n", "pswpout 9223372036854775807\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kernel_tree_write("proc/vmstat", wrong[i]);
        process_swap_read(kernel_tree_root, 4096, &told);
        assert_false(told.swapped_out_valid);
    }
}

int main(void)
{
#define IN_A_TREE(body) cmocka_unit_test_setup_teardown(body, kernel_tree_make, kernel_tree_remove)
    const struct CMUnitTest tests[] = {
        IN_A_TREE(resident_bytes_are_the_exact_ones_where_there_are_any),
        IN_A_TREE(a_peak_is_reset_by_the_kernels_own_word),
        IN_A_TREE(swap_is_told_of_process_and_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
