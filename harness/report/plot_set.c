/* Plot set: plots kept in memory until all are drawn, and their files. Draws nothing. */
#include "harness/report/plot_set.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/file_replace.h"

enum { FILES_OF_PLOT = 4 };

/* The files of a plot, in the order in which they are written: data first. */
static const struct text *file_content(const struct plot *plot, int index, const char **ending)
{
    static const char *const endings[FILES_OF_PLOT] = {"tsv", "gp", "svg", "png"};
    const struct text *const contents[FILES_OF_PLOT] = {&plot->data, &plot->script, &plot->svg, &plot->png};
    *ending = endings[index];
    return contents[index];
}

struct plot *plot_set_add(struct plot_set *set, const char *name, const char *title)
{
    struct plot *plots = array_extend(set->plots, (size_t)set->count, &set->room, sizeof *plots);
    if (plots == NULL) {
        return NULL;
    }
    set->plots = plots;
    struct plot *added = &set->plots[set->count];
    *added = (struct plot){.name = strdup(name), .title = strdup(title)};
    if (added->name == NULL || added->title == NULL) {
        free(added->name);
        free(added->title);
        return NULL;
    }
    set->count++;
    return added;
}

bool plot_set_has(const struct plot_set *set, const char *name)
{
    int at = 0;
    while (at < set->count && strcasecmp(set->plots[at].name, name) != 0) {
        at++;
    }
    return at < set->count;
}

const struct text *plot_set_svg(const struct plot_set *set, const char *name)
{
    for (int i = 0; set != NULL && i < set->count; i++) {
        if (strcmp(set->plots[i].name, name) == 0 && set->plots[i].svg.length > 0) {
            return &set->plots[i].svg;
        }
    }
    return NULL;
}

/* What stays of an earlier report: the name of the first file, and how many more there are. */
struct remains {
    struct text first;
    int count;
};

static enum status_code plot_save(const struct plot *plot, const char *folder, struct remains *remains,
                                  struct status *error)
{
    struct text path = {0};
    struct stat facts;
    enum status_code code = STATUS_OK;
    for (int i = 0; code == STATUS_OK && i < FILES_OF_PLOT; i++) {
        const char *ending = NULL;
        const struct text *content = file_content(plot, i, &ending);
        path.length = 0;
        text_format(&path, "%s/%s.%s", folder, plot->name, ending);
        if (path.failed) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the names of a plot");
        } else if (content->length > 0) {
            code = file_replace(text_string(&path), FILE_CHOSEN, content, error);
        } else if (lstat(text_string(&path), &facts) == 0) {
            text_append(&remains->first, remains->count == 0 ? text_string(&path) : "");
            remains->count++;
        }
    }
    text_release(&path);
    return code;
}

enum status_code plot_set_save(const struct plot_set *set, const char *folder, struct text *notes, struct status *error)
{
    struct remains remains = {0};
    enum status_code code = STATUS_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        code = status_set(error, STATUS_IO, "%s: cannot be made: %s", folder, strerror(errno));
    }
    for (int i = 0; code == STATUS_OK && i < set->count; i++) {
        code = plot_save(&set->plots[i], folder, &remains, error);
    }
    if (remains.count > 0) {
        text_format(notes, "plots: %s", text_string(&remains.first));
        text_format(notes, remains.count > 1 ? " and %d more files there are" : " is", remains.count - 1);
        text_append(notes, " of an earlier report, not of this one; remove what nobody needs\n");
    }
    text_release(&remains.first);
    return code;
}

void plot_set_release(struct plot_set *set)
{
    for (int i = 0; i < set->count; i++) {
        const char *ending = NULL;
        for (int file = 0; file < FILES_OF_PLOT; file++) {
            struct text *content = (struct text *)(uintptr_t)file_content(&set->plots[i], file, &ending);
            text_release(content);
        }
        free(set->plots[i].name);
        free(set->plots[i].title);
    }
    free(set->plots);
    *set = (struct plot_set){0};
}
