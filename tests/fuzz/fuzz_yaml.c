/* Fuzz target: a suite, to its list of cases. Models are not looked up. */
#include "harness/suite/suite.h"
#include "tests/fuzz/fuzz.h"

int fuzz_yaml(const uint8_t *data, size_t size)
{
    struct suite suite = {0};
    struct status error = {0};
    enum status_code code = suite_read_text("suite.yaml", (const char *)data, size, NULL, &suite, &error);
    fuzz_status_check(code, &error);
    if (code == STATUS_OK) {
        fuzz_require(suite.case_count > 0);
        for (int i = 0; i < suite.case_count; i++) {
            fuzz_require(suite.cases[i].id[0] != '\0');
        }
        suite_release(&suite);
    }
    return 0;
}
