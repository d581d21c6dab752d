/* Load choice: which file of a folder load_checkpoint_in_model takes. Looks at names alone. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/text.h"
#include "harness/load/load_files.h"

enum { SHOWN_MAXIMUM = 4 };

struct folder_look {
    bool has_pickle, has_whole;
    int index_count, shard_count;
    char first[256];   /* of the indexes, by name */
    struct text names; /* of indexes, those that are shown */
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

static void entry_look(const char *name, struct folder_look *look)
{
    look->has_pickle = look->has_pickle || strcmp(name, "pytorch_model.bin") == 0;
    look->has_whole = look->has_whole || strcmp(name, "model.safetensors") == 0;
    look->shard_count += ends_with(name, ".safetensors") ? 1 : 0;
    if (!ends_with(name, ".index.json")) {
        return;
    }
    if (look->index_count < SHOWN_MAXIMUM) {
        text_format(&look->names, "%s%s", look->index_count > 0 ? ", " : "", name);
    }
    if (look->index_count++ == 0) {
        memcpy(look->first, name, strlen(name) < sizeof look->first ? strlen(name) + 1 : 0);
    }
}

static enum status_code index_refuse(const char *folder, const struct folder_look *look, struct status *error)
{
    if (look->index_count > 1) {
        return status_set(
            error, STATUS_INVALID,
            "%s: it has %d files that end in .index.json (%s%s), and accelerate does not choose (ValueError); "
            "name one of them, or remove the others",
            folder, look->index_count, text_string(&look->names), look->index_count > SHOWN_MAXIMUM ? ", ..." : "");
    }
    return status_set(
        error, STATUS_INVALID,
        "%s: it has no model.safetensors and no file that ends in .index.json (ValueError in accelerate)%s", folder,
        look->shard_count > 0 ? "; its files of safetensors look like shards: put their index there, or name "
                                "one of them"
                              : "; name the folder of a checkpoint");
}

static enum status_code folder_choose(const char *folder, struct folder_look *look, struct text *path,
                                      struct status *error)
{
    DIR *opened = opendir(folder);
    if (opened == NULL) {
        return status_set(error, STATUS_IO, "%s: cannot be listed: %s", folder, strerror(errno));
    }
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        entry_look(entry->d_name, look);
    }
    closedir(opened);
    const char *name = look->has_pickle ? "pytorch_model.bin" : look->has_whole ? "model.safetensors" : look->first;
    if (!look->has_pickle && !look->has_whole && look->index_count != 1) {
        return index_refuse(folder, look, error);
    }
    text_format(path, "%s%s%s", folder, ends_with(folder, "/") ? "" : "/", name);
    return STATUS_OK;
}

static enum status_code kind_check(const char *path, struct status *error)
{
    if (ends_with(path, "pytorch_model.bin") || ends_with(path, ".bin.index.json")) {
        return status_set(
            error, STATUS_INVALID,
            "%s: accelerate takes this one, which is pickled, and pickles are programs: they are not read "
            "here; save the model with safe_serialization=True, or name a file of safetensors",
            path);
    }
    return ends_with(path, ".safetensors") || ends_with(path, ".json")
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "%s: it is no file of safetensors; name a .safetensors, an index that ends in .json, or a "
                            "folder that holds them",
                            path);
}

enum status_code load_file_choose(const char *text, char **path, struct status *error)
{
    struct stat facts;
    struct text chosen = {0};
    struct folder_look look = {0};
    enum status_code code = STATUS_OK;
    if (stat(text, &facts) != 0) {
        code = status_set(error, STATUS_INVALID,
                          "%s: there is no such file or folder (%s; ValueError in accelerate); name a .safetensors, an "
                          "index, or a folder that holds them",
                          text, strerror(errno));
    } else if (S_ISDIR(facts.st_mode)) {
        code = folder_choose(text, &look, &chosen, error);
    } else {
        text_append(&chosen, text);
    }
    if (code == STATUS_OK) {
        code = kind_check(text_string(&chosen), error);
    }
    char *made = code == STATUS_OK && !chosen.failed ? strdup(text_string(&chosen)) : NULL;
    text_release(&chosen);
    text_release(&look.names);
    if (code == STATUS_OK && made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a path");
    }
    if (code == STATUS_OK) {
        *path = made;
    }
    return code;
}
