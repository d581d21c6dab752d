/* Name table: equal texts are one, numbers follow the order of first sight, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/base/name_table.h"

static void equal_texts_are_one(void **state)
{
    (void)state;
    struct name_table table = {0};
    struct arena arena = {0};
    char other[] = "load";
    assert_int_equal(name_table_add(&table, &arena, "load"), 0);
    assert_int_equal(name_table_add(&table, &arena, ""), 1);
    assert_int_equal(name_table_add(&table, &arena, other), 0);
    assert_ptr_equal(name_table_keep(&table, &arena, other), name_table_keep(&table, &arena, "load"));
    assert_ptr_not_equal(name_table_keep(&table, &arena, other), other);
    assert_null(name_table_keep(&table, &arena, NULL));
    name_table_release(&table);
    arena_release(&arena);
}

static void numbers_stay_while_it_grows(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct name_table table = {0};
    struct arena arena = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            char name[64];
            snprintf(name, sizeof name, "bert-base-cased/train/float32/b%d/s512", i);
            assert_int_equal(name_table_add(&table, &arena, name), i);
        }
    }
    assert_int_equal(table.count, COUNT);
    name_table_release(&table);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_one),
        cmocka_unit_test(numbers_stay_while_it_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
