/* A finished tape played from its beginning to its end; no device has part in it. */
#include "tests/tape/tape_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness/tape/tape_cursor.h"

int tape_changes(const struct tape *tape, int64_t *changes, int maximum)
{
    struct tape_view view = tape_view(tape);
    struct tape_cursor cursor;
    struct tape_step step;
    int count = 0;
    assert_int_equal(tape_cursor_open(&view, &cursor, NULL), STATUS_OK);
    while (tape_cursor_next(&cursor, &step)) {
        if (step.change_bytes != 0) {
            assert_in_range(count, 0, maximum - 1);
            changes[count++] = step.change_bytes;
        }
    }
    tape_cursor_close(&cursor);
    return count;
}
