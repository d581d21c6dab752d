/* Faults under a real tape: each fallible call of the device fails once, in turn. Every time an error, nothing held by
 * the device afterwards, and a next run that is the first one bit for bit. One call may fail without an error: where a
 * segment is refused, the allocator gives back what is cached and asks once more, as PyTorch's does; the run then goes
 * on to the same loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/fault.h"
#include "harness/replay/replay.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"

/* Of a program with sanitizers. The host counts its resident pages in each of these runs, which took nine tenths of the
 * time where 256 MiB of what was freed stayed among them. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16";
}

struct subject {
    struct config config;
    struct skeleton skeleton;
    struct tape *tape;
};

static void subject_open(struct subject *subject)
{
    struct status error = {0};
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 1;
    workload.seq = 4;
    enum status_code code = config_find("models/catalogue", "tiny-llama", &subject->config, &error);
    code = code == STATUS_OK ? target_find("host", &target, &error) : code;
    code = code == STATUS_OK ? skeleton_build(&subject->config, HEAD_LM, &subject->skeleton, &error) : code;
    code = code == STATUS_OK
               ? workload_tape(&subject->config, &subject->skeleton, &workload, target, &subject->tape, &error)
               : code;
    if (code != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void subject_close(struct subject *subject)
{
    tape_release(subject->tape);
    skeleton_release(&subject->skeleton);
}

/* One device for all runs, because opening the host warms its matrix library up: shims may close it as they like, and
 * it stays open until kept_close. */
struct kept_device {
    struct device *device;
    const struct device_table *own;
    struct device_table kept;
};

static void close_nothing(struct device *device)
{
    (void)device;
}

static void kept_open(struct kept_device *kept, const char *spec)
{
    struct status error = {0};
    if (device_open(spec, &kept->device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    kept->own = kept->device->table;
    kept->kept = *kept->own;
    kept->kept.close = close_nothing;
    kept->device->table = &kept->kept;
}

static void kept_close(struct kept_device *kept)
{
    kept->device->table = kept->own;
    device_close(kept->device);
}

/* Runs the tape on the device, whose n-th call fails (0: none). *calls: how many there were. */
static enum status_code run_failing(const struct subject *subject, const struct kept_device *kept, int64_t failing_call,
                                    struct replay_result *result, int64_t *calls, struct status *error)
{
    struct device *device = NULL;
    struct tape_view view = tape_view(subject->tape);
    if (device_fault_wrap(kept->device, failing_call, &device, error) != STATUS_OK) {
        fail_msg("%s", error->text);
    }
    enum status_code code = replay_run(&view, device, NULL, result, error);
    *calls = device_fault_call_count(device);
    assert_int_equal(device_fault_segment_count(device), 0);
    device_close(device);
    return code;
}

static void sweep(const char *spec)
{
    struct subject subject;
    struct kept_device kept;
    struct replay_result clean = {0}, after = {0};
    struct status error = {0};
    int64_t calls = 0, ignored = 0, recovered_count = 0;
    subject_open(&subject);
    kept_open(&kept, spec);
    assert_int_equal(run_failing(&subject, &kept, 0, &clean, &calls, &error), STATUS_OK);
    assert_true(calls > 100);
    for (int64_t n = 1; n <= calls; n++) {
        struct replay_result broken = {0};
        error = (struct status){0};
        enum status_code code = run_failing(&subject, &kept, n, &broken, &ignored, &error);
        if (code == STATUS_OK) {
            recovered_count++;
            assert_true(broken.loss_valid == clean.loss_valid && (!clean.loss_valid || broken.loss == clean.loss));
            assert_true(broken.requested_bytes_peak == clean.requested_bytes_peak);
        } else if (code != STATUS_DEVICE && code != STATUS_OUT_OF_MEMORY) {
            fail_msg("%s: call %lld of %lld fails, and the run says '%s'", spec, (long long)n, (long long)calls,
                     status_code_name(code));
        }
        assert_true(code == STATUS_OK || error.text[0] != '\0');
    }
    /* Each segment is asked for once in the clean run: no other call recovers. */
    assert_true(recovered_count <= clean.segment_count);
    assert_int_equal(run_failing(&subject, &kept, 0, &after, &ignored, &error), STATUS_OK);
    assert_true(after.sequence_hash == clean.sequence_hash);
    assert_true(after.loss_valid == clean.loss_valid && (!clean.loss_valid || after.loss == clean.loss));
    kept_close(&kept);
    subject_close(&subject);
}

static void every_call_of_meta_fails_once(void **state)
{
    (void)state;
    sweep("meta");
}

static void every_call_of_the_host_fails_once(void **state)
{
    (void)state;
    sweep("host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_meta_fails_once),
        cmocka_unit_test(every_call_of_the_host_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
