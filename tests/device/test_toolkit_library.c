/* Libraries of the toolkit where the loader does not know its folder: lib64, and lib, as conda has it. The source is
 * part of the plug-in alone, so it is compiled into this program. */
#include "harness/device/cuda/toolkit_library.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static const char name[] = "libassay-no-such.so.1";

/* A library with one function, in that folder of a toolkit. */
static void library_make(const char *home, const char *below)
{
    char script[512];
    snprintf(script, sizeof script,
             "mkdir -p %s/%s && printf 'int answer(void) { return 42; }' | cc -shared -fPIC -x c - -o %s/%s/%s", home,
             below, home, below, name);
    struct command_result result = command_run((const char *const[]){"sh", "-c", script, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void a_library_of_the_toolkit_is_found_in_either_folder(void **state)
{
    static const char *const folders[] = {"lib64", "lib"};
    (void)state;
    command_needed("cc");
    for (int i = 0; i < 2; i++) {
        char home[] = "/tmp/assay-toolkit-XXXXXX";
        int (*answer)(void) = NULL;
        const struct toolkit_symbol symbol = {"answer", &answer};
        struct status error = {0};
        void *library = NULL;
        assert_non_null(mkdtemp(home));
        assert_int_equal(setenv("CUDA_HOME", home, 1), 0);
        assert_int_equal(toolkit_library_open(name, &symbol, 1, &library, &error), STATUS_UNAVAILABLE);
        assert_non_null(strstr(error.text, "cannot be loaded (libassay-no-such.so.1: "));
        library_make(home, folders[i]);
        assert_int_equal(toolkit_library_open(name, &symbol, 1, &library, &error), STATUS_OK);
        assert_int_equal(answer(), 42);
        const struct toolkit_symbol missing = {"question", &answer};
        toolkit_library_close(library);
        assert_int_equal(toolkit_library_open(name, &missing, 1, &library, &error), STATUS_UNAVAILABLE);
        assert_non_null(strstr(error.text, "has no question"));
        assert_int_equal(scratch_folder_remove(home), 0);
    }
    unsetenv("CUDA_HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_of_the_toolkit_is_found_in_either_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
