/* What a child has sent is told once, object by object, and garbage is passed over: the pipe cuts where it likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/run/child_tell.h"

static void object_told(void *context, const struct suite_case *case_, const struct json *object, double seconds)
{
    struct text *told = context;
    assert_null(case_);
    assert_true(seconds >= 0);
    text_format(told, "%s;", json_string_or(json_get(object, "say"), "?"));
}

static void objects_are_told_once_and_whole(void **state)
{
    (void)state;
    struct text told = {0};
    struct child child = {.pipe = -1};
    const struct run_progress progress = {.context = &told, .told = object_told};
    child_tell(&child, NULL, &progress);
    text_append(&child.output, "{\"say\": \"one\"}\n{\"say\": \"t");
    child_tell(&child, NULL, &progress);
    assert_string_equal(text_string(&told), "one;");
    text_append(&child.output, "wo\"}\nnonsense\n[1]\n\n{\"say\": \"three\"}\n{\"say\":");
    child_tell(&child, NULL, &progress);
    child_tell(&child, NULL, &progress);
    assert_string_equal(text_string(&told), "one;two;three;");
    child_release(&child);
    text_release(&told);
}

static void nobody_need_listen(void **state)
{
    (void)state;
    struct child child = {.pipe = -1};
    const struct run_progress progress = {0};
    text_append(&child.output, "{\"say\": \"one\"}\n");
    child_tell(&child, NULL, &progress);
    assert_int_equal(child.told_bytes, 0);
    child_release(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_told_once_and_whole),
        cmocka_unit_test(nobody_need_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
