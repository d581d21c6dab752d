/* Every allocation of real PyTorch on a GPU beside the tape of the same case, in order: the histories that are
 * committed under results/reference, held by peers/pytorch/trace_diff.py. What is left over on either side is as much
 * as stands beside them in trace_differences.txt, line for line. That the allocator puts them where PyTorch's did is
 * test_pytorch_truth's affair. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

/* The script compiles a program of its own with the library of this build, and knows one place of it. */
static void library_needed(void)
{
    if (strcmp(program_path(), "build/assay") != 0 || access("build/libassay.a", R_OK) != 0) {
        print_message("skipped: this is not the build whose library is build/libassay.a\n");
        skip();
    }
}

static void histories_are_those_of_the_tape(void **state)
{
    (void)state;
    library_needed();
    command_needed("python3");
    command_needed("cc");
    glob_t found = {0};
    assert_int_equal(glob("results/reference/*/pytorch-*/trace_differences.txt", 0, NULL, &found), 0);
    assert_int_equal(glob("results/reference/*/pytorch-*/programs/trace_differences.txt", GLOB_APPEND, NULL, &found),
                     0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char command[512];
        const char *path = found.gl_pathv[i];
        snprintf(command, sizeof command, "python3 peers/pytorch/trace_diff.py --hunks 0 '%.*s'traces/*.json",
                 (int)(strrchr(path, '/') + 1 - path), path);
        const char *const words[] = {"sh", "-c", command, NULL}, *const environment[] = {"LC_ALL=C", NULL};
        struct command_result result = command_run(words, environment);
        char *known = whole_file_read(path);
        if (strcmp(text_string(&result.output), known) != 0) {
            fputs(text_string(&result.error), stderr);
            fputs(text_string(&result.output), stderr);
            fail_msg("%s has other lines; these are those of `%s`", path, command);
        }
        free(known);
        command_result_release(&result);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(histories_are_those_of_the_tape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
