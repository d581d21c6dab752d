/* assay report: records in, a report out. Measures nothing. */
#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/report_files.h"

static const struct option_row options[] = {
    {"format", OPTION_VALUE, "FORMAT", "table (default), summary, md, csv, json, html or junit"},
    {"output", OPTION_VALUE, "FILE", "write to FILE instead of standard output"},
    {"plots", OPTION_VALUE, "FOLDER", "draw the plots into FOLDER (html: default is plots/ beside the records)"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code page_give(const struct report *report, enum report_format format, const char *output,
                                  const char *plots, struct status *error)
{
    struct report_style style = {
        .width = terminal_width(stdout),
        .colour = output == NULL && terminal_is_lively(stdout),
        .plot_directory = plots,
    };
    struct text text = {0};
    enum status_code code = report_render(report, format, &style, &text, error);
    if (code == STATUS_OK && output != NULL) {
        code = report_save(output, &text, error);
    } else if (code == STATUS_OK) {
        code = output_text(&text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code report_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    (void)exit_code;
    const char *path = arguments->operands[0];
    const char *format_name = arguments_value(arguments, "format");
    const char *plots = arguments_value(arguments, "plots");
    enum report_format format = REPORT_TABLE;
    struct arena arena = {0};
    struct report *report = NULL;
    enum status_code code = format_name == NULL ? STATUS_OK : report_format_parse(format_name, &format, error);
    if (code == STATUS_OK) {
        code = report_open(path, &report, error);
    }
    if (code == STATUS_OK && plots == NULL && format == REPORT_HTML) {
        plots = report_plot_folder(&arena, path);
    }
    if (code == STATUS_OK && plots != NULL) {
        code = report_draw(report, plots, error);
    }
    if (code == STATUS_OK) {
        code = page_give(report, format, arguments_value(arguments, "output"), plots, error);
    }
    report_release(report);
    arena_release(&arena);
    return code;
}

const struct command command_report = {
    .name = "report",
    .operands = "DIR",
    .summary = "what records say, for people and for machines",
    .details = "DIR: a folder that `assay run` wrote, or its records.jsonl. The same records give the same report.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = report_command,
};
