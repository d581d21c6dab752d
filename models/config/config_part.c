/* Parts of a configuration that several families read alike. Not here: what only one family knows. */
#include "models/config/config_part.h"

#include <inttypes.h>
#include <string.h>

/* The names of transformers, and the classes of the modules that it makes by them (ACT2CLS of transformers 5.23). */
static const struct {
    const char *name;
    enum activation activation;
    const char *class_name;
} activations[] = {
    {"gelu", ACTIVATION_GELU, "GELUActivation"},
    {"gelu_new", ACTIVATION_GELU_NEW, "NewGELUActivation"},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH, "GELUTanh"},
    {"gelu_fast", ACTIVATION_GELU_FAST, "FastGELUActivation"},
    {"silu", ACTIVATION_SILU, "SiLUActivation"},
    {"swish", ACTIVATION_SILU, "SiLU"},
    {"relu", ACTIVATION_RELU, "ReLU"},
};

enum { ACTIVATION_ROWS = sizeof activations / sizeof activations[0] };

static void row_take(int row, struct config *config)
{
    config->activation = activations[row].activation;
    config->activation_class = activations[row].class_name;
}

bool activation_find(const char *name, struct config *config)
{
    for (int i = 0; i < ACTIVATION_ROWS; i++) {
        if (strcmp(name, activations[i].name) == 0) {
            row_take(i, config);
            return true;
        }
    }
    return false;
}

void activation_set(enum activation activation, struct config *config)
{
    int row = 0;
    while (row + 1 < ACTIVATION_ROWS && activations[row].activation != activation) {
        row++;
    }
    row_take(row, config);
}

void config_activation(struct field_reader *reader, const char *key, enum activation fallback, struct config *config)
{
    const char *name = field_string(reader, key);
    activation_set(fallback, config);
    if (name == NULL || activation_find(name, config)) {
        return;
    }
    field_fault(reader, key,
                "'%.80s' is not known; known are gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, silu, swish, relu",
                name);
}

void config_pad_token(struct field_reader *reader, int64_t fallback, struct config *config)
{
    const struct json *value = field_member(reader, "pad_token_id");
    config->pad_token = fallback;
    if (value == NULL) {
        return;
    }
    config->pad_token = field_integer(reader, "pad_token_id", -config->vocab, config->vocab - 1, INT64_MIN);
    if (config->pad_token == INT64_MIN) {
        config->pad_token = -1;
    } else if (config->pad_token < 0) {
        config->pad_token += config->vocab;
    }
}

void config_refuse_true(struct field_reader *reader, const char *key)
{
    if (field_boolean(reader, key, false)) {
        field_fault(reader, key, "true is not modelled; set it to false, or take another model");
    }
}

void config_heads_check(struct field_reader *reader, const char *key, struct config *config)
{
    if (reader->code == STATUS_OK && config->hidden % config->heads != 0) {
        field_fault(reader, key,
                    "%" PRId64 " heads do not divide the hidden size %" PRId64 "; write a number of heads that does",
                    config->heads, config->hidden);
    }
}

void config_rope(struct field_reader *reader, struct config *config)
{
    const struct json *rope = field_member(reader, "rope_parameters");
    struct field_reader inner = *reader;
    if (json_kind(rope) == JSON_KIND_OBJECT) {
        inner.object = rope;
        inner.parent = "/rope_parameters";
    } else if (json_kind(rope) != JSON_KIND_NULL) {
        field_fault(reader, "rope_parameters", "%s is not an object; write {\"rope_theta\": 10000.0}",
                    json_kind_name(json_kind(rope)));
    }
    config->rope_theta = field_real(&inner, "rope_theta", 1, 1e12, 10000);
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
}

void config_grouped_check(struct field_reader *reader, const struct config *config)
{
    if (reader->code != STATUS_OK) {
        return;
    }
    if (config->heads % config->kv_heads != 0) {
        field_fault(reader, "num_key_value_heads",
                    "%" PRId64 " does not divide the %" PRId64 " attention heads; write a number that does",
                    config->kv_heads, config->heads);
    }
    if (config->heads > CONFIG_COUNT_MAXIMUM / config->head_dim) {
        field_fault(reader, "head_dim", "%" PRId64 " heads of %" PRId64 " are too large; write smaller numbers",
                    config->heads, config->head_dim);
    }
    if (config->head_dim % 2 != 0) {
        field_fault(reader, "head_dim", "%" PRId64 " is odd; rotary embeddings need an even size of a head",
                    config->head_dim);
    }
}

bool config_layer_types(struct field_reader *reader, struct config *config)
{
    const struct json *types = field_member(reader, "layer_types");
    if (json_kind(types) == JSON_KIND_NULL || reader->code != STATUS_OK) {
        return false;
    }
    if (json_kind(types) != JSON_KIND_ARRAY || (int64_t)json_count(types) != config->layers) {
        field_fault(reader, "layer_types", "it is not a list of %" PRId64 " types; write one for each layer",
                    config->layers);
        return true;
    }
    for (int64_t i = 0; i < config->layers; i++) {
        const char *type = json_string_or(json_at(types, (size_t)i), "");
        if (strcmp(type, "sliding_attention") == 0) {
            config_layer_slide(config, i);
        } else if (strcmp(type, "full_attention") != 0) {
            field_fault(reader, "layer_types", "'%.80s' is not modelled; known are full_attention, sliding_attention",
                        type);
        }
    }
    return true;
}

void config_window(struct config *config, int64_t window)
{
    for (int64_t i = 0; i < config->layers && window > 0; i++) {
        if (config_layer_slides(config, i)) {
            config->sliding_window = window;
        }
    }
}

int64_t config_classes(struct field_reader *reader)
{
    const struct json *labels = field_member(reader, "id2label");
    int64_t count = field_integer(reader, "num_labels", 1, CONFIG_COUNT_MAXIMUM, 0);
    if (json_kind(labels) != JSON_KIND_OBJECT) {
        return count > 0 ? count : 2;
    }
    int64_t label_count = (int64_t)json_count(labels);
    if (label_count == 0 || (count > 0 && count != label_count)) {
        field_fault(reader, "id2label", "it has %" PRId64 " labels%s; write one label for each class", label_count,
                    count > 0 ? " and num_labels says otherwise" : "");
    }
    return label_count;
}

int64_t config_timm_classes(struct field_reader *reader)
{
    return field_integer(reader, "num_classes", 0, CONFIG_COUNT_MAXIMUM, 1000);
}

int64_t config_input_size(struct field_reader *reader)
{
    const struct json *size = json_get(field_member(reader, "pretrained_cfg"), "input_size");
    if (json_kind(size) == JSON_KIND_NULL) {
        return 224;
    }
    int64_t height = json_integer_or(json_at(size, 1), 0);
    if (json_count(size) != 3 || height < 1 || height > CONFIG_IMAGE_MAXIMUM ||
        json_integer_or(json_at(size, 2), 0) != height) {
        field_fault(reader, "pretrained_cfg.input_size",
                    "it is not [channels, side, side]; write three whole numbers, "
                    "for example [3, 224, 224]");
    }
    return height;
}

bool config_arguments(const struct field_reader *reader, const char *const *known, const char *known_text,
                      struct field_reader *inner)
{
    const struct json *arguments = field_member(reader, "model_args");
    if (json_kind(arguments) == JSON_KIND_NULL) {
        return false;
    }
    *inner = *reader;
    inner->object = arguments;
    inner->parent = "/model_args";
    for (const char *key = json_key_after(arguments, NULL); key != NULL; key = json_key_after(arguments, key)) {
        int at = 0;
        while (known[at] != NULL && strcmp(known[at], key) != 0) {
            at++;
        }
        if (known[at] == NULL) {
            field_fault(inner, key, "it is not modelled in model_args; known are %s", known_text);
        }
    }
    return true;
}
