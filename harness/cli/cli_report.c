/* assay report: records in, a report out. Measures nothing. */
#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/page_sink.h"
#include "harness/cli/report_files.h"
#include "harness/cli/resource_path.h"
#include "harness/report/report_page.h"

static const struct option_row options[] = {
    {"format", OPTION_VALUE, "FORMAT", REPORT_FORMAT_HELP},
    {"output", OPTION_VALUE, "FILE",
     "write to FILE; without --format its ending says which: .html, .md, .csv, .json, .tex"},
    {"plots", OPTION_VALUE, "FOLDER", "keep the plots there (default for html with --output in DIR: DIR/plots)"},
#define REPORT_OPTION_HELP(page, role, option, kind, value, help) {#option, OPTION_##kind, value, help},
    REPORT_OPTION_TABLE(REPORT_OPTION_HELP)
#undef REPORT_OPTION_HELP
        {"exit-zero", OPTION_FLAG, NULL, "end with 0 whatever the cases came to, if the report could be made"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code page_give(const struct report_page *page, enum report_format format, const char *output,
                                  const struct plot_set *plots, struct status *error)
{
    struct report_style style = {
        .width = terminal_width(stdout),
        .colour = output == NULL && terminal_is_lively(stdout),
        .plots = plots,
    };
    struct page_sink sink;
    enum status_code code = page_sink_open(output, &sink, error);
    if (code == STATUS_OK) {
        code = report_page_render(page, format, &style, &sink.text, error);
    }
    return page_sink_close(&sink, code, error);
}

/* The folder that the plots are kept in; *folder is NULL if they are only in the page, or not drawn. */
static enum status_code plots_place(const struct arguments *arguments, enum report_format format, struct arena *arena,
                                    const char **folder, struct status *error)
{
    const char *records = arguments->operands[0];
    *folder = arguments_value(arguments, "plots");
    if (*folder == NULL && format == REPORT_HTML &&
        report_output_is_beside(arguments_value(arguments, "output"), records)) {
        *folder = report_plot_folder(arena, records);
        return *folder != NULL ? STATUS_OK
                               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    return STATUS_OK;
}

/* The page first: it holds its plots itself, and stands even if the folder for them cannot be written. */
static enum status_code page_make(const struct report_page *page, enum report_format format, const char *output,
                                  const char *folder, struct status *error)
{
    struct arena arena = {0};
    struct plot_set set = {.link = report_plot_link(&arena, output, folder)};
    struct text notes = {0};
    struct plot_place place = {
        .script_directory = resource_path(&arena, "plots"), .with_png = folder != NULL, .set = &set, .notes = &notes};
    enum status_code code = STATUS_OK;
    if (place.script_directory == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    } else if (folder != NULL || (format == REPORT_HTML && report_page_has_figures(page))) {
        code = report_page_draw(page, &place, error);
    }
    if (code == STATUS_OK) {
        code = page_give(page, format, output, &set, error);
    }
    if (code == STATUS_OK && folder != NULL) {
        code = plot_set_save(&set, folder, &notes, error);
    }
    output_notes(&notes);
    text_release(&notes);
    plot_set_release(&set);
    arena_release(&arena);
    return code;
}

/* The exit code that the page comes to; if it is not 0, standard error says why. */
static enum exit_code exit_code_say(const struct report_page *page)
{
    struct text reason = {0};
    enum exit_code exit_code = run_outcome_exit_code(report_page_outcome(page, &reason));
    exit_reason_print("report", exit_code, text_string(&reason));
    text_release(&reason);
    return exit_code;
}

/* --format, else what --output ends with, else a table. */
static enum status_code format_read(const struct arguments *arguments, enum report_format *format, struct status *error)
{
    const char *name = arguments_value(arguments, "format"), *output = arguments_value(arguments, "output");
    const char *ending = output != NULL ? strrchr(output, '.') : NULL;
    if (name != NULL) {
        return report_format_parse(name, format, error);
    }
    if (ending != NULL) {
        (void)report_format_parse(ending + 1, format, NULL);
    }
    return STATUS_OK;
}

static enum status_code report_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    const char *folder = NULL;
    struct report_request request = {.paths = arguments->operands, .path_count = arguments->operand_count};
    struct arena arena = {0};
    struct report_page page = {0};
    enum status_code code = format_read(arguments, &request.format, error);
    for (int option = 0; option < REPORT_OPTION_COUNT; option++) {
        request.values[option] = arguments_value(arguments, report_option_name((enum report_option)option));
    }
    if (code == STATUS_OK) {
        code = report_page_open(&request, &page, error);
    }
    if (code == STATUS_OK) {
        code = plots_place(arguments, request.format, &arena, &folder, error);
    }
    if (code == STATUS_OK) {
        code = page_make(&page, request.format, arguments_value(arguments, "output"), folder, error);
    }
    if (code == STATUS_OK && arguments_value(arguments, "exit-zero") == NULL) {
        *exit_code = exit_code_say(&page);
    }
    report_page_release(&page);
    arena_release(&arena);
    return code;
}

const struct command command_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "what records say, for people and for machines",
    .details = "DIR: a folder that `assay run` wrote, or its records.jsonl; --league and --rule take several. The\n"
               "same records give the same report.\n"
               "\n"
               "Tables for --table (in latex with caption and label, for a paper to put in by \\input):\n"
               "  of all cases, as md or latex: cases, accuracy (of the estimators)\n"
               "  of placed cases and loads: places, kept (for the largest layer), placements, stages, transfers\n"
               "  of searches for a batch: searches, tries\n"
               "\n"
               "The exit code is what the cases come to, as that of their run: 0, 1, 3, 7 or 77; with --exit-zero\n"
               "it is 0. That of --league and --rule is 3 if there is nothing to judge.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = report_command,
};
