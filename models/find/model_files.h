/* Model files: what a path leads to on this machine. */
#ifndef ASSAY_FIND_MODEL_FILES_H
#define ASSAY_FIND_MODEL_FILES_H

#include <stdbool.h>

enum { MODEL_PATH_BYTES = 4096 };

/* Empty if there is none. */
struct model_files {
    char config[MODEL_PATH_BYTES];     /* a config.json */
    char checkpoint[MODEL_PATH_BYTES]; /* .safetensors, .safetensors.index.json or .gguf */
    /* Of a folder without one: files named as shards are, NAME-00001-of-00002.safetensors. Without their index nobody
     * reads them. */
    int shard_count;
};

/* Of a config.json, or of any other file that is no model file: itself alone. Of a model file: itself and the
 * config.json beside it. Of a folder: its config.json and, as transformers looks for them, its model.safetensors or
 * else its model.safetensors.index.json; without a config.json its one .gguf, whole or
 * in parts, comes first: it says itself what it is. False if nothing of these is there. */
bool model_files_find(const char *text, struct model_files *files);

/* Makes a path of a text that is relative to a folder: "FOLDER/TEXT", or the text itself if it begins with a slash.
 * folder NULL: the working directory. False if the path is too long. */
bool model_path_from(const char *folder, const char *text, char path[MODEL_PATH_BYTES]);

#endif
