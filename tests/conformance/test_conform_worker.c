/* Operations in processes of their own: what one ends costs no other, and what is found there is found here. The host's
 * threads do not outlive a fork, so what this process computes itself comes last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/conform_worker.h"

enum { SECOND = 1, MINUTE = 60 };

static const struct tape_calls no_calls;

static bool plan_that_crashes(struct trial *trial, int variant)
{
    (void)trial, (void)variant;
    raise(SIGKILL);
    return false;
}

static bool plan_that_hangs(struct trial *trial, int variant)
{
    (void)trial, (void)variant;
    pause();
    return false;
}

static bool plan_that_asserts(struct trial *trial, int variant)
{
    (void)trial, (void)variant;
    assert_true(false);
    return false;
}

/* Makes float32 alone, whatever is asked of it: most of a contract is then untested, which the report lists. */
static bool plan_of_float32(struct trial *trial, int variant)
{
    trial->mix = MIX_FLOAT32;
    for (int t = 0; t < OPERATION_TENSORS_MAXIMUM; t++) {
        trial->wanted[t] = DTYPE_COUNT;
    }
    return plan_layernorm(trial, variant);
}

static void conform_elsewhere(struct conform_worker *worker, enum opcode opcode, trial_plan *plan, int limit_s,
                              struct conformance *conformance)
{
    const struct conformance_request request = {.opcode = opcode, .plan = plan, .calls = &no_calls, .seed = 5};
    worker_conform(worker, &request, limit_s, conformance);
}

static void an_operation_that_ends_its_process_costs_no_other(void **state)
{
    (void)state;
    static const struct {
        trial_plan *plan;
        int limit_s;
        const char *said;
    } rows[] = {{plan_that_crashes, MINUTE, "ended by signal 9\n"},
                {plan_that_hangs, SECOND, "within 1 s\n"},
                {plan_that_asserts, MINUTE, "ended by signal 6\n"}};
    struct conform_worker worker;
    struct conformance before, after;
    assert_int_equal(conform_worker_open(&worker, "host", NULL), STATUS_OK);
    conform_elsewhere(&worker, OPCODE_GELU, plan_element, MINUTE, &before);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct conformance broken;
        conform_elsewhere(&worker, OPCODE_RELU, rows[i].plan, rows[i].limit_s, &broken);
        assert_true(broken.lost && !conformance_is_whole(&broken));
        assert_non_null(strstr(text_string(&broken.report), rows[i].said));
        conformance_release(&broken);
        conform_elsewhere(&worker, OPCODE_GELU, plan_element, MINUTE, &after);
        assert_true(conformance_is_whole(&after));
        assert_true(after.cells[DTYPE_FLOAT32].error == before.cells[DTYPE_FLOAT32].error);
        conformance_release(&after);
    }
    conformance_release(&before);
    conform_worker_close(&worker);
}

static void a_device_that_does_not_open_says_why(void **state)
{
    (void)state;
    struct conform_worker worker;
    struct status error = {0};
    assert_int_equal(conform_worker_open(&worker, "host:mem=1MiB", &error), STATUS_OUT_OF_MEMORY);
    assert_non_null(strstr(error.text, "bytes"));
    assert_int_equal(conform_worker_open(&worker, "cuda:99", &error), STATUS_UNAVAILABLE);
    assert_non_null(strstr(error.text, "cuda"));
}

static void what_is_found_elsewhere_is_what_is_found_here(void **state)
{
    (void)state;
    struct conform_worker worker;
    struct conformance here, there;
    struct trial_site site;
    struct device *device = NULL;
    assert_int_equal(conform_worker_open(&worker, "host", NULL), STATUS_OK);
    conform_elsewhere(&worker, OPCODE_LAYERNORM, plan_of_float32, MINUTE, &there);
    conform_worker_close(&worker);
    assert_int_equal(device_open("host", &device, NULL), STATUS_OK);
    assert_int_equal(trial_site_open(&site, device, NULL), STATUS_OK);
    const struct conformance_request request = {
        .site = &site, .opcode = OPCODE_LAYERNORM, .plan = plan_of_float32, .calls = &no_calls, .seed = 5};
    operation_conform(&request, &here);
    assert_true(here.untested_count > 0);
    assert_string_equal(text_string(&here.report), text_string(&there.report));
    assert_int_equal(here.untested_count, there.untested_count);
    assert_memory_equal(here.cells, there.cells, sizeof here.cells);
    conformance_release(&here);
    conformance_release(&there);
    trial_site_close(&site);
    device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_that_ends_its_process_costs_no_other),
        cmocka_unit_test(a_device_that_does_not_open_says_why),
        cmocka_unit_test(what_is_found_elsewhere_is_what_is_found_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
