/* Report files: where they go and in which order they are made. What stands in them is decided in harness/report. */
#include "harness/cli/report_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file_replace.h"
#include "harness/cli/resource_path.h"

static enum status_code memory_error(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
}

const char *report_plot_folder(struct arena *arena, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return arena_format(arena, "%s/plots", path);
    }
    const char *slash = strrchr(path, '/');
    return slash == NULL ? "plots" : arena_format(arena, "%.*s/plots", (int)(slash - path), path);
}

enum status_code report_draw(const struct report *report, const char *folder, struct status *error)
{
    struct arena arena = {0};
    struct text notes = {0};
    const char *scripts = resource_path(&arena, "plots");
    enum status_code code = scripts == NULL ? memory_error(error) : report_plot(report, scripts, folder, &notes, error);
    if (code == STATUS_OK) {
        fputs(text_string(&notes), stderr);
    }
    text_release(&notes);
    arena_release(&arena);
    return code;
}

static enum status_code page_write(const struct report *report, enum report_format format, const char *plots,
                                   const char *path, struct status *error)
{
    struct text text = {0};
    struct report_style style = {.plot_directory = plots};
    enum status_code code = path == NULL ? memory_error(error) : report_render(report, format, &style, &text, error);
    if (code == STATUS_OK) {
        code = file_replace(path, FILE_CHOSEN, &text, error);
    }
    text_release(&text);
    return code;
}

enum status_code report_write(const struct report *report, struct arena *arena, const char *folder, const char **page,
                              struct status *error)
{
    const char *plots = report_plot_folder(arena, folder);
    const char *html = arena_format(arena, "%s/report.html", folder);
    enum status_code code = plots == NULL ? memory_error(error) : report_draw(report, plots, error);
    if (code == STATUS_OK) {
        code = page_write(report, REPORT_MARKDOWN, plots, arena_format(arena, "%s/report.md", folder), error);
    }
    if (code == STATUS_OK) {
        code = page_write(report, REPORT_HTML, plots, html, error);
    }
    if (code == STATUS_OK) {
        *page = html;
    }
    return code;
}
