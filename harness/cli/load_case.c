/* Load case: from the words of the command to a plan. Devices: load_devices.c. */
#include "harness/cli/load_case.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/case/workload_alias.h"
#include "harness/cli/device_map_file.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/resource_path.h"
#include "harness/load/element_cast.h"
#include "models/config/head.h"

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the options");
}

/* The configuration beside a file, or what its tensors say. */
static enum status_code model_read(const struct arguments *arguments, const char *chosen, struct load_case *load,
                                   struct status *error)
{
    struct place_case *place = &load->place;
    const struct model_places places = {.catalogue_dir = resource_path(&place->arena, "models/catalogue")};
    const char *given = arguments_value(arguments, "model"), *slash = strrchr(chosen, '/');
    int folder_length = slash != NULL ? (int)(slash - chosen) + 1 : 0;
    const char *beside = arena_format(&place->arena, "%.*sconfig.json", folder_length, chosen);
    struct stat facts;
    if (places.catalogue_dir == NULL || beside == NULL) {
        return memory_refuse(error);
    }
    bool has_beside = stat(beside, &facts) == 0;
    enum status_code code = model_find(&places,
                                       given != NULL ? given
                                       : has_beside  ? beside
                                                     : chosen,
                                       &place->model, error);
    if (code != STATUS_OK) {
        status_prefix(error, "load: assay does not know which model %s belongs to (--model NAME names it)", chosen);
        return code;
    }
    if (place->model.inferred.is_inferred) {
        note_give("load", &place->notes, "there is no config.json beside %s; read from its tensors: %s", chosen,
                  place->model.inferred.evidence);
    }
    return STATUS_OK;
}

/* --head, or the head of which the files lack less. */
static enum status_code head_choose(const struct arguments *arguments, struct load_case *load, enum head *head,
                                    struct status *error)
{
    const char *given = arguments_value(arguments, "head");
    struct checkpoint_check check = {0};
    if (given != NULL) {
        struct workload workload = workload_default(MODE_LOAD);
        enum status_code code = workload_set(&workload, "head", given, error);
        *head = head_of(&load->place.model.config.model_heads, &workload);
        return code;
    }
    enum status_code code =
        checkpoint_check(load->files.checkpoint, &load->place.model.config, HEAD_DEFAULT, &check, error);
    if (code == STATUS_OK) {
        *head = check.head;
        checkpoint_check_release(&check);
    }
    return code;
}

static enum status_code skeletons_build(const struct arguments *arguments, struct load_case *load, struct status *error)
{
    enum head head = HEAD_LM;
    const struct config *config = &load->place.model.config;
    enum status_code code = head_choose(arguments, load, &head, error);
    if (code == STATUS_OK) {
        code = skeleton_build(config, head, &load->place.skeleton, error);
    }
    if (code == STATUS_OK) {
        code = skeleton_build(config, head_opposite(&config->model_heads, head), &load->other, error);
    }
    if (code == STATUS_OK) {
        const struct skeleton *own = &load->place.skeleton, *other = &load->other;
        load->names = checkpoint_names_of(load->files.checkpoint, head == HEAD_BARE ? own : other,
                                          head == HEAD_BARE ? other : own);
    }
    return code;
}

static enum status_code precision_read(const struct arguments *arguments, struct load_case *load, struct status *error)
{
    const char *given = arguments_value(arguments, "precision");
    enum dtype dtype = load->place.model.config.dtype;
    if (given != NULL) {
        const char *name = workload_alias(FIELD_PRECISION, given);
        if (!dtype_from_name(name, &dtype) || !dtype_is_floating(dtype)) {
            return status_set(error, STATUS_INVALID,
                              "load: --precision %s is no type that weights are cast to as they are loaded; write "
                              "float32, float16 or bfloat16",
                              given);
        }
        load->request.type = storage_type_of(dtype);
    }
    load->place.request.width = storage_width_find(dtype_name(dtype));
    return STATUS_OK;
}

static void keep_read(const struct arguments *arguments, struct load_case *load)
{
    if (arguments->list_count > 0) {
        bool is_none = arguments->list_count == 1 && strcmp(arguments->list[0], "none") == 0;
        load->request.keep = arguments->list;
        load->request.keep_count = is_none ? 0 : arguments->list_count;
    }
}

/* --map, or a plan for --max-memory, or all of it on the host, as without a device map. */
static enum status_code map_read(const struct arguments *arguments, struct load_case *load, struct status *error)
{
    const char *file = arguments_value(arguments, "map"), *budgets = arguments_value(arguments, "max-memory");
    struct place_case *place = &load->place;
    if (file != NULL && budgets != NULL && arguments_value(arguments, "device") == NULL) {
        /* budgets then bound the devices that stand for GPUs */
        note_give("load", &place->notes, "the map is that of %s; --max-memory bounds the devices alone", file);
    }
    enum status_code code = budgets != NULL ? place_budgets_read(arguments, place, error) : STATUS_OK;
    if (code != STATUS_OK) {
        return code;
    }
    if (file != NULL) {
        return device_map_file_read(file, &place->arena, &load->map_document, &load->map, error);
    }
    if (budgets != NULL) {
        place->request.offload_buffers = load->request.offload_buffers;
        code = device_plan_make(&place->skeleton, &place->request, &load->device_plan, error);
        load->map = load->device_plan.map;
        return code;
    }
    load->map.entries = arena_alloc(&place->arena, sizeof *load->map.entries);
    if (load->map.entries == NULL) {
        return memory_refuse(error);
    }
    load->map.entries[0] = (struct device_map_entry){"", {.kind = PLACEMENT_CPU}};
    load->map.count = 1;
    return STATUS_OK;
}

/* Weights that are written into the checkpoint's own folder would lie among its files. */
static enum status_code folder_read(const struct arguments *arguments, const char *chosen, struct load_case *load,
                                    struct status *error)
{
    const char *folder = arguments_value(arguments, "offload-folder"), *slash = strrchr(chosen, '/');
    struct stat asked, own;
    const char *beside =
        arena_format(&load->place.arena, "%.*s.", slash != NULL ? (int)(slash - chosen) + 1 : 0, chosen);
    load->offload_folder = folder;
    load->request.has_folder =
        folder != NULL || arguments_value(arguments, "dispatch") != NULL; /* then a temporary one */
    if (folder != NULL && beside != NULL && stat(folder, &asked) == 0 && stat(beside, &own) == 0 &&
        asked.st_dev == own.st_dev && asked.st_ino == own.st_ino) {
        return status_set(error, STATUS_INVALID,
                          "load: --offload-folder %s is the folder of the checkpoint itself, which is not written to; "
                          "name another one",
                          folder);
    }
    return STATUS_OK;
}

static enum status_code case_read(const struct arguments *arguments, const char *chosen, struct load_case *load,
                                  struct status *error)
{
    load->request.strict = arguments_value(arguments, "strict") != NULL;
    load->request.offload_buffers = arguments_value(arguments, "offload-buffers") != NULL;
    keep_read(arguments, load);
    enum status_code code = load_files_open(chosen, &load->files, error);
    code = code == STATUS_OK ? model_read(arguments, chosen, load, error) : code;
    code = code == STATUS_OK ? skeletons_build(arguments, load, error) : code;
    code = code == STATUS_OK ? precision_read(arguments, load, error) : code;
    code = code == STATUS_OK ? map_read(arguments, load, error) : code;
    code = code == STATUS_OK ? folder_read(arguments, chosen, load, error) : code;
    if (code == STATUS_OK) {
        load->request.checkpoint = load->files.checkpoint;
        load->request.skeleton = &load->place.skeleton;
        load->request.names = &load->names;
        load->request.map = &load->map;
        code = load_plan_make(&load->request, &load->plan, error);
    }
    return code;
}

enum status_code load_case_open(const struct arguments *arguments, struct load_case *load, struct status *error)
{
    char *chosen = NULL;
    *load = (struct load_case){.place.command = arguments->command->name};
    enum status_code code = load_file_choose(arguments->operands[0], &chosen, error);
    code = code == STATUS_OK ? case_read(arguments, chosen, load, error) : code;
    free(chosen);
    if (code != STATUS_OK) {
        load_case_close(load);
    }
    return code;
}

void load_case_close(struct load_case *load)
{
    load_plan_release(&load->plan);
    device_plan_release(&load->device_plan);
    json_release(load->map_document);
    skeleton_release(&load->other);
    load_files_release(&load->files);
    place_case_close(&load->place);
}
