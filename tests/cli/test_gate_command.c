/* assay gate as its callers see it: exit codes, options, and what others do to it meanwhile. The nights are the
 * reference records of the host and copies of them in which sed has changed a figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

#define BASE "results/reference/host-intel-r-xeon-r-processor"

static char folder[] = "/tmp/assay-gate-XXXXXX";

/* DIR/NAME/records.jsonl, made of BASE by a filter. */
static void night_make(const char *name, const char *filter)
{
    char command[1024];
    snprintf(command, sizeof command, "mkdir %s/%s && %s " BASE "/records.jsonl >%s/%s/records.jsonl", folder, name,
             filter, folder, name);
    struct command_result result = command_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static int nights_make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    night_make("worse", "sed '/\"gpt2.infer.float32.b1.s128\"/ s/: 524684800,/: 1999999999,/g'");
    night_make("short", "sed '$d'");
    night_make("torn", "sh -c 'head -c -40 \"$0\"'");
    night_make("other", "sed 's/Linux 6.18/Linux 9.18/; s/\"name\": \"Intel(R) Xeon(R) Processor\"/\"name\": "
                        "\"another CPU\"/g'");
    return 0;
}

static int nights_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* In the folder of the nights, where BASE is $base and the program $assay. */
static struct command_result shell(const char *command)
{
    char line[2048], here[512];
    assert_non_null(realpath(".", here));
    snprintf(line, sizeof line,
             "root='%s'; assay=\"$root\"/%s; case '%s' in /*) assay='%s';; esac; base=\"$root/" BASE "\"; cd %s; %s",
             here, program_path(), program_path(), program_path(), folder, command);
    return command_run((const char *const[]){"sh", "-c", line, NULL}, NULL);
}

static void gate_check(const char *options, int exit_code, const char *output, const char *error)
{
    char command[1024];
    snprintf(command, sizeof command, "$assay gate %s", options);
    struct command_result result = shell(command);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), output) == NULL ||
        strstr(text_string(&result.error), error) == NULL) {
        fail_msg("exit code %d:\n%s%s", result.exit_code, text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
}

static void the_exit_code_is_the_verdict(void **state)
{
    (void)state;
    gate_check("$base", 0, "GO: ", "");
    gate_check("$base --baseline $base", 0, "held against the baseline, none beyond its bounds", "");
    gate_check("worse --baseline $base", 1, "NO-GO: 1 of ", "assay: gate: exit code 1: NO-GO: ");
    gate_check("$base --baseline worse", 0, "1 with a warning, 1 of them better", "");
    gate_check("short --baseline $base", 7, "INCOMPLETE: the run was killed or still goes on", "exit code 7");
    gate_check("torn --baseline $base", 7, "INCOMPLETE: ", "exit code 7");
    gate_check("other --baseline $base", 3, "the device differs from that of the baseline", "--allow device");
    gate_check("other --baseline $base --allow device", 0, "GO: ", "");
}

static void several_baselines_are_their_median_in_any_order(void **state)
{
    (void)state;
    gate_check("worse --baseline $base --baseline worse --baseline $base", 1, "the median of 3 runs", "");
    gate_check("worse --baseline median:worse,$base,$base", 1, "NO-GO", "");
    gate_check("worse --baseline worse --baseline $base --baseline worse", 0, "GO", "");
    gate_check("worse --baseline median:worse,,$base", 2, "", "names an empty folder; write median:DIR,DIR");
    gate_check("worse --baseline absent", 2, "", "absent");
    gate_check("absent", 2, "", "absent");
}

static void what_is_wrong_with_options_and_policies_is_said(void **state)
{
    (void)state;
    gate_check("$base --allow kernel", 2, "", "gate: --allow: 'kernel' is nothing that could be allowed");
    gate_check("$base --format csv", 2, "", "gate: --format: 'csv' is not a format of a gate; use table");
    gate_check("$base --json --format md", 2, "", "leave --format md out");
    gate_check("$base --rows -1", 2, "", "--rows");
    gate_check("$base --policy absent.yaml", 2, "", "absent.yaml");
    struct command_result result = shell("printf 'version: 1\\nrules:\\n  - {cases: a, teir: x}\\n' >p.yaml");
    command_result_release(&result);
    gate_check("$base --policy p.yaml", 2, "", "p.yaml:3:16: unknown key 'teir' in a rule; did you mean 'tier'?");
    gate_check("$base --policy p.yaml --format github --summary refused.md", 2,
               "::error file=p.yaml,line=3,col=16,title=nothing was judged::unknown key 'teir' in a rule;",
               "p.yaml:3:16: ");
    result = shell("cat refused.md");
    assert_string_equal(text_string(&result.output),
                        "**Nothing was judged.** p.yaml:3:16: unknown key 'teir' in a rule; did you mean 'tier'?\n");
    command_result_release(&result);
    gate_check("absent --format github", 2, "::error title=nothing was judged::", "absent");
    gate_check("worse --baseline absent --summary worse/records.jsonl", 2, "", "name another");
    gate_check("worse", 0, "GO: ", ""); /* its records are whole */
    result = shell("sed 's/^  # - cases: exp/  - cases: exp/; s/^  #   tier: adv/    tier: adv/' $root/ci/policy.yaml "
                   ">copied.yaml; $assay gate $base --baseline $base --policy $root/ci/policy.yaml | grep -c matches");
    assert_string_equal(text_string(&result.output), "0\n"); /* a copy of it says nothing each night */
    command_result_release(&result);
    gate_check("$base --baseline $base --policy copied.yaml", 0, "rule of line 11 matches no figure", "");
}

static void pages_go_to_files_and_a_summary_is_appended(void **state)
{
    (void)state;
    gate_check("worse --baseline $base --format json --output page.json", 1, "", "NO-GO");
    gate_check("worse --baseline $base --summary summary.md --format github", 1, "::error file=", "");
    struct command_result quiet = shell("$assay gate worse --baseline $base --format github");
    assert_string_equal(text_string(&quiet.error), ""); /* a name in it could be a command of the runner */
    command_result_release(&quiet);
    gate_check("worse --baseline $base --summary summary.md --format md --output -x.md", 1, "", "exit code 1: NO-GO");
    struct command_result result = shell("grep -c '^# Gate$' summary.md; grep -c outcome page.json; ls");
    command_says(&result.output, "2\n1\n");
    command_result_release(&result);
    gate_check("worse --output /dev/full", 2, "", "/dev/full");
    gate_check("worse --summary /dev/full", 2, "", "/dev/full: cannot be written: No space left on device");
    gate_check("worse >/dev/full", 2, "", "No space left on device");
    gate_check("worse --summary absent/summary.md", 2, "", "absent/summary.md: cannot be written");
}

/* Nights of one run each: the 18th to the 22nd of November. The 20th was killed. */
static void nights_import(void)
{
    struct command_result result =
        shell("printf 'version: 1\\nname: night\\ncases:\\n  - {model: bert-base-cased, mode: load}\\n' >night.yaml; "
              "$assay run night.yaml --device meta --out night >/dev/null 2>&1; "
              "for d in 18 19 20 21 22; do mkdir n$d; sed -E \"s/(started.: .....)-..-..T/\\1-11-${d}T/; "
              "s/(.run_id.: .)..../\\111$d/\" night/records.jsonl >n$d/records.jsonl; done; "
              "sed -i '$d' n20/records.jsonl; for d in 18 19 20 21; do $assay history import n$d --database nights.db; "
              "done");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void a_history_knows_earlier_nights(void **state)
{
    (void)state;
    nights_import();
    gate_check("n19 --baseline latest --history nights.db", 0, "nights.db: run 1118", "");
    gate_check("n22 --baseline latest --history nights.db", 0, "nights.db: run 1121", "");
    gate_check("n21 --baseline latest --history nights.db", 0, "nights.db: run 1119", ""); /* 20: killed */
    gate_check("n21 --baseline latest --history nights.db", 0,
               "note: 1 run after that of the baseline did not pass, and is no baseline; if it is right, `assay ", "");
    gate_check("n22 --baseline median:2 --history nights.db --json", 0, " of 2026-11-21, nights.db: run 1119", "");
    gate_check("n22 --baseline latest --history nights.db", 0, " of 2026-11-21: 1 case\n", "");
    gate_check("n22 --baseline median:2 --history nights.db", 0, "the median of 2 runs (nights.db: run 1121", "");
    gate_check("n22 --baseline median:7 --history nights.db", 0, "the median of 3 runs (", "");
    gate_check("n22 --baseline latest --baseline n18 --history nights.db", 0, "the median of 2 runs (nights.db: ", "");
    gate_check("n22 --baseline run:1118 --history nights.db", 0, "GO: 1 case held against the baseline", "");
    gate_check("n18 --baseline latest --history nights.db", 0, "baseline: none, the history nights.db has no run of",
               "");
    gate_check("n22 --baseline latest --history absent.db", 0, "baseline: none, there is no history yet at absent.db",
               "");
    gate_check("n22 --baseline latest --history absent.db", 0,
               "GO: 1 case measured, none failed; first night: 3 figures judged", "");
    gate_check("n22 --baseline run:9999 --history nights.db", 2, "", "has no run whose run_id begins with '9999'");
    gate_check("n22 --baseline median:0 --history nights.db", 2, "", "gate: --baseline median: 0 is out of range");
    gate_check("n22 --baseline ancestor --history nights.db", 3, "baseline: none, ", "INCONCLUSIVE: ");
}

/* The nights of a regression: the 1st and 2nd of December as they were, the 3rd to the 5th with 1 MiB more, and after
 * it the 6th, which began twice in one second. */
static void regression_import(void)
{
    struct command_result result = shell(
        "for d in 1 2 3 4 5 6 7; do mkdir r$d; sed -E \"s/(started.: .....)-..-..T..:..:../\\1-12-0${d}T02:00:00/; "
        "s/(.run_id.: .)..../\\1333$d/\" night/records.jsonl >r$d/records.jsonl; done; "
        "bytes=$(sed -n 's/.*\"requested_bytes_peak\": *\\([0-9]*\\).*/\\1/p' night/records.jsonl | head -n 1); "
        "for d in 3 4 5; do sed -i \"s/: *$bytes\\>/: $((bytes + 1048576))/g\" r$d/records.jsonl; done; "
        "sed -i 's/-12-07T/-12-06T/' r7/records.jsonl; "
        "for d in 1 2 3 4 5 7; do $assay history import r$d --database red.db >/dev/null || exit 1; done");
    if (result.exit_code != 0) {
        fail_msg("%s%s", text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
}

static void a_regression_stays_red_until_somebody_says_that_it_is_right(void **state)
{
    (void)state;
    regression_import();
    gate_check("r3 --baseline latest --history red.db", 1, " red.db: run 3332", "NO-GO");
    gate_check("r4 --baseline latest --history red.db", 1, " red.db: run 3332", "NO-GO");
    gate_check("r4 --baseline median:7 --history red.db", 1, "the median of 2 runs (red.db: run 3332", "NO-GO");
    gate_check("r5 --baseline latest --history red.db", 1,
               "note: 2 runs after that of the baseline did not pass, and are no baseline; if they are right", "NO-GO");
    gate_check("r5 --baseline latest --history red.db --json", 1, "--since 2026-12-03T02:00:00Z begins anew\"", "");
    gate_check("r5 --baseline latest --since 2026-12-03 --history red.db", 0, " red.db: run 3334", "");
    gate_check("r3 --baseline latest --since 2026-12-03 --history red.db", 0,
               "has no run of suite night on meta (no memory) before this one", "");
    gate_check("r5 --baseline r4 --since 2026-12-03", 2, "", "gate: --since is of --baseline latest and median:N; ");
    gate_check("r5 --since 2026-12-03", 2, "", "gate: --since is of a baseline, and there is none; write --baseline");
    gate_check("r5 --history red.db", 2, "", "gate: --history is of a baseline, and there is none");
    gate_check("r5 --by me", 2, "", "gate: --by is of --accept; write it as well, or leave it out");
    gate_check("r5 --allow driver", 2, "", "gate: --allow is of a baseline, and there is none");
    gate_check("r5 --baseline latest --since yesterday", 2, "", "gate: --since: 'yesterday' is no date; write it as");
    /* it is gone: green, and the baseline of the next one, which began in the same second */
    gate_check("r6 --baseline latest --history red.db", 0, " red.db: run 3337", "");
    gate_check("r7 --baseline latest --history red.db", 0, " red.db: run 3332", "");
}

/* Fifty times what was predicted, in a suite without a tolerance. */
static void a_first_night_is_held_against_what_replay_predicts(void **state)
{
    (void)state;
    struct command_result result =
        shell("mkdir huge none; "
              "sed -E 's/(\"stages\": *\\{\"load\": *\\{[^}]*allocated_bytes_peak\": *)[0-9]+/\\120000000000/' "
              "night/records.jsonl >huge/records.jsonl; "
              "sed -E 's/\"estimates\": *\\{\"replay\"/\"estimates\": {\"other\"/; "
              "s/\"estimator\": *\"replay\"/\"estimator\": \"other\"/g' "
              "night/records.jsonl >none/records.jsonl");
    command_result_release(&result);
    gate_check("night", 0, "GO: 1 case measured, none failed; 3 figures judged", "");
    gate_check("huge", 1, "BREACH allocated", "allocated peak predicted 413.68 MiB -> 18.63 GiB");
    gate_check("huge --baseline latest --history huge.db --json", 1, "\"against\": \"prediction\"", "");
    gate_check("none", 6, "", "exit code 6: INCONCLUSIVE: 0 figures judged: there is no baseline, and no figure has a");
    gate_check("none --baseline latest --history none.db --import", 6, "", "0 figures judged: there is no history yet");
    gate_check("huge --baseline latest --history huge.db --import", 1, "", "");
    result = shell("printf 'version: 1\\nfirst_night: {allocated: none}\\n' >open.yaml; "
                   "printf 'version: 1\\nfirst_night: {device: 1%%}\\n' >reading.yaml");
    command_result_release(&result);
    gate_check("huge --policy open.yaml", 0, "2 figures judged", "");
    gate_check("huge --policy reading.yaml", 2, "", "reading.yaml:2:15: unknown key 'device' in first_night");
}

/* 30 nights that creep, by a policy whose bound no single step passes: from the third on it is red, until a person says
 * that the figures are right. */
static void creep_is_seen_and_a_person_may_accept_it(void **state)
{
    (void)state;
    struct command_result result =
        shell("printf 'version: 1\\nrules:\\n  - {cases: \"*\", fail: 4MiB}\\n' >creep.yaml; "
              "bytes=$(sed -n 's/.*\"requested_bytes_peak\": *\\([0-9]*\\).*/\\1/p' night/records.jsonl | head -n 1); "
              "for n in $(seq 1 30); do d=$(printf %02d $n); mkdir k$d; more=$((bytes + 3600000 * (n - 1))); "
              "sed -E \"s/(started.: .....)-..-..T/\\1-10-${d}T/; s/(.run_id.: .)..../\\144$d/; "
              "s/(requested_bytes_peak.: *)$bytes\\>/\\1$more/g\" night/records.jsonl >k$d/records.jsonl; "
              "$assay gate k$d --policy creep.yaml --baseline latest --history creep.db --import >page 2>/dev/null; "
              "printf '%s' $?; done");
    command_says(&result.output, "001111111111111111111111111111");
    command_result_release(&result);
    gate_check("k30 --policy creep.yaml --baseline latest --history creep.db", 1, "reference: run 4401", "NO-GO");
    gate_check("k15 --accept --by ada --reason 'two more layers' --history creep.db", 0,
               "accepted by ada: two more layers, in creep.db: later runs are held against this one", "");
    gate_check("k16 --policy creep.yaml --baseline latest --history creep.db", 0, "", "");
    gate_check("k17 --policy creep.yaml --baseline median:7 --history creep.db", 1, "reference: run 4415", "NO-GO");
    gate_check("k17 --policy creep.yaml --baseline latest --history creep.db", 1, "accepted by ada: two more layers",
               "since the reference, run 4415");
    result = shell("$assay history prune --keep 1 --database creep.db | tail -n 1; "
                   "$assay gate k30 --policy creep.yaml --baseline latest --history creep.db | grep -c 'run 4415'");
    command_says(&result.output, "28 of 30 runs removed");
    command_result_release(&result);
    gate_check("k15 --accept --json --history creep.db", 2, "", "gate: --accept judges nothing; leave --json out");
    gate_check("short --accept --history creep.db", 2, "", "was cut short");
    gate_check("k15 --accept --by ada --history creep.db", 2, "", "who says that the run is right, and why?");
    gate_check("k15 --accept --started-after 2026-11-01 --history creep.db", 2, "", "gate: --accept: the records are");
}

/* The 8th and 9th of December, under another driver: each night is refused, and told how to begin anew. */
static void another_driver_is_refused_until_the_nights_begin_anew(void **state)
{
    (void)state;
    struct command_result result = shell(
        "for d in 8 9; do mkdir r$d; sed -E \"s/-12-01T/-12-0${d}T/; s/(.run_id.: .)..../\\1333$d/; "
        "s/(\\\"driver\\\": *)null/\\1\\\"580\\\"/g\" r1/records.jsonl >r$d/records.jsonl; done; mkdir r0; "
        "sed 's/-12-08T/-12-01T/; s/\"580\"/\"570\"/g; s/: *\"3338/: \"3330/' r8/records.jsonl >r0/records.jsonl; "
        "$assay history import r0 --database driver.db && $assay history import r8 --database driver.db && "
        "grep -c '\"580\"' r9/records.jsonl");
    if (result.exit_code != 0) {
        fail_msg("%s%s", text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
    gate_check("r8 --baseline latest --history driver.db", 3,
               "note: to hold runs like this one against each other, begin anew with --since 2026-12-08T02:00:00Z",
               "the driver differs from that of the baseline (570 -> 580)");
    gate_check("r9 --baseline latest --history driver.db", 3, "begin anew with --since 2026-12-08T02:00:00Z", "");
    gate_check("r9 --baseline latest --history driver.db --since 2026-12-08T02:00:00Z", 0, "driver.db: run 3338", "");
    gate_check("r9 --baseline latest --history driver.db --allow driver", 0, "driver.db: run 3338", "");
}

/* How a run is measured and judged is what it is measured under. */
static void judgement_that_was_loosened_is_no_go(void **state)
{
    (void)state;
    struct command_result result = shell(
        "printf 'version: 1\\nname: strict\\ntolerances:\\n  replay: {allocated_bytes_peak: 0}\\ncases:\\n"
        "  - {model: gpt2, mode: load}\\n' >strict.yaml; sed 's/peak: 0/peak: 90%/' strict.yaml >loose.yaml; "
        "sed '/tolerances/,/replay/d' strict.yaml >bare.yaml; "
        "for s in strict loose bare; do $assay run $s.yaml --device meta --out of-$s >/dev/null 2>&1; done; "
        "$assay run strict.yaml --device meta --out of-other --repeat 3 --jobs 2 --constants none --note-calibrated "
        "--prove >/dev/null 2>&1; ls of-other");
    command_says(&result.output, "records.jsonl");
    command_result_release(&result);
    gate_check("of-strict --baseline of-strict", 0, "GO: 1 case held against the baseline", "");
    gate_check("of-loose --baseline of-strict", 3, "tolerances         replay allocated_bytes_peak 0 B (",
               "-> replay allocated_bytes_peak 90 % (");
    gate_check("of-bare --baseline of-strict", 3, "INCONCLUSIVE: the tolerances differ from those of the baseline",
               "-> none)");
    gate_check("of-bare --baseline of-strict --allow tolerances", 0, "GO: ", "");
    gate_check("of-other --baseline of-strict", 3, "attempts           1 -> 3", "constants differ from those of the");
    gate_check("of-other --baseline of-strict", 3, "--note-calibrated  no -> yes",
               "--allow repeat,constants,note-calibrated,prove,jobs");
    gate_check("of-other --baseline of-strict --allow repeat,constants,note-calibrated,prove,jobs", 0, "GO: ", "");
}

static void a_run_against_itself_is_told(void **state)
{
    (void)state;
    gate_check("$base --baseline $base", 0, "note: the baseline is this run itself, so nothing can differ", "");
    gate_check("$base --baseline worse --baseline $base", 0, "note: this run is one of those that the baseline is", "");
}

/* A job that keeps its folder, and whose run of today failed: the records are of yesterday, and are not judged. */
static void records_of_another_run_are_refused(void **state)
{
    (void)state;
    gate_check("n21 --baseline n19 --started-after 2026-11-22", 3, "INCONCLUSIVE: the records are of run 1121",
               "exit code 3: INCONCLUSIVE: the records are of run 1121");
    gate_check("n21 --started-after 2026-11-22T00:00:00Z --json", 3, "\"cases\": []", "nothing was judged");
    gate_check("n21 --started-after 2026-11-21", 0, "GO: ", "");
    gate_check("n21 --baseline n19 --run-id 1122", 3, "INCONCLUSIVE: ", "none of run 1122 is there");
    gate_check("n21 --baseline n19 --run-id 1121", 0, "GO: 1 case held", "");
    gate_check("n21 --run-id 1121 --started-after 2026-11-22", 3,
               "INCONCLUSIVE: ", "none of run 1121 since 2026-11-22T00:00:00Z");
    gate_check("n21 --started-after 2026-11-21T23:59:59+23:00", 0, "GO: ", "");
    gate_check("n21 --started-after 2026-11-20T23:00:00-23:00", 3, "INCONCLUSIVE: ", "before 2026-11-21T22:00:00Z");
    gate_check("n21 --started-after 2026-02-30", 2, "", "gate: --started-after: '2026-02-30' is no moment; write");
    gate_check("n21 --run-id ''", 2, "", "gate: --run-id needs a value");
    struct command_result result = shell("touch -d 2026-11-21T00:00:00Z begun && touch -d 2026-11-22T00:00:00Z late");
    command_result_release(&result);
    gate_check("n21 --started-after begun", 0, "GO: ", "");
    gate_check("n21 --started-after late", 3, "INCONCLUSIVE: ", "the run that is to be judged left none here");
}

/* Two runs of two suites of one name in a folder: the case of the first says nothing about the second. */
static void a_reused_folder_is_judged_by_its_last_run(void **state)
{
    (void)state;
    struct command_result result = shell(
        "printf 'version: 1\\nname: night\\ncases:\\n  - {model: gpt2, mode: load}\\n' >other.yaml; "
        "cp -r night reused && $assay run other.yaml --device meta --out reused >/dev/null 2>&1; "
        "$assay gate reused --baseline night --allow suite >page; echo $?; grep -c 'suite hash.*, ' page; cat page; "
        "$assay gate reused --started-after 2026-01-01 --json | grep -c '\"id\"'");
    command_says(&result.output, "3\n0\n"); /* the environment is that of the last run alone */
    command_says(&result.output, "note: 1 case of earlier runs in this file is left out");
    command_says(&result.output,
                 "INCONCLUSIVE: no figure could be held against the baseline\n2\n" /* where both are asked for */);
    command_result_release(&result);
}

/* A baseline that was killed half way: the cases behind that point are not new. */
static void a_baseline_that_was_cut_short_hides_nothing(void **state)
{
    (void)state;
    struct command_result result = shell(
        "printf 'version: 1\\nname: two\\ncases:\\n  - {model: [bert-base-cased, gpt2], mode: load}\\n' >two.yaml; "
        "$assay run two.yaml --device meta --out two >/dev/null 2>&1; mkdir half; "
        "sed '/\"type\": *\"end\"/d; /\"id\": *\"gpt2/d' two/records.jsonl >half/records.jsonl");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    gate_check("two --baseline two", 0, "GO: 2 cases", "");
    gate_check("two --baseline half", 3, "the baseline was cut short before this case", "INCONCLUSIVE: 1 of 2 cases");
    gate_check("half --baseline two", 7, "INCOMPLETE: 1 selected case is not there", "");
}

/* A history of two commits, of which the run is of the later one. */
static void an_ancestor_is_the_run_of_an_earlier_commit(void **state)
{
    (void)state;
    command_needed("git");
    struct command_result result = shell(
        "git init -q repo && cd repo && for i in 1 2; do git -c user.name=a -c user.email=a@example.org commit -q "
        "--allow-empty -m $i; done; for n in 1 2; do mkdir ../c$n; "
        "revision=$(git log --format=%h --skip=$((2 - n)) -1); "
        "sed -E \"s/(.revision.: )[^,}]*/\\1\\\"$revision\\\"/; s/(.run_id.: .)..../\\1222$n/; "
        "s/(started.: .....)-..-..T/\\1-12-0${n}T/\" ../n18/records.jsonl >../c$n/records.jsonl; done; "
        "$assay history import ../c1 --database ../commits.db && "
        "$assay gate ../c2 --baseline ancestor --history ../commits.db");
    command_says(&result.output, "../commits.db: run 2221");
    command_says(&result.output, "1 commit before");
    command_says(&result.output, "GO: 1 case held against the baseline");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* Two gates at once leave one whole page; the file is never half of one. */
static void two_gates_at_once_leave_one_whole_page(void **state)
{
    (void)state;
    struct command_result result =
        shell("for i in 1 2 3 4; do $assay gate worse --baseline $base --json --output both.json 2>/dev/null & "
              "$assay gate $base --baseline $base --json --output both.json 2>/dev/null & done; wait; "
              "head -n 1 both.json; tail -n 1 both.json; grep -c '\"outcome\"' both.json; ls -A | grep -c '^.assay'");
    assert_string_equal(text_string(&result.output), "{\n}\n1\n0\n");
    command_result_release(&result);
}

/* The reader has gone: the verdict still is the exit code's affair, and nothing is printed twice. */
static void a_closed_pipe_is_no_crash(void **state)
{
    (void)state;
    struct command_result result =
        shell("{ $assay gate $base --baseline $base --json; echo $? >code; } | true; cat code");
    const int code = (int)strtol(text_string(&result.output), NULL, 10);
    assert_true(code == 2 || code == 141 || code == 0);
    assert_null(strstr(text_string(&result.error), "Segmentation"));
    command_result_release(&result);
}

/* What others read may be a pipe. */
static void records_may_come_through_a_pipe(void **state)
{
    (void)state;
    struct command_result result =
        shell("cat $base/records.jsonl | $assay gate /dev/stdin --baseline $base | tail -n 1");
    command_says(&result.output, "GO: ");
    command_result_release(&result);
}

/* What was measured is worth more than a page about it. */
static void nothing_that_was_read_is_written_over(void **state)
{
    (void)state;
    night_make("precious", "cat");
    struct command_result result = shell(
        "printf 'version: 1\\nrules:\\n  - cases: \"*\"\\n    fail: 0\\n' >own.yaml; cp own.yaml own-before.yaml; "
        "cp precious/records.jsonl before.jsonl; ln -s precious/records.jsonl link; rm -f night.sqlite; "
        "$assay history import precious --database night.sqlite >/dev/null; cp night.sqlite before.sqlite");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    const char *const says = "is what is read here; name another file";
    gate_check("precious --output precious/records.jsonl", 2, "", says);
    gate_check("precious --summary precious/records.jsonl", 2, "", says);
    gate_check("precious --summary link", 2, "", says);
    gate_check("$base --baseline precious --output link", 2, "", says);
    gate_check("$base --policy own.yaml --output own.yaml", 2, "", says);
    gate_check("precious --baseline latest --history night.sqlite --summary night.sqlite", 2, "", says);
    result = shell("$assay history export --database night.sqlite --output ./night.sqlite");
    assert_int_equal(result.exit_code, 2);
    command_says(&result.error, says);
    command_result_release(&result);
    result = shell("cmp before.jsonl precious/records.jsonl && cmp own.yaml own-before.yaml && "
                   "cmp before.sqlite night.sqlite && $assay gate precious --output page.txt && "
                   "$assay gate precious --output page.txt");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exit_code_is_the_verdict),
        cmocka_unit_test(nothing_that_was_read_is_written_over),
        cmocka_unit_test(several_baselines_are_their_median_in_any_order),
        cmocka_unit_test(what_is_wrong_with_options_and_policies_is_said),
        cmocka_unit_test(pages_go_to_files_and_a_summary_is_appended),
        cmocka_unit_test(a_history_knows_earlier_nights),
        cmocka_unit_test(a_regression_stays_red_until_somebody_says_that_it_is_right),
        cmocka_unit_test(creep_is_seen_and_a_person_may_accept_it),
        cmocka_unit_test(a_first_night_is_held_against_what_replay_predicts),
        cmocka_unit_test(another_driver_is_refused_until_the_nights_begin_anew),
        cmocka_unit_test(judgement_that_was_loosened_is_no_go),
        cmocka_unit_test(records_of_another_run_are_refused),
        cmocka_unit_test(a_reused_folder_is_judged_by_its_last_run),
        cmocka_unit_test(a_baseline_that_was_cut_short_hides_nothing),
        cmocka_unit_test(a_run_against_itself_is_told),
        cmocka_unit_test(an_ancestor_is_the_run_of_an_earlier_commit),
        cmocka_unit_test(two_gates_at_once_leave_one_whole_page),
        cmocka_unit_test(a_closed_pipe_is_no_crash),
        cmocka_unit_test(records_may_come_through_a_pipe),
    };
    return cmocka_run_group_tests(tests, nights_make, nights_remove);
}
