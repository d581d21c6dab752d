/* Array: grows by doubling, keeps what is in it, and stays as it was when it cannot grow. */
#include "harness/base/array.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 5000 };

struct element {
    size_t number;
    char text[9]; /* so that the size of an element is no power of two */
};

static bool has_no_memory;

/* The program's own calls come here (Makefile: --wrap). */
void *__real_realloc(void *memory, size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_realloc(void *memory, size_t bytes)
{
    return has_no_memory ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return has_no_memory ? NULL : __real_calloc(count, bytes);
}

static void *one_more(struct arena *arena, void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    return arena != NULL ? arena_array_extend(arena, array, count, capacity, element_bytes)
                         : array_extend(array, count, capacity, element_bytes);
}

/* Fills an array one by one, in an arena if there is one; returns it and how often its capacity has changed. */
static struct element *array_fill(struct arena *arena, size_t *capacity, int *growths)
{
    struct element *array = NULL;
    for (size_t count = 0; count < ELEMENTS; count++) {
        size_t before = *capacity;
        array = one_more(arena, array, count, capacity, sizeof *array);
        assert_non_null(array);
        assert_true(*capacity > count && *capacity >= before);
        assert_true(*capacity == before || count == before);
        *growths += *capacity != before ? 1 : 0;
        array[count] = (struct element){.number = count, .text = "12345678"};
    }
    for (size_t i = 0; i < ELEMENTS; i++) {
        assert_int_equal(array[i].number, i);
        assert_string_equal(array[i].text, "12345678");
    }
    return array;
}

static void elements_stay_while_it_doubles(void **state)
{
    (void)state;
    struct arena arena = {0};
    size_t heap_capacity = 0, arena_capacity = 0;
    int heap_growths = 0, arena_growths = 0;
    struct element *array = array_fill(NULL, &heap_capacity, &heap_growths);
    struct element *other = array_fill(&arena, &arena_capacity, &arena_growths);
    assert_int_equal(heap_capacity, arena_capacity);
    assert_int_equal(heap_growths, 10); /* 16, 32, ..., 8192 */
    assert_int_equal(arena_growths, 10);
    assert_ptr_equal(one_more(NULL, array, ELEMENTS, &heap_capacity, sizeof *array), array);
    assert_ptr_equal(one_more(&arena, other, ELEMENTS, &arena_capacity, sizeof *other), other);
    free(array);
    arena_release(&arena);
}

/* Refused before memory is asked for: more elements than an int can count, more bytes than a size_t can hold. */
static void what_is_too_large_stays_as_it_was(void **state)
{
    static const size_t counts[] = {(size_t)INT_MAX / 2 + 1, INT_MAX, 16, 1 << 20};
    static const size_t element_bytes[] = {1, 1, SIZE_MAX / 32 + 1, SIZE_MAX / 2};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct arena arena = {0};
        char array[] = "abc";
        size_t capacity = counts[i];
        assert_null(one_more(NULL, array, counts[i], &capacity, element_bytes[i]));
        assert_null(one_more(&arena, array, counts[i], &capacity, element_bytes[i]));
        assert_int_equal(capacity, counts[i]);
        assert_string_equal(array, "abc");
        arena_release(&arena);
    }
}

static void without_memory_it_stays_as_it_was(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct arena all = {0}, *arena = i == 0 ? NULL : &all;
        size_t capacity = 0, none = 0;
        int *array = one_more(arena, NULL, 0, &capacity, sizeof *array);
        assert_non_null(array);
        array[0] = 7;
        has_no_memory = true;
        void *grown = one_more(arena, array, capacity, &capacity, 1 << 20);
        void *made = one_more(arena, NULL, 0, &none, 1 << 20);
        has_no_memory = false;
        assert_null(grown);
        assert_null(made);
        assert_int_equal(capacity, 16);
        assert_int_equal(none, 0);
        assert_int_equal(array[0], 7);
        if (arena == NULL) {
            free(array);
        }
        arena_release(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_stay_while_it_doubles),
        cmocka_unit_test(what_is_too_large_stays_as_it_was),
        cmocka_unit_test(without_memory_it_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
