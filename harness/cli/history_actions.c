/* History actions: each opens the history, asks harness/history, and prints. What a history is is decided there. */
#include "harness/cli/history_actions.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/size.h"
#include "harness/cli/history_options.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"
#include "harness/cli/report_files.h"
#include "harness/cli/resource_path.h"
#include "harness/history/history_page.h"
#include "harness/history/trend_page.h"
#include "harness/report/escape.h"

enum { RUNS_MOST = 1000000 };

static const char latest_word[] = "latest";

/* ---- show ---- */

static enum status_code run_choose(struct history *history, const char *name, const struct history_filter *filter,
                                   struct arena *arena, struct history_run *run, struct status *error)
{
    if (strcmp(name, latest_word) != 0) {
        return history_run_find(history, name, arena, run, error);
    }
    struct history_filter newest = *filter;
    struct history_runs runs;
    newest.most = 1;
    enum status_code code = history_runs_list(history, &newest, arena, &runs, error);
    if (code == STATUS_OK && runs.count == 0) {
        return status_set(error, STATUS_INVALID, "history show: there is no such run in %s", history_path(history));
    }
    *run = code == STATUS_OK ? runs.runs[0] : *run;
    return code;
}

static enum status_code run_show(struct history *history, const struct arguments *arguments,
                                 const struct history_filter *filter, enum report_format format, struct text *text,
                                 struct status *error)
{
    const struct report_style style = history_style(arguments, NULL);
    struct arena arena = {0};
    struct history_run run = {0};
    struct run_figures figures = {0};
    enum status_code code = run_choose(history, arguments->operands[1], filter, &arena, &run, error);
    if (code == STATUS_OK) {
        code = history_figures(history, &run, &figures, error);
    }
    if (code == STATUS_OK) {
        code = history_run_render(&figures, format, &style, text, error);
    }
    run_figures_release(&figures);
    arena_release(&arena);
    return code;
}

static enum status_code list_show(struct history *history, const struct arguments *arguments,
                                  const struct history_filter *filter, enum report_format format, struct text *text,
                                  struct status *error)
{
    const struct report_style style = history_style(arguments, NULL);
    struct arena arena = {0};
    struct history_runs runs = {0};
    enum status_code code = history_runs_list(history, filter, &arena, &runs, error);
    if (code == STATUS_OK) {
        code = history_runs_render(history_path(history), &runs, format, &style, text, error);
        history_nothing_tell(arguments, history, runs.count);
    }
    arena_release(&arena);
    return code;
}

enum status_code history_show_action(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    const char *word = arguments_value(arguments, "format");
    enum report_format format = REPORT_TABLE;
    struct history_filter filter;
    struct history *history = NULL;
    struct page_sink sink = {0};
    (void)exit_code;
    enum status_code code = history_filter_read(arguments, &filter, error);
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "nights", 1, RUNS_MOST, &filter.most, error);
    }
    if (code == STATUS_OK && word != NULL) {
        code = history_format_parse(word, &format, error);
    }
    if (code == STATUS_OK) {
        code = history_open(history_database(arguments), HISTORY_READ, &history, error);
    }
    if (code == STATUS_OK) {
        code = history_sink_open(arguments, &sink, error);
    }
    if (code == STATUS_OK) {
        code = (arguments->operand_count > 1 ? run_show : list_show)(history, arguments, &filter, format, &sink.text,
                                                                     error);
        code = page_sink_close(&sink, code, error);
    }
    history_close(history);
    return code;
}

/* ---- trend ---- */

static enum status_code levels_read(const struct arguments *arguments, struct trend_request *request,
                                    struct status *error)
{
    const char *list = arguments_value(arguments, "level");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        request->levels[level] = list == NULL;
    }
    while (list != NULL) {
        const size_t length = strcspn(list, ",");
        char word[32];
        enum level level;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), list);
        if (!level_from_name(word, &level)) {
            return status_set(error, STATUS_INVALID,
                              "history: --level: '%s' is not a level; write requested, allocated, reserved, device or "
                              "process, with commas between them",
                              word);
        }
        request->levels[level] = true;
        list = list[length] == ',' ? list + length + 1 : NULL;
    }
    return STATUS_OK;
}

static enum status_code request_read(const struct arguments *arguments, struct trend_request *request,
                                     enum report_format *format, struct status *error)
{
    const char *word = arguments_value(arguments, "format");
    *request = (struct trend_request){.pattern = arguments_value(arguments, "case")};
    *format = REPORT_TABLE;
    enum status_code code = history_filter_read(arguments, &request->filter, error);
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "nights", 1, RUNS_MOST, &request->nights, error);
    }
    if (code == STATUS_OK) {
        code = levels_read(arguments, request, error);
    }
    if (code == STATUS_OK && word != NULL) {
        code = trend_format_parse(word, format, error);
    }
    return code;
}

static enum status_code plots_draw(const struct trend *trend, const char *folder, struct plot_set *set,
                                   struct text *notes, struct status *error)
{
    struct arena arena = {0};
    const struct plot_place place = {
        .script_directory = resource_path(&arena, "plots"), .with_png = folder != NULL, .set = set, .notes = notes};
    enum status_code code = place.script_directory != NULL
                                ? trend_draw(trend, &place, error)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    arena_release(&arena);
    return code;
}

/* The page first: it holds its plots itself, and stands even if the folder for them cannot be written. */
static enum status_code trend_give(const struct arguments *arguments, const struct trend *trend,
                                   enum report_format format, struct status *error)
{
    const char *folder = arguments_value(arguments, "plots");
    struct arena arena = {0};
    struct plot_set set = {.link = report_plot_link(&arena, arguments_value(arguments, "output"), folder)};
    struct text notes = {0};
    struct page_sink sink = {0};
    enum status_code code = STATUS_OK;
    if (folder != NULL || format == REPORT_HTML) {
        code = plots_draw(trend, folder, &set, &notes, error);
    }
    if (code == STATUS_OK) {
        code = history_sink_open(arguments, &sink, error);
    }
    if (code == STATUS_OK) {
        const struct report_style style = history_style(arguments, &set);
        code = trend_render(trend, format, &style, &sink.text, error);
        code = page_sink_close(&sink, code, error);
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

/* --fail: a rise is red until somebody accepts a night behind it, or --since begins there. */
static void rises_judge(const struct trend *trend, enum exit_code *exit_code)
{
    const struct trend_step *worst = NULL;
    struct text words = {0};
    const int count = trend_rises(trend, &worst);
    if (count > 0) {
        *exit_code = EXIT_CODE_FAIL;
        text_format(&words, "NO-GO: %d figure%s rose; the most: %s of %s, by %.1f %%", count, count == 1 ? "" : "s",
                    level_peak_name(worst->level), worst->series->label, 100.0 * worst->share);
        exit_reason_print("history trend", *exit_code, text_string(&words));
    }
    text_release(&words);
}

enum status_code history_trend_action(const struct arguments *arguments, enum exit_code *exit_code,
                                      struct status *error)
{
    struct trend_request request;
    struct trend trend = {0};
    struct history *history = NULL;
    enum report_format format;
    enum status_code code = request_read(arguments, &request, &format, error);
    if (code == STATUS_OK) {
        code = history_open(history_database(arguments), HISTORY_READ, &history, error);
    }
    if (code == STATUS_OK) {
        code = trend_make(history, &request, &trend, error);
    }
    if (code == STATUS_OK && trend.group_count == 0) {
        code = status_set(error, STATUS_INVALID,
                          "history trend: no run of %s has a measured case that is asked for; `assay history show` "
                          "lists the runs",
                          history_path(history));
    }
    if (code == STATUS_OK) {
        code = trend_give(arguments, &trend, format, error);
    }
    if (code == STATUS_OK && arguments_value(arguments, "fail") != NULL) {
        rises_judge(&trend, exit_code);
    }
    trend_release(&trend);
    history_close(history);
    return code;
}

/* ---- prune ---- */

/* The runs that go: of a suite and device those behind the newest `keep` (0: all), of these those before the date. What
 * somebody accepted stays, because nights to come are held against it. */
static bool gone_choose(const struct history_runs *all, int keep, const char *before, struct arena *arena,
                        struct history_runs *gone)
{
    gone->runs = arena_alloc(arena, (size_t)all->count * sizeof *gone->runs);
    gone->count = 0;
    for (int at = 0; at < all->count && gone->runs != NULL; at++) {
        const struct history_run *run = &all->runs[at];
        int newer = 0;
        for (int other = 0; other < at && newer < keep; other++) {
            const struct history_run *earlier = &all->runs[other];
            const bool same =
                !nights_differ(earlier, run, ENVIRONMENT_SUITE) && !nights_differ(earlier, run, ENVIRONMENT_DEVICE);
            newer += same ? 1 : 0;
        }
        if (run->accepted_by == NULL && newer >= keep && (before == NULL || strcmp(run->started, before) < 0)) {
            gone->runs[gone->count++] = *run;
        }
    }
    return gone->runs != NULL;
}

static int64_t file_bytes(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? (int64_t)facts.st_size : 0;
}

static void gone_say(struct text *lines, const struct history_runs *gone, bool is_dry)
{
    for (int at = 0; at < gone->count; at++) {
        const struct history_run *run = &gone->runs[at];
        text_append(lines, is_dry ? "would go  " : "removed   ");
        history_run_line(lines, run->started, run->run_id, run->case_count, run->environment);
    }
}

static enum status_code prune(struct history *history, const struct history_filter *filter, int keep,
                              const char *before, bool is_dry, struct text *lines, struct status *error)
{
    struct arena arena = {0};
    struct history_runs all = {0}, gone = {0};
    char left[SIZE_TEXT_BYTES], right[SIZE_TEXT_BYTES];
    const int64_t bytes = file_bytes(history_path(history));
    enum status_code code = history_runs_list(history, filter, &arena, &all, error);
    if (code == STATUS_OK && !gone_choose(&all, keep, before, &arena, &gone)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the runs of the history");
    }
    if (code == STATUS_OK && gone.count > 0 && !is_dry) {
        code = history_remove(history, &gone, error);
    }
    if (code == STATUS_OK) {
        gone_say(lines, &gone, is_dry);
        text_format(lines, "%d of %d run%s %s; %s", gone.count, all.count, all.count == 1 ? "" : "s",
                    is_dry ? "would go" : "removed", history_path(history));
        if (gone.count > 0 && !is_dry) {
            size_format(bytes, left);
            size_format(file_bytes(history_path(history)), right);
            text_format(lines, ": %s before, %s now", left, right);
        }
        text_append(lines, "\n");
    }
    arena_release(&arena);
    return code;
}

enum status_code history_prune_action(const struct arguments *arguments, enum exit_code *exit_code,
                                      struct status *error)
{
    struct history_filter filter;
    struct history *history = NULL;
    struct text lines = {0};
    int keep = 0;
    (void)exit_code;
    enum status_code code = history_filter_read(arguments, &filter, error);
    const char *before = filter.before;
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "keep", 1, RUNS_MOST, &keep, error);
    }
    if (code == STATUS_OK && keep == 0 && before == NULL) {
        code = status_set(error, STATUS_INVALID,
                          "history prune: nothing says what goes; write --keep N, --before DATE or both");
    }
    if (code == STATUS_OK) {
        code = history_open(history_database(arguments), HISTORY_READ, &history, error);
    }
    if (code == STATUS_OK) {
        filter.before = NULL; /* newer runs count as kept */
        code = prune(history, &filter, keep, before, arguments_value(arguments, "dry-run") != NULL, &lines, error);
    }
    if (code == STATUS_OK) {
        code = output_lines(&lines, error);
    }
    text_release(&lines);
    history_close(history);
    return code;
}

/* ---- export ---- */

static enum status_code export_format_read(const struct arguments *arguments, enum export_format *format,
                                           struct status *error)
{
    const char *word = arguments_value(arguments, "format");
    *format = word != NULL && strcmp(word, "csv") == 0 ? EXPORT_CSV : EXPORT_JSON_LINES;
    return word == NULL || strcmp(word, "csv") == 0 || strcmp(word, "jsonl") == 0
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "history export: --format: '%.32s' is not known; write jsonl or csv",
                            word);
}

/* The oldest run first, so that a later export of the same history begins as this one does. */
static enum status_code runs_export(struct history *history, const struct history_runs *runs, const char *pattern,
                                    enum export_format format, struct text *text, int *line_count, struct status *error)
{
    enum status_code code = STATUS_OK;
    history_export_begin(format, text);
    for (int at = runs->count - 1; at >= 0 && code == STATUS_OK; at--) {
        struct run_figures figures;
        code = history_figures(history, &runs->runs[at], &figures, error);
        if (code == STATUS_OK && !history_export_run(&figures, pattern, format, text, line_count)) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the figures of a run");
        }
        run_figures_release(&figures);
    }
    return code;
}

enum status_code history_export_action(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    struct history_filter filter;
    struct history *history = NULL;
    struct arena arena = {0};
    struct history_runs runs = {0};
    struct page_sink sink = {0};
    enum export_format format;
    int line_count = 0;
    (void)exit_code;
    enum status_code code = export_format_read(arguments, &format, error);
    if (code == STATUS_OK) {
        code = history_filter_read(arguments, &filter, error);
    }
    if (code == STATUS_OK) {
        code = history_open(history_database(arguments), HISTORY_READ, &history, error);
    }
    if (code == STATUS_OK) {
        filter.without_counts = true;
        code = history_runs_list(history, &filter, &arena, &runs, error);
    }
    if (code == STATUS_OK) {
        code = history_sink_open(arguments, &sink, error);
    }
    if (code == STATUS_OK) {
        code = runs_export(history, &runs, arguments_value(arguments, "case"), format, &sink.text, &line_count, error);
        history_nothing_tell(arguments, history, line_count);
        code = page_sink_close(&sink, code, error);
    }
    arena_release(&arena);
    history_close(history);
    return code;
}
