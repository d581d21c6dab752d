/* Loading: how fast a checkpoint comes to where it belongs, beside a plain sequential read of the same files, once from
 * the disk (the kernel has forgotten the files before each of them) and once from the page cache (it has them all). On
 * a GPU a plain copy of as many bytes stands beside them. What else goes on changes all of them: the ratios are of one
 * turn, and each turn begins with another one of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/load/element_cast.h"
#include "harness/load/load_run.h"
#include "harness/load/plain_transfer.h"
#include "models/config/config.h"
#include "models/find/config_file.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/peer_step.h"
#include "tests/bench/process_cost.h"
#include "tests/support/scratch_folder.h"

enum { PATH_BYTES = 256, NAME_BYTES = 128, TURNS = 7, CACHES = 2 };

/* What is timed; the plain read comes first, and the real libraries last. */
enum work { PLAIN_READ, LOAD_AS_STORED, LOAD_CAST, PEER_ACCELERATE, PEER_SAFETENSORS, WORKS, PLANS = PEER_ACCELERATE };

struct load_bench {
    const struct bench_device *on;
    const char *program, *model;
    char folder[PATH_BYTES], made[PATH_BYTES], file[PATH_BYTES];
    struct config config;
    struct skeleton bare, headed;
    struct load_files files;
    struct checkpoint_names names;
    struct device_map_entry entry;
    struct device_map map;
    struct load_plan plans[PLANS]; /* of the plain read: none */
    struct peer peers[WORKS];      /* of our own work: none */
    bool has_peer[WORKS];
    struct status peer_error;
};

static enum status_code checkpoint_make(struct load_bench *bench, struct status *error)
{
    const char *wish = getenv("TMPDIR");
    struct process_cost cost;
    snprintf(bench->folder, sizeof bench->folder, "%.200s/assay-bench-XXXXXX", wish != NULL ? wish : "/var/tmp");
    if (mkdtemp(bench->folder) == NULL) {
        return status_set(error, STATUS_IO, "%s cannot be made", bench->folder);
    }
    snprintf(bench->made, sizeof bench->made, "%.220s/made", bench->folder);
    snprintf(bench->file, sizeof bench->file, "%.220s/made/model.safetensors", bench->folder);
    const char *const words[] = {bench->program, "synth",       bench->model, "--out",
                                 bench->made,    "--precision", "float32",    NULL};
    enum status_code code = process_time(words, &cost, error);
    return code != STATUS_OK || cost.exit_code == 0
               ? code
               : status_set(error, STATUS_INTERNAL, "synth ended with exit code %d", cost.exit_code);
}

static enum status_code plans_make(struct load_bench *bench, struct status *error)
{
    const struct storage_type *types[PLANS] = {NULL, NULL, safetensors_type("BF16")};
    enum status_code code = STATUS_OK;
    bench->entry = (struct device_map_entry){"", {.kind = bench->on->is_host ? PLACEMENT_CPU : PLACEMENT_GPU}};
    bench->map = (struct device_map){&bench->entry, 1};
    for (int work = LOAD_AS_STORED; work < PLANS && code == STATUS_OK; work++) {
        const struct load_request request = {.checkpoint = bench->files.checkpoint,
                                             .skeleton = &bench->headed,
                                             .names = &bench->names,
                                             .map = &bench->map,
                                             .type = types[work]};
        code = load_plan_make(&request, &bench->plans[work], error);
    }
    return code;
}

static void peers_open(struct load_bench *bench, const char *python)
{
    static const char *const how[WORKS] = {[PEER_ACCELERATE] = "accelerate", [PEER_SAFETENSORS] = "safetensors"};
    for (int work = PEER_ACCELERATE; work < WORKS; work++) {
        const char *const words[] = {
            python, "peers/placement/bench_load.py", "--checkpoint", bench->made, "--how", how[work], NULL};
        bench->has_peer[work] = peer_start(words, &bench->peers[work], &bench->peer_error) == STATUS_OK;
    }
}

static enum status_code bench_open(struct load_bench *bench, struct status *error)
{
    char path[PATH_BYTES];
    enum status_code code = checkpoint_make(bench, error);
    snprintf(path, sizeof path, "%.220s/made/config.json", bench->folder);
    code = code == STATUS_OK ? config_read(path, bench->model, &bench->config, error) : code;
    code = code == STATUS_OK ? skeleton_build(&bench->config, HEAD_BARE, &bench->bare, error) : code;
    code = code == STATUS_OK ? skeleton_build(&bench->config, HEAD_LM, &bench->headed, error) : code;
    code = code == STATUS_OK ? load_files_open(bench->file, &bench->files, error) : code;
    if (code == STATUS_OK) {
        bench->names = checkpoint_names_of(bench->files.checkpoint, &bench->bare, &bench->headed);
        code = plans_make(bench, error);
    }
    return code;
}

static void bench_close(struct load_bench *bench)
{
    for (int work = 0; work < PLANS; work++) {
        load_plan_release(&bench->plans[work]);
    }
    for (int work = PEER_ACCELERATE; work < WORKS; work++) {
        peer_close(&bench->peers[work]);
    }
    load_files_release(&bench->files);
    skeleton_release(&bench->bare);
    skeleton_release(&bench->headed);
    scratch_folder_remove(bench->folder);
}

/* Seconds for the bytes of the tensors, or of the files. */
static enum status_code work_time(struct load_bench *bench, enum work work, double *seconds, int64_t *bytes,
                                  struct status *error)
{
    struct plain_transfer plain = {0};
    struct loaded *loaded = NULL;
    enum allocator_policy policy = bench->on->is_host ? ALLOCATOR_PLAIN : ALLOCATOR_CACHING;
    const struct replay_lane lane = {.device = bench->on->device, .policy = policy};
    if (work == PEER_ACCELERATE || work == PEER_SAFETENSORS) {
        *bytes = bench->plans[LOAD_AS_STORED].stored_bytes;
        return peer_step(&bench->peers[work], seconds, error);
    }
    if (work == PLAIN_READ) {
        enum status_code code = plain_read(&bench->files.paths, NULL, &plain, error);
        *seconds = plain.seconds;
        *bytes = plain.bytes;
        return code;
    }
    enum status_code code = load_run(&bench->plans[work], &bench->files, &lane, NULL, &loaded, error);
    if (code == STATUS_OK) {
        *seconds = loaded_result(loaded)->transfer_seconds;
        *bytes = loaded_result(loaded)->read_bytes;
    }
    return code == STATUS_OK ? loaded_release(loaded, error) : code;
}

struct load_rows {
    struct bench_row rates[CACHES][WORKS], shares[CACHES][WORKS];
    char names[CACHES][WORKS][2][NAME_BYTES];
    struct bench_row copy;
};

static void rows_open(const struct load_bench *bench, struct load_rows *rows)
{
    static const char *const states[CACHES] = {"from the disk", "from the page cache"};
    static const char *const words[WORKS] = {"plain read", "load", "load, cast to bfloat16", "load_checkpoint_in_model",
                                             "load_file of safetensors (mapped)"};
    for (int cache = 0; cache < CACHES; cache++) {
        for (int work = 0; work < WORKS; work++) {
            char(*names)[NAME_BYTES] = rows->names[cache][work];
            snprintf(names[0], NAME_BYTES, "%s of %s float32 %s", words[work], bench->model, states[cache]);
            snprintf(names[1], NAME_BYTES, "%s, of the plain read", names[0]);
            rows->rates[cache][work] = bench_row_open(names[0], "GB/s");
            rows->shares[cache][work] = bench_row_open(names[1], "x");
        }
        rows->shares[cache][LOAD_AS_STORED].at_least = 0.9;
    }
    rows->copy = bench_row_open("plain copy of as many bytes to the device", "GB/s");
}

static enum status_code turn_run(struct load_bench *bench, int turn, int cache, struct load_rows *rows,
                                 struct status *error)
{
    double rates[WORKS] = {0};
    enum status_code code = STATUS_OK;
    for (int i = 0; i < WORKS && code == STATUS_OK; i++) {
        int work = (turn + i) % WORKS;
        double seconds = 0;
        int64_t bytes = 0;
        if (work >= PEER_ACCELERATE && !bench->has_peer[work]) {
            continue;
        }
        if (cache == 0) {
            files_forget(&bench->files.paths);
        }
        code = work_time(bench, (enum work)work, &seconds, &bytes, error);
        rates[work] = (double)bytes / seconds / 1e9;
    }
    for (int work = 0; work < WORKS && code == STATUS_OK && turn > 0; work++) { /* the first turn is not counted */
        if (rates[work] <= 0) {
            continue;
        }
        bench_row_add(&rows->rates[cache][work], rates[work]);
        bench_row_add(&rows->shares[cache][work], rates[work] / rates[PLAIN_READ]);
    }
    return code;
}

static enum status_code copy_run(struct load_bench *bench, struct load_rows *rows, struct status *error)
{
    struct plain_transfer plain = {0};
    int64_t bytes = bench->plans[LOAD_AS_STORED].stored_bytes;
    enum status_code code =
        bench->on->is_host ? STATUS_OK : plain_copy(bench->on->device, PLAIN_TO_DEVICE, bytes, &plain, error);
    if (code == STATUS_OK && plain.bytes > 0) {
        bench_row_add(&rows->copy, (double)plain.bytes / plain.seconds / 1e9);
    }
    return code;
}

static void rows_print(const struct load_bench *bench, struct load_rows *rows, struct bench_tally *tally)
{
    for (int cache = 0; cache < CACHES; cache++) {
        for (int work = 0; work < WORKS; work++) {
            bench_row_print(&rows->rates[cache][work], tally);
        }
        for (int work = LOAD_AS_STORED; work < WORKS; work++) {
            bench_row_print(&rows->shares[cache][work], tally);
        }
    }
    bench_row_print(&rows->copy, tally);
    if (!bench->has_peer[PEER_ACCELERATE]) {
        bench_row_leave_empty("load by accelerate", status_line(&bench->peer_error, (char[STATUS_LINE_BYTES]){0}));
    }
}

void bench_loading(const struct bench_options *options, const struct bench_device *on, struct bench_tally *tally)
{
    struct status error = {0};
    struct load_bench *bench = calloc(1, sizeof *bench);
    struct load_rows *rows = calloc(1, sizeof *rows);
    if (bench == NULL || rows == NULL) {
        status_set(&error, STATUS_OUT_OF_MEMORY, "no memory");
        bench_row_fail("load", &error, tally);
        free(bench);
        free(rows);
        return;
    }
    bench->on = on;
    bench->program = options->program;
    bench->model = options->quick ? "tiny-gpt2" : "gpt2";
    enum status_code code = bench_open(bench, &error);
    if (code == STATUS_OK && on->is_host) {
        peers_open(bench, options->python);
    }
    rows_open(bench, rows);
    for (int cache = 0; cache < CACHES; cache++) {
        for (int turn = 0; turn <= TURNS && code == STATUS_OK; turn++) {
            code = turn_run(bench, turn, cache, rows, &error);
            code = code == STATUS_OK && cache == 1 ? copy_run(bench, rows, &error) : code;
        }
    }
    if (code == STATUS_OK) {
        rows_print(bench, rows, tally);
    } else {
        bench_row_fail("load", &error, tally);
    }
    bench_close(bench);
    free(bench);
    free(rows);
}
