/* Load rules: which type a tensor gets, which shape it must have, which files are taken. No state. */
#include <inttypes.h>
#include <string.h>

#include "harness/load/element_cast.h"
#include "harness/load/load_draft.h"

bool device_map_find(const struct device_map *map, const char *path, struct placement_device *device)
{
    size_t longest = 0;
    bool found = false;
    for (int i = 0; i < map->count; i++) {
        const char *key = map->entries[i].path;
        size_t length = strlen(key);
        bool covers = length == 0 || (strncmp(path, key, length) == 0 && (path[length] == '.' || path[length] == '\0'));
        if (covers && (!found || length > longest)) {
            found = true;
            longest = length;
            *device = map->entries[i].device;
        }
    }
    return found;
}

bool name_is_kept(const char *path, const char *const *keep, int keep_count)
{
    for (int i = 0; i < keep_count; i++) {
        size_t length = strlen(keep[i]);
        if (strcmp(path, keep[i]) == 0) {
            return true;
        }
        for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
            if ((size_t)(dot - path) >= length && strncmp(dot - length, keep[i], length) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_kept_float32(const struct load_request *request, int tensor)
{
    const struct skeleton_tensor *row = &request->skeleton->tensors[tensor];
    if (request->type != storage_type_of(DTYPE_FLOAT16)) {
        return false;
    }
    return request->keep != NULL ? name_is_kept(row->path, request->keep, request->keep_count) : row->stays_float32;
}

enum status_code target_type_find(const struct load_draft *draft, const struct checkpoint_tensor *stored, int tensor,
                                  struct placement_device device, const struct storage_type **type)
{
    const struct load_request *request = draft->request;
    const struct skeleton_tensor *row = &request->skeleton->tensors[tensor];
    enum dtype own = row->rounds_with_model ? request->skeleton->config->dtype : row->dtype;
    if (device.kind == PLACEMENT_DISK || !storage_type_is_cast(stored->type)) {
        *type = stored->type;
    } else if (request->type != NULL) {
        *type = is_kept_float32(request, tensor) ? storage_type_of(DTYPE_FLOAT32) : request->type;
    } else if (dtype_is_floating(own)) {
        *type = storage_type_of(own);
    } else {
        return status_set(draft->error, STATUS_INVALID,
                          "%s: tensor '%s': it is stored as %s, and the model has %s there; fetch the file again",
                          request->checkpoint->files[stored->file].name, stored->name, stored->type->name,
                          dtype_name(own));
    }
    return STATUS_OK;
}

static void shape_append(int rank, const int64_t *shape, struct text *text)
{
    text_append(text, "[");
    for (int i = 0; i < rank; i++) {
        text_format(text, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
    }
    text_append(text, "]");
}

enum status_code stored_shape_check(const struct load_draft *draft, const struct checkpoint_tensor *stored,
                                    struct stored_place place)
{
    const struct skeleton_tensor *row = &draft->request->skeleton->tensors[place.index];
    int64_t shape[TENSOR_RANK_MAXIMUM];
    int rank = row->rank;
    memcpy(shape, row->size, sizeof shape);
    if (place.meaning == NAME_PART) {
        rank = expert_part_shape(row, place.part, shape);
    }
    bool agrees = rank == stored->rank;
    for (int i = 0; i < rank && agrees; i++) {
        agrees = shape[i] == stored->shape[i];
    }
    if (agrees) {
        return STATUS_OK;
    }
    struct text found = {0}, expected = {0};
    shape_append(stored->rank, stored->shape, &found);
    shape_append(rank, shape, &expected);
    status_set(draft->error, STATUS_INVALID,
               "%s: tensor '%s': its shape is %s, and the model has %s there (ValueError in accelerate); take the "
               "config.json that belongs to this checkpoint, or fetch the file again",
               draft->request->checkpoint->files[stored->file].name, stored->name, text_string(&found),
               text_string(&expected));
    text_release(&found);
    text_release(&expected);
    return STATUS_INVALID;
}

static const struct checkpoint_entry *format_of(const struct checkpoint *checkpoint, int file, bool *has_metadata)
{
    const struct checkpoint_entry *found = NULL;
    *has_metadata = false;
    for (int i = 0; i < checkpoint->entry_count; i++) {
        const struct checkpoint_entry *entry = &checkpoint->entries[i];
        if (entry->file == file) {
            *has_metadata = true;
            found = strcmp(entry->key, "format") == 0 && entry->kind == CHECKPOINT_VALUE_TEXT ? entry : found;
        }
    }
    return found;
}

enum status_code formats_check(const struct load_draft *draft)
{
    const struct checkpoint *checkpoint = draft->request->checkpoint;
    for (int file = 0; file < checkpoint->file_count; file++) {
        const char *name = checkpoint->files[file].name, *ending = strrchr(name, '.');
        bool has_metadata = false;
        if (ending != NULL && strcmp(ending, ".json") == 0) {
            continue; /* the index */
        }
        const struct checkpoint_entry *format = format_of(checkpoint, file, &has_metadata);
        if (!has_metadata) {
            text_format(&draft->plan->warnings,
                        "%s: it has no metadata that says which framework wrote it; it is read as PyTorch's\n", name);
        } else if (format == NULL) {
            return status_set(draft->error, STATUS_INVALID,
                              "%s: its metadata has no \"format\", and accelerate refuses it (OSError); save the model "
                              "with save_pretrained",
                              name);
        } else if (strcmp(format->text, "pt") != 0) {
            bool is_known = strcmp(format->text, "tf") == 0 || strcmp(format->text, "flax") == 0;
            return status_set(draft->error, STATUS_INVALID,
                              "%s: its metadata says format '%s', and accelerate loads 'pt' (%s); save the model from "
                              "PyTorch",
                              name, format->text, is_known ? "ValueError" : "OSError");
        }
    }
    return STATUS_OK;
}

enum status_code strict_check(const struct load_draft *draft)
{
    const struct load_plan *plan = draft->plan;
    const char *name = draft->request->checkpoint->name;
    if (draft->request->strict && plan->unexpected.count > 0) {
        return status_set(
            draft->error, STATUS_INVALID,
            "%s: tensor '%s': the model has no such key (%d unexpected in all); leave out --strict to pass over "
            "it, or take the configuration that belongs to this checkpoint",
            name, plan->unexpected.names[0], plan->unexpected.count);
    }
    if (draft->request->strict && plan->missing.count > 0) {
        return status_set(
            draft->error, STATUS_INVALID,
            "%s: nothing is stored for '%s' of the model (%d missing in all; accelerate would not say so, and "
            "leave it without values); leave out --strict to load the rest",
            name, plan->missing.names[0], plan->missing.count);
    }
    return STATUS_OK;
}

static void ties_warn(const struct load_draft *draft)
{
    const struct load_request *request = draft->request;
    for (int i = 0; i < request->skeleton->tensor_count; i++) {
        const struct skeleton_tensor *row = &request->skeleton->tensors[i];
        struct placement_device device, owner;
        char text[DEVICE_TEXT_BYTES], other[DEVICE_TEXT_BYTES];
        if (row->tied_to < 0) {
            continue;
        }
        const char *path = request->skeleton->tensors[storage_owner(request->skeleton, i)].path;
        if (device_map_find(request->map, row->path, &device) && device_map_find(request->map, path, &owner) &&
            !placement_device_equal(device, owner)) {
            text_format(&draft->plan->warnings,
                        "%s and %s are one tensor, and the map puts them on %s and %s: it is loaded once; write a map "
                        "that keeps them together\n",
                        row->path, path, placement_device_name(device, text), placement_device_name(owner, other));
        }
    }
}

static void list_warn(struct text *warnings, const struct name_list *list, const char *words, const char *remedy)
{
    enum { SHOWN = 3 };
    if (list->count == 0) {
        return;
    }
    text_format(warnings, "%d %s %s: ", list->count, list->count == 1 ? "tensor" : "tensors", words);
    for (int i = 0; i < list->count && i < SHOWN; i++) {
        text_format(warnings, "%s%s", i > 0 ? ", " : "", list->names[i]);
    }
    text_format(warnings, "%s; %s\n", list->count > SHOWN ? ", ..." : "", remedy);
}

void plan_warn(const struct load_draft *draft)
{
    struct load_plan *plan = draft->plan;
    ties_warn(draft);
    list_warn(&plan->warnings, &plan->unexpected, "of the checkpoint that the model does not have",
              "they are passed over, as accelerate does; see whether the configuration belongs to this checkpoint");
    list_warn(&plan->warnings, &plan->missing, "of the model that the checkpoint does not have",
              "they stay without values, of which accelerate says nothing");
    list_warn(&plan->warnings, &plan->unloaded, "that are buffers of modules on the disk",
              "accelerate loads them with offload_buffers alone, and so do we: add --offload-buffers");
}
