/* assay gate: may this run pass, and why not? Measures nothing. */
#include <stdio.h>
#include <string.h>

#include "harness/base/file_append.h"
#include "harness/cli/command.h"
#include "harness/cli/gate_baselines.h"
#include "harness/cli/gate_keep.h"
#include "harness/cli/gate_run.h"
#include "harness/cli/history_options.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/output_place.h"
#include "harness/cli/page_sink.h"
#include "harness/gate/gate_page.h"
#include "harness/report/escape.h"

enum { ROWS_MAXIMUM = 1000000 };

static const struct option_row options[] = {
    {"baseline", OPTION_REPEATED, "BASE", "what the run is held against (see Baselines); several: their median"},
    {"run-id", OPTION_VALUE, "ID", "judge the run whose run_id begins so; records of another one are refused"},
    {"started-after", OPTION_VALUE, "TIME",
     "judge runs that began then or later: 2026-11-20T02:00:00Z, or a file's time"},
    {"history", OPTION_VALUE, "FILE", "where those runs are (default: $ASSAY_HISTORY, else " HISTORY_DEFAULT_FILE ")"},
    {"import", OPTION_FLAG, NULL, "also put the records into the history, whatever the verdict"},
    {"accept", OPTION_FLAG, NULL, "judge nothing: note in the history that this run is right (see Acceptance)"},
    {"by", OPTION_VALUE, "NAME", "accept: who says so"},
    {"reason", OPTION_VALUE, "TEXT", "accept: why"},
    {"since", OPTION_VALUE, "DATE", "latest, median:N: of the nights since then alone: they begin anew"},
    {"policy", OPTION_VALUE, "FILE", "rules, tiers and known failures (docs/GATE.md; default: built in, exact)"},
    {"allow", OPTION_VALUE, "LIST", "what may differ from the baseline: device,driver,suite,jobs,... (docs/GATE.md)"},
    {"format", OPTION_VALUE, "FORMAT", GATE_FORMAT_HELP},
    {"json", OPTION_FLAG, NULL, "as --format json"},
    {"output", OPTION_VALUE, "FILE", "write to FILE instead of standard output"},
    {"summary", OPTION_VALUE, "FILE", "also append the page to FILE, as Markdown of less than 1 MB"},
    {"quiet", OPTION_FLAG, NULL, "print no page: the exit code, its reason unless it is GO, and what --output names"},
    {"rows", OPTION_VALUE, "N", "cases in each list (default: 8, in md, html and latex 50); 0: all"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum exit_code exit_code_of(const struct gate *gate)
{
    return gate->is_unjudged ? EXIT_CODE_FIRST : run_outcome_exit_code(gate->outcome);
}

static enum status_code style_read(const struct arguments *arguments, struct gate_style *style, struct status *error)
{
    const char *format = arguments_value(arguments, "format");
    const bool json = arguments_value(arguments, "json") != NULL;
    *style = (struct gate_style){.page = json ? REPORT_JSON : REPORT_TABLE,
                                 .width = terminal_width(stdout),

                                 .rows = GATE_ROWS_USUAL,
                                 .colour = arguments_value(arguments, "output") == NULL && terminal_is_lively(stdout)};
    enum status_code code = format != NULL ? gate_format_parse(format, style, error) : STATUS_OK;
    if (code != STATUS_OK) {
        status_prefix(error, "gate: --format");
        return code;
    }
    if (json && (style->format != GATE_FORMAT_PAGE || style->page != REPORT_JSON)) {
        return status_set(error, STATUS_INVALID, "gate: --json is --format json; leave --format %s out", format);
    }
    if (arguments_value(arguments, "rows") != NULL) {
        code = number_option_read(arguments, "rows", 0, ROWS_MAXIMUM, &style->rows, error);
    }
    return code;
}

static enum status_code policy_read(const struct arguments *arguments, struct gate_policy *policy,
                                    struct gate_options *limits, struct status *error)
{
    const char *path = arguments_value(arguments, "policy"), *allow = arguments_value(arguments, "allow");
    enum status_code code = path != NULL ? gate_policy_read(path, policy, error) : STATUS_OK;
    if (code == STATUS_OK && allow != NULL) {
        code = gate_allow_parse(allow, &limits->allowed, error);
        if (code != STATUS_OK) {
            status_prefix(error, "gate: --allow");
        }
    }
    return code;
}

static enum status_code page_give(const struct gate *gate, const struct gate_style *style, const char *output,
                                  struct status *error)
{
    struct page_sink sink;
    enum status_code code = page_sink_open(output, &sink, error);
    if (code == STATUS_OK) {
        code = gate_render(gate, style, &sink.text, error);
    }
    return page_sink_close(&sink, code, error);
}

static enum status_code summary_give(const struct gate *gate, const char *path, struct status *error)
{
    struct text text = {0};
    enum status_code code = gate_summary_render(gate, &text, error);
    if (code == STATUS_OK) {
        code = file_append(path, &text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code gate_give(const struct arguments *arguments, const struct gate *gate,
                                  const struct gate_style *style, enum exit_code *exit_code, struct status *error)
{
    const char *output = arguments_value(arguments, "output"), *summary = arguments_value(arguments, "summary");
    enum status_code code = summary != NULL ? summary_give(gate, summary, error) : STATUS_OK;
    if (code == STATUS_OK && (output != NULL || arguments_value(arguments, "quiet") == NULL)) {
        code = page_give(gate, style, output, error);
    }
    if (code == STATUS_OK) {
        /* A runner of GitHub looks for commands in standard error, too; the first annotation has the reason. */
        const bool is_told = style->format != GATE_FORMAT_github && gate->outcome != RUN_PASS;
        *exit_code = exit_code_of(gate);
        exit_reason_print("gate", *exit_code, is_told ? gate->why : "");
    }
    return code;
}

/* Pages must not go over the history and the baselines that they are made of, which no operand and no option need name;
 * what these name was looked at before the command began (output_places_check). */
static enum status_code places_check(const struct arguments *arguments, const struct gate_baselines *baselines,
                                     struct status *error)
{
    static const char *const options_that_write[] = {"output", "summary"};
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < sizeof options_that_write / sizeof options_that_write[0]; i++) {
        const char *path = arguments_value(arguments, options_that_write[i]);
        code = code == STATUS_OK ? output_place_check(path, gate_history(arguments), error) : code;
        for (int at = 0; at < baselines->count && code == STATUS_OK; at++) {
            code = output_place_check(path, baselines->runs[at].source, error);
        }
    }
    return code;
}

/* A policy with a slip, records that are not there: a step of GitHub shows what it is told, and the summary has the
 * reason, unless it would go over what is read. What cannot be said is not: the reason stands in standard error all the
 * same. */
static void refusal_tell(const struct arguments *arguments, const struct gate_style *style,
                         const struct gate_baselines *baselines, const struct status *reason)
{
    char line[STATUS_LINE_BYTES];
    struct text page = {0}, words = {0};
    struct status ignored;
    const char *summary = arguments_value(arguments, "summary");
    summary = places_check(arguments, baselines, &ignored) == STATUS_OK ? summary : NULL;
    if (style->format == GATE_FORMAT_github) {
        gate_github_refusal_write(reason, &page);
        output_text(&page, &ignored);
    }
    if (summary != NULL) {
        text_append(&words, "**Nothing was judged.** ");
        markdown_append(&words, status_line(reason, line));
        text_append(&words, "\n");
        file_append(summary, &words, &ignored);
    }
    text_release(&words);
    text_release(&page);
}

/* Records of another run than the one that is named are nothing that anybody could accept. */
static enum status_code accept_command(const struct arguments *arguments, struct status *error)
{
    struct run_figures run = {0};
    const char *stranger = NULL;
    enum status_code code = gate_run_read(arguments, &run, &stranger, error);
    if (code == STATUS_OK && stranger != NULL) {
        code = status_set(error, STATUS_INVALID, "gate: --accept: %s", stranger);
    }
    code = code == STATUS_OK ? gate_accept(arguments, &run, error) : code;
    run_figures_release(&run);
    return code;
}

static enum status_code accept_words_check(const struct arguments *arguments, struct status *error)
{
    const char *word = arguments_value(arguments, "by") != NULL       ? "by"
                       : arguments_value(arguments, "reason") != NULL ? "reason"
                                                                      : NULL;
    return word == NULL ? STATUS_OK
                        : status_set(error, STATUS_INVALID,
                                     "gate: --%s is of --accept; write it as well, or leave it out", word);
}

static enum status_code gate_command(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    if (arguments_value(arguments, "accept") != NULL) {
        return accept_command(arguments, error);
    }
    struct gate_policy policy = {0};
    struct gate_options limits = {.policy = &policy};
    struct gate_baselines baselines = {.count = 0};
    struct run_figures run = {0};
    struct gate_style style = {.format = GATE_FORMAT_PAGE};
    struct gate gate = {0};
    enum status_code code = accept_words_check(arguments, error);
    code = code == STATUS_OK ? style_read(arguments, &style, error) : code;
    if (code == STATUS_OK) {
        code = policy_read(arguments, &policy, &limits, error);
    }
    if (code == STATUS_OK) {
        code = gate_run_read(arguments, &run, &limits.stranger, error);
    }
    if (code == STATUS_OK && limits.stranger == NULL) {
        code = gate_baselines_read(arguments, &run, &limits, &baselines, error);
    }
    if (code == STATUS_OK) {
        code = places_check(arguments, &baselines, error);
    }
    if (code == STATUS_OK) {
        limits.baseline = gate_baselines_figures(&baselines);
        limits.lacking = baselines.lacking;
        limits.first = baselines.first;
        limits.reference = gate_baselines_reference(&baselines);
        limits.reference_words = baselines.reference_words;
        limits.baseline_note = baselines.aside;
        limits.baseline_words = limits.baseline != NULL ? text_string(&baselines.words) : NULL;
        code = gate_make(&run, &limits, &gate, error);
    }
    if (code == STATUS_OK && limits.stranger == NULL) {
        code = gate_import(arguments, error);
    }
    if (code == STATUS_OK) {
        code = gate_give(arguments, &gate, &style, exit_code, error);
    } else {
        refusal_tell(arguments, &style, &baselines, error);
    }
    gate_release(&gate);
    gate_baselines_release(&baselines);
    run_figures_release(&run);
    gate_policy_release(&policy);
    return code;
}

const struct command command_gate = {
    .name = "gate",
    .operands = "RECORDS",
    .summary = "may a run pass: held against a baseline, by the rules of a policy",
    .details = "RECORDS: a folder that `assay run` wrote, or its records.jsonl. Without --baseline, and on\n"
               "a first night, the run is judged by its own verdicts and by what replay predicts.\n"
               "\n"
               "Baselines:\n"
               "  DIR               a folder of records, or its records.jsonl\n"
               "  median:DIR,DIR    the median of several\n"
               "  latest            of the history: the newest run before this one, of its suite and device, that\n"
               "                    passed itself, held by this policy against those before it that did\n"
               "  median:N          the median of the N newest of these\n"
               "  run:ID            the run whose run_id begins with ID\n"
               "  ancestor          the run of the nearest commit before that which assay was built from\n"
               "\n"
               "Without --policy requested, allocated and reserved bytes must not be more than the baseline's, and\n"
               "readings of device and process not by more than 4 MiB. With latest and median:N that holds against\n"
               "the reference as well: the run that was accepted last, else the first that passed. What is better\n"
               "is told, and never fails. A baseline of another device, driver or suite is refused, unless --allow\n"
               "says so.\n"
               "\n"
               "Acceptance: a run that is meant to be as it is, worse or much better than the nights before it, is no\n"
               "baseline until somebody says so: assay gate RECORDS --accept --by NAME --reason TEXT.\n"
               "\n"
               "For a step of GitHub Actions: --format github --summary \"$GITHUB_STEP_SUMMARY\".\n"
               "\n"
               "Exit codes:\n"
               "  0  GO: nothing is beyond its bounds\n"
               "  1  NO-GO: something is, or a verdict of the run failed\n"
               "  2  nothing was judged: a file or an option is wrong\n"
               "  3  INCONCLUSIVE: a case was not measured or the baseline alone has it, the baseline was refused,\n"
               "     or the records are of another run than --run-id and --started-after say\n"
               "  6  a first night of which no figure has a tolerance or a prediction: nothing was judged\n"
               "  7  INCOMPLETE: the run was cut short, or a case that it selected is not there\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = gate_command,
};
