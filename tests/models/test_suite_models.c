/* Models of the program's own suites are found from any folder, by what the suite calls them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/find/model.h"

static void they_are_found_from_another_folder(void **state)
{
    char *catalogue = realpath("models/catalogue", NULL), *here = realpath(".", NULL);
    const struct model_places places = {.catalogue_dir = catalogue};
    struct model model = {0};
    struct status error = {0};
    (void)state;
    assert_non_null(catalogue);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(model_find(&places, "suites/overhead-law/gpt2-a", &model, &error), STATUS_OK);
    assert_string_equal(model.config.name, "suites/overhead-law/gpt2-a");
    model_release(&model);
    assert_int_not_equal(model_find(&places, "suites/overhead-law/gpt2-none", &model, &error), STATUS_OK);
    assert_non_null(strstr(error.text, "'suites/overhead-law/gpt2-none': No such file or directory"));
    assert_int_not_equal(model_find(&places, "models/catalogue/gpt2.json", &model, &error), STATUS_OK);
    assert_int_equal(chdir(here), 0);
    free(catalogue);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_found_from_another_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
