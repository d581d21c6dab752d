/* What looks for races sees each kind of them, in whatever order the lanes ran, and none in kernels that have none.
 * That the kernels of the plug-in have none is for ci/strict.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/library_symbol.h"
#include "harness/device/device.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/cuda_emulation/planted/planted_races.h"
#include "tests/kernels/trial_plan.h"

/* DECODING: of the plans of attention one with a single query and several tiles of columns for each warp. */
enum { DECODING = 15, LAUNCHES = 6 };

static const char *(*run_planted)(int index, bool right);

/* build/tests/cuda_emulation/watched/NAME */
static void watched_path(const char *name, char path[PATH_MAX])
{
    char own[PATH_MAX / 2];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    assert_true(length > 0);
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    snprintf(path, PATH_MAX, "%s/watched/%s", own, name);
}

static int planted_open(void **state)
{
    char path[PATH_MAX];
    (void)state;
    watched_path("libplanted.so", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !symbol_find(library, "planted_run", &run_planted)) {
        print_error("%s\n", dlerror());
        return -1;
    }
    return 0;
}

static void a_kernel_without_a_race_has_none(void **state)
{
    (void)state;
    const char *said = "";
    int index;
    for (index = 0; said != NULL; index++) {
        for (int launch = 0; launch < LAUNCHES && said != NULL; launch++) {
            said = run_planted(index, true);
            assert_string_equal(said != NULL ? said : "", "");
        }
    }
    assert_true(index > 9);
}

/* In processes of their own: a pair of places is told once. */
static void a_race_is_told(void **state)
{
    (void)state;
    for (int index = 0; run_planted(index, true) != NULL; index++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            const char *said = run_planted(index, false);
            fprintf(stderr, "%d: %s\n", index, said);
            _exit(strstr(said, "a race: thread ") != NULL && strstr(said, "planted_races.cu") != NULL ? 0 : 1);
        }
        int wait_status = 0;
        assert_int_equal(waitpid(pid, &wait_status, 0), pid);
        if (wait_status != 0) {
            fail_msg("planted race %d is not told", index);
        }
    }
}

/* The line of a source that has that text. */
static int line_of(const char *path, const char *text)
{
    char line[512];
    int number = 0, found = 0;
    FILE *source = fopen(path, "r");
    if (source == NULL) {
        fail_msg("%s does not open: run this where the sources are", path);
    }
    while (fgets(line, sizeof line, source) != NULL) {
        number++;
        found = strstr(line, text) != NULL ? number : found;
    }
    fclose(source);
    assert_true(found > 0);
    return found;
}

/* 0: told a race; 1: none; 2: something else. */
static int decode_run(void)
{
    struct status error = {0};
    struct device *gpu = NULL;
    struct trial trial;
    if (device_open("cuda:1", &gpu, &error) != STATUS_OK) {
        return 2;
    }
    trial_open(&trial, OPCODE_ATTENTION, MIX_FLOAT16, 1);
    trial_plan_for(OPCODE_ATTENTION)(&trial, DECODING);
    bool ran = gpu->table->run(gpu, &trial.call, &error) == STATUS_OK;
    trial_close(&trial);
    device_close(gpu);
    fprintf(stderr, "%d %s\n", ran, error.text);
    return ran ? 1 : strstr(error.text, "a race: thread ") != NULL ? 0 : 2;
}

/* without: the barrier that is passed over, FILE:LINE; NULL: none. */
static int decode_answer(const char *without)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char folder[PATH_MAX];
        watched_path("", folder);
        setenv("ASSAY_PLUGIN_DIR", folder, 1);
        if (without != NULL) {
            setenv("EMULATED_WITHOUT", without, 1);
        }
        _exit(decode_run());
    }
    int wait_status = 0;
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_true(WIFEXITED(wait_status));
    return WEXITSTATUS(wait_status);
}

/* Warps of their own pace: shuffles and products hide from every schedule that nothing orders their memory. */
static void a_wait_of_a_warp_that_is_missing_is_told(void **state)
{
    static const char path[] = "harness/kernels/body_attention_core_decode.h";
    static const char *const waits[] = {"/* k is there */", "/* no lane reads k any more */", "/* v is there */",
                                        "/* nor v */"};
    (void)state;
    assert_int_equal(decode_answer(NULL), 1);
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        char without[64];
        snprintf(without, sizeof without, "body_attention_core_decode.h:%d", line_of(path, waits[i]));
        if (decode_answer(without) != 0) {
            fail_msg("nobody misses %s", without);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_without_a_race_has_none),
        cmocka_unit_test(a_race_is_told),
        cmocka_unit_test(a_wait_of_a_warp_that_is_missing_is_told),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, planted_open, NULL);
}
