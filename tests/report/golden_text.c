/* Golden text: the comparison. Nothing here writes a golden file. */
#include "tests/report/golden_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tests/support/whole_file.h"

void golden_text_check(struct text text, const char *path)
{
    char *golden = whole_file_read(path);
    assert_string_equal(text_string(&text), golden);
    free(golden);
    text_release(&text);
}
