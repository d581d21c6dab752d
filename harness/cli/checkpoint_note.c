/* Checkpoint note: counts; the list is that of assay weights. */
#include "harness/cli/checkpoint_note.h"

#include <stdio.h>
#include <string.h>

#include "harness/checkpoint/checkpoint.h"
#include "models/model_files.h"

enum status_code checkpoint_hint(const char *name, enum status_code code, struct status *error)
{
    struct model_files files;
    struct checkpoint *checkpoint = NULL;
    if (code == STATUS_INVALID && model_files_find(name, &files) && files.checkpoint[0] != '\0' &&
        checkpoint_open(files.checkpoint, &checkpoint, NULL) == STATUS_OK) {
        const struct status cause = *error;
        status_set(error, code, "%s; assay weights %s reads what is stored all the same", cause.text, name);
        checkpoint_release(checkpoint);
    }
    return code;
}

void checkpoint_warn(const char *command, const struct model *model)
{
    const struct checkpoint_check *check = &model->check;
    const char *separator = "";
    if (model->config.stated_type[0] != '\0') {
        fprintf(
            stderr,
            "assay: %s: the type of %s, '%s', is not known; read as %s, as asked: its keys and tensors may be others\n",
            command, model->config.name, model->config.stated_type, model->config.model_type);
    }
    if (model->config.stored_in_fp8) {
        fprintf(
            stderr,
            "assay: %s: the weights of %s are published in fp8, with scales (quantization_config); they are weighed in "
            "the precision that is asked for, as transformers gives them with dequantize\n",
            command, model->config.name);
    }
    if (model->checkpoint == NULL || checkpoint_disagreement_count(check) == 0) {
        return;
    }
    fprintf(stderr, "assay: %s: what %s stores is not what its configuration says (", command, model->checkpoint->name);
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        if (check->counts[kind] > 0 && !finding_is_remark((enum finding_kind)kind)) {
            fprintf(stderr, "%s%d %s", separator, check->counts[kind], finding_kind_name((enum finding_kind)kind));
            separator = ", ";
        }
    }
    fprintf(stderr, "); assay weights %s lists it\n", model->config.name);
}

static bool stands_before(const struct suite *suite, int index)
{
    const char *name = suite->cases[index].identity.model;
    for (int i = 0; i < index; i++) {
        if (strcmp(suite->cases[i].identity.model, name) == 0) {
            return true;
        }
    }
    return false;
}

void suite_checkpoints_warn(const char *command, const struct suite *suite, const char *catalogue_dir)
{
    const struct model_places places = {.catalogue_dir = catalogue_dir};
    for (int i = 0; i < suite->case_count; i++) {
        struct model model;
        const char *name = suite->cases[i].identity.model;
        if (stands_before(suite, i) || model_find(&places, name, &model, NULL) != STATUS_OK) {
            continue; /* what cannot be found is the cases' own error */
        }
        checkpoint_warn(command, &model);
        model_release(&model);
    }
}
