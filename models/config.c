/* Configuration: one reader per family behind a table of model types. Not the catalogue: names are found in
 * catalogue.c. Defaults are those of the real classes, because a file may leave out what is at its default. */
#include "models/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "models/field.h"

#define COUNT_MAXIMUM   (INT64_C(1) << 40)
#define OFFSET(field)   offsetof(struct config, field)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum {
    FILE_BYTES_MAXIMUM = 4 * 1024 * 1024,
    LAYERS_MAXIMUM = 10000, /* a skeleton is a list of tensors: this bounds its length */
    IMAGE_MAXIMUM = 1 << 20
};

const char *family_name(enum family_kind family)
{
    static const char *const names[FAMILY_COUNT] = {"bert", "gpt2", "llama", "vit", "resnet"};
    return names[family];
}

static const struct {
    const char *name;
    enum activation activation;
} activations[] = {
    {"gelu", ACTIVATION_GELU}, {"gelu_new", ACTIVATION_GELU_NEW}, {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
    {"silu", ACTIVATION_SILU}, {"swish", ACTIVATION_SILU},        {"relu", ACTIVATION_RELU},
};

static void read_activation(struct field_reader *reader, const char *key, enum activation fallback,
                            struct config *config)
{
    const char *name = field_string(reader, key);
    config->activation = fallback;
    if (name == NULL) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(activations); i++) {
        if (strcmp(name, activations[i].name) == 0) {
            config->activation = activations[i].activation;
            return;
        }
    }
    field_fault(reader, key, "'%.80s' is not known; known are gelu, gelu_new, gelu_pytorch_tanh, silu, swish, relu",
                name);
}

/* padding_idx of the embedding; -1 where there is none. Negative ones count from the end, as in the framework. */
static void read_pad_token(struct field_reader *reader, int64_t fallback, struct config *config)
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

static void refuse_true(struct field_reader *reader, const char *key)
{
    if (field_boolean(reader, key, false)) {
        field_fault(reader, key, "true is not modelled; set it to false, or take another model");
    }
}

/* hidden / heads, where the file does not say otherwise. */
static void check_heads(struct field_reader *reader, const char *key, struct config *config)
{
    if (reader->code == STATUS_OK && config->hidden % config->heads != 0) {
        field_fault(reader, key,
                    "%" PRId64 " heads do not divide the hidden size %" PRId64 "; write a number of heads that does",
                    config->heads, config->hidden);
    }
}

static void read_bert(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, OFFSET(vocab), 30522, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"hidden_size", NULL, OFFSET(hidden), 768, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, OFFSET(layers), 12, FIELD_NULL_REFUSED, LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, OFFSET(heads), 12, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"intermediate_size", NULL, OFFSET(ffn), 3072, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, OFFSET(positions), 512, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"type_vocab_size", NULL, OFFSET(token_types), 2, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
    };
    field_integers(reader, integers, COUNT_OF(integers), config);
    check_heads(reader, "num_attention_heads", config);
    read_activation(reader, "hidden_act", ACTIVATION_GELU, config);
    config->hidden_dropout = field_real(reader, "hidden_dropout_prob", 0, 0.999, 0.1);
    config->embedding_dropout = config->hidden_dropout;
    config->attention_dropout = field_real(reader, "attention_probs_dropout_prob", 0, 0.999, 0.1);
    config->norm_epsilon = field_real(reader, "layer_norm_eps", 0, 1, 1e-12);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    read_pad_token(reader, 0, config);
    refuse_true(reader, "is_decoder");
    refuse_true(reader, "add_cross_attention");
    const char *positions = field_string(reader, "position_embedding_type");
    if (positions != NULL && strcmp(positions, "absolute") != 0) {
        field_fault(reader, "position_embedding_type", "'%.80s' is not modelled; known is absolute", positions);
    }
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

static void read_gpt2(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"vocab_size", NULL, OFFSET(vocab), 50257, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"n_embd", "hidden_size", OFFSET(hidden), 768, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"n_layer", "num_hidden_layers", OFFSET(layers), 12, FIELD_NULL_REFUSED, LAYERS_MAXIMUM},
        {"n_head", "num_attention_heads", OFFSET(heads), 12, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"n_inner", NULL, OFFSET(ffn), 0, 0, COUNT_MAXIMUM},
        {"n_positions", "max_position_embeddings", OFFSET(positions), 1024, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
    };
    field_integers(reader, integers, COUNT_OF(integers), config);
    check_heads(reader, "n_head", config);
    config->ffn = config->ffn > 0 ? config->ffn : 4 * config->hidden;
    read_activation(reader, "activation_function", ACTIVATION_GELU_NEW, config);
    config->hidden_dropout = field_real(reader, "resid_pdrop", 0, 0.999, 0.1);
    config->embedding_dropout = field_real(reader, "embd_pdrop", 0, 0.999, 0.1);
    config->attention_dropout = field_real(reader, "attn_pdrop", 0, 0.999, 0.1);
    config->norm_epsilon = field_real(reader, "layer_norm_epsilon", 0, 1, 1e-5);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = config->mlp_bias = true;
    config->pad_token = -1; /* GPT-2's embedding has no padding index, whatever pad_token_id says */
    refuse_true(reader, "add_cross_attention");
    refuse_true(reader, "reorder_and_upcast_attn");
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

/* Since transformers 5 the base of the rotary angles stands in an object of its own. */
static void read_rope(struct field_reader *reader, struct config *config)
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

static void check_llama(struct field_reader *reader, const struct config *config)
{
    if (reader->code != STATUS_OK) {
        return;
    }
    if (config->heads % config->kv_heads != 0) {
        field_fault(reader, "num_key_value_heads",
                    "%" PRId64 " does not divide the %" PRId64 " attention heads; write a number that does",
                    config->kv_heads, config->heads);
    }
    if (config->heads > COUNT_MAXIMUM / config->head_dim) {
        field_fault(reader, "head_dim", "%" PRId64 " heads of %" PRId64 " are too large; write smaller numbers",
                    config->heads, config->head_dim);
    }
    if (config->head_dim % 2 != 0) {
        field_fault(reader, "head_dim", "%" PRId64 " is odd; rotary embeddings need an even size of a head",
                    config->head_dim);
    }
}

static void read_llama(struct field_reader *reader, struct config *config)
{
    bool mistral = strcmp(config->model_type, "mistral") == 0;
    bool qwen2 = strcmp(config->model_type, "qwen2") == 0;
    const struct integer_field integers[] = {
        {"vocab_size", NULL, OFFSET(vocab), qwen2 ? 151936 : 32000, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"hidden_size", NULL, OFFSET(hidden), 4096, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, OFFSET(layers), 32, FIELD_NULL_REFUSED, LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, OFFSET(heads), 32, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, OFFSET(kv_heads),
         qwen2     ? 32
         : mistral ? 8
                   : 0,
         0, COUNT_MAXIMUM},
        {"intermediate_size", NULL, OFFSET(ffn),
         qwen2     ? 22016
         : mistral ? 14336
                   : 11008,
         FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, OFFSET(positions),
         qwen2     ? 32768
         : mistral ? 131072
                   : 2048,
         FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"head_dim", NULL, OFFSET(head_dim), 0, 0, COUNT_MAXIMUM},
    };
    field_integers(reader, integers, COUNT_OF(integers), config);
    if (config->head_dim == 0 || (!mistral && !qwen2)) {
        check_heads(reader, "num_attention_heads", config);
    }
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && reader->code == STATUS_OK) {
        config->head_dim = config->hidden / config->heads;
    }
    check_llama(reader, config);
    read_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    read_rope(reader, config);
    read_pad_token(reader, -1, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    bool windowed = mistral || (qwen2 && field_boolean(reader, "use_sliding_window", false));
    config->sliding_window = windowed ? 4096 : 0;
    if (windowed && field_member(reader, "sliding_window") != NULL) {
        config->sliding_window = field_integer(reader, "sliding_window", 1, COUNT_MAXIMUM, 0);
    }
    bool plain = !mistral && !qwen2; /* only Llama's own class reads these two */
    config->attention_bias = qwen2 || (plain && field_boolean(reader, "attention_bias", false));
    config->attention_output_bias = plain && config->attention_bias;
    config->mlp_bias = plain && field_boolean(reader, "mlp_bias", false);
}

/* The hub stores the number of classes as a map from index to label. */
static int64_t read_classes(struct field_reader *reader)
{
    const struct json *labels = field_member(reader, "id2label");
    int64_t count = field_integer(reader, "num_labels", 1, COUNT_MAXIMUM, 0);
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

static void read_vit(struct field_reader *reader, struct config *config)
{
    static const struct integer_field integers[] = {
        {"hidden_size", NULL, OFFSET(hidden), 768, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, OFFSET(layers), 12, FIELD_NULL_REFUSED, LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, OFFSET(heads), 12, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"intermediate_size", NULL, OFFSET(ffn), 3072, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"num_channels", NULL, OFFSET(channels), 3, FIELD_NULL_REFUSED, COUNT_MAXIMUM},
        {"pooler_output_size", NULL, OFFSET(pooler), 0, 0, COUNT_MAXIMUM},
    };
    field_integers(reader, integers, COUNT_OF(integers), config);
    check_heads(reader, "num_attention_heads", config);
    config->pooler = config->pooler > 0 ? config->pooler : config->hidden;
    config->image = field_square(reader, "image_size", IMAGE_MAXIMUM, 224);
    config->patch = field_square(reader, "patch_size", IMAGE_MAXIMUM, 16);
    if (config->patch > config->image) {
        field_fault(reader, "patch_size", "%" PRId64 " is larger than the image, %" PRId64 "; write a smaller one",
                    config->patch, config->image);
    }
    read_activation(reader, "hidden_act", ACTIVATION_GELU, config);
    config->hidden_dropout = field_real(reader, "hidden_dropout_prob", 0, 0.999, 0);
    config->embedding_dropout = config->hidden_dropout;
    config->attention_dropout = field_real(reader, "attention_probs_dropout_prob", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "layer_norm_eps", 0, 1, 1e-12);
    config->attention_bias = field_boolean(reader, "qkv_bias", true);
    config->attention_output_bias = config->mlp_bias = true;
    config->classes = read_classes(reader);
    config->pad_token = -1;
    config->kv_heads = config->heads;
    config->head_dim = reader->code == STATUS_OK ? config->hidden / config->heads : 0;
}

static const struct {
    const char *name;
    bool bottleneck;
    int64_t depths[4];
} resnets[] = {
    {"resnet18", false, {2, 2, 2, 2}},  {"resnet34", false, {3, 4, 6, 3}},  {"resnet50", true, {3, 4, 6, 3}},
    {"resnet101", true, {3, 4, 23, 3}}, {"resnet152", true, {3, 8, 36, 3}},
};

/* Four whole numbers, where the key is there. */
static void read_four(struct field_reader *reader, const char *key, int64_t maximum, int64_t numbers[4])
{
    const struct json *list = field_member(reader, key);
    if (json_kind(list) == JSON_KIND_NULL) {
        return;
    }
    if (json_kind(list) != JSON_KIND_ARRAY || json_count(list) != 4) {
        field_fault(reader, key, "it is not a list of four; write one whole number for each stage");
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        int64_t number = json_integer_or(json_at(list, i), 0);
        if (number < 1 || number > maximum) {
            field_fault(reader, key, "element %zu is not a whole number from 1 to %" PRId64 "; write one", i, maximum);
            return;
        }
        numbers[i] = number;
    }
}

/* What timm's create_model would be given besides the name. Others than these would change the network. */
static void read_resnet_arguments(struct field_reader *reader, struct config *config)
{
    const struct json *arguments = field_member(reader, "model_args");
    if (json_kind(arguments) == JSON_KIND_NULL) {
        return;
    }
    struct field_reader inner = *reader;
    inner.object = arguments;
    inner.parent = "/model_args";
    const char *key = json_key_after(arguments, NULL);
    for (; key != NULL; key = json_key_after(arguments, key)) {
        if (strcmp(key, "layers") != 0 && strcmp(key, "channels") != 0 && strcmp(key, "in_chans") != 0) {
            field_fault(&inner, key, "it is not modelled in model_args; known are layers, channels, in_chans");
        }
    }
    read_four(&inner, "layers", LAYERS_MAXIMUM, config->depths);
    read_four(&inner, "channels", COUNT_MAXIMUM, config->widths);
    config->channels = field_integer(&inner, "in_chans", 1, COUNT_MAXIMUM, config->channels);
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
}

/* The side of the image that the weights were made for: pretrained_cfg.input_size, [channels, height, width]. */
static int64_t read_input_size(struct field_reader *reader)
{
    const struct json *size = json_get(field_member(reader, "pretrained_cfg"), "input_size");
    if (json_kind(size) == JSON_KIND_NULL) {
        return 224;
    }
    int64_t height = json_integer_or(json_at(size, 1), 0);
    if (json_count(size) != 3 || height < 1 || height > IMAGE_MAXIMUM ||
        json_integer_or(json_at(size, 2), 0) != height) {
        field_fault(reader, "pretrained_cfg.input_size",
                    "it is not [channels, side, side]; write three whole numbers, "
                    "for example [3, 224, 224]");
    }
    return height;
}

/* timm's files name an architecture, and the numbers stand in timm's code: here, in the table above. */
static void read_resnet(struct field_reader *reader, struct config *config)
{
    size_t row = 0;
    while (row < COUNT_OF(resnets) && strcmp(resnets[row].name, config->architecture) != 0) {
        row++;
    }
    if (row == COUNT_OF(resnets)) {
        field_fault(reader, "architecture",
                    "'%s' is not known; known are resnet18, resnet34, resnet50, resnet101, "
                    "resnet152",
                    config->architecture);
        return;
    }
    config->is_timm = true;
    config->bottleneck = resnets[row].bottleneck;
    config->stem = 64;
    config->channels = 3;
    for (int i = 0; i < 4; i++) {
        config->depths[i] = resnets[row].depths[i];
        config->widths[i] = INT64_C(64) << i;
    }
    read_resnet_arguments(reader, config);
    for (int i = 0; i < 4; i++) {
        config->widths[i] *= config->bottleneck ? 4 : 1;
        config->layers += config->depths[i];
    }
    config->hidden = config->widths[3];
    config->image = read_input_size(reader);
    config->classes = field_integer(reader, "num_classes", 1, COUNT_MAXIMUM, 1000);
    config->activation = ACTIVATION_RELU;
    config->norm_epsilon = 1e-5;
    config->pad_token = -1;
}

static const struct {
    const char *model_type;
    enum family_kind family;
    void (*read)(struct field_reader *reader, struct config *config);
} families[] = {
    {"bert", FAMILY_BERT, read_bert},      {"gpt2", FAMILY_GPT2, read_gpt2},    {"llama", FAMILY_LLAMA, read_llama},
    {"mistral", FAMILY_LLAMA, read_llama}, {"qwen2", FAMILY_LLAMA, read_llama}, {"vit", FAMILY_VIT, read_vit},
};

static void copy_string(struct field_reader *reader, const char *key, const char *value, char *target, size_t size)
{
    int length = snprintf(target, size, "%s", value != NULL ? value : "");
    if (length < 0 || (size_t)length >= size) {
        field_fault(reader, key, "the text is longer than %zu bytes; shorten it", size - 1);
    }
}

static void read_common(struct field_reader *reader, struct config *config)
{
    if (json_kind(field_member(reader, "quantization_config")) != JSON_KIND_NULL) {
        field_fault(reader, "quantization_config",
                    "quantized checkpoints are not modelled; remove it to weigh the model "
                    "without quantization");
    }
    const char *key = field_member(reader, "dtype") != NULL ? "dtype" : "torch_dtype";
    const char *dtype = field_string(reader, key);
    if (dtype != NULL && strncmp(dtype, "torch.", 6) == 0) {
        dtype += 6;
    }
    bool known = dtype == NULL || strcmp(dtype, "auto") == 0 || dtype_from_name(dtype, &config->dtype);
    if (!known || !dtype_is_floating(config->dtype)) {
        field_fault(reader, key, "'%.80s' is not known; known are float32, float16, bfloat16", dtype);
        config->dtype = DTYPE_FLOAT32;
    }
    config->initializer_range = field_real(reader, "initializer_range", 0, 1, 0.02);
    copy_string(reader, "transformers_version", field_string(reader, "transformers_version"),
                config->transformers_version, sizeof config->transformers_version);
    const struct json *classes = field_member(reader, "architectures");
    const char *class_name = field_string(reader, "architecture");
    copy_string(reader, "architecture", class_name != NULL ? class_name : json_string_or(json_at(classes, 0), ""),
                config->architecture, sizeof config->architecture);
}

static void read_family(struct field_reader *reader, struct config *config)
{
    copy_string(reader, "model_type", field_string(reader, "model_type"), config->model_type,
                sizeof config->model_type);
    if (reader->code != STATUS_OK) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (strcmp(config->model_type, families[i].model_type) == 0) {
            config->family = families[i].family;
            families[i].read(reader, config);
            return;
        }
    }
    if (config->model_type[0] == '\0' && field_member(reader, "architecture") != NULL) {
        snprintf(config->model_type, sizeof config->model_type, "resnet");
        config->family = FAMILY_RESNET;
        read_resnet(reader, config);
        return;
    }
    if (strcmp(config->model_type, "resnet") == 0) { /* its activations are not in place, its names are others */
        field_fault(reader, "model_type",
                    "the ResNet of transformers is not modelled; take timm's, for example "
                    "timm/resnet50.a1_in1k");
        return;
    }
    field_fault(reader, "model_type",
                "%s%s%s; known are bert, gpt2, llama, mistral, qwen2, vit, and timm's "
                "\"architecture\" resnet18, resnet34, resnet50, resnet101, resnet152",
                config->model_type[0] != '\0' ? "'" : "it is missing", config->model_type,
                config->model_type[0] != '\0' ? "' is not known" : "");
}

enum status_code config_read(const char *path, const char *name, struct config *config, struct status *error)
{
    struct json *document = NULL;
    enum status_code code = json_parse_file(path, FILE_BYTES_MAXIMUM, &document, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct config result = {.dtype = DTYPE_FLOAT32};
    struct field_reader reader = {.object = document, .path = path, .error = error, .code = STATUS_OK};
    if (json_kind(document) != JSON_KIND_OBJECT) {
        reader.code = status_set(error, STATUS_INVALID, "%s:1:1: %s is not a configuration; write an object", path,
                                 json_kind_name(json_kind(document)));
    } else {
        copy_string(&reader, "name", name, result.name, sizeof result.name);
        read_common(&reader, &result);
        read_family(&reader, &result);
    }
    json_release(document);
    if (reader.code == STATUS_OK) {
        *config = result;
    }
    return reader.code;
}
