/* What is shown of the committed results is what ci/reference.sh makes of them, and a device that is added is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"

static struct command_result shell(const char *command, const char *folder)
{
    const char *const words[] = {"sh", "-c", command, "sh", folder, program_path(), NULL};
    return command_run(words, NULL);
}

static void expect(const char *command, const char *folder, int exit_code, const char *part)
{
    struct command_result result = shell(command, folder);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), part) == NULL) {
        fail_msg("%s: exit code %d, printed: %s%s", command, result.exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    command_result_release(&result);
}

static void the_page_is_that_of_the_committed_records(void **state)
{
    (void)state;
    expect("ci/reference.sh --assay \"$2\" --check", "", 0, "");
}

/* Columns and baselines that are shown are explained beside the table. */
static void the_table_of_the_readme_explains_itself(void **state)
{
    (void)state;
    expect("sed -n '/^<!-- reference results/,/^<!-- end of the reference/p' README.md", "", 0, " | common |\n");
    expect("sed -n '/^<!-- reference results/,/^<!-- end of the reference/p' README.md", "", 0,
           " cases that every ranked estimator answers");
    expect("sed -n 's/^| [^|]*| \\(.*\\) \\\\\\* |.*/\\1/p' README.md | sort | while read -r name; do"
           " grep -q \"^- $name: .\" README.md && echo \"$name\"; done | xargs",
           "", 0, "affine tensors affine weights two-point batch");
}

/* A repository of its own: the committed results, and a GPU that does not exist with the records of a run of the
 * fixture's kind in its folder. */
static void a_device_that_is_added_is_shown(void **state)
{
    (void)state;
    command_needed("gnuplot");
    command_needed("git");
    char folder[] = "/tmp/assay reference XXXXXX";
    assert_non_null(mkdtemp(folder));
    expect("mkdir \"$1/docs\" \"$1/results\" \"$1/run\" && cp README.md \"$1\" && cp docs/REFERENCE.md \"$1/docs\" &&"
           " mkdir \"$1/results/reference\" && \"$2\" run suites/selftest.yaml --filter right --device host"
           " --out \"$1/run\" --records-only >/dev/null 2>&1 &&"
           " sed -i 's/\"kind\": \"host\", \"name\": \"[^\"]*\"/\"kind\": \"cuda\", \"name\": \"NVIDIA Nothing (9)\"/'"
           " \"$1/run/records.jsonl\"",
           folder, 0, "");
    static const char add[] = "ci/reference.sh --assay \"$2\" --root \"$1\" --add \"$1/run\"";
    static const char check[] = "ci/reference.sh --assay \"$2\" --root \"$1\" --check";
    /* records of a revision that nobody has are not shown as a reference */
    struct command_result refused = shell(add, folder);
    assert_int_equal(refused.exit_code, 2);
    command_says(&refused.error, "which this repository does not have");
    command_result_release(&refused);
    expect("test ! -e \"$1/results/reference/nvidia-nothing-9\" && cd \"$1\" && git init -q && git add README.md &&"
           " git -c user.name=a -c user.email=a@b commit -qm a && revision=$(git rev-parse --short HEAD) &&"
           " sed -i \"s/\\\"revision\\\": \\\"[^\\\"]*\\\"/\\\"revision\\\": \\\"$revision\\\"/\" run/records.jsonl",
           folder, 0, "");
    expect(add, folder, 0, "results/reference/nvidia-nothing-9/records.jsonl");
    expect("cat \"$1/docs/REFERENCE.md\"", folder, 0, "\n## nvidia-nothing-9\n");
    expect("cat \"$1/docs/REFERENCE.md\"", folder, 0, "\nok      102.00 KiB   +0.00 % ");
    expect("cat \"$1/README.md\"", folder, 0, "| [NVIDIA Nothing (9)](docs/REFERENCE.md#nvidia-nothing-9) |");
    expect("cat \"$1/README.md\"", folder, 0, "\n[<img src=\"results/reference/nvidia-nothing-9/plots/accuracy.svg\" ");
    expect(check, folder, 0, "");
    expect("sed -i 's/\"allocated_bytes_peak\": 104448/\"allocated_bytes_peak\": 114688/g'"
           " \"$1/results/reference/nvidia-nothing-9/records.jsonl\"",
           folder, 0, "");
    expect(check, folder, 1, "docs/REFERENCE.md is not made from the records; run ci/reference.sh");
    expect("rm -r \"$1\"", folder, 0, "");
}

/* Sums of all that could be lost: what a failure must leave as it is. */
#define SUMS "(cd \"$1\" && find . -name run -prune -o -type f -exec cksum {} + | sort)"

/* No gnuplot, no room, no awk: what was there stays, whole, and the exit code says so. */
static void a_failure_leaves_what_was_there(void **state)
{
    static const char *const failures[] = {
        "mkdir -p \"$1/run/bin\" && printf '#!/bin/sh\\nexit 1\\n' >\"$1/run/bin/gnuplot\" && "
        "chmod +x \"$1/run/bin/gnuplot\" && PATH=\"$1/run/bin:$PATH\" ci/reference.sh --assay \"$2\" --root \"$1\"",
        "ulimit -f 4 && ci/reference.sh --assay \"$2\" --root \"$1\"",
        "mkdir -p \"$1/run/awk\" && printf '#!/bin/sh\\nexit 1\\n' >\"$1/run/awk/awk\" && "
        "chmod +x \"$1/run/awk/awk\" && PATH=\"$1/run/awk:$PATH\" ci/reference.sh --assay \"$2\" --root \"$1\"",
    };
    (void)state;
    command_needed("gnuplot");
    char folder[] = "/tmp/assay reference XXXXXX";
    assert_non_null(mkdtemp(folder));
    expect("mkdir \"$1/docs\" \"$1/results\" \"$1/run\" && cp README.md \"$1\" && cp docs/REFERENCE.md \"$1/docs\" &&"
           " cp -r results/reference \"$1/results\" && rm -r \"$1\"/results/reference/*/*/ && "
           "\"$2\" run suites/selftest.yaml --filter right --device host --out \"$1/results/reference/other\""
           " --records-only >/dev/null 2>&1 && ci/reference.sh --assay \"$2\" --root \"$1\" && " SUMS
           ">\"$1/run/before\"",
           folder, 0, "");
    /* so that there is something to write anew */
    expect("sed -i 's/\"allocated_bytes_peak\": 104448/\"allocated_bytes_peak\": 114688/g'"
           " \"$1/results/reference/other/records.jsonl\" && " SUMS ">\"$1/run/before\"",
           folder, 0, "");
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        struct command_result result = shell(failures[i], folder);
        assert_int_not_equal(result.exit_code, 0);
        command_result_release(&result);
        expect(SUMS " | diff \"$1/run/before\" -", folder, 0, "");
    }
    expect("rm -r \"$1\"", folder, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_that_of_the_committed_records),
        cmocka_unit_test(the_table_of_the_readme_explains_itself),
        cmocka_unit_test(a_device_that_is_added_is_shown),
        cmocka_unit_test(a_failure_leaves_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
