/* The check of circles is fed small folders of objects and headers, and must find every circle and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* A repository whose one folder has up to four sources, each compiled beside itself. */
struct sources {
    const char *folder; /* "harness/base" */
    const char *texts[4][2];
};

static struct text checked(const struct sources *sources, const char *option, int exit_code)
{
    char root[] = "/tmp/assay-circle-XXXXXX", command[512], path[128];
    assert_non_null(mkdtemp(root));
    snprintf(command, sizeof command, "mkdir -p %s/%s", root, sources->folder);
    struct command_result made = command_run((const char *[]){"sh", "-c", command, NULL}, NULL);
    assert_int_equal(made.exit_code, 0);
    command_result_release(&made);
    for (size_t at = 0; at < 4 && sources->texts[at][0] != NULL; at++) {
        snprintf(path, sizeof path, "%s/%s/%s", root, sources->folder, sources->texts[at][0]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(sources->texts[at][1], file);
        fclose(file);
    }
    snprintf(command, sizeof command,
             "cd %s/%s && for f in *.c; do cc -I%s -c -o ${f%%.c}.o $f || exit 9; done; cd - >/dev/null && "
             "ci/check-circles.sh %s %s %s",
             root, sources->folder, root, option, root, root);
    struct command_result result = command_run((const char *[]){"sh", "-c", command, NULL}, NULL);
    if (result.exit_code != exit_code) {
        fail_msg("exit code %d: %s%s", result.exit_code, text_string(&result.output), text_string(&result.error));
    }
    struct text output = {0};
    text_append(&output, text_string(&result.output));
    command_result_release(&result);
    assert_int_equal(scratch_folder_remove(root), 0);
    return output;
}

static void expect(const struct sources *sources, int exit_code, const char *output)
{
    struct text said = checked(sources, "", exit_code);
    assert_string_equal(text_string(&said), output);
    text_release(&said);
}

static void calls_go_one_way(void **state)
{
    (void)state;
    expect(&(struct sources){"harness/base",
                             {{"a.c", "void b(void); void c(void); void a(void) { b(); c(); }\n"},
                              {"b.c", "void c(void); void b(void) { c(); }\n"},
                              {"c.c", "void c(void) {}\n"}}},
           0, "");
    expect(&(struct sources){"harness/base",
                             {{"a.c", "void b(void); void a(void) { b(); }\n"},
                              {"b.c", "void c(void); void b(void) { c(); }\n"},
                              {"c.c", "void a(void); void c(void) { a(); }\n"}}},
           1,
           "harness/base/a.c:1: a circle of calls: harness/base/a.c -> harness/base/b.c (b) -> harness/base/c.c (c) -> "
           "harness/base/a.c (a); move what both sides need into a file that knows neither\n");
}

/* A table of functions is a call, and so is the use of a variable. */
static void tables_and_variables_count(void **state)
{
    (void)state;
    expect(&(struct sources){"models/config",
                             {{"a.c", "void b(void); void (*const table[])(void) = {b};\n"},
                              {"b.c", "extern void (*const table[])(void); void b(void) { table[0](); }\n"}}},
           1,
           "models/config/a.c:1: a circle of calls: models/config/a.c -> models/config/b.c (b) -> models/config/a.c "
           "(table); move what both sides need into a file that knows neither\n");
}

/* Functions of a file's own, and those of libraries, make no circle. */
static void names_of_ones_own_are_none(void **state)
{
    (void)state;
    expect(&(struct sources){"harness/base",
                             {{"a.c", "#include <stdlib.h>\nstatic void b(void) { abort(); } void a(void) { b(); }\n"},
                              {"b.c", "void a(void); void b(void) { a(); }\n"}}},
           0, "");
}

static void includes_go_one_way(void **state)
{
    (void)state;
    expect(&(struct sources){"harness/base",
                             {{"a.h", "#ifndef A\n#define A\n#include \"harness/base/b.h\"\n#endif\n"},
                              {"b.h", "#ifndef B\n#define B\n#include \"harness/base/a.h\"\n#endif\n"},
                              {"a.c", "#include \"harness/base/a.h\"\nint x;\n"}}},
           1,
           "harness/base/a.h:1: a circle of includes: harness/base/a.h -> harness/base/b.h -> harness/base/a.h; move "
           "what both sides need into a file that knows neither\n");
}

/* What is listed may stand, other circles of the folder may not; and what is listed must be there. */
static void the_list_holds_what_it_names(void **state)
{
    static const char register_source[] = "void a(void); void estimate(void) { a(); }\n";
    (void)state;
    const struct sources listed = {
        "harness/estimate",
        {{"estimate.c", register_source}, {"a.c", "void estimate(void); void a(void) { estimate(); }\n"}}};
    expect(&listed, 0, "");
    struct text said = checked(&listed, "--count", 0);
    assert_string_equal(text_string(&said), "harness/estimate: 1 circle, 2 files in it\n");
    text_release(&said);
    expect(&(struct sources){"harness/estimate",
                             {{"estimate.c", register_source},
                              {"a.c", "void estimate(void); void b(void); void a(void) { estimate(); b(); }\n"},
                              {"b.c", "void a(void); void b(void) { a(); }\n"}}},
           1,
           "harness/estimate/a.c:1: a circle of calls: harness/estimate/a.c -> harness/estimate/b.c (b) -> "
           "harness/estimate/a.c (a); move what both sides need into a file that knows neither\n");
    expect(&(struct sources){"harness/estimate", {{"estimate.c", register_source}, {"a.c", "void a(void) {}\n"}}}, 1,
           "harness/estimate/estimate.c:1: no circle goes through it any more; take it from the list in "
           "ci/check-circles.awk\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_one_way),
        cmocka_unit_test(tables_and_variables_count),
        cmocka_unit_test(names_of_ones_own_are_none),
        cmocka_unit_test(includes_go_one_way),
        cmocka_unit_test(the_list_holds_what_it_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
