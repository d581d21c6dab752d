/* Plug-ins that were built from other sources are not used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/plugin.h"

static void an_entry_of_other_sources_does_not_fit(void **state)
{
    (void)state;
    char fewer[8192];
    const struct plugin_entry same = {
        .version = PLUGIN_VERSION, .call_bytes = sizeof(struct operation_call), .operations = operation_list};
    assert_true(plugin_entry_fits(&same));
    struct plugin_entry other = same;
    other.version--;
    assert_false(plugin_entry_fits(&other));
    other = same;
    other.call_bytes += 8;
    assert_false(plugin_entry_fits(&other));
    other = same;
    other.operations = fewer;
    assert_true(strlen(operation_list) < sizeof fewer);
    strncpy(fewer, operation_list, sizeof fewer);
    assert_true(plugin_entry_fits(&other));
    fewer[strlen(fewer) - 2]++; /* the last operation takes another dtype */
    assert_false(plugin_entry_fits(&other));
    *(strrchr(fewer, ' ')) = '\0'; /* one operation less */
    assert_false(plugin_entry_fits(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_of_other_sources_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
