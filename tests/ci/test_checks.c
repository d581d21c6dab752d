/* The checks of ci/ are fed sources that break each rule, and must find every breach and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* A repository in a folder of its own with one source file in it; removed by tree_remove. */
struct tree {
    char root[32];
    char path[128];
};

static void folders_make(const char *root, const char *path)
{
    char folder[256];
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%s/%.*s", root, (int)(slash - path), path);
        mkdir(folder, 0700);
    }
}

static void file_add(struct tree *tree, const char *path, const char *source)
{
    folders_make(tree->root, path);
    snprintf(tree->path, sizeof tree->path, "%s/%s", tree->root, path);
    FILE *file = fopen(tree->path, "w");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
}

static struct tree tree_make(const char *path, const char *source)
{
    struct tree tree = {.root = "/tmp/assay-tree-XXXXXX"};
    assert_non_null(mkdtemp(tree.root));
    file_add(&tree, path, source);
    return tree;
}

static void tree_remove(const struct tree *tree)
{
    assert_int_equal(scratch_folder_remove(tree->root), 0);
}

static void expect(const char *script, const char *path, const char *source, int exit_code, const char *message)
{
    struct tree tree = tree_make(path, source);
    const char *const words[] = {script, tree.root, NULL};
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), message) == NULL) {
        print_error("%s on %s: exit %d, printed: %s\n", script, source, result.exit_code, text_string(&result.output));
    }
    assert_int_equal(result.exit_code, exit_code);
    assert_non_null(strstr(text_string(&result.output), message));
    if (exit_code == 0) {
        assert_string_equal(text_string(&result.output), "");
    }
    command_result_release(&result);
    tree_remove(&tree);
}

static const char includes[] = "ci/check-includes.sh";
static const char lengths[] = "ci/check-lengths.sh";

static void includes_must_point_down(void **state)
{
    (void)state;
    expect(includes, "harness/base/a.c", "\n#include \"harness/tape/tape.h\"\n", 1,
           "harness/base/a.c:2: base includes tape, which is not below it");
    expect(includes, "harness/suite/a.c", "#include \"harness/memory/ledger.h\"\n", 1, "suite includes memory");
    expect(includes, "models/config/a.h", "#include \"harness/device/device.h\"\n", 1, "models includes device");
    expect(includes, "harness/attic/a.c", "#include \"harness/base/text.h\"\n", 1, "attic has no floor");
    expect(includes, "harness/base/a.c", "#include \"text.h\"\n", 1, "not a path from the repository's root");
    expect(includes, "harness/tape/a.c", "#include \"harness/base/text.h\"\n#include \"harness/tape/b.h\"\n", 0, "");
    expect(includes, "tests/base/a.c", "#include \"harness/cli/command.h\"\n", 0, "");
}

static void rooms_of_models_stand_on_each_other(void **state)
{
    (void)state;
    expect(includes, "models/a.c", "int x;\n", 1, "models/a.c:1: models/a.c is not in a room of models/");
    expect(includes, "models/attic/a.c", "int x;\n", 1, "models/attic is not in a room of models/");
    expect(includes, "models/forward/a.c", "#include \"models/family/family_table.h\"\n", 1,
           "models/forward includes models/family, which is not below it");
    expect(includes, "models/family/a.c", "#include \"models/forward/forward.h\"\n", 0, "");
    expect(includes, "models/workload/a.c", "#include \"models/workload/b.h\"\n", 0, "");
    expect(includes, "models/workload/a.c", "#include \"harness/hub/hub.h\"\n", 1,
           "files and the network are for models/find alone");
    expect(includes, "models/family/a.c", "#include \"harness/checkpoint/checkpoint.h\"\n", 1, "for models/find alone");
    expect(includes, "models/config/a.c", "void f(void) { fopen(0, 0); }\n", 1, "fopen reads files");
    expect(includes, "models/config/a.c", "void f(void) { tape_frame_open(0); }\n", 0, "");
    expect(includes, "models/find/a.c", "#include \"harness/hub/hub.h\"\nvoid f(void) { fopen(0, 0); }\n", 0, "");
}

static void outside_libraries_have_one_door(void **state)
{
    (void)state;
    expect(includes, "harness/suite/a.c", "#include <jansson.h>\n", 1, "outside its one door");
    expect(includes, "harness/base/a.c", "#include <yaml.h>\n", 1, "outside its one door");
    expect(includes, "harness/run/a.c", "#include <hwloc.h>\n", 1, "outside its one door");
    expect(includes, "harness/device/host.c", "#include <cuda_runtime_api.h>\n", 1, "outside its one door");
    expect(includes, "harness/base/a.c", "#include <cmocka.h>\n", 1, "outside its one door");
    expect(includes, "harness/base/json.c", "#include <jansson.h>\n", 0, "");
    expect(includes, "harness/suite/a.c", "#include <yaml.h>\n", 0, "");
    expect(includes, "harness/kernels/a.cu", "#include <cuda_runtime.h>\n", 0, "");
}

static void only_the_command_line_prints_and_exits(void **state)
{
    (void)state;
    expect(includes, "harness/run/a.c", "void f(void) { exit(1); }\n", 1, "a.c:1: exit is for harness/cli alone");
    expect(includes, "models/find/a.c", "\n\nvoid f(void) { printf(\"x\"); }\n", 1, "a.c:3: printf is for harness/cli");
    expect(includes, "harness/base/a.c", "int f(void) { return fflush(stdout); }\n", 1, "stdout is for harness/cli");
    expect(includes, "harness/cli/a.c", "int f(void) { return system(\"ls\"); }\n", 1, "system is not used here");
    expect(includes, "harness/base/a.c", "/* exit(1)\n * printf( */\nint x; // puts(x)\n", 0, "");
    expect(includes, "harness/base/a.c", "static const char *text = \"a \\\" exit(1)\";\n", 0, "");
    expect(includes, "harness/base/a.c", "void f(char *b) { snprintf(b, 1, \"\"); on_exit_do(b); }\n", 0, "");
    expect(includes, "harness/cli/a.c", "void f(void) { printf(\"x\"); exit(1); }\n", 0, "");
}

/* A function of the given number of lines, first line and closing brace included. */
static char *function_of_lines(int lines)
{
    struct text text = {0};
    text_append(&text, "/* A file. */\nvoid f(void)\n{\n");
    for (int i = 0; i < lines - 3; i++) {
        text_append(&text, "    ;\n");
    }
    text_append(&text, "}\n");
    return text.data;
}

static void files_and_functions_have_a_length(void **state)
{
    (void)state;
    char *longest = function_of_lines(69);
    char *too_long = function_of_lines(70);
    struct text lines = {0};
    text_append(&lines, "/* A file. */\n");
    for (int i = 1; i < 499; i++) {
        text_append(&lines, "int x;\n");
    }
    expect(lengths, "harness/base/a.c", longest, 0, "");
    expect(lengths, "harness/base/a.c", too_long, 1, "a function of 70 lines");
    expect(lengths, "harness/base/a.c", text_string(&lines), 0, "");
    text_append(&lines, "int x;\n");
    expect(lengths, "harness/base/a.c", text_string(&lines), 1, "a.c:500: 500 lines or more");
    expect(lengths, "harness/base/a.c", "int x;\n", 1, "does not open with a comment");
    free(longest);
    free(too_long);
    text_release(&lines);
}

/* A tree with a file whose second line begins like that and has so many columns. */
static void line_expect(const char *path, const char *begin, int columns, int exit_code)
{
    struct tree tree = tree_make("harness/base/z.c", "/* A file. */\n");
    struct text file = {0}, message = {0};
    const char *const words[] = {lengths, tree.root, NULL};
    text_format(&file, "%s\n%s ", begin[0] == '/' ? "/* A file. */" : "#", begin);
    for (int i = (int)strlen(begin) + 1; i < columns; i++) {
        text_append(&file, "\xC3\xA9"); /* one column of two bytes */
    }
    text_append(&file, "\n");
    file_add(&tree, path, text_string(&file));
    text_format(&message, "%s:2: a line of %d columns; 120 are the most\n", path, columns);
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.output), exit_code == 0 ? "" : text_string(&message));
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
    text_release(&message);
    text_release(&file);
    tree_remove(&tree);
}

static void lines_have_a_width(void **state)
{
    static const struct {
        const char *path, *begin;
    } checked[] = {{"models/a.c", "//"},   {"harness/kernels/a.cu", "//"},
                   {"tests/a.cpp", "//"},  {"ci/a.sh", "#"},
                   {"ci/a.awk", "#"},      {"Makefile", "#"},
                   {"suites/a.yaml", "#"}, {"tests/attack/quick/a.sh", "#"}};
    (void)state;
    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; i++) {
        line_expect(checked[i].path, checked[i].begin, 120, 0);
        line_expect(checked[i].path, checked[i].begin, 121, 1);
    }
    /* Markdown and data are as wide as they are. */
    line_expect("ci/a.md", "#", 400, 0);
    line_expect("tests/cli/data/a.yaml", "#", 400, 0);
}

/* Two files with the opening comment and nothing else. */
static void names_expect(const char *first, const char *second, int exit_code, const char *message)
{
    struct tree tree = tree_make(first, "/* A file. */\n");
    file_add(&tree, second, "/* Another file. */\n");
    const char *const words[] = {lengths, tree.root, NULL};
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.output), message);
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
    tree_remove(&tree);
}

static void a_name_stands_in_one_folder(void **state)
{
    (void)state;
    names_expect("harness/base/a.c", "harness/tape/a.c", 1,
                 "harness/tape/a.c:1: harness/base has a file of this name too; give one of them a name that says what "
                 "sets it apart\n");
    names_expect("harness/device/a.h", "harness/device/cuda/a.cu", 1,
                 "harness/device/cuda/a.cu:1: harness/device has a file of this name too; give one of them a name that "
                 "says what sets it apart\n");
    names_expect("harness/base/a.h", "models/a.cuh", 1,
                 "models/a.cuh:1: harness/base has a file of this name too; give one of them a name that says what "
                 "sets it apart\n");
    names_expect("harness/base/a.c", "harness/base/a.h", 0, "");
    names_expect("harness/kernels/a.cu", "harness/kernels/a.h", 0, "");
    names_expect("harness/base/a.c", "harness/tape/a_b.c", 0, "");
    names_expect("harness/base/a.c", "tests/base/a.c", 0, ""); /* tests stand beside what they test */
}

static void checks_of_nothing_do_not_pass(void **state)
{
    (void)state;
    struct tree tree = tree_make("elsewhere/a.c", "int x;\n");
    const char *const scripts[] = {includes, lengths};
    for (size_t i = 0; i < 2; i++) {
        const char *const words[] = {scripts[i], tree.root, NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 2);
        command_result_release(&result);
    }
    tree_remove(&tree);
}

/* In a tree with one file that gcc warns of, and a clang that does not. */
static int warnings_check(const struct tree *tree, const char *prepare)
{
    char command[512];
    snprintf(
        command, sizeof command,
        "script=$PWD/ci/check-warnings.sh; cd %s && mkdir -p models tests bin && ln -sf /bin/true bin/clang && %s && "
        "PATH=$PWD/bin:$PATH exec \"$script\" build/obj",
        tree->root, prepare);
    struct command_result result = command_run((const char *[]){"sh", "-c", command, NULL}, NULL);
    int exit_code = result.exit_code;
    command_result_release(&result);
    return exit_code;
}

static void what_a_strict_build_has_compiled_is_not_compiled_again(void **state)
{
    (void)state;
    static const char object[] = "mkdir -p build/obj/harness/base && touch -d %s build/obj/harness/base/a.o";
    struct tree tree =
        tree_make("harness/base/a.c", "int f(void);\nint f(void)\n{\n    long x = 1;\n    return x;\n}\n");
    char newer[128], older[128];
    snprintf(newer, sizeof newer, object, "tomorrow");
    snprintf(older, sizeof older, object, "yesterday");
    assert_int_equal(warnings_check(&tree, "true"), 1);
    assert_int_equal(warnings_check(&tree, older), 1);
    assert_int_equal(warnings_check(&tree, newer), 0);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_strict_build_has_compiled_is_not_compiled_again),
        cmocka_unit_test(includes_must_point_down),
        cmocka_unit_test(rooms_of_models_stand_on_each_other),
        cmocka_unit_test(outside_libraries_have_one_door),
        cmocka_unit_test(only_the_command_line_prints_and_exits),
        cmocka_unit_test(files_and_functions_have_a_length),
        cmocka_unit_test(lines_have_a_width),
        cmocka_unit_test(a_name_stands_in_one_folder),
        cmocka_unit_test(checks_of_nothing_do_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
