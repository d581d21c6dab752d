/* Estimate table: the options of the table, its sizes and its two forms. The rule is that of
 * harness/estimate/accelerate. */
#include "harness/cli/estimate_table.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint_groups.h"
#include "harness/cli/answer_markdown.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/weights_json.h"
#include "harness/estimate/accelerate.h"
#include "models/skeleton/skeleton.h"

enum { ROWS_MAXIMUM = LIST_COUNT_MAXIMUM };

struct table {
    struct accelerate_options options;
    enum accelerate_dtype dtypes[ROWS_MAXIMUM];
    int count;
};

static enum status_code dtype_add(const char *name, struct table *table, struct status *error)
{
    if (table->count == ROWS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "estimate: --dtypes has more than %d values; give fewer",
                          ROWS_MAXIMUM);
    }
    enum status_code code = accelerate_dtype_find(name, &table->dtypes[table->count], error);
    table->count += code == STATUS_OK ? 1 : 0;
    return code;
}

/* Each word of --dtypes may itself be a list with commas. */
static enum status_code dtypes_read(const struct arguments *arguments, struct table *table, struct status *error)
{
    for (int i = 0; i < arguments->list_count; i++) {
        for (const char *word = arguments->list[i]; word != NULL;) {
            char name[32];
            size_t length = strcspn(word, ",");
            size_t kept = length < sizeof name - 1 ? length : sizeof name - 1;
            memcpy(name, word, kept);
            name[kept] = '\0';
            enum status_code code = dtype_add(name, table, error);
            if (code != STATUS_OK) {
                return code;
            }
            word = word[length] == ',' ? word + length + 1 : NULL;
        }
    }
    for (int i = 0; arguments->list_count == 0 && i < ACCELERATE_DTYPE_COUNT; i++) {
        table->dtypes[table->count++] = (enum accelerate_dtype)i;
    }
    return STATUS_OK;
}

static enum status_code table_read(const struct arguments *arguments, struct table *table, struct status *error)
{
    const char *rule = arguments_value(arguments, "rule");
    table->options.transformers = arguments_value(arguments, "transformers");
    enum status_code code = dtypes_read(arguments, table, error);
    if (code == STATUS_OK && rule != NULL) {
        code = accelerate_rule_find(rule, &table->options.rule, error);
    }
    return code;
}

/* What a file stores, by type. */
static void stored_lines(const struct checkpoint *checkpoint, const struct checkpoint_groups *types, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "stored in %s: %s, %" PRId64 " bytes in %d tensors\n", checkpoint->name,
                size_format(checkpoint->stored_bytes, size), checkpoint->stored_bytes, checkpoint->tensor_count);
    for (int i = 0; i < types->count; i++) {
        const struct checkpoint_group *type = &types->groups[i];
        text_format(text, "  %-8s %12s %20" PRId64 " bytes %8d tensors\n", type->name, size_format(type->bytes, size),
                    type->bytes, type->tensor_count);
    }
    text_append(text, "as accelerate would weigh these tensors:\n");
}

static bool stored_set(struct json *document, const struct checkpoint *checkpoint,
                       const struct checkpoint_groups *types)
{
    return json_set(document, "stored_bytes", json_integer_new(checkpoint->stored_bytes)) &&
           json_set(document, "dtypes", groups_json("dtype", types));
}

static enum status_code sizes_find(const struct model *model, const struct table *table, struct accelerate_sizes *sizes,
                                   struct status *error)
{
    if (model->config.family != NULL) {
        return accelerate_sizes_of(&model->config, &table->options, sizes, error);
    }
    return table->options.transformers != NULL ? status_set(error, STATUS_INVALID,
                                                            "estimate: --transformers says which buffers a model has, "
                                                            "and the model of this file is not known; leave it out")
                                               : accelerate_sizes_of_file(model->checkpoint, sizes, error);
}

/* A line if the release that wrote the configuration would print other figures. */
static void file_release_note(const struct model *model, const struct table *table,
                              const struct accelerate_sizes *sizes, struct text *notes)
{
    struct accelerate_options options = table->options;
    struct accelerate_sizes file = {0};
    char then[ACCELERATE_CELL_BYTES], now[ACCELERATE_CELL_BYTES];
    options.transformers = ACCELERATE_RELEASE_OF_FILE;
    if (accelerate_sizes_of(&model->config, &options, &file, NULL) != STATUS_OK) {
        return; /* it names no release */
    }
    accelerate_bytes_format((double)file.total_bytes, true, then);
    accelerate_bytes_format((double)sizes->total_bytes, true, now);
    if (strcmp(then, now) != 0) {
        note_give("estimate", notes,
                  "with transformers %s, which wrote this configuration, the float32 total was %s, not %s (%+.1f %%): "
                  "its class registered other tensors; --transformers file prints that table",
                  model->config.transformers_version, then, now,
                  100.0 * ((double)file.total_bytes / (double)sizes->total_bytes - 1.0));
    }
}

static void tied_note(const struct accelerate_sizes *sizes, struct text *notes)
{
    char copies[ACCELERATE_CELL_BYTES];
    if (sizes->tied_bytes > 0) {
        accelerate_bytes_format((double)sizes->tied_bytes, true, copies);
        note_give("estimate", notes,
                  "accelerate counts a shared embedding again for each module that uses it: %s of the float32 total "
                  "are such copies, which a loaded model does not have",
                  copies);
    }
}

/* accelerate's table is of AutoModel's class, which has a decoder even if the configuration names the encoder alone. */
static enum status_code encoder_note(const struct config *config, const struct accelerate_sizes *sizes,
                                     struct text *notes, struct status *error)
{
    struct skeleton skeleton = {0};
    char encoder[ACCELERATE_CELL_BYTES], whole[ACCELERATE_CELL_BYTES];
    if (config->family == NULL || config->model_heads.stated != HEAD_ENCODER) {
        return STATUS_OK;
    }
    enum status_code code = skeleton_build(config, HEAD_ENCODER, &skeleton, error);
    if (code == STATUS_OK) {
        accelerate_bytes_format((double)(skeleton.parameter_bytes + skeleton.buffer_bytes), true, encoder);
        accelerate_bytes_format((double)sizes->total_bytes, true, whole);
        note_give("estimate", notes,
                  "accelerate's table is of the model with its decoder, %s in float32; %.64s, which the configuration "
                  "names, has %s: --mode load weighs that",
                  whole, config->architecture, encoder);
    }
    skeleton_release(&skeleton);
    return code;
}

struct answer {
    const char *name;
    const struct model *model;
    const struct accelerate_row *rows;
    int count;
    struct checkpoint_groups types; /* of what is stored, if nothing says what the model is */
};

static enum status_code text_give(const struct answer *answer, struct status *error)
{
    struct text text = {0};
    if (answer->model->config.family == NULL) {
        stored_lines(answer->model->checkpoint, &answer->types, &text);
    }
    enum status_code code = accelerate_table(answer->name, answer->rows, answer->count, &text, error);
    if (code == STATUS_OK) {
        code = output_lines(&text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code document_give(const struct answer *answer, const struct accelerate_sizes *sizes,
                                      const struct text *notes, enum answer_format format, struct status *error)
{
    bool is_known = answer->model->config.family != NULL;
    struct json *document =
        accelerate_to_json(answer->name, is_known ? &answer->model->config : NULL, sizes, answer->rows, answer->count);
    bool made = (is_known || stored_set(document, answer->model->checkpoint, &answer->types)) &&
                (notes->length == 0 || json_set(document, "notes", notes_json(notes)));
    enum status_code code = output_answer(made ? document : NULL, format, rows_markdown, error);
    json_release(document);
    return code;
}

enum status_code estimate_table_print(const struct arguments *arguments, const struct model *model, struct text *notes,
                                      struct status *error)
{
    struct table table = {.options = {.rule = ACCELERATE_RULE_CURRENT}};
    struct accelerate_sizes sizes = {0};
    struct accelerate_row rows[ROWS_MAXIMUM];
    struct answer answer = {.name = arguments->operands[0], .model = model, .rows = rows};
    enum answer_format format = ANSWER_TABLE;
    enum status_code code = answer_format_read(arguments, &format, error);
    if (code == STATUS_OK) {
        code = table_read(arguments, &table, error);
    }
    if (code == STATUS_OK) {
        code = sizes_find(model, &table, &sizes, error);
    }
    if (code == STATUS_OK && model->config.family != NULL && table.options.transformers == NULL) {
        file_release_note(model, &table, &sizes, notes);
    }
    if (code == STATUS_OK) {
        tied_note(&sizes, notes);
        code = encoder_note(&model->config, &sizes, notes, error);
    }
    if (code == STATUS_OK && model->config.family == NULL) {
        code = checkpoint_group(model->checkpoint, CHECKPOINT_BY_TYPE, &answer.types, error);
    }
    for (; code == STATUS_OK && answer.count < table.count; answer.count++) {
        rows[answer.count] = accelerate_row_of(&sizes, table.dtypes[answer.count], table.options.rule);
    }
    if (code == STATUS_OK) {
        code =
            format != ANSWER_TABLE ? document_give(&answer, &sizes, notes, format, error) : text_give(&answer, error);
    }
    checkpoint_groups_release(&answer.types);
    return code;
}
