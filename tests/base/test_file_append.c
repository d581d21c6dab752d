/* File append: all of a text behind what is there, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/file_append.h"

static char path[64];

static int file_make(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/assay-append-XXXXXX");
    const int file = mkstemp(path);
    return file < 0 || write(file, "before\n", 7) != 7 || close(file) != 0;
}

static int file_remove(void **state)
{
    (void)state;
    return unlink(path);
}

static void content_check(const char *expected)
{
    char content[256] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_string_equal(content, expected);
}

static void it_goes_behind_what_is_there(void **state)
{
    struct text text = {0};
    (void)state;
    text_append(&text, "after\n");
    assert_int_equal(file_append(path, &text, NULL), STATUS_OK);
    assert_int_equal(file_append(path, &text, NULL), STATUS_OK);
    content_check("before\nafter\nafter\n");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_append(path, &text, NULL), STATUS_OK);
    content_check("after\n");
    text_release(&text);
}

/* A limit on the size of files, as a disk that is full. */
static void what_does_not_fit_leaves_the_file_as_it_was(void **state)
{
    struct text text = {0};
    struct status error = {0};
    struct rlimit before, least = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    (void)state;
    for (int i = 0; i < 300; i++) {
        text_append(&text, "123456789\n");
    }
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    least.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
    const enum status_code code = file_append(path, &text, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, STATUS_IO);
    assert_non_null(strstr(error.text, "cannot be written: "));
    content_check("before\n");
    text_release(&text);
}

static void a_folder_that_is_not_there_is_said(void **state)
{
    struct text text = {0};
    struct status error = {0};
    (void)state;
    text_append(&text, "x");
    assert_int_equal(file_append("/tmp/assay-absent/summary.md", &text, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/tmp/assay-absent/summary.md: cannot be written: "));
    text_release(&text);
}

/* Each of several writers has its lines together. */
static void writers_do_not_mix(void **state)
{
    enum { WRITERS = 4, LINES = 50000 };
    (void)state;
    for (int writer = 0; writer < WRITERS; writer++) {
        if (fork() == 0) {
            struct text text = {0};
            for (int i = 0; i < LINES; i++) {
                text_format(&text, "%d\n", writer);
            }
            _exit(file_append(path, &text, NULL) == STATUS_OK ? 0 : 1);
        }
    }
    for (int writer = 0, status = 0; writer < WRITERS; writer++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    FILE *file = fopen(path, "r");
    char line[32];
    int changes = 0, lines = 0, last = -1;
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file) != NULL; lines++) {
        changes += line[0] != last ? 1 : 0;
        last = line[0];
    }
    fclose(file);
    assert_int_equal(lines, WRITERS * LINES);
    assert_int_equal(changes, WRITERS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, file_make, file_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_goes_behind_what_is_there),
        TEST(what_does_not_fit_leaves_the_file_as_it_was),
        TEST(a_folder_that_is_not_there_is_said),
        TEST(writers_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
