/* The model of assay offload: its files, and the choice of its tensors by name or by a device map. */
#include "harness/cli/offload_model.h"

#include <string.h>

#include "harness/cli/device_map_file.h"
#include "harness/cli/resource_path.h"
#include "models/config/family.h"
#include "models/find/model_files.h"

/* Whether a key of a device map, or a word of --names, covers a tensor: itself, or a module above it. */
static bool key_covers(const char *key, const char *name)
{
    size_t length = strlen(key);
    return length == 0 || (strncmp(name, key, length) == 0 && (name[length] == '\0' || name[length] == '.'));
}

static enum status_code names_choose(const struct arguments *arguments, struct offload_model *model,
                                     struct status *error)
{
    struct offload_list *list = &model->list;
    for (int i = 0; i < list->count; i++) {
        list->items[i].is_wanted = false;
    }
    for (int k = 0; k < arguments->list_count; k++) {
        int covered = 0;
        for (int i = 0; i < list->count; i++) {
            bool covers = key_covers(arguments->list[k], list->items[i].tensor.name);
            list->items[i].is_wanted = list->items[i].is_wanted || covers;
            covered += covers;
        }
        if (covered == 0) {
            return status_set(error, STATUS_INVALID,
                              "--names: no tensor of %s is %s or below it; write a tensor's name or a module's path, "
                              "such as %s",
                              model->name, arguments->list[k], list->count > 0 ? list->items[0].tensor.name : "\"\"");
        }
    }
    return STATUS_OK;
}

/* The longest key that covers a tensor says where it lies. */
static void map_apply(const struct device_map *map, struct offload_list *list)
{
    for (int i = 0; i < list->count; i++) {
        const struct device_map_entry *best = NULL;
        for (int k = 0; k < map->count; k++) {
            const struct device_map_entry *entry = &map->entries[k];
            bool covers = key_covers(entry->path, list->items[i].tensor.name);
            best = covers && (best == NULL || strlen(entry->path) > strlen(best->path)) ? entry : best;
        }
        list->items[i].is_wanted = best != NULL && best->device.kind == PLACEMENT_DISK;
    }
}

static enum status_code map_choose(const char *path, struct offload_model *model, struct status *error)
{
    struct arena arena = {0};
    struct json *document = NULL;
    struct device_map map = {0};
    enum status_code code = device_map_file_read(path, &arena, &document, &map, error);
    if (code == STATUS_OK) {
        map_apply(&map, &model->list);
        int wanted = 0;
        for (int i = 0; i < model->list.count; i++) {
            wanted += model->list.items[i].is_wanted;
        }
        if (wanted == 0) {
            code = status_set_at(error, STATUS_INVALID, (struct file_place){path, 1, 1},
                                 "this device map gives no tensor of %s to the disk; write \"disk\" for a module of "
                                 "it, or leave --map out to offload the whole model",
                                 model->name);
        }
    }
    json_release(document);
    arena_release(&arena);
    return code;
}

static enum status_code choice_make(const struct arguments *arguments, struct offload_model *model,
                                    struct status *error)
{
    const char *map = arguments_value(arguments, "map");
    if (map != NULL && arguments->list_count > 0) {
        return status_set(error, STATUS_INVALID, "--map and --names exclude each other; give one of them");
    }
    return map != NULL                 ? map_choose(map, model, error)
           : arguments->list_count > 0 ? names_choose(arguments, model, error)
                                       : STATUS_OK;
}

static enum status_code head_read(const struct arguments *arguments, enum head *head, struct status *error)
{
    struct workload workload = workload_default(MODE_LOAD);
    const char *text = arguments_value(arguments, "head");
    enum status_code code = text != NULL ? workload_set(&workload, "head", text, error) : STATUS_OK;
    *head = workload.head;
    return code;
}

/* A configuration tells the model's own names; files alone have theirs. */
static enum status_code files_open(const char *catalogue, struct offload_model *model, struct status *error)
{
    const struct model_places places = {.catalogue_dir = catalogue};
    struct model_files files;
    struct status unread = {0};
    enum status_code code = model_open(&places, model->name, &model->model, &unread, error);
    if (code == STATUS_OK) {
        model->files = model->model.checkpoint;
        model->is_stored_names = model->model.config.family == NULL || model->model.inferred.is_inferred;
        return STATUS_OK;
    }
    if (!model_files_find(model->name, &files) || files.checkpoint[0] == '\0') {
        return code;
    }
    code = checkpoint_open(files.checkpoint, &model->alone, error);
    model->files = model->alone;
    model->is_stored_names = true;
    return code;
}

enum status_code offload_model_open(const struct arguments *arguments, const char *name, struct offload_model *model,
                                    struct status *error)
{
    struct arena arena = {0};
    enum head head = HEAD_DEFAULT;
    *model = (struct offload_model){.name = name};
    const char *catalogue = resource_path(&arena, "models/catalogue");
    enum status_code code = catalogue == NULL ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory")
                                              : head_read(arguments, &head, error);
    if (code == STATUS_OK) {
        code = files_open(catalogue, model, error);
    }
    arena_release(&arena);
    if (code == STATUS_OK && arguments_value(arguments, "as-stored") != NULL && model->files != NULL) {
        model->is_stored_names = true;
    }
    if (code == STATUS_OK && model->is_stored_names && model->files != NULL) {
        code = offload_list_stored(model->files, &model->list, error);
    } else if (code == STATUS_OK) {
        code = offload_list_make(&model->model, head, &model->list, error);
    }
    if (code == STATUS_OK) {
        code = choice_make(arguments, model, error);
    }
    if (code != STATUS_OK) {
        offload_model_close(model);
    }
    return code;
}

void offload_model_close(struct offload_model *model)
{
    offload_list_release(&model->list);
    model_release(&model->model);
    checkpoint_release(model->alone);
    *model = (struct offload_model){0};
}
