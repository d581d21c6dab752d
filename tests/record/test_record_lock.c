/* Who writes to a folder of records: one run at a time, and the next one as soon as the processes of the last are
 * gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/support/scratch_folder.h"

static char folder[] = "/tmp/assay-lock-XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-lock-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* A run whose process is gone, and whose child the kernel has not taken down yet: it has the lock for `linger_ms`
 * more. Returns the child. */
static pid_t run_leave(int linger_ms)
{
    int ready[2];
    pid_t child = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t run = fork();
    if (run == 0) {
        struct record_writer *writer = NULL;
        if (record_writer_open(folder, &writer, NULL) != STATUS_OK) {
            _exit(1);
        }
        child = fork();
        if (child == 0) {
            usleep((useconds_t)linger_ms * 1000);
            _exit(0);
        }
        ssize_t written = write(ready[1], &child, sizeof child);
        _exit(written == (ssize_t)sizeof child ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &child, sizeof child), sizeof child);
    int status = 0;
    assert_int_equal(waitpid(run, &status, 0), run);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void a_run_that_was_killed_is_followed_at_once(void **state)
{
    struct record_writer *writer = NULL;
    struct status error = {0};
    (void)state;
    run_leave(400);
    if (record_writer_open(folder, &writer, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    record_writer_close(writer);
}

/* A process that stays is another run. */
static void a_run_that_goes_on_is_left_alone(void **state)
{
    struct record_writer *writer = NULL;
    struct status error = {0};
    (void)state;
    pid_t child = run_leave(60000);
    assert_int_equal(record_writer_open(folder, &writer, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "another run is writing to it"));
    kill(child, SIGKILL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_was_killed_is_followed_at_once),
        TEST(a_run_that_goes_on_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
