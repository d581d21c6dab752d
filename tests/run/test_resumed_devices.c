/* A run that goes on, or is finished, is of one device and one set of constants: what else is here today is refused,
 * and nothing is measured or written. */
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

#include "harness/base/file_replace.h"
#include "tests/run/run_scene.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

static const char *driver, *library;
static bool is_here;
static int started_count;
static char reference[96];

static void device_tell(void *context, const struct case_job *job, int file)
{
    (void)context;
    (void)job;
    if (is_here) {
        dprintf(file,
                "{\"kind\": \"host\", \"uuid\": null, \"pci_bus_id\": null, \"name\": \"a CPU\", \"threads\": 2, "
                "\"driver\": \"%s\", \"runtime\": \"r\", \"libraries\": [\"%s\"]}\n",
                driver, library);
    } else {
        dprintf(file, "{\"kind\": null, \"uuid\": null, \"pci_bus_id\": null}\n");
    }
}

/* As a case that predicts with the constants that it finds for its device. */
static void case_measure(void *context, const struct case_job *job, int file)
{
    (void)context;
    struct constants found;
    bool is_found = false;
    char words[256] = "null";
    dprintf(file,
            "{\"device\": {\"kind\": \"host\", \"name\": \"a CPU\", \"threads\": 2, \"spec\": \"auto\", "
            "\"target\": \"host\", \"total_bytes\": null, \"driver\": null, \"runtime\": null, \"pci_bus_id\": null, "
            "\"uuid\": null, \"shared\": false}}\n");
    if (job->reference_dir != NULL &&
        constants_find(job->reference_dir, "host", "a CPU", 2, &found, &is_found, NULL) == STATUS_OK && is_found) {
        snprintf(words, sizeof words,
                 "{\"path\": \"c.json\", \"hash\": \"%s\", \"kind\": \"host\", \"name\": null, \"driver\": null, "
                 "\"calibrated\": false}",
                 found.hash);
    }
    if (job->case_->identity.workload.batch == 17) { /* it ends before it predicts anything */
        return;
    }
    dprintf(file,
            "{\"estimates\": {\"replay\": null}, \"constants\": %s, \"status\": \"skip\", \"reason\": \"none\"}\n",
            words);
}

static const struct case_runner RUNNER = {.run = case_measure, .identify = device_tell};

static void attempt_started(void *context, const struct suite_case *case_, int attempt, int done, int total)
{
    (void)context;
    (void)case_;
    (void)attempt;
    (void)done;
    (void)total;
    started_count++;
}

static struct run_options options_resuming(const struct scene *scene)
{
    struct run_options options = options_of(scene);
    options.runner = &RUNNER;
    options.resume = true;
    options.progress.started = attempt_started;
    options.reference_dir = reference[0] != '\0' ? reference : NULL;
    started_count = 0;
    return options;
}

/* Those of the class "a CPU" under REFERENCE, as somebody calibrated them who found so many bytes of context. */
static void constants_set(const struct scene *scene, int64_t bytes)
{
    struct constants constants = {.device = {.kind = "host", .name = "a CPU", .thread_count = 2, .target = "host"},
                                  .tool_version = "1.2.3",
                                  .cases = {"m"},
                                  .case_count = 1,
                                  .growth = {{.mode = "infer"}},
                                  .growth_count = 1};
    struct text text = {0};
    char folder[160], path[200], slug[CONSTANTS_NAME_BYTES];
    snprintf(reference, sizeof reference, "%s/reference", scene->folder);
    snprintf(folder, sizeof folder, "%s/%s", reference, device_slug("host", "a CPU", slug));
    mkdir(reference, 0700);
    mkdir(folder, 0700);
    constants.context.process = (struct constants_spread){true, bytes, bytes, bytes, 1};
    struct json *document = constants_to_json(&constants);
    snprintf(path, sizeof path, "%s/constants.json", folder);
    assert_int_equal(json_write(document, 2, &text, NULL), STATUS_OK);
    assert_int_equal(file_replace(path, FILE_NAMED, &text, NULL), STATUS_OK);
    json_release(document);
    text_release(&text);
}

/* A run of two cases, of which `lines` lines stay: 5 are all of it, 3 a run that was killed after its first case. */
static void run_leave(struct scene *scene, int lines)
{
    driver = "driver 1";
    library = "BLAS 1";
    is_here = true;
    suite_release(&scene->suite); /* of the run before it */
    suite_set(scene, "batch: [1, 16]");
    struct run_options options = options_resuming(scene);
    options.resume = false;
    if (run_with(scene, &options) != RUN_SKIPPED) {
        fail_msg("%s", scene->result.reason);
    }
    char *text = whole_file_read(scene->file), *end = text;
    for (int i = 0; i < lines; i++) {
        end = strchr(end, '\n') + 1;
    }
    assert_int_equal(truncate(scene->file, end - text), 0);
    free(text);
}

static void refused_check(struct scene *scene, const char *words)
{
    struct run_options options = options_resuming(scene);
    char *before = whole_file_read(scene->file);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    const char *said = STATUS_SAID(&scene->error);
    if (strstr(said, words) == NULL || strstr(said, "leave --resume out, which begins another run") == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", said, words);
    }
    char *after = whole_file_read(scene->file);
    assert_string_equal(after, before);
    assert_int_equal(started_count, 0);
    free(before);
    free(after);
}

static void accepted_check(struct scene *scene, int started)
{
    struct run_options options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    assert_int_equal(started_count, started);
}

static const int KEPT[] = {3, 5}, LEFT[] = {1, 0}; /* lines that stay; cases that are then to be measured */

static void another_device_is_refused(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++) {
        unlink(scene->file);
        run_leave(scene, KEPT[i]);
        driver = "driver 2";
        refused_check(scene, "the driver of device auto was driver 1, and is driver 2");
        driver = "driver 1";
        library = "BLAS 2";
        refused_check(scene, "the libraries of device auto was [\"BLAS 1\"], and is [\"BLAS 2\"]");
        library = "BLAS 1";
        is_here = false;
        refused_check(scene, "device auto was a CPU, and is not here");
        is_here = true;
        accepted_check(scene, LEFT[i]);
    }
}

static void other_constants_are_refused(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++) {
        char path[200];
        unlink(scene->file);
        constants_set(scene, 1000);
        run_leave(scene, KEPT[i]);
        constants_set(scene, 1001);
        refused_check(scene, "the hash of the constants of a CPU was ");
        snprintf(path, sizeof path, "%s/host-a-cpu/constants.json", reference);
        assert_int_equal(unlink(path), 0);
        refused_check(scene, ", and is not set; ");
        constants_set(scene, 1000);
        accepted_check(scene, LEFT[i]);
    }
}

static void constants_that_came_later_are_refused(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++) {
        unlink(scene->file);
        snprintf(reference, sizeof reference, "%s/nothing", scene->folder);
        run_leave(scene, KEPT[i]);
        constants_set(scene, 1000);
        refused_check(scene, "the hash of the constants of a CPU was not set, and is ");
    }
}

/* A child that ended before it had looked for constants used none, and says nothing of them. */
static void cases_that_never_predicted_say_nothing_of_constants(void **state)
{
    struct scene *scene = *state;
    constants_set(scene, 1000);
    run_leave(scene, 5);
    suite_release(&scene->suite);
    suite_set(scene, "batch: [17, 16]");
    struct run_options options = options_resuming(scene);
    unlink(scene->file);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    assert_true(scene->result.finished);
}

/* Nothing is measured: another run that has the device is no matter, and neither is a folder for locks. */
static void a_finished_run_locks_nothing(void **state)
{
    struct scene *scene = *state;
    reference[0] = '\0';
    run_leave(scene, 5);
    struct run_options options = options_resuming(scene);
    options.lock_folder = "/nonexistent/locks";
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    assert_true(scene->result.finished);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_device_is_refused),
        TEST(other_constants_are_refused),
        TEST(constants_that_came_later_are_refused),
        TEST(cases_that_never_predicted_say_nothing_of_constants),
        TEST(a_finished_run_locks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
