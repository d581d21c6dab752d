/* Model: the places where a model may be, one after another, and a checkpoint beside its configuration. Not the readers
 * of what lies there. */
#include "models/find/model.h"
#include "models/family/config_reading.h"
#include "models/find/config_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "models/find/catalogue.h"
#include "models/find/folder_kind.h"
#include "models/find/gguf_family.h"
#include "models/find/model_hub.h"
#include "models/workload/workload_tape.h"

/* Holds the headers against the configuration. A vocabulary that the file has padded or resized is the model's. */
static enum status_code model_settle(struct model *model, struct status *error)
{
    enum status_code code = checkpoint_check(model->checkpoint, &model->config, HEAD_DEFAULT, &model->check, error);
    if (code == STATUS_OK) {
        int64_t vocab = checkpoint_vocab(&model->check, &model->config);
        model->config.vocab = vocab > 0 ? vocab : model->config.vocab;
    }
    return code;
}

/* A head that is trained on a task, which no model here has, or the pooler that some of these classes leave out: what
 * the model is follows from the rest. */
static bool is_of_a_task(const struct finding *finding)
{
    static const char *const heads[] = {"classifier.", "pre_classifier.", "score.", "qa_outputs.",
                                        "classification_head."};
    if (finding->kind == FINDING_MISSING) {
        return strncmp(finding->name, "pooler.", 7) == 0 || strstr(finding->name, ".pooler.") != NULL;
    }
    for (size_t i = 0; i < sizeof heads / sizeof heads[0] && finding->kind == FINDING_EXTRA; i++) {
        if (strncmp(finding->name, heads[i], strlen(heads[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether every tensor is one of the model that was told. */
static enum status_code inferred_check(const struct checkpoint *checkpoint, const struct config *config,
                                       struct inferred *inferred, struct status *error)
{
    struct checkpoint_check check = {0};
    int counts[FINDING_KIND_COUNT] = {0}, besides = 0, unstored = 0;
    enum status_code code = checkpoint_check(checkpoint, config, HEAD_DEFAULT, &check, error);
    for (int i = 0; i < check.finding_count; i++) {
        bool is_known = is_of_a_task(&check.findings[i]);
        counts[check.findings[i].kind] += is_known ? 0 : 1;
        besides += is_known && check.findings[i].kind == FINDING_EXTRA ? 1 : 0;
        unstored += is_known && check.findings[i].kind == FINDING_MISSING ? 1 : 0;
    }
    checkpoint_check_release(&check);
    if (code == STATUS_OK && counts[FINDING_MISSING] + counts[FINDING_EXTRA] + counts[FINDING_SHAPE] > 0) {
        return status_set(error, STATUS_INVALID,
                          "%s: there is no config.json beside it, and its tensors are almost those of %s, but %d are "
                          "missing, %d are others and %d have another shape; put the model's config.json beside it",
                          checkpoint->name, config->model_type, counts[FINDING_MISSING], counts[FINDING_EXTRA],
                          counts[FINDING_SHAPE]);
    }
    inferred->besides_count = besides;
    inferred->unstored_count = unstored;
    return code;
}

enum status_code model_infer(const struct checkpoint *checkpoint, const char *name, struct model *model,
                             struct status *error)
{
    struct config config;
    struct inferred inferred;
    enum status_code code = config_infer(checkpoint, name, &config, &inferred, error);
    if (code == STATUS_OK) {
        code = inferred_check(checkpoint, &config, &inferred, error);
    }
    if (code == STATUS_OK) {
        model->config = config;
        model->inferred = inferred;
    }
    return code;
}

enum status_code model_type_unknown(const struct checkpoint *checkpoint, const char *name, const struct status *cause,
                                    struct status *unread)
{
    struct model told = {0};
    char bare[CONFIG_NAME_BYTES];
    bool is_asked = config_read_as(name, bare) != NULL;
    enum status_code code = is_asked ? STATUS_INVALID : model_infer(checkpoint, name, &told, NULL);
    if (unread != NULL) {
        status_copy(unread, STATUS_INVALID, cause);
    }
    if (code == STATUS_OK) {
        status_extend(unread, "; its tensors are those of %s: write %s#%s to read it so", told.config.model_type, name,
                      told.config.model_type);
    }
    return code == STATUS_OUT_OF_MEMORY ? code : STATUS_OK;
}

/* *unread: why nothing says what the model is; with an error, if it is one of the file or of the host. */
static enum status_code files_read(const struct model_files *files, const char *name, struct model *model,
                                   struct status *unread, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (files->checkpoint[0] != '\0') {
        code = checkpoint_open(files->checkpoint, &model->checkpoint, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (model->checkpoint != NULL && model->checkpoint->format == CHECKPOINT_GGUF) {
        code = gguf_config(model->checkpoint, name, &model->config, error);
    } else if (files->config[0] != '\0') {
        struct status cause = {.spelling = error != NULL ? error->spelling : STATUS_SPELLING_KEYS};
        code = config_read(files->config, name, &model->config, &cause);
        if (code == STATUS_INVALID && model->checkpoint != NULL && config_file_names_unknown(files->config)) {
            code = model_type_unknown(model->checkpoint, name, &cause, unread);
        } else if (code != STATUS_OK) {
            status_copy(error, code, &cause);
        }
    } else {
        code = model_infer(model->checkpoint, name, model, unread);
        if (code == STATUS_INVALID || code == STATUS_OVERFLOW) {
            return STATUS_OK;
        }
        if (code != STATUS_OK) {
            status_copy(error, code, unread);
        }
    }
    return code;
}

/* A path that was written for the folder in which the program was started. */
static enum status_code elsewhere_fail(const char *place, const char *path, struct status *error)
{
    return status_set(
        error, STATUS_INVALID,
        "'%s': %s is not there; paths in a suite begin at its own folder, and not at the working directory, "
        "which has one of that name; write it from there",
        place, path);
}

/* Where the catalogue does not have it: the hub, unless something on this machine is meant. */
static enum status_code named_find(const struct model_places *places, const char *text, struct model *model,
                                   struct status *unread, struct status *error)
{
    struct status trouble = {0};
    char bare[CONFIG_NAME_BYTES];
    const char *place = config_read_as(text, bare) != NULL ? bare : text;
    char path[MODEL_PATH_BYTES] = "";
    bool fits = model_path_from(places->folder, place, path), is_there = fits && access(path, F_OK) == 0;
    bool is_listed = catalogue_knows(places->catalogue_dir, place);
    bool is_elsewhere = places->folder != NULL && !is_listed && !is_there && access(place, F_OK) == 0;
    enum status_code code = is_elsewhere ? elsewhere_fail(place, path, &trouble)
                                         : config_find(places->catalogue_dir, is_there && !is_listed ? path : place,
                                                       &model->config, &trouble);
    if (code == STATUS_OK) {
        return STATUS_OK;
    }
    bool is_known = code != STATUS_INVALID || is_there || is_listed;
    return is_known ? status_copy(error, code, &trouble) : model_find_on_hub(text, &trouble, model, unread, error);
}

/* The models of the program's own suites, wherever the program is run: below the folder that has models/catalogue. */
static bool suite_files_find(const struct model_places *places, const char *place, struct model_files *files)
{
    char path[PATH_MAX];
    const bool is_own = strncmp(place, "suites/", 7) == 0 || strncmp(place, "peers/", 6) == 0;
    int length = snprintf(path, sizeof path, "%s/../../%s", places->catalogue_dir, place);
    return is_own && length < PATH_MAX && model_files_find(path, files);
}

bool model_local_files(const struct model_places *places, const char *place, struct model_files *files)
{
    char path[MODEL_PATH_BYTES];
    return (model_path_from(places->folder, place, path) && model_files_find(path, files)) ||
           suite_files_find(places, place, files);
}

static bool is_suite(const char *text)
{
    static const char *const endings[] = {".yaml", ".yml"};
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(text + length - ending, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

enum status_code model_find(const struct model_places *places, const char *text, struct model *model,
                            struct status *error)
{
    struct model result = {0};
    struct status unread = {0};
    enum status_code code = model_open(places, text, &result, &unread, error);
    if (code == STATUS_OK && result.config.family == NULL) {
        code = status_copy(error, unread.code, &unread);
    }
    if (code == STATUS_OK) {
        *model = result;
    } else {
        model_release(&result);
    }
    return code;
}

enum status_code model_open(const struct model_places *places, const char *text, struct model *model,
                            struct status *unread, struct status *error)
{
    struct model result = {0};
    struct status cause = {0};
    struct model_files files;
    char bare[CONFIG_NAME_BYTES];
    if (is_suite(text)) {
        return status_set(error, STATUS_INVALID,
                          "%s is a suite, and no model; assay plan predicts its cases, and assay run measures them",
                          text);
    }
    const char *type = config_read_as(text, bare), *place = type != NULL ? bare : text;
    bool is_listed = catalogue_has(places->catalogue_dir, place);
    bool is_local = !is_listed && model_local_files(places, place, &files);
    bool is_model = is_local && strcmp(files.config, place) != 0; /* a config.json of a folder, or tensors */
    enum status_code code = is_listed || is_model ? STATUS_OK : folder_kind_check(place, error);
    if (code == STATUS_OK) {
        code = is_local ? files_read(&files, text, &result, &cause, error)
                        : named_find(places, text, &result, &cause, error);
    }
    bool is_read = code == STATUS_OK && result.config.family != NULL;
    if (is_read && type != NULL && !result.inferred.is_inferred && result.config.stated_type[0] == '\0') {
        code = status_set(error, STATUS_INVALID, "%s: its type, %s, is known; leave '#%s' out", bare,
                          result.config.model_type, type);
    }
    result.shard_count = is_local ? files.shard_count : 0;
    if (is_read && code == STATUS_OK && result.checkpoint != NULL) {
        code = model_settle(&result, error);
    }
    if (code == STATUS_OK && !is_read && unread != NULL) {
        *unread = cause;
    }
    if (code == STATUS_OK) {
        *model = result;
    } else {
        model_release(&result);
    }
    return code;
}

enum status_code model_skeleton(const struct model *model, const struct workload *workload, struct skeleton *skeleton,
                                struct status *error)
{
    struct skeleton result = {0};
    const char *differs = NULL;
    enum status_code code = workload_skeleton(&model->config, workload, &result, error);
    if (code == STATUS_OK && model->checkpoint != NULL) {
        code = checkpoint_apply(model->checkpoint, &result, &differs, error);
    }
    if (code == STATUS_OK && differs != NULL && workload->mode != MODE_LOAD) {
        code = status_set(error, STATUS_INVALID,
                          "%s: '%.100s' is stored in another shape than the configuration says, and such a model only "
                          "loads; assay weights lists what differs",
                          model->config.name, differs);
    }
    if (code == STATUS_OK) {
        *skeleton = result;
    } else {
        skeleton_release(&result);
    }
    return code;
}

void model_headers_release(struct model *model)
{
    checkpoint_check_release(&model->check);
    checkpoint_release(model->checkpoint);
    model->checkpoint = NULL;
}

void model_release(struct model *model)
{
    model_headers_release(model);
    *model = (struct model){0};
}
