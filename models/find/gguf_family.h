/* GGUF families: what an architecture of GGUF is among ours. One row of a table says how its metadata become the keys
 * of a config.json, which the family then reads with its own checks and defaults, and what its tensors are called
 * there. Names and keys are those of llama.cpp's converter (package gguf 0.19.0). */
#ifndef ASSAY_FIND_GGUF_FAMILY_H
#define ASSAY_FIND_GGUF_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"
#include "harness/checkpoint/checkpoint.h"
#include "models/config/config.h"

/* Where a key of the configuration comes from. */
enum gguf_fact_kind {
    GGUF_FACT_KEY,    /* of the metadata, behind "ARCHITECTURE."; a list must have one value throughout */
    GGUF_FACT_ROWS,   /* rows of a tensor */
    GGUF_FACT_ABSENT, /* true if there is no such tensor */
    GGUF_FACT_PRESENT
};

struct gguf_fact {
    enum gguf_fact_kind kind;
    const char *source; /* the key or the tensor */
    const char *key;    /* of config.json */
};

/* How a tensor of GGUF is stored beside the model's. */
enum gguf_form {
    GGUF_AS_IS,
    GGUF_TRANSPOSED, /* a Conv1D, which the converter turns around */
    /* Of all experts of a layer, which the model keeps in parameters without ".weight": the whole of one, or a half of
     * gate_up_proj [E, 2F, H], which holds both one above the other. */
    GGUF_EXPERTS,
    GGUF_EXPERTS_FIRST_HALF,
    GGUF_EXPERTS_SECOND_HALF
};

/* '#' stands for the number of a block in both, without ".weight" and ".bias" at the end. */
struct gguf_name {
    const char *gguf;
    const char *path; /* of the model with its head, or of the bare one if that has no prefix; NULL: computed from
                         the configuration, and no tensor of the model */
    enum gguf_form form;
};

struct gguf_family {
    const char *architecture; /* general.architecture */
    const char *marker; /* a key behind "ARCHITECTURE." that its files have and others of its architecture have not, or
                                 have as 0; NULL: none */
    const char *model_type; /* of config.json */
    const struct gguf_fact *facts;
    const struct gguf_name *names; /* both end with a row of NULLs */
};

/* Row number index of the table, NULL past the end. */
const struct gguf_family *gguf_family_at(int index);

/* Of a file's metadata; NULL if they have no architecture, or it is not known. */
const struct gguf_family *gguf_family_of(const struct checkpoint *checkpoint);

/* The configuration that a file's metadata and tensors say. STATUS_INVALID "FILE: cause; remedy" if its architecture
 * is not known, or if the family refuses what it says. */
enum status_code gguf_config(const struct checkpoint *checkpoint, const char *name, struct config *config,
                             struct status *error);

/* The path in the skeleton of a tensor's name, written to path: "blk.3.attn_q.weight" -> "model.layers.3.self_attn.
 * q_proj.weight". False if the family has no such name; *name is then untouched. path may be "" (see gguf_name). */
bool gguf_path(const struct gguf_family *family, const char *tensor, char *path, size_t path_bytes,
               const struct gguf_name **name);

#endif
