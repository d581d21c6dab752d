/* A whole training step, replayed on the device, beside the same step's matrix products alone and beside a real PyTorch
 * on as many threads. The three take turns, so that what else the machine does falls on all of them. */
#include <stdio.h>
#include <string.h>

#include "harness/replay/replay.h"
#include "models/find/catalogue.h"
#include "models/workload/workload_tape.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/peer_step.h"
#include "tests/bench/step_meter.h"
#include "tests/bench/step_products.h"

/* The first step of each takes memory that later ones find; it is not counted. */
enum { STEP_RUNS = 5, STEP_COUNT = STEP_RUNS + 1, WHAT_BYTES = 160 };

static const double learning_rate = 1e-4;

struct step_case {
    const char *what;
    const char *model, *peer_model; /* in the catalogue, and in peers/pytorch/peer_models.py */
    const char *precision;
    int batch, seq;
};

static const struct step_case host_cases[] = {
    {"bert-base-cased, batch 8, seq 128, float32", "bert-base-cased", "bert-base-cased", "float32", 8, 128}};
static const struct step_case cuda_cases[] = {
    {"bert-base-cased, batch 32, seq 512, bfloat16", "bert-base-cased", "bert-base-cased", "bfloat16", 32, 512},
    {"gpt2, batch 8, seq 1024, bfloat16", "gpt2", "gpt2", "bfloat16", 8, 1024},
    {"resnet50, batch 64, amp-bfloat16", "resnet50", "resnet50", "amp-bfloat16", 64, 0}};
static const struct step_case quick_cases[] = {
    {"tiny-bert, batch 2, seq 16, float32", "tiny-bert", "tiny/bert", "float32", 2, 16}};

struct step_bench {
    const struct step_case *step_case;
    struct step_meter meter;
    struct step_products products;
    struct peer peer;
    bool has_peer;
    double step_seconds; /* of the step that goes on */
    int step_index;      /* of the step that goes on */
    double shares[OPCODE_COUNT][STEP_RUNS];
    struct bench_row step, products_alone, torch, of_products, of_torch;
    enum status_code code; /* of what was done between two steps */
    struct status error;
};

static void shares_take(struct step_bench *bench)
{
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        bench->shares[opcode][bench->step_index - 1] = bench->meter.seconds[opcode] / bench->step_seconds;
    }
}

/* Between two steps: the products alone, and the peer's step. The first time nothing is counted. */
static enum status_code turns_take(struct step_bench *bench, struct status *error)
{
    double products_seconds = 0, torch_seconds = 0;
    enum status_code code = STATUS_OK;
    if (bench->step_index == 0) {
        bench->meter.notes_products = false;
        code = step_products_open(bench->meter.passing.inner, bench->meter.products, bench->meter.product_count,
                                  &bench->products, error);
    }
    if (code == STATUS_OK) {
        code = step_products_run(&bench->products, &products_seconds, error);
    }
    if (code == STATUS_OK && bench->has_peer) {
        code = peer_step(&bench->peer, &torch_seconds, error);
    }
    if (code != STATUS_OK || bench->step_index == 0) {
        return code;
    }
    bench_row_add(&bench->step, bench->step_seconds);
    bench_row_add(&bench->products_alone, products_seconds);
    bench_row_add(&bench->of_products, bench->step_seconds / products_seconds);
    if (bench->has_peer) {
        bench_row_add(&bench->torch, torch_seconds);
        bench_row_add(&bench->of_torch, bench->step_seconds / torch_seconds);
    }
    shares_take(bench);
    return STATUS_OK;
}

/* The replay's clock stands still while this runs. */
static void stage_ended(void *context, enum stage stage, const struct replay_stage *figures)
{
    struct step_bench *bench = context;
    if (stage == STAGE_LOAD) {
        bench->meter.notes_products = true;
    } else if (stage == STAGE_FORWARD || stage == STAGE_BACKWARD) {
        bench->step_seconds += figures->seconds;
    } else if (stage == STAGE_STEP) {
        bench->step_seconds += figures->seconds;
        if (bench->code == STATUS_OK) {
            bench->code = turns_take(bench, &bench->error);
        }
        bench->step_index += 1;
    }
    if (stage == STAGE_LOAD || stage == STAGE_STEP) {
        bench->step_seconds = 0;
        memset(bench->meter.seconds, 0, sizeof bench->meter.seconds);
    }
}

static enum status_code case_workload(const struct step_case *step_case, struct workload *workload,
                                      struct status *error)
{
    *workload = workload_default(MODE_TRAIN);
    workload->batch = step_case->batch;
    workload->seq = step_case->seq;
    return workload_set(workload, "precision", step_case->precision, error);
}

static enum status_code case_replay(struct step_bench *bench, const struct bench_device *on, struct status *error)
{
    struct config config;
    struct skeleton skeleton = {0};
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct workload workload;
    struct device_properties properties;
    struct replay_result result;
    const struct replay_observer observer = {stage_ended, bench};
    const struct training_plan plan = {.step_count = STEP_COUNT, .learning_rate = learning_rate};
    enum status_code code = case_workload(bench->step_case, &workload, error);
    if (code == STATUS_OK) {
        code = on->device->table->properties(on->device, &properties, error);
    }
    if (code == STATUS_OK) {
        code = target_find(properties.target, &target, error);
    }
    if (code == STATUS_OK) {
        code = config_find("models/catalogue", bench->step_case->model, &config, error);
    }
    if (code == STATUS_OK) {
        code = skeleton_build(&config, workload_head(&workload), &skeleton, error);
    }
    if (code == STATUS_OK) {
        code = workload_tape_planned(&config, &skeleton, &workload, target, &plan, &tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        step_meter_open(&bench->meter, on->device);
        bench->meter.takes_times = on->is_host;
        code = replay_run(&view, &bench->meter.passing.base, &observer, &result, error);
        step_products_close(&bench->products);
        step_meter_close(&bench->meter);
    }
    tape_release(tape);
    skeleton_release(&skeleton);
    if (code == STATUS_OK && bench->code != STATUS_OK) {
        *error = bench->error;
        code = bench->code;
    }
    return code;
}

static void shares_print(struct step_bench *bench, struct bench_tally *tally)
{
    static const double least = 0.005;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        char what[WHAT_BYTES];
        snprintf(what, sizeof what, "of which %s", opcode_name((enum opcode)opcode));
        struct bench_row row = bench_row_open(what, "of the step");
        double sum = 0;
        for (int i = 0; i < bench->step.count; i++) {
            bench_row_add(&row, bench->shares[opcode][i]);
            sum += bench->shares[opcode][i];
        }
        if (sum > least * bench->step.count) {
            bench_row_print(&row, tally);
        }
    }
}

static void case_print(struct step_bench *bench, const struct status *peer_error, struct bench_tally *tally)
{
    bench_row_print(&bench->step, tally);
    shares_print(bench, tally);
    bench_row_print(&bench->products_alone, tally);
    bench_row_print(&bench->of_products, tally);
    if (bench->has_peer) {
        bench_row_print(&bench->torch, tally);
        bench_row_print(&bench->of_torch, tally);
    } else {
        bench_row_leave_empty("the step, of that of PyTorch", status_line(peer_error, (char[STATUS_LINE_BYTES]){0}));
    }
}

static void case_measure(const struct bench_device *on, const struct step_case *step_case, const char *python,
                         struct bench_tally *tally)
{
    struct step_bench bench = {.step_case = step_case};
    struct status error = {0}, peer_error = {0};
    char what[WHAT_BYTES], torch[WHAT_BYTES];
    const struct peer_case peer_case = {.python = python,
                                        .model = step_case->peer_model,
                                        .precision = step_case->precision,
                                        .device = on->is_host ? "cpu" : on->spec,
                                        .batch = step_case->batch,
                                        .seq = step_case->seq,
                                        .threads = bench_thread_count()};
    bench.has_peer = peer_open(&peer_case, &bench.peer, &peer_error) == STATUS_OK;
    snprintf(what, sizeof what, "training step, %s", step_case->what);
    snprintf(torch, sizeof torch, "the step by %s", bench.peer.version);
    bench.step = bench_row_open(what, "s");
    bench.products_alone = bench_row_open("the step's matrix products alone", "s");
    bench.torch = bench_row_open(torch, "s");
    bench.of_products = bench_row_open("the step, of its matrix products", "of their time");
    bench.of_torch = bench_row_open("the step, of that of PyTorch", "of its time");
    bench.of_products.at_most = on->is_host ? 1.25 : 0;
    bench.of_torch.at_most = 1.0;
    if (case_replay(&bench, on, &error) == STATUS_OK) {
        case_print(&bench, &peer_error, tally);
    } else {
        bench_row_fail(what, &error, tally);
    }
    peer_close(&bench.peer);
}

void bench_steps(const struct bench_device *bench, const char *python, struct bench_tally *tally)
{
    const struct step_case *cases = bench->quick ? quick_cases : bench->is_host ? host_cases : cuda_cases;
    size_t count = sizeof host_cases / sizeof host_cases[0];
    if (!bench->quick && !bench->is_host) {
        count = sizeof cuda_cases / sizeof cuda_cases[0];
    }
    for (size_t i = 0; i < count; i++) {
        case_measure(bench, &cases[i], python, tally);
    }
}
