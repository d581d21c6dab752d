/* Weights JSON: complete, although the text for people is cut. */
#include "harness/cli/weights_json.h"

#include "harness/cli/model_notes.h"

void printable_append(const char *name, struct text *text)
{
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        text_append_bytes(text, c < 0x20 || c == 0x7F ? "?" : name, 1);
    }
}

static struct json *shape_json(int rank, const int64_t *shape)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < rank; i++) {
        made = json_append(list, json_integer_new(shape[i])) && made;
    }
    return json_made(list, made);
}

static struct json *files_json(const struct checkpoint *checkpoint)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < checkpoint->file_count && made; i++) {
        const struct checkpoint_file *file = &checkpoint->files[i];
        struct json *row = json_object_new();
        made = json_set(row, "name", json_string_new(file->name)) &&
               json_set(row, "size_bytes", json_integer_new(file->size_bytes)) &&
               json_set(row, "data_bytes", json_integer_new(file->data_bytes)) && json_append(list, json_share(row));
        json_release(row);
    }
    return json_made(list, made);
}

struct json *groups_json(const char *key, const struct checkpoint_groups *groups)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < groups->count && made; i++) {
        const struct checkpoint_group *group = &groups->groups[i];
        struct json *row = json_object_new();
        made = json_set(row, key, json_string_new(group->name)) &&
               json_set(row, "tensor_count", json_integer_new(group->tensor_count)) &&
               json_set(row, "element_count", json_integer_new(group->element_count)) &&
               json_set(row, "bytes", json_integer_new(group->bytes)) && json_append(list, json_share(row));
        json_release(row);
    }
    return json_made(list, made);
}

static struct json *stored_json(const struct checkpoint_tensor *stored)
{
    if (stored == NULL) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "dtype", json_string_new(stored->type->name)) &&
                json_set(object, "shape", shape_json(stored->rank, stored->shape)) &&
                json_set(object, "bytes", json_integer_new(stored->bytes));
    return json_made(object, made);
}

static struct json *expected_json(const struct finding *finding)
{
    if (finding->rank < 0) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "dtype", json_string_new(dtype_name(finding->dtype))) &&
                json_set(object, "shape", shape_json(finding->rank, finding->shape));
    return json_made(object, made);
}

static struct json *findings_json(const struct checkpoint_check *check, bool remarks)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < check->finding_count && made; i++) {
        const struct finding *finding = &check->findings[i];
        if (finding_is_remark(finding->kind) != remarks) {
            continue;
        }
        struct json *row = json_object_new();
        made = json_set(row, "kind", json_string_new(finding_kind_name(finding->kind))) &&
               json_set(row, "tensor", json_string_new(finding->name)) &&
               json_set(row, "stored", stored_json(finding->stored)) &&
               json_set(row, "configuration", expected_json(finding)) &&
               (finding->more_count == 0 || json_set(row, "more_count", json_integer_new(finding->more_count))) &&
               json_append(list, json_share(row));
        json_release(row);
    }
    return json_made(list, made);
}

static struct json *comparison_json(const struct weights *weights)
{
    const struct checkpoint_check *check = &weights->model.check;
    if (!weights->is_compared) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "model_type", json_string_new(weights->model.config.model_type)) &&
                json_set(object, "head", json_string_new(check->head == HEAD_LM ? "lm" : "bare")) &&
                json_set(object, "expected_bytes", json_integer_new(check->expected_bytes)) &&
                json_set(object, "matched_count", json_integer_new(check->matched_count)) &&
                json_set(object, "disagreement_count", json_integer_new(checkpoint_disagreement_count(check))) &&
                json_set(object, "disagreements", findings_json(check, false)) &&
                json_set(object, "remarks", findings_json(check, true));
    return json_made(object, made);
}

struct json *weights_json(const struct weights *weights)
{
    const struct checkpoint *checkpoint = weights->model.checkpoint;
    struct json *object = json_object_new();
    char line[STATUS_LINE_BYTES];
    bool claims = checkpoint->claimed_total_bytes >= 0;
    bool made =
        json_set(object, "model", json_string_new(checkpoint->name)) &&
        json_set(object, "format", json_string_new(checkpoint_format_name(checkpoint->format))) &&
        json_set(object, "stored_bytes", json_integer_new(checkpoint->stored_bytes)) &&
        json_set(object, "element_count", json_integer_new(checkpoint->element_count)) &&
        json_set(object, "tensor_count", json_integer_new(checkpoint->tensor_count)) &&
        json_set(object, "index_total_bytes",
                 claims ? json_integer_new(checkpoint->claimed_total_bytes) : json_null_new()) &&
        json_set(object, "files", files_json(checkpoint)) &&
        json_set(object, "dtypes", groups_json("dtype", &weights->by_type)) &&
        json_set(object, "modules", groups_json("module", &weights->by_module)) &&
        json_set(object, "comparison", comparison_json(weights)) &&
        json_set(object, "notes", notes_json(&weights->notes)) &&
        json_set(object, "reason",
                 weights->is_compared ? json_null_new() : json_string_new(status_line(&weights->uncompared, line)));
    return json_made(object, made);
}
