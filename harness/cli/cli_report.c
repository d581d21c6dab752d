/* assay report: records in, a report out. Measures nothing. */
#include <stdio.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/report_files.h"
#include "harness/cli/report_page.h"

static const struct option_row options[] = {
    {"format", OPTION_VALUE, "FORMAT", "table (default), summary, md, csv, json, html or junit"},
    {"output", OPTION_VALUE, "FILE", "write to FILE instead of standard output"},
    {"plots", OPTION_VALUE, "FOLDER", "draw the plots into FOLDER (html: default is plots/ beside the records)"},
    {"league", OPTION_FLAG, NULL, "the estimators ranked by their errors (table, md, csv, json or html)"},
    {"rule", OPTION_VALUE, "FACTOR", "where FACTOR x weights (1.2) is enough for inference (as --league)"},
    {"wasteful", OPTION_VALUE, "PERCENT", "how far above the peak --rule calls wasteful (default: 10%)"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code page_give(const struct report_page *page, enum report_format format, const char *output,
                                  const char *plots, struct status *error)
{
    struct report_style style = {
        .width = terminal_width(stdout),
        .colour = output == NULL && terminal_is_lively(stdout),
        .plot_directory = plots,
    };
    struct text text = {0};
    enum status_code code = report_page_render(page, format, &style, &text, error);
    if (code == STATUS_OK && output != NULL) {
        code = file_replace(output, FILE_NAMED, &text, error);
    } else if (code == STATUS_OK) {
        code = output_text(&text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code report_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    const char *format_name = arguments_value(arguments, "format");
    const char *plots = arguments_value(arguments, "plots");
    enum report_format format = REPORT_TABLE;
    struct arena arena = {0};
    struct report_page page = {0};
    enum status_code code = format_name == NULL ? STATUS_OK : report_format_parse(format_name, &format, error);
    if (code == STATUS_OK) {
        code = report_page_open(arguments, &page, error);
    }
    if (code == STATUS_OK && plots == NULL && format == REPORT_HTML) {
        plots = report_plot_folder(&arena, arguments->operands[0]);
    }
    if (code == STATUS_OK && plots != NULL) {
        code = report_page_draw(&page, plots, error);
    }
    if (code == STATUS_OK) {
        code = page_give(&page, format, arguments_value(arguments, "output"), plots, error);
    }
    if (code == STATUS_OK && report_page_is_empty(&page)) {
        *exit_code = EXIT_CODE_INCONCLUSIVE;
    }
    report_page_release(&page);
    arena_release(&arena);
    return code;
}

const struct command command_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "what records say, for people and for machines",
    .details = "DIR: a folder that `assay run` wrote, or its records.jsonl. The same records give the same report.\n"
               "--league and --rule take several; their exit code is 3 where there is nothing to judge.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = report_command,
};
