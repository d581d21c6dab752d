/* Tape for a target: its making, checked. */
#include "tests/tape/tape_for.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct tape *tape_for(const char *name)
{
    struct status error = {0};
    const struct target *target = NULL;
    struct tape *tape = NULL;
    assert_int_equal(target_find(name, &target, &error), STATUS_OK);
    assert_int_equal(tape_new(target, &tape, &error), STATUS_OK);
    return tape;
}
