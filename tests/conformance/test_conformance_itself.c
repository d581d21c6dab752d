/* Whether the conformance test finds what is wrong: kernels that err in one way each, plans that leave something
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/kernels/call_check.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/corrupting_device.h"

static struct tape_calls calls;

static void site_open(enum corruption corruption, struct trial_site *site)
{
    struct device *inner = NULL, *device = NULL;
    struct status error = {0};
    if (device_open("host", &inner, &error) != STATUS_OK ||
        device_corrupt_wrap(inner, corruption, &device, &error) != STATUS_OK ||
        trial_site_open(site, device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void site_close(struct trial_site *site)
{
    struct device *device = site->device;
    trial_site_close(site);
    device_close(device);
}

static void conform_on_host(enum opcode opcode, trial_plan *plan, uint64_t seed, struct conformance *conformance)
{
    struct trial_site site;
    site_open(CORRUPTION_NONE, &site);
    struct conformance_request request = {.site = &site, .opcode = opcode, .plan = plan, .calls = &calls, .seed = seed};
    operation_conform(&request, conformance);
    site_close(&site);
}

static bool operation_has_inputs(enum opcode opcode)
{
    return opcode_input_count(opcode) > 0;
}

/* Whether an output can be told from itself in bfloat16: whole numbers, true and false are not rounded, nor are the
 * number that FILL writes and the ones and zeros of WITHIN. */
static bool operation_is_rounded(enum opcode opcode)
{
    bool rounded = false;
    for (const char *c = strchr(opcode_pattern(opcode), '>') + 1; *c != '\0'; c++) {
        rounded = rounded || pattern_letter_takes(*c, DTYPE_FLOAT32);
    }
    return rounded && opcode != OPCODE_FILL && opcode != OPCODE_WITHIN;
}

static void corruption_is_found(const struct trial_site *site, enum corruption corruption, enum opcode opcode)
{
    struct conformance conformance;
    struct conformance_request request = {.site = site,
                                          .opcode = opcode,
                                          .plan = trial_plan_for(opcode),
                                          .calls = &calls,
                                          .seed = 1,
                                          .first_fault_only = true};
    operation_conform(&request, &conformance);
    if (conformance_is_whole(&conformance) || conformance.untested_count > 0) {
        fail_msg("%s with its results spoilt (%s) passed", opcode_name(opcode), corruption_name(corruption));
    }
    conformance_release(&conformance);
}

static void wrong_kernels_are_found(void **state)
{
    (void)state;
    for (int corruption = CORRUPTION_NONE + 1; corruption < CORRUPTION_COUNT; corruption++) {
        struct trial_site site;
        site_open((enum corruption)corruption, &site);
        for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
            bool applies = corruption == CORRUPTION_INPUT     ? operation_has_inputs((enum opcode)opcode)
                           : corruption == CORRUPTION_ROUNDED ? operation_is_rounded((enum opcode)opcode)
                                                              : true;
            if (applies) {
                corruption_is_found(&site, (enum corruption)corruption, (enum opcode)opcode);
            }
        }
        site_close(&site);
    }
}

static void a_seed_repeats_its_trials(void **state)
{
    (void)state;
    struct conformance first, again, other;
    conform_on_host(OPCODE_GELU, plan_element, 5, &first);
    conform_on_host(OPCODE_GELU, plan_element, 5, &again);
    conform_on_host(OPCODE_GELU, plan_element, 6, &other);
    assert_true(conformance_is_whole(&first));
    assert_true(first.cells[DTYPE_FLOAT32].error > 0.0);
    assert_true(first.cells[DTYPE_FLOAT32].error == again.cells[DTYPE_FLOAT32].error);
    assert_true(first.cells[DTYPE_FLOAT32].error != other.cells[DTYPE_FLOAT32].error);
    conformance_release(&first);
    conformance_release(&again);
    conformance_release(&other);
}

/* A plan that knows float32 alone, whatever is asked of it. */
static bool plan_of_float32(struct trial *trial, int variant)
{
    trial->mix = MIX_FLOAT32;
    for (int t = 0; t < OPERATION_TENSORS_MAXIMUM; t++) {
        trial->wanted[t] = DTYPE_COUNT;
    }
    return plan_layernorm(trial, variant);
}

static void dtypes_that_no_plan_makes_are_listed(void **state)
{
    (void)state;
    struct conformance conformance;
    conform_on_host(OPCODE_LAYERNORM, plan_of_float32, 1, &conformance);
    const char *report = text_string(&conformance.report);
    assert_false(conformance_is_whole(&conformance));
    assert_int_equal(conformance.cells[DTYPE_FLOAT32].fault_count, 0);
    assert_non_null(strstr(report, "untested: float16\n"));
    assert_non_null(strstr(report, "untested: mixed\n"));
    assert_non_null(strstr(report, "untested: bfloat16 as tensor 1\n"));
    assert_null(strstr(report, "as tensor 4\n")); /* the mean, which is always float32 */
    assert_non_null(strstr(report, "untested: the tape's bfloat16 bfloat16 bfloat16 -> bfloat16 float32 float32\n"));
    conformance_release(&conformance);
}

static void optional_tensors_are_told_apart(void **state)
{
    (void)state;
    struct contract contract;
    int operands[OPERATION_TENSORS_MAXIMUM] = {0};
    contract_of(OPCODE_MATMUL, &contract);
    assert_int_equal(contract.operand_count, 5);
    struct operation_call call = {.opcode = OPCODE_MATMUL, .input_count = 3, .tensor_count = 4};
    call.tensors[2].dtype = DTYPE_BOOL; /* a workspace and no bias */
    contract_operands(&contract, &call, operands);
    assert_int_equal(operands[2], 3);
    assert_int_equal(operands[3], 4);
    call.tensors[2].dtype = DTYPE_FLOAT16; /* a bias and no workspace */
    contract_operands(&contract, &call, operands);
    assert_int_equal(operands[2], 2);
    assert_int_equal(operands[3], 4);
    assert_int_equal(contract_class(&contract, &call), CLASS_MIXED);
}

static int calls_set_up(void **state)
{
    (void)state;
    tape_calls_collect(&calls);
    return 0;
}

static int calls_tear_down(void **state)
{
    (void)state;
    tape_calls_release(&calls);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_found),
        cmocka_unit_test(a_seed_repeats_its_trials),
        cmocka_unit_test(dtypes_that_no_plan_makes_are_listed),
        cmocka_unit_test(optional_tensors_are_told_apart),
    };
    return cmocka_run_group_tests(tests, calls_set_up, calls_tear_down);
}
