/* assay run: measures the cases of a suite, then prints the comparison and writes the report. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/base/shell_word.h"
#include "harness/base/size.h"
#include "harness/cli/case_suite.h"
#include "harness/cli/choice_options.h"
#include "harness/cli/command.h"
#include "harness/cli/constants_option.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/needed_gpu.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"
#include "harness/cli/program_revision.h"
#include "harness/cli/report_files.h"
#include "harness/cli/resource_path.h"
#include "harness/cli/run_choice.h"
#include "harness/cli/run_progress.h"
#include "harness/cli/run_shards.h"
#include "harness/cli/run_verbose.h"
#include "harness/cli/shard_option.h"
#include "harness/device/device_spec.h"
#include "harness/hardware/hardware.h"
#include "harness/report/escape.h"
#include "harness/run/run.h"

static const struct option_row options[] = {
    {"device", OPTION_VALUE, "D", "auto (default), meta, host, host:mem=SIZE, cuda, cuda:N or cuda:all"},
    {"out", OPTION_VALUE, "DIR", "where records and report go (default: results/ and the suite's name)"},
    CHOICE_OPTION_ROWS,
    {"repeat", OPTION_VALUE, "N", "attempts at each case (default: the suite's repeat, else 1)"},
    {"retries", OPTION_VALUE, "N", "begin a case up to N times again that crashed, was late or could not measure"},
    {"last-failed", OPTION_FLAG, NULL, "only cases that did not end well in the results in DIR; none: measure nothing"},
    {"resume", OPTION_FLAG, NULL, "go on with the run in DIR if it was interrupted; begin one if there is none"},
    {"max-failures", OPTION_VALUE, "N", "stop after N cases that failed or could not be measured (default: never)"},
    SHARD_OPTION_ROW,
    NIGHT_OPTION_ROW,
    {"constants", OPTION_VALUE, "DEVICE", "a device of results/reference, a file, or none (default: the device's own)"},
    {"fitting", OPTION_FLAG, NULL, "skip cases that are predicted not to fit what the device has free"},
    {"note-calibrated", OPTION_FLAG, NULL, "note what is beyond the suite's calibrated-gpu, and do not judge it"},
    {"jobs", OPTION_VALUE, "N", "cases measured at the same time (default: 1)"},
    {"need-gpu", OPTION_FLAG, NULL, "exit code 4 if a case is not on a GPU, or none opens; then nothing is measured"},
    {"share-device", OPTION_FLAG, NULL, "use a GPU beside other runs that share it too"},
    {"wait-device", OPTION_VALUE, "SECONDS",
     "how long to wait for a GPU that another run has, also as 5m (default: 0)"},
    {"prove", OPTION_FLAG, NULL, "run each case again with exactly the predicted bytes, and a granule less"},
    {"prove-estimators", OPTION_FLAG, NULL, "the same for the bytes of every estimator that has a peak"},
    {"junit", OPTION_VALUE, "FILE", "write this run as JUnit XML, also if it fails or is interrupted"},
    {"records-only", OPTION_FLAG, NULL, "write no report and no plots beside the records"},
    {"quiet", OPTION_FLAG, NULL, "print nothing but warnings and errors: no progress, no summary, no missing plots"},
    {"verbose", OPTION_FLAG, NULL,
     "what is looked for where, each step of a case, and every verdict, on standard error"},
    STRICT_OPTION_ROW,
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* For the run line; unknown hardware is no reason not to measure. */
static struct json *hardware_note(void)
{
    struct arena arena = {0};
    struct hardware hardware;
    struct status error = {0};
    struct json *note = NULL;
    char line[STATUS_LINE_BYTES];
    if (hardware_read(NULL, &arena, &hardware, &error) == STATUS_OK) {
        note = hardware_to_json(&hardware);
    } else {
        output_warning("assay: run: the hardware is recorded as unknown: %s", status_line(&error, line));
    }
    arena_release(&arena);
    return note;
}

/* The page shows the whole folder, and may come to another exit code than this run: then a message gives both. */
static void folder_outcome_tell(const struct report *report, const char *folder, const struct run_result *result)
{
    struct text reason = {0}, clean = {0};
    enum run_outcome together = report_outcome(report, &reason);
    if (together != result->outcome) {
        terminal_append(&clean, text_string(&reason));
        output_warning(
            "assay: run: this run comes to exit code %d; with cases of earlier runs in %s, which its pages show "
            "too, it "
            "is %d%s%s; name a new folder with --out for pages of one run",
            run_outcome_exit_code(result->outcome), folder, run_outcome_exit_code(together),
            clean.length > 0 ? ": " : "", text_string(&clean));
    }
    text_release(&clean);
    text_release(&reason);
}

/* The summary is printed first: it is there even if the disk has no room for the files. */
static enum status_code report_give(struct arena *arena, const struct report_folder *folder, bool with_files,
                                    const struct run_result *result, struct status *error)
{
    struct report *report = NULL;
    struct text summary = {0};
    struct text place = {0};
    const char *page = NULL;
    struct report_style style = {.width = terminal_width(stdout), .colour = terminal_is_lively(stdout)};
    enum status_code code = report_open(folder->path, &report, error);
    if (code == STATUS_OK) {
        code = report_render(report, REPORT_SUMMARY, &style, &summary, error);
    }
    if (code == STATUS_OK) {
        code = folder->is_quiet ? STATUS_OK : output_offer(&summary, error);
        folder_outcome_tell(report, folder->path, result);
    }
    if (code == STATUS_OK && with_files) {
        code = report_write(report, arena, folder, &page, error);
    }
    if (code == STATUS_OK && with_files && !folder->is_quiet) {
        text_format(&place, "report: %s, plots: %s/plots; every figure: assay report ", page, folder->path);
        shell_word_append(&place, folder->path);
        text_append(&place, "\n");
        code = output_offer(&place, error);
    }
    text_release(&place);
    text_release(&summary);
    report_release(report);
    return code;
}

/* "cuda:all", "GPU:all": every GPU, each for cases of its own. */
static bool is_all_gpus(const char *device)
{
    return strcasecmp(device, "cuda:all") == 0 || strcasecmp(device, "gpu:all") == 0;
}

static enum status_code options_read(const struct arguments *arguments, char device[DEVICE_SPEC_BYTES],
                                     struct run_options *run, struct status *error)
{
    bool is_quiet = arguments_value(arguments, "quiet") != NULL;
    bool is_verbose = arguments_value(arguments, "verbose") != NULL;
    const char *lock_folder = secure_getenv("ASSAY_LOCK_DIR");
    run->device = arguments_value(arguments, "device");
    run->runner = &case_runner_measure;
    run->version = ASSAY_VERSION;
    run->revision = program_revision();
    run->jobs = 1;
    run->can_share_device = true;
    run->share_device = arguments_value(arguments, "share-device") != NULL;
    run->need_gpu = arguments_value(arguments, "need-gpu") != NULL;
    run->fitting = arguments_value(arguments, "fitting") != NULL;
    run->note_calibrated = arguments_value(arguments, "note-calibrated") != NULL;
    run->proof = arguments_value(arguments, "prove-estimators") != NULL ? RUN_PROOF_ESTIMATORS
                 : arguments_value(arguments, "prove") != NULL          ? RUN_PROOF_REPLAY
                                                                        : RUN_PROOF_NONE;
    run->resume = arguments_value(arguments, "resume") != NULL;
    run->lock_folder = lock_folder != NULL && lock_folder[0] != '\0' ? lock_folder : NULL;
    if (is_quiet && is_verbose) {
        return status_set(error, STATUS_INVALID, "run: --quiet and --verbose contradict each other; leave one out");
    }
    run->progress = is_verbose ? run_progress_verbose() : run_progress_terminal(is_quiet);
    enum status_code code = number_option_read(arguments, "jobs", 1, RUN_JOBS_MAXIMUM, &run->jobs, error);
    if (code == STATUS_OK) {
        code =
            seconds_option_read(arguments, "wait-device", RUN_WAIT_SECONDS_MAXIMUM, &run->wait_device_seconds, error);
    }
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "retries", 0, RUN_RETRIES_MAXIMUM, &run->retries, error);
    }
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "max-failures", 1, SUITE_CASES_MAXIMUM, &run->max_failures, error);
    }
    if (code == STATUS_OK && run->device != NULL && is_all_gpus(run->device)) {
        run->all_gpus = true;
        run->device = "cuda";
    } else if (code == STATUS_OK && run->device != NULL) {
        code = device_spec_words(run->device, device, error);
        run->device = device;
    }
    return code;
}

/* Constants that are asked for are read once, before anything is measured; the others in the child, which knows the
 * device. */
static enum status_code constants_take(const char *name, struct arena *arena, struct run_options *run,
                                       struct constants *constants, struct status *error)
{
    if (name != NULL && strcmp(name, "none") == 0) {
        return STATUS_OK;
    }
    if (name == NULL) {
        run->reference_dir = resource_path(arena, "results/reference");
        return run->reference_dir != NULL
                   ? STATUS_OK
                   : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    run->constants = constants;
    return constants_option_read(name, arena, constants, error);
}

/* From here on nothing is measured, and what is left takes moments: a signal must not cost the reports and the
 * verdict. */
static void signals_hold(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, NULL);
}

/* The exit code of the run stands, even if a file could not be written: a failure is not hidden behind a full disk. */
static enum status_code outcome_give(const struct run_result *result, enum status_code given, enum exit_code *exit_code,
                                     struct status *error)
{
    *exit_code = run_outcome_exit_code(result->outcome);
    bool is_told_here = given != STATUS_OK && result->outcome != RUN_PASS;
    char line[STATUS_LINE_BYTES];
    if (is_told_here) {
        output_warning("assay: run: %s", status_line(error, line));
    }
    exit_reason_print("run", *exit_code, result->reason);
    return is_told_here ? STATUS_OK : given;
}

/* The page of this run, as soon as it is over: whoever interrupted it may not wait for plots. Also of a run that broke
 * off, of which the folder has what was finished. */
static enum status_code junit_give(const struct arguments *arguments, const struct run_options *run,
                                   const struct run_result *result, struct status *error)
{
    const char *path = arguments_value(arguments, "junit");
    return path != NULL && result->run_id[0] != '\0' ? report_junit_write(run->folder, result->run_id, path, error)
                                                     : STATUS_OK;
}

/* Of --last-failed, where nothing failed. */
static enum status_code nothing_give(const struct arguments *arguments, const struct run_options *run,
                                     struct status *error)
{
    const char *path = arguments_value(arguments, "junit");
    struct text why = {0}, clean = {0};
    text_format(&why, "no case that is chosen failed in %s; nothing was measured", run->folder);
    terminal_append(&clean, text_string(&why));
    output_warning("assay: run: %s", text_string(&clean));
    enum status_code code =
        path != NULL ? report_junit_write_nothing(run->suite->name, text_string(&why), false, path, error) : STATUS_OK;
    text_release(&clean);
    text_release(&why);
    return code;
}

/* A page of yesterday must not stand for a run that did not begin today. */
static void not_begun_give(const struct arguments *arguments, const char *suite, const struct status *error)
{
    const char *path = arguments_value(arguments, "junit");
    char why[STATUS_LINE_BYTES];
    struct status page_error = {0};
    if (path != NULL &&
        report_junit_write_nothing(suite, status_line(error, why), true, path, &page_error) != STATUS_OK &&
        strcmp(page_error.text, error->text) != 0) {
        output_warning("assay: run: %s", status_line(&page_error, why));
    }
}

/* Of a run that failed: what it did, or that it did not begin. */
static void failed_junit_give(const struct arguments *arguments, const struct run_options *run,
                              const struct run_result *result, const struct status *error)
{
    char line[STATUS_LINE_BYTES];
    struct status page_error = {0};
    if (result->run_id[0] == '\0') {
        not_begun_give(arguments, run->suite->name, error);
    } else if (junit_give(arguments, run, result, &page_error) != STATUS_OK) {
        output_warning("assay: run: %s", status_line(&page_error, line));
    }
}

/* What is told of a run that came to its end, or to a signal: each part even if another could not be given. */
static enum status_code result_give(const struct arguments *arguments, struct arena *arena,
                                    const struct run_options *run, const struct run_result *result,
                                    enum exit_code *exit_code, struct status *error)
{
    const struct report_folder pages = {.path = run->folder, .is_quiet = arguments_value(arguments, "quiet") != NULL};
    bool with_files = arguments_value(arguments, "records-only") == NULL;
    struct status page_error = {0};
    enum status_code code = junit_give(arguments, run, result, error);
    enum status_code page_code = report_give(arena, &pages, with_files, result, &page_error);
    if (code == STATUS_OK && page_code != STATUS_OK) {
        code = status_copy(error, page_code, &page_error);
    } else if (page_code != STATUS_OK) {
        char line[STATUS_LINE_BYTES];
        output_warning("assay: run: %s", status_line(&page_error, line));
    }
    return outcome_give(result, code, exit_code, error);
}

/* Which cases, and whether what is made of them can be written: before anything is measured. */
static enum status_code suite_prepare(const struct arguments *arguments, struct arena *arena, struct run_options *run,
                                      struct case_choice *choice, struct shard_plan *shards, struct status *error)
{
    const char *folder = arguments_value(arguments, "out"), *junit = arguments_value(arguments, "junit");
    run->folder = folder != NULL ? folder : arena_format(arena, "results/%s", run->suite->name);
    if (run->folder == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    enum status_code code = night_option_read(arguments, arena, &run->night, error);
    if (code == STATUS_OK) {
        code = run_choice_make(arguments, run, choice, shards, error);
    }
    if (code == STATUS_OK && run->need_gpu) {
        code = needed_gpu_check(run, error);
    }
    if (code == STATUS_OK) {
        code = parent_folders_make(run->folder, error);
    }
    if (code == STATUS_OK && arguments_value(arguments, "records-only") == NULL) {
        code = report_write_check(run->folder, error);
    }
    return code == STATUS_OK && junit != NULL ? report_junit_check(junit, error) : code;
}

static enum status_code suite_run(const struct arguments *arguments, struct arena *arena, struct run_options *run,
                                  enum exit_code *exit_code, struct status *error)
{
    struct run_result result = {0};
    struct case_choice choice = {0};
    struct shard_plan shards = {0};
    enum status_code code = suite_prepare(arguments, arena, run, &choice, &shards, error);
    if (code != STATUS_OK) {
        failed_junit_give(arguments, run, &result, error);
    } else if (choice.case_count == 0) { /* of --last-failed */
        code = nothing_give(arguments, run, error);
    } else {
        run->hardware = hardware_note();
        if (arguments_value(arguments, "verbose") != NULL) {
            run_surroundings_tell(run);
        }
        code = run_suite(run, &result, error);
        json_release(run->hardware);
        run_progress_end();
        signals_hold();
        if (code == STATUS_OK) {
            code = result_give(arguments, arena, run, &result, exit_code, error);
        } else {
            failed_junit_give(arguments, run, &result, error); /* what is wrong with the run is told */
        }
    }
    case_choice_release(&choice);
    shard_plan_release(&shards);
    return code;
}

/* What the words of a command line come to, before a case is chosen. */
struct run_scene {
    struct arena arena;
    struct suite suite;
    struct constants constants;
    struct text notes;
    char device[DEVICE_SPEC_BYTES];
    struct run_options run;
};

static enum status_code scene_open(const struct arguments *arguments, struct run_scene *scene, struct status *error)
{
    const char *path = suite_path(&scene->arena, arguments->operands[0]);
    struct run_options *run = &scene->run;
    *run =
        (struct run_options){.suite = &scene->suite, .catalogue_dir = resource_path(&scene->arena, "models/catalogue")};
    enum status_code code = run->catalogue_dir == NULL || path == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                                : options_read(arguments, scene->device, run, error);
    if (code == STATUS_OK) {
        code = constants_take(arguments_value(arguments, "constants"), &scene->arena, run, &scene->constants, error);
    }
    if (code == STATUS_OK) {
        code = suite_read(path, run->catalogue_dir, &scene->suite, error);
        if (code == STATUS_INVALID) {
            suite_hint(arguments, error);
        }
    }
    return code == STATUS_OK ? suite_notes_give(arguments, &scene->suite, run->catalogue_dir, &scene->notes, error)
                             : code;
}

static void scene_close(struct run_scene *scene)
{
    text_release(&scene->notes);
    suite_release(&scene->suite);
    arena_release(&scene->arena);
}

enum status_code run_shards_plan(const struct arguments *arguments, struct shard_plan *shards, struct status *error)
{
    struct run_scene scene = {.device = ""};
    struct case_choice choice = {0};
    enum status_code code = scene_open(arguments, &scene, error);
    scene.run.resume = false; /* the parts of the whole, wherever one of them went on */
    if (code == STATUS_OK) {
        code = run_choice_make(arguments, &scene.run, &choice, shards, error);
    }
    case_choice_release(&choice);
    scene_close(&scene);
    return code;
}

static enum status_code run_command(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct run_scene scene = {.device = ""};
    /* A reader who closes the progress early (2>&1 | head) does not decide what is measured. */
    signal(SIGPIPE, SIG_IGN);
    enum status_code code = scene_open(arguments, &scene, error);
    if (code == STATUS_OK) {
        code = suite_run(arguments, &scene.arena, &scene.run, exit_code, error);
    } else {
        not_begun_give(arguments, arguments->operands[0], error); /* its name is not known if the file is wrong */
    }
    scene_close(&scene);
    return code;
}

const struct command command_run = {
    .name = "run",
    .operands = "SUITE",
    .summary = "measure the cases of a suite, compare, report",
    .details = "SUITE: a YAML file (docs/FORMAT.md). Every case runs in a process of its own, and is appended to\n"
               "DIR/records.jsonl; the report and its plots are made from it. --device auto: the first GPU that\n"
               "opens, else the host.\n"
               "\n"
               "--resume: the command as before and this option; the options that choose cases may be left out. No\n"
               "case that is in the records is measured again. Another suite, choice of cases, device, driver,\n"
               "version, constants or option that decides figures is refused; if the run is finished, that is said,\n"
               "and the exit code is that of the run. --last-failed: cases that failed, could not be measured or\n"
               "judged, or are missing; if there are none, the exit code is 0. Of --max-failures, cases that are\n"
               "not reached are missing.\n"
               "\n"
               "--retries N: what crashed, was late or could not measure is begun again, in a child of its own. That\n"
               "is recorded, and makes no run greener: a case that ran only after a retry is open, with the reason,\n"
               "and the run inconclusive. What failed, ran out of memory or was skipped is not begun again.\n"
               "\n"
               "--device cuda:all: each case on the next GPU that is free, one at a time on each (--jobs: so many on\n"
               "each). They must be of one name. A case sees its GPU alone, and runs on the cores near it.\n"
               "\n"
               "Only one run at a time measures on a GPU, for all users of the machine. Others are refused (exit\n"
               "code 5), wait, or share the GPU if all of them do. The lock is a file in /run/lock or /tmp, or in\n"
               "ASSAY_LOCK_DIR.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .computes = true,
    .run = run_command,
};
