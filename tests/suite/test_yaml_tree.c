/* The YAML reader: what it takes, what it refuses and where, and that damaged files only ever give errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/suite/yaml_tree.h"
#include "harness/suite/yaml_value.h"
#include "tests/support/status_said.h"

static const struct yaml_subject subject = {"suite", "split the suite"};

static enum status_code read_string(const char *text, struct yaml_tree *tree, struct status *error)
{
    return yaml_tree_read_text("s.yaml", &subject, text, strlen(text), tree, error);
}

static void nodes_know_their_text_kind_and_place(void **state)
{
    (void)state;
    struct yaml_tree tree;
    struct status error;
    assert_int_equal(read_string("a: 1\nb:\n  - 'x'\n  - {c: \"d\\te\"}\n", &tree, &error), STATUS_OK);
    const struct node *key = NULL;
    const struct node *a = map_find(tree.root, "a", NULL);
    assert_string_equal(a->text, "1");
    assert_true(a->is_plain);
    assert_int_equal(a->line, 1);
    assert_int_equal(a->column, 4);
    const struct node *b = map_find(tree.root, "b", &key);
    assert_int_equal(key->line, 2);
    assert_int_equal(b->kind, NODE_LIST);
    assert_int_equal(b->count, 2);
    assert_false(b->children[0]->is_plain);
    assert_string_equal(map_find(b->children[1], "c", NULL)->text, "d\te");
    assert_null(map_find(tree.root, "c", NULL));
    assert_int_equal(tree.root->weight, 9); /* the map; a, 1; b, the list, 'x'; the inner map with its two */
    yaml_tree_release(&tree);
}

static void aliases_share_their_anchor(void **state)
{
    (void)state;
    struct yaml_tree tree;
    struct status error;
    assert_int_equal(read_string("a: &x [1, 2]\nb: *x\n", &tree, &error), STATUS_OK);
    assert_ptr_equal(map_find(tree.root, "a", NULL), map_find(tree.root, "b", NULL));
    assert_int_equal(tree.root->weight, 1 + 2 + 3 + 3);
    yaml_tree_release(&tree);
}

struct refusal {
    const char *text, *message;
};

static const struct refusal REFUSALS[] = {
    {"", "s.yaml:1:1: the file is empty; a suite begins with 'version: 1'"},
    {"# only a comment\n", "s.yaml:1:1: the file is empty; a suite begins with 'version: 1'"},
    {"a: 1\n---\nb: 2\n", "s.yaml:2:1: a second document begins; a suite is one document in one file"},
    {"a: 1\nb: 2\na: 3\n", "s.yaml:3:1: key 'a' stands twice in this map, first on line 1; keep one"},
    {"x: &b {k: 1}\ny:\n  <<: *b\n", "s.yaml:3:3: merge keys are not understood; put what is shared into 'defaults'"},
    {"a: !!int 5\n", "s.yaml:1:4: tags (!...) are not understood; remove the tag"},
    {"a: *nobody\n", "s.yaml:1:4: alias of an anchor that is not defined above it"},
    {"a: &x [1, *x]\n", "s.yaml:1:11: alias of the very node it stands in; remove the alias"},
    {"a: &x 1\nb: &x 2\n", "s.yaml:2:4: this anchor is defined twice; give each anchor its own name"},
    {"? [a, b]\n: 1\n", "s.yaml:1:3: a list or map stands where a key must; write 'key: value'"},
    {"a: \"x\\0y\"\n", "s.yaml:1:4: text with a zero byte in it; remove the \\0"},
    {"a: [1, 2\n", "s.yaml:2:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that "
                   "begins at line 1; write 'key: value' lines indented with spaces"},
    {"a: 1\n\tb: 2\n", "s.yaml:2:1: not valid YAML: found a tab character that violates indentation while scanning a "
                       "plain scalar that begins at line 1; write 'key: value' lines indented with spaces"},
    {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n", "s.yaml:1:17: nested deeper than 16 levels; a suite needs five"},
};

static void what_is_refused_says_where_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0]; i++) {
        struct yaml_tree tree = {.path = "untouched"};
        struct status error;
        assert_int_equal(read_string(REFUSALS[i].text, &tree, &error), STATUS_INVALID);
        assert_string_equal(STATUS_SAID(&error), REFUSALS[i].message);
        assert_string_equal(tree.path, "untouched");
    }
}

static void bad_bytes_are_an_error_of_the_encoding(void **state)
{
    (void)state;
    struct yaml_tree tree;
    struct status error;
    assert_int_equal(yaml_tree_read_text("s.yaml", &subject, "b: 1\na: \xff\xfe\n", 11, &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "s.yaml:2:4: invalid leading UTF-8 octet; a suite is UTF-8 text");
    assert_int_equal(yaml_tree_read_text("s.yaml", &subject, "a: \0b\n", 6, &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "s.yaml:1:4: control characters are not allowed; a suite is UTF-8 text");
    assert_int_equal(yaml_tree_read_text("s.yaml", &subject, "\x1f\x8b\x08\0", 4, &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "s.yaml:1:1: this is no YAML: it is compressed with gzip; unpack it first, with gunzip");
    static const char page[] = "<html>\n<p>a: b: c</p>\n";
    assert_int_equal(yaml_tree_read_text("s.yaml", &subject, page, sizeof page - 1, &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "s.yaml:1:1: this is no YAML: it is an HTML page; name a suite file");
}

/* 4 levels of 40 aliases each stand for 2.5 million values in 700 bytes. */
static void aliases_do_not_multiply_without_bound(void **state)
{
    (void)state;
    struct text text = {0};
    text_append(&text, "l0: &l0 [x]\n");
    for (int level = 1; level <= 4; level++) {
        text_format(&text, "l%d: &l%d [", level, level);
        for (int i = 0; i < 40; i++) {
            text_format(&text, "%s*l%d", i > 0 ? ", " : "", level - 1);
        }
        text_append(&text, "]\n");
    }
    struct yaml_tree tree;
    struct status error;
    assert_int_equal(read_string(text_string(&text), &tree, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "s.yaml:4:"));
    assert_non_null(strstr(STATUS_SAID(&error), "more than 100000 values, aliases expanded"));
    text_release(&text);
}

static void limits_hold_for_sizes_and_keys(void **state)
{
    (void)state;
    struct yaml_tree tree;
    struct status error;
    struct text text = {0};
    for (int i = 0; i <= YAML_TREE_KEYS_MAXIMUM; i++) {
        text_format(&text, "k%d: 1\n", i);
    }
    assert_int_equal(read_string(text_string(&text), &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "s.yaml:1001:1: more than 1000 keys in one map; split it");
    while (text.length <= YAML_TREE_FILE_BYTES_MAXIMUM) {
        text_append(&text, "# a comment that makes the file longer\n");
    }
    assert_int_equal(read_string(text_string(&text), &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "s.yaml:1:1: larger than 1 MiB; split the suite");
    text_release(&text);
}

/* A flow list of a megabyte of brackets must fail at the 17th, not after the whole file. */
static void deep_nesting_is_refused_early(void **state)
{
    (void)state;
    size_t length = YAML_TREE_FILE_BYTES_MAXIMUM;
    char *text = malloc(length);
    assert_non_null(text);
    const char *patterns[] = {"[", "{a: ", "- "};
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < length; i++) {
            text[i] = patterns[p][i % strlen(patterns[p])];
        }
        struct yaml_tree tree;
        struct status error;
        assert_int_equal(yaml_tree_read_text("s.yaml", &subject, text, length, &tree, &error), STATUS_INVALID);
        assert_non_null(strstr(STATUS_SAID(&error), "nested deeper than 16 levels"));
    }
    free(text);
}

static void files_that_cannot_be_read_are_named(void **state)
{
    (void)state;
    struct yaml_tree tree;
    struct status error;
    assert_int_equal(yaml_tree_read_file("no/such/suite.yaml", &subject, &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "no/such/suite.yaml: cannot be opened: No such file or directory; name a suite file");
    assert_int_equal(yaml_tree_read_file("/dev/null", &subject, &tree, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "/dev/null: is not a regular file; name a suite file");
    assert_int_equal(yaml_tree_read_file("tests", &subject, &tree, &error), STATUS_INVALID);
}

static void quotes_are_one_line_and_short(void **state)
{
    (void)state;
    char quoted[NODE_QUOTE_BYTES];
    assert_string_equal(text_quote("a\nb\x1b[31m", quoted), "'a?b?[31m'");
    char text[400];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(strlen(text_quote(text, quoted)), NODE_QUOTE_BYTES - 1);
    assert_string_equal(quoted + strlen(quoted) - 5, "x...'");
    for (size_t i = 0; i + 1 < sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa9", 2);
    }
    text[sizeof text - 2] = '\0';
    text_quote(text, quoted);
    size_t length = strlen(quoted);
    assert_string_equal(quoted + length - 4, "...'");
    assert_int_equal((unsigned char)quoted[length - 5], 0xa9); /* a whole character stands before the dots */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_know_their_text_kind_and_place),
        cmocka_unit_test(aliases_share_their_anchor),
        cmocka_unit_test(what_is_refused_says_where_and_why),
        cmocka_unit_test(bad_bytes_are_an_error_of_the_encoding),
        cmocka_unit_test(aliases_do_not_multiply_without_bound),
        cmocka_unit_test(limits_hold_for_sizes_and_keys),
        cmocka_unit_test(deep_nesting_is_refused_early),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(quotes_are_one_line_and_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
