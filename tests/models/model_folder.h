/* Model folder: a config.json and a file of safetensors with the tensors that it says, or damaged ones. */
#ifndef ASSAY_TESTS_MODELS_MODEL_FOLDER_H
#define ASSAY_TESTS_MODELS_MODEL_FOLDER_H

#include "models/skeleton/skeleton.h"

enum edit_kind { EDIT_DROP, EDIT_NAME, EDIT_DTYPE, EDIT_FIRST_SIZE, EDIT_ADD, EDIT_TIED, EDIT_PREFIX };

/* One change to what the skeleton says. tensor: its path (PREFIX: what all names lose at their front, "" or
 * "bert."). */
struct edit {
    enum edit_kind kind;
    const char *tensor;
    const char *value; /* NAME: another; DTYPE: of safetensors; FIRST_SIZE: digits; ADD: members of a tensor of 4 bytes;
                          TIED: none, it is stored although
                          it shares its storage; PREFIX: what they get instead */
};

/* A folder in /tmp with the config.json of a model of the catalogue and its model.safetensors, edits made; float32.
 * Fails the running test where it cannot be made. */
void model_folder_make(char folder[64], const char *model, enum head head, const struct edit *edits, int edit_count);
/* The same with a header as it is to stand in the file, of data_bytes of tensors. */
void model_folder_write(char folder[64], const char *model, const char *header, int64_t data_bytes);
void model_folder_remove(const char *folder);

#endif
