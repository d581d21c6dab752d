/* The table of operations: patterns that can be read, and counts that follow from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/call_check.h"

/* The tensors that the letters of a pattern stand for, one by one. */
static void pattern_hold(enum opcode opcode)
{
    const char *name = opcode_name(opcode), *pattern = opcode_pattern(opcode), *outputs = strchr(pattern, '>');
    int tensors = 0, optional = 0;
    if (outputs == NULL || outputs != strrchr(pattern, '>') || strchr(outputs, '(') != NULL) {
        fail_msg("%s: \"%s\" has not one > with outputs alone behind it", name, pattern);
    }
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c == '(' && (c[1] == '\0' || c[2] != ')')) {
            fail_msg("%s: \"%s\" has brackets about something else than one letter", name, pattern);
        }
        bool letter = strchr("()>", *c) == NULL, taken = false;
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            taken = taken || pattern_letter_takes(*c, (enum dtype)dtype);
        }
        if (letter != taken) {
            fail_msg("%s: \"%s\" has a letter '%c' that takes no dtype", name, pattern, *c);
        }
        tensors += letter;
        optional += *c == '(';
    }
    if (tensors > OPERATION_TENSORS_MAXIMUM || (optional > 1 && opcode_product(opcode) == PRODUCT_NONE)) {
        fail_msg("%s: \"%s\" has more tensors, or more that may be left out, than a call can have", name, pattern);
    }
    assert_int_equal(opcode_output_count(opcode), strlen(outputs + 1));
    assert_int_equal(opcode_input_count(opcode), tensors - optional - opcode_output_count(opcode));
    assert_true(opcode_output_count(opcode) > 0);
}

static void test_every_pattern_can_be_read(void **state)
{
    (void)state;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        pattern_hold((enum opcode)opcode);
    }
}

static void test_counts_follow_from_the_pattern(void **state)
{
    (void)state;
    assert_int_equal(opcode_input_count(OPCODE_FILL), 0);
    assert_int_equal(opcode_output_count(OPCODE_FILL), 1);
    assert_int_equal(opcode_input_count(OPCODE_LAYERNORM), 3);
    assert_int_equal(opcode_output_count(OPCODE_LAYERNORM), 3);
    assert_int_equal(opcode_input_count(OPCODE_ATTENTION_MASK), 0); /* its only input may be left out */
    assert_int_equal(opcode_input_count(OPCODE_SCALED_MATMUL), 4);
    assert_int_equal(opcode_input_count(OPCODE_ADAM_8BIT), 3);
    assert_int_equal(opcode_output_count(OPCODE_ADAM_8BIT), 5);
}

/* What a program and its plug-in compare. */
static void test_the_list_has_every_operation_in_its_place(void **state)
{
    (void)state;
    const char *line = operation_list;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%s %s\n", opcode_name((enum opcode)opcode),
                 opcode_pattern((enum opcode)opcode));
        assert_memory_equal(line, expected, strlen(expected));
        line += strlen(expected);
    }
    assert_string_equal(line, "");
}

static void test_letters_take_their_dtypes(void **state)
{
    (void)state;
    static const struct {
        char letter;
        enum dtype takes[4];
        int count;
    } rows[] = {
        {'f', {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16}, 3},
        {'n', {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_UINT8}, 4},
        {'q', {DTYPE_INT8, DTYPE_FLOAT8_E4M3FN, DTYPE_NF4X2}, 3},
        {'s', {DTYPE_FLOAT32}, 1},
        {'i', {DTYPE_INT64}, 1},
        {'w', {DTYPE_INT32}, 1},
        {'b', {DTYPE_BOOL}, 1},
        {'u', {DTYPE_UINT8}, 1},
        {'k', {DTYPE_INT8}, 1},
        {'e', {DTYPE_FLOAT8_E4M3FN}, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            bool expected = false;
            for (int k = 0; k < rows[i].count; k++) {
                expected = expected || rows[i].takes[k] == (enum dtype)dtype;
            }
            char capital = (char)(rows[i].letter - 'a' + 'A');
            assert_int_equal(pattern_letter_takes(rows[i].letter, (enum dtype)dtype), expected);
            assert_int_equal(pattern_letter_takes(capital, (enum dtype)dtype), expected);
        }
        assert_false(pattern_letter_takes(rows[i].letter, DTYPE_COUNT));
    }
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        assert_true(pattern_letter_takes('a', (enum dtype)dtype) && pattern_letter_takes('D', (enum dtype)dtype));
    }
    assert_false(pattern_letter_takes('a', DTYPE_COUNT));
    assert_false(pattern_letter_takes('x', DTYPE_FLOAT32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_can_be_read),
        cmocka_unit_test(test_counts_follow_from_the_pattern),
        cmocka_unit_test(test_the_list_has_every_operation_in_its_place),
        cmocka_unit_test(test_letters_take_their_dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
