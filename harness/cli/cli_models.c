/* assay models: the catalogue, or every tensor of one model. Builds skeletons; allocates nothing on a device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/checkpoint_note.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"
#include "models/catalogue.h"
#include "models/family.h"
#include "models/model.h"
#include "models/skeleton.h"

static const struct option_row options[] = {
    {"tensors", OPTION_FLAG, NULL, "with MODEL: every parameter and buffer, in the order of the state dict"},
    {"head", OPTION_VALUE, "bare|lm", "with MODEL: without, or with, the head of its task (default: bare)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
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

static void model_line(const struct skeleton *skeleton, struct text *text)
{
    char parameters[SIZE_TEXT_BYTES];
    char buffers[SIZE_TEXT_BYTES];
    text_format(text, "%-42s %-10s %15" PRId64 " %15" PRId64 " %12s %11s\n", skeleton->config->name,
                skeleton->config->family->name, skeleton->parameter_count, skeleton->active_parameter_count,
                size_format(skeleton->parameter_bytes, parameters), size_format(skeleton->buffer_bytes, buffers));
}

static void model_heading(struct text *text)
{
    text_format(text, "%-42s %-10s %15s %15s %12s %11s\n", "model", "family", "parameters", "active", "in float32",
                "buffers");
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

static enum status_code catalogue_print(const char *folder, bool as_json, struct status *error)
{
    struct catalogue catalogue = {0};
    struct text text = {0};
    struct json *list = json_array_new();
    struct json *document = NULL;
    model_heading(&text);
    enum status_code code = catalogue_read(folder, &catalogue, error);
    for (int i = 0; i < catalogue.count && code == STATUS_OK; i++) {
        struct model model = {0};
        struct skeleton skeleton = {0};
        code = model_build(folder, catalogue.names[i], HEAD_BARE, &model, &skeleton, error);
        if (code == STATUS_OK) {
            model_line(&skeleton, &text);
            if (!json_append(list, model_json(&skeleton))) {
                code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the catalogue");
            }
        }
        skeleton_release(&skeleton);
        model_release(&model);
    }
    if (code == STATUS_OK && as_json) {
        document = json_object_new();
        bool made = json_set(document, "models", json_share(list));
        code = output_json(made ? document : NULL, error);
    } else if (code == STATUS_OK) {
        code = output_text(&text, error);
    }
    json_release(document);
    json_release(list);
    text_release(&text);
    catalogue_release(&catalogue);
    return code;
}

static enum status_code model_print(const char *folder, const char *name, enum head head, bool as_json,
                                    bool with_tensors, struct status *error)
{
    struct model model = {0};
    struct skeleton skeleton = {0};
    enum status_code code = model_build(folder, name, head, &model, &skeleton, error);
    if (code == STATUS_OK && as_json) {
        struct json *document = model_json(&skeleton);
        bool made = document != NULL && (!with_tensors || json_set(document, "tensors", tensors_json(&skeleton)));
        code = output_json(made ? document : NULL, error);
        json_release(document);
    } else if (code == STATUS_OK) {
        struct text text = {0};
        if (with_tensors) {
            for (int i = 0; i < skeleton.tensor_count; i++) {
                tensor_line(&skeleton, &skeleton.tensors[i], &text);
            }
        } else {
            model_heading(&text);
            model_line(&skeleton, &text);
        }
        code = output_text(&text, error);
        text_release(&text);
    }
    skeleton_release(&skeleton);
    model_release(&model);
    return code;
}

static enum status_code models_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    (void)exit_code;
    bool as_json = arguments_value(arguments, "json") != NULL;
    bool with_tensors = arguments_value(arguments, "tensors") != NULL;
    const char *head = arguments_value(arguments, "head");
    struct workload workload = workload_default(MODE_LOAD);
    workload.head = HEAD_BARE;
    if (arguments->operand_count == 0 && (with_tensors || head != NULL)) {
        return status_set(error, STATUS_INVALID,
                          "models: --tensors and --head are for one model; write assay models "
                          "MODEL --tensors");
    }
    enum status_code code = STATUS_OK;
    if (head != NULL) {
        code = workload_set(&workload, "head", head, error);
    }
    struct arena arena = {0};
    const char *folder = resource_path(&arena, "models/catalogue");
    if (code == STATUS_OK && folder == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    if (code == STATUS_OK && arguments->operand_count == 0) {
        code = catalogue_print(folder, as_json, error);
    } else if (code == STATUS_OK) {
        code = model_print(folder, arguments->operands[0], workload.head, as_json, with_tensors, error);
    }
    arena_release(&arena);
    return code;
}

const struct command command_models = {
    .name = "models",
    .operands = "[MODEL]",
    .summary = "the catalogue, or what one model consists of",
    .details =
        "MODEL: a name of the catalogue, a config.json in Hugging Face's format, a folder that holds one, a .gguf, or\n"
        "OWNER/NAME on the Hugging Face hub.\n"
        "Counts are those of the model without a head (--head lm: with it), tied parameters once. active: what one "
        "token\n"
        "is multiplied with, all but the experts that it does not use.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 1,
    .run = models_run,
};
