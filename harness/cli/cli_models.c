/* assay models: the catalogue, or every tensor of one model. Builds skeletons; allocates nothing on a device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/cli/answer_markdown.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/find/catalogue_names.h"
#include "models/find/model.h"
#include "models/skeleton/skeleton.h"

static const struct option_row options[] = {
    {"tensors", OPTION_FLAG, NULL, "with MODEL: every parameter and buffer, in the order of the state dict"},
    {"head", OPTION_VALUE, "bare|lm", "with MODEL: without, or with, the head of its task (default: bare)"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    FORMAT_OPTION_ROW,
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* The caller releases model and skeleton, also after an error; both begin as all zero. */
static enum status_code model_build(const char *folder, const char *name, enum head head, struct model *model,
                                    struct skeleton *skeleton, struct status *error)
{
    const struct model_places places = {.catalogue_dir = folder};
    enum status_code code = checkpoint_hint(name, model_find(&places, name, model, error), error);
    return code == STATUS_OK ? skeleton_build(&model->config, head, skeleton, error) : code;
}

static struct json *model_json(const struct skeleton *skeleton)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "model", json_string_new(skeleton->config->name)) &&
                json_set(object, "family", json_string_new(skeleton->config->family->name)) &&
                json_set(object, "parameter_count", json_integer_new(skeleton->parameter_count)) &&
                json_set(object, "active_parameter_count", json_integer_new(skeleton->active_parameter_count)) &&
                json_set(object, "parameter_bytes", json_integer_new(skeleton->parameter_bytes)) &&
                json_set(object, "buffer_bytes", json_integer_new(skeleton->buffer_bytes));
    return json_made(object, made);
}

static struct json *tensor_json(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    struct json *object = json_object_new();
    struct json *shape = json_array_new();
    bool made = true;
    for (int i = 0; i < tensor->rank; i++) {
        made = made && json_append(shape, json_integer_new(tensor->size[i]));
    }
    const char *tied_to = tensor->tied_to < 0 ? NULL : skeleton->tensors[tensor->tied_to].path;
    /* evaluated to the end even after a failure, so that every reference finds an owner */
    made = json_set(object, "path", json_string_new(tensor->path)) && made;
    made = json_set(object, "shape", shape) && made;
    made = json_set(object, "dtype", json_string_new(dtype_name(tensor->dtype))) && made;
    made = json_set(object, "kind", json_string_new(tensor->is_buffer ? "buffer" : "parameter")) && made;
    made = json_set(object, "persistent", json_boolean_new(tensor->persistent)) && made;
    made = json_set(object, "tied_to", tied_to != NULL ? json_string_new(tied_to) : json_null_new()) && made;
    return json_made(object, made);
}

static struct json *tensors_json(const struct skeleton *skeleton)
{
    struct json *list = json_array_new();
    bool made = list != NULL;
    for (int i = 0; i < skeleton->tensor_count && made; i++) {
        made = json_append(list, tensor_json(skeleton, &skeleton->tensors[i]));
    }
    return json_made(list, made);
}

/* The list of models: what a narrow terminal has no room for is left out from the right. */
enum { COLUMN_NAME, COLUMN_COUNT = 6 };

static const struct {
    const char *heading;
    int width;
    bool is_word;
} columns[COLUMN_COUNT] = {
    {"model", 42, true},   {"family", 10, true},      {"parameters", 15, false},
    {"active", 15, false}, {"in float32", 12, false}, {"buffers", 11, false},
};

struct model_table {
    int name_width, column_count;
    struct text text;
};

/* longest: of the names that it will have. */
static struct model_table table_begin(int longest)
{
    int room = table_width(), needed = -1, heading = text_width(columns[COLUMN_NAME].heading);
    longest = longest > heading ? longest : heading;
    struct model_table table = {.name_width = columns[COLUMN_NAME].width};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        needed += columns[i].width + 1;
    }
    table.name_width = needed > room && longest < table.name_width ? longest : table.name_width;
    needed = table.name_width;
    do {
        table.column_count++;
        needed += table.column_count < COLUMN_COUNT ? columns[table.column_count].width + 1 : 0;
    } while (table.column_count < COLUMN_COUNT && needed <= room);
    return table;
}

static void table_line(struct model_table *table, const char *const cells[COLUMN_COUNT])
{
    for (int i = 0; i < table->column_count; i++) {
        int width = i == COLUMN_NAME ? table->name_width : columns[i].width;
        text_format(&table->text, "%s%*s", i > 0 ? " " : "", columns[i].is_word ? -width : width, cells[i]);
    }
    text_append(&table->text, "\n");
}

static void model_line(const struct skeleton *skeleton, struct model_table *table)
{
    char parameters[24], active[24], bytes[SIZE_TEXT_BYTES], buffers[SIZE_TEXT_BYTES];
    snprintf(parameters, sizeof parameters, "%" PRId64, skeleton->parameter_count);
    snprintf(active, sizeof active, "%" PRId64, skeleton->active_parameter_count);
    const char *const cells[COLUMN_COUNT] = {skeleton->config->name,
                                             skeleton->config->family->name,
                                             parameters,
                                             active,
                                             size_format(skeleton->parameter_bytes, bytes),
                                             size_format(skeleton->buffer_bytes, buffers)};
    table_line(table, cells);
}

static void model_heading(struct model_table *table)
{
    const char *cells[COLUMN_COUNT];
    for (int i = 0; i < COLUMN_COUNT; i++) {
        cells[i] = columns[i].heading;
    }
    table_line(table, cells);
}

/* What is left out is named, as reports do. Releases the table. */
static enum status_code table_end(struct model_table *table, struct status *error)
{
    for (int i = table->column_count; i < COLUMN_COUNT; i++) {
        text_format(&table->text, "%s%s%s", i == table->column_count ? "\nnot shown here: " : ", ", columns[i].heading,
                    i == COLUMN_COUNT - 1 ? "\n" : "");
    }
    enum status_code code = output_lines(&table->text, error);
    text_release(&table->text);
    return code;
}

static void tensor_line(const struct skeleton *skeleton, const struct skeleton_tensor *tensor, struct text *text)
{
    char shape[128] = "";
    size_t length = 0;
    for (int i = 0; i < tensor->rank && length < sizeof shape; i++) {
        int added = snprintf(shape + length, sizeof shape - length, "%s%" PRId64, i > 0 ? ", " : "", tensor->size[i]);
        length += added > 0 ? (size_t)added : 0;
    }
    text_format(text, "%-9s %-8s [%s] %s", tensor->is_buffer ? "buffer" : "parameter", dtype_name(tensor->dtype), shape,
                tensor->path);
    if (tensor->tied_to >= 0) {
        text_format(text, " (tied to %s)", skeleton->tensors[tensor->tied_to].path);
    }
    text_append(text, "\n");
}

/* Whether the pattern asks for a model: by its name, or by that of its family. NULL: all. */
static bool is_asked_for(const char *pattern, const struct config *config)
{
    return pattern == NULL || catalogue_name_matches(pattern, config->name) ||
           catalogue_name_matches(pattern, config->family->name);
}

/* Whether any name or family of the catalogue matches. */
static bool is_pattern(const char *folder, const char *pattern)
{
    struct catalogue catalogue = {0};
    bool found = false;
    if (access(pattern, F_OK) == 0 || catalogue_knows(folder, pattern) ||
        catalogue_read(folder, &catalogue, NULL) != STATUS_OK) {
        return false;
    }
    for (int i = 0; i < catalogue.count && !found; i++) {
        struct config config;
        found = config_find(folder, catalogue.names[i], &config, NULL) == STATUS_OK && is_asked_for(pattern, &config);
    }
    catalogue_release(&catalogue);
    return found;
}

static enum status_code catalogue_print(const char *folder, const char *pattern, enum answer_format format,
                                        struct status *error)
{
    struct catalogue catalogue = {0};
    struct json *list = json_array_new();
    struct json *document = NULL;
    enum status_code code = catalogue_read(folder, &catalogue, error);
    int longest = 0;
    for (int i = 0; i < catalogue.count; i++) {
        int length = (int)strlen(catalogue.names[i]);
        longest = length > longest ? length : longest;
    }
    struct model_table table = table_begin(longest);
    model_heading(&table);
    for (int i = 0; i < catalogue.count && code == STATUS_OK; i++) {
        struct model model = {0};
        struct skeleton skeleton = {0};
        code = model_build(folder, catalogue.names[i], HEAD_BARE, &model, &skeleton, error);
        if (code == STATUS_OK && is_asked_for(pattern, &model.config)) {
            model_line(&skeleton, &table);
            if (!json_append(list, model_json(&skeleton))) {
                code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the catalogue");
            }
        }
        skeleton_release(&skeleton);
        model_release(&model);
    }
    if (code == STATUS_OK && format != ANSWER_TABLE) {
        document = json_object_new();
        bool made = json_set(document, "models", json_share(list));
        code = output_answer(made ? document : NULL, format, models_markdown, error);
    } else if (code == STATUS_OK) {
        text_append(&table.text, "\n" MODELS_COUNT_WORDS);
        code = table_end(&table, error);
    }
    json_release(document);
    json_release(list);
    text_release(&table.text);
    catalogue_release(&catalogue);
    return code;
}

static enum status_code model_print(const struct arguments *arguments, const char *folder, enum head head,
                                    struct status *error)
{
    enum answer_format format = ANSWER_TABLE;
    bool with_tensors = arguments_value(arguments, "tensors") != NULL;
    struct model model = {0};
    struct skeleton skeleton = {0};
    struct text notes = {0};
    enum status_code code = answer_format_read(arguments, &format, error);
    if (code == STATUS_OK) {
        code = model_build(folder, arguments->operands[0], head, &model, &skeleton, error);
    }
    if (code == STATUS_OK) {
        code = model_notes_give(arguments, &model, &notes, error);
    }
    if (code == STATUS_OK && format != ANSWER_TABLE) {
        struct json *document = model_json(&skeleton);
        bool made = document != NULL && (!with_tensors || json_set(document, "tensors", tensors_json(&skeleton))) &&
                    (notes.length == 0 || json_set(document, "notes", notes_json(&notes)));
        code = output_answer(made ? document : NULL, format, models_markdown, error);
        json_release(document);
    } else if (code == STATUS_OK && with_tensors) {
        struct text text = {0};
        for (int i = 0; i < skeleton.tensor_count; i++) {
            tensor_line(&skeleton, &skeleton.tensors[i], &text);
        }
        code = output_lines(&text, error);
        text_release(&text);
    } else if (code == STATUS_OK) {
        struct model_table table = table_begin((int)strlen(skeleton.config->name));
        model_heading(&table);
        model_line(&skeleton, &table);
        code = table_end(&table, error);
    }
    text_release(&notes);
    skeleton_release(&skeleton);
    model_release(&model);
    return code;
}

static enum status_code models_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    (void)exit_code;
    enum answer_format format = ANSWER_TABLE;
    bool with_tensors = arguments_value(arguments, "tensors") != NULL;
    const char *head = arguments_value(arguments, "head");
    struct workload workload = workload_default(MODE_LOAD);
    workload.head = HEAD_BARE;
    if (arguments->operand_count == 0 && (with_tensors || head != NULL)) {
        return status_set(error, STATUS_INVALID,
                          "models: --tensors and --head are for one model; write assay models "
                          "MODEL --tensors");
    }
    enum status_code code = answer_format_read(arguments, &format, error);
    if (code == STATUS_OK && head != NULL) {
        code = workload_set(&workload, "head", head, error);
    }
    struct arena arena = {0};
    const char *folder = resource_path(&arena, "models/catalogue");
    if (code == STATUS_OK && folder == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    if (code == STATUS_OK && arguments->operand_count == 0) {
        code = catalogue_print(folder, NULL, format, error);
    } else if (code == STATUS_OK && !with_tensors && head == NULL && is_pattern(folder, arguments->operands[0])) {
        code = catalogue_print(folder, arguments->operands[0], format, error);
    } else if (code == STATUS_OK) {
        code = model_print(arguments, folder, workload.head, error);
    }
    arena_release(&arena);
    return code;
}

const struct command command_models = {
    .name = "models",
    .operands = "[MODEL]",
    .summary = "the catalogue, or what one model consists of",
    .details = "MODEL: a name of the catalogue, a config.json in Hugging Face's format, a folder that holds one, a\n"
               ".gguf, or OWNER/NAME on the Hugging Face hub. PATTERN: the models of the catalogue that match a\n"
               "part of a name or of a family (llama, qwen2.5) or a shell pattern with *, ? or [, in any case.\n"
               "\n"
               "Counts are those of the model without a head (--head lm: with it), tied parameters once. active:\n"
               "the parameters that one token is multiplied with; experts that it does not use are not among them.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 1,
    .run = models_run,
};
