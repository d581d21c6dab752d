/* Records fixture: a small model of what a run leaves. Footprints follow the usual proportions (weights, equal
 * gradients, two optimizer states, activations that grow with tokens), so that tables and plots look like real ones. */
#include "tests/report/records_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/scratch_folder.h"

/* Members that every case line must have, where a test has nothing to say with them. */
#define IDENTITY_REST                                                                                                  \
    "\"precision\":\"float32\",\"batch\":1,\"seq\":null,\"attention\":null,\"optimizer\":null,"                        \
    "\"checkpointing\":null,\"accumulate\":null,\"logits\":null,\"head\":null}"
#define STAGE_REST                                                                                                     \
    "\"requested_bytes_peak\":null,\"allocated_bytes_peak\":null,\"reserved_bytes_peak\":null,\"device_bytes\":null,"  \
    "\"process_bytes\":null,\"process_bytes_peak\":null,\"seconds\":null,\"categories_at_peak\":null}"
#define CASE_REST_BUT_ATTEMPT                                                                                          \
    "\"context\":null,\"peak_stage\":null,\"causes\":null,\"saved_for_backward_bytes\":null,\"loss\":null,"            \
    "\"sequence_hash\":null"
#define CASE_REST "\"attempt\":1," CASE_REST_BUT_ATTEMPT

static const int64_t mib = 1024 * 1024;

struct fixture_model {
    const char *name;
    int64_t weight_bytes;           /* float32 */
    int64_t activation_bytes_token; /* kept for the backward pass, per token or image */
    int seq;                        /* 0: images */
};

static const struct fixture_model models[] = {
    {"bert-base-cased", 433241088, 850000, 128},
    {"bert-large-uncased", 1340567552, 2300000, 128},
    {"gpt2", 497759232, 1100000, 256},
    {"gpt2-xl", 6230444800, 9000000, 256},
    {"google/vit-base-patch16-224", 346315776, 170000000, 0},
    {"timm/resnet50.a1_in1k", 102228128, 86000000, 0},
    {"timm/resnet152.a1_in1k", 240771232, 210000000, 0},
    {"meta-llama/Llama-3.2-1B", 4943259648, 5200000, 512},
    {"Qwen/Qwen2-0.5B-Instruct-and-a-rather-long-suffix-for-a-name", 1976131072, 4100000, 512},
    {"mistralai/Mistral-7B-v0.1", 28966928384, 21000000, 512},
};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

struct fixture_case {
    const struct fixture_model *model;
    const char *mode, *precision, *attention, *status, *reason;
    int batch;
    double bias;          /* of the prediction */
    const char *validity; /* as in a record; NULL: valid */
};

/* Bytes of a case, before rounding by the allocator. */
struct fixture_bytes {
    int64_t weights, gradients, optimizer, activations, temporaries, workspace, inputs;
};

static bool mode_is(const struct fixture_case *one, const char *mode)
{
    return strcmp(one->mode, mode) == 0;
}

static struct fixture_bytes bytes_make(const struct fixture_case *one)
{
    int64_t divisor = strcmp(one->precision, "float32") == 0 ? 1 : 2;
    int64_t tokens = one->model->seq > 0 ? (int64_t)one->batch * one->model->seq : one->batch;
    struct fixture_bytes bytes = {.weights = one->model->weight_bytes / divisor};
    if (!mode_is(one, "load")) {
        bytes.inputs = one->model->seq > 0 ? tokens * 8 : tokens * 3 * 224 * 224 * 4 / divisor;
        bytes.workspace = 32 * mib;
        bytes.temporaries = one->model->activation_bytes_token / 16 * tokens / divisor;
        bytes.activations = one->model->activation_bytes_token / 24 * tokens / divisor;
    }
    if (mode_is(one, "train")) {
        bytes.activations = one->model->activation_bytes_token * tokens / divisor;
        bytes.gradients = bytes.weights;
        bytes.optimizer = 2 * bytes.weights;
    }
    return bytes;
}

static int64_t rounded(int64_t bytes, int64_t step)
{
    return (bytes + step - 1) / step * step;
}

static int64_t reserved_make(int64_t allocated_bytes)
{
    return rounded(allocated_bytes, 2 * mib) + 4 * mib;
}

static int64_t cached_make(int64_t allocated_bytes)
{
    return reserved_make(allocated_bytes) - allocated_bytes;
}

/* 510 MiB of context, 1 of kernels, 2 of libraries, no workspaces. */
static void items_write(FILE *file, const char *name, int64_t reserved_bytes, int64_t baseline_bytes,
                        int64_t remainder_bytes)
{
    fprintf(file, ",\"%s\":{", name);
    if (baseline_bytes > 0) {
        fprintf(file, "\"baseline_bytes\":%" PRId64 ",", baseline_bytes);
    }
    fprintf(file,
            "\"context_bytes\":%" PRId64 ",\"kernel_bytes\":%" PRId64 ",\"library_bytes\":%" PRId64
            ",\"workspace_bytes\":0,\"segment_bytes\":%" PRId64 ",\"remainder_bytes\":%" PRId64 "}",
            510 * mib, mib, 2 * mib, reserved_bytes, remainder_bytes);
}

/* One stage; slack_bytes is what the allocator adds to the requested bytes. */
static void stage_write(FILE *file, const char *name, int64_t end_bytes, int64_t peak_bytes, int64_t slack_bytes,
                        bool measured)
{
    int64_t reserved_bytes = reserved_make(peak_bytes + slack_bytes);
    fprintf(file,
            "\"%s\":{\"requested_bytes\":%" PRId64 ",\"requested_bytes_peak\":%" PRId64 ",\"allocated_bytes\":%" PRId64
            ",\"allocated_bytes_peak\":%" PRId64 ",\"reserved_bytes\":%" PRId64 ",\"reserved_bytes_peak\":%" PRId64,
            name, end_bytes, peak_bytes, end_bytes + slack_bytes, peak_bytes + slack_bytes, reserved_bytes,
            reserved_bytes);
    if (measured) {
        fprintf(file,
                ",\"device_bytes\":%" PRId64 ",\"process_bytes\":%" PRId64
                ",\"process_bytes_peak\":null,\"seconds\":0.25,\"categories_at_peak\":null",
                reserved_bytes + 518 * mib, reserved_bytes + 522 * mib);
        items_write(file, "device_items", reserved_bytes, 4 * mib, mib);
        items_write(file, "process_items", reserved_bytes, 0, 9 * mib);
    }
    fprintf(file, "}");
}

/* "stages", "peak_stage", "categories_at_peak", "saved_for_backward_bytes". Returns the requested peak. */
static int64_t footprint_write(FILE *file, const struct fixture_case *one, double scale, bool measured)
{
    struct fixture_bytes b = bytes_make(one);
    b.activations = (int64_t)((double)b.activations * scale);
    b.temporaries = (int64_t)((double)b.temporaries * scale);
    bool load = mode_is(one, "load"), train = mode_is(one, "train");
    int64_t slack_bytes = mib / 2;
    int64_t state_bytes = b.weights + b.optimizer + 8192;
    int64_t forward_bytes = state_bytes + b.inputs + b.workspace + b.activations;
    int64_t peak_bytes = load ? b.weights + 8192 : forward_bytes + (train ? b.gradients : 0) + b.temporaries;
    fprintf(file, "\"stages\":{");
    stage_write(file, "load", b.weights + 8192, b.weights + 8192, slack_bytes, measured);
    if (!load) {
        fprintf(file, ",");
        stage_write(file, "forward", forward_bytes, forward_bytes + b.temporaries, slack_bytes, measured);
    }
    if (train) {
        fprintf(file, ",");
        stage_write(file, "backward", state_bytes + b.gradients + b.workspace, peak_bytes, slack_bytes, measured);
        fprintf(file, ",");
        stage_write(file, "step", state_bytes + b.gradients + b.workspace,
                    state_bytes + b.gradients + b.workspace + b.weights, slack_bytes, measured);
        int64_t step_bytes = state_bytes + b.gradients + b.workspace + b.weights;
        peak_bytes = step_bytes > peak_bytes ? step_bytes : peak_bytes;
    }
    bool at_step = train && peak_bytes == state_bytes + b.gradients + b.workspace + b.weights;
    fprintf(file,
            "},\"peak_stage\":\"%s\",\"categories_at_peak\":{\"weights\":%" PRId64
            ",\"buffers\":8192,\"gradients\":%" PRId64 ",\"optimizer\":%" PRId64
            ",\"master_weights\":0,\"activations\":%" PRId64 ",\"temporaries\":%" PRId64
            ",\"kv_cache\":0,\"workspace\":%" PRId64 ",\"inputs\":%" PRId64 "}",
            load      ? "load"
            : at_step ? "step"
            : train   ? "backward"
                      : "forward",
            b.weights, b.gradients, b.optimizer, at_step ? 0 : b.activations, at_step ? b.weights : b.temporaries,
            b.workspace, at_step ? 0 : b.inputs);
    fprintf(file, ",\"saved_for_backward_bytes\":%" PRId64, train ? b.activations : 0);
    return peak_bytes;
}

static void estimates_write(FILE *file, const struct fixture_case *one, double scale, int64_t *requested_bytes)
{
    struct fixture_bytes b = bytes_make(one);
    fprintf(file, ",\"estimates\":{\"replay\":{");
    *requested_bytes = footprint_write(file, one, scale, false);
    fprintf(file,
            ",\"requested_bytes_peak\":%" PRId64 ",\"allocated_bytes_peak\":%" PRId64
            ",\"reserved_bytes_peak\":%" PRId64 "}",
            *requested_bytes, *requested_bytes + mib / 2, reserved_make(*requested_bytes + mib / 2));
    bool train = mode_is(one, "train");
    fprintf(file, ",\"accelerate\":{\"total_bytes\":%" PRId64 "}", b.weights * (train ? 4 : 1) + 8192);
    if (!mode_is(one, "load")) {
        int64_t eleutherai_bytes = train ? b.weights * 4 + b.activations * 7 / 10 : b.weights / 10 * 12;
        fprintf(file, ",\"anatomy\":{\"total_bytes\":%" PRId64 "},\"eleutherai\":{\"total_bytes\":%" PRId64 "}",
                b.weights * (train ? 4 : 1) + b.activations * 9 / 10, eleutherai_bytes);
    }
    fprintf(file, "}");
}

static void verdict_write(FILE *file, const char *estimator, const char *quantity, int64_t predicted_bytes,
                          int64_t measured_bytes, double tolerance)
{
    int64_t error_bytes = predicted_bytes - measured_bytes;
    double error = (double)error_bytes / (double)measured_bytes;
    fprintf(file,
            "{\"estimator\":\"%s\",\"quantity\":\"%s\",\"predicted\":%" PRId64 ",\"measured\":%" PRId64
            ",\"signed_error_bytes\":%" PRId64 ",\"signed_error\":%.9f,\"tolerance\":{\"fraction\":%g},\"pass\":%s}",
            estimator, quantity, predicted_bytes, measured_bytes, error_bytes, error, tolerance,
            error <= tolerance && error >= -tolerance ? "true" : "false");
}

static void head_write(FILE *file, const struct fixture_case *one)
{
    const char *base = strrchr(one->model->name, '/');
    fprintf(file, "{\"type\":\"case\",\"id\":\"%s/%s/%s/b%d/%s\",", base != NULL ? base + 1 : one->model->name,
            one->mode, one->precision, one->batch, one->attention);
    fprintf(file, "\"identity\":{\"model\":\"%s\",\"mode\":\"%s\",\"precision\":\"%s\",\"batch\":%d,", one->model->name,
            one->mode, one->precision, one->batch);
    if (one->model->seq > 0) {
        fprintf(file, "\"seq\":%d,", one->model->seq);
    } else {
        fprintf(file, "\"seq\":null,");
    }
    fprintf(
        file,
        "\"attention\":\"%s\",\"optimizer\":\"adam-foreach\",\"checkpointing\":false,\"accumulate\":1,"
        "\"logits\":\"all\",\"head\":\"%s\"},\"status\":\"%s\",\"reason\":\"%s\","
        "\"attempt\":1,\"duration_s\":1.25,\"device\":{\"kind\":\"cuda\",\"name\":\"NVIDIA H200\",\"spec\":\"cuda:0\","
        "\"target\":\"sm_90\",\"total_bytes\":150754820096,\"driver\":null,\"runtime\":null,\"pci_bus_id\":null,"
        "\"uuid\":null},\"loss\":null,\"sequence_hash\":null",
        one->attention, mode_is(one, "load") ? "bare" : "lm", one->status, one->reason);
}

static void measured_write(FILE *file, const struct fixture_case *one)
{
    int64_t predicted_bytes;
    fprintf(file, ",\"context\":{\"device_bytes\":%" PRId64 ",\"process_bytes\":null},", 514 * mib);
    fprintf(file, "\"validity\":%s,", one->validity != NULL ? one->validity : "{\"valid\":true,\"reasons\":[]}");
    int64_t measured_bytes = footprint_write(file, one, 1.0, true);
    fprintf(file,
            ",\"causes\":{\"load\":{\"rounding_bytes\":0,\"unsplit_remainder_bytes\":%" PRId64
            ",\"unsplit_remainder_count\":1,\"cached_bytes\":%" PRId64 "},\"end\":{\"rounding_bytes\":1536,"
            "\"unsplit_remainder_bytes\":%" PRId64 ",\"unsplit_remainder_count\":2,\"cached_bytes\":%" PRId64 "}}",
            mib / 2, cached_make(bytes_make(one).weights + 8192 + mib / 2), mib / 2 - 1536, 6 * mib);
    estimates_write(file, one, 1.0 + one->bias, &predicted_bytes);
    fprintf(file, ",\"oom\":null,\"verdicts\":[");
    verdict_write(file, "replay", "allocated_bytes_peak", predicted_bytes + mib / 2, measured_bytes + mib / 2, 0.05);
    if (one->validity != NULL) { /* would be the worst of all, if it counted */
        fprintf(file, ",{\"estimator\":\"replay\",\"quantity\":\"device_bytes\",\"predicted\":1048576,\"measured\":"
                      "4194304,\"signed_error_bytes\":-3145728,\"signed_error\":-0.75,\"tolerance\":{\"bytes\":0},"
                      "\"pass\":null,\"note\":\"the row is invalid\"}");
    }
    fprintf(file, "]");
}

static void case_write(FILE *file, const struct fixture_case *one)
{
    int64_t ignored_bytes;
    bool oom = strcmp(one->status, "oom") == 0;
    head_write(file, one);
    if (strcmp(one->status, "ok") == 0 || strcmp(one->status, "fail") == 0) {
        measured_write(file, one);
        fprintf(file, "}\n");
        return;
    }
    fprintf(file, ",\"stages\":%s", oom ? "{" : "null");
    if (oom) { /* what had been measured before the memory was full */
        int64_t loaded_bytes = bytes_make(one).weights + 8192;
        stage_write(file, "load", loaded_bytes, loaded_bytes, mib / 2, true);
        fprintf(file, "}");
    }
    fprintf(file, ",\"context\":null,\"peak_stage\":null,\"categories_at_peak\":null,\"causes\":null,"
                  "\"saved_for_backward_bytes\":null,\"verdicts\":[],\"oom\":");
    if (oom) {
        fprintf(file,
                "{\"wanted_bytes\":%" PRId64 ",\"free_bytes\":%" PRId64 ",\"held_bytes\":%" PRId64
                ",\"stage\":\"step\",\"label\":\"exp_avg_sq\"}",
                112 * mib, 96 * mib, 81000 * mib);
        estimates_write(file, one, 1.0, &ignored_bytes);
    } else {
        fprintf(file, "null,\"estimates\":null");
    }
    fprintf(file, "}\n");
}

static void small_write(FILE *file)
{
    static const char disturbed[] =
        "{\"valid\":false,\"reasons\":[\"another process (4242) held 1073741824 bytes (1.00 "
        "GiB) of the GPU at the end of stage load\",\"ECC was switched off before the end of "
        "stage load\"]}";
    const struct fixture_case cases[] = {
        {&models[0], "load", "float32", "sdpa", "ok", "", 1, 0.0, disturbed},
        {&models[5], "train", "float32", "sdpa", "fail", "replay: allocated peak off by -7.44 %", 8, -0.12, NULL},
        {&models[9], "train", "float32", "sdpa", "oom", "", 4, 0.0, NULL},
        {&models[8], "infer", "bfloat16", "eager", "skip", "no CUDA driver here; run with --device host", 1, 0.0, NULL},
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        case_write(file, &cases[index]);
    }
}

static void large_write(FILE *file)
{
    static const int batches[] = {1, 8, 32};
    for (int index = 0; index < MODEL_COUNT; index++) {
        const struct fixture_model *model = &models[index];
        double bias = 0.008 * (index % 7 - 3);
        struct fixture_case one = {model, "load", "float32", "sdpa", "ok", "", 1, 0.0, NULL};
        if (index < 6) {
            case_write(file, &one);
        }
        for (int at = 0; at < 3 && index != 3; at++) {
            one = (struct fixture_case){model, "infer", "bfloat16", "sdpa", "ok", "", batches[at], bias, NULL};
            if (at < 2 || index < 6) {
                case_write(file, &one);
            }
        }
        one = (struct fixture_case){model, "train", "float32", "sdpa", "ok", "", 8, bias, NULL};
        one.status = index == 9 ? "oom" : index == 4 ? "skip" : index == 6 ? "fail" : "ok";
        one.reason = index == 4 ? "the device was taken by another process" : "";
        one.bias = index == 6 ? -0.14 : bias;
        case_write(file, &one);
    }
    struct fixture_case eager = {&models[0], "infer", "bfloat16", "eager", "ok", "", 8, 0.0, NULL};
    case_write(file, &eager);
}

static void hostile_write(FILE *file)
{
    static const char *const names[] = {"pipe|and\\\"quote\\\"",           "<script>alert(1)</script>&amp;",
                                        "=HYPERLINK(\\\"x\\\")",           "-2+3",
                                        "esc\\u001b[31mred\\u0007",        "line\\nfeed,comma",
                                        "back`tick`*_[link](x)",           "right\\u202eleft\\u200bzero",
                                        "wide \\u6a21\\u578b @everyone #1"};
    for (size_t index = 0; index < sizeof names / sizeof names[0]; index++) {
        fprintf(file,
                "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"%s\",\"mode\":\"infer\"," IDENTITY_REST ","
                "\"status\":\"%s\",\"reason\":\"%s\",\"duration_s\":0.5,\"device\":null,\"oom\":null,"
                "\"validity\":{\"valid\":false,\"reasons\":[\"%s\"]},"
                "\"declined_products\":[{\"operation\":\"%s\",\"library\":\"%s\",\"status\":\"%s\",\"count\":2}],"
                "\"stages\":{\"load\":{\"requested_bytes\":null,\"allocated_bytes\":1048576,"
                "\"reserved_bytes\":null," STAGE_REST ",\"forward\":{\"requested_bytes\":null,"
                "\"allocated_bytes\":2097152,\"reserved_bytes\":null," STAGE_REST "},"
                "\"categories_at_peak\":{\"weights\":1048576,\"activations\":524288}," CASE_REST
                ",\"estimates\":{\"est<&|%zu\":{\"total_bytes\":1000000}},\"verdicts\":[]}\n",
                names[index], names[index], index == 0 ? "error" : "ok", names[index], names[index], names[index],
                names[index], names[index], index);
    }
}

static void nulls_write(FILE *file)
{
    static const char *const lines[] = {
        "{\"type\":\"case\",\"id\":\"nulls\",\"identity\":{\"model\":\"gpt2\",\"mode\":\"load\"," IDENTITY_REST
        ",\"status\":\"ok\",\"reason\":\"\",\"stages\":{\"load\":{\"requested_bytes\":1024,\"allocated_bytes\":null,"
        "\"reserved_bytes\":null," STAGE_REST "},\"categories_at_peak\":null,"
        "\"estimates\":{\"replay\":null,\"accelerate\":{\"total_bytes\":null}},"
        "\"verdicts\":[{\"estimator\":\"replay\",\"quantity\":\"requested_bytes_peak\",\"predicted\":null,"
        "\"measured\":1024,\"signed_error_bytes\":null,\"signed_error\":null,\"tolerance\":null,\"pass\":null}],"
        "\"duration_s\":null,\"device\":null,\"oom\":null," CASE_REST "}",
        "{\"type\":\"case\",\"id\":\"kinds\",\"identity\":{\"model\":\"m\",\"mode\":\"train\"," IDENTITY_REST
        ",\"status\":\"error\",\"reason\":null,\"stages\":null,\"categories_at_peak\":null,"
        "\"estimates\":{\"replay\":{\"stages\":[],\"requested_bytes_peak\":\"12\",\"allocated_bytes_peak\":-5}},"
        "\"verdicts\":[],\"duration_s\":null,\"device\":null,\"oom\":null," CASE_REST "}",
        "{\"type\":\"case\",\"id\":\"zero\",\"identity\":{\"model\":\"m\",\"mode\":\"load\"," IDENTITY_REST
        ",\"status\":\"ok\",\"reason\":\"\",\"stages\":{\"load\":{\"requested_bytes\":0,\"allocated_bytes\":0,"
        "\"reserved_bytes\":9223372036854775807," STAGE_REST "},\"categories_at_peak\":null,"
        "\"estimates\":{\"replay\":{\"requested_bytes_peak\":7,\"allocated_bytes_peak\":0,\"reserved_bytes_peak\":1}},"
        "\"verdicts\":[],\"duration_s\":null,\"device\":null,\"oom\":null," CASE_REST "}",
    };
    for (size_t index = 0; index < sizeof lines / sizeof lines[0]; index++) {
        fprintf(file, "%s\n", lines[index]);
    }
}

void records_fixture_write(const char *path, enum records_kind kind)
{
    static void (*const writers[])(FILE *) = {small_write, large_write, hostile_write, nulls_write};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":0},"
                  "\"run_id\":\"7f\",\"started\":\"2026-11-20T02:00:00Z\",\"suite\":{\"name\":\"quick\","
                  "\"path\":\"suites/quick.yaml\",\"plan_hash\":\"1\",\"case_count\":1,\"selected_count\":1},"
                  "\"hardware\":{\"host\":\"node7\"},\"tool\":{\"version\":\"0.1.0\"}}\n");
    if (kind != RECORDS_EMPTY) {
        writers[kind](file);
    }
    fprintf(file, "{\"type\":\"end\",\"finished\":\"2026-11-20T02:10:00Z\",\"interrupted\":false,\"counts\":{},"
                  "\"outcome\":\"pass\"}\n");
    assert_int_equal(fclose(file), 0);
}

void records_fixture_run(const char *path, int selected_count)
{
    char line[512];
    struct stat state;
    long long place =
        stat(path, &state) == 0 ? (long long)state.st_size : 0; /* in the file: an id that no other run has */
    snprintf(line, sizeof line,
             "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":0},\"run_id\":\"%lld\","
             "\"started\":\"2026-11-21T02:00:00Z\",\"suite\":{\"name\":\"quick\",\"path\":\"suites/quick.yaml\","
             "\"plan_hash\":\"1\",\"case_count\":%d,\"selected_count\":%d}}\n",
             place, selected_count, selected_count);
    records_fixture_append(path, line);
}

void records_fixture_case(const char *path, const char *id, const char *status, const char *allocated_bytes)
{
    records_fixture_estimates(path, id, status, allocated_bytes, "null", "[]");
}

/* From 1: how often the last run in the file has the case, and one more. */
static int attempt_next(const char *path, const char *id)
{
    char key[256], *line = NULL;
    size_t room = 0;
    int attempt = 1;
    FILE *file = fopen(path, "r");
    snprintf(key, sizeof key, "{\"type\":\"case\",\"id\":\"%s\",", id);
    while (file != NULL && getline(&line, &room, file) > 0) {
        attempt = strncmp(line, "{\"type\":\"run\"", 13) == 0 ? 1 : attempt;
        attempt += strncmp(line, key, strlen(key)) == 0 ? 1 : 0;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return attempt;
}

void records_fixture_estimates(const char *path, const char *id, const char *status, const char *allocated_bytes,
                               const char *estimates, const char *verdicts)
{
    char line[4096];
    snprintf(line, sizeof line,
             "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"%s\",\"mode\":\"load\"," IDENTITY_REST
             ",\"status\":\"%s\",\"reason\":null,\"stages\":{\"load\":{\"requested_bytes\":1024,"
             "\"allocated_bytes\":%s,\"reserved_bytes\":2097152," STAGE_REST "},\"categories_at_peak\":null,"
             "\"estimates\":%s,\"verdicts\":%s,\"duration_s\":null,\"device\":null,\"oom\":null,\"attempt\":%"
             "d," CASE_REST_BUT_ATTEMPT "}\n",
             id, id, status, allocated_bytes, estimates, verdicts, attempt_next(path, id));
    records_fixture_append(path, line);
}

void records_fixture_moded(const char *path, const char *id, const char *mode, const char *allocated_bytes,
                           const char *estimates)
{
    char line[4096];
    snprintf(line, sizeof line,
             "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"%s\",\"mode\":\"%s\"," IDENTITY_REST
             ",\"status\":\"ok\",\"reason\":null,\"stages\":{\"load\":{\"requested_bytes\":1024,"
             "\"allocated_bytes\":%s,\"reserved_bytes\":2097152," STAGE_REST "},\"categories_at_peak\":null,"
             "\"estimates\":%s,\"verdicts\":[],\"duration_s\":null,\"device\":null,\"oom\":null," CASE_REST "}\n",
             id, id, mode, allocated_bytes, estimates);
    records_fixture_append(path, line);
}

void records_fixture_append(const char *path, const char *line)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(line, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

char *folder_fixture_make(void)
{
    char *folder = strdup("/tmp/assay-report-XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    return folder;
}

void folder_fixture_remove(char *folder)
{
    (void)scratch_folder_remove(folder);
    free(folder);
}
