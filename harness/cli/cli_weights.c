/* assay weights: what a model file stores, and whether that is what its configuration says. Reads headers alone. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint_groups.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"
#include "harness/cli/weights_json.h"
#include "models/config/family.h"
#include "models/find/model_files.h"

static const struct option_row options[] = {
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document, with every tensor that differs"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { ROWS_SHOWN = 20 };

static void head_lines(const struct weights *weights, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct checkpoint *checkpoint = weights->model.checkpoint;
    text_format(text, "%s: %s, %d tensors, %" PRId64 " elements, %s (%" PRId64 " bytes)\n", checkpoint->name,
                checkpoint_format_name(checkpoint->format), checkpoint->tensor_count, checkpoint->element_count,
                size_format(checkpoint->stored_bytes, size), checkpoint->stored_bytes);
}

static void group_lines(const char *heading, const struct checkpoint_groups *groups, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    int64_t rest_bytes = 0;
    text_format(text, "\n%s\n", heading);
    for (int i = 0; i < groups->count; i++) {
        const struct checkpoint_group *group = &groups->groups[i];
        if (i >= ROWS_SHOWN) {
            rest_bytes += group->bytes;
            continue;
        }
        text_format(text, "  %12s %20" PRId64 " bytes %6d tensors  ", size_format(group->bytes, size), group->bytes,
                    group->tensor_count);
        printable_append(group->name[0] != '\0' ? group->name : "(the model itself)", text);
        text_append(text, "\n");
    }
    if (groups->count > ROWS_SHOWN) {
        text_format(text, "  %12s in %d more rows; --json has all\n", size_format(rest_bytes, size),
                    groups->count - ROWS_SHOWN);
    }
}

static void file_lines(const struct checkpoint *checkpoint, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    text_append(text, "\nfiles, and the bytes of tensors in them\n");
    for (int i = 0; i < checkpoint->file_count; i++) {
        const struct checkpoint_file *file = &checkpoint->files[i];
        if (i < ROWS_SHOWN) {
            text_format(text, "  %12s %20" PRId64 " of %" PRId64 " bytes  %s\n", size_format(file->data_bytes, size),
                        file->data_bytes, file->size_bytes, file->name);
        }
    }
    if (checkpoint->file_count > ROWS_SHOWN) {
        text_format(text, "  %d more files; --json has all\n", checkpoint->file_count - ROWS_SHOWN);
    }
}

static void shape_append(int rank, const int64_t *shape, struct text *text)
{
    text_append(text, "[");
    for (int i = 0; i < rank; i++) {
        text_format(text, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
    }
    text_append(text, "]");
}

static void finding_line(const struct finding *finding, const struct checkpoint *checkpoint, struct text *text)
{
    text_format(text, "  %-8s ", finding_kind_name(finding->kind));
    printable_append(finding->name, text);
    if (finding->kind == FINDING_TOTAL) {
        text_format(text, ": %" PRId64 " in the index, %" PRId64 " bytes of tensors\n", checkpoint->claimed_total_bytes,
                    checkpoint->stored_bytes);
        return;
    }
    if (finding->stored != NULL) {
        text_format(text, ": stored %s ", finding->stored->type->name);
        shape_append(finding->stored->rank, finding->stored->shape, text);
    }
    if (finding->rank >= 0) {
        text_format(text, "%s by the configuration %s ", finding->stored != NULL ? "," : ":",
                    dtype_name(finding->dtype));
        shape_append(finding->rank, finding->shape, text);
    }
    if (finding->more_count > 0) {
        text_format(text, ", and %" PRId64 " more of its layer", finding->more_count);
    }
    text_append(text, "\n");
}

static void finding_lines(const struct weights *weights, bool remarks, struct text *text)
{
    const struct checkpoint_check *check = &weights->model.check;
    int shown = 0;
    int left = 0;
    for (int i = 0; i < check->finding_count; i++) {
        if (finding_is_remark(check->findings[i].kind) != remarks) {
            continue;
        }
        if (shown < ROWS_SHOWN) {
            finding_line(&check->findings[i], weights->model.checkpoint, text);
            shown++;
        } else {
            left++;
        }
    }
    if (left > 0) {
        text_format(text, "  and %d more; --json has all\n", left);
    }
}

static void check_lines(const struct weights *weights, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct checkpoint_check *check = &weights->model.check;
    char line[STATUS_LINE_BYTES];
    if (!weights->is_compared) {
        text_format(text, "\nnot compared with a configuration: %s\n", status_line(&weights->uncompared, line));
        return;
    }
    int count = checkpoint_disagreement_count(check);
    text_format(text, "\n%s, %s model %s: by the configuration %s (%" PRId64 " bytes), ",
                weights->model.config.model_type, weights->model.config.family->name,
                check->head == HEAD_LM ? "with its head" : "without a head", size_format(check->expected_bytes, size),
                check->expected_bytes);
    text_format(text, count == 0 ? "no tensor differs\n" : "%d disagreements\n", count);
    finding_lines(weights, false, text);
    if (check->finding_count > count) {
        text_format(text, "\nstored besides, and not loaded\n");
        finding_lines(weights, true, text);
    }
}

static enum status_code weights_print(const struct weights *weights, struct status *error)
{
    struct text text = {0};
    head_lines(weights, &text);
    group_lines("by type", &weights->by_type, &text);
    group_lines("by module, layers together", &weights->by_module, &text);
    file_lines(weights->model.checkpoint, &text);
    check_lines(weights, &text);
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

/* Why a model has none of the files that are asked for. */
static enum status_code files_missing(const char *name, struct status *error)
{
    struct model_files files;
    model_files_find(name, &files);
    if (files.shard_count > 0) {
        return status_set(error, STATUS_INVALID,
                          "weights: %d files of %s look like shards; their index, model.safetensors.index.json, is "
                          "missing, so that they are not read: put it there, or name one of them",
                          files.shard_count, name);
    }
    return status_set(error, STATUS_INVALID,
                      "weights: %s is a configuration without model files; name a .safetensors, its index, a .gguf, "
                      "or a folder that holds them",
                      name);
}

/* A model file whose configuration is not known can still be weighed. */
static enum status_code checkpoint_alone(const char *name, struct weights *weights, struct status *error)
{
    struct model_files files;
    if (!model_files_find(name, &files) || files.checkpoint[0] == '\0') {
        if (files.shard_count > 0) {
            return files_missing(name, error);
        }
        return status_copy(error, weights->uncompared.code, &weights->uncompared);
    }
    return checkpoint_open(files.checkpoint, &weights->model.checkpoint, error);
}

static enum status_code weights_read(const char *catalogue, const char *name, struct weights *weights,
                                     struct status *error)
{
    const struct model_places places = {.catalogue_dir = catalogue};
    struct status unread = {0};
    enum status_code code = model_open(&places, name, &weights->model, &unread, &weights->uncompared);
    weights->is_compared =
        code == STATUS_OK && weights->model.config.family != NULL && !weights->model.inferred.is_inferred;
    if (code == STATUS_OK && weights->model.config.family == NULL) {
        weights->uncompared = unread;
    } else if (code == STATUS_OK && weights->model.inferred.is_inferred) {
        status_set(&weights->uncompared, STATUS_INVALID, "there is no config.json; read from its tensors: %s",
                   weights->model.inferred.evidence);
    }
    if (code == STATUS_OK && weights->model.checkpoint == NULL) {
        return files_missing(name, error);
    }
    if (code != STATUS_OK) {
        code = checkpoint_alone(name, weights, error);
    }
    if (code == STATUS_OK) {
        code = checkpoint_group(weights->model.checkpoint, CHECKPOINT_BY_TYPE, &weights->by_type, error);
    }
    if (code == STATUS_OK) {
        code = checkpoint_group(weights->model.checkpoint, CHECKPOINT_BY_MODULE, &weights->by_module, error);
    }
    return code;
}

static enum status_code weights_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct arena arena = {0};
    struct weights weights = {0};
    const char *catalogue = resource_path(&arena, "models/catalogue");
    enum status_code code = catalogue == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                                : weights_read(catalogue, arguments->operands[0], &weights, error);
    if (code == STATUS_OK && weights.is_compared) {
        code = head_note_give(arguments, &weights.model, &weights.notes, error);
        code = code == STATUS_OK ? config_notes_give(arguments, &weights.model.config, &weights.notes, error) : code;
    }
    if (code == STATUS_OK && arguments_value(arguments, "json") != NULL) {
        struct json *document = weights_json(&weights);
        code = output_json(document, error);
        json_release(document);
    } else if (code == STATUS_OK) {
        code = weights_print(&weights, error);
    }
    if (code == STATUS_OK) {
        *exit_code = !weights.is_compared                                      ? EXIT_CODE_INCONCLUSIVE
                     : checkpoint_disagreement_count(&weights.model.check) > 0 ? EXIT_CODE_FAIL
                                                                               : EXIT_CODE_PASS;
    }
    checkpoint_groups_release(&weights.by_type);
    checkpoint_groups_release(&weights.by_module);
    text_release(&weights.notes);
    model_release(&weights.model);
    arena_release(&arena);
    return code;
}

const struct command command_weights = {
    .name = "weights",
    .operands = "MODEL",
    .summary = "what a model file stores, and whether its configuration says so",
    .details = "MODEL: a .safetensors file, its .safetensors.index.json or a .gguf, a folder that holds one beside\n"
               "its config.json, or OWNER/NAME[@REVISION][/FILE] of the Hugging Face hub. Only headers are read,\n"
               "no tensors.\n"
               "\n"
               "Exit codes:\n"
               "  1  tensors are missing or superfluous, or their shape or type is not the configured one\n"
               "  3  there is no configuration to compare them with\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = weights_run,
};
