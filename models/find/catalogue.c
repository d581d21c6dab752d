/* Catalogue: listing a folder of configurations and matching what users type. Not a cache and not a download. */
#include "models/find/catalogue.h"
#include "models/find/config_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/text.h"
#include "harness/checkpoint/checkpoint.h"
#include "models/find/catalogue_names.h"
#include "models/find/model_files.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 256, CATALOGUE_MAXIMUM = 10000 };

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* False if the path is too long. */
static bool path_format(char path[PATH_BYTES], const char *folder, const char *name, const char *file)
{
    const char *const parts[] = {folder, "/", name, file};
    size_t length = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t part = strlen(parts[i]);
        if (part >= PATH_BYTES - length) {
            return false;
        }
        memcpy(path + length, parts[i], part + 1);
        length += part;
    }
    return true;
}

static enum status_code names_add(struct catalogue *catalogue, int *capacity, const char *name, struct status *error)
{
    if (catalogue->count == CATALOGUE_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "the catalogue has more than %d models; remove some",
                          CATALOGUE_MAXIMUM);
    }
    if (catalogue->count == *capacity) {
        int wanted = *capacity > 0 ? 2 * *capacity : 64;
        const char **grown = arena_alloc(&catalogue->arena, (size_t)wanted * sizeof *grown);
        if (grown == NULL) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the names of the catalogue");
        }
        if (catalogue->count > 0) {
            memcpy(grown, catalogue->names, (size_t)catalogue->count * sizeof *grown);
        }
        catalogue->names = grown;
        *capacity = wanted;
    }
    const char *copy = arena_copy(&catalogue->arena, name);
    if (copy == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the names of the catalogue");
    }
    catalogue->names[catalogue->count++] = copy;
    return STATUS_OK;
}

/* Adds every folder below `below` that holds a config.json; folders that do not are owners, one level deep. */
static enum status_code folder_read(const char *folder, const char *below, struct catalogue *catalogue, int *capacity,
                                    struct status *error)
{
    char path[PATH_BYTES];
    DIR *directory = path_format(path, folder, below, "") ? opendir(path) : NULL;
    if (directory == NULL) {
        return status_set(error, STATUS_IO, "%s/%s: %s; say where models/catalogue is", folder, below, strerror(errno));
    }
    enum status_code code = STATUS_OK;
    const struct dirent *entry;
    while (code == STATUS_OK && (entry = readdir(directory)) != NULL) {
        char name[NAME_BYTES];
        int length = snprintf(name, sizeof name, "%s%s", below, entry->d_name);
        if (entry->d_name[0] == '.' || length < 0 || length >= NAME_BYTES - 1) {
            continue;
        }
        if (path_format(path, folder, name, "/config.json") && is_file(path)) {
            code = names_add(catalogue, capacity, name, error);
        } else if (below[0] == '\0' && path_format(path, folder, name, "") && is_folder(path)) {
            name[length] = '/'; /* there is room for it: see above */
            name[length + 1] = '\0';
            code = folder_read(folder, name, catalogue, capacity, error);
        }
    }
    closedir(directory);
    return code;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum status_code catalogue_read(const char *folder, struct catalogue *catalogue, struct status *error)
{
    struct catalogue result = {0};
    int capacity = 0;
    enum status_code code = folder_read(folder, "", &result, &capacity, error);
    if (code != STATUS_OK) {
        arena_release(&result.arena);
        return code;
    }
    if (result.count > 0) {
        qsort(result.names, (size_t)result.count, sizeof *result.names, names_compare);
    }
    *catalogue = result;
    return STATUS_OK;
}

void catalogue_release(struct catalogue *catalogue)
{
    arena_release(&catalogue->arena);
    *catalogue = (struct catalogue){0};
}

/* Whether what was typed can only be meant as a path: a name of the hub has one '/' within it, and no such end. */
static bool is_path(const char *typed)
{
    const char *slash = strchr(typed, '/');
    size_t length = strlen(typed);
    bool is_json = length > 5 && strcmp(typed + length - 5, ".json") == 0;
    return *typed == '.' || *typed == '~' || slash == typed || is_json || checkpoint_is_named(typed) ||
           (slash != NULL && strchr(slash + 1, '/') != NULL);
}

/* Why there is no model at a path. */
static enum status_code path_fail(const char *path, struct status *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return status_set(error, STATUS_INVALID,
                          "'%s': %s; write the path of a config.json, of a .safetensors or .gguf file or of a folder "
                          "that holds one, or a name that assay models lists",
                          path, strerror(errno));
    }
    struct model_files files;
    model_files_find(path, &files);
    if (files.shard_count > 0) {
        return status_set(error, STATUS_INVALID,
                          "'%s': %d files look like shards; their index, model.safetensors.index.json, is missing, so "
                          "that they are not read: put it there, and the config.json",
                          path, files.shard_count);
    }
    char config[MODEL_PATH_BYTES];
    int length = snprintf(config, sizeof config, "%s/config.json", path);
    if (length > 0 && length < MODEL_PATH_BYTES && lstat(config, &(struct stat){0}) == 0) {
        return status_set(error, STATUS_INVALID,
                          "'%s' is no regular file and leads to none; put the model's config.json in its place",
                          config);
    }
    return S_ISDIR(facts.st_mode)
               ? status_set(error, STATUS_INVALID,
                            "'%s' is a folder without a config.json or a model.safetensors, and without a .gguf that "
                            "would be the only one; write the path of the one that is meant, or a name that assay "
                            "models lists",
                            path)
               : status_set(error, STATUS_INVALID, "'%s' is no regular file; write the path of a config.json", path);
}

static void nearest_fail(const struct catalogue *catalogue, const char *typed, struct status *error)
{
    struct text nearest = {0};
    catalogue_names_near(catalogue->names, catalogue->count, typed, &nearest);
    status_set(error, STATUS_INVALID,
               "model '%s' is neither in the catalogue nor the path of a config.json, a model file or a folder that "
               "holds one; %s%s",
               typed, nearest.length > 0 ? "nearest names: " : "assay models lists the catalogue",
               text_string(&nearest));
    text_release(&nearest);
}

/* The one name that fits what was typed, NULL with the error if there is none or more than one. */
static const char *catalogue_match(const struct catalogue *catalogue, const char *typed, struct status *error)
{
    struct text several = {0};
    const char *found = NULL;
    int count = 0;
    for (int i = 0; i < catalogue->count; i++) {
        if (catalogue_name_fits(typed, catalogue->names[i])) {
            found = catalogue->names[i];
            text_format(&several, "%s'%s'", count++ > 0 ? ", " : "", found);
        }
    }
    if (count > 1) {
        found = NULL;
        status_set(error, STATUS_INVALID, "model '%s' fits several: %s; write one of these", typed,
                   text_string(&several));
    } else if (count == 0 && catalogue_twin(typed) != NULL) {
        found = catalogue_twin(typed);
    } else if (count == 0 && (is_path(typed) || is_folder(typed))) {
        path_fail(typed, error);
    } else if (count == 0) {
        nearest_fail(catalogue, typed, error);
    }
    text_release(&several);
    return found;
}

static enum status_code find_in_catalogue(const char *folder, const char *model, struct config *config,
                                          struct status *error)
{
    struct catalogue catalogue;
    enum status_code code = catalogue_read(folder, &catalogue, error);
    if (code != STATUS_OK) {
        return code;
    }
    const char *name = catalogue_match(&catalogue, model, error);
    char path[PATH_BYTES];
    code = STATUS_INVALID;
    if (name != NULL && path_format(path, folder, name, "/config.json")) {
        code = config_read(path, name, config, error);
        bool is_other = code == STATUS_OK && !catalogue_name_is(model, name);
        snprintf(config->stands_for, code == STATUS_OK ? sizeof config->stands_for : 0, "%s", is_other ? model : "");
    }
    catalogue_release(&catalogue);
    return code;
}

/* The file of the catalogue that has exactly this name. */
static bool exact_path(const char *folder, const char *model, char path[PATH_BYTES])
{
    size_t length = strlen(model);
    bool plain = model[0] != '.' && model[0] != '/' && strstr(model, "..") == NULL; /* stays inside the catalogue */
    return length > 0 && length < NAME_BYTES && plain && path_format(path, folder, model, "/config.json") &&
           is_file(path);
}

bool catalogue_has(const char *folder, const char *model)
{
    char path[PATH_BYTES];
    return exact_path(folder, model, path);
}

bool catalogue_knows(const char *folder, const char *model)
{
    struct catalogue catalogue;
    bool fits = catalogue_has(folder, model) || catalogue_twin(model) != NULL;
    if (fits || strlen(model) >= NAME_BYTES || catalogue_read(folder, &catalogue, NULL) != STATUS_OK) {
        return fits;
    }
    for (int i = 0; i < catalogue.count && !fits; i++) {
        fits = catalogue_name_fits(model, catalogue.names[i]);
    }
    catalogue_release(&catalogue);
    return fits;
}

enum status_code config_find(const char *catalogue_folder, const char *model, struct config *config,
                             struct status *error)
{
    char path[PATH_BYTES];
    size_t length = strlen(model);
    if (length == 0 || length >= NAME_BYTES) {
        return status_set(error, STATUS_INVALID, "a model's name has 1 to %d bytes, not %zu; see the catalogue",
                          NAME_BYTES - 1, length);
    }
    if (exact_path(catalogue_folder, model, path)) {
        return config_read(path, model, config, error);
    }
    if (is_folder(model)) {
        if (path_format(path, model, "config.json", "") && is_file(path)) {
            return config_read(path, model, config, error);
        }
    } else if (is_file(model)) {
        return config_read(model, model, config, error);
    }
    return find_in_catalogue(catalogue_folder, model, config, error);
}
