/* Library symbol: found, and left alone where there is none. */
#include "harness/base/library_symbol.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static size_t always_seven(const char *text)
{
    (void)text;
    return 7;
}

static void a_symbol_is_found_or_nothing_is_touched(void **state)
{
    (void)state;
    size_t (*measure)(const char *) = always_seven;
    void *own = dlopen(NULL, RTLD_NOW); /* the program itself and what it is linked with */
    assert_non_null(own);
    assert_false(symbol_find(own, "there_is_no_such_function", &measure));
    assert_int_equal(measure("abc"), 7);
    assert_true(symbol_find(own, "strlen", &measure));
    assert_int_equal(measure("abc"), 3);
    dlclose(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_symbol_is_found_or_nothing_is_touched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
