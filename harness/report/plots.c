/* Plots: pages of data drawn with the scripts of plots/. A plot that cannot be drawn costs a line in the notes, not the
 * report. */
#include "harness/report/plots.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
#include "harness/report/case_view.h"
#include "harness/report/gnuplot.h"
#include "harness/report/provenance.h"

enum { SCRIPT_BYTES_MAXIMUM = 1 << 20 };

static enum status_code script_read(const char *path, struct text *script, struct status *error)
{
    struct stat facts;
    int opened = regular_file_open(path, &facts);
    FILE *file = opened >= 0 ? fdopen(opened, "r") : NULL;
    if (file == NULL) {
        enum status_code code = status_set(error, STATUS_IO, "%s: cannot be opened: %s", path,
                                           errno == 0 ? "it is not a regular file" : strerror(errno));
        if (opened >= 0) {
            close(opened);
        }
        return code;
    }
    char bytes[4096];
    size_t count;
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0 && script->length < SCRIPT_BYTES_MAXIMUM) {
        text_append_bytes(script, bytes, count);
    }
    bool failed = ferror(file) != 0 || script->length == 0;
    fclose(file);
    return failed ? status_set(error, STATUS_IO, "%s: cannot be read", path) : STATUS_OK;
}

/* That gnuplot is missing is said once. */
static void failure_note(const struct plot_place *place, const struct plot *plot, const char *format,
                         const struct status *cause)
{
    char line[STATUS_LINE_BYTES];
    if (cause->code == STATUS_UNAVAILABLE) {
        place->set->gnuplot_is_missing = true;
        text_format(place->notes, "plots: not drawn: %s\n", status_line(cause, line));
    } else {
        text_format(place->notes, "plot %s.%s: not drawn: %s\n", plot->name, format, status_line(cause, line));
    }
}

/* One image of a page, drawn by a gnuplot of its own. */
struct drawing {
    struct gnuplot_task task;
    struct text *image;
    struct status cause;
    enum status_code code;
};

static void *drawing_make(void *argument)
{
    struct drawing *drawing = argument;
    drawing->code = gnuplot_draw(&drawing->task, drawing->image, &drawing->cause);
    return NULL;
}

/* Both images at the same time. If the first fails the second is none: what ails one ails both, and is said once. */
static void images_draw(const struct plot_place *place, const char *script, const struct plot_page *page,
                        struct plot *plot)
{
    char option[32] = "";
    if (page->tolerance >= 0.0) {
        snprintf(option, sizeof option, "%.6f", page->tolerance);
    }
    struct drawing svg = {.task = {.script = script,
                                   .data = &page->data,
                                   .format = "svg",
                                   .width = page->width,
                                   .height = page->height,
                                   .option = option,
                                   .basis = page->basis != NULL ? page->basis : "",
                                   .caption = text_string(&page->caption),
                                   .caption_lines = page->caption_lines},
                          .image = &plot->svg};
    struct drawing png = {.task = svg.task, .image = &plot->png};
    png.task.format = "png";
    pthread_t thread;
    bool apart = place->with_png && pthread_create(&thread, NULL, drawing_make, &png) == 0;
    drawing_make(&svg);
    if (apart) {
        pthread_join(thread, NULL);
    } else if (place->with_png && svg.code == STATUS_OK) {
        drawing_make(&png);
    }
    if (svg.code != STATUS_OK) {
        text_release(&plot->png);
        failure_note(place, plot, svg.task.format, &svg.cause);
    } else if (png.code != STATUS_OK) {
        failure_note(place, plot, png.task.format, &png.cause);
    }
}

static enum status_code plot_draw(const struct plot_place *place, const char *script, const struct plot_page *page,
                                  struct plot *plot, struct status *error)
{
    struct status cause = {0};
    text_append_bytes(&plot->data, text_string(&page->data), page->data.length);
    if (script_read(script, &plot->script, &cause) != STATUS_OK) {
        failure_note(place, plot, "svg", &cause);
    } else if (!place->set->gnuplot_is_missing) {
        images_draw(place, script, page, plot);
    }
    bool failed = page->data.failed || plot->data.failed || plot->script.failed || plot->svg.failed || plot->png.failed;
    return failed ? status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a plot") : STATUS_OK;
}

/* The name of a page's files: "anatomy-2", or "overhead-gpt2" if the page has a name. A name comes from outside, and
 * only letters that every file system, page and TeX takes stay; pages whose names are alike then have a number too. */
static const char *full_name(const struct plot_set *set, const char *kind, int number, const struct plot_page *page,
                             struct arena *arena)
{
    enum { NAME_BYTES_MAXIMUM = 100 };
    if (page->name.length == 0) {
        return number == 0 ? kind : arena_format(arena, "%s-%d", kind, number + 1);
    }
    char *full = arena_format(arena, "%s-%.*s", kind, NAME_BYTES_MAXIMUM, text_string(&page->name));
    for (char *at = full; at != NULL && *at != '\0'; at++) {
        *at = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *at) != NULL ? *at : '-';
    }
    const char *free_name = full;
    for (int again = 2; free_name != NULL && plot_set_has(set, free_name); again++) {
        free_name = arena_format(arena, "%s-%d", full, again);
    }
    return free_name;
}

enum status_code plot_page_draw(const struct plot_place *place, const char *name, const char *needs, int number,
                                const struct plot_page *page, struct status *error)
{
    struct arena arena = {0};
    const char *full = full_name(place->set, name, number, page, &arena);
    const char *script = arena_format(&arena, "%s/%s.gp", place->script_directory, name);
    struct plot *plot =
        full != NULL && script != NULL ? plot_set_add(place->set, full, text_string(&page->title)) : NULL;
    enum status_code code = STATUS_OK;
    if (plot == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the names of a plot");
    } else if (page->mark_count > 0) {
        code = plot_draw(place, script, page, plot, error);
    } else if (number == 0 && needs != NULL && !place->is_quiet) {
        text_format(place->notes, "plot %s.svg: not drawn: no case has %s\n", name, needs);
    }
    arena_release(&arena);
    if (code == STATUS_OK && place->notes->failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the notes on plots");
    }
    return code;
}

/* Makes the pages of one kind: those that are drawn, and if all are, an empty one after them. Returns how
 * many; *more: there are others. */
static int pages_make(const struct plot_pages *source, int maximum, struct plot_page *pages, bool *more)
{
    int count = 0;
    *more = true;
    while (*more && count <= maximum) {
        plot_page_make(source, count, &pages[count]);
        *more = pages[count].mark_count > 0;
        count++;
    }
    if (count > maximum) {
        plot_page_release(&pages[--count]);
    }
    return count;
}

/* Which page of its kind it is; a page that has a title of its own says by it what it is. */
static void page_close(struct plot_page *page, enum plot_kind kind, int number, int count, const char *provenance)
{
    if (page->title.length == 0) {
        char sentence[48];
        snprintf(sentence, sizeof sentence, "Page %d of %d.", number + 1, count);
        if (count > 1) {
            plot_caption_add(page, sentence);
        }
        text_format(&page->title, number == 0 ? "%s" : "%s, page %d", plot_maker_of(kind)->purpose, number + 1);
    }
    plot_caption_close(page, provenance);
}

/* The pages of one kind; that there are more than are drawn is said. */
static enum status_code kind_draw(const struct report *report, enum plot_kind kind, const struct plot_place *place,
                                  const char *provenance, struct status *error)
{
    enum status_code code = STATUS_OK;
    struct plot_page pages[PLOT_PAGES_MAXIMUM + 1];
    const struct plot_maker *maker = plot_maker_of(kind);
    const int maximum = maker->page_maximum < PLOT_PAGES_MAXIMUM ? maker->page_maximum : PLOT_PAGES_MAXIMUM;
    const char *needs = maker->needs_of != NULL ? maker->needs_of(report, place->timeline) : maker->needs;
    struct plot_pages source;
    bool more = false;
    if (!plot_pages_open(report, kind, place->timeline, &source)) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the cases of a plot");
    }
    int count = pages_make(&source, maximum, pages, &more);
    plot_pages_close(&source);
    for (int number = 0; number < count; number++) {
        page_close(&pages[number], kind, number, more ? count : count - 1, provenance);
        if (code == STATUS_OK) {
            code = plot_page_draw(place, maker->name, needs, number, &pages[number], error);
        }
        plot_page_release(&pages[number]);
    }
    if (more) {
        text_format(place->notes, "plot %s: the first %d pages are drawn, of more\n", maker->name, maximum);
    }
    return code;
}

enum status_code report_plot(const struct report *report, const struct plot_place *place, struct status *error)
{
    struct text provenance = {0};
    struct report *const one = (struct report *)(uintptr_t)report;
    provenance_append(&provenance, &one, 1);
    enum status_code code = STATUS_OK;
    for (int kind = 0; code == STATUS_OK && kind < PLOT_COUNT; kind++) {
        code = kind_draw(report, (enum plot_kind)kind, place, text_string(&provenance), error);
    }
    text_release(&provenance);
    return code;
}
