/* A CUDA device that cannot be opened says so in one sentence with the remedy. On a machine with a GPU, where it opens,
 * only the parts that need none are tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/device/device.h"

static void assert_one_sentence_with_remedy(const char *text)
{
    assert_memory_equal(text, "cuda: ", 6);
    assert_non_null(strchr(text, ';')); /* the cause; the remedy */
    assert_null(strchr(text, '\n'));
}

static void without_a_driver_it_is_unavailable(void **state)
{
    (void)state;
    struct status error = {0};
    struct device *device = NULL;
    enum status_code code = device_open("cuda", &device, &error);
    if (code == STATUS_OK) {
        device_close(device);
        print_message("skipped: there is a GPU here, so opening it does not fail\n");
        skip();
    }
    assert_int_equal(code, STATUS_UNAVAILABLE);
    assert_int_equal(error.code, STATUS_UNAVAILABLE);
    assert_one_sentence_with_remedy(error.text);
    assert_null(device);
}

static void a_device_number_beyond_the_last_is_unavailable(void **state)
{
    (void)state;
    struct status error = {0};
    struct device *device = NULL;
    assert_int_equal(device_open("cuda:255", &device, &error), STATUS_UNAVAILABLE);
    assert_one_sentence_with_remedy(error.text);
    assert_null(device);
}

static void a_missing_plug_in_names_the_folder(void **state)
{
    (void)state;
    struct status error = {0};
    struct device *device = NULL;
    assert_int_equal(setenv("ASSAY_PLUGIN_DIR", "/nonexistent/folder", 1), 0);
    assert_int_equal(device_open("cuda", &device, &error), STATUS_UNAVAILABLE);
    assert_int_equal(unsetenv("ASSAY_PLUGIN_DIR"), 0);
    assert_string_equal(error.text, "cuda: the plug-in libassay_cuda.so is not in /nonexistent/folder; build it with "
                                    "make where the CUDA toolkit is installed, or set ASSAY_PLUGIN_DIR to its folder");
}

static void a_file_that_is_no_plug_in_is_refused(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-plugin-XXXXXX";
    char path[sizeof folder + 32];
    char expected[256];
    struct status error = {0};
    struct device *device = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libassay_cuda.so", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs("not a library, but long enough to be looked at as one: 0123456789\n", file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv("ASSAY_PLUGIN_DIR", folder, 1), 0);
    assert_int_equal(device_open("cuda", &device, &error), STATUS_UNAVAILABLE);
    snprintf(expected, sizeof expected, "cuda: the plug-in cannot be loaded: %s: ", path);
    assert_memory_equal(error.text, expected, strlen(expected));
    assert_one_sentence_with_remedy(error.text);
    /* A library that is none of ours has no entry. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/proc/self/exe", path), 0);
    assert_int_equal(device_open("cuda", &device, &error), STATUS_UNAVAILABLE);
    assert_one_sentence_with_remedy(error.text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("ASSAY_PLUGIN_DIR"), 0);
}

static void auto_is_the_host_where_there_is_no_gpu(void **state)
{
    (void)state;
    struct status error = {0};
    struct device *device = NULL;
    assert_int_equal(setenv("ASSAY_PLUGIN_DIR", "/nonexistent/folder", 1), 0);
    enum status_code code = device_open("auto", &device, &error);
    assert_int_equal(unsetenv("ASSAY_PLUGIN_DIR"), 0);
    if (code == STATUS_UNAVAILABLE) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    assert_int_equal(code, STATUS_OK);
    assert_string_equal(device->table->kind, "host");
    device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_it_is_unavailable),
        cmocka_unit_test(a_device_number_beyond_the_last_is_unavailable),
        cmocka_unit_test(a_missing_plug_in_names_the_folder),
        cmocka_unit_test(a_file_that_is_no_plug_in_is_refused),
        cmocka_unit_test(auto_is_the_host_where_there_is_no_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
