/* Plug-ins: finding, loading and checking. What a plug-in does is its own matter. */
#include "harness/device/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/library_symbol.h"
#include "harness/base/text.h"

/* Set by the build to the folder that `make install` puts plug-ins into. */
#ifndef ASSAY_LIBRARY_DIRECTORY
#define ASSAY_LIBRARY_DIRECTORY "/usr/local/lib/assay"
#endif

enum { PLUGIN_FOLDERS_MAXIMUM = 3 };

struct plugin_folders {
    int count;
    char path[PLUGIN_FOLDERS_MAXIMUM][PATH_MAX];
};

static void folder_add(struct plugin_folders *folders, const char *path)
{
    snprintf(folders->path[folders->count++], PATH_MAX, "%s", path);
}

/* The executable's own folder, and for a test program, build/tests/AREA/test_it, the build folder. No other folder
 * above: one that a repository was cloned into, /tmp say, may be anybody's, and a plug-in is code. */
static void executable_folders_add(struct plugin_folders *folders)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return;
    }
    *slash = '\0';
    folder_add(folders, path);
    char *area = strrchr(path, '/');
    if (area == NULL) {
        return;
    }
    *area = '\0';
    char *tests = strrchr(path, '/');
    if (tests != NULL && tests != path && strcmp(tests, "/tests") == 0) {
        *tests = '\0';
        folder_add(folders, path);
    }
}

static void plugin_folders_list(struct plugin_folders *folders)
{
    const char *chosen = secure_getenv("ASSAY_PLUGIN_DIR");
    folders->count = 0;
    if (chosen != NULL && *chosen != '\0') {
        folder_add(folders, chosen);
        return;
    }
    executable_folders_add(folders);
    folder_add(folders, ASSAY_LIBRARY_DIRECTORY);
}

static enum status_code plugin_missing(const char *kind, const char *file_name, const struct plugin_folders *folders,
                                       struct status *error)
{
    struct text places = {0};
    for (int i = 0; i < folders->count; i++) {
        text_format(&places, "%s%s", i > 0 ? ", " : "", folders->path[i]);
    }
    status_set(error, STATUS_UNAVAILABLE,
               "%s: the plug-in %s is not in %s; build it with make where the CUDA toolkit is installed, or set "
               "ASSAY_PLUGIN_DIR to its folder",
               kind, file_name, text_string(&places));
    text_release(&places);
    return STATUS_UNAVAILABLE;
}

/* NULL if no folder has the file. *path is the file that was found. */
static const char *plugin_find(const struct plugin_folders *folders, const char *file_name, char path[2 * PATH_MAX])
{
    for (int i = 0; i < folders->count; i++) {
        snprintf(path, 2 * PATH_MAX, "%s/%s", folders->path[i], file_name);
        if (access(path, R_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

bool plugin_entry_fits(const struct plugin_entry *entry)
{
    return entry->version == PLUGIN_VERSION && entry->call_bytes == sizeof(struct operation_call) &&
           strcmp(entry->operations, operation_list) == 0;
}

static enum status_code plugin_entry_read(const char *kind, void *library, const char *path,
                                          const struct plugin_entry **entry, struct status *error)
{
    plugin_entry_function entry_function = NULL;
    bool has_entry = symbol_find(library, PLUGIN_ENTRY_SYMBOL, &entry_function);
    const struct plugin_entry *found = has_entry ? entry_function() : NULL;
    if (found == NULL || !plugin_entry_fits(found)) {
        return status_set(
            error, STATUS_UNAVAILABLE,
            "%s: the plug-in %s was built from other sources than this program; build both anew with make", kind, path);
    }
    *entry = found;
    return STATUS_OK;
}

/* Finds, loads and checks the plug-in; it stays mapped. */
static enum status_code plugin_load(const char *kind, const char *file_name, const struct plugin_entry **entry,
                                    struct status *error)
{
    struct plugin_folders folders;
    char path[2 * PATH_MAX];
    plugin_folders_list(&folders);
    if (plugin_find(&folders, file_name, path) == NULL) {
        return plugin_missing(kind, file_name, &folders, error);
    }
    /* NODELETE: a CUDA runtime that was started cannot be unloaded safely. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        return status_set(error, STATUS_UNAVAILABLE, "%s: the plug-in cannot be loaded: %s; build it anew with make",
                          kind, dlerror());
    }
    enum status_code code = plugin_entry_read(kind, library, path, entry, error);
    dlclose(library);
    return code;
}

enum status_code plugin_device_open(const char *kind, const char *file_name, int index, struct device **device,
                                    struct status *error)
{
    const struct plugin_entry *entry = NULL;
    enum status_code code = plugin_load(kind, file_name, &entry, error);
    return code == STATUS_OK ? entry->open(index, device, error) : code;
}

enum status_code plugin_device_identify(const char *kind, const char *file_name, int index,
                                        struct device_identity *identity, struct status *error)
{
    const struct plugin_entry *entry = NULL;
    enum status_code code = plugin_load(kind, file_name, &entry, error);
    return code == STATUS_OK ? entry->identify(index, identity, error) : code;
}

bool plugin_path_find(const char *file_name, char *path, size_t path_bytes)
{
    struct plugin_folders folders;
    char found[2 * PATH_MAX];
    plugin_folders_list(&folders);
    bool is_there = plugin_find(&folders, file_name, found) != NULL;
    snprintf(path, path_bytes, "%s", is_there ? found : folders.path[0]);
    return is_there;
}

enum status_code plugin_check(const char *kind, const char *file_name, struct status *error)
{
    const struct plugin_entry *entry = NULL;
    return plugin_load(kind, file_name, &entry, error);
}
