/* Which GPU the conformance test opens where two are here: the one that is asked for and no other, and what it says of
 * one that is full. */
int conformance_main(int count, char **arguments);

#define main conformance_main
#include "tests/conformance/test_conformance.c"
#undef main

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda_emulation/gpus_need.h"
#include "tests/support/scratch_folder.h"

enum { PRINTED_BYTES = 1 << 14 };

/* Prints the table of one operation in a process of its own. Returns its exit status. */
static int table_of_fill(const char *folder, char printed[PRINTED_BYTES])
{
    char program[] = "test_conformance", table[] = "--table";
    char *arguments[] = {program, table, NULL};
    char path[128];
    int status = 0;
    snprintf(path, sizeof path, "%s/printed", folder);
    fflush(NULL);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        bool bad = file < 0 || dup2(file, STDOUT_FILENO) < 0 || setenv("ASSAY_CONFORMANCE_OPERATION", "FILL", 1) != 0;
        exit(bad ? 99 : conformance_main(2, arguments));
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    printed[fread(printed, 1, PRINTED_BYTES - 1, file)] = '\0';
    fclose(file);
    return WEXITSTATUS(status);
}

static int folder_make(void **state)
{
    static char folder[64];
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/assay-choice-XXXXXX", base != NULL ? base : "/tmp");
    *state = mkdtemp(folder);
    return *state == NULL;
}

static int folder_remove(void **state)
{
    return scratch_folder_remove(*state);
}

static void the_gpu_that_is_asked_for_is_opened_and_no_other(void **state)
{
    static const struct {
        const char *asked, *opened, *other;
    } rows[] = {{"", "cuda:0: emulated sm_75", "cuda:1"}, {"cuda:1", "cuda:1: emulated sm_90", "cuda:0"}};
    char printed[PRINTED_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(setenv("ASSAY_TEST_DEVICE", rows[i].asked, 1), 0);
        assert_int_equal(table_of_fill(*state, printed), 0);
        assert_non_null(strstr(printed, "\nhost: "));
        assert_non_null(strstr(printed, rows[i].opened));
        assert_null(strstr(printed, rows[i].other));
    }
    assert_int_equal(unsetenv("ASSAY_TEST_DEVICE"), 0);
}

static void a_full_gpu_is_not_passed_over_in_silence(void **state)
{
    char printed[PRINTED_BYTES];
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "1000000", 1), 0);
    assert_int_equal(table_of_fill(*state, printed), NOT_TRIED_STATUS);
    assert_int_equal(unsetenv("EMULATED_DEVICE_BYTES"), 0);
    assert_non_null(strstr(printed, "a GPU is here and was not tried: cuda:0: out of memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_gpu_that_is_asked_for_is_opened_and_no_other, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_full_gpu_is_not_passed_over_in_silence, folder_make, folder_remove),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
