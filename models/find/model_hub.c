/* Models of the hub: which files of a repository a model is made of. Where they come from is decided in harness/hub. */
#include "models/find/model_hub.h"
#include "models/family/config_reading.h"
#include "models/find/config_file.h"

#include <stdio.h>
#include <string.h>

#include "harness/checkpoint/checkpoint.h"
#include "harness/hub/hub.h"
#include "models/find/folder_kind.h"
#include "models/find/gguf_family.h"

/* A repository as a place of model files that stand beside each other in a folder of it. */
struct hub_place {
    struct hub_repository *repository;
    const struct hub_name *name;
    char folder[HUB_FILE_BYTES]; /* "" or "FOLDER/" */
    bool is_offline;             /* the network is forbidden */
    struct status *unread;       /* as in model_open */
};

/* What the places before have said, and what was tried here. */
static enum status_code not_found_fail(const struct status *not_found, enum status_code code, const char *tried,
                                       struct status *error)
{
    status_copy(error, code, not_found);
    status_extend(error, "; %s", tried);
    return code;
}

static enum status_code hub_place_open(const void *context, const char *name, struct byte_source **source,
                                       struct status *error)
{
    const struct hub_place *place = context;
    char file[2 * HUB_FILE_BYTES];
    int length = snprintf(file, sizeof file, "%s%s", place->folder, name);
    if (length < 0 || length >= HUB_FILE_BYTES || !hub_path_is_plain(file)) {
        return status_set(error, STATUS_INVALID, "%s: '%.100s' is no name of a file in it", place->name->repository,
                          name);
    }
    struct byte_source *found = NULL;
    enum status_code code = hub_repository_source(place->repository, file, &found, error);
    if (code == STATUS_OK && found == NULL) {
        code = status_set(error, STATUS_INVALID, "%s has no file %s at commit %.12s; its page lists what it has",
                          place->name->repository, file, hub_repository_commit(place->repository));
    }
    if (code == STATUS_OK) {
        *source = found;
    }
    return code;
}

/* Which file of the repository leads to its weights, as transformers looks for them; "" if it has neither. */
static enum status_code weights_find(struct hub_repository *repository, const char **file, struct status *error)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct byte_source *source = NULL;
        enum status_code code = hub_repository_source(repository, names[i], &source, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (source != NULL) {
            byte_source_release(source);
            *file = names[i];
            return STATUS_OK;
        }
    }
    *file = "";
    return STATUS_OK;
}

static enum status_code checkpoint_from_hub(const struct hub_place *place, const char *file,
                                            struct checkpoint **checkpoint, struct status *error)
{
    const struct checkpoint_place where = {.open = hub_place_open, .context = place};
    enum status_code code = checkpoint_read(&where, file, checkpoint, error);
    if (code == STATUS_INVALID) {
        hub_repository_forget(place->repository);
    }
    return code;
}

/* The headers of a repository whose configuration is known. Without a network, if it is forbidden, the configuration
 * alone is what there is. */
static enum status_code weights_from_hub(const struct hub_place *place, struct checkpoint **checkpoint,
                                         struct status *error)
{
    const char *file = "";
    enum status_code code = weights_find(place->repository, &file, error);
    if (code == STATUS_OK && file[0] != '\0') {
        code = checkpoint_from_hub(place, file, checkpoint, error);
    }
    return code == STATUS_IO && place->is_offline ? STATUS_OK : code;
}

/* STATUS_OK if the repository is of none of the kinds that are no models. */
static enum status_code kind_check(const struct hub_place *place, const char *text, struct status *error)
{
    const char *file;
    for (int kind = 0; (file = folder_kind_file(kind)) != NULL; kind++) {
        const char *path = NULL;
        enum status_code code = hub_repository_path(place->repository, file, HUB_CONFIG_BYTES_MAXIMUM, &path, error);
        if (code != STATUS_OK || path != NULL) {
            return code != STATUS_OK ? code : folder_kind_refuse(kind, text, path, error);
        }
    }
    return STATUS_OK;
}

/* Of a repository that has no config.json: by its tensors, if it has any. */
static enum status_code unconfigured_from_hub(const struct hub_place *place, const char *text, struct model *model,
                                              struct status *error)
{
    enum status_code code = model->checkpoint == NULL ? weights_from_hub(place, &model->checkpoint, error) : STATUS_OK;
    if (code != STATUS_OK) {
        return code;
    }
    if (model->checkpoint == NULL) {
        code = kind_check(place, text, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (model->checkpoint == NULL) {
        return status_set(error, STATUS_INVALID,
                          "%s has no config.json at commit %.12s; name a file of it that says what the model is, "
                          "OWNER/NAME/FILE.gguf",
                          place->name->repository, hub_repository_commit(place->repository));
    }
    code = model_infer(model->checkpoint, text, model, place->unread);
    if (code == STATUS_INVALID || code == STATUS_OVERFLOW) {
        return STATUS_OK;
    }
    return code == STATUS_OK ? STATUS_OK : status_copy(error, code, place->unread);
}

static enum status_code config_from_hub(const struct hub_place *place, const char *text, struct model *model,
                                        struct status *error)
{
    const char *path = NULL;
    enum status_code code =
        hub_repository_path(place->repository, "config.json", HUB_CONFIG_BYTES_MAXIMUM, &path, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (path == NULL) {
        return unconfigured_from_hub(place, text, model, error);
    }
    struct status cause = {.spelling = error != NULL ? error->spelling : STATUS_SPELLING_KEYS};
    code = config_read(path, text, &model->config, &cause);
    if (code != STATUS_INVALID || !config_file_names_unknown(path)) {
        return code == STATUS_OK ? code : status_copy(error, code, &cause);
    }
    code = model->checkpoint == NULL ? weights_from_hub(place, &model->checkpoint, error) : STATUS_OK;
    return code != STATUS_OK           ? code
           : model->checkpoint == NULL ? status_copy(error, STATUS_INVALID, &cause)
                                       : model_type_unknown(model->checkpoint, text, &cause, place->unread);
}

/* A file that was named: a GGUF says what the model is, another has its configuration at the top of the repository. */
static enum status_code file_from_hub(struct hub_place *place, const char *text, struct model *model,
                                      struct status *error)
{
    const char *slash = strrchr(place->name->file, '/');
    const char *file = slash != NULL ? slash + 1 : place->name->file;
    snprintf(place->folder, sizeof place->folder, "%.*s", (int)(file - place->name->file), place->name->file);
    enum status_code code = checkpoint_from_hub(place, file, &model->checkpoint, error);
    if (code != STATUS_OK) {
        return code;
    }
    return model->checkpoint->format == CHECKPOINT_GGUF ? gguf_config(model->checkpoint, text, &model->config, error)
                                                        : config_from_hub(place, text, model, error);
}

static enum status_code model_from_hub(struct hub_place *place, const char *text, struct model *model,
                                       struct status *error)
{
    if (place->name->file[0] != '\0') {
        return file_from_hub(place, text, model, error);
    }
    enum status_code code = config_from_hub(place, text, model, error);
    return code == STATUS_OK && model->checkpoint == NULL ? weights_from_hub(place, &model->checkpoint, error) : code;
}

/* With the repository open. */
static enum status_code model_look_for(struct hub_place *place, const char *text, const struct status *not_found,
                                       struct model *model, struct status *error)
{
    struct status trouble = {0};
    char line[STATUS_LINE_BYTES];
    const struct hub_name *name = place->name;
    if (!name->has_owner && !name->is_address && !hub_repository_is_cached(place->repository)) {
        return not_found_fail(not_found, STATUS_INVALID,
                              "nor is it in a cache of Hugging Face; models of the hub are written OWNER/NAME", error);
    }
    enum status_code code = model_from_hub(place, text, model, &trouble);
    if (code != STATUS_OK && !name->is_address && !hub_repository_exists(place->repository)) {
        return not_found_fail(not_found, code, status_line(&trouble, line), error);
    }
    return code != STATUS_OK ? status_copy(error, code, &trouble) : STATUS_OK;
}

enum status_code model_find_on_hub(const char *text, const struct status *not_found, struct model *model,
                                   struct status *unread, struct status *error)
{
    struct hub_name name;
    struct hub_settings settings;
    struct hub_place place = {.name = &name, .unread = unread};
    struct model found = {0};
    char bare[CONFIG_NAME_BYTES];
    if (!hub_name_read(config_read_as(text, bare) != NULL ? bare : text, &name)) {
        return status_copy(error, not_found->code, not_found);
    }
    enum status_code code = hub_settings_read(&settings, error);
    if (code == STATUS_OK) {
        code = hub_repository_open(&settings, &name, &place.repository, error);
    }
    if (code == STATUS_OK) {
        place.is_offline = settings.offline != NULL;
        code = model_look_for(&place, text, not_found, &found, error);
    }
    hub_repository_close(place.repository);
    if (code == STATUS_OK) {
        *model = found;
    } else {
        checkpoint_release(found.checkpoint);
    }
    return code;
}
