/* Which GPUs the files of /dev show, in folders that look like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/hardware/gpu_nodes.h"
#include "tests/support/scratch_folder.h"

struct scene {
    char root[64];
};

static void folder_make(const struct scene *scene, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", scene->root, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->root, sizeof scene->root, "/tmp/assay-nodes-XXXXXX");
    *state = scene;
    if (mkdtemp(scene->root) == NULL) {
        return 1;
    }
    folder_make(scene, "dev");
    folder_make(scene, "proc");
    folder_make(scene, "proc/driver");
    folder_make(scene, "proc/driver/nvidia");
    return 0;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    int code = scratch_folder_remove(scene->root);
    free(scene);
    return code;
}

static void file_make(const struct scene *scene, const char *name, const char *content, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", scene->root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void files_that_are_no_gpu_count_for_none(void **state)
{
    static const char *const names[] = {"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia-modeset", "dev/nvidia",
                                        "dev/null"};
    struct gpu_nodes nodes;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        file_make(*state, names[i], "", 0666);
    }
    gpu_nodes_read(((struct scene *)*state)->root, NULL, &nodes);
    assert_int_equal(nodes.gpu_count, 0);
    assert_true(nodes.has_control);
    assert_true(nodes.has_uvm);
    assert_false(gpu_nodes_show_one(&nodes));
}

static void each_gpu_counts_once_and_the_driver_has_its_version(void **state)
{
    struct gpu_nodes nodes;
    file_make(*state, "dev/nvidia0", "", 0666);
    file_make(*state, "dev/nvidia12", "", 0666);
    file_make(*state, "proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (x@y)  Tue Sep 23\n"
              "GCC version:  gcc version 13.3.0\n",
              0444);
    gpu_nodes_read(((struct scene *)*state)->root, NULL, &nodes);
    assert_int_equal(nodes.gpu_count, 2);
    assert_string_equal(nodes.module, "580.95.05");
    assert_int_equal(nodes.closed_count, 0);
    assert_true(gpu_nodes_show_one(&nodes));
}

static void a_gpu_may_be_hidden(void **state)
{
    static const struct {
        const char *visible;
        bool shown;
    } rows[] = {{NULL, true}, {"0", true}, {"GPU-5", true}, {"", false}, {"-1", false}};
    struct gpu_nodes nodes;
    file_make(*state, "dev/nvidia0", "", 0666);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gpu_nodes_read(((struct scene *)*state)->root, rows[i].visible, &nodes);
        assert_int_equal(gpu_nodes_show_one(&nodes), rows[i].shown);
    }
}

static void wsl_has_a_file_of_its_own(void **state)
{
    struct gpu_nodes nodes;
    file_make(*state, "dev/dxg", "", 0666);
    gpu_nodes_read(((struct scene *)*state)->root, NULL, &nodes);
    assert_false(nodes.is_wsl); /* it may be a GPU of AMD or Intel */
    assert_false(gpu_nodes_show_one(&nodes));
    folder_make(*state, "usr");
    folder_make(*state, "usr/lib");
    folder_make(*state, "usr/lib/wsl");
    folder_make(*state, "usr/lib/wsl/lib");
    file_make(*state, "usr/lib/wsl/lib/libcuda.so.1", "", 0444);
    gpu_nodes_read(((struct scene *)*state)->root, NULL, &nodes);
    assert_true(nodes.is_wsl);
    assert_true(gpu_nodes_show_one(&nodes));
    assert_false(nodes.has_module);
}

/* Root may open everything, so that it looks as somebody else. */
static void files_that_may_not_be_opened_are_named(void **state)
{
    const struct scene *scene = *state;
    int status = 0;
    file_make(scene, "dev/nvidia0", "", 0000);
    assert_int_equal(chmod(scene->root, 0755), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct gpu_nodes nodes;
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(2);
        }
        gpu_nodes_read(scene->root, NULL, &nodes);
        _exit(nodes.closed_count == 1 && strcmp(nodes.closed, "/dev/nvidia0") == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_that_are_no_gpu_count_for_none, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(each_gpu_counts_once_and_the_driver_has_its_version, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(a_gpu_may_be_hidden, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(wsl_has_a_file_of_its_own, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(files_that_may_not_be_opened_are_named, scene_open, scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
