/* Report files: where they go and in which order they are written: pages first, since they hold their plots themselves.
 * What stands in them is decided in harness/report. */
#include "harness/cli/report_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file_replace.h"
#include "harness/cli/output.h"
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

/* The folder of a file, links resolved; released by free. NULL if there is none. */
static char *folder_resolve(const char *path)
{
    struct arena arena = {0};
    struct stat status;
    const char *slash = strrchr(path, '/');
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const char *folder = is_folder       ? path
                         : slash == NULL ? "."
                                         : arena_format(&arena, "%.*s", (int)(slash - path) + 1, path);
    char *resolved = folder != NULL ? realpath(folder, NULL) : NULL;
    arena_release(&arena);
    return resolved;
}

bool report_output_is_beside(const char *output, const char *path)
{
    char *inner = output != NULL ? folder_resolve(output) : NULL, *outer = folder_resolve(path);
    bool is_beside = false;
    if (inner != NULL && outer != NULL) {
        size_t length = strlen(outer);
        is_beside = strncmp(inner, outer, length) == 0 &&
                    (inner[length] == '/' || inner[length] == '\0' || (length > 0 && outer[length - 1] == '/'));
    }
    free(inner);
    free(outer);
    return is_beside;
}

const char *report_plot_link(struct arena *arena, const char *output, const char *folder)
{
    const char *slash = output != NULL ? strrchr(output, '/') : NULL;
    if (folder == NULL || output == NULL || (slash == NULL && folder[0] != '/')) {
        return folder;
    }
    size_t length = slash != NULL ? (size_t)(slash - output) + 1 : 0;
    if (length > 0 && strncmp(folder, output, length) == 0) {
        return folder + length;
    }
    char *here = folder[0] != '/' ? realpath(".", NULL) : NULL;
    const char *link = here != NULL ? arena_format(arena, "%s/%s", here, folder) : folder;
    free(here);
    return link;
}

enum status_code report_draw(const struct report *report, struct plot_place *place, struct status *error)
{
    struct arena arena = {0};
    place->script_directory = resource_path(&arena, "plots");
    enum status_code code = place->script_directory == NULL ? memory_error(error) : report_plot(report, place, error);
    arena_release(&arena);
    return code;
}

static enum status_code page_write(const struct report *report, enum report_format format, const struct plot_set *plots,
                                   const char *path, enum file_role role, struct status *error)
{
    struct text text = {0};
    struct report_style style = {.plots = plots};
    struct file_replacement *file = NULL;
    enum status_code code = path == NULL ? memory_error(error) : file_replacement_open(path, role, &file, error);
    if (code == STATUS_OK) {
        text.drain = file_replacement_drain(file);
        code = report_render(report, format, &style, &text, error);
    }
    if (code == STATUS_OK) {
        code = file_replacement_finish(file, &text, error);
    } else {
        file_replacement_abandon(file);
    }
    text_release(&text);
    return code;
}

enum status_code report_write_check(const char *folder, struct status *error)
{
    static const char *const names[] = {"report.md", "report.html"};
    struct arena arena = {0};
    enum status_code code = STATUS_OK;
    for (size_t i = 0; code == STATUS_OK && i < sizeof names / sizeof names[0]; i++) {
        const char *path = arena_format(&arena, "%s/%s", folder, names[i]);
        code = path == NULL ? memory_error(error) : file_replace_check(path, FILE_CHOSEN, error);
    }
    arena_release(&arena);
    return code;
}

enum status_code report_write(const struct report *report, struct arena *arena, const struct report_folder *folder,
                              const char **page, struct status *error)
{
    const char *plots = report_plot_folder(arena, folder->path);
    const char *html = arena_format(arena, "%s/report.html", folder->path);
    struct plot_set set = {.link = "plots"};
    struct text notes = {0};
    struct plot_place place = {.with_png = true, .is_quiet = folder->is_quiet, .set = &set, .notes = &notes};
    enum status_code code = plots == NULL ? memory_error(error) : report_draw(report, &place, error);
    if (code == STATUS_OK) {
        code = page_write(report, REPORT_MARKDOWN, &set, arena_format(arena, "%s/report.md", folder->path), FILE_CHOSEN,
                          error);
    }
    if (code == STATUS_OK) {
        code = page_write(report, REPORT_HTML, &set, html, FILE_CHOSEN, error);
    }
    if (code == STATUS_OK) {
        code = plot_set_save(&set, plots, &notes, error);
    }
    if (code == STATUS_OK) {
        *page = html;
    }
    output_notes(&notes);
    text_release(&notes);
    plot_set_release(&set);
    return code;
}

enum status_code report_junit_check(const char *path, struct status *error)
{
    struct stat named;
    struct file_replacement *file = NULL;
    enum status_code code = file_replace_check(path, FILE_NAMED, error);
    if (code == STATUS_OK && (stat(path, &named) != 0 || S_ISREG(named.st_mode))) { /* a pipe is opened once, later */
        code = file_replacement_open(path, FILE_NAMED, &file, error);
        file_replacement_abandon(file);
    }
    return code;
}

enum status_code report_junit_write(const char *folder, const char *run_id, const char *path, struct status *error)
{
    struct report *report = NULL;
    enum status_code code = report_open_run(folder, run_id, &report, error);
    if (code == STATUS_OK) {
        code = page_write(report, REPORT_JUNIT, NULL, path, FILE_NAMED, error);
    }
    report_release(report);
    return code;
}

enum status_code report_junit_write_nothing(const char *suite, const char *why, bool is_error, const char *path,
                                            struct status *error)
{
    struct text text = {0};
    report_nothing_junit(suite, why, is_error, &text);
    enum status_code code = file_replace(path, FILE_NAMED, &text, error);
    text_release(&text);
    return code;
}
