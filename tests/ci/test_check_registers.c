/* ci/check-registers.sh with an nvcc that says what the test has it say: which kernels could not be launched somewhere,
 * and that nothing is compiled twice. What the real one says is for `make check-kernels`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Reports what lies in ROOT/report and ROOT/bound, and notes each compilation in ROOT/calls. */
static const char fake_nvcc[] = "#!/bin/sh\n"
                                "root=$(dirname \"$0\")\n"
                                "case $1 in\n"
                                "--list-gpu-code) echo 'sm_80 sm_90'; exit 0 ;;\n"
                                "--version) echo release 13; exit 0 ;;\n"
                                "esac\n"
                                "echo \"$*\" >>\"$root/calls\"\n"
                                "while [ \"$1\" != --keep-dir ]; do shift; done\n"
                                "cp \"$root/bound\" \"$2/a.compute_80.ptx\"\n"
                                "cat \"$root/report\"\n";

#define KERNEL(arch, used)                                                                                             \
    "ptxas info    : Compiling entry function '_Z4rowsv' for '" arch "'\n"                                             \
    "ptxas info    : Function properties for _Z4rowsv\n"                                                               \
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"                                             \
    "ptxas info    : Used " used "\n"

static char root[] = "/tmp/assay-registers-XXXXXX";

static void file_write(const char *path, const char *text, mode_t mode)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(whole, mode), 0);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"", "/harness", "/harness/kernels", "/harness/device",
                                          "/harness/device/cuda"};
    char whole[256];
    (void)state;
    memcpy(root, "/tmp/assay-registers-XXXXXX", sizeof root);
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    for (size_t k = 1; k < sizeof folders / sizeof folders[0]; k++) {
        snprintf(whole, sizeof whole, "%s%s", root, folders[k]);
        assert_int_equal(mkdir(whole, 0700), 0);
    }
    file_write("nvcc", fake_nvcc, 0700);
    file_write("harness/kernels/a.h", "/* a header */\n", 0600);
    file_write("harness/device/cuda/a.h", "/* another */\n", 0600);
    file_write("harness/kernels/launch_a.cu", "static __global__ void rows();\n", 0600);
    file_write("harness/kernels/launch_none.cu", "int none;\n", 0600);
    file_write("bound", "", 0600);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return scratch_folder_remove(root);
}

static void expect(const char *const options[2], int exit_code, const char *message)
{
    char nvcc[64];
    snprintf(nvcc, sizeof nvcc, "NVCC=%s/nvcc", root);
    const char *const environment[] = {nvcc, "CHECK_ARCHS=80 90", NULL};
    const char *const plain[] = {"ci/check-registers.sh", root, "cache", NULL};
    const char *const limited[] = {"ci/check-registers.sh", options[0], options[1], root, "cache", NULL};
    struct command_result result = command_run(options[0] != NULL ? limited : plain, environment);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), message) == NULL) {
        fail_msg("exit %d instead of %d, or no \"%s\": %s", result.exit_code, exit_code, message,
                 text_string(&result.output));
    }
    command_result_release(&result);
}

static const char *const no_options[2] = {NULL, NULL};

static int calls_count(void)
{
    char path[128];
    int lines = 0, byte;
    snprintf(path, sizeof path, "%s/calls", root);
    FILE *file = fopen(path, "r");
    while (file != NULL && (byte = fgetc(file)) != EOF) {
        lines += byte == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return lines;
}

static void kernels_that_fit_pass_and_are_compiled_once(void **state)
{
    (void)state;
    file_write("report",
               KERNEL("sm_80", "255 registers, used 1 barriers, 49152 bytes smem") KERNEL("sm_90", "40 registers"),
               0600);
    expect(no_options, 0, "1 files checked for sm_80 sm_90");
    assert_int_equal(calls_count(), 1);
    expect(no_options, 0, "1 files checked");
    assert_int_equal(calls_count(), 1);
    file_write("harness/kernels/a.h", "/* a header that has changed */\n", 0600);
    expect(no_options, 0, "1 files checked");
    assert_int_equal(calls_count(), 2);
}

static void more_registers_than_there_are_is_a_breach(void **state)
{
    (void)state;
    file_write("bound", ".visible .entry _Z4rowsv(\n)\n.maxntid 1024, 1, 1\n", 0600);
    file_write("report", KERNEL("sm_80", "64 registers") KERNEL("sm_90", "65 registers, 400 bytes cmem[0]"), 0600);
    expect(no_options, 1, "launch_a.cu: _Z4rowsv on sm_90: 65 registers for each of 1024 threads are more than 65536");
    expect(no_options, 1, "on sm_90"); /* from what was kept too */
    assert_int_equal(calls_count(), 1);
}

static void more_shared_memory_than_a_kernel_may_have_is_a_breach(void **state)
{
    (void)state;
    file_write("report", KERNEL("sm_80", "20 registers, used 1 barriers, 49153 bytes smem"), 0600);
    expect(no_options, 1, "_Z4rowsv on sm_80: 49153 bytes of shared memory of its own");
}

static void a_large_launch_needs_launch_bounds(void **state)
{
    (void)state;
    static const char launch[] = "void go() {\n    few_kernel<<<rows, LANES, 0>>>();\n"
                                 "    rows_kernel<<<rows, row_lanes(columns), 0>>>();\n}\n";
    char source[512];
    file_write("report", KERNEL("sm_80", "20 registers"), 0600);
    snprintf(source, sizeof source, "static __global__ void few_kernel();\nROW_KERNEL_FUNCTION rows_kernel();\n%s",
             launch);
    file_write("harness/kernels/launch_a.cu", source, 0600);
    expect(no_options, 0, "1 files checked");
    snprintf(source, sizeof source, "static __global__ void few_kernel();\nstatic __global__ void rows_kernel();\n%s",
             launch);
    file_write("harness/kernels/launch_a.cu", source, 0600);
    expect(no_options, 1, "launch_a.cu: rows_kernel is launched with row_lanes()");
}

static void what_there_was_no_time_for_is_said(void **state)
{
    (void)state;
    static const char *const budget[2] = {"--budget", "0"};
    file_write("report", KERNEL("sm_80", "20 registers"), 0600);
    expect(budget, 3, "no time for harness/kernels/launch_a.cu");
    assert_int_equal(calls_count(), 0);
    expect(no_options, 0, "1 files checked");
    expect(budget, 0, "1 files checked"); /* nothing is left to compile */
}

static void an_nvcc_that_fails_is_a_failure(void **state)
{
    (void)state;
    file_write("nvcc", "#!/bin/sh\n[ \"$1\" = --list-gpu-code ] && echo sm_80\necho no such thing >&2\nexit 1\n", 0700);
    expect(no_options, 1, "no such thing");
}

static void without_nvcc_it_is_skipped(void **state)
{
    (void)state;
    const char *const environment[] = {"PATH=/usr/bin:/bin", "NVCC=/none", NULL};
    const char *const words[] = {"sh", "-c", "test -x /usr/local/cuda/bin/nvcc && exit 77; ci/check-registers.sh",
                                 NULL};
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, 77);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_that_fit_pass_and_are_compiled_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_registers_than_there_are_is_a_breach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_shared_memory_than_a_kernel_may_have_is_a_breach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_large_launch_needs_launch_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_there_was_no_time_for_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_nvcc_that_fails_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_nvcc_it_is_skipped, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
