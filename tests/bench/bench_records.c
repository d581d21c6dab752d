/* Many records: every page of 100,000 of them, their history, and the plan of a suite of 100,000 cases, against what
 * they may take.
 * The records are those of a run on the meta device, multiplied; one run of each row, because the file is 770 MB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/bench_parts.h"
#include "tests/bench/process_cost.h"
#include "tests/support/record_multiplier.h"
#include "tests/support/scratch_folder.h"

enum { RECORDS = 100000, RECORDS_QUICK = 1000, PATH_BYTES = 256, WHAT_BYTES = 128 };
static const double page_seconds = 10, page_mib = 500, plan_seconds = 5;

struct many_records {
    const char *program;
    char folder[PATH_BYTES], template[PATH_BYTES], records[PATH_BYTES], suite[PATH_BYTES];
    int count;
    struct bench_tally *tally;
};

/* Two rows: seconds and memory. Exit codes 1 and 3 are answers of a report, too. */
static void page_measure(const struct many_records *many, const char *what, const char *const *words, double seconds)
{
    struct status error = {0};
    struct process_cost cost;
    char name[2 * WHAT_BYTES];
    enum status_code code = process_time(words, &cost, &error);
    if (code == STATUS_OK && cost.exit_code != 0 && cost.exit_code != 1 && cost.exit_code != 3) {
        code = status_set(&error, STATUS_INTERNAL, "it ended with exit code %d", cost.exit_code);
    }
    snprintf(name, sizeof name, "%s, %d", what, many->count);
    if (code != STATUS_OK) {
        bench_row_fail(name, &error, many->tally);
        return;
    }
    struct bench_row row = bench_row_open(name, "s");
    row.at_most = seconds;
    bench_row_add(&row, cost.wall / 1e3);
    bench_row_add_cpu(&row, cost.cpu);
    bench_row_print(&row, many->tally);
    snprintf(name, sizeof name, "%s, %d: peak memory", what, many->count);
    row = bench_row_open(name, "MiB");
    row.at_most = page_mib;
    bench_row_add(&row, cost.peak_mib);
    bench_row_print(&row, many->tally);
}

static void pages_measure(const struct many_records *many)
{
    static const char *const formats[] = {"table", "summary", "md",          "csv",           "json",
                                          "html",  "junit",   "openmetrics", "benchmark-json"};
    char page[PATH_BYTES + 16];
    snprintf(page, sizeof page, "%s/page", many->folder);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const char *const words[] = {many->program, "report",   many->records, "--format",
                                     formats[i],    "--output", page,          NULL};
        char what[WHAT_BYTES];
        snprintf(what, sizeof what, "report --format %s, records", formats[i]);
        page_measure(many, what, words, page_seconds);
    }
    const char *const league[] = {many->program, "report", many->records, "--league", NULL};
    const char *const rule[] = {many->program, "report", many->records, "--rule", "1.2", NULL};
    const char *const compare[] = {many->program, "compare", many->records, many->records, NULL};
    const char *const gate[] = {many->program, "gate", many->records, "--baseline", many->records, NULL};
    page_measure(many, "report --league, records", league, page_seconds);
    page_measure(many, "report --rule 1.2, records", rule, page_seconds);
    page_measure(many, "compare, records of each side", compare, page_seconds);
    page_measure(many, "gate, records of each side", gate, page_seconds);
}

/* What nights do with them: into a new history, and what is asked of it. */
static void history_measure(const struct many_records *many)
{
    char base[PATH_BYTES + 16], page[PATH_BYTES + 16];
    snprintf(base, sizeof base, "%s/history.db", many->folder);
    snprintf(page, sizeof page, "%s/page", many->folder);
    const char *const import[] = {many->program, "history", "import", many->records, "--database", base, NULL};
    const char *const trend[] = {many->program, "history", "trend", "--database", base, NULL};
    const char *const export[] = {many->program, "history", "export", "--database", base, "--output", page, NULL};
    const char *const gate[] = {many->program, "gate", many->records, "--baseline", "latest", "--history", base, NULL};
    page_measure(many, "history import, records", import, page_seconds);
    page_measure(many, "history trend, cases", trend, page_seconds);
    page_measure(many, "history export, cases", export, page_seconds);
    page_measure(many, "gate, records and a history", gate, page_seconds);
}

/* Two models, five precisions, two forms of attention, ten lengths, and as many batches as it takes. */
static bool suite_write(const struct many_records *many)
{
    FILE *file = fopen(many->suite, "we");
    if (file == NULL) {
        return false;
    }
    fputs("version: 1\nname: many\ncases:\n  - model: [gpt2, bert-base-cased]\n    mode: infer\n"
          "    precision: [float32, float16, bfloat16, amp-float16, amp-bfloat16]\n    attention: [sdpa, eager]\n"
          "    seq: [8, 16, 24, 32, 40, 48, 56, 64, 72, 80]\n    batch: [",
          file);
    for (int batch = 1; batch <= many->count / 200; batch++) {
        fprintf(file, "%s%d", batch > 1 ? ", " : "", batch);
    }
    fputs("]\n", file);
    return fclose(file) == 0;
}

static bool records_make(const struct many_records *many, struct status *error)
{
    const struct multiplication how = {
        .count = many->count, .runs = 2, .repeat = 50, .fail = 17, .skip = 40, .measured = true};
    const char *const words[] = {many->program,  "run", "tests/bench/records.yaml", "--device", "meta", "--out",
                                 many->template, NULL};
    char from[PATH_BYTES + 16];
    struct process_cost cost;
    snprintf(from, sizeof from, "%s/records.jsonl", many->template);
    if (process_time(words, &cost, error) != STATUS_OK) {
        return false;
    }
    if (!records_multiply(from, many->records, &how) || !suite_write(many)) {
        status_set(error, STATUS_IO, "%s: the records cannot be written; set TMPDIR to a folder with room",
                   many->folder);
        return false;
    }
    return true;
}

void bench_records(const struct bench_options *options, struct bench_tally *tally)
{
    struct status error = {0};
    struct many_records many = {.program = options->program, .tally = tally};
    const char *wish = getenv("TMPDIR");
    many.count = options->quick ? RECORDS_QUICK : RECORDS;
    snprintf(many.folder, sizeof many.folder, "%.200s/assay-bench-XXXXXX", wish != NULL ? wish : "/var/tmp");
    if (mkdtemp(many.folder) == NULL) {
        status_set(&error, STATUS_IO, "%s cannot be made", many.folder);
        bench_row_fail("report, many records", &error, tally);
        return;
    }
    snprintf(many.template, sizeof many.template, "%.230s/template", many.folder);
    snprintf(many.records, sizeof many.records, "%.230s/records.jsonl", many.folder);
    snprintf(many.suite, sizeof many.suite, "%.230s/suite.yaml", many.folder);
    if (records_make(&many, &error)) {
        const char *const ids[] = {many.program, "plan", many.suite, "--ids", NULL};
        const char *const plan[] = {many.program, "plan", many.suite, NULL};
        pages_measure(&many);
        history_measure(&many);
        page_measure(&many, "plan --ids, cases", ids, plan_seconds);
        page_measure(&many, "plan, cases", plan, plan_seconds);
    } else {
        bench_row_fail("report, many records", &error, tally);
    }
    scratch_folder_remove(many.folder);
}
