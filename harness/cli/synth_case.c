/* Options of assay synth. The headers of a model file say only its precision: the shapes are those of the
 * configuration, which is written beside the tensors. */
#include "harness/cli/synth_case.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/resource_path.h"
#include "models/find/model.h"
#include "models/find/model_config.h"
#include "models/find/stored_precision.h"
#include "models/workload/workload_tape.h"

static enum status_code words_read(const struct arguments *arguments, struct synth_case *synth, struct status *error)
{
    const char *size = arguments_value(arguments, "max-shard-size"), *seed = arguments_value(arguments, "seed");
    enum status_code code = STATUS_OK;
    synth->folder = arguments_value(arguments, "out");
    synth->recipe.is_zero = arguments_value(arguments, "zero") != NULL;
    synth->recipe.maximum_bytes = CHECKPOINT_SHARD_BYTES_DEFAULT;
    if (synth->folder == NULL) {
        return status_set(error, STATUS_INVALID, "synth: --out is missing; name the folder to write into");
    }
    if (size != NULL) {
        code = size_parse(size, &synth->recipe.maximum_bytes, error);
        if (code == STATUS_OK && synth->recipe.maximum_bytes == 0) {
            code = status_set(error, STATUS_INVALID, "no tensor fits into files of 0 bytes; write 5GB");
        }
        if (code != STATUS_OK) {
            status_prefix(error, "synth: --max-shard-size");
        }
    }
    if (code == STATUS_OK && seed != NULL) {
        code = integer_parse(seed, 0, INT64_MAX, &synth->recipe.seed, error);
        if (code != STATUS_OK) {
            status_prefix(error, "synth: --seed");
        } else if (synth->recipe.is_zero) {
            code = status_set(error, STATUS_INVALID, "synth: --seed says nothing about --zero; keep one");
        }
    }
    return code;
}

/* As given, as stored, as configured, float32. */
static enum status_code precision_read(const struct arguments *arguments, const struct model *model,
                                       struct synth_case *synth, struct status *error)
{
    const char *given = arguments_value(arguments, "precision");
    struct workload workload = workload_default(MODE_LOAD);
    synth->recipe.precision = model->config.states_dtype ? model->config.dtype : DTYPE_FLOAT32;
    if (given == NULL && model->checkpoint != NULL) {
        struct stored_precision stored = stored_precision_of(model->checkpoint);
        synth->recipe.precision = stored.is_precision ? precision_dtype(stored.precision) : synth->recipe.precision;
    }
    if (given == NULL) {
        return STATUS_OK;
    }
    enum status_code code = workload_set(&workload, "precision", given, error);
    if (code != STATUS_OK) {
        status_prefix(error, "synth");
        return code;
    }
    if (workload.precision > PRECISION_BFLOAT16) {
        return status_set(
            error, STATUS_INVALID,
            "synth: --precision %s is no type that a new model is stored in: it is made of one when it is "
            "loaded; write float32, float16 or bfloat16",
            given);
    }
    synth->recipe.precision = precision_dtype(workload.precision);
    return STATUS_OK;
}

/* The configuration that the checkpoint is made of. */
static enum status_code config_find_file(const struct arguments *arguments, const struct model_places *places,
                                         struct synth_case *synth, struct status *error)
{
    const char *text = arguments->operands[0];
    enum status_code code = model_config_path(places, text, synth->config_path, error);
    return code != STATUS_INVALID
               ? code
               : status_set(
                     error, STATUS_INVALID,
                     "synth: %s has no config.json, from which a checkpoint is made; name a model of the catalogue "
                     "or of the hub that has one, or a config.json",
                     text);
}

/* A type that only MODEL#TYPE makes known is not known to the readers of a checkpoint either. */
static enum status_code type_check(const char *typed, const struct config *config, struct status *error)
{
    return config->stated_type[0] == '\0'
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "synth: %s says the type '%s', and its readers would not take it for %s; write that "
                            "model_type into a copy of its config.json, and name the copy",
                            typed, config->stated_type, config->model_type);
}

static enum status_code model_read(const struct arguments *arguments, struct synth_case *synth, struct status *error)
{
    const struct model_places places = {.catalogue_dir = resource_path(&synth->arena, "models/catalogue")};
    struct model model = {0};
    enum status_code code = places.catalogue_dir != NULL
                                ? model_find(&places, arguments->operands[0], &model, error)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    code = checkpoint_hint(arguments->operands[0], code, error);
    if (code == STATUS_OK) {
        code = config_notes_give(arguments, &model.config, &synth->notes, error);
    }
    if (code == STATUS_OK) {
        code = type_check(arguments->operands[0], &model.config, error);
    }
    if (code == STATUS_OK) {
        code = precision_read(arguments, &model, synth, error);
    }
    if (code == STATUS_OK) {
        code = config_find_file(arguments, &places, synth, error);
    }
    if (code == STATUS_OK) {
        memcpy(synth->name, model.config.name, sizeof synth->name);
    }
    model_release(&model);
    return code;
}

static enum status_code head_read(const struct arguments *arguments, struct synth_case *synth, struct status *error)
{
    const char *head = arguments_value(arguments, "head");
    struct workload workload = workload_default(MODE_LOAD);
    enum status_code code = workload_set(&workload, "head", head != NULL ? head : "lm", error);
    if (code != STATUS_OK) {
        status_prefix(error, "synth");
    }
    synth->recipe.head = workload.head;
    return code;
}

static enum status_code draft_make(const struct arguments *arguments, struct synth_case *synth, struct status *error)
{
    synth->recipe.typed = arguments->operands[0];
    synth->recipe.name = synth->name;
    synth->recipe.config_path = synth->config_path;
    enum status_code code = checkpoint_draft_make(&synth->recipe, &synth->draft, error);
    if (synth->draft.is_dequantized) {
        note_give(
            "synth", &synth->notes,
            "%s is published with quantized weights; these are in %s, and config.json says nothing of quantization",
            synth->name, dtype_name(synth->recipe.precision));
    }
    if (code != STATUS_OK) {
        status_prefix(error, "synth");
    }
    return code;
}

enum status_code synth_case_open(const struct arguments *arguments, struct synth_case *synth, struct status *error)
{
    *synth = (struct synth_case){.folder = NULL};
    enum status_code code = words_read(arguments, synth, error);
    code = code == STATUS_OK ? model_read(arguments, synth, error) : code;
    code = code == STATUS_OK ? head_read(arguments, synth, error) : code;
    code = code == STATUS_OK ? draft_make(arguments, synth, error) : code;
    if (code != STATUS_OK) {
        synth_case_close(synth);
    }
    return code;
}

void synth_case_close(struct synth_case *synth)
{
    checkpoint_draft_release(&synth->draft);
    text_release(&synth->notes);
    arena_release(&synth->arena);
}
