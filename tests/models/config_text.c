/* Config text: written, then read. Holds no test. */
#include "tests/models/config_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "models/find/config_file.h"
#include "tests/support/scratch_file.h"

enum status_code text_read(const char *text, struct config *config, struct status *error)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return config_read(scratch_file_path, "test", config, error);
}

struct config config_of(const char *text)
{
    struct config config;
    struct status error = {0};
    if (text_read(text, &config, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return config;
}
