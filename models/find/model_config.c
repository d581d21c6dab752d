/* The file of a model's configuration: the places of model_find, asked for a path. */
#include "models/find/model_config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/hub/hub.h"
#include "models/find/catalogue.h"
#include "models/find/model_hub.h"

static bool file_is_here(const char *path, int length)
{
    struct stat facts;
    return length > 0 && length < PATH_MAX && stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* The path in the hub's caches; "" if it has none. */
static void hub_path(const char *text, char path[PATH_MAX])
{
    struct hub_name name;
    struct hub_settings settings;
    struct hub_repository *repository = NULL;
    const char *found = NULL;
    if (hub_name_read(text, &name) && hub_settings_read(&settings, NULL) == STATUS_OK &&
        hub_repository_open(&settings, &name, &repository, NULL) == STATUS_OK &&
        hub_repository_path(repository, "config.json", HUB_CONFIG_BYTES_MAXIMUM, &found, NULL) == STATUS_OK &&
        found != NULL) {
        snprintf(path, PATH_MAX, "%s", found);
    }
    hub_repository_close(repository);
}

enum status_code model_config_path(const struct model_places *places, const char *text, char path[PATH_MAX],
                                   struct status *error)
{
    struct model model;
    struct model_files files;
    char found[PATH_MAX] = "", bare[CONFIG_NAME_BYTES];
    const char *place = config_read_as(text, bare) != NULL ? bare : text;
    enum status_code code = model_find(places, text, &model, error);
    if (code != STATUS_OK) {
        return code;
    }
    bool is_listed = catalogue_has(places->catalogue_dir, model.config.name);
    int length = is_listed
                     ? snprintf(found, sizeof found, "%s/%s/config.json", places->catalogue_dir, model.config.name)
                     : -1; /* a path may look like a name behind the catalogue's folder */
    model_release(&model);
    if (!file_is_here(found, length) && model_local_files(places, place, &files)) {
        length = snprintf(found, sizeof found, "%s", files.config);
    }
    if (!file_is_here(found, length)) {
        found[0] = '\0';
        hub_path(text, found);
    }
    size_t end = strlen(found);
    if (end < 5 || strcmp(found + end - 5, ".json") != 0) {
        return status_set(error, STATUS_INVALID, "%s has no config.json", text);
    }
    memcpy(path, found, end + 1);
    return STATUS_OK;
}
