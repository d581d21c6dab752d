/* Models of the hub: which files of a repository a model is made of. Where they come from is decided in harness/hub. */
#include "models/model_hub.h"

#include <stdio.h>

#include "harness/hub/hub.h"

/* What the places before have said, and what was tried here. */
static enum status_code not_found_fail(const struct status *not_found, enum status_code code, const char *tried,
                                       struct status *error)
{
    return status_set(error, code, "%s; %s", not_found->text, tried);
}

static enum status_code config_from_hub(struct hub_repository *repository, const struct hub_name *name,
                                        const char *text, struct config *config, struct status *error)
{
    const char *path = NULL;
    enum status_code code = hub_repository_path(repository, "config.json", HUB_CONFIG_BYTES_MAXIMUM, &path, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (path == NULL) {
        return status_set(error, STATUS_INVALID, "%s has no config.json at commit %.12s; name another repository",
                          name->repository, hub_repository_commit(repository));
    }
    return config_read(path, text, config, error);
}

static enum status_code model_from_hub(struct hub_repository *repository, const struct hub_name *name, const char *text,
                                       const struct status *not_found, struct model *model, struct status *error)
{
    struct status trouble = {0};
    if (!name->has_owner && !name->is_address && !hub_repository_is_cached(repository)) {
        return not_found_fail(not_found, STATUS_INVALID,
                              "nor is it in a cache of Hugging Face; models of the hub are written OWNER/NAME", error);
    }
    enum status_code code = config_from_hub(repository, name, text, &model->config, &trouble);
    if (code != STATUS_OK && !name->is_address && !hub_repository_exists(repository)) {
        return not_found_fail(not_found, code, trouble.text, error);
    }
    return code != STATUS_OK ? status_set(error, code, "%s", trouble.text) : STATUS_OK;
}

enum status_code model_find_on_hub(const char *text, const struct status *not_found, struct model *model,
                                   struct status *error)
{
    struct hub_name name;
    struct hub_settings settings;
    struct hub_repository *repository = NULL;
    struct model found = {0};
    if (!hub_name_read(text, &name) || name.file[0] != '\0') {
        return status_set(error, not_found->code, "%s", not_found->text);
    }
    enum status_code code = hub_settings_read(&settings, error);
    if (code == STATUS_OK) {
        code = hub_repository_open(&settings, &name, &repository, error);
    }
    if (code == STATUS_OK) {
        code = model_from_hub(repository, &name, text, not_found, &found, error);
    }
    hub_repository_close(repository);
    if (code == STATUS_OK) {
        *model = found;
    }
    return code;
}
