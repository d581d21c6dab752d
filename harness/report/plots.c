/* Plots: pages of data written, scripts copied beside them, images drawn. A plot that cannot be drawn costs a line in
 * the notes, not the report. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/report/case_view.h"
#include "harness/report/gnuplot.h"
#include "harness/report/plots.h"

enum { PAGE_MAXIMUM = 20, SCRIPT_BYTES_MAXIMUM = 1 << 20 };

/* The files of one page; every name from the arena. */
struct page_files {
    const char *data, *script, *svg, *png;
};

static bool files_name(struct arena *arena, const char *directory, const char *name, int number,
                       struct page_files *files)
{
    const char *base = number == 0 ? arena_format(arena, "%s/%s", directory, name)
                                   : arena_format(arena, "%s/%s-%d", directory, name, number + 1);
    if (base == NULL) {
        return false;
    }
    files->data = arena_format(arena, "%s.tsv", base);
    files->script = arena_format(arena, "%s.gp", base);
    files->svg = arena_format(arena, "%s.svg", base);
    files->png = arena_format(arena, "%s.png", base);
    return files->data != NULL && files->script != NULL && files->svg != NULL && files->png != NULL;
}

static void files_remove(const struct page_files *files)
{
    unlink(files->data);
    unlink(files->script);
    unlink(files->svg);
    unlink(files->png);
}

static enum status_code script_copy(const char *from, const char *to, struct status *error)
{
    struct text content = {0};
    FILE *file = fopen(from, "re");
    if (file == NULL) {
        return status_set(error, STATUS_UNAVAILABLE, "%s: cannot be opened: %s", from, strerror(errno));
    }
    char bytes[4096];
    size_t count;
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0 && content.length < SCRIPT_BYTES_MAXIMUM) {
        text_append_bytes(&content, bytes, count);
    }
    bool failed = ferror(file) != 0 || content.length == 0;
    fclose(file);
    enum status_code code = failed ? status_set(error, STATUS_UNAVAILABLE, "%s: cannot be read", from)
                                   : file_replace(to, FILE_CHOSEN, &content, error);
    text_release(&content);
    return code;
}

static enum status_code page_draw(const struct plot_page *page, const struct page_files *files, struct status *error)
{
    char option[32] = "";
    if (page->tolerance >= 0.0) {
        snprintf(option, sizeof option, "%.6f", page->tolerance);
    }
    struct gnuplot_task task = {.script = files->script,
                                .data = files->data,
                                .image = files->svg,
                                .format = "svg",
                                .width = page->width,
                                .height = page->height,
                                .option = option,
                                .basis = page->basis != NULL ? page->basis : ""};
    enum status_code code = gnuplot_draw(&task, error);
    if (code == STATUS_OK) {
        task.image = files->png;
        task.format = "png";
        code = gnuplot_draw(&task, error);
    }
    return code;
}

static void note_append(struct text *notes, const char *file, const char *why)
{
    text_format(notes, "plot %s: not drawn: %s\n", file, why);
}

/* Data first: they stand even where the image cannot be drawn. */
static enum status_code files_write(const struct plot_place *place, const char *script, const struct plot_page *page,
                                    const struct page_files *files, struct status *error)
{
    enum status_code code = file_replace(files->data, FILE_CHOSEN, &page->data, error);
    if (code != STATUS_OK) {
        return code;
    }
    unlink(files->svg);
    unlink(files->png);
    struct status cause = {0};
    code = script_copy(script, files->script, &cause);
    code = code == STATUS_OK ? page_draw(page, files, &cause) : code;
    if (code != STATUS_OK) {
        note_append(place->notes, files->svg, cause.text);
    }
    return STATUS_OK;
}

enum status_code plot_place_make(const struct plot_place *place, struct status *error)
{
    if (mkdir(place->plot_directory, 0777) != 0 && errno != EEXIST) {
        return status_set(error, STATUS_IO, "%s: cannot be made: %s", place->plot_directory, strerror(errno));
    }
    return STATUS_OK;
}

enum status_code plot_page_write(const struct plot_place *place, const char *name, const char *needs, int number,
                                 const struct plot_page *page, struct status *error)
{
    struct arena arena = {0};
    struct page_files files;
    enum status_code code = STATUS_OK;
    const char *script = arena_format(&arena, "%s/%s.gp", place->script_directory, name);
    if (script == NULL || !files_name(&arena, place->plot_directory, name, number, &files)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the names of a plot");
    } else if (page->mark_count > 0) {
        code = files_write(place, script, page, &files, error);
    } else {
        files_remove(&files); /* of an earlier report with more to show */
        if (number == 0) {
            text_format(place->notes, "plot %s: not drawn: no case has %s\n", files.svg, needs);
        }
    }
    arena_release(&arena);
    if (code == STATUS_OK && place->notes->failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the notes on plots");
    }
    return code;
}

static enum status_code kind_write(const struct report *report, enum plot_kind kind, const struct plot_place *place,
                                   struct status *error)
{
    enum status_code code = STATUS_OK;
    bool more = true;
    for (int number = 0; code == STATUS_OK && number < PAGE_MAXIMUM; number++) {
        struct plot_page page = {0};
        if (more) {
            plot_page_make(report, kind, number, &page);
            more = page.mark_count > 0;
        }
        code = plot_page_write(place, plot_name(kind), plot_needs(kind), number, &page, error);
        text_release(&page.data);
    }
    return code;
}

enum status_code report_plot(const struct report *report, const char *script_directory, const char *plot_directory,
                             struct text *notes, struct status *error)
{
    struct plot_place place = {.script_directory = script_directory, .plot_directory = plot_directory, .notes = notes};
    enum status_code code = plot_place_make(&place, error);
    for (int kind = 0; code == STATUS_OK && kind < PLOT_COUNT; kind++) {
        code = kind_write(report, (enum plot_kind)kind, &place, error);
    }
    return code;
}
