/* The option --constants: from a name to a file that is read. It does not decide which constants a device takes without
 * the option. */
#include "harness/cli/constants_option.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"

static const char *name_path(struct arena *arena, const char *name)
{
    struct stat kind;
    if (stat(name, &kind) == 0) {
        return S_ISDIR(kind.st_mode) ? arena_format(arena, "%s/constants.json", name) : name;
    }
    size_t length = strlen(name);
    if (strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0)) {
        return name;
    }
    const char *resource = arena_format(arena, "results/reference/%s/constants.json", name);
    return resource != NULL ? resource_path(arena, resource) : NULL;
}

static int is_place(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* "; there are a and b": the folders of results/reference that have constants. */
static void names_append(struct arena *arena, struct text *text)
{
    const char *folder = resource_path(arena, "results/reference");
    struct dirent **entries = NULL;
    int count = folder != NULL ? scandir(folder, &entries, is_place, alphasort) : -1;
    bool any = false;
    for (int i = 0; i < count; i++) {
        const char *path = arena_format(arena, "%s/%s/constants.json", folder, entries[i]->d_name);
        if (path != NULL && access(path, R_OK) == 0) {
            text_format(text, "%s%s", any ? ", " : "of results/reference: ", entries[i]->d_name);
            any = true;
        }
        free(entries[i]);
    }
    free(entries);
    text_append(text, any ? "" : "of results/reference, which has none yet");
}

enum status_code constants_option_read(const char *name, struct arena *arena, struct constants *constants,
                                       struct status *error)
{
    struct status unread;
    char line[STATUS_LINE_BYTES];
    const char *path = name_path(arena, name);
    if (path == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    enum status_code code = constants_read(path, constants, &unread);
    if (code == STATUS_IO) {
        struct text known = {0};
        names_append(arena, &known);
        status_set(error, code, "--constants %s: %s; give a file that assay calibrate has written, or a name %s", name,
                   status_line(&unread, line), text_string(&known));
        text_release(&known);
        return code;
    }
    return code == STATUS_OK ? code : status_copy(error, code, &unread);
}

void constants_option_warn(const char *command, const struct constants *constants)
{
    struct text text = {0};
    const struct constants_place place = {.driver = constants->device.driver,
                                          .runtime = constants->device.runtime,
                                          .tool_version = ASSAY_VERSION}; /* no device is asked */
    if (constants_mismatch_append(&text, constants, &place)) {
        output_warning("assay: %s: %s (%s); calibrate again", command, text_string(&text), constants->path);
    }
    text_release(&text);
}

enum status_code constants_option_check(const struct constants *constants, const char *gpu_name, struct status *error)
{
    struct text origin = {0};
    enum status_code code = STATUS_OK;
    if (!constants_are_of(constants, "cuda", gpu_name, 0)) {
        constants_origin_append(&origin, constants);
        code =
            status_set(error, STATUS_INVALID,
                       "--constants are of %.700s, and --on is '%.100s'; leave --constants out, or name the GPU that "
                       "they are of",
                       text_string(&origin), gpu_name);
    }
    text_release(&origin);
    return code;
}
