/* assay report: records in, a report out. Measures nothing. */
#include <stdio.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/report_files.h"
#include "harness/cli/report_page.h"

static const struct option_row options[] = {
    {"format", OPTION_VALUE, "FORMAT", REPORT_FORMAT_HELP},
    {"output", OPTION_VALUE, "FILE", "write to FILE instead of standard output"},
    {"plots", OPTION_VALUE, "FOLDER", "keep the plots there (default for html with --output in DIR: DIR/plots)"},
    {"table", OPTION_VALUE, "NAME", "one table alone, by its name below (table, md, csv or json)"},
    {"timeline", OPTION_VALUE, "GLOB", "draw the timelines of these cases too (ids or labels; '*': all)"},
    {"league", OPTION_FLAG, NULL, "the estimators ranked by their errors (not as summary or junit)"},
    {"rule", OPTION_VALUE, "FACTOR", "for which inference FACTOR x weights (1.2) is enough (as --league)"},
    {"wasteful", OPTION_VALUE, "PERCENT", "how far above the peak a prediction is wasteful (default: 10%)"},
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
    struct text_drain to_stdout = output_drain();
    struct text text = {.drain = &to_stdout};
    struct file_replacement *file = NULL;
    enum status_code code = output != NULL ? file_replacement_open(output, FILE_NAMED, &file, error) : STATUS_OK;
    if (file != NULL) {
        text.drain = file_replacement_drain(file);
    }
    if (code == STATUS_OK) {
        code = report_page_render(page, format, &style, &text, error);
    }
    if (code != STATUS_OK) {
        file_replacement_abandon(file);
    } else if (file != NULL) {
        code = file_replacement_finish(file, &text, error);
    } else {
        code = output_text(&text, error);
    }
    text_release(&text);
    return code;
}

/* The folder that the plots are kept in; *folder is NULL where they are only in the page, or not drawn. */
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

/* The page first: it holds its plots itself, and stands even where the folder for them cannot be written. */
static enum status_code page_make(const struct report_page *page, enum report_format format, const char *output,
                                  const char *folder, struct status *error)
{
    struct arena arena = {0};
    struct plot_set set = {.link = report_plot_link(&arena, output, folder)};
    struct text notes = {0};
    struct plot_place place = {.with_png = folder != NULL, .timeline = page->timeline, .set = &set, .notes = &notes};
    enum status_code code = STATUS_OK;
    if (folder != NULL || (format == REPORT_HTML && page->table == NULL)) {
        code = report_page_draw(page, &place, error);
    }
    if (code == STATUS_OK) {
        code = page_give(page, format, output, &set, error);
    }
    if (code == STATUS_OK && folder != NULL) {
        code = plot_set_save(&set, folder, &notes, error);
    }
    fputs(text_string(&notes), stderr);
    text_release(&notes);
    plot_set_release(&set);
    arena_release(&arena);
    return code;
}

/* The exit code that the page comes to, which is said on standard error where it is not 0: of every case that of the
 * run, of a statistic 3 where nothing counts in it. */
static enum exit_code exit_code_say(const struct report_page *page)
{
    struct text reason = {0};
    enum exit_code exit_code = EXIT_CODE_PASS;
    if (page->league == NULL && page->rule == NULL) {
        exit_code = (enum exit_code)run_outcome_exit_code(report_outcome(page->reports[0], &reason));
    } else if (report_page_is_empty(page)) {
        exit_code = EXIT_CODE_INCONCLUSIVE;
        text_append(&reason, "no case of these records counts in it; the page says why");
    }
    exit_reason_print("report", exit_code, text_string(&reason));
    text_release(&reason);
    return exit_code;
}

static enum status_code report_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    const char *format_name = arguments_value(arguments, "format");
    const char *folder = NULL;
    enum report_format format = REPORT_TABLE;
    struct arena arena = {0};
    struct report_page page = {0};
    enum status_code code = format_name == NULL ? STATUS_OK : report_format_parse(format_name, &format, error);
    if (code == STATUS_OK) {
        code = report_page_open(arguments, &page, error);
    }
    if (code == STATUS_OK) {
        code = plots_place(arguments, format, &arena, &folder, error);
    }
    if (code == STATUS_OK) {
        code = page_make(&page, format, arguments_value(arguments, "output"), folder, error);
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
               "Tables for --table:\n"
               "  of placed cases and loads: places, kept (for the largest layer), placements, stages, transfers\n"
               "  of searches for a batch: searches, tries\n"
               "\n"
               "The exit code is what the cases come to, as that of their run: 0, 1, 3 or 77; with --exit-zero it\n"
               "is 0. That of --league and --rule is 3 if there is nothing to judge.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = report_command,
};
