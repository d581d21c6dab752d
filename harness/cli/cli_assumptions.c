/* assay assumptions: whether a GPU, its driver and its libraries are as the figures assume. Measures a few small cases
 * as `assay run` does, or takes records that are there; what they say is judged in harness/report. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/choice_options.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"
#include "harness/cli/program_revision.h"
#include "harness/cli/resource_path.h"
#include "harness/cli/run_progress.h"
#include "harness/device/device_spec.h"
#include "harness/hardware/gpu_nodes.h"
#include "harness/report/assumptions.h"
#include "harness/run/run.h"

static const struct option_row options[] = {
    {"device", OPTION_VALUE, "D", "cuda (default) or cuda:N"},
    {"suite", OPTION_VALUE, "SUITE", "what is measured (default: suites/assumptions.yaml)"},
    CHOICE_OPTION_ROWS,
    {"out", OPTION_VALUE, "DIR", "where the records go (default: results/assumptions)"},
    {"wait-device", OPTION_VALUE, "SECONDS",
     "how long to wait for a GPU that another run has, also as 5m (default: 0)"},
    {"format", OPTION_VALUE, "FORMAT", REPORT_PAGE_HELP},
    {"json", OPTION_FLAG, NULL, "as --format json"},
    {"quiet", OPTION_FLAG, NULL, "only warnings and errors on standard error: no progress"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static const char default_folder[] = "results/assumptions";

static enum status_code format_read(const struct arguments *arguments, enum report_format *format, struct status *error)
{
    const char *word = arguments_value(arguments, "format");
    bool json = arguments_value(arguments, "json") != NULL;
    *format = json ? REPORT_JSON : REPORT_TABLE;
    if (word != NULL && assumptions_format_parse(word, format, error) != STATUS_OK) {
        status_prefix(error, "assumptions: --format");
        return error->code;
    }
    return json && *format != REPORT_JSON
               ? status_set(error, STATUS_INVALID, "assumptions: --json is --format json; leave --format %s out", word)
               : STATUS_OK;
}

/* Options that say how to measure, beside records that were measured. */
static enum status_code records_alone_check(const struct arguments *arguments, struct status *error)
{
    static const char *const measuring[] = {"device", "suite", "filter", "not", "out", "wait-device", "quiet"};
    for (size_t i = 0; i < sizeof measuring / sizeof measuring[0]; i++) {
        if (arguments_value(arguments, measuring[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "assumptions: --%s is for measuring, and %s are records; leave one of them out",
                              measuring[i], arguments->operands[0]);
        }
    }
    return STATUS_OK;
}

/* A host has no driver, so that there is nothing to ask: then *device is NULL. */
static enum status_code device_read(const struct arguments *arguments, char words[DEVICE_SPEC_BYTES],
                                    const char **device, struct status *error)
{
    const char *asked = arguments_value(arguments, "device");
    struct device_spec spec;
    enum status_code code = device_spec_parse(asked != NULL ? asked : "cuda", &spec, error);
    if (code == STATUS_OK && spec.kind != DEVICE_KIND_CUDA && spec.kind != DEVICE_KIND_AUTO) {
        *device = NULL;
        return STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = device_spec_words(asked == NULL || spec.kind == DEVICE_KIND_AUTO ? "cuda" : asked, words, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "assumptions: --device");
    }
    *device = words;
    return code;
}

/* Without a GPU every case is skipped for the same reason, which stands in the last line. */
static void case_ended(void *context, const struct json *line, int done, int total)
{
    const struct run_progress *progress = context;
    if (strcmp(json_string_or(json_get(line, "status"), ""), "skip") != 0 && progress->ended != NULL) {
        progress->ended(progress->context, line, done, total);
    }
}

static enum status_code options_read(const struct arguments *arguments, struct arena *arena, struct run_options *run,
                                     struct status *error)
{
    const char *lock_folder = secure_getenv("ASSAY_LOCK_DIR"), *folder = arguments_value(arguments, "out");
    run->runner = &case_runner_measure;
    run->version = ASSAY_VERSION;
    run->revision = program_revision();
    run->jobs = 1;
    run->proof = RUN_PROOF_REPLAY;
    run->folder = folder != NULL ? folder : default_folder;
    run->lock_folder = lock_folder != NULL && lock_folder[0] != '\0' ? lock_folder : NULL;
    run->catalogue_dir = resource_path(arena, "models/catalogue");
    run->reference_dir = resource_path(arena, "results/reference");
    if (run->catalogue_dir == NULL || run->reference_dir == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    return seconds_option_read(arguments, "wait-device", RUN_WAIT_SECONDS_MAXIMUM, &run->wait_device_seconds, error);
}

static enum status_code cases_measure(const struct arguments *arguments, struct arena *arena, struct run_options *run,
                                      struct status *error)
{
    struct suite suite = {0};
    struct run_result result = {0};
    struct case_choice choice = {0};
    const char *name = arguments_value(arguments, "suite");
    const char *path = suite_path(arena, name != NULL ? name : "suites/assumptions.yaml");
    struct run_progress progress = run_progress_terminal(arguments_value(arguments, "quiet") != NULL);
    enum status_code code = options_read(arguments, arena, run, error);
    struct run_options wanted = *run;
    wanted.progress = progress;
    wanted.progress.context = &progress;
    wanted.progress.ended = case_ended;
    if (code == STATUS_OK && path == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    if (code == STATUS_OK) {
        code = suite_read(path, wanted.catalogue_dir, &suite, error);
    }
    if (code == STATUS_OK) {
        code = choice_options_read(arguments, &suite, &choice, error);
    }
    if (code == STATUS_OK) {
        code = parent_folders_make(wanted.folder, error);
    }
    if (code == STATUS_OK) {
        wanted.suite = &suite;
        wanted.choice = &choice;
        code = run_suite(&wanted, &result, error);
        run_progress_end();
    }
    case_choice_release(&choice);
    suite_release(&suite);
    return code;
}

/* A GPU that is there and could not be asked is no reason to pass it over. */
static enum exit_code exit_code_of(enum run_outcome outcome, bool measured, struct text *reason)
{
    struct gpu_nodes nodes;
    gpu_nodes_read("", getenv("CUDA_VISIBLE_DEVICES"), &nodes);
    if (outcome == RUN_SKIPPED && measured && gpu_nodes_show_one(&nodes)) {
        text_append(reason, ", but this machine has a GPU; assay doctor says what is missing");
        return EXIT_CODE_NO_GPU;
    }
    return run_outcome_exit_code(outcome);
}

static enum status_code judgement_give(const char *path, bool measured, const char *reference_dir,
                                       enum report_format format, enum exit_code *exit_code, struct status *error)
{
    struct assumptions *assumptions = NULL;
    struct text text = {0}, reason = {0};
    const struct report_style style = {.width = terminal_width(stdout), .colour = terminal_is_lively(stdout)};
    enum status_code code = assumptions_read(path, measured, reference_dir, &assumptions, error);
    if (code == STATUS_OK) {
        code = assumptions_render(assumptions, format, &style, &text, error);
    }
    if (code == STATUS_OK && measured && format == REPORT_TABLE) {
        text_format(&text, "records: %s\n", path);
    }
    if (code == STATUS_OK) {
        code = output_text(&text, error);
    }
    if (code == STATUS_OK) {
        *exit_code = exit_code_of(assumptions_outcome(assumptions, &reason), measured, &reason);
        exit_reason_print("assumptions", *exit_code, text_string(&reason));
    }
    text_release(&reason);
    text_release(&text);
    assumptions_release(assumptions);
    return code;
}

static enum status_code assumptions_command(const struct arguments *arguments, enum exit_code *exit_code,
                                            struct status *error)
{
    struct arena arena = {0};
    struct run_options run = {0};
    enum report_format format;
    char words[DEVICE_SPEC_BYTES] = "";
    bool measures = arguments->operand_count == 0;
    enum status_code code = format_read(arguments, &format, error);
    if (code == STATUS_OK) {
        code = measures ? device_read(arguments, words, &run.device, error) : records_alone_check(arguments, error);
    }
    if (code == STATUS_OK && measures && run.device == NULL) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "assumptions: a host has no driver and no libraries of a GPU, so there is nothing to ask; "
                          "name a GPU with --device cuda:0");
    }
    signal(SIGPIPE, SIG_IGN); /* as in run: who reads the progress does not decide what is measured */
    if (code == STATUS_OK && measures) {
        code = cases_measure(arguments, &arena, &run, error);
    }
    if (code == STATUS_OK) {
        const char *reference_dir = resource_path(&arena, "results/reference");
        code = judgement_give(measures ? run.folder : arguments->operands[0], measures, reference_dir, format,
                              exit_code, error);
    }
    arena_release(&arena);
    return code;
}

const struct command command_assumptions = {
    .name = "assumptions",
    .operands = "[DIR]",
    .summary = "whether a GPU and its driver are as the figures assume",
    .details = "Measures a few small cases on a GPU, fills it, and says of each assumption of docs/GPU.md what was\n"
               "seen and what to do if it is otherwise. Nobody else should use the GPU meanwhile.\n"
               "--filter quick measures without searches for a batch.\n"
               "DIR: a folder that `assay run` or `make gpu` wrote, which is judged instead.\n"
               "Bytes beyond what was seen on other GPUs are noted, and fail nothing, if results/reference has no GPU\n"
               "of this class: then the folder is worth sending (docs/GPU.md, For volunteers).\n"
               "\n"
               "Exit codes:\n"
               "   0  what could be asked is as assumed, but for what is noted\n"
               "   1  something is otherwise\n"
               "   3  the GPU was disturbed, or a case was not measured\n"
               "   4  this machine has a GPU, and it cannot be used\n"
               "  77  there is no GPU, so there is nothing to ask\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 1,
    .computes = true,
    .run = assumptions_command,
};
