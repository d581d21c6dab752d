/* What two nights were measured under, where it alone differs: told, and no failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/report/nights_fixture.h"

enum { MIB = 1 << 20 };

static const struct night usual = {0};

static void another_environment_alone_is_told_and_no_failure(void **state)
{
    const struct night other = {.driver = "580.65.06",
                                .kernel = "6.8.0",
                                .plan_hash = "0000000000000001",
                                .libraries = "[\"cuBLAS 12.9.0\"]",
                                .context_bytes = 4 * MIB};
    night_check(*state, &(struct night){.libraries = "[\"cuBLAS 12.8.4\"]"}, &other, NULL, RUN_PASS,
                (const char *const[]){"environment: 4 differences\n", "driver", "570.124.06 -> 580.65.06",
                                      "kernel of the host", "Linux 6.1.0 -> Linux 6.8.0", "libraries",
                                      "cuBLAS 12.8.4 -> cuBLAS 12.9.0", "suite hash",
                                      "8d5a0f3b2c4e6172 -> 0000000000000001", "2 same, 0 changed",
                                      "GO: no figure is beyond its tolerance; the environment differs in driver, "
                                      "kernel of the host, libraries, suite hash\n",
                                      NULL});
}

static void another_variable_of_the_environment_is_told(void **state)
{
    const struct night other = {.variables = "{\"CUBLAS_WORKSPACE_CONFIG\":\":16:8\",\"OMP_NUM_THREADS\":\"4\"}"};
    night_check(*state, &(struct night){.variables = "{}"}, &other, NULL, RUN_PASS,
                (const char *const[]){"environment: 1 difference\n", "variables",
                                      "none -> CUBLAS_WORKSPACE_CONFIG=:16:8 OMP_NUM_THREADS=4",
                                      "the environment differs in variables\n", NULL});
    night_check(*state, &usual, &other, NULL, RUN_PASS,
                (const char *const[]){"  not recorded: variables (old)\n", NULL});
}

static void what_one_side_has_not_recorded_is_no_difference(void **state)
{
    night_check(*state, &usual, &(struct night){.libraries = "[\"cuBLAS 12.9.0\"]"}, NULL, RUN_PASS,
                (const char *const[]){"environment: no difference is recorded\n", "  not recorded: libraries (old)\n",
                                      "GO: no figure is beyond its tolerance\n", NULL});
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, nights_make, nights_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_environment_alone_is_told_and_no_failure),
        TEST(another_variable_of_the_environment_is_told),
        TEST(what_one_side_has_not_recorded_is_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
