/* Scene: children that measure, crash, hang or lie, and the run around them. Holds no test. */
#include "tests/run/run_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch_folder.h"

#define STAGE                                                                                                          \
    "{\"requested_bytes\": 900, \"requested_bytes_peak\": 1000, \"allocated_bytes\": 1024, "                           \
    "\"allocated_bytes_peak\": 2048, \"reserved_bytes\": 4096, \"reserved_bytes_peak\": 4096, \"device_bytes\": "      \
    "null, "                                                                                                           \
    "\"process_bytes\": 9000, \"process_bytes_peak\": 9500, \"seconds\": 0.5, \"categories_at_peak\": {\"weights\": "  \
    "1000}}"
#define ESTIMATES                                                                                                      \
    "{\"estimates\": {\"replay\": {\"requested_bytes_peak\": 1000, \"allocated_bytes_peak\": 2048, "                   \
    "\"reserved_bytes_peak\": 4096}, \"rule\": {\"total_bytes\": 1024}, \"silent\": {\"total_bytes\": null}}}\n"
#define RESULT                                                                                                         \
    "{\"status\": \"ok\", \"stages\": {\"load\": " STAGE                                                               \
    "}, \"context\": {\"device_bytes\": null, \"process_bytes\": "                                                     \
    "5000}, \"peak_stage\": \"load\", \"id\": \"forged\", \"surprise\": 1}\n"

#define PREDICTED                                                                                                      \
    "{\"estimates\": {\"replay\": {\"reserved_bytes_peak\": 4096, \"process_bytes\": 4400, \"footprint_bytes\": "      \
    "9400}}}\n"
#define CONSTANTS(calibrated)                                                                                          \
    "{\"constants\": {\"path\": \"c.json\", \"hash\": \"00\", \"kind\": \"host\", \"name\": null, \"driver\": null, "  \
    "\"calibrated\": " calibrated "}}\n"
#define CONVOLUTIONS                                                                                                   \
    "{\"convolutions\": {\"library\": \"cuDNN 9.19.0\", \"note\": null, \"library_call_count\": 1, "                   \
    "\"own_call_count\": 0, "                                                                                          \
    "\"forms\": []}}\n"
#define DEVICE_STAGE                                                                                                   \
    "{\"requested_bytes\": 1, \"requested_bytes_peak\": 1, \"allocated_bytes\": 1, \"allocated_bytes_peak\": 1, "      \
    "\"reserved_bytes\": 4096, \"reserved_bytes_peak\": 4096, \"device_bytes\": 11500, \"process_bytes\": null, "      \
    "\"process_bytes_peak\": null, \"seconds\": null, \"categories_at_peak\": null}"

static void say(int file, const char *text)
{
    if (write(file, text, strlen(text)) < 0) {
        _exit(9);
    }
}

static void flood(int file)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    for (;;) {
        if (write(file, block, sizeof block) < 0) {
            _exit(9);
        }
    }
}

/* Cases whose predictions were made with constants. */
static void measured_say(int64_t what, int file)
{
    switch (what) {
    case DO_MEASURE_CALIBRATED:
        say(file, PREDICTED CONSTANTS("true") RESULT);
        break;
    case DO_MEASURE_JUDGED:
        say(file, PREDICTED CONSTANTS("false") RESULT);
        break;
    case DO_MEASURE_STALE:
        say(file,
            PREDICTED CONSTANTS("false, \"mismatch\": \"the constants were measured under driver 1, not 2\"") RESULT);
        break;
    case DO_MEASURE_CUDNN:
        say(file, PREDICTED CONSTANTS("false") CONVOLUTIONS RESULT);
        break;
    case DO_MEASURE_INVALID:
        say(file,
            PREDICTED CONSTANTS("false") "{\"validity\": {\"valid\": false, \"reasons\": [\"swapped\"]}}\n" RESULT);
        break;
    case DO_MEASURE_DEVICE:
        say(file, PREDICTED "{\"status\": \"ok\", \"stages\": {\"load\": " DEVICE_STAGE "}, \"context\": "
                            "{\"device_bytes\": 7000, \"process_bytes\": null, \"baseline_bytes\": 2000}}\n");
        break;
    default:
        break;
    }
}

static void child_run(void *context, const struct case_job *job, int file)
{
    (void)context;
    switch (job->case_->identity.workload.batch) {
    case DO_MEASURE:
        say(file, ESTIMATES);
        say(file, RESULT);
        break;
    case DO_CRASH:
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn it into an exit code */
        raise(SIGSEGV);
        break;
    case DO_HANG:
        for (;;) {
            pause();
        }
    case DO_SKIP:
        say(file, "{\"status\": \"skip\", \"reason\": \"no such device; plug one in\"}\n");
        break;
    case DO_OOM:
        say(file, ESTIMATES "{\"status\": \"oom\", \"reason\": \"no memory\", \"oom\": {\"wanted_bytes\": 7, "
                            "\"held_bytes\": 5, \"stage\": \"load\", \"label\": \"w\"}}\n");
        break;
    case DO_GARBAGE:
        say(file, "segmentation of the brain\n");
        break;
    case DO_EXIT:
        _exit(3);
    case DO_LIE:
        say(file, "{\"status\": \"ok\", \"stages\": {\"load\": {\"requested_bytes\": -1}}}\n");
        break;
    case DO_FLOOD:
        flood(file);
        break;
    case DO_KILLED:
        raise(SIGKILL);
        break;
    case DO_ABORT_AFTER_ESTIMATES:
        say(file, ESTIMATES);
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
        break;
    case DO_UNKNOWN_STATUS:
        say(file, "{\"status\": \"fine\"}\n");
        break;
    case DO_HALF_LINE:
        say(file, "{\"status\": \"ok\"}");
        break;
    case DO_NAME_DEVICE:
        dprintf(file, "{\"status\": \"skip\", \"reason\": \"%s\"}\n", job->device);
        break;
    default:
        measured_say(job->case_->identity.workload.batch, file);
        break;
    }
}

static bool estimator_known(const char *name)
{
    return strcmp(name, "replay") == 0 || strcmp(name, "rule") == 0 || strcmp(name, "silent") == 0;
}

static const struct case_runner RUNNER = {.run = child_run, .knows_estimator = estimator_known};

int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-run-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        free(scene);
        return -1;
    }
    snprintf(scene->file, sizeof scene->file, "%s/records.jsonl", scene->folder);
    *state = scene;
    return 0;
}

int scene_close(void **state)
{
    struct scene *scene = *state;
    record_file_release(&scene->records);
    suite_release(&scene->suite);
    scratch_folder_remove(scene->folder);
    free(scene);
    return 0;
}

/* A suite with one case of tiny-bert; rest: its further keys. Models are not looked up. */
void suite_set(struct scene *scene, const char *rest)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "version: 1\nname: t\ncases:\n  - {model: m, mode: infer, %s}\n", rest);
    if (suite_read_text("s.yaml", text, (size_t)length, NULL, &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
}

void cases_set(struct scene *scene, const char *cases)
{
    suite_release(&scene->suite);
    char text[1024];
    int length = snprintf(text, sizeof text, "version: 1\nname: t\ncases:\n%s", cases);
    if (suite_read_text("s.yaml", text, (size_t)length, "models/catalogue", &scene->suite, &scene->error) !=
        STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
}

struct run_options options_of(const struct scene *scene)
{
    return (struct run_options){.suite = &scene->suite,
                                .runner = &RUNNER,
                                .folder = scene->folder,
                                .lock_folder = scene->folder,
                                .jobs = 1,
                                .catalogue_dir = "models/catalogue",
                                .version = "1.2.3"};
}

/* Runs and reads back; -1 where it failed. */
enum run_outcome run_with(struct scene *scene, const struct run_options *options)
{
    if (run_suite(options, &scene->result, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    record_file_release(&scene->records);
    if (record_file_read(scene->folder, &scene->records, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    return scene->result.outcome;
}

enum run_outcome measure(struct scene *scene, const char *device)
{
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = device;
    return run_with(scene, &options);
}

enum run_outcome run_of(struct scene *scene, const char *rest)
{
    suite_set(scene, rest);
    struct run_options options = options_of(scene);
    return run_with(scene, &options);
}

const struct json *case_at(const struct scene *scene, int index)
{
    const struct record_run *run = &scene->records.runs[scene->records.run_count - 1];
    assert_true(index < run->case_count);
    return run->cases[index];
}

const char *text_at(const struct json *object, const char *key)
{
    return json_string_or(json_get(object, key), "(null)");
}

int64_t integer_at(const struct json *object, const char *key)
{
    return json_integer_or(json_get(object, key), -1);
}

const struct json *verdict_at(const struct json *line, const char *estimator, const char *quantity)
{
    const struct json *verdicts = json_get(line, "verdicts");
    for (size_t i = 0; i < json_count(verdicts); i++) {
        const struct json *verdict = json_at(verdicts, i);
        if (strcmp(text_at(verdict, "estimator"), estimator) == 0 &&
            strcmp(text_at(verdict, "quantity"), quantity) == 0) {
            return verdict;
        }
    }
    return NULL;
}
