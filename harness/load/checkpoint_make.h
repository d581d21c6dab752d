/* Checkpoint make: a valid checkpoint of random numbers, or of zeros, as save_pretrained writes one of a new model
 * (docs/SYNTH.md).
 *
 * In two steps: a draft knows every file and every byte of it from the configuration alone, and touches no disk; it is
 * then written into a folder, all files together or none. */
#ifndef ASSAY_LOAD_CHECKPOINT_MAKE_H
#define ASSAY_LOAD_CHECKPOINT_MAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/checkpoint/checkpoint_folder.h"
#include "harness/checkpoint/checkpoint_plan.h"
#include "models/find/saved_layout.h"
#include "models/skeleton/skeleton.h"

/* save_pretrained's own default. */
#define CHECKPOINT_SHARD_BYTES_DEFAULT (50 * (int64_t)1000000000)

struct checkpoint_recipe {
    const char *config_path; /* of the config.json that the checkpoint is made of (models/find/model_config.h); NULL: */
    const struct config *config; /* instead, for a draft that is looked at and not written */
    const char *typed;           /* what the model was asked for by; MODEL#TYPE says what its type is */
    const char *name;            /* of the model, for messages */
    enum head head;
    enum dtype precision;  /* float32, float16 or bfloat16 */
    int64_t maximum_bytes; /* of the tensors of a file; at least 1 */
    int64_t seed;          /* of the numbers */
    bool is_zero;
};

/* Stays where it is: the skeleton points into config. */
struct checkpoint_draft {
    struct checkpoint_recipe recipe; /* whose texts are borrowed */
    struct config config;
    struct json *document; /* config.json as it will be written */
    bool is_dequantized;   /* the model's own spoke of quantized weights, and this one does not; known on failure too */
    struct skeleton skeleton;
    struct saved_layout layout;
    struct checkpoint_plan plan;
    struct text config_text, index_text; /* index_text: empty of one file */
};

/* STATUS_INVALID if the configuration cannot be read, or timm's one file would be several; the errors of
 * checkpoint_plan_make. On failure there is nothing to release. */
enum status_code checkpoint_draft_make(const struct checkpoint_recipe *recipe, struct checkpoint_draft *draft,
                                       struct status *error);
void checkpoint_draft_release(struct checkpoint_draft *draft); /* all zero is accepted */

/* The headers of the draft, as they will be read from its files. The caller releases them. */
enum status_code checkpoint_draft_headers(const struct checkpoint_draft *draft, struct checkpoint **headers,
                                          struct status *error);

/* Told now and then what is written; context may be NULL. */
struct checkpoint_progress {
    void (*tell)(void *context, const char *file, int64_t written_bytes); /* NULL: nobody is told */
    void *context;
};

/* What was written, and where. */
struct checkpoint_made {
    struct checkpoint_folder folder;
    double seconds; /* from the first byte until all are on the disk */
};

/* Writes the files into the folder at path, which is made if it is missing. STATUS_INVALID if
 * checkpoint_folder_open refuses it, or if it is the folder of the model itself; STATUS_IO if it has not the
 * room, or writing fails; then nothing of the draft is there, and folders that were made are gone. */
enum status_code checkpoint_draft_write(const struct checkpoint_draft *draft, const char *path, bool is_forced,
                                        const struct checkpoint_progress *progress, struct checkpoint_made *made,
                                        struct status *error);

#endif
