/* assay calibrate --law and assay estimate --calibration, over the committed points and records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

#define HOST_POINTS "results/laws/host-points.tsv"
#define LAW         "results/laws/inference-overhead.json"
#define HOST        "results/reference/host-intel-r-xeon-r-processor"

static char folder[] = "/tmp/assay-law-XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static const char *below(const char *name)
{
    static char paths[4][256];
    static int next = 0;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

/* A table that --points has written gives the same law as the records that it came from. */
static void points_stand_for_their_records(void **state)
{
    (void)state;
    const char *table = below("points.tsv");
    const char *const from_records[] = {
        HOST_POINTS,   HOST "/league", HOST "/weights-rule", "--law", "inference-overhead",
        "--resamples", "10",           "--points",           table,   NULL};
    const char *const from_table[] = {table, "--law", "inference-overhead", "--resamples", "10", NULL};
    struct command_result records = command_named("calibrate", from_records);
    struct command_result points = command_named("calibrate", from_table);
    assert_int_equal(records.exit_code, 0);
    assert_int_equal(points.exit_code, 0);
    /* The second line of either says how many cases were read; what follows is the same. */
    const char *lead = "errors: predicted";
    assert_string_equal(strstr(text_string(&records.output), lead), strstr(text_string(&points.output), lead));
    command_result_release(&records);
    command_result_release(&points);
}

/* Constants are of one device and few cases; laws are of whatever was measured, a folder a night. */
static void a_law_takes_more_records_than_constants(void **state)
{
    const char *options[16] = {NULL};
    (void)state;
    for (int at = 0; at < 11; at++) {
        options[at] = HOST_POINTS;
    }
    command_refused(command_named("calibrate", options),
                    "calibrate: 11 RECORDS; constants are made of 1 to 10 (a law of any number: --law)");
    options[11] = "--law";
    options[12] = "inference-overhead";
    options[13] = "--resamples";
    options[14] = "0";
    struct command_result result = command_named("calibrate", options);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output,
                 "3116 of 34276 cases count; left out: 31160 the same as another case, figure for figure\n");
    command_result_release(&result);
}

static void residuals_are_drawn(void **state)
{
    (void)state;
    command_needed("gnuplot");
    const char *const options[] = {HOST_POINTS, "--law",   "inference-overhead", "--resamples",
                                   "0",         "--plots", below("plots"),       NULL};
    struct command_result result = command_named("calibrate", options);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "");
    assert_int_equal(access(below("plots/law.svg"), R_OK), 0);
    assert_int_equal(access(below("plots/law.png"), R_OK), 0);
    command_result_release(&result);
}

static void the_other_laws_are_told(void **state)
{
    (void)state;
    const char *const optimizer[] = {HOST "/league", "--law", "optimizer", "--output", below("optimizer.json"), NULL};
    struct command_result result = command_named("calibrate", optimizer);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "  16  adam in float32, weights, gradients, states: holds\n");
    command_result_release(&result);
    const char *const constants[] = {HOST "/calibrate", "--law", "device-constants", NULL};
    result = command_named("calibrate", constants);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "footprint = context + segments + growth of the mode, on host ");
    command_result_release(&result);
    /* Another law than estimate uses. */
    const char *const estimate[] = {"gpt2", "--mode", "infer", "--calibration", below("optimizer.json"), NULL};
    command_refused(command_named("estimate", estimate),
                    "optimizer.json: it is the law 'optimizer'; cases are estimated by inference-overhead");
}

static struct text file_text(const char *path)
{
    struct text text = {0};
    char bytes[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t count = 0; (count = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        text_append_bytes(&text, bytes, count);
    }
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Without --format the law is printed, and --output keeps it as JSON; with it the page is what --output keeps. */
static void laws_are_written_in_every_format(void **state)
{
    static const struct {
        const char *format, *says;
    } pages[] = {{"table", "overhead of inference: "},
                 {"md", "# Law of the overhead of inference\n"},
                 {"html", "<svg"},
                 {"latex", "\\toprule"},
                 {"csv", "part,kind,target,"},
                 {"json", "\"assay-law\""}};
    (void)state;
    command_needed("gnuplot");
    for (size_t at = 0; at < sizeof pages / sizeof pages[0]; at++) {
        const char *path = below("page");
        const char *const options[] = {HOST_POINTS, "--law",          "inference-overhead", "--resamples", "0",
                                       "--format",  pages[at].format, "--output",           path,          NULL};
        struct command_result result = command_named("calibrate", options);
        assert_int_equal(result.exit_code, 0);
        assert_string_equal(text_string(&result.output), "");
        command_result_release(&result);
        struct text page = file_text(path);
        command_says(&page, pages[at].says);
        text_release(&page);
    }
    /* The last page is the law that estimate reads. */
    const char *const estimate[] = {"gpt2", "--mode", "infer", "--for", "host", "--calibration", below("page"), NULL};
    struct command_result result = command_named("estimate", estimate);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "law of the calibration, gpt2 on host (assay): 198 cases of 8 models\n");
    command_result_release(&result);
    const char *const optimizer[] = {HOST "/league", "--law", "optimizer", "--format", "md", NULL};
    result = command_named("calibrate", optimizer);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "| sgd-momentum | float32 | 2 | 2 | 4.00 | 4.00 | 4.00 | 0.00 | 12.00 |");
    command_result_release(&result);
    const char *const constants[] = {HOST "/calibrate", "--law", "device-constants", "--format", "csv", NULL};
    result = command_named("calibrate", constants);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "of,level,median_bytes,min_bytes,max_bytes,readings,confidence\r\ncontext,process,");
    command_result_release(&result);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    const char *const unknown[] = {HOST, "--law", "thermodynamics", NULL};
    command_refused(command_named("calibrate", unknown), "calibrate: --law thermodynamics is not known; write "
                                                         "inference-overhead, optimizer or device-constants");
    const char *const alone[] = {HOST, "--seed", "3", NULL};
    command_refused(command_named("calibrate", alone),
                    "calibrate: --seed belongs to --law; add --law inference-overhead");
    const char *const page[] = {HOST, "--format", "md", NULL};
    command_refused(command_named("calibrate", page), "calibrate: --format belongs to --law");
    const char *const format[] = {HOST, "--law", "optimizer", "--format", "junit", NULL};
    command_refused(command_named("calibrate", format), "calibrate: --format");
    const char *const foreign[] = {HOST, "--law", "optimizer", "--plots", "x", NULL};
    command_refused(command_named("calibrate", foreign),
                    "calibrate: --plots belongs to --law inference-overhead; leave it out");
    const char *const many[] = {HOST, "--law", "inference-overhead", "--resamples", "10001", NULL};
    command_refused(command_named("calibrate", many), "--resamples");
    const char *const few[] = {HOST, "--law", "inference-overhead", "--filter", "gpt2/infer/*", NULL};
    command_refused(command_named("calibrate", few), "no kind of model has 3 models of its own");
    const char *const missing[] = {"/no/such/folder", "--law", "optimizer", NULL};
    struct command_result result = command_named("calibrate", missing);
    assert_int_not_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* Peaks that are 100 MB higher in another table: neither of the two is taken without a word. */
static void tables_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    char change[256];
    const char *path = below("higher.tsv"), *law = below("never.json");
    snprintf(change, sizeof change, "awk -F'\\t' -v OFS='\\t' 'NR > 2 { $24 += 1e8; $25 = \"-\" } 1' %s >%s",
             HOST_POINTS, path);
    struct command_result result = command_run((const char *const[]){"sh", "-c", change, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    const char *const both[] = {HOST_POINTS, path, "--law", "inference-overhead", "--output", law, NULL};
    command_refused(command_named("calibrate", both),
                    "3116 cases were measured with peaks that differ by more than 5 %");
    assert_int_not_equal(access(law, F_OK), 0);
}

static void points_are_not_written_over(void **state)
{
    (void)state;
    const char *path = below("kept.tsv");
    struct command_result result = command_run((const char *const[]){"cp", HOST_POINTS, path, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    const char *const output[] = {path, "--law", "inference-overhead", "--output", path, NULL};
    command_refused(command_named("calibrate", output), "is what is read here; name another file");
    const char *const points[] = {path, "--law", "inference-overhead", "--points", path, NULL};
    command_refused(command_named("calibrate", points), "is what is read here; name another file");
    result = command_run((const char *const[]){"cmp", HOST_POINTS, path, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void estimate_uses_a_law_and_warns_outside_of_it(void **state)
{
    (void)state;
    const char *const inside[] = {"gpt2", "--mode", "infer", "--for",         "host", "--batch",
                                  "4",    "--seq",  "128",   "--calibration", LAW,    NULL};
    struct command_result result = command_named("estimate", inside);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "");
    command_says(&result.output, "law of the calibration, gpt2 on host (assay): 198 cases of 8 models\n");
    command_says(&result.output, "the highest moment is logits");
    command_result_release(&result);
    const char *const outside[] = {"gpt2-xl", "--mode", "infer", "--for",         "host", "--batch",
                                   "64",      "--seq",  "128",   "--calibration", LAW,    NULL};
    result = command_named("estimate", outside);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.error, "gpt2-xl/infer/float32/b64/s128 is outside of what the law was fitted to: ");
    command_says(&result.error, "batch is 64, fitted to 1 to 8; ");
    command_says(&result.error, "hidden is 1600, fitted to ");
    command_result_release(&result);
    /* Either was measured, both at once were not. */
    const char *const together[] = {"gpt2", "--mode", "infer", "--for",         "host", "--batch",
                                    "8",    "--seq",  "1024",  "--calibration", LAW,    NULL};
    result = command_named("estimate", together);
    assert_string_equal(text_string(&result.error),
                        "assay: estimate: warning: " LAW ": gpt2/infer/float32/b8/s1024 is outside of what the law was "
                        "fitted to: tokens is 8192, fitted to 32 to 1056\n");
    command_result_release(&result);
    /* Borrowed: the coefficients of the host, and the workspaces of an H100. */
    const char *const borrowed[] = {"gpt2", "--mode", "infer", "--for",         "sm_90", "--batch",
                                    "4",    "--seq",  "128",   "--calibration", LAW,     NULL};
    result = command_named("estimate", borrowed);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output,
                 "law of the calibration, gpt2 on sm_90 (pytorch)\n"
                 "  coefficients and ranges of host (assay), 198 cases of 8 models; 18 cases of 2 models here\n");
    command_says(&result.output, "    workspaces and allocator ");
    command_result_release(&result);
    const char *const other[] = {"gpt2", "--mode", "infer", "--for", "sm_70", "--calibration", LAW, NULL};
    command_refused(command_named("estimate", other),
                    "the law has no coefficients for gpt2 on sm_70; it has this kind on host, sm_90 ");
    const char *const train[] = {"gpt2", "--mode", "train", "--for", "host", "--calibration", LAW, NULL};
    command_refused(command_named("estimate", train), "the law is for inference; write --mode infer or generate");
}

static const char *changed_law(const char *script)
{
    const char *path = below("changed.json");
    struct command_result result = command_run((const char *const[]){"sed", script, LAW, NULL}, NULL);
    FILE *file = fopen(path, "w");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(file);
    assert_true(fputs(text_string(&result.output), file) >= 0);
    assert_int_equal(fclose(file), 0);
    command_result_release(&result);
    return path;
}

/* A case does not say which of several programs it is of: neither is taken without a word. */
static void a_law_of_several_programs_is_refused(void **state)
{
    (void)state;
    const char *path = changed_law("s/\"target\": \"sm_90\"/\"target\": \"host\"/");
    const char *const kind[] = {"gpt2", "--mode", "infer", "--for", "host", "--calibration", path, NULL};
    command_refused(command_named("estimate", kind),
                    "it has coefficients for gpt2 on host of several programs (assay, pytorch); write a law of one of "
                    "them: assay calibrate with the records of that program alone");
    const char *const alone[] = {"tiny-qwen2-moe", "--mode", "infer", "--for", "host", "--calibration", path, NULL};
    command_refused(command_named("estimate", alone), "it has contexts on host of several programs (assay, pytorch); ");
    /* The context of its own program is taken, whatever others there are. */
    path = changed_law("/\"contexts\"/,/\"kinds\"/s/\"target\": \"sm_90\"/\"target\": \"host\"/");
    const char *const own[] = {"gpt2", "--mode", "infer", "--for", "host", "--calibration", path, NULL};
    struct command_result result = command_named("estimate", own);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, " beside them (assay: 2774 cases of 146 models)\n");
    command_result_release(&result);
}

/* What is asked for is said in every format, and of lists too. */
static void the_law_is_said_in_markdown_and_of_lists(void **state)
{
    (void)state;
    const char *const page[] = {"gpt2",  "--mode", "infer",         "--for", "sm_90",    "--batch", "64",
                                "--seq", "128",    "--calibration", LAW,     "--format", "md",      NULL};
    struct command_result result = command_named("estimate", page);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output,
                 "\nLaw of the calibration, gpt2 on sm\\_90 (pytorch): coefficients and ranges of host, 198 cases of 8 "
                 "models; 18 cases of 2 models here.\n\n| law of the calibration | size | bytes |\n|---|--:|--:|\n"
                 "| allocated\\_bytes\\_peak | ");
    command_says(&result.output, "\n\nOutside of what the law was fitted to:\n\n- batch is 64, fitted to 1 to 8\n");
    command_result_release(&result);
    const char *const list[] = {"gpt2", "--mode", "infer", "--for",         "host", "--batch",
                                "1,4",  "--seq",  "128",   "--calibration", LAW,    NULL};
    result = command_named("estimate", list);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "   allocated    reserved      by law   footprint  peak in   case\n");
    const char *row = strstr(text_string(&result.output), "gpt2/infer/float32/b4/s128\n");
    const char *const one[] = {"gpt2", "--mode", "infer", "--for",         "host", "--batch",
                               "4",    "--seq",  "128",   "--calibration", LAW,    NULL};
    struct command_result single = command_named("estimate", one);
    char size[32], figure[64];
    const char *law = strstr(strstr(text_string(&single.output), "law of the calibration"), "allocated_bytes_peak");
    assert_int_equal(sscanf(law, "allocated_bytes_peak %31[^ ]", size), 1);
    snprintf(figure, sizeof figure, " %s MiB ", size);
    assert_non_null(row);
    const char *found = strstr(strstr(text_string(&result.output), "/b1/s128\n"), figure);
    assert_true(found != NULL && found < row);
    command_result_release(&single);
    command_result_release(&result);
    const char *const rows[] = {"gpt2",  "--mode", "infer",         "--for", "host",     "--batch", "1,4",
                                "--seq", "128",    "--calibration", LAW,     "--format", "md",      NULL};
    result = command_named("estimate", rows);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "| allocated by the law | footprint by the law | peak in |\n");
    command_result_release(&result);
}

/* A law is a file from somebody else: the numbers in it may be any, and its words too. */
static void a_law_that_gives_no_peak_is_refused(void **state)
{
    static const char *const values[] = {"1e300", "-1e6", "-1e300"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char change[128];
        const char *path = below("no-peak.json");
        snprintf(change, sizeof change, "sed 's/\"value\": [-0-9.e+]*/\"value\": %s/' %s >%s", values[i], LAW, path);
        struct command_result result = command_run((const char *const[]){"sh", "-c", change, NULL}, NULL);
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
        const char *const estimate[] = {"gpt2", "--mode", "infer", "--for", "host", "--calibration", path, NULL};
        command_refused(command_named("estimate", estimate), "of weights, which is no peak; fit the law again");
    }
    char change[256];
    const char *path = below("words.json");
    snprintf(change, sizeof change, "sed 's/\"float32\"/\"\\\\u001b[31m\"/' %s >%s", LAW, path);
    struct command_result result = command_run((const char *const[]){"sh", "-c", change, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    const char *const estimate[] = {"gpt2", "--mode", "infer", "--for", "host", "--calibration", path, NULL};
    result = command_named("estimate", estimate);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.error, "precision is float32, fitted to ?[31m");
    assert_null(strchr(text_string(&result.error), '\x1b'));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_stand_for_their_records),
        cmocka_unit_test(a_law_takes_more_records_than_constants),
        cmocka_unit_test(residuals_are_drawn),
        cmocka_unit_test(tables_that_contradict_each_other_are_refused),
        cmocka_unit_test(laws_are_written_in_every_format),
        cmocka_unit_test(points_are_not_written_over),
        cmocka_unit_test(a_law_that_gives_no_peak_is_refused),
        cmocka_unit_test(the_other_laws_are_told),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(estimate_uses_a_law_and_warns_outside_of_it),
        cmocka_unit_test(a_law_of_several_programs_is_refused),
        cmocka_unit_test(the_law_is_said_in_markdown_and_of_lists),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
