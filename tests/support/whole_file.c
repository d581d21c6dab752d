/* Whole file: read in pieces, of any size. */
#include "tests/support/whole_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/base/text.h"

char *whole_file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct text text = {0};
    char buffer[4096];
    for (size_t count = fread(buffer, 1, sizeof buffer, file); count > 0;
         count = fread(buffer, 1, sizeof buffer, file)) {
        text_append_bytes(&text, buffer, count);
    }
    fclose(file);
    assert_non_null(text.data);
    return text.data;
}
