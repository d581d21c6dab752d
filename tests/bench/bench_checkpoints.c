/* Checkpoints: how fast `assay synth` writes one, beside a plain sequential write of as many bytes to the same disk,
 * synchronised at its end as a checkpoint is. In turns, because a disk is nobody's alone. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "harness/load/plain_transfer.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/process_cost.h"
#include "tests/support/scratch_folder.h"

enum { PATH_BYTES = 256, TURNS = 5 };

struct checkpoint_bench {
    const char *program, *model, *precision;
    char folder[PATH_BYTES], made[PATH_BYTES], file[PATH_BYTES];
};

static enum status_code synth_time(const struct checkpoint_bench *bench, int64_t *bytes, double *seconds,
                                   struct status *error)
{
    const char *const words[] = {bench->program, "synth",       bench->model,     "--out",
                                 bench->made,    "--precision", bench->precision, NULL};
    struct process_cost cost;
    struct stat facts;
    enum status_code code = process_time(words, &cost, error);
    if (code == STATUS_OK && (cost.exit_code != 0 || stat(bench->file, &facts) != 0)) {
        code = status_set(error, STATUS_INTERNAL, "synth ended with exit code %d", cost.exit_code);
    }
    if (code == STATUS_OK) {
        *bytes = (int64_t)facts.st_size;
        *seconds = cost.wall / 1e3;
    }
    scratch_folder_remove(bench->made);
    return code;
}

static void precision_measure(struct checkpoint_bench *bench, const char *precision, struct bench_tally *tally)
{
    char names[3][128];
    struct status error = {0};
    enum status_code code = STATUS_OK;
    bench->precision = precision;
    snprintf(names[0], sizeof names[0], "synth %s %s", bench->model, precision);
    snprintf(names[1], sizeof names[1], "plain write of as many bytes");
    snprintf(names[2], sizeof names[2], "synth %s %s, of the plain write", bench->model, precision);
    struct bench_row synth = bench_row_open(names[0], "GB/s"), plain = bench_row_open(names[1], "GB/s");
    struct bench_row share = bench_row_open(names[2], "x");
    for (int turn = 0; turn <= TURNS && code == STATUS_OK; turn++) {
        int64_t bytes = 0;
        double synth_seconds = 0;
        struct plain_transfer plain_made = {0};
        code = synth_time(bench, &bytes, &synth_seconds, &error);
        code = code == STATUS_OK ? plain_write(bench->folder, bytes, NULL, &plain_made, &error) : code;
        if (code == STATUS_OK && turn > 0) { /* the first is not counted */
            bench_row_add(&synth, (double)bytes / synth_seconds / 1e9);
            bench_row_add(&plain, (double)bytes / plain_made.seconds / 1e9);
            bench_row_add(&share, plain_made.seconds / synth_seconds);
        }
    }
    if (code != STATUS_OK) {
        bench_row_fail(names[0], &error, tally);
        return;
    }
    bench_row_print(&synth, tally);
    bench_row_print(&plain, tally);
    bench_row_print(&share, tally);
}

void bench_checkpoints(const struct bench_options *options, struct bench_tally *tally)
{
    struct status error = {0};
    struct checkpoint_bench bench = {.program = options->program, .model = options->quick ? "tiny-gpt2" : "gpt2"};
    const char *wish = getenv("TMPDIR");
    snprintf(bench.folder, sizeof bench.folder, "%.200s/assay-bench-XXXXXX", wish != NULL ? wish : "/var/tmp");
    if (mkdtemp(bench.folder) == NULL) {
        status_set(&error, STATUS_IO, "%s cannot be made", bench.folder);
        bench_row_fail("synth", &error, tally);
        return;
    }
    snprintf(bench.made, sizeof bench.made, "%.220s/made", bench.folder);
    snprintf(bench.file, sizeof bench.file, "%.220s/made/model.safetensors", bench.folder);
    precision_measure(&bench, "float32", tally);
    precision_measure(&bench, "bfloat16", tally);
    scratch_folder_remove(bench.folder);
}
