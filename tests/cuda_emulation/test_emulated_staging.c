/* Pinned staging memory on the emulated GPU: where it is taken, that copies go through it, that all of it is given
 * back, and what becomes of a load where the host pins none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/device/staging.h"
#include "harness/load/plain_transfer.h"
#include "harness/replay/placed_replay.h"
#include "harness/tape/build.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/run/run_scene.h"
#include "tests/support/command_run.h"

struct counts {
    long taken, given, copied_bytes;
};

/* What the emulated runtime has written down of the process that ran last. */
static struct counts counts_read(void)
{
    struct counts counts = {0};
    FILE *file = fopen(getenv("EMULATED_PINNED"), "r");
    if (file != NULL) { /* else nothing was pinned */
        assert_int_equal(
            fscanf(file, "taken %ld given %ld copied %ld", &counts.taken, &counts.given, &counts.copied_bytes), 3);
        fclose(file);
    }
    return counts;
}

static int staging_open(void **state)
{
    static char path[128];
    int code = scene_open(state);
    snprintf(path, sizeof path, "%s/pinned", ((struct scene *)*state)->folder);
    return code != 0 ? code : setenv("EMULATED_PINNED", path, 1);
}

static int staging_close(void **state)
{
    unsetenv("EMULATED_PINNED");
    return scene_close(state);
}

/* In a process of its own, as each has one fault. fault: NULL, none. */
static int answer_of_child(struct scene *scene, const char *fault, int (*run)(void))
{
    int wait_status = 0;
    unlink(getenv("EMULATED_PINNED"));
    if (fault != NULL) {
        fault_plan(scene->folder, fault);
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(run());
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    if (fault != NULL) {
        fault_unplan();
    }
    assert_true(WIFEXITED(wait_status));
    return WEXITSTATUS(wait_status);
}

enum { BYTES = 5 << 20 };

static int copy_run(void)
{
    struct device *device = NULL;
    struct plain_transfer made = {0};
    struct status error = {0};
    if (device_open("cuda:0", &device, &error) != STATUS_OK) {
        return 1;
    }
    enum status_code code = plain_copy(device, PLAIN_TO_DEVICE, BYTES, &made, &error);
    device_close(device);
    return code == STATUS_OK ? (made.bytes == BYTES ? 0 : 2)
                             : (code == STATUS_DEVICE && strstr(error.text, "cudaHostAlloc") != NULL ? 3 : 4);
}

static void a_copy_goes_through_pinned_memory(void **state)
{
    assert_int_equal(answer_of_child(*state, NULL, copy_run), 0);
    struct counts counts = counts_read();
    assert_int_equal(counts.taken, 1);
    assert_int_equal(counts.given, 1);
    assert_int_equal(counts.copied_bytes, 2 * BYTES); /* once before the clock runs */
}

static void a_host_that_pins_nothing_copies_all_the_same(void **state)
{
    static const char *const refusals[] = {"cudaHostAlloc:1:2", "cudaHostAlloc:1:304", "cudaHostAlloc:1:801"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answer_of_child(*state, refusals[i], copy_run), 0);
        assert_int_equal(counts_read().taken, 0);
    }
}

static void a_lost_gpu_is_no_refusal(void **state)
{
    assert_int_equal(answer_of_child(*state, "cudaHostAlloc:1:700", copy_run), 3);
}

enum { ELEMENTS = 3 * 1000 * 1000 }; /* in float32 three pieces */

/* A tensor of one GPU that goes to the other one and is used there. */
static int replay_run_over_two(void)
{
    struct device *devices[2] = {NULL, NULL};
    struct placed_result result;
    struct status error = {0};
    const struct target *target = NULL;
    struct tape *tape = NULL;
    int64_t elements = ELEMENTS;
    if (device_open("cuda:0", &devices[0], &error) != STATUS_OK ||
        device_open("cuda:1", &devices[1], &error) != STATUS_OK || target_find("sm_75", &target, &error) != STATUS_OK ||
        tape_new(target, &tape, &error) != STATUS_OK) {
        return 1;
    }
    tape_place(tape, 0);
    struct value *a = tape_leaf(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, 1, &elements, false, "a");
    tape_fill(tape, a, 7.0);
    tape_stage(tape, STAGE_FORWARD);
    struct value *moved = tape_move(tape, a, 1);
    tape_add(tape, moved, moved);
    if (tape_finish(tape, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    const struct replay_lane lanes[2] = {{.device = devices[0], .policy = ALLOCATOR_CACHING},
                                         {.device = devices[1], .policy = ALLOCATOR_CACHING}};
    struct tape_view view = tape_view(tape);
    enum status_code code = placed_replay_run(&view, lanes, 2, NULL, &result, &error);
    tape_release(tape);
    device_close(devices[1]);
    device_close(devices[0]);
    return code == STATUS_OK && result.copied_bytes[0][1] == 4 * ELEMENTS ? 0 : 3;
}

static void copies_between_gpus_go_through_pinned_memory(void **state)
{
    assert_int_equal(answer_of_child(*state, NULL, replay_run_over_two), 0);
    struct counts counts = counts_read();
    assert_int_equal(counts.taken, 1);
    assert_int_equal(counts.given, 1);
    assert_int_equal(counts.copied_bytes, 2 * 4 * ELEMENTS); /* out of one and into the other */
    assert_int_equal(answer_of_child(*state, "cudaHostAlloc:1:2", replay_run_over_two), 0);
    assert_int_equal(counts_read().taken, 0);
}

/* assay load onto a GPU; whether its staging memory was pinned. */
static bool load_is_pinned(struct scene *scene, int *exit_code)
{
    char made[160];
    struct json *document = NULL;
    snprintf(made, sizeof made, "%s/made", scene->folder);
    const char *const synth[] = {program_path(), "synth", "tiny-gpt2", "--out", made, "--force", NULL};
    struct command_result result = command_run(synth, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    const char *const load[] = {program_path(), "load",   made, "--max-memory", "0=100MB,cpu=100MB", "--device",
                                "cuda",         "--json", NULL};
    result = command_run(load, NULL);
    *exit_code = result.exit_code;
    if (json_parse_text("stdout", text_string(&result.output), result.output.length, &document, NULL) != STATUS_OK) {
        fail_msg("%s", text_string(&result.error));
    }
    bool pinned = json_boolean_or(json_get(json_get(document, "host"), "staging_is_pinned"), false);
    json_release(document);
    command_result_release(&result);
    return pinned;
}

static void a_load_stages_in_pinned_memory(void **state)
{
    struct scene *scene = *state;
    int exit_code = -1;
    assert_true(load_is_pinned(scene, &exit_code));
    assert_int_equal(exit_code, 0);
    struct counts counts = counts_read();
    assert_int_equal(counts.taken, 1);
    assert_int_equal(counts.given, 1);
    assert_true(counts.copied_bytes > 0);
}

static void a_load_where_nothing_is_pinned_ends_well(void **state)
{
    struct scene *scene = *state;
    int exit_code = -1;
    fault_plan(scene->folder, "cudaHostAlloc:1:2");
    assert_false(load_is_pinned(scene, &exit_code));
    fault_unplan();
    assert_int_equal(exit_code, 0);
    assert_int_equal(counts_read().taken, 0);
}

/* The emulated plug-in lies beside this program. */
static int plugin_choose(void **state)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    (void)state;
    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return setenv("ASSAY_PLUGIN_DIR", path, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, staging_open, staging_close)
    const struct CMUnitTest tests[] = {
        TEST(a_copy_goes_through_pinned_memory), TEST(a_host_that_pins_nothing_copies_all_the_same),
        TEST(a_lost_gpu_is_no_refusal),          TEST(copies_between_gpus_go_through_pinned_memory),
        TEST(a_load_stages_in_pinned_memory),    TEST(a_load_where_nothing_is_pinned_ends_well),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, plugin_choose, NULL);
}
