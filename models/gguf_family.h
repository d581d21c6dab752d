/* GGUF families: what an architecture of GGUF is among ours. One row of a table says how its metadata become the keys of
 * a config.json, which the family then reads with its own checks and defaults, and what its tensors are called there.
 * Names and keys are those of llama.cpp's converter (package gguf 0.19.0). */
#ifndef ASSAY_MODELS_GGUF_FAMILY_H
#define ASSAY_MODELS_GGUF_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"
#include "harness/checkpoint/checkpoint.h"
#include "models/config.h"

/* Where a key of the configuration comes from. */
enum gguf_fact_kind {
    GGUF_FACT_KEY,    /* of the metadata, behind "ARCHITECTURE."; a list must have one value throughout */
    GGUF_FACT_ROWS,   /* rows of a tensor */
    GGUF_FACT_ABSENT, /* true where there is no such tensor */
    GGUF_FACT_PRESENT
};

struct gguf_fact {
    enum gguf_fact_kind kind;
    const char *source; /* the key or the tensor */
    const char *key;    /* of config.json */
};

/* '#' stands for the number of a block in both, without ".weight" and ".bias" at the end. */
struct gguf_name {
    const char *gguf;
    const char
        *path; /* of the model with its head, or of the bare one where that has no prefix; NULL: computed from the
                           configuration, and no tensor of the model */
    bool is_transposed; /* a Conv1D, which the converter turns around */
};

struct gguf_family {
    const char *architecture; /* general.architecture */
    const char *model_type;   /* of config.json */
    const struct gguf_fact *facts;
    const struct gguf_name *names; /* both end with a row of NULLs */
};

/* Row number index of the table, NULL past the end. */
const struct gguf_family *gguf_family_at(int index);

/* NULL where the architecture is not known. */
const struct gguf_family *gguf_family_find(const char *architecture);

/* The configuration that a file's metadata and tensors say. STATUS_INVALID "FILE: cause; remedy" where its architecture is
 * not known, or where the family refuses what it says. */
enum status_code gguf_config(const struct checkpoint *checkpoint, const char *name, struct config *config,
                             struct status *error);

/* The path in the skeleton of a tensor's name, written to path: "blk.3.attn_q.weight" -> "model.layers.3.self_attn.
 * q_proj.weight". False where the family has no such name; *name is then untouched. path may be "" (see gguf_name). */
bool gguf_path(const struct gguf_family *family, const char *tensor, char *path, size_t path_bytes,
               const struct gguf_name **name);

#endif
