/* Model files: looking, not reading. */
#include "models/find/model_files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/checkpoint/checkpoint.h"

static bool is_kind(const char *path, mode_t kind)
{
    struct stat facts;
    return stat(path, &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

/* Writes "FOLDER/NAME" if that is a file, else "". folder_length: of folder that counts. */
static bool file_take(const char *folder, size_t folder_length, const char *name, char path[MODEL_PATH_BYTES])
{
    const char *slash = folder_length > 0 && folder[folder_length - 1] != '/' ? "/" : "";
    int length = folder_length < MODEL_PATH_BYTES
                     ? snprintf(path, MODEL_PATH_BYTES, "%.*s%s%s", (int)folder_length, folder, slash, name)
                     : -1;
    if (length < 0 || length >= MODEL_PATH_BYTES || !is_kind(path, S_IFREG)) {
        path[0] = '\0';
        return false;
    }
    return true;
}

/* Whether a name is that of a later part of a split model: NAME-00002-of-00003.gguf. */
static bool is_later_part(const char *name)
{
    const char *of = strstr(name, "-of-");
    return of != NULL && of - name > 6 && of[-6] == '-' && strncmp(of - 5, "00001", 5) != 0;
}

/* The one model that the .gguf files of a folder are; "" if there is none, or several. */
static bool gguf_take(const char *folder, char path[MODEL_PATH_BYTES])
{
    char found[MODEL_PATH_BYTES] = "";
    int count = 0;
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".gguf") == 0 &&
            !is_later_part(entry->d_name)) {
            snprintf(found, sizeof found, "%s", entry->d_name);
            count++;
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count == 1 && file_take(folder, strlen(folder), found, path);
}

/* Whether a name is NAME-00001-of-00002.safetensors. */
static bool is_shard(const char *name)
{
    static const char form[] = "-00000-of-00000.safetensors";
    size_t length = strlen(name), form_length = sizeof form - 1;
    if (length <= form_length) {
        return false;
    }
    const char *end = name + length - form_length;
    for (size_t i = 0; i < form_length; i++) {
        if (form[i] == '0' ? end[i] < '0' || end[i] > '9' : end[i] != form[i]) {
            return false;
        }
    }
    return true;
}

static int shards_count(const char *folder)
{
    int count = 0;
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        count += is_shard(entry->d_name) ? 1 : 0;
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count;
}

static bool folder_look(const char *folder, struct model_files *files)
{
    size_t length = strlen(folder);
    bool is_configured = file_take(folder, length, "config.json", files->config);
    if (!is_configured && gguf_take(folder, files->checkpoint)) {
        return true;
    }
    if (file_take(folder, length, "model.safetensors", files->checkpoint) ||
        file_take(folder, length, "model.safetensors.index.json", files->checkpoint)) {
        return true;
    }
    files->shard_count = shards_count(folder);
    return is_configured;
}

bool model_path_from(const char *folder, const char *text, char path[MODEL_PATH_BYTES])
{
    bool is_whole = folder == NULL || folder[0] == '\0' || text[0] == '/';
    size_t from = is_whole ? 0 : strlen(folder), length = strlen(text);
    const char *slash = from > 0 && folder[from - 1] != '/' ? "/" : "";
    if (from >= MODEL_PATH_BYTES || length >= MODEL_PATH_BYTES - from - strlen(slash)) {
        return false;
    }
    snprintf(path, MODEL_PATH_BYTES, "%.*s%s%s", (int)from, is_whole ? "" : folder, slash, text);
    return true;
}

bool model_files_find(const char *text, struct model_files *files)
{
    *files = (struct model_files){0};
    if (is_kind(text, S_IFDIR)) {
        return folder_look(text, files);
    }
    size_t length = strlen(text);
    if (length >= MODEL_PATH_BYTES || !is_kind(text, S_IFREG)) {
        return false;
    }
    if (!checkpoint_is_named(text)) {
        memcpy(files->config, text, length + 1);
        return true;
    }
    const char *slash = strrchr(text, '/');
    memcpy(files->checkpoint, text, length + 1);
    file_take(text, slash != NULL ? (size_t)(slash - text) + 1 : 0, "config.json", files->config);
    return true;
}
